#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/flow.h"
#include "reference/machine/hazard/report.h"

namespace bitgate::machine::hazard {

class BarrierWatch;
class LivelockWatch;
class Races;
class TaintWatch;
class Validity;
struct Taint;

/// Who watches a launch: owns the shadows and gets every event of it. One host thread runs all
/// blocks of a watched launch.
///
/// Events of one instruction come in this order: before, its accesses (before memory changes),
/// after. Context::active has the lanes that execute it, Context::pc its place.
class Hazards {
 public:
  explicit Hazards(const LaunchState& state);
  ~Hazards();
  Hazards(const Hazards&) = delete;
  Hazards& operator=(const Hazards&) = delete;

  void start_block(Block& block);
  void finish_block(Block& block);

  /// `lanes` evaluated the guard; those of Context::active, perhaps none, execute the instruction.
  /// Of one that waits for lanes of its warp (Flow::converge) the event comes when they have met.
  void before(Context& x, const Op& op, std::uint32_t lanes) {
    if ((watched_[x.pc] & *x.warp->labelled) != 0) look(x, op, lanes);
  }
  /// By pc: `before` does nothing while these have no bit in common with Warp::labelled.
  const RegisterBits* watched() const { return watched_.data(); }
  /// Not for instructions that no lane executed, and not for barriers, exits and branches.
  void after(Context& x, const Op& op) {
    if (unsettled_) [[unlikely]]
      settle(x, op);
  }

  void access(Context& x, const Op& op, const MemoryAccess& access);
  /// Before an asynchronous copy is carried out for `lanes`.
  void copy(const Warp& warp, const PendingCopy& copy, std::uint32_t lanes);

  // Synchronisation, for the active lanes where no others are named.
  void copy_issued(Context& x, const Op& op, const PendingCopy& copy);
  void copies_committed(Context& x);
  void copies_awaited(Context& x, std::uint32_t pending);
  void all_copies_awaited(Context& x);
  void barrier_arrives(Warp& warp, std::uint32_t number, std::uint32_t lanes, std::uint32_t pc);
  /// Before those that wait go on.
  void barrier_completes(Block& block, std::uint32_t number);
  void warp_barrier(Warp& warp, std::uint32_t lanes);
  void fence(Context& x);
  /// `with_copies`: the arrival is that of the lane's earlier copies; `completes`: it was the last
  /// of its phase.
  void mbarrier_arrives(Context& x, std::size_t lane, const std::byte* place, bool with_copies,
                        bool completes);
  /// These lanes were told that a phase is over.
  void mbarrier_observed(Context& x, std::uint32_t lanes, const HostAddresses& places);
  /// An allocation of the device's heap goes back.
  void released(std::uint64_t address);

  /// A warp has had its turn. Throws MachineFault when nothing will ever happen again.
  void turn_over(const Warp& warp);

  /// What ended the run, if it is a hazard.
  void fault(const Fault& fault);

  ReportList reports;

  /// Where an instruction stands and who executes it.
  Site site(const Warp& warp, std::uint32_t pc, std::size_t lane) const;

  std::uint64_t peak_bytes() const;
  /// Empty unless it was asked for.
  Taint taint() const;

 private:
  void look(Context& x, const Op& op, std::uint32_t lanes);
  void settle(Context& x, const Op& op);

  const LaunchState& state_;
  std::vector<RegisterBits> watched_;  ///< by pc: what `before` looks at
  bool unsettled_ = false;             ///< `after` has something to do
  std::shared_ptr<const FlowTable> flow_;
  std::unique_ptr<Validity> validity_;
  std::unique_ptr<TaintWatch> taint_;
  std::unique_ptr<Races> races_;
  std::unique_ptr<BarrierWatch> barriers_;
  std::unique_ptr<LivelockWatch> livelock_;
};

}  // namespace bitgate::machine::hazard
