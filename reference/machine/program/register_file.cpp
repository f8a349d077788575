#include "reference/machine/program/register_file.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace bitgate::machine {

namespace {

constexpr std::uint32_t kUnused = 0xffffffffU;

struct BasicBlock {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;
};

std::vector<BasicBlock> basic_blocks(const Code& code) {
  const auto size = static_cast<std::uint32_t>(code.ops.size());
  std::vector<bool> leader(size + 1, false);
  leader[0] = true;
  leader[code.start] = true;
  for (const Procedure& procedure : code.procedures) leader[procedure.entry] = true;
  const auto each_target = [&](const Op& op, auto&& visit) {
    if (op.flow == Flow::branch) visit(static_cast<std::uint32_t>(op.immediate));
    if (op.flow == Flow::indirect_branch) {
      for (std::int64_t i = 0; i < op.immediate; ++i) {
        visit(code.lists[op.list + static_cast<std::uint32_t>(i)]);
      }
    }
  };
  const auto ends_block = [](const Op& op) {
    return op.flow == Flow::branch || op.flow == Flow::indirect_branch || op.flow == Flow::call ||
           op.flow == Flow::ret || op.flow == Flow::exit || op.flow == Flow::trap ||
           op.flow == Flow::unsupported;
  };
  for (std::uint32_t i = 0; i < size; ++i) {
    const Op& op = code.ops[i];
    each_target(op, [&](std::uint32_t target) { leader[std::min(target, size)] = true; });
    if (ends_block(op)) leader[i + 1] = true;
  }
  std::vector<BasicBlock> blocks;
  std::vector<std::uint32_t> block_of(size + 1, 0);
  for (std::uint32_t i = 0; i < size; ++i) {
    if (leader[i]) blocks.push_back({i, i, {}});
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
    blocks.back().end = i + 1;
  }
  for (BasicBlock& block : blocks) {
    const Op& last = code.ops[block.end - 1];
    each_target(last, [&](std::uint32_t target) {
      if (target < size) block.successors.push_back(block_of[target]);
    });
    // A call comes back: the callee's use of registers is none of the caller's, which are saved.
    const bool always_leaves = ends_block(last) && !last.guarded && last.flow != Flow::call;
    if (!always_leaves && block.end < size) block.successors.push_back(block_of[block.end]);
  }
  return blocks;
}

/// First-fit: the lowest place that is free again.
class Pool {
 public:
  std::uint32_t take() {
    if (free_.empty()) return size_++;
    const std::uint32_t place = free_.top();
    free_.pop();
    return place;
  }
  void give(std::uint32_t place) { free_.push(place); }
  std::uint32_t size() const { return size_; }

 private:
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
  std::uint32_t size_ = 0;
};

}  // namespace

std::uint32_t words_of(Kind kind) { return kind == Kind::b128 ? 4 : kind == Kind::b64 ? 2 : 1; }

RegisterUse::Liveness RegisterUse::liveness(const Code& code) const {
  Liveness liveness;
  std::vector<Interval>& result = liveness.intervals;
  result.resize(kinds_.size());
  const auto extend = [&](std::uint32_t reg, std::uint32_t position) {
    result[reg].begin = std::min(result[reg].begin, position);
    result[reg].end = std::max(result[reg].end, position);
  };

  // References come in the order of ops, an op's own in any order.
  std::vector<std::uint32_t> first(code.ops.size() + 1, 0);
  for (const Reference& r : references_) {
    extend(r.reg, r.op);
    ++first[r.op + 1];
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];

  const std::vector<BasicBlock> blocks = basic_blocks(code);
  const std::size_t words = (kinds_.size() + 63) / 64;
  constexpr std::size_t kMostWords = std::size_t{32} << 20;
  if (words * blocks.size() > kMostWords / 3) {
    // Too large to analyse: every register lives throughout.
    for (std::size_t reg = 0; reg < kinds_.size(); ++reg) {
      if (result[reg].begin != kUnused) {
        result[reg] = {0, static_cast<std::uint32_t>(code.ops.size())};
      }
    }
    for (std::uint32_t i = 0; i < code.ops.size(); ++i) {
      if (code.ops[i].flow != Flow::call) continue;
      for (std::uint32_t reg = 0; reg < kinds_.size(); ++reg) {
        if (!pinned_[reg] && result[reg].begin != kUnused) liveness.across[i].push_back(reg);
      }
    }
    return liveness;
  }

  using Bits = std::vector<std::uint64_t>;
  std::vector<Bits> upward(blocks.size(), Bits(words));
  std::vector<Bits> killed(blocks.size(), Bits(words));
  std::vector<Bits> live_in(blocks.size(), Bits(words));
  const auto set = [](Bits& bits, std::uint32_t reg) {
    bits[reg / 64] |= std::uint64_t{1} << (reg % 64);
  };
  const auto test = [](const Bits& bits, std::uint32_t reg) {
    return (bits[reg / 64] >> (reg % 64) & 1U) != 0;
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      // A guarded definition keeps the old value in some lanes: it is a use as well.
      const bool guarded = code.ops[i].guarded;
      for (std::uint32_t k = first[i]; k < first[i + 1]; ++k) {
        const Reference& r = references_[k];
        if ((r.role == Role::use || guarded) && !test(killed[b], r.reg)) set(upward[b], r.reg);
      }
      for (std::uint32_t k = first[i]; k < first[i + 1]; ++k) {
        if (references_[k].role == Role::definition) set(killed[b], references_[k].reg);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks.size(); b-- > 0;) {
      for (std::size_t w = 0; w < words; ++w) {
        std::uint64_t out = 0;
        for (const std::uint32_t s : blocks[b].successors) out |= live_in[s][w];
        const std::uint64_t in = upward[b][w] | (out & ~killed[b][w]);
        if (in != live_in[b][w]) {
          live_in[b][w] = in;
          changed = true;
        }
      }
    }
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t w = 0; w < words; ++w) {
      std::uint64_t out = 0;
      for (const std::uint32_t s : blocks[b].successors) out |= live_in[s][w];
      for (std::uint64_t bits = live_in[b][w]; bits != 0; bits &= bits - 1) {
        extend(
            static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(__builtin_ctzll(bits)),
            blocks[b].begin);
      }
      const bool is_call = code.ops[blocks[b].end - 1].flow == Flow::call;
      for (std::uint64_t bits = out; bits != 0; bits &= bits - 1) {
        const auto reg =
            static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(__builtin_ctzll(bits));
        extend(reg, blocks[b].end - 1);
        if (is_call && !pinned_[reg]) liveness.across[blocks[b].end - 1].push_back(reg);
      }
    }
  }
  return liveness;
}

void RegisterUse::list_operands(Code& code, const std::vector<std::uint32_t>& offsets) const {
  using Field = RegisterOperand::Field;
  static constexpr std::pair<std::uint32_t Op::*, Field> kFields[] = {
      {nullptr, Field::list}, {&Op::d, Field::d}, {&Op::a, Field::a},        {&Op::b, Field::b},
      {&Op::c, Field::c},     {&Op::e, Field::e}, {&Op::guard, Field::guard}};
  code.first_operand.assign(code.ops.size() + 1, 0);
  for (const Reference& r : references_) ++code.first_operand[r.op + 1];
  for (std::size_t i = 1; i < code.first_operand.size(); ++i) {
    code.first_operand[i] += code.first_operand[i - 1];
  }
  std::vector<std::uint32_t> next = code.first_operand;
  code.operands.resize(references_.size());
  for (const Reference& r : references_) {
    const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                     [&](const auto& f) { return f.first == r.field; });
    code.operands[next[r.op]++] = {offsets[r.reg], kinds_[r.reg], field->second,
                                   r.role == Role::definition};
  }
}

std::vector<std::uint32_t> RegisterUse::place(Code& code) const {
  const Liveness liveness_of_code = liveness(code);
  const std::vector<Interval>& live = liveness_of_code.intervals;
  std::vector<std::uint32_t> order;
  for (std::uint32_t reg = 0; reg < kinds_.size(); ++reg) {
    if (!pinned_[reg] && live[reg].begin != kUnused) order.push_back(reg);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) {
    return std::pair(live[x].begin, x) < std::pair(live[y].begin, y);
  });

  // Linear scan (Poletto, Sarkar, TOPLAS 1999) without spilling. Operands of one instruction never
  // share a place, so that a handler may write a destination before it has read all its sources.
  std::vector<std::uint32_t> place_of(kinds_.size(), 0);
  Pool pools[4];
  const auto pool_of = [](Kind kind) {
    return kind == Kind::predicate ? 0U : kind == Kind::b32 ? 1U : kind == Kind::b64 ? 2U : 3U;
  };
  using Ending = std::pair<std::uint32_t, std::uint32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> active;
  for (std::uint32_t reg = 0; reg < kinds_.size(); ++reg) {
    if (pinned_[reg]) place_of[reg] = pools[pool_of(kinds_[reg])].take();
  }
  // The pinned places are the first of each kind.
  const std::uint32_t pinned[4] = {pools[0].size(), pools[1].size(), pools[2].size(),
                                   pools[3].size()};
  for (const std::uint32_t reg : order) {
    while (!active.empty() && active.top().first < live[reg].begin) {
      const std::uint32_t ended = active.top().second;
      pools[pool_of(kinds_[ended])].give(place_of[ended]);
      active.pop();
    }
    place_of[reg] = pools[pool_of(kinds_[reg])].take();
    active.emplace(live[reg].end, reg);
  }

  const std::uint32_t first32 = (pools[0].size() * 4 + 255) / 256 * 256;
  const std::uint32_t first64 = (first32 + pools[1].size() * 128 + 255) / 256 * 256;
  const std::uint32_t first128 = first64 + pools[2].size() * 256;
  code.register_bytes = first128 + pools[3].size() * 512;
  const std::uint32_t first[4] = {0, first32, first64, first128};
  const std::uint32_t bytes[4] = {4, 128, 256, 512};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::uint32_t count = pools[k].size() - pinned[k];
    if (count != 0) code.scratch.emplace_back(first[k] + pinned[k] * bytes[k], count * bytes[k]);
  }
  std::vector<std::uint32_t> offsets(kinds_.size(), 0);
  for (std::uint32_t reg = 0; reg < kinds_.size(); ++reg) {
    switch (kinds_[reg]) {
      case Kind::predicate:
        offsets[reg] = place_of[reg] * 4;
        break;
      case Kind::b64:
        offsets[reg] = first64 + place_of[reg] * 256;
        break;
      case Kind::b128:
        offsets[reg] = first128 + place_of[reg] * 512;
        break;
      case Kind::b32:
      case Kind::none:
        offsets[reg] = first32 + place_of[reg] * 128;
        break;
    }
  }
  for (const Reference& r : references_) {
    if (r.field != nullptr) {
      code.ops[r.op].*r.field = offsets[r.reg];
    } else {
      code.lists[r.list_index] = offsets[r.reg];
    }
  }
  list_operands(code, offsets);
  for (const auto& [op, registers] : liveness_of_code.across) {
    CallSite& site = code.calls[static_cast<std::size_t>(code.ops[op].immediate)];
    for (const std::uint32_t reg : registers) {
      site.saved.push_back({offsets[reg], kinds_[reg]});
      site.saved_words += words_of(kinds_[reg]);
    }
  }
  return offsets;
}

}  // namespace bitgate::machine
