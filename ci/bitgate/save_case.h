#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "conformance/problem/spec.h"
#include "kernels/kernel.h"

namespace bitgate::command_line {

/// What an outsider needs to check a case with other tools, as CLI.md lists it: `a` [M,K] and `out`
/// [M,N] in the spec's type, `reference` and `bound` f32 [M,N], the public tensors of the layer
/// (`qweight`, `qzeros`, `scales`; `g_idx` with act-order), the spec in the metadata. `output` is
/// empty when the kernel did not run to its end: `out` is left out then.
void save_case(const std::filesystem::path& file, const conformance::Spec& spec,
               const kernels::Kernel& kernel, std::span<const std::uint16_t> output);

}  // namespace bitgate::command_line
