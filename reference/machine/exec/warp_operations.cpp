#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// shfl, vote, match, redux, activemask, elect (PTX ISA 9.7.9.6, 9.7.13). They are Flow::converge
// with the member mask in Op::a: when a handler runs, the lanes that a member mask names are
// active.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;

/// Lanes with different member masks form groups, each with its own result.
template <class Visit>
void each_group(const Context& x, const Op& op, Visit&& visit) {
  const U32* member = x.lanes32(op.a);
  U32 left = x.active;
  while (left != 0) {
    const U32 mask = member[static_cast<std::size_t>(std::countr_zero(left))];
    U32 group = 0;
    each_lane(left, [&](std::size_t lane) {
      if (member[lane] == mask) group |= kLaneBit[lane];
    });
    visit(group);
    left &= ~group;
  }
}

enum class Shuffle : std::uint8_t { up, down, bfly, idx };

/// shfl.sync: PTX ISA's pseudocode. c holds the clamp (bits 0-4) and the segment mask (8-12).
template <Shuffle Mode>
void shuffle(Context& x, const Op& op) {
  const U32* lists = x.state->code->lists.data() + op.list;
  const U32* a = x.lanes32(lists[0]);
  const U32* b = x.lanes32(op.b);
  const U32* c = x.lanes32(op.c);
  U32* d = x.lanes32(op.d);
  alignas(32) std::array<U32, kLanes> result;
  U32 in_range = 0;
  each_lane(x.active, [&](std::size_t lane) {
    const auto self = static_cast<std::int32_t>(lane);
    const auto operand = static_cast<std::int32_t>(b[lane] & 31U);
    const auto clamp = static_cast<std::int32_t>(c[lane] & 31U);
    const auto segment = static_cast<std::int32_t>(c[lane] >> 8 & 31U);
    const std::int32_t highest = (self & segment) | (clamp & ~segment);
    const std::int32_t lowest = self & segment;
    std::int32_t source = 0;
    bool inside = false;
    switch (Mode) {
      case Shuffle::up:
        source = self - operand;
        inside = source >= highest;
        break;
      case Shuffle::down:
        source = self + operand;
        inside = source <= highest;
        break;
      case Shuffle::bfly:
        source = self ^ operand;
        inside = source <= highest;
        break;
      case Shuffle::idx:
        source = lowest | (operand & ~segment);
        inside = source <= highest;
        break;
    }
    if (!inside) source = self;
    const auto from = static_cast<std::size_t>(source & 31);
    if ((x.active & kLaneBit[from]) == 0) {
      throw_fault(Fault::Kind::inactive_lane, static_cast<int>(lane),
                  fmt::format("shuffle reads lane {}, which does not take part", source));
    }
    if (inside) in_range |= kLaneBit[lane];
    result[lane] = a[from];
  });
  each_lane(x.active, [&](std::size_t lane) { d[lane] = result[lane]; });
  store_predicate(x, op.e, in_range);
}

/// The destination d[|p] of shfl and match; without p the predicate goes nowhere.
void define_value_and_predicate(InstructionBuilder& builder) {
  const ptx::Operand& destination = builder.operand(0);
  ptx::Operand predicate;
  predicate.kind = ptx::Operand::Kind::sink;
  if (destination.kind == ptx::Operand::Kind::pair) {
    if (destination.elements.size() != 2) throw Unsupported("a pair d|p was expected");
    builder.define(&Op::d, destination.elements[0], Kind::b32);
    predicate = destination.elements[1];
  } else {
    builder.define(&Op::d, destination, Kind::b32);
  }
  builder.define(&Op::e, predicate, Kind::predicate);
}

void decode_shfl(InstructionBuilder& builder) {
  // shfl.sync.mode.b32 d[|p], a, b, c, membermask
  if (!builder.has("sync")) throw Unsupported("shfl without .sync");
  define_value_and_predicate(builder);
  builder.begin_list();
  builder.list_use(builder.operand(1), Kind::b32);
  builder.use(&Op::b, builder.operand(2), Kind::b32);
  builder.use(&Op::c, builder.operand(3), Kind::b32);
  builder.use(&Op::a, builder.operand(4), Kind::b32);
  builder.op.flow = Flow::converge;
  if (builder.has("up")) {
    builder.op.full = &shuffle<Shuffle::up>;
  } else if (builder.has("down")) {
    builder.op.full = &shuffle<Shuffle::down>;
  } else if (builder.has("bfly")) {
    builder.op.full = &shuffle<Shuffle::bfly>;
  } else if (builder.has("idx")) {
    builder.op.full = &shuffle<Shuffle::idx>;
  } else {
    throw Unsupported("a shuffle of that mode");
  }
  builder.op.masked = builder.op.full;
}

enum class Vote : std::uint8_t { all, any, uni, ballot };

template <Vote Mode>
void vote(Context& x, const Op& op) {
  const U32 p = x.predicate(op.b) ^ ((op.flip & 2U) != 0 ? kAllLanes : 0U);
  const U32 all = x.active;
  each_group(x, op, [&](U32 group) {
    x.activate(group);
    const U32 holds = p & group;
    if constexpr (Mode == Vote::ballot) {
      U32* d = x.lanes32(op.d);
      each_lane(group, [&](std::size_t lane) { d[lane] = holds; });
    } else {
      const bool value = Mode == Vote::all   ? holds == group
                         : Mode == Vote::any ? holds != 0
                                             : holds == group || holds == 0;
      store_predicate(x, op.d, value ? kAllLanes : 0U);
    }
  });
  x.activate(all);
}

void decode_vote(InstructionBuilder& builder) {
  // vote.sync.mode.pred d, {!}a, membermask; vote.sync.ballot.b32
  if (!builder.has("sync")) throw Unsupported("vote without .sync");
  const bool ballot = builder.has("ballot");
  builder.define(&Op::d, builder.operand(0), ballot ? Kind::b32 : Kind::predicate);
  builder.use(&Op::b, builder.operand(1), Kind::predicate, Immediates::integer, 1);
  builder.use(&Op::a, builder.operand(2), Kind::b32);
  builder.op.flow = Flow::converge;
  builder.op.full = ballot               ? &vote<Vote::ballot>
                    : builder.has("all") ? &vote<Vote::all>
                    : builder.has("any") ? &vote<Vote::any>
                                         : &vote<Vote::uni>;
  builder.op.masked = builder.op.full;
}

template <class Lane, bool All>
void match(Context& x, const Op& op) {
  const auto* value = reinterpret_cast<const Lane*>(x.registers + op.b);
  U32* d = x.lanes32(op.d);
  const U32 all = x.active;
  each_group(x, op, [&](U32 group) {
    x.activate(group);
    U32 matches[kLanes];
    bool same = true;
    each_lane(group, [&](std::size_t lane) {
      U32 mask = 0;
      each_lane(group, [&](std::size_t other) {
        if (value[other] == value[lane]) mask |= kLaneBit[other];
      });
      matches[lane] = mask;
      same = same && mask == group;
    });
    each_lane(group,
              [&](std::size_t lane) { d[lane] = All ? (same ? group : 0U) : matches[lane]; });
    if constexpr (All) store_predicate(x, op.e, same ? kAllLanes : 0U);
  });
  x.activate(all);
}

void decode_match(InstructionBuilder& builder) {
  // match.any.sync.type d, a, membermask; match.all.sync.type d[|p], a, membermask
  const bool all = builder.has("all");
  const bool wide = builder.has("b64");
  define_value_and_predicate(builder);
  builder.use(&Op::b, builder.operand(1), wide ? Kind::b64 : Kind::b32);
  builder.use(&Op::a, builder.operand(2), Kind::b32);
  builder.op.flow = Flow::converge;
  if (wide) {
    builder.op.full = all ? &match<std::uint64_t, true> : &match<std::uint64_t, false>;
  } else {
    builder.op.full = all ? &match<U32, true> : &match<U32, false>;
  }
  builder.op.masked = builder.op.full;
}

template <auto F>
void reduce(Context& x, const Op& op) {
  const U32* value = x.lanes32(op.b);
  U32* d = x.lanes32(op.d);
  each_group(x, op, [&](U32 group) {
    U32 result = 0;
    bool first = true;
    each_lane(group, [&](std::size_t lane) {
      result = first ? value[lane] : F(result, value[lane]);
      first = false;
    });
    each_lane(group, [&](std::size_t lane) { d[lane] = result; });
  });
}

template <auto F>
[[gnu::cold]] void redux_row(DecodeTable& table, const std::string& mnemonic) {
  static constexpr auto kDecode = [](InstructionBuilder& builder) {
    builder.define(&Op::d, builder.operand(0), Kind::b32);
    builder.use(&Op::b, builder.operand(1), Kind::b32);
    builder.use(&Op::a, builder.operand(2), Kind::b32);
    builder.op.flow = Flow::converge;
    builder.op.full = &reduce<F>;
    builder.op.masked = builder.op.full;
  };
  table.decoder(mnemonic, kDecode);
}

void active_mask(Context& x, const Op& op) {
  U32* d = x.lanes32(op.d);
  each_lane(x.active, [&](std::size_t lane) { d[lane] = x.active; });
}

void decode_activemask(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  builder.op.full = &active_mask;
  builder.op.masked = &active_mask;
}

/// elect.sync: the lowest lane of the mask leads.
void elect(Context& x, const Op& op) {
  U32* d = x.lanes32(op.d);
  const U32 all = x.active;
  U32 leaders = 0;
  each_group(x, op, [&](U32 group) {
    const auto leader = static_cast<U32>(std::countr_zero(group));
    leaders |= 1U << leader;
    each_lane(group, [&](std::size_t lane) { d[lane] = leader; });
  });
  x.activate(all);
  store_predicate(x, op.e, leaders);
}

void decode_elect(InstructionBuilder& builder) {
  // elect.sync d|p, membermask
  define_value_and_predicate(builder);
  builder.use(&Op::a, builder.operand(1), Kind::b32);
  builder.op.flow = Flow::converge;
  builder.op.full = &elect;
  builder.op.masked = &elect;
}

}  // namespace

void add_warp_rows(DecodeTable& table) {
  table.decoder("shfl", &decode_shfl);
  table.forms("shfl", {"shfl.sync.{up,down,bfly,idx}.b32"});
  table.decoder("vote", &decode_vote);
  table.forms("vote", {"vote.sync.{all,any,uni}.pred", "vote.sync.ballot.b32"});
  table.decoder("match", &decode_match);
  table.forms("match", {"match.{any,all}.sync.{b32,b64}"});
  table.decoder("activemask", &decode_activemask);
  table.forms("activemask", {"activemask.b32"});
  table.decoder("elect", &decode_elect);
  table.forms("elect", {"elect.sync"});
  using S32 = std::int32_t;
  constexpr auto add = [](U32 a, U32 b) -> U32 { return a + b; };
  redux_row<add>(table, "redux.sync.add.u32");
  redux_row<add>(table, "redux.sync.add.s32");
  redux_row<[](U32 a, U32 b) -> U32 { return std::min(a, b); }>(table, "redux.sync.min.u32");
  redux_row<[](U32 a, U32 b) -> U32 { return std::max(a, b); }>(table, "redux.sync.max.u32");
  redux_row<[](U32 a, U32 b) -> U32 {
    return static_cast<U32>(std::min(static_cast<S32>(a), static_cast<S32>(b)));
  }>(table, "redux.sync.min.s32");
  redux_row<[](U32 a, U32 b) -> U32 {
    return static_cast<U32>(std::max(static_cast<S32>(a), static_cast<S32>(b)));
  }>(table, "redux.sync.max.s32");
  redux_row<[](U32 a, U32 b) -> U32 { return a & b; }>(table, "redux.sync.and.b32");
  redux_row<[](U32 a, U32 b) -> U32 { return a | b; }>(table, "redux.sync.or.b32");
  redux_row<[](U32 a, U32 b) -> U32 { return a ^ b; }>(table, "redux.sync.xor.b32");
}

}  // namespace bitgate::machine
