#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bitgate::formats {

/// Public readings of GPTQ v1 zero points that differ from ours where 15 is stored. They exist so
/// that a diagnosis can name them; nothing else may call them. qzeros [groups][n/8], result
/// [groups][n].

/// Wraps within the nibble: a stored 15 reads as 0 (AutoGPTQ qlinear_cuda_old, GPTQModel
/// _correct_gptq_v1_qzeros).
std::vector<std::uint8_t> wrong_v1_zeros_wrap(std::span<const std::int32_t> qzeros);

/// Adds 0x11111111 to the word: a stored 15 reads as 0 and carries one into the next column
/// (GPTQModel convert_gptq_v1_to_v2_format_module).
std::vector<std::uint8_t> wrong_v1_zeros_carry(std::span<const std::int32_t> qzeros);

}  // namespace bitgate::formats
