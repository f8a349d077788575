#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// Logic, shifts and bit fields (PTX ISA 9.7.1, 9.7.8). Shift amounts are clamped to the width.

namespace bitgate::machine {

namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <class T>
constexpr T shift_left(T a, U32 n) {
  constexpr U32 width = sizeof(T) * 8;
  return static_cast<T>(n >= width ? T{0} : static_cast<T>(a << (n % width)));
}
template <class T>
constexpr T shift_right(T a, U32 n) {
  constexpr U32 width = sizeof(T) * 8;
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (n >= width ? width - 1 : n));
  } else {
    return static_cast<T>(n >= width ? T{0} : static_cast<T>(a >> (n % width)));
  }
}

/// Position and length of bfe and bfi: 32-bit forms read their low 8 bits, as PTX says; 64-bit
/// forms read all 32 (measured on an H200).
template <class T>
constexpr U64 amount(U32 v) {
  return sizeof(T) == 8 ? v : v & 0xffU;
}

/// bfe: `length` bits from `position`; bits beyond the top read as the sign (signed) or 0.
template <class T>
constexpr T extract(T a, U32 position, U32 length) {
  constexpr U64 msb = sizeof(T) * 8 - 1;
  using Un = std::make_unsigned_t<T>;
  const U64 pos = amount<T>(position);
  const U64 len = amount<T>(length);
  bool sign = false;
  if constexpr (std::is_signed_v<T>) {
    if (len != 0) {
      const U64 top = pos + len - 1 < msb ? pos + len - 1 : msb;
      sign = (static_cast<Un>(a) >> top & 1U) != 0;
    }
  }
  const Un shifted = pos > msb ? Un{0} : static_cast<Un>(static_cast<Un>(a) >> pos);
  const U64 available = pos > msb ? 0 : msb + 1 - pos;
  const U64 kept = len < available ? len : available;
  const Un keep = kept > msb ? static_cast<Un>(~Un{0}) : static_cast<Un>((Un{1} << kept) - 1);
  const Un value = shifted & keep;
  return static_cast<T>(sign ? static_cast<Un>(value | ~keep) : value);
}

template <class T>
constexpr T insert(T a, T b, U32 position, U32 length) {
  constexpr U64 width = sizeof(T) * 8;
  const U64 pos = amount<T>(position);
  const U64 len = amount<T>(length);
  if (pos >= width || len == 0) return b;
  const T field = len >= width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << len) - 1);
  const T mask = static_cast<T>(field << pos);
  return static_cast<T>((b & ~mask) | (static_cast<T>(a << pos) & mask));
}

/// bfind: position of the most significant bit that differs from the sign; all ones if none.
template <class T>
constexpr U32 find_top(T a) {
  auto bits = static_cast<std::make_unsigned_t<T>>(a);
  if constexpr (std::is_signed_v<T>) {
    if (a < 0) bits = static_cast<std::make_unsigned_t<T>>(~bits);
  }
  if (bits == 0) return 0xffffffffU;
  return static_cast<U32>(sizeof(T) * 8 - 1) - static_cast<U32>(std::countl_zero(bits));
}

template <class T>
constexpr T reverse(T a) {
  T result = 0;
  for (U32 i = 0; i < sizeof(T) * 8; ++i) {
    result = static_cast<T>(result << 1) | static_cast<T>(a >> i & 1U);
  }
  return result;
}

constexpr U32 byte_of(U64 pair, U32 selector) {
  return static_cast<U32>(pair >> (8 * (selector & 7U))) & 0xffU;
}

enum class Permute : std::uint8_t { f4e, b4e, rc8, ecl, ecr, rc16 };

/// prmt with a mode: selectors of the four result bytes (PTX ISA, prmt, tables).
template <Permute Mode>
constexpr U32 permute(U32 a, U32 b, U32 c) {
  const U64 pair = static_cast<U64>(b) << 32 | a;
  U32 result = 0;
  const U32 s = c & 3U;
  for (U32 i = 0; i < 4; ++i) {
    U32 selector = 0;
    switch (Mode) {
      case Permute::f4e:
        selector = s + i;
        break;
      case Permute::b4e:
        selector = (s + 8 - i) & 7U;
        break;
      case Permute::rc8:
        selector = s;
        break;
      case Permute::ecl:
        selector = i > s ? i : s;
        break;
      case Permute::ecr:
        selector = i < s ? i : s;
        break;
      case Permute::rc16:
        selector = (s & 1U) * 2 + (i & 1U);
        break;
    }
    result |= byte_of(pair, selector) << (8 * i);
  }
  return result;
}

template <bool Left, bool Wrap>
constexpr U32 funnel(U32 a, U32 b, U32 c) {
  const U32 n = Wrap ? c & 31U : (c > 32 ? 32 : c);
  const U64 pair = static_cast<U64>(b) << 32 | a;
  return Left ? static_cast<U32>((pair << n) >> 32) : static_cast<U32>(pair >> n);
}

/// fns: position of the offset-th set bit from `base` (PTX ISA, fns, pseudocode). An offset without
/// a magnitude of its own gives 0 (measured on an H200).
constexpr U32 find_nth_set(U32 mask, U32 base, std::int32_t offset) {
  if (offset == std::numeric_limits<std::int32_t>::min()) return 0;
  if (offset == 0) {
    if (base < 32 && (mask >> base & 1U) != 0) return base;
    return 0xffffffffU;
  }
  std::int64_t position = base;
  const std::int64_t step = offset > 0 ? 1 : -1;
  std::int64_t wanted = offset > 0 ? std::int64_t{offset} : -std::int64_t{offset};
  for (; position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1U) != 0 && --wanted == 0) return static_cast<U32>(position);
  }
  return 0xffffffffU;
}

template <class T>
[[gnu::cold]] void logic_rows(DecodeTable& table, const std::string& type) {
  table.add(lanes<[](T a, T b) -> T { return static_cast<T>(a & b); }>("and." + type));
  table.add(lanes<[](T a, T b) -> T { return static_cast<T>(a | b); }>("or." + type));
  table.add(lanes<[](T a, T b) -> T { return static_cast<T>(a ^ b); }>("xor." + type));
  table.add(lanes<[](T a) -> T { return static_cast<T>(~a); }>("not." + type));
  table.add(lanes<[](T a) -> T { return a == 0 ? T{1} : T{0}; }>("cnot." + type));
  table.add(lanes<[](T a, U32 n) -> T { return shift_left(a, n); }>("shl." + type));
  table.add(lanes<[](T a, U32 n) -> T { return shift_right(a, n); }>("shr." + type));
}

template <class T>
[[gnu::cold]] void field_rows(DecodeTable& table) {
  const std::string type = ptx_type<T>();
  table.add(lanes<[](T a, U32 n) -> T { return shift_right(a, n); }>("shr." + type));
  if constexpr (sizeof(T) >= 4) {
    table.add(
        lanes<[](T a, U32 pos, U32 len) -> T { return extract(a, pos, len); }>("bfe." + type));
    table.add(lanes<[](T a) -> U32 { return find_top(a); }>("bfind." + type));
    table.add(lanes<[](T a) -> U32 {
      const U32 top = find_top(a);
      return top == 0xffffffffU ? top : static_cast<U32>(sizeof(T) * 8 - 1) - top;
    }>("bfind.shiftamt." + type));
  }
}

template <class T>
[[gnu::cold]] void count_rows(DecodeTable& table, const std::string& type) {
  table.add(lanes<[](T a) -> U32 { return static_cast<U32>(std::popcount(a)); }>("popc." + type));
  table.add(lanes<[](T a) -> U32 { return static_cast<U32>(std::countl_zero(a)); }>("clz." + type));
  table.add(lanes<[](T a) -> T { return reverse(a); }>("brev." + type));
  table.add(
      lanes<[](T a, T b, U32 pos, U32 len) -> T { return insert(a, b, pos, len); }>("bfi." + type));
}

/// lop3: bit i of the table, i = a·4 + b·2 + c. As a sum of minterms over whole vectors.
template <bool Masked>
void lop3(Context& x, const Op& op) {
  U32* d = x.lanes32(op.d);
  const U32* a = x.lanes32(op.a);
  const U32* b = x.lanes32(op.b);
  const U32* c = x.lanes32(op.c);
  const U32* mask = x.lane_mask.data();
  U32 term[8];
  for (U32 i = 0; i < 8; ++i) term[i] = (op.extra >> i & 1U) != 0 ? 0xffffffffU : 0U;
  BITGATE_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane) {
    const U32 va = a[lane];
    const U32 vb = b[lane];
    const U32 vc = c[lane];
    // A tree of bitwise selects: c chooses between neighbours, then b, then a.
    const U32 t0 = (vc & term[1]) | (~vc & term[0]);
    const U32 t1 = (vc & term[3]) | (~vc & term[2]);
    const U32 t2 = (vc & term[5]) | (~vc & term[4]);
    const U32 t3 = (vc & term[7]) | (~vc & term[6]);
    const U32 low = (vb & t1) | (~vb & t0);
    const U32 high = (vb & t3) | (~vb & t2);
    const U32 value = (va & high) | (~va & low);
    d[lane] = Masked ? (mask[lane] != 0 ? value : d[lane]) : value;
  }
}

/// lop3.BoolOp: also a predicate, (d ≠ 0) combined with a fourth source.
template <bool Masked, bool Or>
void lop3_predicate(Context& x, const Op& op) {
  lop3<Masked>(x, op);
  const U32* d = x.lanes32(op.d);
  U32 nonzero = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) nonzero |= d[lane] != 0 ? kLaneBit[lane] : 0U;
  const U32 q = x.predicate(op.e) ^ ((op.flip & 8U) != 0 ? kAllLanes : 0U);
  store_predicate(x, x.state->code->lists[op.list], Or ? nonzero | q : nonzero & q);
}

/// The tables that compilers write most often, as their few instructions.
template <auto F>
void use_plain(Op& op) {
  op.full = &SignatureOf<F>::template apply<false, F>;
  op.masked = &SignatureOf<F>::template apply<true, F>;
}

void use_lop3_sources(InstructionBuilder& builder) {
  builder.use(&Op::a, builder.operand(1), Kind::b32);
  builder.use(&Op::b, builder.operand(2), Kind::b32);
  builder.use(&Op::c, builder.operand(3), Kind::b32);
}

/// lop3.BoolOp.b32 d|p, a, b, c, table, {!}q
void decode_lop3_predicate(InstructionBuilder& builder) {
  const ptx::Operand& destination = builder.operand(0);
  if (destination.kind != ptx::Operand::Kind::pair || destination.elements.size() != 2) {
    throw Unsupported("lop3 with a BoolOp writes d|p");
  }
  builder.define(&Op::d, destination.elements[0], Kind::b32);
  builder.begin_list();
  builder.list_define(destination.elements[1], Kind::predicate);
  use_lop3_sources(builder);
  builder.use(&Op::e, builder.operand(5), Kind::predicate, Immediates::integer, 3);
  const bool is_or = builder.has("or");
  builder.op.full = is_or ? &lop3_predicate<false, true> : &lop3_predicate<false, false>;
  builder.op.masked = is_or ? &lop3_predicate<true, true> : &lop3_predicate<true, false>;
}

void decode_lop3(InstructionBuilder& builder) {
  const ptx::Operand& table = builder.operand(4);
  if (table.kind != ptx::Operand::Kind::immediate || table.immediate.bits > 255) {
    throw Unsupported("the table of lop3 is an immediate from 0 to 255");
  }
  builder.op.extra = static_cast<std::uint8_t>(table.immediate.bits);
  if (builder.has("or") || builder.has("and")) {
    decode_lop3_predicate(builder);
    return;
  }
  builder.op.full = &lop3<false>;
  builder.op.masked = &lop3<true>;
  switch (builder.op.extra) {
    case 0xc0:
      use_plain<[](U32 a, U32 b, U32) -> U32 { return a & b; }>(builder.op);
      break;
    case 0xea:
      use_plain<[](U32 a, U32 b, U32 c) -> U32 { return (a & b) | c; }>(builder.op);
      break;
    case 0x6a:
      use_plain<[](U32 a, U32 b, U32 c) -> U32 { return (a & b) ^ c; }>(builder.op);
      break;
    case 0x96:
      use_plain<[](U32 a, U32 b, U32 c) -> U32 { return a ^ b ^ c; }>(builder.op);
      break;
    case 0xfe:
      use_plain<[](U32 a, U32 b, U32 c) -> U32 { return a | b | c; }>(builder.op);
      break;
    case 0x80:
      use_plain<[](U32 a, U32 b, U32 c) -> U32 { return a & b & c; }>(builder.op);
      break;
    default:
      break;
  }
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  use_lop3_sources(builder);
}

/// prmt with a constant selector that replicates no sign: a byte shuffle of a and one of b, whose
/// four selectors each are the halves of Op::immediate (0x80: none).
template <bool Masked>
void shuffle_bytes(Context& x, const Op& op) {
  const auto selectors = static_cast<U64>(op.immediate);
  const __m256i lane_offset = _mm256_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0, 0x0c0c0c0c,
                                               0x08080808, 0x04040404, 0);
  const __m256i from_a = _mm256_or_si256(
      _mm256_set1_epi32(static_cast<int>(static_cast<U32>(selectors))), lane_offset);
  const __m256i from_b = _mm256_or_si256(
      _mm256_set1_epi32(static_cast<int>(static_cast<U32>(selectors >> 32))), lane_offset);
  const auto* a = reinterpret_cast<const __m256i*>(x.lanes32(op.a));
  const auto* b = reinterpret_cast<const __m256i*>(x.lanes32(op.b));
  auto* d = reinterpret_cast<__m256i*>(x.lanes32(op.d));
  const auto* mask = reinterpret_cast<const __m256i*>(x.lane_mask.data());
  for (int i = 0; i < 4; ++i) {
    __m256i value = _mm256_or_si256(_mm256_shuffle_epi8(_mm256_load_si256(a + i), from_a),
                                    _mm256_shuffle_epi8(_mm256_load_si256(b + i), from_b));
    if constexpr (Masked) {
      value = _mm256_blendv_epi8(_mm256_load_si256(d + i), value, _mm256_load_si256(mask + i));
    }
    _mm256_store_si256(d + i, value);
  }
}

/// prmt with a selector of each lane's own.
template <bool Masked>
void permute_bytes(Context& x, const Op& op) {
  const __m256i lane_offset = _mm256_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0, 0x0c0c0c0c,
                                               0x08080808, 0x04040404, 0);
  const auto* a = reinterpret_cast<const __m256i*>(x.lanes32(op.a));
  const auto* b = reinterpret_cast<const __m256i*>(x.lanes32(op.b));
  const auto* c = reinterpret_cast<const __m256i*>(x.lanes32(op.c));
  auto* d = reinterpret_cast<__m256i*>(x.lanes32(op.d));
  const auto* mask = reinterpret_cast<const __m256i*>(x.lane_mask.data());
  const __m256i of_b = _mm256_set1_epi8(4);
  const __m256i replicate = _mm256_set1_epi8(8);
  for (int i = 0; i < 4; ++i) {
    // Four selectors of 4 bits become the four bytes of a lane.
    __m256i s = _mm256_and_si256(_mm256_load_si256(c + i), _mm256_set1_epi32(0xffff));
    s = _mm256_and_si256(_mm256_or_si256(s, _mm256_slli_epi32(s, 8)),
                         _mm256_set1_epi32(0x00ff00ff));
    s = _mm256_and_si256(_mm256_or_si256(s, _mm256_slli_epi32(s, 4)),
                         _mm256_set1_epi32(0x0f0f0f0f));
    const __m256i index = _mm256_or_si256(_mm256_and_si256(s, _mm256_set1_epi8(3)), lane_offset);
    // An index with its top bit set reads 0.
    const __m256i not_a = _mm256_slli_epi32(_mm256_and_si256(s, of_b), 5);
    const __m256i not_b = _mm256_slli_epi32(_mm256_andnot_si256(s, of_b), 5);
    const __m256i byte = _mm256_or_si256(
        _mm256_shuffle_epi8(_mm256_load_si256(a + i), _mm256_or_si256(index, not_a)),
        _mm256_shuffle_epi8(_mm256_load_si256(b + i), _mm256_or_si256(index, not_b)));
    const __m256i sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), byte);
    __m256i value = _mm256_blendv_epi8(
        byte, sign, _mm256_cmpeq_epi8(_mm256_and_si256(s, replicate), replicate));
    if constexpr (Masked) {
      value = _mm256_blendv_epi8(_mm256_load_si256(d + i), value, _mm256_load_si256(mask + i));
    }
    _mm256_store_si256(d + i, value);
  }
}

void decode_prmt(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  builder.use(&Op::a, builder.operand(1), Kind::b32);
  builder.use(&Op::b, builder.operand(2), Kind::b32);
  builder.use(&Op::c, builder.operand(3), Kind::b32);
  const ptx::Operand& selector = builder.operand(3);
  if (selector.kind == ptx::Operand::Kind::immediate && (selector.immediate.bits & 0x8888U) == 0) {
    U64 shuffles = 0;
    for (U32 i = 0; i < 4; ++i) {
      const U64 byte = selector.immediate.bits >> (4 * i) & 7U;
      shuffles |= (byte < 4 ? byte : 0x80U) << (8 * i);
      shuffles |= (byte >= 4 ? byte - 4 : 0x80U) << (8 * i + 32);
    }
    builder.op.immediate = static_cast<std::int64_t>(shuffles);
    builder.op.full = &shuffle_bytes<false>;
    builder.op.masked = &shuffle_bytes<true>;
    return;
  }
  builder.op.full = &permute_bytes<false>;
  builder.op.masked = &permute_bytes<true>;
}

/// szext: the low `width` bits, extended by zeros or by their sign.
template <bool Clamp, bool Signed>
constexpr U32 extend_from(U32 a, U32 width) {
  if (Clamp && width >= 32) return a;
  const U32 n = width & 31U;
  if (n == 0) return 0;
  const U32 kept = a & ((1U << n) - 1);
  const U32 sign = Signed ? 1U << (n - 1) : 0U;
  return (kept ^ sign) - sign;
}

template <bool Clamp>
[[gnu::cold]] void szext_rows(DecodeTable& table, const std::string& mode) {
  table.add(lanes<[](U32 a, U32 width) -> U32 { return extend_from<Clamp, false>(a, width); }>(
      "szext." + mode + ".u32"));
  table.add(lanes<[](U32 a, U32 width) -> U32 { return extend_from<Clamp, true>(a, width); }>(
      "szext." + mode + ".s32"));
}

enum class Logic : std::uint8_t { land, lor, lxor, lnot };

template <Logic L>
void predicate_logic(Context& x, const Op& op) {
  const U32 a = x.predicate(op.a) ^ ((op.flip & 1U) != 0 ? kAllLanes : 0U);
  const U32 b = x.predicate(op.b) ^ ((op.flip & 2U) != 0 ? kAllLanes : 0U);
  U32 value = 0;
  switch (L) {
    case Logic::land:
      value = a & b;
      break;
    case Logic::lor:
      value = a | b;
      break;
    case Logic::lxor:
      value = a ^ b;
      break;
    case Logic::lnot:
      value = ~a;
      break;
  }
  store_predicate(x, op.d, value);
}

template <Logic L>
[[gnu::cold]] void predicate_row(DecodeTable& table, const std::string& mnemonic) {
  DecodeTable::Row row;
  row.mnemonic = mnemonic;
  row.operands.assign(L == Logic::lnot ? 2 : 3, Kind::predicate);
  row.full = &predicate_logic<L>;
  row.masked = row.full;
  table.add(row);
}

}  // namespace

[[gnu::cold]] void add_bit_rows(DecodeTable& table) {
  logic_rows<U16>(table, "b16");
  logic_rows<U32>(table, "b32");
  logic_rows<U64>(table, "b64");
  field_rows<U16>(table);
  field_rows<std::int16_t>(table);
  field_rows<U32>(table);
  field_rows<std::int32_t>(table);
  field_rows<U64>(table);
  field_rows<std::int64_t>(table);
  count_rows<U32>(table, "b32");
  count_rows<U64>(table, "b64");
  predicate_row<Logic::land>(table, "and.pred");
  predicate_row<Logic::lor>(table, "or.pred");
  predicate_row<Logic::lxor>(table, "xor.pred");
  predicate_row<Logic::lnot>(table, "not.pred");

  table.decoder("prmt.b32", &decode_prmt);
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return permute<Permute::f4e>(a, b, c); }>(
      "prmt.b32.f4e"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return permute<Permute::b4e>(a, b, c); }>(
      "prmt.b32.b4e"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return permute<Permute::rc8>(a, b, c); }>(
      "prmt.b32.rc8"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return permute<Permute::ecl>(a, b, c); }>(
      "prmt.b32.ecl"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return permute<Permute::ecr>(a, b, c); }>(
      "prmt.b32.ecr"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return permute<Permute::rc16>(a, b, c); }>(
      "prmt.b32.rc16"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return funnel<true, true>(a, b, c); }>(
      "shf.l.wrap.b32"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return funnel<true, false>(a, b, c); }>(
      "shf.l.clamp.b32"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return funnel<false, true>(a, b, c); }>(
      "shf.r.wrap.b32"));
  table.add(lanes<[](U32 a, U32 b, U32 c) -> U32 { return funnel<false, false>(a, b, c); }>(
      "shf.r.clamp.b32"));
  table.add(lanes<[](U32 mask, U32 base, std::int32_t offset) -> U32 {
    return find_nth_set(mask, base, offset);
  }>("fns.b32"));
  table.decoder("lop3", &decode_lop3);
  table.forms("lop3", {"lop3{,.or,.and}.b32"});
  szext_rows<true>(table, "clamp");
  szext_rows<false>(table, "wrap");
  table.add(lanes<[](U32 position, U32 width) -> U32 {
    if (position >= 32 || width == 0) return 0;
    return (width >= 32 ? 0xffffffffU : (1U << width) - 1) << position;
  }>("bmsk.clamp.b32"));
  table.add(lanes<[](U32 position, U32 width) -> U32 {
    return ((1U << (width & 31U)) - 1) << (position & 31U);
  }>("bmsk.wrap.b32"));
}

}  // namespace bitgate::machine
