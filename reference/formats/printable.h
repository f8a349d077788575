#pragma once

#include <string>
#include <string_view>

namespace bitgate::formats {

/// Text from a file, for a message: at most 100 bytes, control and non-ASCII bytes as \xNN, so that
/// a hostile name can neither flood nor steer a terminal.
std::string printable(std::string_view text);

}  // namespace bitgate::formats
