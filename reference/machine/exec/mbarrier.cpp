#include "reference/machine/exec/mbarrier.h"

#include <fmt/format.h>

#include <cstring>

#include "reference/machine/exec/async_copy.h"
#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// mbarrier (PTX ISA 9.7.13.15): objects of 64 bits in shared memory, for threads of one block. A
// wait is a poll: it answers at once, and the loop around it comes back.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr U32 kMostCount = (1U << 20) - 1;

/// The object's contents, which PTX leaves opaque.
struct Mbarrier {
  U32 expected = 0;     ///< arrivals of each phase
  U32 pending = 0;      ///< arrivals missing in this one
  std::int32_t tx = 0;  ///< bytes of async transactions missing
  U32 phase = 0;        ///< modulo 4

  static Mbarrier unpack(U64 bits) {
    Mbarrier b;
    b.expected = static_cast<U32>(bits) & kMostCount;
    b.pending = static_cast<U32>(bits >> 20) & kMostCount;
    b.tx = static_cast<std::int32_t>(static_cast<U32>(bits >> 40) << 10) >> 10;
    b.phase = static_cast<U32>(bits >> 62);
    return b;
  }
  U64 pack() const {
    return U64{expected} | U64{pending} << 20 | U64{static_cast<U32>(tx) & 0x3fffffU} << 40 |
           U64{phase} << 62;
  }
  void complete_phase_if_due() {
    if (pending != 0 || tx != 0) return;
    phase = (phase + 1) % 4;
    pending = expected;
  }
};

enum class Action : std::uint8_t {
  init,
  inval,
  expect_tx,
  complete_tx,
  arrive,
  arrive_no_complete,
  arrive_drop,
  arrive_drop_no_complete,
  arrive_expect_tx,
  arrive_drop_expect_tx,
  copies_arrive,
  copies_arrive_no_increment
};

/// The others leave the number of missing arrivals as it is.
constexpr bool arrives(Action action) {
  return action != Action::init && action != Action::inval && action != Action::expect_tx;
}

constexpr unsigned kSpaceShift = 4;
Space space_in(const Op& op) { return static_cast<Space>(op.extra >> kSpaceShift); }

Mbarrier read(const std::byte* at) {
  U64 bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return Mbarrier::unpack(bits);
}

void write(std::byte* at, const Mbarrier& barrier) {
  const U64 bits = barrier.pack();
  std::memcpy(at, &bits, sizeof(bits));
}

[[noreturn]] void misuse(std::size_t lane, std::string message) {
  throw_fault(Fault::Kind::barrier, static_cast<int>(lane), std::move(message));
}

void arrive(Mbarrier& barrier, U32 count, bool may_complete, std::size_t lane) {
  if (count == 0 || count > barrier.pending) {
    misuse(lane,
           fmt::format("{} arrivals at an mbarrier that waits for {}", count, barrier.pending));
  }
  if (!may_complete && count == barrier.pending) {
    misuse(lane, "mbarrier.arrive.noComplete would complete the phase");
  }
  barrier.pending -= count;
  barrier.complete_phase_if_due();
}

void change_tx(Mbarrier& barrier, std::int64_t by, std::size_t lane) {
  const std::int64_t tx = barrier.tx + by;
  if (tx > std::int64_t{kMostCount} || tx < -std::int64_t{kMostCount}) {
    misuse(lane, fmt::format("an mbarrier with a transaction count of {}", tx));
  }
  barrier.tx = static_cast<std::int32_t>(tx);
}

void act(Mbarrier& barrier, Action action, U32 count, std::size_t lane) {
  switch (action) {
    case Action::init:
      if (count == 0 || count > kMostCount) {
        misuse(lane,
               fmt::format("an mbarrier for {} arrivals; 1 to {} are possible", count, kMostCount));
      }
      barrier = {count, count, 0, 0};
      return;
    case Action::inval:
      barrier = {};
      return;
    case Action::expect_tx:
      return change_tx(barrier, count, lane);
    case Action::complete_tx:
      change_tx(barrier, -std::int64_t{count}, lane);
      return barrier.complete_phase_if_due();
    case Action::arrive:
    case Action::arrive_no_complete:
      return arrive(barrier, count, action == Action::arrive, lane);
    case Action::arrive_drop:
    case Action::arrive_drop_no_complete:
      if (count > barrier.expected) misuse(lane, "more arrivals are dropped than there are");
      barrier.expected -= count;
      return arrive(barrier, count, action == Action::arrive_drop, lane);
    case Action::arrive_expect_tx:
      change_tx(barrier, count, lane);
      return arrive(barrier, 1, true, lane);
    case Action::arrive_drop_expect_tx:
      if (barrier.expected == 0) misuse(lane, "more arrivals are dropped than there are");
      --barrier.expected;
      change_tx(barrier, count, lane);
      return arrive(barrier, 1, true, lane);
    case Action::copies_arrive:
      // One more arrival is expected, and this is it.
      if (barrier.pending == kMostCount) misuse(lane, "too many arrivals pend at an mbarrier");
      ++barrier.pending;
      return arrive(barrier, 1, true, lane);
    case Action::copies_arrive_no_increment:
      return arrive(barrier, 1, true, lane);
  }
}

/// a: address; b: count; d: the state before, for what arrives.
template <Action A>
void change(Context& x, const Op& op) {
  if constexpr (A == Action::copies_arrive || A == Action::copies_arrive_no_increment) {
    // The copies may land any time before the arrival: here at once.
    complete_all_copies(*x.state, *x.warp, x.active);
  }
  HostAddresses host;
  locate_in_space(x, op, space_in(op), 8, Access::write, host);
  const U32* count = x.lanes32(op.b);
  U64* d = x.lanes64(op.d);
  each_lane(x.active, [&](std::size_t lane) {
    Mbarrier barrier = read(host[lane]);
    const U64 before = barrier.pack();
    const U32 phase = barrier.phase;
    act(barrier, A, count[lane], lane);
    write(host[lane], barrier);
    if (x.state->hazards != nullptr && arrives(A)) {
      x.state->hazards->mbarrier_arrives(
          x, lane, host[lane],
          A == Action::copies_arrive || A == Action::copies_arrive_no_increment,
          barrier.phase != phase);
    }
    d[lane] = before;
  });
}

/// a: address; b: a state, or a phase's parity; d: whether that phase is over.
template <bool Parity>
void test_wait(Context& x, const Op& op) {
  HostAddresses host;
  locate_in_space(x, op, space_in(op), 8, Access::read, host);
  U32 over = 0;
  each_lane(x.active, [&](std::size_t lane) {
    const Mbarrier barrier = read(host[lane]);
    const bool is_over = Parity ? (barrier.phase & 1U) != (x.lanes32(op.b)[lane] & 1U)
                                : barrier.phase != Mbarrier::unpack(x.lanes64(op.b)[lane]).phase;
    if (is_over) over |= kLaneBit[lane];
  });
  store_predicate(x, op.d, over);
  if (x.state->hazards != nullptr) x.state->hazards->mbarrier_observed(x, over, host);
}

void pending_count(Context& x, const Op& op) {
  const U64* state = x.lanes64(op.a);
  each_lane(x.active, [&](std::size_t lane) {
    x.lanes32(op.d)[lane] = Mbarrier::unpack(state[lane]).pending;
  });
}

template <Action... A>
Handler handler_of(Action action) {
  Handler result = nullptr;
  ((result = action == A ? &change<A> : result), ...);
  return result;
}

Handler handler_of(Action action) {
  return handler_of<Action::init, Action::inval, Action::expect_tx, Action::complete_tx,
                    Action::arrive, Action::arrive_no_complete, Action::arrive_drop,
                    Action::arrive_drop_no_complete, Action::arrive_expect_tx,
                    Action::arrive_drop_expect_tx, Action::copies_arrive,
                    Action::copies_arrive_no_increment>(action);
}

void use_address(InstructionBuilder& builder, const ptx::Operand& operand) {
  const auto address = builder.address(&Op::a, operand);
  Space space = Space::generic;
  if (builder.has("shared::cluster")) builder.require_no_clusters();
  if (builder.has("shared") || builder.has("shared::cta") || builder.has("shared::cluster") ||
      address.symbol_space == Space::shared) {
    space = Space::shared;
  }
  builder.op.extra = static_cast<std::uint8_t>(static_cast<unsigned>(space) << kSpaceShift);
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  builder.use_allocation_cache();
}

void set(InstructionBuilder& builder, Handler handler) {
  builder.op.full = handler;
  builder.op.masked = handler;
}

/// Instructions [addr]{, count} and state, [addr]{, count}.
void decode_change(InstructionBuilder& builder, Action action, bool has_state, bool needs_count) {
  std::size_t next = 0;
  ptx::Operand sink;
  sink.kind = ptx::Operand::Kind::sink;
  builder.define(&Op::d, has_state ? builder.operand(next++) : sink, Kind::b64);
  use_address(builder, builder.operand(next++));
  if (needs_count || builder.count() > next) {
    builder.use(&Op::b, builder.operand(next), Kind::b32);
  } else {
    builder.use_constant(&Op::b, Kind::b32, 1);
  }
  set(builder, handler_of(action));
}

void decode_wait(InstructionBuilder& builder) {
  // {test,try}_wait{.parity}…: waitComplete, [addr], state or parity{, suspendTimeHint}
  const bool parity = builder.has("parity");
  builder.define(&Op::d, builder.operand(0), Kind::predicate);
  use_address(builder, builder.operand(1));
  builder.use(&Op::b, builder.operand(2), parity ? Kind::b32 : Kind::b64);
  set(builder, parity ? &test_wait<true> : &test_wait<false>);
}

void decode(InstructionBuilder& builder) {
  const bool drops = builder.has("arrive_drop");
  if (builder.has("init")) return decode_change(builder, Action::init, false, true);
  if (builder.has("inval")) return decode_change(builder, Action::inval, false, false);
  if (builder.has("arrive") || drops) {
    Action action = drops ? Action::arrive_drop : Action::arrive;
    const bool expects = builder.has("expect_tx");
    if (expects) action = drops ? Action::arrive_drop_expect_tx : Action::arrive_expect_tx;
    const bool partial = builder.has("noComplete");
    if (partial) action = drops ? Action::arrive_drop_no_complete : Action::arrive_no_complete;
    // Without a state the address comes first.
    const bool has_state = builder.operand(0).kind != ptx::Operand::Kind::address;
    return decode_change(builder, action, has_state, expects || partial);
  }
  if (builder.has("expect_tx")) return decode_change(builder, Action::expect_tx, false, true);
  if (builder.has("complete_tx")) return decode_change(builder, Action::complete_tx, false, true);
  if (builder.has("test_wait") || builder.has("try_wait")) return decode_wait(builder);
  if (builder.has("pending_count")) {
    builder.define(&Op::d, builder.operand(0), Kind::b32);
    builder.use(&Op::a, builder.operand(1), Kind::b64);
    return set(builder, &pending_count);
  }
  throw Unsupported("an mbarrier instruction of that kind");
}

}  // namespace

void decode_copies_arrive(InstructionBuilder& builder) {
  // cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [addr]
  decode_change(builder,
                builder.has("noinc") ? Action::copies_arrive_no_increment : Action::copies_arrive,
                false, false);
}

void add_mbarrier_rows(DecodeTable& table) {
  table.decoder("mbarrier", &decode);
  table.forms("mbarrier", {"mbarrier.{init,inval}{,.shared}.b64",
                           "mbarrier.{expect_tx,complete_tx}.relaxed.cta.shared.b64",
                           "mbarrier.{arrive,arrive_drop}{,.noComplete,.expect_tx}{,.shared}.b64",
                           "mbarrier.{test_wait,try_wait}{,.parity}{,.shared}.b64",
                           "mbarrier.pending_count.b64"});
}

}  // namespace bitgate::machine
