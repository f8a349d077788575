#include "reference/machine/exec/async_copy.h"

#include <algorithm>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/mbarrier.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// cp.async and its groups (PTX ISA 9.7.9.25). A copy may take place any time between its issue and
// the wait for its group: here at the wait (lazily), or at once (eagerly) when the schedule says
// so.

namespace bitgate::machine {

namespace {

void copy_lane(const PendingCopy& copy, std::size_t lane) {
  const std::uint8_t from_source = copy.source_bytes[lane];
  if (from_source == 16) {
    std::memcpy(copy.destination[lane], copy.source[lane], 16);
    return;
  }
  if (from_source != 0) {
    std::memcpy(copy.destination[lane], copy.source[lane], from_source);
  }
  if (from_source < copy.bytes) {
    std::memset(copy.destination[lane] + from_source, 0, std::size_t{copy.bytes} - from_source);
  }
}

void carry_out(const LaunchState& state, const Warp& warp, const PendingCopy& copy,
               std::uint32_t lanes) {
  if (lanes == 0) return;
  if (state.hazards != nullptr) state.hazards->copy(warp, copy, lanes);
  each_lane(lanes, [&](std::size_t lane) { copy_lane(copy, lane); });
}

/// Carries out the copies of `lanes` in groups below `bound`, which is one a lane.
void complete(const LaunchState& state, Warp& warp, std::uint32_t lanes,
              const std::array<std::uint32_t, kLanes>& bound) {
  auto out = warp.copies.begin();
  for (auto copy = warp.copies.begin(); copy != warp.copies.end(); ++copy) {
    std::uint32_t due = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      due |= copy->group[lane] < bound[lane] ? kLaneBit[lane] : 0U;
    }
    due &= copy->mask & lanes;
    carry_out(state, warp, *copy, due);
    copy->mask &= ~due;
    if (copy->mask != 0) {
      if (out != copy) *out = *copy;
      ++out;
    }
  }
  warp.copies.erase(out, warp.copies.end());
}

/// Op::extra: c is a predicate, where it holds nothing is read (ignore-src).
constexpr std::uint8_t kMayIgnoreSource = 2;

/// a: shared address, b: global address; list: source size and offset of each address.
template <std::uint32_t Bytes>
void copy_async(Context& x, const Op& op) {
  const std::uint32_t* lists = x.state->code->lists.data() + op.list;
  const auto shared_offset = static_cast<std::int32_t>(lists[1]);
  const auto global_offset = static_cast<std::int32_t>(lists[2]);
  alignas(32) std::array<std::uint32_t, kLanes> source_size;
  std::memcpy(source_size.data(), x.lanes32(lists[0]), sizeof(source_size));
  if ((op.extra & kMayIgnoreSource) != 0) {
    const std::uint32_t ignored = x.predicate(op.c) ^ ((op.flip & 4U) != 0 ? kAllLanes : 0U);
    each_lane(ignored, [&](std::size_t lane) { source_size[lane] = 0; });
  }
  HostAddresses destination;
  locate_shared(x, op.a, (op.extra & kBaseIs32Bits) != 0, shared_offset, Bytes, Access::write,
                destination);

  PendingCopy copy;
  copy.mask = x.active;
  copy.bytes = Bytes;
  copy.group = x.warp->open_group;
  // A source size of 0 reads nothing: the address may then be anything.
  std::uint32_t whole = 0;
  std::uint32_t partial = 0;
  each_lane(x.active, [&](std::size_t lane) {
    if (source_size[lane] > Bytes) {
      throw_fault(Fault::Kind::out_of_bounds, static_cast<int>(lane),
                  "cp.async with a source size above the copy size");
    }
    copy.source_bytes[lane] = static_cast<std::uint8_t>(source_size[lane]);
    copy.destination[lane] = destination[lane];
    if (source_size[lane] == Bytes) {
      whole |= kLaneBit[lane];
    } else if (source_size[lane] != 0) {
      partial |= kLaneBit[lane];
    }
  });
  const std::uint32_t all = x.active;
  const auto locate_source = [&](std::uint32_t lanes, std::uint32_t bytes) {
    x.activate(lanes);
    HostAddresses source;
    locate_global(x, op, op.b, global_offset, bytes, Bytes, source);
    each_lane(lanes, [&](std::size_t lane) { copy.source[lane] = source[lane]; });
  };
  if (whole != 0) locate_source(whole, Bytes);
  each_lane(partial, [&](std::size_t lane) { locate_source(kLaneBit[lane], source_size[lane]); });
  x.activate(all);
  if (x.state->hazards != nullptr) x.state->hazards->copy_issued(x, op, copy);
  if (x.state->eager_copies) return carry_out(*x.state, *x.warp, copy, x.active);
  x.warp->copies.push_back(copy);
}

void commit_group(Context& x, const Op&) {
  each_lane(x.active, [&](std::size_t lane) { ++x.warp->open_group[lane]; });
  if (x.state->hazards != nullptr) x.state->hazards->copies_committed(x);
}

/// All but the most recent `immediate` committed groups.
void wait_group(Context& x, const Op& op) {
  std::array<std::uint32_t, kLanes> bound{};
  const auto pending = static_cast<std::uint32_t>(op.immediate);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t open = x.warp->open_group[lane];
    bound[lane] = open > pending ? open - pending : 0;
  }
  complete(*x.state, *x.warp, x.active, bound);
  if (x.state->hazards != nullptr) x.state->hazards->copies_awaited(x, pending);
}

void wait_all(Context& x, const Op&) {
  complete_all_copies(*x.state, *x.warp, x.active);
  if (x.state->hazards != nullptr) x.state->hazards->all_copies_awaited(x);
}

void decode_copy(InstructionBuilder& builder) {
  const auto set = [&](Handler handler) {
    builder.op.full = handler;
    builder.op.masked = handler;
  };
  if (builder.modifier(0) != "async") throw Unsupported("cp without .async");
  if (builder.has("commit_group")) return set(&commit_group);
  if (builder.has("wait_all")) return set(&wait_all);
  if (builder.has("wait_group")) {
    const ptx::Operand& count = builder.operand(0);
    if (count.kind != ptx::Operand::Kind::immediate) {
      throw Unsupported("cp.async.wait_group takes an immediate");
    }
    builder.op.immediate = static_cast<std::int64_t>(count.immediate.bits & 0x7fffffffU);
    return set(&wait_group);
  }
  if (builder.has("bulk")) {
    throw Unsupported("copies of the tensor memory accelerator are not implemented");
  }
  if (builder.has("mbarrier")) return decode_copies_arrive(builder);
  // cp.async.{ca,cg}.shared.global{…} [dst], [src], cp-size{, src-size | ignore-src}{, policy}
  const auto destination = builder.address(&Op::a, builder.operand(0));
  const std::int64_t shared_offset = builder.op.immediate;
  const auto source = builder.address(&Op::b, builder.operand(1));
  const std::int64_t global_offset = builder.op.immediate;
  if (source.base_is_32_bits) throw Unsupported("a global address of 32 bits");
  if (destination.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  const auto fits = [](std::int64_t v) { return v == static_cast<std::int32_t>(v); };
  if (!fits(shared_offset) || !fits(global_offset)) throw Unsupported("an offset beyond 32 bits");
  const ptx::Operand& size = builder.operand(2);
  if (size.kind != ptx::Operand::Kind::immediate) throw Unsupported("cp-size is an immediate");
  const std::uint64_t bytes = size.immediate.bits;
  builder.begin_list();
  // What is left before the policy is a source size or the predicate ignore-src.
  const std::size_t operands = builder.count() - (builder.has("L2::cache_hint") ? 1 : 0);
  bool has_size = operands > 3;
  if (has_size) {
    const ptx::Operand& third = builder.operand(3);
    if (third.kind == ptx::Operand::Kind::reg && builder.declared_kind(third) == Kind::predicate) {
      builder.use(&Op::c, third, Kind::predicate, Immediates::integer, 2);
      builder.op.extra |= kMayIgnoreSource;
      has_size = false;
    }
  }
  if (has_size) {
    builder.list_use(builder.operand(3), Kind::b32);
  } else {
    builder.list_use_constant(Kind::b32, bytes);
  }
  builder.list_raw(static_cast<std::uint32_t>(shared_offset));
  builder.list_raw(static_cast<std::uint32_t>(global_offset));
  builder.use_allocation_cache();
  switch (bytes) {
    case 4:
      return set(&copy_async<4>);
    case 8:
      return set(&copy_async<8>);
    case 16:
      return set(&copy_async<16>);
    default:
      throw Unsupported("cp.async of that size");
  }
}

}  // namespace

void complete_all_copies(const LaunchState& state, Warp& warp, std::uint32_t lanes) {
  if (warp.copies.empty()) return;
  std::array<std::uint32_t, kLanes> bound{};
  bound.fill(0xffffffffU);
  complete(state, warp, lanes, bound);
}

void add_async_copy_rows(DecodeTable& table) {
  table.decoder("cp", &decode_copy);
  table.forms("cp",
              {"cp.async.{ca,cg}.shared.global", "cp.async.{commit_group,wait_group,wait_all}",
               "cp.async.mbarrier.arrive{,.noinc}{,.shared}.b64"});
}

}  // namespace bitgate::machine
