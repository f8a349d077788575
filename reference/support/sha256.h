#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace bitgate {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits. The one hash of the project: code
/// hashes, `out_sha256`, cache keys.
std::string sha256(std::span<const std::byte> bytes);
std::string sha256(std::string_view text);

}  // namespace bitgate
