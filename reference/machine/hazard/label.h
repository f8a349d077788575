#pragma once

#include <cstdint>
#include <string_view>

namespace bitgate::machine::hazard {

/// What bits are followed for.
enum class Label : std::uint8_t {
  undefined,  ///< nobody has written them
  data,       ///< what buffers hold at the launch decides them
  schedule    ///< the order in which threads ran decides them
};
std::string_view name(Label label);

/// Where a label matters.
enum class Sink : std::uint8_t {
  none,
  branch,           ///< the guard of a branch, call or return
  guard,            ///< the guard of a memory access, a barrier or an exit
  load_address,     ///< of what is only read
  store_address,    ///< of what is written
  atomic_address,   ///< of a read-modify-write
  barrier_operand,  ///< number, count or predicate of a barrier; count, state or object of mbarrier
  mask_operand,     ///< a member mask
  shuffle_lane,     ///< which lane a shuffle reads
  copy_size,        ///< how much cp.async reads
  indirect_target,  ///< of brx.idx and of calls through a register
  atomic,           ///< one that does not commute with itself (label schedule alone)
  stored_value,     ///< what a store or an atomic writes (label schedule alone)
  output            ///< an output buffer, after the last launch (label undefined alone)
};
std::string_view name(Sink sink);

}  // namespace bitgate::machine::hazard
