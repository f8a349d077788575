#pragma once

#include <cstdint>
#include <string>

namespace bitgate::machine {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// A place in the program and in the launch.
struct Site {
  std::string instruction;  ///< as written
  std::string file;         ///< user's source, by .loc
  std::uint32_t line = 0;
  std::uint32_t ptx_line = 0;
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
};

}  // namespace bitgate::machine
