#include "reference/machine/hazard/flow.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "reference/machine/exec/context.h"
#include "reference/machine/hazard/definite.h"

namespace bitgate::machine::hazard {

namespace {

using Field = RegisterOperand::Field;

/// A mnemonic's parts.
struct Words {
  std::vector<std::string_view> all;

  explicit Words(std::string_view mnemonic) {
    for (std::size_t begin = 0; begin <= mnemonic.size();) {
      const std::size_t end = std::min(mnemonic.find('.', begin), mnemonic.size());
      all.push_back(mnemonic.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  std::string_view opcode() const { return all.front(); }
  std::string_view last() const { return all.back(); }
  bool has(std::string_view word) const {
    return std::find(all.begin() + 1, all.end(), word) != all.end();
  }
  bool is(std::initializer_list<std::string_view> opcodes) const {
    return std::find(opcodes.begin(), opcodes.end(), opcode()) != opcodes.end();
  }
};

bool is_integer(std::string_view type) {
  return !type.empty() && (type[0] == 'u' || type[0] == 's' || type[0] == 'b') &&
         type.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

unsigned number_after(std::string_view text, char letter) {
  unsigned value = 0;
  const std::size_t at = text.find(letter);
  if (at == std::string_view::npos) return 0;
  for (std::size_t i = at + 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    value = 10 * value + static_cast<unsigned>(text[i] - '0');
  }
  return value;
}

unsigned element_bits(std::string_view type) {
  if (type == "f16" || type == "bf16") return 16;
  if (type == "tf32") return 32;
  if (type == "e4m3" || type == "e5m2") return 8;
  return number_after(type, type.empty() ? '?' : type[0]);
}

bool is_element_type(std::string_view word) {
  static constexpr std::array<std::string_view, 14> kTypes{"f16",  "bf16", "tf32", "f32", "f64",
                                                           "e4m3", "e5m2", "s8",   "u8",  "s4",
                                                           "u4",   "b1",   "s32",  "b16"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

bool is_shape(std::string_view word) {
  return word.size() > 4 && word[0] == 'm' && word.find('n') != std::string_view::npos &&
         word.find('k') != std::string_view::npos && word[1] >= '0' && word[1] <= '9';
}

/// cvt from integer to integer without saturation moves bits.
bool converts_integers(const Words& words) {
  const std::size_t n = words.all.size();
  return words.opcode() == "cvt" && n == 3 && is_integer(words.all[1]) && is_integer(words.all[2]);
}

bool has_halves(const Words& words) {
  const auto pair = [](std::string_view w) {
    return w == "f16x2" || w == "bf16x2" || w == "u16x2" || w == "s16x2";
  };
  if (words.is({"cvt", "atom", "red", "mma", "wmma"})) return false;
  return pair(words.last());
}

Rule rule_of_lanes(const Words& words) {
  const std::string_view type = words.last();
  const bool integer = is_integer(type) && !words.has("sat");
  if (words.is({"mov", "movmatrix", "brev", "szext", "shl", "shr", "shf", "prmt", "bfe", "bfi",
                "selp", "slct"})) {
    return Rule::move;
  }
  if (converts_integers(words)) return Rule::move;
  if (words.opcode() == "cvt" && words.all.size() >= 3 && type == "f32" &&
      (words.all[words.all.size() - 2] == "f16x2" || words.all[words.all.size() - 2] == "bf16x2")) {
    return Rule::pack_halves;
  }
  if (words.is({"cvta", "not"})) return Rule::copy;
  if (words.opcode() == "and") return Rule::bit_and;
  if (words.opcode() == "or") return Rule::bit_or;
  if (words.opcode() == "xor") return Rule::bit_xor;
  if (words.opcode() == "lop3") return Rule::lop3;
  if (has_halves(words)) return Rule::halves;
  if (words.is({"add", "sub", "addc", "subc", "neg"}) && integer) return Rule::carry;
  if (words.is({"mul", "mad", "madc"}) && integer && (words.has("lo") || words.has("wide"))) {
    return Rule::carry;
  }
  if (words.is({"prefetch", "prefetchu", "applypriority", "discard", "fence", "membar", "nanosleep",
                "pmevent", "griddepcontrol", "setmaxnreg", "trap", "brkpt"})) {
    return Rule::none;
  }
  if (words.is({"createpolicy", "activemask", "stacksave"})) return Rule::defined;
  if (words.opcode() == "alloca") return Rule::alloca;
  return Rule::any;
}

Rule rule_of_cp(const Words& words) {
  if (words.has("mbarrier")) return Rule::mbarrier;
  if (words.has("commit_group") || words.has("wait_group") || words.has("wait_all")) {
    return Rule::none;
  }
  return Rule::copy_async;
}

Rule rule_of(const Words& words, const Op& op) {
  switch (op.flow) {
    case Flow::branch:
    case Flow::indirect_branch:
    case Flow::trap:
    case Flow::unsupported:
      return Rule::none;
    case Flow::call:
      return Rule::call;
    case Flow::ret:
      return Rule::ret;
    case Flow::exit:
      return Rule::exit;
    case Flow::barrier:
      return Rule::barrier;
    case Flow::straight:
    case Flow::converge:
      break;
  }
  const std::string_view opcode = words.opcode();
  if (opcode == "call") return Rule::system;
  if (opcode == "ld" || opcode == "ldu") return Rule::load;
  if (opcode == "st") return Rule::store;
  if (opcode == "atom" || opcode == "red") return Rule::atomic;
  if (opcode == "cp") return rule_of_cp(words);
  if (opcode == "ldmatrix") return Rule::matrix_load;
  if (opcode == "stmatrix") return Rule::matrix_store;
  if (opcode == "mbarrier") return words.has("pending_count") ? Rule::any : Rule::mbarrier;
  if (opcode == "shfl") return Rule::shuffle;
  if (opcode == "vote") return words.has("ballot") ? Rule::ballot : Rule::across;
  if (opcode == "match" || opcode == "redux") return Rule::across;
  if (opcode == "elect") return Rule::defined;
  if (opcode == "bar" || opcode == "barrier") return Rule::none;  // bar.warp.sync
  if (opcode == "mma") {
    // Volta's shape has quads of lanes in the place of the others' groups.
    if (words.has("m8n8k4") && !words.has("f64")) return Rule::across;
    return words.has("sp") || words.has("sp::ordered_metadata") ? Rule::mma_sparse : Rule::mma;
  }
  if (opcode == "wmma") {
    if (words.has("load")) return Rule::wmma_load;
    return words.has("store") ? Rule::wmma_store : Rule::wmma;
  }
  return rule_of_lanes(words);
}

/// How many of the leading sources are data; the others say what to do with them.
std::size_t data_of(const Words& words, Rule rule, std::size_t sources) {
  if (rule == Rule::move) {
    if (words.is({"shl", "shr", "szext", "bfe"})) return 1;
    if (words.is({"shf", "prmt", "bfi", "selp", "slct"})) return 2;
  }
  return sources;
}

Sink sink_of(Rule rule, const Op& op, Field field) {
  if (op.flow == Flow::converge && field == Field::a) return Sink::mask_operand;
  switch (rule) {
    case Rule::load:
      return field == Field::a ? Sink::load_address : Sink::none;
    case Rule::store:
      return field == Field::a ? Sink::store_address : Sink::none;
    case Rule::atomic:
      return field == Field::a ? Sink::atomic_address : Sink::none;
    case Rule::matrix_load:
      return field == Field::b ? Sink::load_address : Sink::none;
    case Rule::wmma_load:
      return field == Field::b || field == Field::c ? Sink::load_address : Sink::none;
    case Rule::matrix_store:
      return field == Field::b ? Sink::store_address : Sink::none;
    case Rule::wmma_store:
      return field == Field::b || field == Field::c ? Sink::store_address : Sink::none;
    case Rule::copy_async:
      return field == Field::a   ? Sink::store_address
             : field == Field::b ? Sink::load_address
                                 : Sink::copy_size;
    case Rule::mbarrier:
      return field == Field::a ? Sink::atomic_address : Sink::barrier_operand;
    case Rule::barrier:
      return Sink::barrier_operand;
    case Rule::call:
      return Sink::indirect_target;
    case Rule::shuffle:
      return field == Field::b || field == Field::c ? Sink::shuffle_lane : Sink::none;
    case Rule::none:
      return op.flow == Flow::indirect_branch ? Sink::indirect_target : Sink::none;
    default:
      break;
  }
  return Sink::none;
}

Sink guard_sink_of(Rule rule, const Op& op) {
  switch (op.flow) {
    case Flow::branch:
    case Flow::indirect_branch:
    case Flow::call:
    case Flow::ret:
      return Sink::branch;
    case Flow::exit:
    case Flow::barrier:
    case Flow::trap:
    case Flow::converge:
      return Sink::guard;
    case Flow::unsupported:
      return Sink::none;
    case Flow::straight:
      break;
  }
  switch (rule) {
    case Rule::load:
    case Rule::store:
    case Rule::atomic:
    case Rule::copy_async:
    case Rule::mbarrier:
    case Rule::system:
    case Rule::alloca:
      return Sink::guard;
    default:
      return Sink::none;
  }
}

AtomicEffect effect_of(const Words& words) {
  if (words.has("and") || words.has("or") || words.has("xor")) return AtomicEffect::bitwise;
  if (words.has("exch")) return AtomicEffect::exchange;
  return words.has("cas") ? AtomicEffect::compare : AtomicEffect::combine;
}

bool commutes(const Words& words) {
  const std::string_view type = words.last();
  if (type[0] == 'f' || type[0] == 'b') {
    // and, or, xor are of b32 and b64.
    return words.has("and") || words.has("or") || words.has("xor");
  }
  return words.has("add") || words.has("min") || words.has("max");
}

bool depends_on_schedule(const Words& words, Rule rule) {
  if (rule == Rule::load) {
    for (const char* word : {"relaxed", "acquire", "volatile", "mmio"}) {
      if (words.has(word)) return !words.has("param") && !words.has("local");
    }
    return false;
  }
  if (rule == Rule::mbarrier) return words.has("test_wait") || words.has("try_wait");
  return rule == Rule::atomic || words.opcode() == "activemask";
}

}  // namespace

/// Fills a table, op after op.
class FlowBuilder {
 public:
  FlowBuilder(const Code& code, FlowTable& table) : code_(code), table_(table) {
    table_.registers_.push_back({code.register_bytes, RegisterKind::predicate, true});
    table_.registers_.push_back({code.register_bytes + 4, RegisterKind::predicate, false});
    // Room up to the next register of 16-byte lanes, so that vectors may read past the end.
    table_.shadow_bytes_ = (code.register_bytes + 8 + 255) / 256 * 256;
    table_.matrices_.emplace_back();
    table_.flows_.reserve(code.ops.size());
  }

  void add(std::uint32_t pc) {
    const Op& op = code_.ops[pc];
    const Words words(code_.debug[pc].mnemonic);
    OpFlow flow;
    flow.rule = op.flow == Flow::unsupported ? Rule::none : rule_of(words, op);
    flow.first = static_cast<std::uint32_t>(table_.operands_.size());
    sort_operands(op, words, pc, flow);
    flow.guard_sink = flow.guard == kNoRegister ? Sink::none : guard_sink_of(flow.rule, op);
    if (flow.rule == Rule::move && flow.data == 0) {
      // Clocks are read without a source.
      flow.rule = Rule::defined;
      flow.schedule_dependent = true;
    }
    describe(words, flow);
    watch(flow);
    table_.flows_.push_back(flow);
  }

  void mark_pinned() {
    for (FlowTable::Register& reg : table_.registers_) {
      const auto inside = [&](const std::pair<std::uint32_t, std::uint32_t>& place) {
        return reg.offset >= place.first && reg.offset < place.first + place.second;
      };
      if (reg.offset < code_.register_bytes) {
        reg.pinned = std::none_of(code_.scratch.begin(), code_.scratch.end(), inside);
      }
    }
  }

 private:
  std::uint32_t number_of(const RegisterOperand& operand) {
    const auto [entry, inserted] =
        numbers_.try_emplace(operand.offset, static_cast<std::uint32_t>(table_.registers_.size()));
    if (inserted) table_.registers_.push_back({operand.offset, operand.kind, false});
    return entry->second;
  }

  void sort_operands(const Op& op, const Words& words, std::uint32_t pc, OpFlow& flow) {
    std::vector<FlowOperand> definitions;
    std::vector<FlowOperand> data;
    std::vector<FlowOperand> steering;
    std::size_t sources = 0;
    for (std::uint32_t i = code_.first_operand[pc]; i < code_.first_operand[pc + 1]; ++i) {
      if (!code_.operands[i].defines && code_.operands[i].field != Field::guard) ++sources;
    }
    const std::size_t leading = data_of(words, flow.rule, sources);
    std::size_t next = 0;
    for (std::uint32_t i = code_.first_operand[pc]; i < code_.first_operand[pc + 1]; ++i) {
      const RegisterOperand& operand = code_.operands[i];
      const std::uint32_t number = number_of(operand);
      if (operand.field == Field::guard) {
        flow.guard = number;
        continue;
      }
      FlowOperand made{number, operand.kind, Sink::none, false};
      if (operand.defines) {
        definitions.push_back(made);
        continue;
      }
      made.sink = sink_of(flow.rule, op, operand.field);
      made.negated =
          operand.kind == RegisterKind::predicate && (op.flip >> flip_bit(operand.field) & 1U);
      const bool steers = made.sink != Sink::none || next >= leading;
      ++next;
      (steers ? steering : data).push_back(made);
    }
    const bool carries_in = words.is({"addc", "subc", "madc"});
    const bool carries_out = words.has("cc");
    if (carries_in) data.push_back({kCarryRegister, RegisterKind::predicate, Sink::none, false});
    if (carries_out)
      definitions.push_back({kCarryRegister, RegisterKind::predicate, Sink::none, false});
    flow.definitions = static_cast<std::uint8_t>(definitions.size());
    flow.data = static_cast<std::uint8_t>(data.size());
    flow.steering = static_cast<std::uint8_t>(steering.size());
    for (const auto* list : {&definitions, &data, &steering}) {
      table_.operands_.insert(table_.operands_.end(), list->begin(), list->end());
    }
  }

  static unsigned flip_bit(Field field) {
    return field == Field::a ? 0 : field == Field::b ? 1 : field == Field::c ? 2 : 3;
  }

  void describe(const Words& words, OpFlow& flow) {
    flow.schedule_dependent = flow.schedule_dependent || depends_on_schedule(words, flow.rule);
    flow.is_signed = flow.rule == Rule::load && words.last()[0] == 's';
    flow.transposed = words.has("trans");
    if (flow.rule == Rule::atomic) {
      flow.atomic = effect_of(words);
      flow.atomic_is_float = words.last().find('f') != std::string_view::npos;
      flow.atomic_commutes = commutes(words);
      flow.result_used = words.opcode() == "atom";
    }
    if (flow.rule == Rule::mbarrier) flow.initialises = words.has("init") || words.has("inval");
    const bool matrix = flow.rule == Rule::mma || flow.rule == Rule::mma_sparse ||
                        flow.rule == Rule::wmma || flow.rule == Rule::wmma_load ||
                        flow.rule == Rule::wmma_store;
    if (matrix) {
      flow.matrix = static_cast<std::uint16_t>(table_.matrices_.size());
      table_.matrices_.push_back(shape(words, flow));
    }
  }

  static MatrixFlow shape(const Words& words, const OpFlow& flow) {
    MatrixFlow matrix;
    std::vector<std::string_view> types;
    for (const std::string_view word : words.all) {
      if (is_shape(word)) {
        matrix.m = static_cast<std::uint8_t>(number_after(word, 'm'));
        matrix.n = static_cast<std::uint8_t>(number_after(word, 'n'));
        matrix.k_bytes = static_cast<std::uint16_t>(number_after(word, 'k'));
      } else if (is_element_type(word)) {
        types.push_back(word);
      }
    }
    // Of a product: d, a, b, c; wmma's of f16 name d and c alone.
    const std::string_view left = types.size() >= 4   ? types[1]
                                  : types.size() == 2 ? std::string_view("f16")
                                  : types.empty()     ? std::string_view("b16")
                                                      : types[0];
    matrix.k_bytes = static_cast<std::uint16_t>(matrix.k_bytes * element_bits(left) / 8);
    matrix.element_bits = static_cast<std::uint8_t>(element_bits(left));
    if (!types.empty()) {
      matrix.d_bits = static_cast<std::uint8_t>(element_bits(types.front()));
      matrix.c_bits = static_cast<std::uint8_t>(element_bits(types.back()));
    }
    const unsigned sums = unsigned{matrix.m} * matrix.n / kLanes;
    const auto sum_registers = [&](unsigned bits) {
      return static_cast<std::uint8_t>(bits == 16 ? sums / 2 : sums);
    };
    matrix.d_registers = sum_registers(matrix.d_bits);
    matrix.c_registers = sum_registers(matrix.c_bits);
    const bool wide = matrix.element_bits == 64;
    const unsigned block = wide ? 32 : 16;
    if (flow.rule == Rule::wmma || flow.rule == Rule::wmma_load || flow.rule == Rule::wmma_store) {
      const auto side = [&](unsigned rows) {
        if (wide) return 1U;
        if (left == "f16") return 8U;
        return rows / 8 * ((matrix.k_bytes + 15U) / 16U);
      };
      matrix.a_registers = static_cast<std::uint8_t>(side(matrix.m));
      matrix.b_registers = static_cast<std::uint8_t>(side(matrix.n));
      matrix.role = words.has("a")   ? MatrixFlow::Role::a
                    : words.has("b") ? MatrixFlow::Role::b
                                     : MatrixFlow::Role::accumulator;
      matrix.column_major = words.has("col");
    } else {
      const unsigned blocks = matrix.k_bytes / block;
      const unsigned kept = flow.rule == Rule::mma_sparse ? blocks / 2 : blocks;
      matrix.a_registers = static_cast<std::uint8_t>(matrix.m / 8U * kept);
      matrix.b_registers = static_cast<std::uint8_t>(blocks);
    }
    return matrix;
  }

  void watch(OpFlow& flow) const {
    flow.always = flow.rule == Rule::exit || flow.rule == Rule::call || flow.rule == Rule::ret ||
                  flow.rule == Rule::alloca || flow.rule == Rule::wmma_load ||
                  flow.rule == Rule::wmma_store || flow.rule == Rule::system;
    const auto bits = [](std::uint32_t number) {
      return number == kNoRegister ? RegisterBits{0} : bit_of(number);
    };
    const FlowOperand* operands = table_.operands_.data() + flow.first;
    const std::size_t moved = std::size_t{flow.definitions} + flow.data;
    for (std::size_t i = 0; i < moved; ++i) flow.moved |= bits(operands[i].number);
    flow.watched = bits(flow.guard) | (flow.always ? kAlways : 0);
    // What an access moves is seen to when its addresses are known.
    if (!moves_memory(flow.rule)) flow.watched |= flow.moved;
    for (std::size_t i = 0; i < flow.steering; ++i)
      flow.watched |= bits(operands[moved + i].number);
  }

  const Code& code_;
  FlowTable& table_;
  std::map<std::uint32_t, std::uint32_t> numbers_;
};

FlowTable::FlowTable(const Code& code) {
  FlowBuilder builder(code, *this);
  for (std::uint32_t pc = 0; pc < code.ops.size(); ++pc) builder.add(pc);
  builder.mark_pinned();
  const std::vector<std::uint8_t> maybe = maybe_read_undefined(code, *this);
  for (std::size_t n = kCarryRegister; n < registers_.size(); ++n) {
    registers_[n].maybe_undefined = maybe[n] != 0 && !registers_[n].pinned;
  }
}

}  // namespace bitgate::machine::hazard
