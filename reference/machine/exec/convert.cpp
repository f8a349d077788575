#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "reference/machine/exec/conversion.h"
#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/exec/vector_half.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// cvt (PTX ISA 9.7.9.21). What a mnemonic means is a Conversion, in Op::immediate; one handler runs
// any of them lane by lane through convert(). Conversions between integers and those that kernels
// execute most have handlers over whole vectors.

namespace bitgate::machine {

namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using F = Format;

static_assert(sizeof(Conversion) == 8);
Conversion conversion_of(const Op& op) { return std::bit_cast<Conversion>(op.immediate); }

U64 load_lane(const Context& x, U32 offset, std::size_t lane, bool wide) {
  return wide ? x.lanes64(offset)[lane] : x.lanes32(offset)[lane];
}

/// Any conversion, one lane at a time. A result narrower than its register is extended into it.
void convert_each(Context& x, const Op& op) {
  const Conversion c = conversion_of(op);
  const bool wide_source = c.source_bytes == 8;
  const U32 element_bits = bytes(c.to) * 8;
  const U32 source_bits = bytes(c.from) * 8;
  each_lane(x.active, [&](std::size_t lane) {
    U64 result = 0;
    const U64 a = load_lane(x, op.a, lane, wide_source);
    switch (c.shape) {
      case Conversion::single:
        result = convert(c, a);
        break;
      case Conversion::packs:
        result = convert(c, a) << element_bits | convert(c, load_lane(x, op.b, lane, wide_source));
        break;
      case Conversion::pairs:
        result = convert(c, a >> source_bits) << element_bits |
                 convert(c, a & ((U64{1} << source_bits) - 1));
        break;
    }
    if (c.destination_bytes == 8) {
      x.lanes64(op.d)[lane] = result;
    } else {
      x.lanes32(op.d)[lane] =
          static_cast<U32>(c.destination_bytes <= 2 ? result & 0xffffU : result);
    }
  });
}

/// Integers to integers without saturation: the low bits of the source, extended by its sign; the
/// low bits of that, extended by the destination's, into the register.
template <bool Masked, class To, class From>
void extend(Context& x, const Op& op) {
  const Conversion c = conversion_of(op);
  const auto mask_of = [](U32 size) { return size == 8 ? ~U64{0} : (U64{1} << (8 * size)) - 1; };
  const auto sign_of = [](Format f) {
    return is_signed(f) ? U64{1} << (8 * bytes(f) - 1) : U64{0};
  };
  const auto from_mask = static_cast<From>(mask_of(bytes(c.from)));
  const auto from_sign = static_cast<To>(sign_of(c.from));
  const auto to_mask = static_cast<To>(mask_of(bytes(c.to)));
  const auto to_sign = static_cast<To>(sign_of(c.to));
  const auto kept = static_cast<To>(mask_of(c.destination_bytes <= 2 ? 2 : c.destination_bytes));
  const auto* a = reinterpret_cast<const From*>(x.registers + op.a);
  auto* d = reinterpret_cast<To*>(x.registers + op.d);
  const U32* mask = x.lane_mask.data();
  BITGATE_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane) {
    To v = static_cast<To>(a[lane] & from_mask);
    v = static_cast<To>((v ^ from_sign) - from_sign) & to_mask;
    v = static_cast<To>((v ^ to_sign) - to_sign) & kept;
    if constexpr (Masked) {
      d[lane] = mask[lane] != 0 ? v : d[lane];
    } else {
      d[lane] = v;
    }
  }
}

template <bool Masked>
Handler extension(bool wide_to, bool wide_from) {
  if (wide_to) return wide_from ? &extend<Masked, U64, U64> : &extend<Masked, U64, U32>;
  return wide_from ? &extend<Masked, U32, U64> : &extend<Masked, U32, U32>;
}

constexpr Conversion make(Format to, Format from, Rounding rounding, unsigned flags,
                          Conversion::Shape shape = Conversion::single) {
  Conversion c;
  c.to = to;
  c.from = from;
  c.rounding = rounding;
  c.flags = static_cast<std::uint8_t>(flags);
  c.shape = shape;
  return c;
}

Kind kind_of_bytes(U32 size) { return size == 8 ? Kind::b64 : Kind::b32; }

/// A row's handlers, if any, serve registers of the types' own widths; other widths take the
/// general ones (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
void decode_cvt(InstructionBuilder& builder) {
  Conversion c = conversion_of(builder.op);
  const ptx::Operand& to = builder.operand(0);
  const ptx::Operand& from = builder.operand(1);
  const U32 elements = c.shape == Conversion::single ? 1 : 2;
  const U32 to_bytes = bytes(c.to) * elements;
  const U32 from_bytes = bytes(c.from) * (c.shape == Conversion::pairs ? 2 : 1);
  const auto register_bytes = [&](const ptx::Operand& operand, U32 otherwise) {
    const U32 declared = builder.declared_bytes(operand);
    return declared == 0 ? otherwise : declared;
  };
  const U32 narrowest = to_bytes == 1 ? 2 : to_bytes;
  const U32 destination = register_bytes(to, narrowest);
  const U32 source = register_bytes(from, from_bytes);
  if (destination < to_bytes || source < from_bytes) {
    throw Unsupported("a register is narrower than its type");
  }
  c.destination_bytes = static_cast<std::uint8_t>(destination);
  c.source_bytes = static_cast<std::uint8_t>(source);
  builder.op.immediate = std::bit_cast<std::int64_t>(c);

  const bool fits = kind_of_bytes(source) == kind_of_bytes(from_bytes) &&
                    kind_of_bytes(destination) == kind_of_bytes(to_bytes) &&
                    (destination == narrowest || !is_integer(c.to) || !is_signed(c.to));
  if (builder.op.full == nullptr || !fits) {
    const bool extends = is_integer(c.to) && is_integer(c.from) && c.flags == 0;
    const bool wide_to = destination == 8;
    const bool wide_from = source == 8;
    builder.op.full = extends ? extension<false>(wide_to, wide_from) : &convert_each;
    builder.op.masked = extends ? extension<true>(wide_to, wide_from) : &convert_each;
  }
  const Immediates immediates = c.from == F::f32   ? Immediates::f32
                                : c.from == F::f64 ? Immediates::f64
                                                   : Immediates::integer;
  builder.define(&Op::d, to, kind_of_bytes(destination));
  builder.use(&Op::a, from, kind_of_bytes(source), immediates);
  if (c.shape == Conversion::packs) {
    builder.use(&Op::b, builder.operand(2), kind_of_bytes(source), immediates);
  }
  if (builder.count() != (c.shape == Conversion::packs ? 3U : 2U)) {
    throw Unsupported("cvt with more operands than its types have");
  }
}

/// Handlers over whole vectors, by mnemonic.
struct Fast {
  Handler full = nullptr;
  Handler masked = nullptr;
};

template <auto Function>
constexpr Fast fast() {
  return {&SignatureOf<Function>::template apply<false, Function>,
          &SignatureOf<Function>::template apply<true, Function>};
}

template <class To, class From>
constexpr auto kCast = [](From v) -> To { return static_cast<To>(v); };

/// Round, then clamp; NaN is 0. The bounds compare before the cast, which is defined inside them.
template <class To, Rounding R>
constexpr auto kToInteger = [](float v) -> To {
  constexpr float kTop = std::is_signed_v<To> ? 0x1p31F : 0x1p32F;
  constexpr float kBottom = std::is_signed_v<To> ? -0x1p31F : 0.0F;
  const float r = R == Rounding::rz   ? std::trunc(v)
                  : R == Rounding::rm ? std::floor(v)
                  : R == Rounding::rp ? std::ceil(v)
                                      : std::nearbyint(v);
  if (!(r > kBottom)) return r == r ? static_cast<To>(kBottom) : To{0};
  return r >= kTop ? std::numeric_limits<To>::max() : static_cast<To>(r);
};

template <Rounding R, bool Flush>
constexpr auto kIntegral = [](float v) -> float {
  const float u = Flush ? flush(v) : v;
  return canonical(R == Rounding::rz   ? std::trunc(u)
                   : R == Rounding::rm ? std::floor(u)
                   : R == Rounding::rp ? std::ceil(u)
                                       : std::nearbyint(u));
};

constexpr auto kWidenBFloat = [](U16 v) -> U32 { return static_cast<U32>(v) << 16; };
constexpr auto kFlushSingle = [](float v) -> float { return canonical(flush(v)); };
constexpr auto kSaturateSingle = [](float v) -> float { return saturate(v); };

Fast fast_form(std::string_view mnemonic) {
  struct Row {
    std::string_view mnemonic;
    Fast handlers;
  };
  static constexpr Row kRows[] = {
      {"cvt.f32.f16", {&convert_halves<false, FromF16>, &convert_halves<true, FromF16>}},
      {"cvt.rn.f16.f32", {&convert_halves<false, ToF16>, &convert_halves<true, ToF16>}},
      {"cvt.rn.bf16.f32", {&convert_halves<false, ToBF16>, &convert_halves<true, ToBF16>}},
      {"cvt.rn.f16x2.f32", {&pack_pair<false, false>, &pack_pair<true, false>}},
      {"cvt.rn.bf16x2.f32", {&pack_pair<false, true>, &pack_pair<true, true>}},
      {"cvt.f32.bf16", fast<kWidenBFloat>()},
      {"cvt.u64.u32", fast<kCast<U64, U32>>()},
      {"cvt.s64.s32", fast<kCast<std::int64_t, std::int32_t>>()},
      {"cvt.u32.u64", fast<kCast<U32, U64>>()},
      {"cvt.s32.s64", fast<kCast<U32, U64>>()},
      {"cvt.u32.u16", fast<kCast<U32, U16>>()},
      {"cvt.s32.s16", fast<kCast<std::int32_t, std::int16_t>>()},
      {"cvt.u16.u32", fast<kCast<U16, U32>>()},
      {"cvt.rn.f32.s32", fast<kCast<float, std::int32_t>>()},
      {"cvt.rn.f32.u32", fast<kCast<float, U32>>()},
      {"cvt.rn.f32.s16", fast<kCast<float, std::int16_t>>()},
      {"cvt.rn.f32.u16", fast<kCast<float, U16>>()},
      {"cvt.rn.f32.s8", fast<kCast<float, std::int8_t>>()},
      {"cvt.rn.f32.u8", fast<kCast<float, std::uint8_t>>()},
      {"cvt.rn.f64.s32", fast<kCast<double, std::int32_t>>()},
      {"cvt.rn.f64.u32", fast<kCast<double, U32>>()},
      {"cvt.f64.f32", fast<kCast<double, float>>()},
      {"cvt.rn.f32.f64", fast<kCast<float, double>>()},
      {"cvt.rzi.s32.f32", fast<kToInteger<std::int32_t, Rounding::rz>>()},
      {"cvt.rzi.u32.f32", fast<kToInteger<U32, Rounding::rz>>()},
      {"cvt.rni.s32.f32", fast<kToInteger<std::int32_t, Rounding::rn>>()},
      {"cvt.rmi.s32.f32", fast<kToInteger<std::int32_t, Rounding::rm>>()},
      {"cvt.rpi.s32.f32", fast<kToInteger<std::int32_t, Rounding::rp>>()},
      {"cvt.rni.f32.f32", fast<kIntegral<Rounding::rn, false>>()},
      {"cvt.rzi.f32.f32", fast<kIntegral<Rounding::rz, false>>()},
      {"cvt.rmi.f32.f32", fast<kIntegral<Rounding::rm, false>>()},
      {"cvt.rpi.f32.f32", fast<kIntegral<Rounding::rp, false>>()},
      {"cvt.ftz.f32.f32", fast<kFlushSingle>()},
      {"cvt.sat.f32.f32", fast<kSaturateSingle>()},
  };
  for (const Row& row : kRows) {
    if (row.mnemonic == mnemonic) return row.handlers;
  }
  return {};
}

void add_row(DecodeTable& table, const std::string& mnemonic, const Conversion& conversion) {
  DecodeTable::Row row;
  row.mnemonic = mnemonic;
  const Fast handlers = fast_form(mnemonic);
  row.full = handlers.full;
  row.masked = handlers.masked;
  row.immediate = std::bit_cast<std::int64_t>(conversion);
  row.decoder = &decode_cvt;
  table.add(row);
}

std::string dotted(Format format) { return "." + std::string(name(format)); }

struct Modifier {
  const char* text;
  unsigned flags;
};
constexpr Modifier kPlain{"", 0};
constexpr Modifier kFlush{".ftz", Conversion::flush};
constexpr Modifier kSaturate{".sat", Conversion::saturate};
constexpr Modifier kFlushSaturate{".ftz.sat", Conversion::flush | Conversion::saturate};
constexpr Modifier kRelu{".relu", Conversion::relu};
constexpr Modifier kSatfinite{".satfinite", Conversion::satfinite};
constexpr Modifier kReluSatfinite{".relu.satfinite", Conversion::relu | Conversion::satfinite};
constexpr Modifier kSatfiniteRelu{".satfinite.relu", Conversion::relu | Conversion::satfinite};

constexpr Rounding kRoundings[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};
constexpr F kIntegers[] = {F::u8, F::s8, F::u16, F::s16, F::u32, F::s32, F::u64, F::s64};

/// cvt{.modifier}.to.from, exact or to a wider type.
void unrounded(DecodeTable& table, F to, F from, std::initializer_list<Modifier> modifiers) {
  for (const Modifier& m : modifiers) {
    add_row(table, "cvt" + std::string(m.text) + dotted(to) + dotted(from),
            make(to, from, Rounding::rn, m.flags));
  }
}

void rounded(DecodeTable& table, std::initializer_list<Rounding> roundings, F to, F from,
             std::initializer_list<Modifier> modifiers) {
  for (const Rounding r : roundings) {
    for (const Modifier& m : modifiers) {
      add_row(table, "cvt." + std::string(name(r)) + m.text + dotted(to) + dotted(from),
              make(to, from, r, m.flags));
    }
  }
}

/// .rni, .rzi, .rmi, .rpi: to an integer, or to one in the float's own format.
void integral(DecodeTable& table, F to, F from, std::initializer_list<Modifier> modifiers) {
  for (const Rounding r : kRoundings) {
    for (const Modifier& m : modifiers) {
      add_row(table, "cvt." + std::string(name(r)) + "i" + m.text + dotted(to) + dotted(from),
              make(to, from, r, m.flags | Conversion::integral));
    }
  }
}

void add_integer_conversions(DecodeTable& table) {
  const auto kAll = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};
  for (const F to : kIntegers) {
    for (const F from : kIntegers) unrounded(table, to, from, {kPlain, kSaturate});
    integral(table, to, F::f32, {kPlain, kFlush, kSaturate, kFlushSaturate});
    integral(table, to, F::f64, {kPlain, kSaturate});
    integral(table, to, F::f16, {kPlain, kSaturate});
    if (bytes(to) > 1) integral(table, to, F::bf16, {kPlain});
  }
  for (const F from : kIntegers) {
    rounded(table, kAll, F::f32, from, {kPlain, kSaturate});
    rounded(table, kAll, F::f64, from, {kPlain, kSaturate});
    rounded(table, kAll, F::f16, from, {kPlain, kSaturate});
    if (bytes(from) > 1) rounded(table, kAll, F::bf16, from, {kPlain});
  }
}

void add_float_conversions(DecodeTable& table) {
  const auto kAll = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};
  const auto kTwo = {Rounding::rn, Rounding::rz};
  const auto kFour = {kPlain, kFlush, kSaturate, kFlushSaturate};
  unrounded(table, F::f32, F::f16, kFour);
  unrounded(table, F::f64, F::f32, kFour);
  unrounded(table, F::f64, F::f16, {kPlain, kSaturate});
  unrounded(table, F::f32, F::bf16, {kPlain});
  unrounded(table, F::f64, F::bf16, {kPlain});
  unrounded(table, F::f32, F::f32, kFour);
  unrounded(table, F::f64, F::f64, {kPlain, kSaturate});
  unrounded(table, F::f16, F::f16, {kPlain, kSaturate});
  rounded(table, kAll, F::f32, F::f64, kFour);
  rounded(table, kAll, F::f16, F::f32,
          {kPlain, {".ftz", 0}, kSaturate, {".ftz.sat", kSaturate.flags}});
  rounded(table, kAll, F::f16, F::f64, {kPlain, kSaturate});
  rounded(table, kAll, F::bf16, F::f64, {kPlain});
  rounded(table, kAll, F::bf16, F::f16, {kPlain});
  rounded(table, kAll, F::f16, F::bf16, {kPlain});
  rounded(table, kTwo, F::f16, F::f32, {kRelu, kSatfinite, kReluSatfinite});
  rounded(table, kTwo, F::bf16, F::f32, {kPlain, kRelu, kSatfinite, kReluSatfinite});
  rounded(table, kTwo, F::tf32, F::f32, {kPlain, kRelu, kSatfinite, kReluSatfinite});
  rounded(table, {Rounding::rna}, F::tf32, F::f32, {kPlain, kSatfinite});
  integral(table, F::f32, F::f32, kFour);
  integral(table, F::f64, F::f64, {kPlain, kSaturate});
  integral(table, F::f16, F::f16, {kPlain, kSaturate});
  integral(table, F::bf16, F::bf16, {kPlain});
}

void add_packed_conversions(DecodeTable& table) {
  const auto add = [&](const std::string& mnemonic, F to, F from, Rounding r, const Modifier& m,
                       Conversion::Shape shape) {
    add_row(table, mnemonic, make(to, from, r, m.flags, shape));
  };
  for (const Rounding r : {Rounding::rn, Rounding::rz}) {
    const std::string rounding = "cvt." + std::string(name(r));
    for (const Modifier& m : {kPlain, kRelu, kSatfinite, kReluSatfinite}) {
      add(rounding + m.text + ".f16x2.f32", F::f16, F::f32, r, m, Conversion::packs);
      add(rounding + m.text + ".bf16x2.f32", F::bf16, F::f32, r, m, Conversion::packs);
    }
  }
  for (const F to : {F::e4m3, F::e5m2}) {
    const std::string pair = dotted(to) + "x2";
    for (const Modifier& m : {kSatfinite, kSatfiniteRelu}) {
      const std::string prefix = "cvt.rn" + std::string(m.text) + pair;
      add(prefix + ".f32", to, F::f32, Rounding::rn, m, Conversion::packs);
      add(prefix + ".f16x2", to, F::f16, Rounding::rn, m, Conversion::pairs);
    }
    for (const Modifier& m : {kPlain, kRelu}) {
      add("cvt.rn" + std::string(m.text) + ".f16x2" + pair, F::f16, to, Rounding::rn, m,
          Conversion::pairs);
    }
  }
}

/// cvt.pack.sat: two s32, each saturated to `Bits`, below what c holds in its low bits; 16-bit
/// results leave no room for c.
template <unsigned Bits, bool Signed>
U32 pack_saturated(std::int32_t a, std::int32_t b, U32 c) {
  constexpr std::int32_t kMost = (1 << (Signed ? Bits - 1 : Bits)) - 1;
  constexpr std::int32_t kLeast = Signed ? -kMost - 1 : 0;
  const auto field = [=](std::int32_t v) {
    return static_cast<U32>(std::clamp(v, kLeast, kMost)) & ((1U << Bits) - 1);
  };
  const U32 above = Bits == 16 ? 0U : c << (2 * Bits % 32);
  return above | field(a) << Bits | field(b);
}

template <unsigned Bits, bool Signed>
void pack_row(DecodeTable& table, const std::string& type) {
  if constexpr (Bits == 16) {
    table.add(scalar_lanes<[](std::int32_t a, std::int32_t b) -> U32 {
      return pack_saturated<Bits, Signed>(a, b, 0);
    }>("cvt.pack.sat." + type + ".s32"));
  } else {
    table.add(scalar_lanes<[](std::int32_t a, std::int32_t b, U32 c) -> U32 {
      return pack_saturated<Bits, Signed>(a, b, c);
    }>("cvt.pack.sat." + type + ".s32.b32"));
  }
}

}  // namespace

[[gnu::cold]] void add_conversion_rows(DecodeTable& table) {
  add_integer_conversions(table);
  add_float_conversions(table);
  add_packed_conversions(table);
  pack_row<16, false>(table, "u16");
  pack_row<16, true>(table, "s16");
  pack_row<8, false>(table, "u8");
  pack_row<8, true>(table, "s8");
  pack_row<4, false>(table, "u4");
  pack_row<4, true>(table, "s4");
  pack_row<2, false>(table, "u2");
  pack_row<2, true>(table, "s2");
}

}  // namespace bitgate::machine
