// Any bytes: a launch file, or an InputError.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ci/suite/launch_file.h"
#include "reference/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    bitgate::suite::parse_launch_file({reinterpret_cast<const char*>(data), size}, "fuzz", ".");
  } catch (const bitgate::InputError&) {
    return 0;
  }
  return 0;
}
