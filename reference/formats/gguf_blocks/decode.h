#pragma once

#include <cstddef>

namespace bitgate::formats {

// One block each (BlockType says how many bytes and values). The expressions are evaluated in f32
// in the order written, which is ggml's.

void decode_f32(const std::byte* block, float* values);
void decode_f16(const std::byte* block, float* values);
void decode_q8_0(const std::byte* block, float* values);
void decode_q4_0(const std::byte* block, float* values);
void decode_q4_1(const std::byte* block, float* values);
void decode_q5_0(const std::byte* block, float* values);
void decode_q5_1(const std::byte* block, float* values);
void decode_q2_k(const std::byte* block, float* values);
void decode_q3_k(const std::byte* block, float* values);
void decode_q4_k(const std::byte* block, float* values);
void decode_q5_k(const std::byte* block, float* values);
void decode_q6_k(const std::byte* block, float* values);

}  // namespace bitgate::formats
