#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace bitgate::formats {

/// Reads little-endian fields one after the other and never past the end.
class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  template <typename T>
  T read(std::string_view what) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    T value{};
    const std::span<const std::byte> field = take(sizeof value, what);
    std::memcpy(&value, field.data(), sizeof value);
    return value;
  }
  /// A u64 length and that many bytes, at most `most`.
  std::string read_string(std::uint64_t most, std::string_view what);
  /// A u64 count of things that take at least `least_bytes` each: InputError when they cannot fit.
  std::uint64_t read_count(std::uint64_t least_bytes, std::string_view what);
  /// The next `size` bytes. InputError, saying what was expected and where, when they are not
  /// there.
  std::span<const std::byte> take(std::uint64_t size, std::string_view what);

  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return bytes_.size() - position_; }
  /// InputError that begins with the file and the position.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
  std::uint64_t position_ = 0;
};

}  // namespace bitgate::formats
