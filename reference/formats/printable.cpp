#include "reference/formats/printable.h"

#include <fmt/format.h>

namespace bitgate::formats {

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 100;
  std::string shown = "\"";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\') {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  shown += text.size() > kMost ? "…\"" : "\"";
  return shown;
}

}  // namespace bitgate::formats
