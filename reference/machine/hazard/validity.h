#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "reference/machine/hazard/flow_labels.h"
#include "reference/machine/hazard/report.h"

namespace bitgate::machine::hazard {

/// Uninitialised data that matters: bits that nobody has written, followed bit by bit through
/// registers, shared, local and global memory, and per element through mma: d(i,j) depends on row i
/// of A, column j of B and c(i,j) alone, and 0 · undefined is undefined.
///
/// Reported where they decide a branch, the guard of an access, a barrier or an exit, an address,
/// an operand of a barrier, mbarrier or member mask, an indirect target, or how much cp.async
/// reads; and, after the last launch, where they are in an output buffer. Not where they are
/// copied, or computed with and thrown away. A guarded instruction that only computes is a
/// selection: its undefined guard makes the result undefined.
///
/// Undefined at first are registers, shared and local memory, and the allocations that
/// GlobalMemory::set_undefined named. Parameters, constants and what the host wrote are defined.
class Validity : private LabelListener {
 public:
  Validity(const LaunchState& state, const FlowTable& table, ReportList& reports);

  Labels& labels() { return labels_; }

 private:
  void reached(const Reached& where) override;
  void stored(const Reached& where, const std::byte* host, std::uint32_t bytes) override;
  Report report(const Reached& where) const;

  const LaunchState& state_;
  ReportList& reports_;
  Labels labels_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> notes_;  ///< by the two pcs
};

/// Who stored undefined bits into global memory, as reports without their place.
struct UndefinedStores {
  std::vector<Report> notes;
  std::unordered_map<std::uint64_t, std::uint32_t> note_of;  ///< by host address / 4
};

/// The undefined bytes of the output buffers (GlobalMemory::set_output), to be asked for after the
/// last launch of a watched sequence. A report's `first` is the read of the undefined place and
/// `second` the store that copied it to the output; of bytes that nobody ever wrote, `first` names
/// no instruction (its ptx_line is 0) and there is no `second`. Reports are one a buffer and pair
/// of instructions: offset and bytes are of the first run of such bytes, `count` is the number of
/// runs.
std::vector<Report> undefined_outputs(const GlobalMemory& memory);

/// Where the labelled bits of an origin were read: the reports' `first`.
Site site_of(const LaunchState& state, const Origin& origin);

}  // namespace bitgate::machine::hazard
