#include "reference/machine/hazard/definite.h"

#include <algorithm>
#include <cstddef>

#include "reference/machine/hazard/successors.h"

namespace bitgate::machine::hazard {

namespace {

/// A set of registers, 64 a word.
using Set = std::vector<std::uint64_t>;

bool holds(const Set& set, std::uint32_t number) {
  return (set[number / 64] >> number % 64 & 1U) != 0;
}
void add(Set& set, std::uint32_t number) { set[number / 64] |= std::uint64_t{1} << number % 64; }

/// Instructions that are executed one after the other.
struct Stretch {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  Set written;  ///< by all threads that come to its end
  Set read;     ///< before it writes them
  Set before;   ///< written on every way to it that is known yet
  bool reached = false;
};

class Analysis {
 public:
  Analysis(const Code& code, const FlowTable& table)
      : code_(code), table_(table), words_((table.registers().size() + 63) / 64) {}

  std::vector<std::uint8_t> run() {
    divide();
    for (Stretch& stretch : stretches_) summarise(stretch);
    follow();
    std::vector<std::uint8_t> result(table_.registers().size(), 0);
    for (const Stretch& stretch : stretches_) {
      for (std::uint32_t n = 0; stretch.reached && n < result.size(); ++n) {
        if (holds(stretch.read, n) && !holds(stretch.before, n)) result[n] = 1;
      }
    }
    return result;
  }

 private:
  static bool goes_on(const Op& op) {
    return op.flow == Flow::straight || op.flow == Flow::converge || op.flow == Flow::barrier;
  }

  void divide() {
    const auto ops = static_cast<std::uint32_t>(code_.ops.size());
    std::vector<std::uint8_t> begins(ops + 1, 0);
    begins[0] = 1;
    begins[code_.start] = 1;
    for (std::uint32_t pc = 0; pc < ops; ++pc) {
      if (goes_on(code_.ops[pc])) continue;
      begins[pc + 1] = 1;
      each_successor(code_, pc, [&](std::uint32_t to) { begins[std::min(to, ops)] = 1; });
    }
    number_at_.resize(ops);
    for (std::uint32_t pc = 0; pc < ops; ++pc) {
      if (begins[pc] != 0)
        stretches_.push_back({pc, pc, Set(words_), Set(words_), Set(words_), false});
      stretches_.back().end = pc + 1;
      number_at_[pc] = static_cast<std::uint32_t>(stretches_.size() - 1);
    }
  }

  void summarise(Stretch& stretch) const {
    for (std::uint32_t pc = stretch.begin; pc < stretch.end; ++pc) {
      const OpFlow& flow = table_[pc];
      const FlowOperand* operands = table_.operands(flow);
      const std::size_t all = std::size_t{flow.definitions} + flow.data + flow.steering;
      const auto reads = [&](std::uint32_t number) {
        if (!holds(stretch.written, number)) add(stretch.read, number);
      };
      reads(flow.guard);
      for (std::size_t i = flow.definitions; i < all; ++i) reads(operands[i].number);
      if (code_.ops[pc].guarded) continue;
      for (std::size_t i = 0; i < flow.definitions; ++i) add(stretch.written, operands[i].number);
    }
  }

  /// Whatever leads to a stretch takes away from what is written before it, until nothing changes.
  void follow() {
    std::vector<std::uint32_t> left;
    const auto enter = [&](std::uint32_t pc, const Set& written) {
      if (pc >= code_.ops.size()) return;
      Stretch& to = stretches_[number_at_[pc]];
      bool changes = !to.reached;
      if (!to.reached) to.before = written;
      to.reached = true;
      for (std::size_t i = 0; i < words_; ++i) {
        changes = changes || (to.before[i] & ~written[i]) != 0;
        to.before[i] &= written[i];
      }
      if (changes) left.push_back(number_at_[pc]);
    };
    enter(code_.start, Set(words_));
    while (!left.empty()) {
      const Stretch& from = stretches_[left.back()];
      left.pop_back();
      Set written = from.before;
      for (std::size_t i = 0; i < words_; ++i) written[i] |= from.written[i];
      each_successor(code_, from.end - 1, [&](std::uint32_t to) { enter(to, written); });
    }
  }

  const Code& code_;
  const FlowTable& table_;
  std::size_t words_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> number_at_;  ///< of the stretch that holds a place
};

}  // namespace

std::vector<std::uint8_t> maybe_read_undefined(const Code& code, const FlowTable& table) {
  if (code.ops.empty() || !code.procedures.empty()) {
    return std::vector<std::uint8_t>(table.registers().size(), 1);
  }
  return Analysis(code, table).run();
}

}  // namespace bitgate::machine::hazard
