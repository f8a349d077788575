#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "reference/machine/exec/context.h"
#include "reference/machine/program/decode_table.h"

#if defined(__clang__)
#define BITGATE_LANE_LOOP
#else
// Sources and destination are the same place or disjoint: lane by lane there is no dependence.
#define BITGATE_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace bitgate::machine {

/// Turns a scalar function into handlers over 32 lanes, which the compiler vectorises, and into a
/// row of the decode table: the function's own signature says the operands.
///
///     table.add(lanes<[](std::uint32_t a, std::uint32_t b) { return a & b; }>("and.b32"));

template <class T>
using Stored = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
constexpr T from_lane(Stored<T> bits) {
  if constexpr (sizeof(T) == sizeof(bits)) {
    return std::bit_cast<T>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
constexpr Stored<T> to_lane(T value) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<Stored<T>>(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

template <class T>
constexpr Kind kind_of() {
  return sizeof(T) == 8 ? Kind::b64 : Kind::b32;
}

inline constexpr std::array<std::uint32_t Op::*, 4> kSourceFields{&Op::a, &Op::b, &Op::c, &Op::e};

inline constexpr auto kLaneBit = [] {
  std::array<std::uint32_t, kLanes> bits{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) bits[lane] = 1U << lane;
  return bits;
}();
inline constexpr auto kLaneBit64 = [] {
  std::array<std::uint64_t, kLanes> bits{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) bits[lane] = std::uint64_t{1} << lane;
  return bits;
}();

template <class Function>
struct Signature;
template <class Class, class Result, class... Arguments>
struct Signature<Result (Class::*)(Arguments...) const> {
  using Destination = Result;

  template <bool Masked, auto F>
  static void apply(Context& x, const Op& op) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto* d = reinterpret_cast<Stored<Result>*>(x.registers + op.d);
      const std::tuple sources{
          reinterpret_cast<const Stored<Arguments>*>(x.registers + op.*kSourceFields[I])...};
      const std::uint32_t* mask = x.lane_mask.data();
      BITGATE_LANE_LOOP
      for (int lane = 0; lane < kLanes; ++lane) {
        const Stored<Result> value =
            to_lane<Result>(F(from_lane<Arguments>(std::get<I>(sources)[lane])...));
        if constexpr (Masked) {
          d[lane] = mask[lane] != 0 ? value : d[lane];
        } else {
          d[lane] = value;
        }
      }
    }(std::index_sequence_for<Arguments...>{});
  }

  /// The row without handlers; out of line, for there are thousands.
  static DecodeTable::Row row(const std::string& mnemonic) {
    static constexpr std::array<Kind, 1 + sizeof...(Arguments)> kKinds{kind_of<Result>(),
                                                                       kind_of<Arguments>()...};
    constexpr bool single = (... || std::is_same_v<Arguments, float>);
    constexpr bool twofold = (... || std::is_same_v<Arguments, double>);
    return plain_row(mnemonic, kKinds, single ? "f32" : twofold ? "f64" : "");
  }
};

/// The same for functions that are rare or do not vectorise: one handler, active lanes only.
template <class Function>
struct ScalarSignature;
template <class Class, class Result, class... Arguments>
struct ScalarSignature<Result (Class::*)(Arguments...) const> {
  template <auto F>
  static void apply(Context& x, const Op& op) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto* d = reinterpret_cast<Stored<Result>*>(x.registers + op.d);
      for (std::uint32_t mask = x.active; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
        d[lane] = to_lane<Result>(F(from_lane<Arguments>(reinterpret_cast<const Stored<Arguments>*>(
            x.registers + op.*kSourceFields[I])[lane])...));
      }
    }(std::index_sequence_for<Arguments...>{});
  }
};

template <auto F>
using SignatureOf = Signature<decltype(&decltype(F)::operator())>;

template <auto F>
[[gnu::cold, gnu::noinline]] DecodeTable::Row lanes(const std::string& mnemonic) {
  DecodeTable::Row row = SignatureOf<F>::row(mnemonic);
  row.full = &SignatureOf<F>::template apply<false, F>;
  row.masked = &SignatureOf<F>::template apply<true, F>;
  return row;
}

template <auto F>
[[gnu::cold, gnu::noinline]] DecodeTable::Row scalar_lanes(const std::string& mnemonic) {
  DecodeTable::Row row = SignatureOf<F>::row(mnemonic);
  row.full = &ScalarSignature<decltype(&decltype(F)::operator())>::template apply<F>;
  row.masked = row.full;
  return row;
}

/// The names of C++ types in PTX.
template <class T>
constexpr const char* ptx_type() {
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? "s8" : "u8";
    case 2:
      return is_signed ? "s16" : "u16";
    case 4:
      return is_signed ? "s32" : "u32";
    default:
      return is_signed ? "s64" : "u64";
  }
}

/// Writes lanes of an arbitrary computation, keeping the inactive ones.
inline void store_lanes(const Context& x, std::uint32_t offset,
                        const std::array<std::uint32_t, kLanes>& values) {
  std::uint32_t* d = x.lanes32(offset);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if ((x.active >> lane & 1U) != 0) d[lane] = values[lane];
  }
}

inline void store_predicate(const Context& x, std::uint32_t offset, std::uint32_t value) {
  std::uint32_t& p = x.predicate(offset);
  p = (p & ~x.active) | (value & x.active);
}

/// Calls visit(lane) for each lane in the mask, in ascending order.
template <class Visit>
void each_lane(std::uint32_t mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

}  // namespace bitgate::machine
