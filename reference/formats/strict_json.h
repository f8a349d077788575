#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace bitgate::formats {

/// Parses JSON from outside. InputError, beginning with `where`, for what is not JSON, for nesting
/// deeper than `depth`, and for a key that appears twice in one object (readers disagree on which
/// one counts).
nlohmann::json parse_strict_json(std::string_view text, std::string_view where, int depth);

}  // namespace bitgate::formats
