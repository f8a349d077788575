#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace bitgate::machine {

/// Where the arguments of a format string come from.
struct PrintArguments {
  /// The next argument, of 4 or 8 bytes, at a multiple of its size.
  std::function<std::uint64_t(std::uint32_t bytes)> number;
  /// The characters of a %s, by its address.
  std::function<std::string(std::uint64_t address)> string;
};

/// printf of device code (CUDA C++ Programming Guide, "Format Specifiers"): flags, width, precision
/// and size as in C, `long` of 64 bits, at most 32 arguments. A conversion that is none is printed
/// as it stands. Appends to `out` and gives the number of arguments.
std::uint32_t print_formatted(std::string_view format, const PrintArguments& arguments,
                              std::string& out);

}  // namespace bitgate::machine
