#include "reference/machine/hazard/flow_labels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"

namespace bitgate::machine::hazard {

Labels::Labels(const LaunchState& state, const FlowTable& table, Label label,
               LabelListener& listener)
    : state_(state), table_(table), label_(label), listener_(listener) {
  origins_.emplace_back();
  for (std::uint32_t n = 0; n < table_.registers().size(); ++n) {
    const FlowTable::Register& reg = table_.registers()[n];
    const bool schedule = std::any_of(
        state_.code->specials.begin(), state_.code->specials.end(), [&](const SpecialPlace& place) {
          return place.special == Special::smid && place.offset == reg.offset;
        });
    if ((label_ == Label::undefined && reg.maybe_undefined) ||
        (label_ == Label::schedule && schedule)) {
      first_.push_back(n);
    }
  }
}

Labels::~Labels() = default;

void Labels::start_block(const Block& block) {
  std::unique_ptr<BlockShadow> made;
  const Code& code = *state_.code;
  const std::size_t warp_local = std::size_t{code.local_stride()} * kLanes;
  if (free_.empty()) {
    made = std::make_unique<BlockShadow>();
    made->warps.resize(block.warps.size());
    made->shared = SharedLabels(block.shared.size());
    made->local = LazyBytes(warp_local * block.warps.size());
    for (Shadow& shadow : made->warps) {
      shadow.registers = AlignedBytes(table_.shadow_bytes());
      shadow.labelled.resize(table_.registers().size());
      shadow.origin.resize(table_.registers().size());
    }
    bytes_ += made->shared.size() + made->local.size() +
              made->warps.size() * (table_.shadow_bytes() + 5 * table_.registers().size());
  } else {
    made = std::move(free_.back());
    free_.pop_back();
  }
  const bool at_first = label_ == Label::undefined;
  made->shared.fill(at_first);
  made->origins.clear();
  for (std::size_t w = 0; w < made->warps.size(); ++w) {
    Shadow& shadow = made->warps[w];
    shadow.local = made->local.data() + warp_local * w;
    for (std::size_t lane = 0; lane < kLanes && code.local_bytes != 0; ++lane) {
      std::memset(shadow.local + lane * code.local_stride(), at_first ? 0xff : 0, code.local_bytes);
    }
    for (auto& saved : shadow.saved) saved.clear();
    start_registers(shadow);
    // Threads that there are not define nothing and read nothing.
    if (at_first && block.warps[w].live != kAllLanes) clear(shadow, ~block.warps[w].live);
  }
  warp_ = nullptr;
  blocks_[&block] = std::move(made);
}

void Labels::start_registers(Shadow& shadow) const {
  // Registers without labels have clear shadows, but where procedures share their places.
  if (shadow.watched != kAlways || !state_.code->procedures.empty()) {
    std::memset(shadow.registers.data(), 0, shadow.registers.size());
    std::fill(shadow.labelled.begin(), shadow.labelled.end(), std::uint8_t{0});
    shadow.watched = kAlways;
    shadow.sharing.fill(0);
  }
  std::fill(shadow.origin.begin(), shadow.origin.end(), OriginId{0});
  for (const std::uint32_t n : first_) {
    const FlowTable::Register& reg = table_.registers()[n];
    std::memset(shadow.registers.data() + reg.offset, 0xff, register_bytes(reg.kind));
    mark(shadow, n, true);
  }
}

void Labels::mark(Shadow& shadow, std::uint32_t number, bool labelled) {
  if ((shadow.labelled[number] != 0) == labelled) return;
  shadow.labelled[number] = labelled ? 1 : 0;
  const RegisterBits bit = bit_of(number);
  std::uint32_t& sharing = shadow.sharing[static_cast<std::size_t>(std::countr_zero(bit))];
  sharing = labelled ? sharing + 1 : sharing - 1;
  shadow.watched = sharing != 0 ? shadow.watched | bit : shadow.watched & ~bit;
}

const RegisterBits* Labels::watched(const Warp& warp) const {
  return &blocks_.at(warp.block)->warps[warp.index].watched;
}

void Labels::finish_block(const Block& block) {
  const auto found = blocks_.find(&block);
  if (found == blocks_.end()) return;
  free_.push_back(std::move(found->second));
  blocks_.erase(found);
  warp_ = nullptr;
}

void Labels::select(const Warp& warp) {
  block_ = blocks_.at(warp.block).get();
  shadow_ = &block_->warps[warp.index];
  warp_ = &warp;
}

/// No bit of `lanes` is labelled any more.
void Labels::clear(Shadow& shadow, std::uint32_t lanes) {
  Shadow* const kept = shadow_;
  shadow_ = &shadow;
  for (std::uint32_t n = kCarryRegister; n < table_.registers().size(); ++n) {
    if (shadow.labelled[n] != 0) clear_definition(n, lanes);
  }
  shadow_ = kept;
}

std::uint32_t Labels::lanes_of(std::uint32_t number) const {
  return shadow_->labelled[number] == 0 ? 0 : lanes_with_bits(number);
}

std::uint32_t Labels::lanes_with_bits(std::uint32_t number) const {
  const RegisterKind kind = table_.registers()[number].kind;
  const std::byte* bits = at(number);
  std::uint32_t result = 0;
  switch (kind) {
    case RegisterKind::predicate:
      std::memcpy(&result, bits, 4);
      return result;
    case RegisterKind::b64:
    case RegisterKind::b128: {
      const auto* words = reinterpret_cast<const std::uint64_t*>(bits);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t high = kind == RegisterKind::b128 ? words[kLanes + lane] : 0;
        if ((words[lane] | high) != 0) result |= kLaneBit[lane];
      }
      return result;
    }
    case RegisterKind::b32:
    case RegisterKind::none:
      break;
  }
  const auto* words = reinterpret_cast<const std::uint32_t*>(bits);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (words[lane] != 0) result |= kLaneBit[lane];
  }
  return result;
}

void Labels::update(std::uint32_t number) { mark(*shadow_, number, lanes_with_bits(number) != 0); }

Labels::Lanes Labels::read(const FlowOperand& operand) const {
  Lanes result{};
  if (shadow_->labelled[operand.number] == 0) return result;
  const std::byte* bits = at(operand.number);
  switch (operand.kind) {
    case RegisterKind::predicate: {
      std::uint32_t lanes = 0;
      std::memcpy(&lanes, bits, 4);
      for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = lanes >> lane & 1U;
      break;
    }
    case RegisterKind::b64:
      std::memcpy(result.data(), bits, sizeof(result));
      break;
    case RegisterKind::b128: {
      const auto* words = reinterpret_cast<const std::uint64_t*>(bits);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        result[lane] = words[lane] | words[kLanes + lane];
      }
      break;
    }
    case RegisterKind::b32:
    case RegisterKind::none: {
      const auto* words = reinterpret_cast<const std::uint32_t*>(bits);
      for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = words[lane];
      break;
    }
  }
  return result;
}

void Labels::write(const FlowOperand& operand, const Lanes& lanes, std::uint32_t active) {
  std::byte* bits = at(operand.number);
  switch (operand.kind) {
    case RegisterKind::predicate: {
      std::uint32_t value = 0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (lanes[lane] != 0) value |= kLaneBit[lane];
      }
      auto* word = reinterpret_cast<std::uint32_t*>(bits);
      *word = (*word & ~active) | (value & active);
      break;
    }
    case RegisterKind::b64:
    case RegisterKind::b128: {
      auto* words = reinterpret_cast<std::uint64_t*>(bits);
      each_lane(active, [&](std::size_t lane) {
        words[lane] = lanes[lane];
        if (operand.kind == RegisterKind::b128) {
          words[kLanes + lane] = lanes[lane] != 0 ? ~std::uint64_t{0} : 0;
          if (lanes[lane] != 0) words[lane] = ~std::uint64_t{0};
        }
      });
      break;
    }
    case RegisterKind::b32:
    case RegisterKind::none: {
      auto* words = reinterpret_cast<std::uint32_t*>(bits);
      each_lane(active,
                [&](std::size_t lane) { words[lane] = static_cast<std::uint32_t>(lanes[lane]); });
      break;
    }
  }
  update(operand.number);
}

void Labels::clear_definition(std::uint32_t number, std::uint32_t lanes) {
  if (shadow_->labelled[number] == 0) return;
  const FlowTable::Register& reg = table_.registers()[number];
  if (lanes == kAllLanes) {
    std::memset(at(number), 0, register_bytes(reg.kind));
    mark(*shadow_, number, false);
    return;
  }
  write({number, table_.registers()[number].kind, Sink::none, false}, Lanes{}, lanes);
}

void Labels::label_definition(std::uint32_t number, std::uint32_t lanes) {
  if (lanes == 0) return;
  Lanes all;
  all.fill(~std::uint64_t{0});
  write({number, table_.registers()[number].kind, Sink::none, false}, all, lanes);
}

OriginId Labels::register_origin(Context& x, std::uint32_t number) {
  const auto [entry, inserted] =
      register_origins_.try_emplace(x.pc, static_cast<OriginId>(origins_.size()));
  if (inserted) {
    Origin origin;
    origin.pc = x.pc;
    origin.block = x.warp->block->number;
    origin.warp = x.warp->index;
    const std::uint32_t lanes = lanes_of(number);
    origin.lane = lanes == 0 ? 0 : static_cast<std::uint32_t>(std::countr_zero(lanes));
    origin.in_register = true;
    origins_.push_back(origin);
  }
  return entry->second;
}

/// Where the labelled bits that an instruction reads came from.
OriginId Labels::inherited(Context& x, const OpFlow& flow) {
  const FlowOperand* operands = table_.operands(flow);
  const std::size_t end = std::size_t{flow.definitions} + flow.data + flow.steering;
  std::uint32_t unknown = kNoRegister;
  const auto look = [&](std::uint32_t number) -> OriginId {
    if (shadow_->labelled[number] == 0) return 0;
    if (shadow_->origin[number] == 0) unknown = number;
    return shadow_->origin[number];
  };
  for (std::size_t i = flow.definitions; i < end; ++i) {
    if (const OriginId id = look(operands[i].number)) return id;
  }
  if (const OriginId id = look(flow.guard)) return id;
  return unknown == kNoRegister ? 0 : register_origin(x, unknown);
}

void Labels::reach(Context& x, Sink sink, std::uint32_t number, std::uint32_t lanes) {
  OriginId origin = shadow_->origin[number];
  if (origin == 0) origin = register_origin(x, number);
  listener_.reached({sink, x.pc, x.warp, lanes, origin});
}

void Labels::step(Context& x, const Op& op, const OpFlow& flow, std::uint32_t lanes) {
  const FlowOperand* operands = table_.operands(flow);
  const std::size_t sources = std::size_t{flow.definitions} + flow.data;
  const std::size_t all = sources + flow.steering;
  const std::uint32_t active = x.active;

  const std::uint32_t guard = lanes_of(flow.guard) & lanes;
  if (guard != 0 && flow.guard_sink != Sink::none) reach(x, flow.guard_sink, flow.guard, guard);
  if (active != 0) {
    for (std::size_t i = sources; i < all; ++i) {
      if (!ends_at(operands[i].sink)) continue;
      const std::uint32_t labelled = lanes_of(operands[i].number) & active;
      if (labelled != 0) reach(x, operands[i].sink, operands[i].number, labelled);
    }
    const bool makes_label = flow.schedule_dependent && label_ == Label::schedule;
    const bool any = makes_label || std::any_of(operands, operands + all, [&](const auto& o) {
                       return shadow_->labelled[o.number] != 0;
                     });
    if (moves_memory(flow.rule)) {
      line_ = 0;
    } else if (any && !flow.always && !makes_label &&
               std::none_of(operands + flow.definitions, operands + all,
                            [&](const auto& o) { return shadow_->labelled[o.number] != 0; })) {
      // A result of sources without labels, whatever the rule.
      for (std::size_t i = 0; i < flow.definitions; ++i) {
        clear_definition(operands[i].number, active);
      }
    } else if (any || flow.always) {
      const OriginId origin = inherited(x, flow);
      apply(x, op, flow, active);
      for (std::size_t i = 0; i < flow.definitions; ++i) {
        const std::uint32_t number = operands[i].number;
        if (shadow_->labelled[number] != 0 && origin != 0) shadow_->origin[number] = origin;
      }
    }
  }
  if (guard != 0 && flow.guard_sink == Sink::none) {
    const OriginId origin = inherited(x, flow);
    for (std::size_t i = 0; i < flow.definitions; ++i) {
      label_definition(operands[i].number, guard);
      if (shadow_->origin[operands[i].number] == 0) shadow_->origin[operands[i].number] = origin;
    }
  }
}

std::uint64_t Labels::bits(const Warp& warp, std::uint32_t number, std::size_t lane) {
  select(warp);
  return read({number, table_.registers()[number].kind, Sink::none, false})[lane];
}

}  // namespace bitgate::machine::hazard
