#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "reference/machine/machine.h"

namespace bitgate::kernels {

/// Why these arguments are not what the entry's parameters expect: a wrong number of them, or one
/// of another size. Empty when they fit.
std::string argument_mismatch(std::span<const machine::ParameterSlot> parameters,
                              std::span<const std::vector<std::byte>> arguments);

/// The parameter buffer: each argument at its parameter's offset, zero bytes between. The arguments
/// fit (argument_mismatch is empty).
std::vector<std::byte> pack_arguments(std::span<const machine::ParameterSlot> parameters,
                                      std::span<const std::vector<std::byte>> arguments);

}  // namespace bitgate::kernels
