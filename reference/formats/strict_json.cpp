#include "reference/formats/strict_json.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "reference/formats/printable.h"
#include "reference/support/error.h"

namespace bitgate::formats {

using nlohmann::json;

json parse_strict_json(std::string_view text, std::string_view where, int depth) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int level, json::parse_event_t event, json& parsed) {
    if (level > depth)
      throw InputError(fmt::format("{}: JSON deeper than {} levels", where, depth));
    switch (event) {
      case json::parse_event_t::object_start:
        keys.emplace_back();
        break;
      case json::parse_event_t::object_end:
        keys.pop_back();
        break;
      case json::parse_event_t::key:
        if (!keys.back().insert(parsed.get<std::string>()).second) {
          throw InputError(fmt::format("{}: the key {} appears twice in one object", where,
                                       printable(parsed.get_ref<const std::string&>())));
        }
        break;
      default:
        break;
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: not JSON: {}", where, printable(error.what())));
  }
}

}  // namespace bitgate::formats
