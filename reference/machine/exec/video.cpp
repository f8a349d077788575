#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// Video instructions, scalar and SIMD (PTX ISA 9.7.18). Operands are parts of registers, extended
// by the sign of their type; results are clamped, combined with a third operand or merged into it.
//
// No GPU since Maxwell has the scalar ones: ptxas writes them out, and not always as PTX says. What
// an H200 then gives (measured, ptxas 13.0): an unclamped result has 32 bits, not 33; min and max
// with an unsigned c read it as unsigned even where it is negative; .sat into the part .h1 merges
// 0. .sat into the other parts and vshl with .sat follow no rule found so far; vshl.min gave the
// greater of the two in one program and the lesser in another. These are unsupported.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

enum class Operation : std::uint8_t { add, sub, absdiff, min, max, avrg, shl, shr, mad, set };
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge };
enum class Second : std::uint8_t { none, add, min, max };

constexpr std::string_view kCompareNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};

bool holds(Compare compare, std::int64_t a, std::int64_t b) {
  switch (compare) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a != b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
  }
  return false;
}

/// Operations that scalar and SIMD instructions share.
std::int64_t apply(Operation operation, Compare compare, std::int64_t a, std::int64_t b) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::sub:
      return a - b;
    case Operation::absdiff:
      return a < b ? b - a : a - b;
    case Operation::min:
      return std::min(a, b);
    case Operation::max:
      return std::max(a, b);
    case Operation::avrg:
      // Half way between two integers goes away from zero.
      return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case Operation::set:
      return holds(compare, a, b) ? 1 : 0;
    case Operation::shl:
    case Operation::shr:
    case Operation::mad:
      break;
  }
  return 0;
}

std::int64_t extended(U32 bits, unsigned width, bool is_signed) {
  const U64 kept = bits & ((U64{1} << width) - 1);
  const U64 sign = is_signed ? U64{1} << (width - 1) : 0;
  return static_cast<std::int64_t>((kept ^ sign) - sign);
}

std::int64_t clamped(std::int64_t v, unsigned width, bool is_signed) {
  const std::int64_t most = (std::int64_t{1} << (is_signed ? width - 1 : width)) - 1;
  return std::clamp(v, is_signed ? -most - 1 : std::int64_t{0}, most);
}

/// A byte, a half or the whole of a register.
struct Part {
  unsigned shift = 0;
  unsigned width = 32;
};
constexpr std::array<Part, 7> kParts{
    {{0, 32}, {0, 8}, {8, 8}, {16, 8}, {24, 8}, {0, 16}, {16, 16}}};
constexpr std::uint8_t kUpperHalf = 6;

std::uint8_t part_named(std::string_view component) {
  constexpr std::string_view kNames[] = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), component);
  if (found == std::end(kNames)) throw Unsupported("a part of a register that is not one of its");
  return static_cast<std::uint8_t>(found - std::begin(kNames));
}

U32 merged(U32 value, U32 into, const Part& part) {
  const U32 field = static_cast<U32>(((U64{1} << part.width) - 1) << part.shift);
  return (value << part.shift & field) | (into & ~field);
}

/// A scalar instruction, in Op::immediate.
struct Scalar {
  enum Flags : std::uint8_t {
    signed_result = 1,
    signed_a = 2,
    signed_b = 4,
    saturates = 8,
    wraps = 16,     ///< vshl, vshr: .wrap
    plus_one = 32,  ///< vmad.po
    minus_ab = 64,  ///< vmad: the product is negated
    minus_c = 128
  };
  Operation operation = Operation::add;
  std::uint8_t flags = 0;
  Second second = Second::none;
  Compare compare = Compare::eq;
  std::uint8_t part_d = 0;
  std::uint8_t part_a = 0;
  std::uint8_t part_b = 0;
  std::uint8_t scale = 0;  ///< vmad: bits that the sum is shifted right by

  bool has(Flags flag) const { return (flags & flag) != 0; }
};

std::int64_t shifted(const Scalar& s, std::int64_t a, U32 amount) {
  const unsigned n = s.has(Scalar::wraps) ? amount & 31U : std::min(amount, 32U);
  return s.operation == Operation::shl ? static_cast<std::int64_t>(static_cast<U64>(a) << n)
                                       : a >> n;
}

/// The product and sum fit 66 bits. Whatever the types say, ptxas 13.0 multiplies and adds signed
/// 32-bit numbers (IMAD.WIDE in its SASS); .shr7, .shr15 and .sat show it. Measured of an unsigned
/// c with .shr7.
U32 multiply_add(const Scalar& s, std::int64_t a, std::int64_t b, U32 c_bits) {
  __extension__ using Wide = __int128;
  const bool is_signed = s.has(Scalar::signed_a) || s.has(Scalar::signed_b) ||
                         s.has(Scalar::minus_ab) || s.has(Scalar::minus_c);
  Wide c = extended(c_bits, 32, true);
  Wide product = static_cast<Wide>(static_cast<std::int32_t>(a)) * static_cast<std::int32_t>(b);
  if (s.has(Scalar::minus_ab)) product = -product;
  if (s.has(Scalar::minus_c)) c = -c;
  const Wide sum = (product + c + (s.has(Scalar::plus_one) ? 1 : 0)) >> s.scale;
  if (!s.has(Scalar::saturates)) return static_cast<U32>(sum);
  const Wide most = is_signed ? 0x7fffffff : 0xffffffffLL;
  const Wide least = is_signed ? -most - 1 : 0;
  return static_cast<U32>(std::clamp(sum, least, most));
}

U32 evaluate(const Scalar& s, U32 a_bits, U32 b_bits, U32 c_bits) {
  const auto operand = [](U32 bits, const Part& part, bool is_signed) {
    return extended(bits >> part.shift, part.width, is_signed);
  };
  const std::int64_t a = operand(a_bits, kParts[s.part_a], s.has(Scalar::signed_a));
  const std::int64_t b = operand(b_bits, kParts[s.part_b], s.has(Scalar::signed_b));
  if (s.operation == Operation::mad) return multiply_add(s, a, b, c_bits);
  const bool shifts = s.operation == Operation::shl || s.operation == Operation::shr;
  std::int64_t value =
      shifts ? shifted(s, a, static_cast<U32>(b)) : apply(s.operation, s.compare, a, b);
  const bool is_signed = s.has(Scalar::signed_result);
  if (!s.has(Scalar::saturates)) {
    // Measured: a second operation compares sums and differences as signed 32-bit numbers, whatever
    // the types, and everything else as it is.
    if (s.operation == Operation::add || s.operation == Operation::sub || shifts) {
      value = extended(static_cast<U32>(value), 32, !shifts || s.has(Scalar::signed_a));
    }
  } else {
    value = s.part_d == kUpperHalf ? 0 : clamped(value, 32, is_signed);
  }
  const std::int64_t c = extended(c_bits, 32, is_signed);
  const bool less = is_signed ? value < c : static_cast<U64>(value) < static_cast<U64>(c);
  switch (s.second) {
    case Second::none:
      break;
    case Second::add:
      value += c;
      break;
    case Second::min:
      value = less ? value : c;
      break;
    case Second::max:
      value = less ? c : value;
      break;
  }
  return merged(static_cast<U32>(value), c_bits, kParts[s.part_d]);
}

/// A SIMD instruction, in Op::immediate. Its selectors number the elements of a, then of b.
struct Simd {
  enum Flags : std::uint8_t {
    signed_result = 1,
    signed_a = 2,
    signed_b = 4,
    saturates = 8,
    accumulates = 16,
    four = 32  ///< elements of a byte; else two of 16 bits
  };
  Operation operation = Operation::add;
  std::uint8_t flags = 0;
  Compare compare = Compare::eq;
  std::uint8_t mask = 0;       ///< elements that are computed
  std::uint16_t select_a = 0;  ///< four bits an element, the lowest first
  std::uint16_t select_b = 0;

  bool has(Flags flag) const { return (flags & flag) != 0; }
};

U32 evaluate(const Simd& s, U32 a, U32 b, U32 c) {
  const unsigned count = s.has(Simd::four) ? 4 : 2;
  const unsigned width = 32 / count;
  const U64 pool = static_cast<U64>(b) << 32 | a;
  const auto element = [&](U32 selectors, unsigned i, bool is_signed) {
    const U32 index = selectors >> (4 * i) & 15U;
    return extended(static_cast<U32>(pool >> (width * index)), width, is_signed);
  };
  U32 result = c;
  for (unsigned i = 0; i < count; ++i) {
    if ((s.mask >> i & 1U) == 0) continue;
    std::int64_t value =
        apply(s.operation, s.compare, element(s.select_a, i, s.has(Simd::signed_a)),
              element(s.select_b, i, s.has(Simd::signed_b)));
    if (s.has(Simd::saturates)) value = clamped(value, width, s.has(Simd::signed_result));
    result = s.has(Simd::accumulates) ? result + static_cast<U32>(value)
                                      : merged(static_cast<U32>(value), result, {width * i, width});
  }
  return result;
}

/// `Form` is Scalar or Simd.
template <class Form>
void run(Context& x, const Op& op) {
  const auto form = std::bit_cast<Form>(op.immediate);
  const U32* a = x.lanes32(op.a);
  const U32* b = x.lanes32(op.b);
  const U32* c = x.lanes32(op.c);
  U32* d = x.lanes32(op.d);
  each_lane(x.active,
            [&](std::size_t lane) { d[lane] = evaluate(form, a[lane], b[lane], c[lane]); });
}

struct Named {
  std::string_view name;
  Operation operation;
};
constexpr Named kOperations[] = {
    {"vadd", Operation::add}, {"vsub", Operation::sub}, {"vabsdiff", Operation::absdiff},
    {"vmin", Operation::min}, {"vmax", Operation::max}, {"vavrg", Operation::avrg},
    {"vshl", Operation::shl}, {"vshr", Operation::shr}, {"vmad", Operation::mad},
    {"vset", Operation::set},
};
Operation operation_named(std::string_view opcode) {
  for (const Named& row : kOperations) {
    if (row.name == opcode) return row.operation;
  }
  throw Unsupported("no video instruction of that name");
}

bool is_signed_type(std::string_view type) {
  if (type != "u32" && type != "s32") throw Unsupported("video types are .u32 and .s32");
  return type == "s32";
}

Compare compare_of(const InstructionBuilder& builder) {
  for (std::size_t i = 0; i < std::size(kCompareNames); ++i) {
    if (builder.has(kCompareNames[i])) return static_cast<Compare>(i);
  }
  throw Unsupported("vset without a comparison");
}

/// The types in order: result, a, b; vset has no result type and is unsigned.
struct Types {
  bool d = false;
  bool a = false;
  bool b = false;
};
Types types_of(const InstructionBuilder& builder, Operation operation) {
  if (operation == Operation::set) {
    return {false, is_signed_type(builder.modifier(0)), is_signed_type(builder.modifier(1))};
  }
  return {is_signed_type(builder.modifier(0)), is_signed_type(builder.modifier(1)),
          is_signed_type(builder.modifier(2))};
}

void use_operands(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  builder.use(&Op::a, builder.operand(1), Kind::b32);
  builder.use(&Op::b, builder.operand(2), Kind::b32);
  if (builder.count() > 4) throw Unsupported("a video instruction with more than four operands");
  if (builder.count() == 4) {
    builder.use(&Op::c, builder.operand(3), Kind::b32);
  } else {
    builder.use_constant(&Op::c, Kind::b32, 0);
  }
}

void decode_scalar(InstructionBuilder& builder) {
  Scalar s;
  s.operation = operation_named(builder.text.opcode);
  const Types types = types_of(builder, s.operation);
  const auto set = [&](Scalar::Flags flag, bool on) {
    if (on) s.flags = static_cast<std::uint8_t>(s.flags | flag);
  };
  set(Scalar::signed_result, types.d);
  set(Scalar::signed_a, types.a);
  set(Scalar::signed_b, types.b);
  set(Scalar::saturates, builder.has("sat"));
  set(Scalar::wraps, builder.has("wrap"));
  set(Scalar::plus_one, builder.has("po"));
  s.part_d = part_named(builder.operand(0).component);
  s.part_a = part_named(builder.operand(1).component);
  s.part_b = part_named(builder.operand(2).component);
  const bool merges = s.part_d != 0;
  s.second = builder.has("add")   ? Second::add
             : builder.has("min") ? Second::min
             : builder.has("max") ? Second::max
                                  : Second::none;
  if (s.has(Scalar::saturates) &&
      ((merges && s.part_d != kUpperHalf) || s.operation == Operation::shl)) {
    throw Unsupported("ptxas translates this .sat otherwise than PTX says");
  }
  if (s.operation == Operation::shl && (builder.has("min") || builder.has("max"))) {
    throw Unsupported("ptxas translates this second operation in two ways");
  }
  if (s.operation == Operation::set) s.compare = compare_of(builder);
  if (s.operation == Operation::mad) {
    set(Scalar::minus_ab, builder.operand(1).minus != builder.operand(2).minus);
    set(Scalar::minus_c, builder.operand(3).minus);
    s.scale = builder.has("shr7") ? 7 : builder.has("shr15") ? 15 : 0;
  } else if ((merges || s.second != Second::none) != (builder.count() == 4) ||
             (merges && s.second != Second::none)) {
    throw Unsupported("a third operand belongs to a second operation or to a part of d");
  }
  use_operands(builder);
  builder.op.immediate = std::bit_cast<std::int64_t>(s);
  builder.op.full = &run<Scalar>;
  builder.op.masked = &run<Scalar>;
}

/// Digits of "h10" or "b3210", the highest element first; `otherwise` where there is no component.
std::uint16_t selectors(const std::string& component, char letter, unsigned count,
                        std::string_view otherwise) {
  std::string_view digits = otherwise;
  if (!component.empty()) {
    if (component[0] != letter) throw Unsupported("a selector of another width");
    digits = std::string_view(component).substr(1);
  }
  if (digits.size() != count) throw Unsupported("a selector names every element");
  U32 result = 0;
  for (const char digit : digits) {
    const U32 index = static_cast<U32>(digit - '0');
    if (index >= 2 * count) throw Unsupported("a selector beyond the elements");
    result = result << 4 | index;
  }
  return static_cast<std::uint16_t>(result);
}

void decode_simd(InstructionBuilder& builder) {
  Simd s;
  const std::string& opcode = builder.text.opcode;
  const bool four = opcode.back() == '4';
  const unsigned count = four ? 4 : 2;
  s.operation = operation_named(std::string_view(opcode).substr(0, opcode.size() - 1));
  const Types types = types_of(builder, s.operation);
  const auto set = [&](Simd::Flags flag, bool on) {
    if (on) s.flags = static_cast<std::uint8_t>(s.flags | flag);
  };
  set(Simd::signed_result, types.d);
  set(Simd::signed_a, types.a);
  set(Simd::signed_b, types.b);
  set(Simd::saturates, builder.has("sat"));
  set(Simd::accumulates, builder.has("add"));
  set(Simd::four, four);
  if (s.operation == Operation::set) s.compare = compare_of(builder);
  const char letter = four ? 'b' : 'h';
  s.select_a = selectors(builder.operand(1).component, letter, count, four ? "3210" : "10");
  s.select_b = selectors(builder.operand(2).component, letter, count, four ? "7654" : "32");
  const std::string& mask = builder.operand(0).component;
  if (mask.empty()) {
    s.mask = static_cast<std::uint8_t>((1U << count) - 1);
  } else {
    if (mask[0] != letter) throw Unsupported("a mask of another width");
    for (const char digit : mask.substr(1)) {
      const unsigned element = static_cast<unsigned>(digit - '0');
      if (element >= count) throw Unsupported("a mask beyond the elements");
      s.mask = static_cast<std::uint8_t>(s.mask | 1U << element);
    }
  }
  if (builder.count() != 4) throw Unsupported("a SIMD video instruction has three sources");
  use_operands(builder);
  builder.op.immediate = std::bit_cast<std::int64_t>(s);
  builder.op.full = &run<Simd>;
  builder.op.masked = &run<Simd>;
}

}  // namespace

[[gnu::cold]] void add_video_rows(DecodeTable& table) {
  for (const char* name : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    const std::string opcode = name;
    table.decoder(opcode, &decode_scalar);
    const std::string types = ".{u32,s32}.{u32,s32}.{u32,s32}";
    table.forms(opcode, {opcode + types + "{,.sat}{,.add,.min,.max}"});
  }
  table.decoder("vshl", &decode_scalar);
  table.forms("vshl", {"vshl.{u32,s32}.{u32,s32}.u32.{clamp,wrap}{,.add}"});
  table.unsupported("vshl.{u32,s32}.{u32,s32}.u32.{clamp,wrap}{.min,.max}",
                    "ptxas translates this second operation in two ways");
  table.unsupported("vshl.{u32,s32}.{u32,s32}.u32.sat.{clamp,wrap}{,.add,.min,.max}",
                    "ptxas translates this .sat otherwise than PTX says");
  table.decoder("vshr", &decode_scalar);
  table.forms("vshr", {"vshr.{u32,s32}.{u32,s32}.u32{,.sat}.{clamp,wrap}{,.add,.min,.max}"});
  table.decoder("vmad", &decode_scalar);
  table.forms("vmad", {"vmad.{u32,s32}.{u32,s32}.{u32,s32}{,.po}{,.sat}{,.shr7,.shr15}"});
  table.decoder("vset", &decode_scalar);
  table.forms("vset", {"vset.{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}{,.add,.min,.max}"});
  for (const char* lanes : {"2", "4"}) {
    for (const char* name : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
      const std::string opcode = std::string(name) + lanes;
      table.decoder(opcode, &decode_simd);
      table.forms(opcode, {opcode + ".{u32,s32}.{u32,s32}.{u32,s32}{,.sat,.add}"});
    }
    const std::string opcode = std::string("vset") + lanes;
    table.decoder(opcode, &decode_simd);
    table.forms(opcode, {opcode + ".{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}{,.add}"});
  }
}

}  // namespace bitgate::machine
