#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/machine/coverage.h"
#include "reference/machine/machine.h"
#include "reference/machine/memory/address_space.h"
#include "reference/machine/program/code.h"

namespace bitgate::machine {

namespace hazard {
class Hazards;
struct BlockRaces;
}  // namespace hazard

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffffU;

/// Bytes aligned for AVX2 loads, zeroed.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t bytes);
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

/// Bytes that cost the host only what is touched: zero at first.
class LazyBytes {
 public:
  LazyBytes() = default;
  explicit LazyBytes(std::size_t bytes);
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

struct Warp;

/// Thrown by a handler; the runner adds where it was.
struct MachineFault : std::exception {
  explicit MachineFault(Fault f) : fault(std::move(f)) {}
  const char* what() const noexcept override { return fault.message.c_str(); }
  Fault fault;
  int lane = -1;  ///< of the warp; -1: its first active one
  /// Who waits at a barrier that this does not fit in; null: nobody.
  const Warp* waiting = nullptr;
  std::uint32_t waiting_pc = 0;
  int waiting_lane = 0;
};

/// A cp.async of a warp that has not been carried out yet. Lanes belong to groups of their own.
struct PendingCopy {
  std::uint32_t mask = 0;
  std::uint8_t bytes = 0;
  std::array<std::byte*, kLanes> destination{};
  std::array<const std::byte*, kLanes> source{};
  std::array<std::uint8_t, kLanes> source_bytes{};  ///< the rest is zero-filled
  std::array<std::uint32_t, kLanes> group{};
};

/// Lanes of a warp that are at the same instruction.
struct Split {
  enum class State : std::uint8_t { running, converging, barrier };
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  State state = State::running;
  std::uint32_t barrier = 0;  ///< number, while state is barrier
};

/// A lane's stack and the procedures that it is in (exec/calls.h).
struct LaneStack {
  struct Call {
    std::uint32_t pc = 0;     ///< of the call instruction
    std::uint32_t site = 0;   ///< of Code::calls
    std::uint32_t frame = 0;  ///< the caller's
    std::uint32_t top = 0;    ///< before the call
  };
  std::vector<Call> calls;
  std::vector<std::uint32_t> saved;  ///< registers, of all the calls
  std::uint64_t top = 0;             ///< local address of the first free byte
  std::uint64_t charged = 0;         ///< bytes that count besides those below top
  std::uint64_t highest = 0;         ///< that top has been
};

struct Block;

struct Warp {
  AlignedBytes registers;
  std::byte* local = nullptr;  ///< of lane 0; the others follow
  Block* block = nullptr;
  std::uint32_t index = 0;    ///< in the block
  std::uint32_t live = 0;     ///< lanes that have not exited
  std::vector<Split> splits;  ///< disjoint, together `live`
  int turn_lane = -1;         ///< the split that holds it goes first, whatever its pc
  std::uint32_t next_turn_after = 0;

  std::vector<PendingCopy> copies;
  std::array<std::uint32_t, kLanes> open_group{};
  std::uint32_t carry = 0;  ///< CC.CF of each lane
  /// Of %clock and %globaltimer: it goes on by a fixed step whenever the warp reads it, so that it
  /// depends neither on the schedule nor on host threads, and waits on it come to an end.
  std::uint64_t clock = 0;
  std::vector<LaneStack> stacks;  ///< of each lane, where the code needs them
  /// Which registers are labelled, of who watches (hazard/hazards.h).
  const std::uint64_t* labelled = nullptr;
};

/// A named barrier of a block (PTX ISA, bar).
struct Barrier {
  std::vector<std::uint32_t> arrived;  ///< lanes, by warp
  std::uint32_t expected = 0;          ///< threads; 0: all of the block
  std::uint32_t true_count = 0;        ///< threads whose bar.red predicate holds
  std::uint32_t thread_count = 0;
  bool in_use = false;
};

/// Which warp of a block goes next; the schedule's (schedule/policy.h).
struct WarpOrder {
  std::size_t current = 0;  ///< the last that had a turn
  std::size_t starved = 0;
  std::vector<std::int64_t> priority;  ///< of each warp, the highest first; empty: by other rules
  std::int64_t lowest = 0;
};

struct Block {
  std::uint64_t number = 0;  ///< in the grid, x fastest
  Dim3 index{0, 0, 0};
  AlignedBytes shared;
  std::uint32_t shared_bytes = 0;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  std::uint32_t live_warps = 0;
  WarpOrder order;
  LazyBytes local;
  hazard::BlockRaces* races = nullptr;  ///< of who watches for races
};

/// What a host thread that runs blocks of one launch needs besides the blocks.
struct LaunchState {
  const Program::Impl* program = nullptr;
  const Code* code = nullptr;
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  GlobalMemory* memory = nullptr;
  const numeric::TensorModel* tensor_model = nullptr;
  std::vector<const GlobalMemory::Allocation*> cached_allocation;  ///< by Op::cache
  std::span<const std::byte> constants;                            ///< the program's bank
  std::map<std::uint64_t, std::string> printed;                    ///< by block
  bool eager_copies = false;
  hazard::Hazards* hazards = nullptr;   ///< null: nobody watches
  Coverage::Count* coverage = nullptr;  ///< one an op of the code; null: nobody counts
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::uint64_t tensor_instructions = 0;
};

/// A warp at an instruction, as handlers see it.
struct Context {
  std::byte* registers = nullptr;
  std::uint32_t active = 0;
  std::uint32_t pc = 0;
  Warp* warp = nullptr;
  Block* block = nullptr;
  LaunchState* state = nullptr;
  std::uint32_t expanded = 0;                                 ///< the mask that lane_mask shows
  alignas(32) std::array<std::uint32_t, kLanes> lane_mask{};  ///< all ones in active lanes

  /// Before a masked handler runs.
  void activate(std::uint32_t mask) {
    active = mask;
    if (mask == expanded) return;
    expanded = mask;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      lane_mask[lane] = (mask >> lane & 1U) != 0 ? kAllLanes : 0U;
    }
  }
  std::uint32_t& predicate(std::uint32_t offset) const {
    return *reinterpret_cast<std::uint32_t*>(registers + offset);
  }
  std::uint32_t* lanes32(std::uint32_t offset) const {
    return reinterpret_cast<std::uint32_t*>(registers + offset);
  }
  std::uint64_t* lanes64(std::uint32_t offset) const {
    return reinterpret_cast<std::uint64_t*>(registers + offset);
  }
};

[[noreturn]] void throw_fault(Fault::Kind kind, int lane, std::string message);

}  // namespace bitgate::machine
