#include "reference/machine/hazard/flow_cache.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace bitgate::machine::hazard {

std::shared_ptr<const FlowTable> flow_of(const Program::Impl& program, const Code& code) {
  // Programs that come and go, as fuzzers make them, leave at most this many behind.
  constexpr std::size_t kMostTables = 64;
  static std::mutex mutex;
  static std::map<std::pair<std::uint64_t, std::string>, std::shared_ptr<const FlowTable>> tables;
  const std::lock_guard lock(mutex);
  std::pair key{program.number, code.name};
  const auto found = tables.find(key);
  if (found != tables.end()) return found->second;
  auto made = std::make_shared<const FlowTable>(code);
  // Numbers count up: the first is the oldest program's.
  if (tables.size() >= kMostTables) tables.erase(tables.begin());
  tables.emplace(std::move(key), made);
  return made;
}

}  // namespace bitgate::machine::hazard
