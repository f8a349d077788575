#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

namespace bitgate::machine::vectors {

/// The module's first lines: PTX 8.8 for sm_90, as the H200 runs it.
std::string module_header();

/// A module of one entry a form: "f0", "f1", … with the parameters (.u64 in, .u64 out). Thread i of
/// `threads` reads source k at in + 8·(k·threads + i) and writes result k at
/// out + 8·(k·threads + i), each as 64 bits. Blocks are of kBlock threads.
std::string module_text(std::span<const Form* const> forms, std::span<const std::uint32_t> threads);

constexpr std::uint32_t kBlock = 128;

}  // namespace bitgate::machine::vectors
