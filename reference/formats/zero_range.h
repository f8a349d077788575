#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace bitgate::formats {

/// InputError naming the convention, group and column of the first zero point outside
/// [smallest, largest]; z is [groups][n].
void require_zero_range(std::span<const std::uint8_t> z, std::int64_t n,
                        std::string_view convention, std::uint8_t smallest, std::uint8_t largest);

}  // namespace bitgate::formats
