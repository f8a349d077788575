#include "reference/machine/vectors/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "reference/machine/vectors/inputs.h"
#include "reference/support/random.h"

namespace bitgate::machine::vectors {

namespace {

struct Pool {
  char name;
  unsigned bits;
  std::size_t count;
  Value drawn;  ///< what its registers start with
};

constexpr std::array<Pool, 8> kPools{{{'h', 16, 6, Value::b16},
                                      {'r', 32, 8, Value::b32},
                                      {'l', 64, 6, Value::b64},
                                      {'e', 16, 4, Value::f16},
                                      {'f', 32, 6, Value::f32},
                                      {'v', 32, 4, Value::f16x2},
                                      {'x', 64, 4, Value::f64},
                                      {'q', 1, 4, Value::predicate}}};

const Pool& pool_of(Value value) {
  switch (value) {
    case Value::predicate:
      return kPools[7];
    case Value::f16:
    case Value::bf16:
      return kPools[3];
    case Value::f32:
    case Value::tf32:
      return kPools[4];
    case Value::f16x2:
    case Value::bf16x2:
      return kPools[5];
    case Value::f64:
      return kPools[6];
    default:
      break;
  }
  switch (shape(value).register_bits) {
    case 16:
      return kPools[0];
    case 32:
      return kPools[1];
    default:
      return kPools[2];
  }
}

bool is_float(Value value) {
  switch (value) {
    case Value::f16:
    case Value::bf16:
    case Value::f32:
    case Value::f64:
    case Value::f16x2:
    case Value::bf16x2:
      return true;
    default:
      return false;
  }
}

/// ptxas fuses an unmarked product and an unmarked sum into one fma; .rn and the others forbid it.
bool may_contract(const Form& form) {
  const std::string_view name = form.name;
  if (!is_float(form.results.front())) return false;
  if (!name.starts_with("add.") && !name.starts_with("sub.") && !name.starts_with("mul.")) {
    return false;
  }
  for (const char* mark : {".rn", ".rz", ".rm", ".rp"}) {
    if (name.find(mark) != std::string_view::npos) return false;
  }
  return true;
}

std::string opcode(const Form& form) { return form.name.substr(0, form.name.find('.')); }

/// A float result of set comes out as the integer 1 (random_program.h).
bool is_left_out(const Form& form) {
  return form.name.starts_with("set.") && is_float(form.results.front());
}

/// Not what is executed in part where the guard does not hold (random_program.h).
bool takes_a_guard(const Form& form) {
  return !form.name.starts_with("set.") && !form.name.starts_with("testp.") &&
         !form.name.starts_with('v') && std::ranges::count(form.body, ';') == 1;
}

/// Merged wrongly where two sources are one register.
bool wants_distinct_sources(const Form& form) {
  return form.name.starts_with("lop") || form.name.find(".pred") != std::string::npos;
}

/// What follows sees through it to what it was made of.
bool is_seen_through(const Form& form) {
  return form.name.starts_with("cnot.") || form.name.starts_with("abs.s") ||
         form.name.starts_with("lop") || form.name.starts_with("set.") ||
         (form.name.starts_with("cvt.") && form.name.ends_with("f32"));
}

/// Where the payload of a NaN result is open.
bool has_open_payload(const Form& form) {
  if (!is_float(form.results.front())) return false;
  return form.results.front() == Value::f64 || form.name.starts_with("neg.") ||
         form.name.starts_with("abs.") || form.name.starts_with("min.") ||
         form.name.starts_with("max.");
}

/// Replaces a NaN in the register by one and the same.
std::string canonical_nan(Value value, const std::string& name) {
  const std::string type(shape(value).name);
  switch (value) {
    case Value::f64:
      return fmt::format(
          "  setp.nan.f64 %p0, {0}, {0}; selp.b64 {0}, 0x7ff8000000000000, {0}, %p0;\n", name);
    case Value::f32:
      return fmt::format("  setp.nan.f32 %p0, {0}, {0}; selp.b32 {0}, 0x7fffffff, {0}, %p0;\n",
                         name);
    case Value::f16:
    case Value::bf16:
      return fmt::format("  setp.nan.{1} %p0, {0}, {0}; selp.b16 {0}, 0x7fff, {0}, %p0;\n", name,
                         type);
    default:
      break;
  }
  const std::string element = type.substr(0, type.size() - 2);
  return fmt::format("  mov.b32 {{%low, %high}}, {};\n", name) +
         canonical_nan(element == "f16" ? Value::f16 : Value::bf16, "%low") +
         canonical_nan(element == "f16" ? Value::f16 : Value::bf16, "%high") +
         fmt::format("  mov.b32 {}, {{%low, %high}};\n", name);
}

/// Forms by opcode, so that the many forms of cvt and set do not crowd out the others.
const std::vector<std::vector<const Form*>>& opcodes(bool video) {
  static const auto kAll = [] {
    std::array<std::vector<std::vector<const Form*>>, 2> all;
    std::map<std::string, std::vector<const Form*>> by_opcode;
    for (const Form& form : forms()) {
      if (form.a_registers == 0 && !may_contract(form) && !is_left_out(form)) {
        by_opcode[opcode(form)].push_back(&form);
      }
    }
    for (auto& [name, its_forms] : by_opcode) {
      all[name.starts_with('v') ? 1 : 0].push_back(std::move(its_forms));
    }
    return all;
  }();
  return kAll[video ? 1 : 0];
}

/// A constant as an operand of that type; nothing where PTX has no such literal.
std::optional<std::string> literal(Value value, std::uint64_t bits) {
  switch (value) {
    case Value::u16:
    case Value::b16:
    case Value::u32:
    case Value::b32:
    case Value::u64:
    case Value::b64:
      return fmt::format("{:#x}", bits);
    case Value::shift:  // bfe and bfi take no larger constant
      return fmt::format("{}", bits & 0xff);
    case Value::s16:
      return fmt::format("{}", static_cast<std::int16_t>(bits));
    case Value::s32:
      return fmt::format("{}", static_cast<std::int32_t>(bits));
    case Value::s64:
      // The most negative number has no literal of its own.
      return fmt::format(
          "{}", std::max(static_cast<std::int64_t>(bits), std::int64_t{-0x7fffffffffffffff}));
    case Value::f32:
      return fmt::format("0f{:08x}", bits);
    case Value::f64:
      return fmt::format("0d{:016x}", bits);
    default:
      return std::nullopt;
  }
}

/// Selectors of bytes and halves, vectors and pairs take registers alone.
bool takes_literals(const Form& form) {
  const std::string_view operands = std::string_view(form.body).substr(form.body.find(' '));
  return operands.find_first_of("{|.") == std::string_view::npos && form.sources.size() > 1 &&
         !form.name.starts_with("dp") && !form.name.starts_with('v') &&
         !form.name.starts_with("slct.") && form.name.find("16x2") == std::string::npos;
}

std::string replaced(std::string text, const std::map<std::string, std::string>& names) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      out += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    const auto found = names.find(text.substr(at, end - at));
    out += found == names.end() ? text.substr(at, end - at) : found->second;
    at = end;
  }
  return out;
}

constexpr std::size_t kLeastInstructions = 50;
constexpr std::size_t kMoreInstructions = 30;
constexpr int kMostDepth = 2;

}  // namespace

class RandomProgram::Generator {
 public:
  Generator(RandomProgram& program, std::uint64_t seed)
      : program_(program), random_(seed, "program"), drawer_(seed, "literals") {}

  void run() {
    const std::size_t wanted = kLeastInstructions + random_.below(kMoreInstructions);
    while (program_.instructions_ < wanted) program_.body_.push_back(statement(0));
  }

 private:
  Statement statement(int depth) {
    const std::uint64_t kind = random_.below(100);
    if (depth < kMostDepth && kind < 7) return branch(depth);
    if (depth < kMostDepth && kind < 11) return loop(depth);
    return instruction(kind >= 85);
  }

  std::vector<Statement> statements(int depth) {
    std::vector<Statement> body;
    const std::size_t count = 1 + random_.below(6);
    for (std::size_t i = 0; i < count; ++i) body.push_back(statement(depth + 1));
    return body;
  }

  Statement branch(int depth) {
    Statement made{.kind = Statement::Kind::branch,
                   .id = program_.statements_++,
                   .text = {},
                   .guard = guard(),
                   .canonical = {},
                   .then = {},
                   .otherwise = {}};
    made.then = statements(depth);
    if (random_.chance(0.6)) made.otherwise = statements(depth);
    return made;
  }

  Statement loop(int depth) {
    Statement made{
        .kind = Statement::Kind::loop,
        .id = program_.statements_++,
        .text = {},
        .guard = random_.chance(0.7) ? one_of(kPools[1]) : std::to_string(1 + random_.below(3)),
        .canonical = {},
        .then = {},
        .otherwise = {}};
    ++program_.loops_;
    made.then = statements(depth);
    return made;
  }

  Statement instruction(bool guarded) {
    const auto& all = opcodes(random_.chance(0.04));
    const auto& its_forms = all[random_.below(all.size())];
    const Form& form = *its_forms[random_.below(its_forms.size())];
    Statement made{.kind = Statement::Kind::instruction,
                   .id = program_.statements_++,
                   .text = {},
                   .guard = {},
                   .canonical = {},
                   .then = {},
                   .otherwise = {}};
    std::map<std::string, std::string> names;
    std::string before;
    std::string after;
    std::string used;
    for (std::size_t k = 0; k < form.results.size(); ++k) {
      // Two results are two registers.
      std::string name = one_of(pool_of(form.results[k]));
      while (name == used) name = one_of(pool_of(form.results[k]));
      used = name;
      names["%d" + std::to_string(k)] = name;
      if (k == 0 && has_open_payload(form)) made.canonical = canonical_nan(form.results[k], name);
      const unsigned bits = pool_of(form.results[k]).bits;
      if (!program_.open_ && is_seen_through(form) && bits > 1) after += hidden(bits, name, name);
    }
    bool constant = !takes_literals(form);
    std::set<std::string> sources;
    for (std::size_t k = 0; k < form.sources.size(); ++k) {
      std::string& name = names["%a" + std::to_string(k)];
      if (!constant && random_.chance(0.1)) {
        if (const auto text = literal(form.sources[k], drawer_.draw(form.sources[k]))) {
          name = *text;
          constant = true;  // at most one an instruction
          continue;
        }
      }
      const Pool& own = pool_of(form.sources[k]);
      const Pool* pool = source_pool(&own);
      do {
        name = one_of(*pool);
      } while (!program_.open_ && wants_distinct_sources(form) && sources.contains(name));
      sources.insert(name);
      if (!program_.open_ && pool != &own) {
        std::string scratch = fmt::format("%s{}_{}", own.bits, k);
        before += hidden(own.bits, scratch, name);
        name = std::move(scratch);
      }
    }
    if (!program_.open_ && (form.name.starts_with("abs.s") || form.name.starts_with("neg.s"))) {
      before += no_least_integer(form, names["%a0"]);
    }
    const std::string prefix = guarded && takes_a_guard(form) ? "@" + guard() + " " : "";
    const std::string text = prefix + replaced(form.body, names);
    program_.instructions_ += static_cast<std::size_t>(std::ranges::count(text, ';'));
    made.text = before + text + after;
    return made;
  }

  /// A copy whose origin a compiler does not see.
  static std::string hidden(unsigned bits, const std::string& to, const std::string& from) {
    return fmt::format("xor.b{0} {1}, {2}, %zero{0}; ", bits, to, from);
  }

  /// Replaces the source by one that is at least the opposite of the greatest integer.
  static std::string no_least_integer(const Form& form, std::string& source) {
    const unsigned bits = shape(form.sources.front()).bits;
    const std::string type(shape(form.sources.front()).name);
    const std::uint64_t greatest = (std::uint64_t{1} << (bits - 1)) - 1;
    const std::string scratch = fmt::format("%m{}", bits);
    std::string text = fmt::format("max.{} {}, {}, -{}; ", type, scratch, source, greatest);
    source = scratch;
    return text;
  }

  std::string guard() { return (random_.chance(0.5) ? "" : "!") + one_of(kPools[7]); }

  std::string one_of(const Pool& pool) {
    return fmt::format("%{}{}", pool.name, random_.below(pool.count));
  }

  /// Where an operand comes from: now and then another pool of its width.
  const Pool* source_pool(const Pool* own) {
    if (own->bits == 1 || !random_.chance(0.1)) return own;
    std::vector<const Pool*> as_wide;
    for (const Pool& pool : kPools) {
      if (pool.bits == own->bits) as_wide.push_back(&pool);
    }
    return as_wide[random_.below(as_wide.size())];
  }

  RandomProgram& program_;
  Random random_;
  Drawer drawer_;
};

RandomProgram::RandomProgram(std::uint64_t seed)
    : seed_(seed), open_(Random(seed, "open").below(1000) == 0) {
  Generator(*this, seed).run();
}

std::size_t RandomProgram::words() {
  std::size_t count = 0;
  for (const Pool& pool : kPools) count += pool.count;
  return count;
}

std::string RandomProgram::register_name(std::size_t word) {
  for (const Pool& pool : kPools) {
    if (word < pool.count) return fmt::format("%{}{}", pool.name, word);
    word -= pool.count;
  }
  return "?";
}

std::vector<std::uint64_t> RandomProgram::inputs(std::uint32_t threads) const {
  Drawer drawer(seed_, "inputs");
  std::vector<std::uint64_t> words;
  for (const Pool& pool : kPools) {
    for (std::size_t i = 0; i < pool.count * threads; ++i) words.push_back(drawer.draw(pool.drawn));
  }
  return words;
}

void RandomProgram::emit(const std::vector<Statement>& body, const Emission& emission,
                         std::string& out) const {
  for (const Statement& each : body) {
    if (emission.without.contains(each.id)) continue;
    switch (each.kind) {
      case Statement::Kind::instruction:
        out += "  " + each.text + '\n';
        if (emission.canonical_nan) out += each.canonical;
        break;
      case Statement::Kind::branch: {
        const bool negated = each.guard.starts_with('!');
        std::string guard = negated ? each.guard.substr(1) : each.guard;
        if (!open_) {
          out += fmt::format(
              "  selp.b32 %m32, 1, 0, {}; xor.b32 %m32, %m32, %zero32; setp.ne.b32 %p0, %m32, "
              "0;\n",
              guard);
          guard = "%p0";
        }
        out += fmt::format("  @{}{} bra $else{};\n", negated ? "" : "!", guard, each.id);
        emit(each.then, emission, out);
        if (!each.otherwise.empty()) out += fmt::format("  bra $end{};\n", each.id);
        out += fmt::format("$else{}:\n", each.id);
        emit(each.otherwise, emission, out);
        if (!each.otherwise.empty()) out += fmt::format("$end{}:\n", each.id);
        break;
      }
      case Statement::Kind::loop:
        // The count is taken before the loop: at most three times.
        if (each.guard.starts_with('%')) {
          out += fmt::format("  and.b32 %c{}, {}, 3;\n", each.id, each.guard);
        } else {
          out += fmt::format("  mov.b32 %c{}, {};\n", each.id, each.guard);
        }
        out +=
            fmt::format("$loop{0}:\n  setp.eq.u32 %p1, %c{0}, 0;\n  @%p1 bra $done{0};\n", each.id);
        emit(each.then, emission, out);
        out += fmt::format("  sub.u32 %c{0}, %c{0}, 1;\n  bra $loop{0};\n$done{0}:\n", each.id);
        break;
    }
  }
}

std::string RandomProgram::text(const Emission& emission) const {
  std::string out;
  emit(body_, emission, out);
  return out;
}

std::string RandomProgram::entry(const std::string& name, std::uint32_t threads,
                                 const Emission& emission) const {
  std::string out = fmt::format(
      ".visible .entry {0}(.param .u64 {0}_in, .param .u64 {0}_out)\n{{\n"
      "  .reg .b64 %in, %out, %offset, %w;\n  .reg .b32 %i, %t0, %t1, %half;\n"
      "  .reg .pred %p0, %p1;\n  .reg .b32 %c<{1}>;\n"
      "  .reg .b16 %low, %high, %m16, %zero16, %s16_<4>;\n"
      "  .reg .b32 %m32, %zero32, %s32_<4>;\n  .reg .b64 %m64, %zero64, %s64_<4>;\n",
      name, statements_ + 1);
  for (const Pool& pool : kPools) {
    out += fmt::format("  .reg .{} %{}<{}>;\n",
                       pool.bits == 1 ? "pred" : "b" + std::to_string(pool.bits), pool.name,
                       pool.count);
  }
  out += fmt::format(
      "  ld.param.u64 %in, [{0}_in];\n  ld.param.u64 %out, [{0}_out];\n"
      "  mov.u32 %t0, %ctaid.x;\n  mov.u32 %t1, %ntid.x;\n  mov.u32 %i, %tid.x;\n"
      "  mad.lo.u32 %i, %t0, %t1, %i;\n  mul.wide.u32 %offset, %i, 8;\n"
      "  add.u64 %in, %in, %offset;\n  add.u64 %out, %out, %offset;\n"
      // The address is even, which a compiler does not know.
      "  cvt.u32.u64 %zero32, %in;\n  and.b32 %zero32, %zero32, 1;\n"
      "  cvt.u16.u32 %zero16, %zero32;\n  cvt.u64.u32 %zero64, %zero32;\n",
      name);
  std::string stores;
  std::size_t word = 0;
  for (const Pool& pool : kPools) {
    for (std::size_t k = 0; k < pool.count; ++k, ++word) {
      const std::string reg = fmt::format("%{}{}", pool.name, k);
      const std::size_t at = std::size_t{8} * word * threads;
      if (pool.bits == 1) {
        out +=
            fmt::format("  ld.global.b32 %half, [%in+{}];\n  setp.ne.b32 {}, %half, 0;\n", at, reg);
        stores += fmt::format(
            "  selp.b32 %half, 1, 0, {};\n  cvt.u64.u32 %w, %half;\n  st.global.b64 [%out+{}], "
            "%w;\n",
            reg, at);
        continue;
      }
      out += fmt::format("  ld.global.b{} {}, [%in+{}];\n", pool.bits, reg, at);
      if (pool.bits == 64) {
        stores += fmt::format("  st.global.b64 [%out+{}], {};\n", at, reg);
      } else {
        stores += fmt::format("  cvt.u64.u{} %w, {};\n  st.global.b64 [%out+{}], %w;\n", pool.bits,
                              reg, at);
      }
    }
  }
  emit(body_, emission, out);
  return out + stores + "  ret;\n}\n";
}

std::vector<std::string> RandomProgram::mnemonics() {
  std::set<std::string> found;
  for (const bool video : {false, true}) {
    for (const auto& its_forms : opcodes(video)) {
      for (const Form* form : its_forms) {
        for (std::string& mnemonic : vectors::mnemonics(*form)) found.insert(std::move(mnemonic));
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace bitgate::machine::vectors
