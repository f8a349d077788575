#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/flow_labels.h"

// How labels go from the sources of an instruction to its results, register to register.

namespace bitgate::machine::hazard {

namespace {

constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

/// From the lowest labelled bit upwards: what a carry can reach.
constexpr std::uint64_t upwards(std::uint64_t bits) { return bits | (0 - bits); }

constexpr std::uint64_t whole_halves(std::uint64_t bits) {
  return ((bits & 0xffffU) != 0 ? 0xffffU : 0U) | ((bits & 0xffff0000U) != 0 ? 0xffff0000U : 0U);
}

/// The values of an operand's lanes.
std::array<std::uint64_t, kLanes> values_of(const Context& x, std::uint32_t offset,
                                            RegisterKind kind) {
  std::array<std::uint64_t, kLanes> result{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = kind == RegisterKind::b64 ? x.lanes64(offset)[lane] : x.lanes32(offset)[lane];
  }
  return result;
}

/// Labelled bits of a bitwise function by its table: those on which the result depends, given the
/// bits without label.
std::uint64_t table_bits(std::uint8_t table, const std::array<std::uint64_t, 3>& values,
                         const std::array<std::uint64_t, 3>& labels) {
  std::uint64_t can_be_set = 0;
  std::uint64_t can_be_clear = 0;
  for (unsigned row = 0; row < 8; ++row) {
    std::uint64_t possible = kAllBits;
    for (unsigned i = 0; i < 3; ++i) {
      const bool wants = (row >> (2 - i) & 1U) != 0;
      possible &= labels[i] | (wants ? values[i] : ~values[i]);
    }
    ((table >> row & 1U) != 0 ? can_be_set : can_be_clear) |= possible;
  }
  return can_be_set & can_be_clear;
}

}  // namespace

void Labels::apply(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  if (flow.schedule_dependent && label_ == Label::schedule) {
    for (std::size_t i = 0; i < flow.definitions; ++i) {
      label_definition(operands[i].number, active);
      shadow_->origin[operands[i].number] = register_origin(x, operands[i].number);
    }
    return;
  }
  switch (flow.rule) {
    case Rule::none:
    case Rule::barrier:
    case Rule::defined:
    case Rule::system:
      for (std::size_t i = 0; i < flow.definitions; ++i) {
        clear_definition(operands[i].number, active);
      }
      if (flow.rule == Rule::system) regions_are_old_ = true;
      return;
    case Rule::any:
      return apply_any(flow, active);
    case Rule::across:
      return apply_across(x, op, flow, active);
    case Rule::copy:
    case Rule::bit_xor:
    case Rule::bit_and:
    case Rule::bit_or:
    case Rule::lop3:
      return apply_logic(x, op, flow, active);
    case Rule::move:
    case Rule::shuffle:
      return apply_move(x, op, flow, active);
    case Rule::carry:
      return apply_carry(flow, active);
    case Rule::halves:
    case Rule::pack_halves:
      return apply_halves(flow, active);
    case Rule::ballot:
      return apply_ballot(flow, active);
    case Rule::mma:
    case Rule::mma_sparse:
    case Rule::wmma:
      return apply_matrix(flow);
    case Rule::exit:
      return clear(*shadow_, active);
    case Rule::call:
      return enter(x, op);
    case Rule::ret:
      return leave(x);
    case Rule::alloca:
      apply_any(flow, active);
      return allocate(x, op);
    case Rule::load:
    case Rule::store:
    case Rule::atomic:
    case Rule::copy_async:
    case Rule::matrix_load:
    case Rule::matrix_store:
    case Rule::wmma_load:
    case Rule::wmma_store:
    case Rule::mbarrier:
      return;
  }
}

void Labels::apply_any(const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  std::uint32_t labelled = 0;
  const std::size_t end = std::size_t{flow.definitions} + flow.data + flow.steering;
  for (std::size_t i = flow.definitions; i < end; ++i) {
    if (!ends_at(operands[i].sink)) labelled |= lanes_of(operands[i].number);
  }
  for (std::size_t i = 0; i < flow.definitions; ++i) {
    clear_definition(operands[i].number, active & ~labelled);
    label_definition(operands[i].number, active & labelled);
  }
}

/// Lanes with the same member mask are a group.
void Labels::apply_across(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  std::uint32_t sources = 0;
  const std::size_t end = std::size_t{flow.definitions} + flow.data + flow.steering;
  for (std::size_t i = flow.definitions; i < end; ++i) {
    if (!ends_at(operands[i].sink)) sources |= lanes_of(operands[i].number);
  }
  const std::uint32_t* member = x.lanes32(op.a);
  std::uint32_t labelled = 0;
  each_lane(active, [&](std::size_t lane) {
    if ((sources & active & member[lane]) != 0) labelled |= kLaneBit[lane];
  });
  for (std::size_t i = 0; i < flow.definitions; ++i) {
    clear_definition(operands[i].number, active & ~labelled);
    label_definition(operands[i].number, active & labelled);
  }
}

/// The instruction's own handler moves the labels: for the time of its run they are in the places
/// of its data, and what steers it keeps its values.
void Labels::apply_move(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* const operands = table_.operands(flow);
  const std::size_t moved = std::size_t{flow.definitions} + flow.data;
  const std::size_t all = moved + flow.steering;
  std::uint32_t unknown = 0;
  bool conflict = false;
  for (std::size_t i = moved; i < all; ++i) {
    if (!ends_at(operands[i].sink)) unknown |= lanes_of(operands[i].number);
    // One register both moved and steering.
    for (std::size_t k = flow.definitions; k < moved; ++k) {
      conflict = conflict || operands[k].number == operands[i].number;
    }
  }
  bool labelled = unknown != 0;
  for (std::size_t i = flow.definitions; i < moved; ++i) {
    labelled = labelled || shadow_->labelled[operands[i].number] != 0;
  }
  // A predicate that is moved may be negated on its way.
  const bool predicate = flow.rule == Rule::move && operands[0].kind == RegisterKind::predicate;
  if (conflict || !labelled || predicate) return apply_any(flow, active);

  struct Kept {
    std::uint32_t offset;
    std::size_t bytes;
    std::array<std::byte, 512> contents;
  };
  std::vector<Kept> kept(moved);
  for (std::size_t i = 0; i < moved; ++i) {
    const FlowTable::Register& reg = table_.registers()[operands[i].number];
    kept[i].offset = reg.offset;
    kept[i].bytes = reg.offset < state_.code->register_bytes ? register_bytes(reg.kind) : 0;
    std::memcpy(kept[i].contents.data(), x.registers + reg.offset, kept[i].bytes);
  }
  for (const Kept& k : kept) {
    std::memcpy(x.registers + k.offset, shadow_->registers.data() + k.offset, k.bytes);
  }
  x.activate(active);
  (active == kAllLanes ? op.full : op.masked)(x, op);
  x.activate(active);
  for (std::size_t i = 0; i < flow.definitions; ++i) {
    const bool steered = flow.rule == Rule::shuffle && operands[i].kind == RegisterKind::predicate;
    if (!steered) {
      std::memcpy(shadow_->registers.data() + kept[i].offset, x.registers + kept[i].offset,
                  kept[i].bytes);
    }
  }
  for (const Kept& k : kept) std::memcpy(x.registers + k.offset, k.contents.data(), k.bytes);
  for (std::size_t i = 0; i < flow.definitions; ++i) {
    update(operands[i].number);
    // Whether a shuffle's source lane exists is for what steers it alone.
    if (flow.rule == Rule::shuffle && operands[i].kind == RegisterKind::predicate) {
      clear_definition(operands[i].number, active);
    }
    label_definition(operands[i].number, unknown & active);
  }
}

void Labels::apply_logic(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  const FlowOperand* sources = operands + flow.definitions;
  if (flow.definitions > 0 && operands[0].kind == RegisterKind::predicate) {
    return apply_predicate_logic(x, op, flow, active);
  }
  Lanes result{};
  if (flow.rule == Rule::copy || flow.rule == Rule::bit_xor) {
    for (std::size_t i = 0; i < flow.data; ++i) {
      const Lanes labels = read(sources[i]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] |= labels[lane];
    }
  } else {
    // The tables of a & b and of a | b, with c = 0.
    const std::uint8_t table = flow.rule == Rule::bit_and  ? 0xc0
                               : flow.rule == Rule::bit_or ? 0xfc
                                                           : op.extra;
    std::array<Lanes, 3> labels{};
    std::array<Lanes, 3> values{};
    for (std::size_t i = 0; i < std::min<std::size_t>(flow.data, 3); ++i) {
      labels[i] = read(sources[i]);
      values[i] = values_of(x, table_.registers()[sources[i].number].offset, sources[i].kind);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      result[lane] = table_bits(table, {values[0][lane], values[1][lane], values[2][lane]},
                                {labels[0][lane], labels[1][lane], labels[2][lane]});
    }
  }
  write(operands[0], result, active);
  // lop3.BoolOp: whether d is zero, and a fourth source.
  for (std::size_t i = 1; i < flow.definitions; ++i) {
    if (flow.data > 3) {
      const Lanes fourth = read(sources[3]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] |= fourth[lane];
    }
    write(operands[i], result, active);
  }
}

void Labels::apply_predicate_logic(Context& x, const Op& op, const OpFlow& flow,
                                   std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  std::array<std::uint32_t, 2> labels{};
  std::array<std::uint32_t, 2> values{};
  for (std::size_t i = 0; i < std::min<std::size_t>(flow.data, 2); ++i) {
    const FlowOperand& source = operands[flow.definitions + i];
    labels[i] = lanes_of(source.number);
    values[i] =
        x.predicate(table_.registers()[source.number].offset) ^ (source.negated ? kAllLanes : 0U);
  }
  (void)op;
  std::uint32_t labelled = labels[0] | labels[1];
  // Where one source decides by itself and has no label.
  const auto decides = [&](std::size_t i) {
    return ~labels[i] & (flow.rule == Rule::bit_and ? ~values[i] : values[i]);
  };
  if (flow.rule == Rule::bit_and || flow.rule == Rule::bit_or)
    labelled &= ~(decides(0) | decides(1));
  clear_definition(operands[0].number, active & ~labelled);
  label_definition(operands[0].number, active & labelled);
}

void Labels::apply_carry(const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  Lanes result{};
  const std::size_t end = std::size_t{flow.definitions} + flow.data + flow.steering;
  for (std::size_t i = flow.definitions; i < end; ++i) {
    const Lanes labels = read(operands[i]);
    const bool carry = operands[i].kind == RegisterKind::predicate;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      result[lane] |= carry && labels[lane] != 0 ? kAllBits : upwards(labels[lane]);
    }
  }
  for (std::size_t i = 0; i < flow.definitions; ++i) write(operands[i], result, active);
}

void Labels::apply_halves(const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  const FlowOperand* sources = operands + flow.definitions;
  Lanes result{};
  for (std::size_t i = 0; i < std::size_t{flow.data} + flow.steering; ++i) {
    const Lanes labels = read(sources[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (flow.rule == Rule::pack_halves && flow.data == 2) {
        result[lane] |= labels[lane] == 0 ? 0U : i == 0 ? 0xffff0000U : 0xffffU;
      } else {
        const bool predicate = sources[i].kind == RegisterKind::predicate;
        result[lane] |= predicate && labels[lane] != 0 ? 0xffffffffU : whole_halves(labels[lane]);
      }
    }
  }
  for (std::size_t i = 0; i < flow.definitions; ++i) {
    Lanes part = result;
    // p|q of a comparison: of the low and of the high elements.
    if (operands[i].kind == RegisterKind::predicate && flow.definitions == 2) {
      for (std::uint64_t& lane : part) lane &= i == 0 ? 0xffffU : 0xffff0000U;
    }
    write(operands[i], part, active);
  }
}

void Labels::apply_ballot(const OpFlow& flow, std::uint32_t active) {
  const FlowOperand* operands = table_.operands(flow);
  const std::size_t end = std::size_t{flow.definitions} + flow.data;
  std::uint32_t labelled = 0;
  for (std::size_t i = flow.definitions; i < end; ++i) labelled |= lanes_of(operands[i].number);
  Lanes result;
  result.fill(labelled & active);
  write(operands[0], result, active);
}

}  // namespace bitgate::machine::hazard
