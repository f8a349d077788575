#include <fmt/format.h>
#include <immintrin.h>

#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/hazards.h"

namespace bitgate::machine {

namespace {

using Addresses = std::array<std::uint64_t, kLanes>;

[[noreturn]] void fault_at(Space space, Fault::Kind kind, std::size_t lane, std::uint64_t address,
                           std::uint32_t bytes, std::string buffer, std::int64_t offset,
                           std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.space = name(space);
  fault.buffer = std::move(buffer);
  fault.address = address;
  fault.offset = offset;
  fault.bytes = bytes;
  fault.message = std::move(message);
  MachineFault thrown(std::move(fault));
  thrown.lane = static_cast<int>(lane);
  throw thrown;
}

const char* verb(Access access) { return access == Access::read ? "read" : "write"; }

[[noreturn]] void fault_misaligned(Space space, Access access, std::size_t lane,
                                   std::uint64_t address, std::uint32_t bytes, std::string buffer,
                                   std::int64_t offset) {
  fault_at(space, Fault::Kind::misaligned, lane, address, bytes, std::move(buffer), offset,
           fmt::format("{} of {} bytes in {} memory at {:#x}, which is not a multiple of {}",
                       verb(access), bytes, name(space), address, bytes));
}

/// Spaces that are one array of `size` bytes.
[[noreturn]] void fault_in_window(Space space, Access access, std::size_t lane,
                                  std::uint64_t address, std::uint32_t bytes, std::uint64_t size) {
  if (address <= size && bytes <= size - address) {
    fault_misaligned(space, access, lane, address, bytes, "", static_cast<std::int64_t>(address));
  }
  fault_at(space, Fault::Kind::out_of_bounds, lane, address, bytes, "",
           static_cast<std::int64_t>(address),
           fmt::format("{} of {} bytes at byte {} of {} memory, which has {} bytes", verb(access),
                       bytes, static_cast<std::int64_t>(address), name(space), size));
}

std::byte* global_lane(Context& x, std::size_t lane, std::uint64_t address, std::uint32_t bytes,
                       std::uint32_t alignment, Access access) {
  const GlobalMemory& memory = *x.state->memory;
  const GlobalMemory::Allocation* allocation = memory.find(address, bytes);
  if (allocation == nullptr) {
    const GlobalMemory::Allocation* near = memory.nearest(address);
    fault_at(Space::global, Fault::Kind::out_of_bounds, lane, address, bytes,
             near == nullptr ? "" : near->name,
             near == nullptr ? 0 : static_cast<std::int64_t>(address - near->address),
             fmt::format("{} of {} bytes at {:#x} is out of bounds: {}", verb(access), bytes,
                         address, memory.describe(address)));
  }
  const auto offset = static_cast<std::int64_t>(address - allocation->address);
  if (address % alignment != 0) {
    fault_misaligned(Space::global, access, lane, address, alignment, allocation->name, offset);
  }
  if (access == Access::write && allocation->read_only) {
    fault_at(Space::global, Fault::Kind::read_only_write, lane, address, bytes, allocation->name,
             offset,
             fmt::format("write of {} bytes at byte {} of '{}', which this launch may only read",
                         bytes, offset, allocation->name));
  }
  return allocation->host + offset;
}

void locate_global_addresses(Context& x, std::uint16_t cache, const Addresses& address,
                             std::uint32_t bytes, std::uint32_t alignment, Access access,
                             HostAddresses& host) {
  // Addresses are compared as signed numbers: no allocation lies above 2^62.
  const auto* in = reinterpret_cast<const __m256i*>(address.data());
  __m256i low = _mm256_load_si256(in);
  __m256i high = low;
  __m256i bits = low;
  for (int i = 1; i < kLanes / 4; ++i) {
    const __m256i v = _mm256_load_si256(in + i);
    low = _mm256_blendv_epi8(low, v, _mm256_cmpgt_epi64(low, v));
    high = _mm256_blendv_epi8(high, v, _mm256_cmpgt_epi64(v, high));
    bits = _mm256_or_si256(bits, v);
  }
  alignas(32) std::int64_t lows[4];
  alignas(32) std::int64_t highs[4];
  alignas(32) std::uint64_t ors[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lows), low);
  _mm256_store_si256(reinterpret_cast<__m256i*>(highs), high);
  _mm256_store_si256(reinterpret_cast<__m256i*>(ors), bits);
  const std::int64_t lowest = std::min(std::min(lows[0], lows[1]), std::min(lows[2], lows[3]));
  const std::int64_t highest = std::max(std::max(highs[0], highs[1]), std::max(highs[2], highs[3]));
  const std::uint64_t any = ors[0] | ors[1] | ors[2] | ors[3];

  const GlobalMemory::Allocation*& cached = x.state->cached_allocation[cache];
  const auto fits = [&](const GlobalMemory::Allocation* a) {
    return a != nullptr && static_cast<std::uint64_t>(lowest) >= a->address && a->bytes >= bytes &&
           static_cast<std::uint64_t>(highest) - a->address <= a->bytes - bytes;
  };
  if (lowest >= 0 && !fits(cached)) {
    const GlobalMemory::Allocation* found =
        x.state->memory->find(static_cast<std::uint64_t>(lowest), bytes);
    if (found != nullptr) cached = found;
  }
  if (lowest >= 0 && fits(cached) && (any & (alignment - 1)) == 0 &&
      !(access == Access::write && cached->read_only)) {
    const __m256i delta = _mm256_set1_epi64x(
        static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(cached->host) - cached->address));
    auto* out = reinterpret_cast<__m256i*>(host.at.data());
    for (int i = 0; i < kLanes / 4; ++i) {
      _mm256_store_si256(out + i, _mm256_add_epi64(_mm256_load_si256(in + i), delta));
    }
    return;
  }
  // Several allocations, or a fault: each lane by itself.
  std::byte* valid = nullptr;
  each_lane(x.active, [&](std::size_t lane) {
    valid = global_lane(x, lane, address[lane], bytes, alignment, access);
    host.at[lane] = reinterpret_cast<std::uint64_t>(valid);
  });
  each_lane(~x.active,
            [&](std::size_t lane) { host.at[lane] = reinterpret_cast<std::uint64_t>(valid); });
}

/// The active lanes' addresses; inactive lanes repeat that of the first active one.
void gather_addresses(const Context& x, std::uint32_t field, bool base_is_32_bits,
                      std::int64_t offset, Addresses& address) {
  if (base_is_32_bits) {
    const std::uint32_t* base = x.lanes32(field);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      address[lane] = base[lane] + static_cast<std::uint64_t>(offset);
    }
  } else {
    const std::uint64_t* base = x.lanes64(field);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      address[lane] = base[lane] + static_cast<std::uint64_t>(offset);
    }
  }
  if (x.active != kAllLanes) {
    const std::uint64_t first = address[static_cast<std::size_t>(std::countr_zero(x.active))];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      address[lane] = x.lane_mask[lane] != 0 ? address[lane] : first;
    }
  }
}

void locate_window(Context& x, Space space, const Addresses& address, std::uint32_t bytes,
                   Access access, std::byte* base, std::uint64_t size, HostAddresses& host) {
  std::uint64_t any = 0;
  std::uint64_t highest = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    any |= address[lane];
    highest = address[lane] > highest ? address[lane] : highest;
  }
  if (bytes <= size && highest <= size - bytes && (any & (bytes - 1)) == 0) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      host.at[lane] = reinterpret_cast<std::uint64_t>(base) + address[lane];
    }
    return;
  }
  each_lane(x.active, [&](std::size_t lane) {
    const bool inside = address[lane] <= size && bytes <= size - address[lane];
    if (!inside || (address[lane] & (bytes - 1)) != 0) {
      fault_in_window(space, access, lane, address[lane], bytes, size);
    }
  });
}

void locate_local(Context& x, const Addresses& address, std::uint32_t bytes, Access access,
                  HostAddresses& host) {
  const std::uint64_t stride = x.state->code->local_stride();
  locate_window(x, Space::local, address, bytes, access, x.warp->local,
                x.state->code->local_window(), host);
  for (std::size_t lane = 0; lane < kLanes; ++lane) host.at[lane] += lane * stride;
}

[[noreturn]] void fault_constant_write(Context& x, Space space, std::uint64_t address,
                                       std::uint32_t bytes) {
  fault_at(space, Fault::Kind::read_only_write,
           static_cast<std::size_t>(std::countr_zero(x.active)), address, bytes, "",
           static_cast<std::int64_t>(address),
           fmt::format("write of {} bytes to {} memory, which is read-only", bytes, name(space)));
}

void locate_constant(Context& x, const Addresses& address, std::uint32_t bytes, Access access,
                     HostAddresses& host) {
  if (access == Access::write) fault_constant_write(x, Space::constant, address[0], bytes);
  const auto& bank = x.state->constants;
  // The bank is never written: locate's callers read only.
  locate_window(x, Space::constant, address, bytes, access, const_cast<std::byte*>(bank.data()),
                bank.size(), host);
}

void locate_parameter(Context& x, const Addresses& address, std::uint32_t bytes, Access access,
                      HostAddresses& host) {
  if (access == Access::write) fault_constant_write(x, Space::parameter, address[0], bytes);
  const auto& buffer = x.state->launch->parameters;
  locate_window(x, Space::parameter, address, bytes, access, const_cast<std::byte*>(buffer.data()),
                buffer.size(), host);
}

void locate_in(Context& x, Space space, std::uint16_t cache, const Addresses& address,
               std::uint32_t bytes, Access access, HostAddresses& host) {
  switch (space) {
    case Space::generic:
    case Space::global:
      return locate_global_addresses(x, cache, address, bytes, bytes, access, host);
    case Space::shared:
      return locate_window(x, Space::shared, address, bytes, access, x.block->shared.data(),
                           x.block->shared_bytes, host);
    case Space::local:
      return locate_local(x, address, bytes, access, host);
    case Space::constant:
      return locate_constant(x, address, bytes, access, host);
    case Space::parameter:
      return locate_parameter(x, address, bytes, access, host);
  }
}

/// Tells who watches what the active lanes are about to access.
void note(Context& x, const Op& op, Space space, std::uint32_t bytes, Access access,
          const HostAddresses& host) {
  if (x.state->hazards == nullptr) [[likely]]
    return;
  x.state->hazards->access(x, op, {space, access, x.active, bytes, false, nullptr, &host});
}

void locate_generic(Context& x, const Op& op, Addresses& address, std::uint32_t bytes,
                    Access access, HostAddresses& host) {
  const std::uint32_t all = x.active;
  std::uint32_t left = all;
  HostAddresses part;
  while (left != 0) {
    // Lanes in one space together; usually that is all of them.
    const Space space = space_of(address[static_cast<std::size_t>(std::countr_zero(left))]);
    std::uint32_t same = 0;
    each_lane(left, [&](std::size_t lane) {
      if (space_of(address[lane]) == space) same |= kLaneBit[lane];
    });
    const std::uint64_t stand_in = address[static_cast<std::size_t>(std::countr_zero(same))];
    alignas(32) Addresses shifted;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const bool mine = (same & kLaneBit[lane]) != 0;
      shifted[lane] = (mine ? address[lane] : stand_in) - window_of(space);
    }
    x.activate(same);
    locate_in(x, space, op.cache, shifted, bytes, access, part);
    note(x, op, space, bytes, access, part);
    x.activate(all);
    if (same == all) {
      host = part;
      return;
    }
    each_lane(same, [&](std::size_t lane) { host.at[lane] = part.at[lane]; });
    left &= ~same;
    if (left == 0) {
      each_lane(~all, [&](std::size_t lane) {
        host.at[lane] = part.at[static_cast<std::size_t>(std::countr_zero(same))];
      });
    }
  }
}

/// Shared memory by 32-bit addresses, all lanes at once; false when a lane needs a closer look.
bool locate_shared_fast(const Context& x, std::uint32_t field, std::int64_t offset,
                        std::uint32_t bytes, HostAddresses& host) {
  const auto* base = reinterpret_cast<const __m256i*>(x.lanes32(field));
  const __m256i add = _mm256_set1_epi32(static_cast<int>(offset));
  __m256i address[4];
  for (int i = 0; i < 4; ++i) address[i] = _mm256_add_epi32(_mm256_load_si256(base + i), add);
  if (x.active != kAllLanes) {
    const auto first = static_cast<std::size_t>(std::countr_zero(x.active));
    const __m256i stand_in = _mm256_set1_epi32(
        static_cast<int>(x.lanes32(field)[first] + static_cast<std::uint32_t>(offset)));
    const auto* mask = reinterpret_cast<const __m256i*>(x.lane_mask.data());
    for (int i = 0; i < 4; ++i) {
      address[i] = _mm256_blendv_epi8(stand_in, address[i], _mm256_load_si256(mask + i));
    }
  }
  const std::uint32_t size = x.block->shared_bytes;
  if (size < bytes) return false;
  const __m256i last = _mm256_set1_epi32(static_cast<int>(size - bytes));
  const __m256i low_bits = _mm256_set1_epi32(static_cast<int>(bytes - 1));
  __m256i bad = _mm256_setzero_si256();
  for (const __m256i v : address) {
    const __m256i over = _mm256_xor_si256(_mm256_max_epu32(v, last), last);
    bad = _mm256_or_si256(bad, _mm256_or_si256(over, _mm256_and_si256(v, low_bits)));
  }
  if (_mm256_testz_si256(bad, bad) == 0) return false;
  const __m256i shared = _mm256_set1_epi64x(reinterpret_cast<std::int64_t>(x.block->shared.data()));
  auto* out = reinterpret_cast<__m256i*>(host.at.data());
  for (int i = 0; i < 4; ++i) {
    const __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(address[i]));
    const __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(address[i], 1));
    _mm256_store_si256(out + 2 * i, _mm256_add_epi64(low, shared));
    _mm256_store_si256(out + 2 * i + 1, _mm256_add_epi64(high, shared));
  }
  return true;
}

/// Global memory, all lanes in the allocation that the instruction met last; false otherwise.
bool locate_global_fast(const Context& x, const Op& op, std::uint32_t field, std::int64_t offset,
                        std::uint32_t bytes, std::uint32_t alignment, Access access,
                        HostAddresses& host) {
  const GlobalMemory::Allocation* cached = x.state->cached_allocation[op.cache];
  if (x.active != kAllLanes || cached == nullptr || cached->bytes < bytes ||
      (access == Access::write && cached->read_only)) {
    return false;
  }
  // The distance from the allocation's start, as an unsigned number below what is left of it: both
  // are below 2^62, and a difference that wrapped is negative.
  const auto* base = reinterpret_cast<const __m256i*>(x.lanes64(field));
  const __m256i from_start =
      _mm256_set1_epi64x(offset - static_cast<std::int64_t>(cached->address));
  const __m256i last = _mm256_set1_epi64x(static_cast<std::int64_t>(cached->bytes - bytes));
  const __m256i low_bits = _mm256_set1_epi64x(alignment - 1);
  const __m256i start_bits = _mm256_set1_epi64x(static_cast<std::int64_t>(cached->address));
  const __m256i start = _mm256_set1_epi64x(reinterpret_cast<std::int64_t>(cached->host));
  auto* out = reinterpret_cast<__m256i*>(host.at.data());
  __m256i outside = _mm256_setzero_si256();
  __m256i odd = _mm256_setzero_si256();
  for (int i = 0; i < kLanes / 4; ++i) {
    const __m256i distance = _mm256_add_epi64(_mm256_load_si256(base + i), from_start);
    outside =
        _mm256_or_si256(outside, _mm256_or_si256(distance, _mm256_cmpgt_epi64(distance, last)));
    odd = _mm256_or_si256(odd, _mm256_add_epi64(distance, start_bits));
    _mm256_store_si256(out + i, _mm256_add_epi64(distance, start));
  }
  // The sign bits of `outside`: a negative distance, or one beyond the last.
  return _mm256_movemask_pd(_mm256_castsi256_pd(outside)) == 0 &&
         _mm256_testz_si256(odd, low_bits) != 0;
}

}  // namespace

template <Space S>
void locate(Context& x, const Op& op, std::uint32_t bytes, Access access, HostAddresses& host) {
  const bool narrow = (op.extra & kBaseIs32Bits) != 0;
  if constexpr (S == Space::shared) {
    if (narrow && locate_shared_fast(x, op.a, op.immediate, bytes, host)) {
      return note(x, op, S, bytes, access, host);
    }
  }
  if constexpr (S == Space::global) {
    if (!narrow && locate_global_fast(x, op, op.a, op.immediate, bytes, bytes, access, host)) {
      return note(x, op, S, bytes, access, host);
    }
  }
  alignas(32) Addresses address;
  gather_addresses(x, op.a, narrow, op.immediate, address);
  if constexpr (S == Space::generic) {
    locate_generic(x, op, address, bytes, access, host);
  } else {
    locate_in(x, S, op.cache, address, bytes, access, host);
    note(x, op, S, bytes, access, host);
  }
}

template void locate<Space::generic>(Context&, const Op&, std::uint32_t, Access, HostAddresses&);
template void locate<Space::global>(Context&, const Op&, std::uint32_t, Access, HostAddresses&);
template void locate<Space::shared>(Context&, const Op&, std::uint32_t, Access, HostAddresses&);
template void locate<Space::local>(Context&, const Op&, std::uint32_t, Access, HostAddresses&);
template void locate<Space::constant>(Context&, const Op&, std::uint32_t, Access, HostAddresses&);
template void locate<Space::parameter>(Context&, const Op&, std::uint32_t, Access, HostAddresses&);

void locate_in_space(Context& x, const Op& op, Space space, std::uint32_t bytes, Access access,
                     HostAddresses& host) {
  switch (space) {
    case Space::generic:
      return locate<Space::generic>(x, op, bytes, access, host);
    case Space::global:
      return locate<Space::global>(x, op, bytes, access, host);
    case Space::shared:
      return locate<Space::shared>(x, op, bytes, access, host);
    case Space::local:
      return locate<Space::local>(x, op, bytes, access, host);
    case Space::constant:
      return locate<Space::constant>(x, op, bytes, access, host);
    case Space::parameter:
      return locate<Space::parameter>(x, op, bytes, access, host);
  }
}

std::byte* locate_lane(Context& x, std::size_t lane, std::uint64_t generic, std::uint32_t bytes,
                       std::uint32_t alignment, Access access) {
  const Space space = space_of(generic);
  if (space == Space::global) return global_lane(x, lane, generic, bytes, alignment, access);
  const std::uint64_t address = generic - window_of(space);
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  switch (space) {
    case Space::shared:
      base = x.block->shared.data();
      size = x.block->shared_bytes;
      break;
    case Space::local:
      base = x.warp->local + lane * x.state->code->local_stride();
      size = x.state->code->local_window();
      break;
    case Space::constant:
      base = const_cast<std::byte*>(x.state->constants.data());
      size = x.state->constants.size();
      break;
    case Space::parameter:
      base = const_cast<std::byte*>(x.state->launch->parameters.data());
      size = x.state->launch->parameters.size();
      break;
    case Space::generic:
    case Space::global:
      break;
  }
  if (access == Access::write && (space == Space::constant || space == Space::parameter)) {
    fault_constant_write(x, space, address, bytes);
  }
  if (address > size || bytes > size - address || address % alignment != 0) {
    fault_in_window(space, access, lane, address, bytes, size);
  }
  return base + address;
}

void locate_shared(Context& x, std::uint32_t field, bool base_is_32_bits, std::int64_t offset,
                   std::uint32_t bytes, Access access, HostAddresses& host) {
  if (base_is_32_bits && locate_shared_fast(x, field, offset, bytes, host)) return;
  alignas(32) Addresses address;
  gather_addresses(x, field, base_is_32_bits, offset, address);
  locate_in(x, Space::shared, 0, address, bytes, access, host);
}

void locate_global(Context& x, const Op& op, std::uint32_t field, std::int64_t offset,
                   std::uint32_t bytes, std::uint32_t alignment, HostAddresses& host) {
  if (locate_global_fast(x, op, field, offset, bytes, alignment, Access::read, host)) return;
  alignas(32) Addresses address;
  gather_addresses(x, field, false, offset, address);
  locate_global_addresses(x, op.cache, address, bytes, alignment, Access::read, host);
}

}  // namespace bitgate::machine
