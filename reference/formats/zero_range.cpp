#include "reference/formats/zero_range.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/support/error.h"

namespace bitgate::formats {

void require_zero_range(std::span<const std::uint8_t> z, std::int64_t n,
                        std::string_view convention, std::uint8_t smallest, std::uint8_t largest) {
  const auto bad = std::find_if(
      z.begin(), z.end(), [=](std::uint8_t value) { return value < smallest || value > largest; });
  if (bad == z.end()) return;
  const std::int64_t at = bad - z.begin();
  throw InputError(
      fmt::format("{} has no code for a zero point of {} (group {}, column {}): it holds {} to {}; "
                  "choose another "
                  "convention or other zero points",
                  convention, *bad, at / n, at % n, smallest, largest));
}

}  // namespace bitgate::formats
