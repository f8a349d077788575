#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bitgate::formats {

/// How GGUF packs the elements of a tensor: blocks of `elements` consecutive values of a row, each
/// of `bytes` bytes (ggml's block structs, little-endian; GGUF specification, "ggml_type"). A type
/// without `decode` is known by name and size only.
struct BlockType {
  std::uint32_t id = 0;
  std::string_view name;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  /// One block to `elements` f32 values, with the bits of ggml's own decoder (a NaN's payload
  /// apart).
  void (*decode)(const std::byte* block, float* values) = nullptr;
};

/// The type of that number, or none.
const BlockType* find_block_type(std::uint32_t id);

/// Its name; "type 77" for a number nobody has named here.
std::string block_type_name(std::uint32_t id);

}  // namespace bitgate::formats
