#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reference/machine/exec/context.h"

namespace bitgate::machine {

/// Host addresses of what each lane accesses.
struct HostAddresses {
  alignas(32) std::array<std::uint64_t, kLanes> at;

  std::byte* operator[](std::size_t lane) const { return reinterpret_cast<std::byte*>(at[lane]); }
};

enum class Access : std::uint8_t { read, write };

/// What an instruction is about to access, for who watches (hazard/hazards.h). An atomic is one
/// write; that it reads as well is for the instruction to say.
struct MemoryAccess {
  Space space = Space::global;  ///< never generic
  Access access = Access::read;
  std::uint32_t lanes = 0;  ///< whose addresses are given
  std::uint32_t bytes = 0;  ///< at each address
  /// Each address is accessed by the whole warp together (ldmatrix, stmatrix, wmma), whatever lane
  /// gives it.
  bool collective = false;
  /// Where lane 0's bytes are when all 32 lanes' follow each other; else null.
  std::byte* run = nullptr;
  const HostAddresses* host = nullptr;  ///< null where `run` is given

  std::byte* at(std::size_t lane) const {
    return run != nullptr ? run + lane * bytes : (*host)[lane];
  }
};

/// What an address operand says besides its register (Op::extra of memory instructions).
inline constexpr std::uint8_t kBaseIs32Bits = 1;

/// Checks bounds, alignment and permission of the active lanes' accesses of `bytes` each at
/// [Op::a + Op::immediate] and gives their host addresses; inactive lanes get an address that is
/// valid but not theirs. Throws MachineFault at the first lane that is out of order.
template <Space S>
void locate(Context& x, const Op& op, std::uint32_t bytes, Access access, HostAddresses& host);

extern template void locate<Space::generic>(Context&, const Op&, std::uint32_t, Access,
                                            HostAddresses&);
extern template void locate<Space::global>(Context&, const Op&, std::uint32_t, Access,
                                           HostAddresses&);
extern template void locate<Space::shared>(Context&, const Op&, std::uint32_t, Access,
                                           HostAddresses&);
extern template void locate<Space::local>(Context&, const Op&, std::uint32_t, Access,
                                          HostAddresses&);
extern template void locate<Space::constant>(Context&, const Op&, std::uint32_t, Access,
                                             HostAddresses&);
extern template void locate<Space::parameter>(Context&, const Op&, std::uint32_t, Access,
                                              HostAddresses&);

/// The same where the space is known by the Op at run time only.
void locate_in_space(Context& x, const Op& op, Space space, std::uint32_t bytes, Access access,
                     HostAddresses& host);

/// The same for one lane and any address in the generic address space; a multiple of `alignment`.
std::byte* locate_lane(Context& x, std::size_t lane, std::uint64_t generic, std::uint32_t bytes,
                       std::uint32_t alignment, Access access);

/// The same for the two addresses of cp.async, shared and global, in other registers; what is read
/// may be shorter than what the address must be a multiple of.
void locate_shared(Context& x, std::uint32_t field, bool base_is_32_bits, std::int64_t offset,
                   std::uint32_t bytes, Access access, HostAddresses& host);
void locate_global(Context& x, const Op& op, std::uint32_t field, std::int64_t offset,
                   std::uint32_t bytes, std::uint32_t alignment, HostAddresses& host);

}  // namespace bitgate::machine
