#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/formats/mapped_file.h"
#include "reference/formats/staged_file.h"
#include "reference/support/error.h"

namespace bitgate::formats {

/// The safetensors format (huggingface/safetensors, README "Format"): an u64 little-endian header
/// length, a JSON header, then the tensors' bytes, little-endian, row-major, without gaps.

enum class DType {
  boolean,
  u8,
  i8,
  f8_e4m3,
  f8_e5m2,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  i64,
  u64,
  f64
};

/// As written in a header: "F16".
std::string_view name(DType type);
std::size_t size_of(DType type);

struct TensorLayout {
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape;
  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

/// "F16 [64, 32]", for messages.
std::string describe(const TensorLayout& layout);

/// A file or buffer whose every offset has been checked. The bytes of a file stay mapped while the
/// object lives.
class Safetensors {
 public:
  /// The longest header accepted, in bytes.
  static constexpr std::uint64_t kLargestHeader = 32U << 20U;

  /// InputError naming the file and the rule it breaks: header length, JSON, an unknown dtype, a
  /// shape whose bytes are not what its offsets span, overlaps, gaps, bytes past the last tensor.
  static Safetensors open(const std::filesystem::path& path);
  /// The same over bytes that the caller keeps alive; `where` begins every message.
  static Safetensors parse(std::span<const std::byte> bytes, std::string_view where);

  /// Sorted.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  /// InputError when there is no such tensor.
  const TensorLayout& layout(std::string_view name) const { return entry(name).layout; }
  std::span<const std::byte> bytes(std::string_view name) const;
  /// The elements, copied; InputError unless dtype is as said. T must have the dtype's size.
  template <typename T>
  std::vector<T> read(std::string_view name, DType dtype) const;

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& where() const { return where_; }

 private:
  struct Entry {
    TensorLayout layout;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  Safetensors() = default;
  void parse_header();
  const Entry& entry(std::string_view name) const;

  std::string where_;
  std::optional<MappedFile> file_;
  std::span<const std::byte> all_;
  std::span<const std::byte> data_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Writes a file in one canonical form: header keys sorted, tensors laid out by falling element
/// size and then by name (so that each is aligned), the header padded with spaces to 8 bytes. Equal
/// content gives equal bytes.
class SafetensorsWriter {
 public:
  /// Stages the file and writes the header. InputError for a name that is "__metadata__", a
  /// negative dimension or a size beyond 2^63.
  SafetensorsWriter(const std::filesystem::path& path, std::map<std::string, TensorLayout> tensors,
                    const std::map<std::string, std::string>& metadata);

  /// The order in which `append` expects the tensors.
  const std::vector<std::string>& order() const { return order_; }
  /// The next tensor's bytes; InputError when it is not the next one or not of its size.
  void append(std::string_view name, std::span<const std::byte> bytes);
  /// Flushes; InputError when a tensor is missing.
  void close();
  void commit();

 private:
  std::map<std::string, TensorLayout> tensors_;
  std::vector<std::string> order_;
  std::size_t next_ = 0;
  StagedFile file_;
};

/// A tensor in memory.
struct Tensor {
  TensorLayout layout;
  std::vector<std::byte> bytes;

  template <typename T>
  static Tensor of(DType dtype, std::vector<std::int64_t> shape, std::span<const T> values);
};

/// Writes tensors that are all in memory, in the canonical form.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

template <typename T>
std::vector<T> Safetensors::read(std::string_view name, DType dtype) const {
  static_assert(std::is_trivially_copyable_v<T>);
  const Entry& found = entry(name);
  if (found.layout.dtype != dtype || size_of(dtype) != sizeof(T)) {
    throw InputError(where_ + ": tensor " + std::string(name) + ": expected " +
                     std::string(formats::name(dtype)) + ", found " + describe(found.layout));
  }
  const std::span<const std::byte> source = bytes(name);
  std::vector<T> values(source.size() / sizeof(T));
  if (!source.empty()) std::memcpy(values.data(), source.data(), source.size());
  return values;
}

template <typename T>
Tensor Tensor::of(DType dtype, std::vector<std::int64_t> shape, std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::span<const std::byte> source = std::as_bytes(values);
  return {{dtype, std::move(shape)}, {source.begin(), source.end()}};
}

}  // namespace bitgate::formats
