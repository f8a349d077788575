#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"

// set, setp, selp, slct, testp (PTX ISA 9.7.5, 9.7.6) and their half forms.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;

enum class Test : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

/// Unordered operands make the plain tests false and those ending in u true.
template <Test T, class Value>
constexpr bool test(Value a, Value b) {
  switch (T) {
    case Test::eq:
      return a == b;
    case Test::ne:
      return a < b || a > b;
    case Test::lt:
      return a < b;
    case Test::le:
      return a <= b;
    case Test::gt:
      return a > b;
    case Test::ge:
      return a >= b;
    case Test::equ:
      return !(a < b || a > b);
    case Test::neu:
      return a != b;
    case Test::ltu:
      return !(a >= b);
    case Test::leu:
      return !(a > b);
    case Test::gtu:
      return !(a <= b);
    case Test::geu:
      return !(a < b);
    case Test::num:
      return a <= b || a > b;
    case Test::nan:
      return !(a <= b || a > b);
  }
  return false;
}

// How the operands of a type are read.
template <class T>
struct Plain {
  using Lane = Stored<T>;
  static T read(Lane bits) { return from_lane<T>(bits); }
};
struct Flushed {
  using Lane = U32;
  static float read(Lane bits) { return flush(std::bit_cast<float>(bits)); }
};
template <class Half, bool High, bool Flush>
struct HalfElement {
  using Lane = U32;
  static float read(Lane bits) {
    const Half h{static_cast<std::uint16_t>(High ? bits >> 16 : bits)};
    const float v = numeric::to_float(h);
    if constexpr (Flush)
      return v > -0x1p-14F && v < 0x1p-14F
                 ? std::bit_cast<float>(std::bit_cast<U32>(v) & 0x80000000U)
                 : v;
    return v;
  }
};

/// One bit a lane. Inactive lanes compare what they hold; the caller drops their bits.
using Comparison = U32 (*)(const Context&, const Op&);

template <Test T, class Read>
U32 compare(const Context& x, const Op& op) {
  using Lane = typename Read::Lane;
  const auto* a = reinterpret_cast<const Lane*>(x.registers + op.a);
  const auto* b = reinterpret_cast<const Lane*>(x.registers + op.b);
  Lane result = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const bool holds = test<T>(Read::read(a[lane]), Read::read(b[lane]));
    if constexpr (sizeof(Lane) == 8) {
      result |= holds ? kLaneBit64[lane] : 0U;
    } else {
      result |= holds ? kLaneBit[lane] : 0U;
    }
  }
  return static_cast<U32>(result);
}

struct Chosen {
  Comparison comparison = nullptr;
  Handler setp = nullptr;  ///< one predicate, no combination
};

template <Test T, class Read>
void setp(Context& x, const Op& op) {
  store_predicate(x, op.d, compare<T, Read>(x, op));
}

template <Test T, class Read>
Chosen chosen() {
  return {&compare<T, Read>, &setp<T, Read>};
}

template <class Read>
Chosen choose_any(std::string_view name) {
  if (name == "eq") return chosen<Test::eq, Read>();
  if (name == "ne") return chosen<Test::ne, Read>();
  if (name == "lt" || name == "lo") return chosen<Test::lt, Read>();
  if (name == "le" || name == "ls") return chosen<Test::le, Read>();
  if (name == "gt" || name == "hi") return chosen<Test::gt, Read>();
  if (name == "ge" || name == "hs") return chosen<Test::ge, Read>();
  throw Unsupported("the comparison is not one of its type");
}

template <class Read>
Chosen choose_float(std::string_view name) {
  if (name == "equ") return chosen<Test::equ, Read>();
  if (name == "neu") return chosen<Test::neu, Read>();
  if (name == "ltu") return chosen<Test::ltu, Read>();
  if (name == "leu") return chosen<Test::leu, Read>();
  if (name == "gtu") return chosen<Test::gtu, Read>();
  if (name == "geu") return chosen<Test::geu, Read>();
  if (name == "num") return chosen<Test::num, Read>();
  if (name == "nan") return chosen<Test::nan, Read>();
  return choose_any<Read>(name);
}

/// `high` asks for the upper element of a packed type.
Chosen choose(std::string_view test_name, std::string_view type, bool flushes, bool high) {
  using numeric::BFloat16;
  using numeric::Half;
  if (type == "u32" || type == "b32") return choose_any<Plain<U32>>(test_name);
  if (type == "s32") return choose_any<Plain<std::int32_t>>(test_name);
  if (type == "u64" || type == "b64") return choose_any<Plain<std::uint64_t>>(test_name);
  if (type == "s64") return choose_any<Plain<std::int64_t>>(test_name);
  if (type == "u16" || type == "b16") return choose_any<Plain<std::uint16_t>>(test_name);
  if (type == "s16") return choose_any<Plain<std::int16_t>>(test_name);
  if (type == "f32") {
    return flushes ? choose_float<Flushed>(test_name) : choose_float<Plain<float>>(test_name);
  }
  if (type == "f64") return choose_float<Plain<double>>(test_name);
  if (type == "f16" || type == "f16x2") {
    if (flushes) {
      return high ? choose_float<HalfElement<Half, true, true>>(test_name)
                  : choose_float<HalfElement<Half, false, true>>(test_name);
    }
    return high ? choose_float<HalfElement<Half, true, false>>(test_name)
                : choose_float<HalfElement<Half, false, false>>(test_name);
  }
  if (type == "bf16" || type == "bf16x2") {
    return high ? choose_float<HalfElement<BFloat16, true, false>>(test_name)
                : choose_float<HalfElement<BFloat16, false, false>>(test_name);
  }
  throw Unsupported("comparison of an unknown type");
}

enum class Combine : std::uint8_t { none, land, lor, lxor };

Combine combine_named(std::string_view name) {
  if (name == "and") return Combine::land;
  if (name == "or") return Combine::lor;
  if (name == "xor") return Combine::lxor;
  return Combine::none;
}

U32 combined(Combine how, U32 t, U32 c) {
  switch (how) {
    case Combine::land:
      return t & c;
    case Combine::lor:
      return t | c;
    case Combine::lxor:
      return t ^ c;
    case Combine::none:
      break;
  }
  return t;
}

Comparison comparison_at(const Context& x, const Op& op, U32 index) {
  const auto& lists = x.state->code->lists;
  const std::uint64_t low = lists[op.list + 2 * index];
  const std::uint64_t high = lists[op.list + 2 * index + 1];
  return std::bit_cast<Comparison>(high << 32 | low);
}

void list_comparison(InstructionBuilder& builder, Comparison comparison) {
  const auto bits = std::bit_cast<std::uint64_t>(comparison);
  builder.list_raw(static_cast<U32>(bits));
  builder.list_raw(static_cast<U32>(bits >> 32));
}

U32 third_source(const Context& x, const Op& op) {
  return x.predicate(op.c) ^ ((op.flip & 4U) != 0 ? kAllLanes : 0U);
}

// p = t op c, q = !t op c.
void setp_general(Context& x, const Op& op) {
  const auto how = static_cast<Combine>(op.extra & 3U);
  const U32 c = third_source(x, op);
  const U32 t = comparison_at(x, op, 0)(x, op);
  const U32 p = combined(how, t, c);
  const U32 q = combined(how, ~t, c);
  store_predicate(x, op.d, p);
  store_predicate(x, op.e, q);
}

// Packed halves: p from the lower elements, q from the upper ones.
void setp_packed(Context& x, const Op& op) {
  const auto how = static_cast<Combine>(op.extra & 3U);
  const U32 c = third_source(x, op);
  const U32 p = combined(how, comparison_at(x, op, 0)(x, op), c);
  const U32 q = combined(how, comparison_at(x, op, 1)(x, op), c);
  store_predicate(x, op.d, p);
  store_predicate(x, op.e, q);
}

bool is_packed(std::string_view type) { return type.ends_with("x2"); }

void decode_setp(InstructionBuilder& builder) {
  // setp.CmpOp{.BoolOp}{.ftz}.type p{|q}, a, b{, {!}c}
  const std::string& type =
      builder.text.modifiers.empty() ? builder.modifier(0) : builder.text.modifiers.back();
  const Chosen low = choose(builder.modifier(0), type, builder.has("ftz"), false);
  const Combine how = combine_named(builder.modifier(1));
  const ptx::Operand& destination = builder.operand(0);
  const bool pair = destination.kind == ptx::Operand::Kind::pair;
  const Kind kind = register_kind(type);
  const Immediates immediates = type == "f32"   ? Immediates::f32
                                : type == "f64" ? Immediates::f64
                                                : Immediates::integer;
  builder.use(&Op::a, builder.operand(1), kind, immediates);
  builder.use(&Op::b, builder.operand(2), kind, immediates);
  builder.op.extra = static_cast<std::uint8_t>(how);
  if (!pair && how == Combine::none && !is_packed(type)) {
    builder.define(&Op::d, destination, Kind::predicate);
    builder.op.full = low.setp;
    builder.op.masked = low.setp;
    return;
  }
  if (pair) {
    if (destination.elements.size() != 2) throw Unsupported("a pair of predicates was expected");
    builder.define(&Op::d, destination.elements[0], Kind::predicate);
    builder.define(&Op::e, destination.elements[1], Kind::predicate);
  } else {
    ptx::Operand sink;
    sink.kind = ptx::Operand::Kind::sink;
    builder.define(&Op::d, destination, Kind::predicate);
    builder.define(&Op::e, sink, Kind::predicate);
  }
  if (how == Combine::none) {
    builder.use_constant(&Op::c, Kind::predicate, kAllLanes);
  } else {
    builder.use(&Op::c, builder.operand(3), Kind::predicate, Immediates::integer, 2);
  }
  builder.begin_list();
  list_comparison(builder, low.comparison);
  if (is_packed(type)) {
    list_comparison(builder,
                    choose(builder.modifier(0), type, builder.has("ftz"), true).comparison);
  }
  builder.op.full = is_packed(type) ? &setp_packed : &setp_general;
  builder.op.masked = builder.op.full;
}

/// set: Op::immediate is the value of true; packed results have one in each half.
void set_value(Context& x, const Op& op) {
  const auto how = static_cast<Combine>(op.extra & 3U);
  const U32 t = combined(how, comparison_at(x, op, 0)(x, op), third_source(x, op));
  U32* d = x.lanes32(op.d);
  each_lane(x.active, [&](std::size_t lane) {
    d[lane] = (t >> lane & 1U) != 0 ? static_cast<U32>(op.immediate) : 0U;
  });
}

void set_packed(Context& x, const Op& op) {
  const auto how = static_cast<Combine>(op.extra & 3U);
  const U32 c = third_source(x, op);
  const U32 low = combined(how, comparison_at(x, op, 0)(x, op), c);
  const U32 high = combined(how, comparison_at(x, op, 1)(x, op), c);
  const auto one = static_cast<U32>(op.immediate);
  U32* d = x.lanes32(op.d);
  each_lane(x.active, [&](std::size_t lane) {
    d[lane] = ((low >> lane & 1U) != 0 ? one : 0U) | ((high >> lane & 1U) != 0 ? one << 16 : 0U);
  });
}

void decode_set(InstructionBuilder& builder) {
  // set.CmpOp{.BoolOp}{.ftz}.dtype.stype d, a, b{, {!}c}
  const auto& modifiers = builder.text.modifiers;
  if (modifiers.size() < 3) throw Unsupported("set without its types");
  const std::string& to = modifiers[modifiers.size() - 2];
  const std::string& from = modifiers.back();
  if (to == "u32" || to == "s32") {
    builder.op.immediate = 0xffffffffLL;
  } else if (to == "f32") {
    builder.op.immediate = 0x3f800000;
  } else if (to == "f16" || to == "f16x2") {
    builder.op.immediate = 0x3c00;
  } else if (to == "bf16" || to == "bf16x2") {
    builder.op.immediate = 0x3f80;
  } else if (to == "u16" || to == "s16") {
    builder.op.immediate = 0xffff;
  } else {
    throw Unsupported("set to that type");
  }
  const bool packed = is_packed(from);
  // A packed comparison into u32 gives all ones in each half, as into two u16.
  if (packed && builder.op.immediate == 0xffffffffLL) builder.op.immediate = 0xffff;
  const Kind kind = register_kind(from);
  const Immediates immediates = from == "f32"   ? Immediates::f32
                                : from == "f64" ? Immediates::f64
                                                : Immediates::integer;
  const Combine how = combine_named(builder.modifier(1));
  builder.op.extra = static_cast<std::uint8_t>(how);
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  builder.use(&Op::a, builder.operand(1), kind, immediates);
  builder.use(&Op::b, builder.operand(2), kind, immediates);
  if (how == Combine::none) {
    builder.use_constant(&Op::c, Kind::predicate, kAllLanes);
  } else {
    builder.use(&Op::c, builder.operand(3), Kind::predicate, Immediates::integer, 2);
  }
  builder.begin_list();
  for (const bool high : {false, true}) {
    if (high && !packed) break;
    list_comparison(builder,
                    choose(builder.modifier(0), from, builder.has("ftz"), high).comparison);
  }
  builder.op.full = packed ? &set_packed : &set_value;
  builder.op.masked = builder.op.full;
}

template <bool Masked, class T>
void selp(Context& x, const Op& op) {
  using Lane = Stored<T>;
  auto* d = reinterpret_cast<Lane*>(x.registers + op.d);
  const auto* a = reinterpret_cast<const Lane*>(x.registers + op.a);
  const auto* b = reinterpret_cast<const Lane*>(x.registers + op.b);
  const U32 p = third_source(x, op);
  const U32* mask = x.lane_mask.data();
  BITGATE_LANE_LOOP
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    // Immediates of 16 bits come with their sign.
    const Lane value = to_lane<T>(from_lane<T>((p & kLaneBit[lane]) != 0 ? a[lane] : b[lane]));
    if constexpr (Masked) {
      d[lane] = mask[lane] != 0 ? value : d[lane];
    } else {
      d[lane] = value;
    }
  }
}

template <class T>
[[gnu::cold]] void selp_rows(DecodeTable& table, std::initializer_list<const char*> types) {
  for (const char* type : types) {
    DecodeTable::Row row;
    row.mnemonic = std::string("selp.") + type;
    row.operands = {kind_of<T>(), kind_of<T>(), kind_of<T>(), Kind::predicate};
    row.full = &selp<false, T>;
    row.masked = &selp<true, T>;
    if (std::string_view(type) == "f32" || std::string_view(type) == "f64") row.type = type;
    table.add(row);
  }
}

template <class T>
[[gnu::cold]] void slct_rows(DecodeTable& table, std::initializer_list<const char*> types) {
  for (const char* type : types) {
    const std::string prefix = std::string("slct.") + type;
    const std::string flushed = std::string("slct.ftz.") + type;
    table.add(lanes<[](T a, T b, std::int32_t c) -> T { return c < 0 ? b : a; }>(prefix + ".s32"));
    // −0 selects a, NaN selects b.
    table.add(lanes<[](T a, T b, float c) -> T { return 0.0F <= c ? a : b; }>(prefix + ".f32"));
    table.add(
        lanes<[](T a, T b, float c) -> T { return 0.0F <= flush(c) ? a : b; }>(flushed + ".f32"));
  }
}

enum class Property : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };

template <Property P, class Bits>
constexpr bool property(Bits v) {
  constexpr Bits infinity =
      sizeof(Bits) == 4 ? static_cast<Bits>(0x7f800000U) : static_cast<Bits>(0x7ff0000000000000ULL);
  constexpr Bits smallest =
      sizeof(Bits) == 4 ? static_cast<Bits>(0x00800000U) : static_cast<Bits>(0x0010000000000000ULL);
  const Bits magnitude = static_cast<Bits>(v << 1) >> 1;
  switch (P) {
    case Property::finite:
      return magnitude < infinity;
    case Property::infinite:
      return magnitude == infinity;
    case Property::number:
      return magnitude <= infinity;
    case Property::notanumber:
      return magnitude > infinity;
    case Property::normal:
      // Zeros, too, on an H200 (its vectors of testp.normal).
      return magnitude == 0 || (magnitude < infinity && magnitude >= smallest);
    case Property::subnormal:
      return magnitude != 0 && magnitude < smallest;
  }
  return false;
}

template <Property P, class Bits>
void testp(Context& x, const Op& op) {
  const auto* a = reinterpret_cast<const Bits*>(x.registers + op.a);
  U32 result = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (property<P>(a[lane])) result |= kLaneBit[lane];
  }
  store_predicate(x, op.d, result);
}

template <Property P>
[[gnu::cold]] void testp_rows(DecodeTable& table, const std::string& name) {
  DecodeTable::Row row;
  row.mnemonic = "testp." + name + ".f32";
  row.operands = {Kind::predicate, Kind::b32};
  row.full = &testp<P, U32>;
  row.masked = row.full;
  table.add(row);
  row.mnemonic = "testp." + name + ".f64";
  row.operands = {Kind::predicate, Kind::b64};
  row.full = &testp<P, std::uint64_t>;
  row.masked = row.full;
  table.add(row);
}

}  // namespace

[[gnu::cold]] void add_comparison_rows(DecodeTable& table) {
  table.decoder("setp", &decode_setp);
  table.decoder("set", &decode_set);
  const std::string equality = "{eq,ne}";
  const std::string order = "{eq,ne,lt,le,gt,ge}";
  const std::string unsigned_order = "{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}";
  const std::string float_order = "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}";
  const std::string combine = "{,.and,.or,.xor}";
  table.forms("setp", {"setp." + equality + combine + ".{b16,b32,b64}",
                       "setp." + order + combine + ".{s16,s32,s64}",
                       "setp." + unsigned_order + combine + ".{u16,u32,u64}",
                       "setp." + float_order + combine + "{,.ftz}.{f32,f16,f16x2}",
                       "setp." + float_order + combine + ".{f64,bf16,bf16x2}"});
  table.forms("set", {"set." + equality + combine + ".{u32,s32,f32}.{b16,b32,b64}",
                      "set." + order + combine + ".{u32,s32,f32,f16,bf16}.{s16,s32,s64}",
                      "set." + unsigned_order + combine + ".{u32,s32,f32,f16,bf16}.{u16,u32,u64}",
                      "set." + float_order + combine + "{,.ftz}.{u32,s32,f32}.f32",
                      "set." + float_order + combine + ".{u32,s32,f32}.f64",
                      "set." + float_order + combine + "{,.ftz}.{u16,s16,u32,s32,f16}.f16",
                      "set." + float_order + combine + ".{u16,s16,u32,s32,bf16}.bf16",
                      "set." + float_order + combine + "{,.ftz}.{u32,s32,f16x2}.f16x2",
                      "set." + float_order + combine + ".{u32,s32,bf16x2}.bf16x2"});
  selp_rows<std::uint16_t>(table, {"b16", "u16", "s16", "f16", "bf16"});
  selp_rows<U32>(table, {"b32", "u32", "s32", "f32"});
  selp_rows<std::uint64_t>(table, {"b64", "u64", "s64", "f64"});
  slct_rows<std::uint16_t>(table, {"b16", "u16", "s16"});
  slct_rows<U32>(table, {"b32", "u32", "s32", "f32"});
  slct_rows<std::uint64_t>(table, {"b64", "u64", "s64", "f64"});
  testp_rows<Property::finite>(table, "finite");
  testp_rows<Property::infinite>(table, "infinite");
  testp_rows<Property::number>(table, "number");
  testp_rows<Property::notanumber>(table, "notanumber");
  testp_rows<Property::normal>(table, "normal");
  testp_rows<Property::subnormal>(table, "subnormal");
}

}  // namespace bitgate::machine
