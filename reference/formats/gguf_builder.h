#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgate::formats {

/// Writes small GGUF files for tests, well-formed or not.
class GgufBuilder {
 public:
  explicit GgufBuilder(std::uint32_t version = 3) : version_(version) {}

  template <typename T>
  GgufBuilder& value(std::string_view key, std::uint32_t type, T scalar) {
    append_string(values_, key);
    append(values_, type);
    append(values_, scalar);
    ++value_count_;
    return *this;
  }
  GgufBuilder& text(std::string_view key, std::string_view value) {
    append_string(values_, key);
    append(values_, std::uint32_t{8});
    append_string(values_, value);
    ++value_count_;
    return *this;
  }
  GgufBuilder& raw_value(std::string_view key, std::uint32_t type, std::string_view bytes) {
    append_string(values_, key);
    append(values_, type);
    append_bytes(values_, std::as_bytes(std::span(bytes.data(), bytes.size())));
    ++value_count_;
    return *this;
  }
  /// `dims` fastest first; the data is placed after the last tensor's, aligned to 32.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                      std::uint32_t type, std::span<const std::byte> data) {
    pad(data_, 32);
    tensor_at(name, dims, type, data_.size());
    append_bytes(data_, data);
    return *this;
  }
  GgufBuilder& tensor_f32(std::string_view name, const std::vector<std::uint64_t>& dims,
                          const std::vector<float>& data) {
    return tensor(name, dims, 0, std::as_bytes(std::span(data)));
  }
  GgufBuilder& tensor_at(std::string_view name, const std::vector<std::uint64_t>& dims,
                         std::uint32_t type, std::uint64_t offset) {
    append_string(tensors_, name);
    append(tensors_, static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t extent : dims) append(tensors_, extent);
    append(tensors_, type);
    append(tensors_, offset);
    ++tensor_count_;
    return *this;
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> file;
    append_bytes(file, std::as_bytes(std::span("GGUF", 4)));
    append(file, version_);
    append(file, tensor_count_);
    append(file, value_count_);
    append_bytes(file, values_);
    append_bytes(file, tensors_);
    pad(file, 32);
    append_bytes(file, data_);
    return file;
  }

 private:
  static void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  }
  template <typename T>
  static void append(std::vector<std::byte>& to, T value) {
    append_bytes(to, std::as_bytes(std::span(&value, 1)));
  }
  static void append_string(std::vector<std::byte>& to, std::string_view text) {
    append(to, static_cast<std::uint64_t>(text.size()));
    append_bytes(to, std::as_bytes(std::span(text.data(), text.size())));
  }
  static void pad(std::vector<std::byte>& to, std::size_t alignment) {
    to.resize((to.size() + alignment - 1) / alignment * alignment);
  }

  std::uint32_t version_;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t value_count_ = 0;
  std::vector<std::byte> values_;
  std::vector<std::byte> tensors_;
  std::vector<std::byte> data_;
};

}  // namespace bitgate::formats
