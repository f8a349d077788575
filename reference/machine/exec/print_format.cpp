#include "reference/machine/exec/print_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

namespace bitgate::machine {

namespace {

constexpr std::uint32_t kMostArguments = 32;
/// Widths and precisions beyond it are cut: they would only pad.
constexpr int kWidest = 4096;

/// One conversion, from its '%' on.
struct Conversion {
  std::string flags;
  int width = -1;
  int precision = -1;
  bool width_is_argument = false;
  bool precision_is_argument = false;
  std::string size;  ///< "hh", "h", "", "l", "ll", …
  char letter = 0;   ///< 0: the text ended before
  std::size_t length = 0;
};

int number_at(std::string_view text, std::size_t& i) {
  int value = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
    value = std::min(value * 10 + (text[i++] - '0'), kWidest);
  }
  return value;
}

Conversion parse(std::string_view text) {
  Conversion result;
  std::size_t i = 1;
  const auto at = [&](std::string_view set) {
    return i < text.size() && set.find(text[i]) != std::string_view::npos;
  };
  while (at("#0- +") && result.flags.size() < 8) result.flags += text[i++];
  if (at("*")) {
    result.width_is_argument = true;
    ++i;
  } else if (at("123456789")) {
    result.width = number_at(text, i);
  }
  if (at(".")) {
    ++i;
    result.precision = 0;
    if (at("*")) {
      result.precision_is_argument = true;
      ++i;
    } else {
      result.precision = number_at(text, i);
    }
  }
  while (at("hlLqjzt") && result.size.size() < 2) result.size += text[i++];
  if (i < text.size()) result.letter = text[i++];
  result.length = i;
  return result;
}

template <class Value>
void append(std::string& out, const Conversion& c, const char* size, Value value) {
  std::string format = "%" + c.flags;
  if (c.width >= 0) format += std::to_string(c.width);
  if (c.precision >= 0) format += "." + std::to_string(c.precision);
  format += size;
  format += c.letter;
  // The format was built here, of the parts that were understood.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int needed = std::snprintf(nullptr, 0, format.c_str(), value);
  if (needed <= 0) return;
  const std::size_t before = out.size();
  out.resize(before + static_cast<std::size_t>(needed) + 1);
  std::snprintf(out.data() + before, static_cast<std::size_t>(needed) + 1, format.c_str(), value);
#pragma GCC diagnostic pop
  out.pop_back();
}

void append_integer(std::string& out, const Conversion& c, std::uint64_t bits) {
  const bool is_signed = c.letter == 'd' || c.letter == 'i';
  if (c.size == "hh") {
    bits = is_signed ? static_cast<std::uint64_t>(static_cast<std::int8_t>(bits)) : bits & 0xffU;
  } else if (c.size == "h") {
    bits = is_signed ? static_cast<std::uint64_t>(static_cast<std::int16_t>(bits)) : bits & 0xffffU;
  } else if (c.size.empty()) {
    bits = is_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(bits))
                     : bits & 0xffffffffU;
  }
  if (is_signed) {
    append(out, c, "ll", static_cast<long long>(bits));
  } else {
    append(out, c, "ll", static_cast<unsigned long long>(bits));
  }
}

}  // namespace

std::uint32_t print_formatted(std::string_view format, const PrintArguments& arguments,
                              std::string& out) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    Conversion c = parse(format.substr(i));
    const std::string_view text = format.substr(i, c.length);
    i += c.length;
    if (c.letter == '%') {
      out += '%';
      continue;
    }
    static constexpr std::string_view kLetters = "diuoxXcspfFeEgGaA";
    if (c.letter == 0 || kLetters.find(c.letter) == std::string_view::npos ||
        count >= kMostArguments) {
      out += text;
      continue;
    }
    const auto take_int = [&] {
      ++count;
      return std::clamp(static_cast<int>(static_cast<std::int32_t>(arguments.number(4))), -kWidest,
                        kWidest);
    };
    if (c.width_is_argument) {
      c.width = take_int();
      if (c.width < 0) {
        c.flags += '-';
        c.width = -c.width;
      }
    }
    if (c.precision_is_argument) c.precision = take_int();
    ++count;
    const bool wide = !c.size.empty() && c.size[0] != 'h';
    switch (c.letter) {
      case 'c':
        append(out, c, "", static_cast<int>(arguments.number(4)));
        break;
      case 's': {
        const std::uint64_t address = arguments.number(8);
        const std::string characters = address == 0 ? "(null)" : arguments.string(address);
        append(out, c, "", characters.c_str());
        break;
      }
      case 'p': {
        c.letter = 'x';
        c.flags += '#';
        append(out, c, "ll", static_cast<unsigned long long>(arguments.number(8)));
        break;
      }
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        append_integer(out, c, arguments.number(wide ? 8 : 4));
        break;
      default:
        append(out, c, "", std::bit_cast<double>(arguments.number(8)));
        break;
    }
  }
  return count;
}

}  // namespace bitgate::machine
