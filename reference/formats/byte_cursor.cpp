#include "reference/formats/byte_cursor.h"

#include <fmt/format.h>

#include "reference/support/error.h"

namespace bitgate::formats {

void ByteCursor::fail(std::string_view message) const {
  throw InputError(fmt::format("{}: byte {}: {}", where_, position_, message));
}

std::span<const std::byte> ByteCursor::take(std::uint64_t size, std::string_view what) {
  if (size > remaining()) {
    fail(fmt::format("expected {} of {} bytes, {} are left (truncated?)", what, size, remaining()));
  }
  const std::span<const std::byte> taken = bytes_.subspan(position_, size);
  position_ += size;
  return taken;
}

std::string ByteCursor::read_string(std::uint64_t most, std::string_view what) {
  const auto length = read<std::uint64_t>(what);
  if (length > most)
    fail(fmt::format("{} of {} bytes: at most {} are accepted", what, length, most));
  const std::span<const std::byte> text = take(length, what);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::uint64_t ByteCursor::read_count(std::uint64_t least_bytes, std::string_view what) {
  const auto count = read<std::uint64_t>(what);
  if (count > remaining() / least_bytes) {
    fail(fmt::format("{} {} cannot lie in the {} bytes that are left", count, what, remaining()));
  }
  return count;
}

}  // namespace bitgate::formats
