#include "conformance/report/text.h"

#include <cstddef>
#include <cstdint>

namespace bitgate::conformance {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Bytes of the well-formed UTF-8 sequence at the start (Unicode 15, table 3-7), or 0.
std::size_t sequence_length(std::string_view text, std::uint32_t& code_point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) {
    code_point = lead;
    return 1;
  }
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  code_point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code_point = code_point << 6U | (byte(i) & 0x3fU);
  }
  const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point < least || code_point > 0x10ffff || surrogate ? 0 : length;
}

bool may_be_shown(std::uint32_t code_point) {
  if (code_point < 0x20) return code_point == '\n' || code_point == '\t';
  const bool c1_control = code_point >= 0x7f && code_point < 0xa0;
  return !c1_control && code_point != 0xfffe && code_point != 0xffff;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code_point = 0;
    const std::size_t length = sequence_length(text, code_point);
    if (length > 0 && may_be_shown(code_point)) {
      result += text.substr(0, length);
    } else {
      result += kReplacement;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : clean_text(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace bitgate::conformance
