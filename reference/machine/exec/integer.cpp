#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// Integer arithmetic (PTX ISA 9.7.1, 9.7.2). Arithmetic wraps; division by zero gives all ones.

namespace bitgate::machine {

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

template <class T>
struct Double;
template <>
struct Double<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct Double<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct Double<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct Double<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct Double<std::uint64_t> {
  using type = UnsignedWide;
};
template <>
struct Double<std::int64_t> {
  using type = Wide;
};

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
constexpr T wrap_add(T a, T b) {
  return static_cast<T>(
      static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b)));
}
template <class T>
constexpr T wrap_sub(T a, T b) {
  return static_cast<T>(
      static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b)));
}
template <class T>
constexpr T mul_lo(T a, T b) {
  // Through 64 bits: a 16-bit product would be a signed int that can overflow.
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
constexpr T mul_hi(T a, T b) {
  using D = typename Double<T>::type;
  return static_cast<T>((static_cast<D>(a) * static_cast<D>(b)) >> (sizeof(T) * 8));
}
template <class T>
constexpr typename Double<T>::type mul_wide(T a, T b) {
  using D = typename Double<T>::type;
  return static_cast<D>(static_cast<D>(a) * static_cast<D>(b));
}

template <class T>
constexpr T divide(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return wrap_sub<T>(0, a);
  }
  return static_cast<T>(a / b);
}
template <class T>
constexpr T remainder(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

/// 24-bit products: the low 24 bits of the operands, extended by their sign.
template <class T>
constexpr std::int64_t low24(T a) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) << 8) >> 8;
  } else {
    return a & 0xffffffU;
  }
}

constexpr std::int32_t saturate32(std::int64_t v) {
  if (v > std::numeric_limits<std::int32_t>::max()) return std::numeric_limits<std::int32_t>::max();
  if (v < std::numeric_limits<std::int32_t>::min()) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(v);
}

template <class T>
[[gnu::cold]] void rows_of_every_type(DecodeTable& table) {
  const std::string type = ptx_type<T>();
  table.add(lanes<[](T a, T b) -> T { return wrap_add(a, b); }>("add." + type));
  table.add(lanes<[](T a, T b) -> T { return wrap_sub(a, b); }>("sub." + type));
  table.add(lanes<[](T a, T b) -> T { return mul_lo(a, b); }>("mul.lo." + type));
  table.add(lanes<[](T a, T b) -> T { return mul_hi(a, b); }>("mul.hi." + type));
  table.add(lanes<[](T a, T b, T c) -> T { return wrap_add(mul_lo(a, b), c); }>("mad.lo." + type));
  table.add(lanes<[](T a, T b, T c) -> T { return wrap_add(mul_hi(a, b), c); }>("mad.hi." + type));
  table.add(lanes<[](T a, T b) -> T { return divide(a, b); }>("div." + type));
  table.add(lanes<[](T a, T b) -> T { return remainder(a, b); }>("rem." + type));
  table.add(lanes<[](T a, T b) -> T { return a < b ? a : b; }>("min." + type));
  table.add(lanes<[](T a, T b) -> T { return b < a ? a : b; }>("max." + type));
  table.add(lanes<[](T a, T b, T c) -> T {
    return wrap_add(c, a < b ? wrap_sub(b, a) : wrap_sub(a, b));
  }>("sad." + type));
  if constexpr (std::is_signed_v<T>) {
    table.add(lanes<[](T a) -> T { return a < 0 ? wrap_sub<T>(0, a) : a; }>("abs." + type));
    table.add(lanes<[](T a) -> T { return wrap_sub<T>(0, a); }>("neg." + type));
  }
  if constexpr (sizeof(T) < 8) {
    using D = typename Double<T>::type;
    table.add(lanes<[](T a, T b) -> D { return mul_wide(a, b); }>("mul.wide." + type));
    table.add(
        lanes<[](T a, T b, D c) -> D { return wrap_add(mul_wide(a, b), c); }>("mad.wide." + type));
  }
}

template <class T>
[[gnu::cold]] void rows_of_24_bits(DecodeTable& table) {
  const std::string type = ptx_type<T>();
  table.add(
      lanes<[](T a, T b) -> T { return static_cast<T>(low24(a) * low24(b)); }>("mul24.lo." + type));
  table.add(lanes<[](T a, T b) -> T { return static_cast<T>((low24(a) * low24(b)) >> 16); }>(
      "mul24.hi." + type));
  table.add(
      lanes<[](T a, T b, T c) -> T { return wrap_add(static_cast<T>(low24(a) * low24(b)), c); }>(
          "mad24.lo." + type));
  table.add(lanes<[](T a, T b, T c) -> T {
    return wrap_add(static_cast<T>((low24(a) * low24(b)) >> 16), c);
  }>("mad24.hi." + type));
}

template <class A, class B>
std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t c) {
  std::uint32_t sum = static_cast<std::uint32_t>(c);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A>(a >> shift)) *
                                      static_cast<std::int32_t>(static_cast<B>(b >> shift)));
  }
  return static_cast<std::int32_t>(sum);
}

template <class A, class B, bool High>
std::int32_t dot2(std::uint32_t a, std::uint32_t b, std::int32_t c) {
  std::uint32_t sum = static_cast<std::uint32_t>(c);
  const unsigned first = High ? 16 : 0;
  for (unsigned i = 0; i < 2; ++i) {
    const std::int64_t x = static_cast<A>(a >> (16 * i));
    const std::int64_t y = static_cast<B>(b >> (first + 8 * i));
    sum += static_cast<std::uint32_t>(x * y);
  }
  return static_cast<std::int32_t>(sum);
}

template <class A4, class B4, class A2>
[[gnu::cold]] void rows_of_dot_products(DecodeTable& table, const std::string& types) {
  table.add(lanes<[](std::uint32_t a, std::uint32_t b, std::int32_t c) -> std::int32_t {
    return dot4<A4, B4>(a, b, c);
  }>("dp4a." + types));
  table.add(lanes<[](std::uint32_t a, std::uint32_t b, std::int32_t c) -> std::int32_t {
    return dot2<A2, B4, false>(a, b, c);
  }>("dp2a.lo." + types));
  table.add(lanes<[](std::uint32_t a, std::uint32_t b, std::int32_t c) -> std::int32_t {
    return dot2<A2, B4, true>(a, b, c);
  }>("dp2a.hi." + types));
}

// Extended precision (9.7.2): the carry flag is a register of each lane, as long as the sequence.
// It lies in the warp, since code between the instructions of a sequence may not rely on it.
enum class Carry : std::uint8_t { add, subtract, multiply_low, multiply_high };

template <class T, Carry Operation, bool In, bool Out>
void with_carry(Context& x, const Op& op) {
  auto* d = reinterpret_cast<Stored<T>*>(x.registers + op.d);
  const auto* a = reinterpret_cast<const Stored<T>*>(x.registers + op.a);
  const auto* b = reinterpret_cast<const Stored<T>*>(x.registers + op.b);
  const auto* c = reinterpret_cast<const Stored<T>*>(x.registers + op.c);
  std::uint32_t& flag = x.warp->carry;
  each_lane(x.active, [&](std::size_t lane) {
    UnsignedWide left = static_cast<Unsigned<T>>(a[lane]);
    UnsignedWide right = static_cast<Unsigned<T>>(b[lane]);
    if constexpr (Operation == Carry::multiply_low) {
      left = static_cast<Unsigned<T>>(mul_lo(from_lane<T>(a[lane]), from_lane<T>(b[lane])));
      right = static_cast<Unsigned<T>>(c[lane]);
    }
    if constexpr (Operation == Carry::multiply_high) {
      left = static_cast<Unsigned<T>>(mul_hi(from_lane<T>(a[lane]), from_lane<T>(b[lane])));
      right = static_cast<Unsigned<T>>(c[lane]);
    }
    const UnsignedWide in = In ? flag >> lane & 1U : 0U;
    const UnsignedWide sum = Operation == Carry::subtract ? left - right - in : left + right + in;
    d[lane] = static_cast<Unsigned<T>>(sum);
    if constexpr (Out) {
      const bool out = (sum >> (sizeof(T) * 8) & 1U) != 0;
      flag = (flag & ~kLaneBit[lane]) | (out ? kLaneBit[lane] : 0U);
    }
  });
}

template <class T, Carry Operation, bool In, bool Out>
[[gnu::cold]] void carry_row(DecodeTable& table, const std::string& mnemonic) {
  DecodeTable::Row row;
  row.mnemonic = mnemonic;
  constexpr bool three = Operation == Carry::multiply_low || Operation == Carry::multiply_high;
  row.operands.assign(three ? 4 : 3, kind_of<T>());
  row.full = &with_carry<T, Operation, In, Out>;
  row.masked = row.full;
  table.add(row);
}

template <class T>
[[gnu::cold]] void carry_rows(DecodeTable& table) {
  const std::string type = ptx_type<T>();
  carry_row<T, Carry::add, false, true>(table, "add.cc." + type);
  carry_row<T, Carry::add, true, false>(table, "addc." + type);
  carry_row<T, Carry::add, true, true>(table, "addc.cc." + type);
  carry_row<T, Carry::subtract, false, true>(table, "sub.cc." + type);
  carry_row<T, Carry::subtract, true, false>(table, "subc." + type);
  carry_row<T, Carry::subtract, true, true>(table, "subc.cc." + type);
  carry_row<T, Carry::multiply_low, false, true>(table, "mad.lo.cc." + type);
  carry_row<T, Carry::multiply_high, false, true>(table, "mad.hi.cc." + type);
  carry_row<T, Carry::multiply_low, true, false>(table, "madc.lo." + type);
  carry_row<T, Carry::multiply_high, true, false>(table, "madc.hi." + type);
  carry_row<T, Carry::multiply_low, true, true>(table, "madc.lo.cc." + type);
  carry_row<T, Carry::multiply_high, true, true>(table, "madc.hi.cc." + type);
}

/// Two 16-bit elements a register (PTX 8.0, sm_90; the arithmetic is the same everywhere).
template <class T>
constexpr T low_half(std::uint32_t v) {
  return static_cast<T>(v);
}
template <class T>
constexpr T high_half(std::uint32_t v) {
  return static_cast<T>(v >> 16);
}
template <class T>
constexpr std::uint32_t join(T high, T low) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16 |
         static_cast<std::uint16_t>(low);
}

template <class T>
[[gnu::cold]] void packed_rows(DecodeTable& table) {
  const std::string type = std::string(ptx_type<T>()) + "x2";
  table.add(lanes<[](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
    return join<T>(wrap_add(high_half<T>(a), high_half<T>(b)),
                   wrap_add(low_half<T>(a), low_half<T>(b)));
  }>("add." + type));
  table.add(lanes<[](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
    return join<T>(std::min(high_half<T>(a), high_half<T>(b)),
                   std::min(low_half<T>(a), low_half<T>(b)));
  }>("min." + type));
  table.add(lanes<[](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
    return join<T>(std::max(high_half<T>(a), high_half<T>(b)),
                   std::max(low_half<T>(a), low_half<T>(b)));
  }>("max." + type));
}

}  // namespace

[[gnu::cold]] void add_integer_rows(DecodeTable& table) {
  rows_of_every_type<std::uint16_t>(table);
  rows_of_every_type<std::int16_t>(table);
  rows_of_every_type<std::uint32_t>(table);
  rows_of_every_type<std::int32_t>(table);
  rows_of_every_type<std::uint64_t>(table);
  rows_of_every_type<std::int64_t>(table);
  rows_of_24_bits<std::uint32_t>(table);
  rows_of_24_bits<std::int32_t>(table);
  carry_rows<std::uint32_t>(table);
  carry_rows<std::int32_t>(table);
  carry_rows<std::uint64_t>(table);
  carry_rows<std::int64_t>(table);
  packed_rows<std::uint16_t>(table);
  packed_rows<std::int16_t>(table);
  rows_of_dot_products<std::int8_t, std::int8_t, std::int16_t>(table, "s32.s32");
  rows_of_dot_products<std::int8_t, std::uint8_t, std::int16_t>(table, "s32.u32");
  rows_of_dot_products<std::uint8_t, std::int8_t, std::uint16_t>(table, "u32.s32");
  rows_of_dot_products<std::uint8_t, std::uint8_t, std::uint16_t>(table, "u32.u32");

  using Half = std::int16_t;
  using Pair = std::uint32_t;
  table.add(lanes<[](Pair a, Pair b) -> Pair {
    return join<Half>(std::max<Half>(std::min(high_half<Half>(a), high_half<Half>(b)), 0),
                      std::max<Half>(std::min(low_half<Half>(a), low_half<Half>(b)), 0));
  }>("min.relu.s16x2"));
  table.add(lanes<[](Pair a, Pair b) -> Pair {
    return join<Half>(std::max<Half>(std::max(high_half<Half>(a), high_half<Half>(b)), 0),
                      std::max<Half>(std::max(low_half<Half>(a), low_half<Half>(b)), 0));
  }>("max.relu.s16x2"));

  using S = std::int32_t;
  table.add(lanes<[](S a, S b) -> S { return saturate32(std::int64_t{a} + b); }>("add.sat.s32"));
  table.add(lanes<[](S a, S b) -> S { return saturate32(std::int64_t{a} - b); }>("sub.sat.s32"));
  table.add(lanes<[](S a, S b, S c) -> S { return saturate32(std::int64_t{mul_hi(a, b)} + c); }>(
      "mad.hi.sat.s32"));
  table.add(lanes<[](S a, S b, S c) -> S {
    return saturate32((std::int64_t{static_cast<S>((low24(a) * low24(b)) >> 16)}) + c);
  }>("mad24.hi.sat.s32"));
  table.add(lanes<[](S a, S b) -> S {
    const S m = a < b ? a : b;
    return m < 0 ? 0 : m;
  }>("min.relu.s32"));
  table.add(lanes<[](S a, S b) -> S {
    const S m = b < a ? a : b;
    return m < 0 ? 0 : m;
  }>("max.relu.s32"));
}

}  // namespace bitgate::machine
