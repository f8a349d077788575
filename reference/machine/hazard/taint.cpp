#include "reference/machine/hazard/taint.h"

#include <algorithm>
#include <bit>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/site_of.h"
#include "reference/machine/hazard/validity.h"

namespace bitgate::machine::hazard {

TaintWatch::TaintWatch(const LaunchState& state, const FlowTable& table)
    : state_(state), table_(table), allocations_(state.memory->allocations()) {}

void TaintWatch::start_block(const Block& block) {
  data_.labels.start_block(block);
  schedule_.labels.start_block(block);
}

void TaintWatch::finish_block(const Block& block) {
  data_.labels.finish_block(block);
  schedule_.labels.finish_block(block);
}

void TaintWatch::before(Context& x, const Op& op, std::uint32_t lanes) {
  addresses_.clear();
  const OpFlow& flow = table_[x.pc];
  if (flow.rule == Rule::atomic && x.active != 0) {
    const auto [entry, inserted] = atomics_.try_emplace(x.pc);
    AtomicUse& use = entry->second;
    if (inserted) {
      use.site = site_of(state_, x.warp->block->number, x.warp->index, x.pc,
                         static_cast<std::uint32_t>(std::countr_zero(x.active)));
      use.is_float = flow.atomic_is_float;
      use.commutes = flow.atomic_commutes;
      use.has_result = flow.result_used;
    }
    ++use.count;
  }
  if (flow.rule == Rule::system) allocations_.clear();
  data_.labels.before(x, op, lanes);
  schedule_.labels.before(x, op, lanes);
}

void TaintWatch::access(Context& x, const Op& op, const MemoryAccess& access) {
  const bool writes = access.access == Access::write;
  if (access.space == Space::global && (writes || !addresses_.empty())) {
    if (allocations_.empty()) allocations_ = state_.memory->allocations();
    const GlobalMemory::Allocation* last = nullptr;
    each_lane(access.lanes, [&](std::size_t lane) {
      const std::byte* host = access.at(lane);
      const auto holds = [&](const GlobalMemory::Allocation* a) {
        return a != nullptr && host >= a->host && host < a->host + a->bytes;
      };
      if (!holds(last)) {
        const auto found = std::find_if(allocations_.begin(), allocations_.end(), holds);
        last = found == allocations_.end() ? nullptr : *found;
        if (last == nullptr) return;
      }
      if (writes) written_.insert(last);
      for (Found* found : addresses_) found->buffers.insert(last);
    });
  }
  data_.labels.access(x, op, access);
  schedule_.labels.access(x, op, access);
}

void TaintWatch::copy(const Warp& warp, const PendingCopy& copy, std::uint32_t lanes) {
  data_.labels.copy(warp, copy, lanes);
  schedule_.labels.copy(warp, copy, lanes);
}

void TaintWatch::reached(const Labels& labels, const Reached& where) {
  const auto [entry, inserted] = found_.try_emplace(Key{labels.label(), where.sink, where.pc});
  Found& found = entry->second;
  const Origin& origin = labels.origin(where.origin);
  if (inserted) {
    TaintReach& reach = found.reach;
    reach.label = labels.label();
    reach.sink = where.sink;
    reach.site =
        site_of(state_, where.warp->block->number, where.warp->index, where.pc,
                static_cast<std::uint32_t>(where.lanes == 0 ? 0 : std::countr_zero(where.lanes)));
    reach.origin = site_of(state_, origin);
    if (origin.allocation != nullptr) reach.origin_buffer = origin.allocation->name;
    reach.own_wait_loop = true;
  }
  ++found.reach.count;
  found.reach.own_wait_loop = found.reach.own_wait_loop && where.sink == Sink::branch &&
                              labels.label() == Label::schedule &&
                              is_own_wait_loop(where.pc, origin.pc);
  if (where.sink == Sink::load_address) addresses_.push_back(&found);
}

/// The loop is a branch back from at or behind the exit test to at or before the origin, with
/// nothing in between that another thread could see but the origin itself.
bool TaintWatch::is_own_wait_loop(std::uint32_t branch, std::uint32_t origin) const {
  const Code& code = *state_.code;
  const std::uint32_t first = std::min(branch, origin);
  for (std::uint32_t end = std::max(branch, origin); end < code.ops.size(); ++end) {
    const Op& op = code.ops[end];
    if (op.flow != Flow::branch) continue;
    const auto target = static_cast<std::uint32_t>(op.immediate);
    if (target > first) continue;
    for (std::uint32_t pc = target; pc <= end; ++pc) {
      if (pc == origin) continue;
      const Rule rule = table_[pc].rule;
      const bool reads = rule == Rule::load;
      if ((moves_memory(rule) && !reads) || rule == Rule::barrier || rule == Rule::call ||
          rule == Rule::ret || rule == Rule::exit || rule == Rule::system) {
        return false;
      }
    }
    return true;
  }
  return false;
}

Taint TaintWatch::result() const {
  Taint result;
  for (const auto& [key, found] : found_) {
    TaintReach reach = found.reach;
    if (reach.sink == Sink::load_address) {
      reach.only_unwritten = !found.buffers.empty();
      for (const GlobalMemory::Allocation* buffer : found.buffers) {
        reach.buffers.push_back(buffer->name);
        if (written_.contains(buffer)) reach.only_unwritten = false;
      }
      std::sort(reach.buffers.begin(), reach.buffers.end());
    }
    result.reaches.push_back(std::move(reach));
  }
  for (const auto& [pc, use] : atomics_) result.atomics.push_back(use);
  return result;
}

}  // namespace bitgate::machine::hazard
