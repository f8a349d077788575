#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reference/formats/gguf_blocks/block_type.h"
#include "reference/formats/mapped_file.h"

namespace bitgate::formats {

/// GGUF, versions 2 and 3, little-endian (ggml's docs/gguf.md).

/// A metadata array; the alternative's index is GGUF's number of the element type.
struct GgufArray {
  std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
               std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
               std::vector<float>, std::vector<bool>, std::vector<std::string>,
               std::vector<GgufArray>, std::vector<std::uint64_t>, std::vector<std::int64_t>,
               std::vector<double>>
      elements;
};

/// A metadata value; the alternative's index is GGUF's number of its type.
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                               std::uint32_t, std::int32_t, float, bool, std::string, GgufArray,
                               std::uint64_t, std::int64_t, double>;

struct GgufTensor {
  std::string name;
  std::uint32_t type = 0;          ///< find_block_type says what is known of it
  std::vector<std::int64_t> dims;  ///< fastest first: {K, N} is N rows of K
  std::uint64_t offset = 0;        ///< of its first byte in the file
  std::uint64_t bytes = 0;         ///< 0 where the type is not known

  /// Elements of a row, and rows: all other dimensions together.
  std::int64_t columns() const { return dims.empty() ? 1 : dims.front(); }
  std::int64_t rows() const;
};

/// A file whose every count, string, offset and size has been checked against its length.
class Gguf {
 public:
  /// InputError naming the file, the byte and the rule that is broken.
  static Gguf open(const std::filesystem::path& path);
  /// The same over bytes that the caller keeps alive; `where` begins every message.
  static Gguf parse(std::span<const std::byte> bytes, std::string_view where);

  std::uint32_t version() const { return version_; }
  std::uint64_t alignment() const { return alignment_; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  /// A non-negative integer of whatever integer type; none when absent. InputError for any other
  /// value under that key.
  std::optional<std::uint64_t> unsigned_value(std::string_view key) const;
  /// None when absent; InputError when it is no string.
  std::optional<std::string> text_value(std::string_view key) const;

  /// In the file's order.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find(std::string_view name) const;
  std::span<const std::byte> bytes(const GgufTensor& tensor) const;
  /// All elements in element order, rows() x columns(). Unsupported, naming tensor and type, where
  /// the type cannot be decoded.
  std::vector<float> dequantize(const GgufTensor& tensor) const;

  const std::string& where() const { return where_; }

 private:
  Gguf() = default;
  void parse_all();

  std::string where_;
  std::optional<MappedFile> file_;
  std::span<const std::byte> all_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace bitgate::formats
