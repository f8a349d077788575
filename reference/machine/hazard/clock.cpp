#include "reference/machine/hazard/clock.h"

#include <algorithm>

namespace bitgate::machine::hazard {

std::uint32_t Clock::at(std::uint64_t key) const {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), key,
                       [](const Entry& entry, std::uint64_t k) { return entry.first < k; });
  return found != entries.end() && found->first == key ? found->second : 0;
}

std::uint32_t Clock::of(std::uint32_t warp, bool async, std::uint32_t lane) const {
  return std::max(at(key(warp, async, kAllLanesSlot)), at(key(warp, async, slot_of(lane))));
}

void Clock::sort() {
  std::sort(entries.begin(), entries.end());
  auto out = entries.begin();
  for (auto in = entries.begin(); in != entries.end(); ++in) {
    if (in->second == 0) continue;
    if (out != entries.begin() && std::prev(out)->first == in->first) {
      std::prev(out)->second = std::max(std::prev(out)->second, in->second);
    } else {
      *out++ = *in;
    }
  }
  entries.erase(out, entries.end());
}

bool covers(const ClockPtr& a, const ClockPtr& b) {
  if (b == nullptr || a == b) return true;
  if (a == nullptr) return b->entries.empty();
  auto mine = a->entries.begin();
  for (const Clock::Entry& entry : b->entries) {
    while (mine != a->entries.end() && mine->first < entry.first) ++mine;
    if (mine == a->entries.end() || mine->first != entry.first || mine->second < entry.second) {
      return false;
    }
  }
  return true;
}

ClockPtr join(const ClockPtr& a, const ClockPtr& b) {
  if (covers(a, b)) return a;
  if (covers(b, a)) return b;
  auto result = std::make_shared<Clock>();
  result->entries.reserve(a->entries.size() + b->entries.size());
  auto i = a->entries.begin();
  auto j = b->entries.begin();
  while (i != a->entries.end() || j != b->entries.end()) {
    if (j == b->entries.end() || (i != a->entries.end() && i->first < j->first)) {
      result->entries.push_back(*i++);
    } else if (i == a->entries.end() || j->first < i->first) {
      result->entries.push_back(*j++);
    } else {
      result->entries.emplace_back(i->first, std::max(i->second, j->second));
      ++i;
      ++j;
    }
  }
  return result;
}

}  // namespace bitgate::machine::hazard
