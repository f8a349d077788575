#include "reference/machine/hazard/hazards.h"

#include <optional>
#include <utility>

#include "reference/machine/hazard/barriers.h"
#include "reference/machine/hazard/fault_report.h"
#include "reference/machine/hazard/flow_cache.h"
#include "reference/machine/hazard/livelock.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/site_of.h"
#include "reference/machine/hazard/taint.h"
#include "reference/machine/hazard/validity.h"

namespace bitgate::machine::hazard {

namespace {

/// Of warps whose registers nobody follows.
constexpr RegisterBits kNoneLabelled = kAlways;

}  // namespace

Hazards::Hazards(const LaunchState& state)
    : state_(state), watched_(state.code->ops.size(), RegisterBits{0}) {
  const Options& options = state.options->hazards;
  if (options.validity || options.taint) flow_ = flow_of(*state.program, *state.code);
  if (options.validity) validity_ = std::make_unique<Validity>(state, *flow_, reports);
  if (options.taint) taint_ = std::make_unique<TaintWatch>(state, *flow_);
  if (options.races) {
    races_ = std::make_unique<Races>(state, reports);
    barriers_ = std::make_unique<BarrierWatch>(state, reports);
    livelock_ = std::make_unique<LivelockWatch>(state);
  }
  for (std::uint32_t pc = 0; pc < watched_.size(); ++pc) {
    if (validity_ != nullptr) watched_[pc] |= (*flow_)[pc].watched;
    const bool ends = state.code->ops[pc].flow == Flow::exit;
    if (taint_ != nullptr || (barriers_ != nullptr && (barriers_->is_join(pc) || ends))) {
      watched_[pc] |= kAlways;
    }
  }
}

Hazards::~Hazards() = default;

void Hazards::start_block(Block& block) {
  for (Warp& warp : block.warps) warp.labelled = &kNoneLabelled;
  if (validity_ != nullptr) {
    validity_->labels().start_block(block);
    for (Warp& warp : block.warps) warp.labelled = validity_->labels().watched(warp);
  }
  if (taint_ != nullptr) taint_->start_block(block);
  if (races_ != nullptr) races_->start_block(block);
  if (barriers_ != nullptr) barriers_->start_block(block);
  if (livelock_ != nullptr) livelock_->start_block(block);
}

void Hazards::finish_block(Block& block) {
  if (validity_ != nullptr) validity_->labels().finish_block(block);
  if (taint_ != nullptr) taint_->finish_block(block);
  if (races_ != nullptr) races_->finish_block(block);
  if (barriers_ != nullptr) barriers_->finish_block(block);
  if (livelock_ != nullptr) livelock_->finish_block(block);
}

void Hazards::look(Context& x, const Op& op, std::uint32_t lanes) {
  if (validity_ != nullptr) validity_->labels().before(x, op, lanes);
  if (taint_ != nullptr) [[unlikely]]
    taint_->before(x, op, lanes);
  if (barriers_ != nullptr) {
    if (barriers_->is_join(x.pc)) [[unlikely]]
      barriers_->at_join(x, lanes);
    if (op.flow == Flow::exit) barriers_->exits(x);
  }
}

void Hazards::settle(Context& x, const Op& op) {
  unsettled_ = false;
  if (races_->unsettled()) races_->settle(x, op);
  if (livelock_->suspects()) livelock_->has_written();
}

void Hazards::access(Context& x, const Op& op, const MemoryAccess& access) {
  if (validity_ != nullptr) validity_->labels().access(x, op, access);
  if (taint_ != nullptr) [[unlikely]]
    taint_->access(x, op, access);
  if (races_ == nullptr) return;
  races_->access(x, op, access);
  if (livelock_->suspects() && access.access == Access::write) [[unlikely]] {
    livelock_->writes(access);
    unsettled_ = true;
  }
  if (races_->unsettled()) [[unlikely]]
    unsettled_ = true;
}

void Hazards::copy(const Warp& warp, const PendingCopy& copy, std::uint32_t lanes) {
  if (validity_ != nullptr) validity_->labels().copy(warp, copy, lanes);
  if (taint_ != nullptr) taint_->copy(warp, copy, lanes);
}

void Hazards::copy_issued(Context& x, const Op& op, const PendingCopy& copy) {
  if (validity_ != nullptr) validity_->labels().copy_issued(x, copy);
  if (races_ != nullptr) races_->copy_issued(x, op, copy);
  if (livelock_ != nullptr && livelock_->suspects()) livelock_->changed();
}

void Hazards::copies_committed(Context& x) {
  if (races_ != nullptr) races_->copies_committed(x);
}

void Hazards::copies_awaited(Context& x, std::uint32_t pending) {
  if (races_ != nullptr) races_->copies_awaited(x, pending);
}

void Hazards::all_copies_awaited(Context& x) {
  if (races_ != nullptr) races_->all_copies_awaited(x);
}

void Hazards::barrier_arrives(Warp& warp, std::uint32_t number, std::uint32_t lanes,
                              std::uint32_t pc) {
  if (barriers_ != nullptr) barriers_->arrives(warp, pc, lanes);
  if (races_ != nullptr) races_->barrier_arrives(warp, number, lanes);
}

void Hazards::barrier_completes(Block& block, std::uint32_t number) {
  if (barriers_ != nullptr) barriers_->completes(block, number);
  if (races_ != nullptr) races_->barrier_completes(block, number);
}

void Hazards::warp_barrier(Warp& warp, std::uint32_t lanes) {
  if (races_ != nullptr) races_->warp_barrier(warp, lanes);
}

void Hazards::fence(Context& x) {
  if (races_ != nullptr) races_->fence(x);
}

void Hazards::mbarrier_arrives(Context& x, std::size_t lane, const std::byte* place,
                               bool with_copies, bool completes) {
  if (races_ != nullptr) races_->mbarrier_arrives(x, lane, place, with_copies, completes);
}

void Hazards::mbarrier_observed(Context& x, std::uint32_t lanes, const HostAddresses& places) {
  if (races_ != nullptr) races_->mbarrier_observed(x, lanes, places);
}

void Hazards::released(std::uint64_t address) {
  if (races_ != nullptr) races_->release(address);
}

void Hazards::turn_over(const Warp& warp) {
  if (livelock_ != nullptr) livelock_->turn_over(warp);
}

std::uint64_t Hazards::peak_bytes() const {
  return (races_ == nullptr ? 0 : races_->bytes()) +
         (validity_ == nullptr ? 0 : validity_->labels().bytes()) +
         (taint_ == nullptr ? 0 : taint_->bytes());
}

Taint Hazards::taint() const { return taint_ == nullptr ? Taint{} : taint_->result(); }

void Hazards::fault(const Fault& fault) {
  if (std::optional<Report> report = report_of(fault)) reports.add(std::move(*report));
}

Site Hazards::site(const Warp& warp, std::uint32_t pc, std::size_t lane) const {
  return site_of(state_, warp.block->number, warp.index, pc, static_cast<std::uint32_t>(lane));
}

}  // namespace bitgate::machine::hazard
