#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"

// atom and red (PTX ISA 9.7.13.5, 9.7.13.6): lane after lane, in ascending order; of a vector,
// element after element. Scopes and orders change nothing: memory is sequentially consistent here.
//
// Measured on an H200, in global memory alone: an addition of f32, by atom, red or vector, flushes
// subnormal operands and results to zeros of the same sign; one of f64 keeps a signalling NaN as it
// is.

namespace bitgate::machine {

namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

/// The 16-bit float types, one element at a time.
template <bool Bfloat>
struct Sixteen {
  static float read(U16 bits) {
    if constexpr (Bfloat) return numeric::to_float(numeric::BFloat16{bits});
    return numeric::to_float(numeric::Half{bits});
  }
  static U16 add(U16 a, U16 b) {
    // The sum of two is exact in f64, or so far from a tie that rounding twice changes nothing.
    const double sum = static_cast<double>(read(a)) + static_cast<double>(read(b));
    return Bfloat ? numeric::to_bfloat16(sum).bits : numeric::to_half(sum).bits;
  }
  static U16 extreme(U16 a, U16 b, bool smaller) {
    const float x = read(a);
    const float y = read(b);
    if (x != x) return y != y ? U16{0x7fff} : b;
    if (y != y) return a;
    // -0 is below +0.
    if (x == y) return ((a & 0x8000U) != 0) == smaller ? a : b;
    return (x < y) == smaller ? a : b;
  }
  static U16 minimum(U16 a, U16 b) { return extreme(a, b, true); }
  static U16 maximum(U16 a, U16 b) { return extreme(a, b, false); }
};

template <U16 (*F)(U16, U16)>
U32 in_both_halves(U32 a, U32 b) {
  return static_cast<U32>(F(static_cast<U16>(a >> 16), static_cast<U16>(b >> 16))) << 16 |
         F(static_cast<U16>(a), static_cast<U16>(b));
}

U32 add_f32(U32 a, U32 b) {
  return std::bit_cast<U32>(canonical(std::bit_cast<float>(a) + std::bit_cast<float>(b)));
}

U32 add_f32_flushed(U32 a, U32 b) {
  const float sum = flush(std::bit_cast<float>(a)) + flush(std::bit_cast<float>(b));
  return std::bit_cast<U32>(canonical(flush(sum)));
}

U64 add_f64(U64 a, U64 b, bool keeps_signalling) {
  const double x = std::bit_cast<double>(a);
  const double y = std::bit_cast<double>(b);
  if (keeps_signalling && is_nan(y)) return b;
  if (keeps_signalling && is_nan(x)) return a;
  if (is_nan(y)) return std::bit_cast<U64>(quiet(y));
  if (is_nan(x)) return std::bit_cast<U64>(quiet(x));
  return std::bit_cast<U64>(x + y);
}

/// Where the operands of one lane's operation are; `global` is of the address.
template <class T>
struct Values {
  T old{};
  T b{};
  T c{};
  bool global = false;
};

template <class T>
T add(const Values<T>& v) {
  return static_cast<T>(v.old + v.b);
}
template <class T, class As>
T minimum(const Values<T>& v) {
  return static_cast<T>(std::min(static_cast<As>(v.old), static_cast<As>(v.b)));
}
template <class T, class As>
T maximum(const Values<T>& v) {
  return static_cast<T>(std::max(static_cast<As>(v.old), static_cast<As>(v.b)));
}
template <class T>
T bit_and(const Values<T>& v) {
  return static_cast<T>(v.old & v.b);
}
template <class T>
T bit_or(const Values<T>& v) {
  return static_cast<T>(v.old | v.b);
}
template <class T>
T bit_xor(const Values<T>& v) {
  return static_cast<T>(v.old ^ v.b);
}
template <class T>
T exchange(const Values<T>& v) {
  return v.b;
}
template <class T>
T compare_and_swap(const Values<T>& v) {
  return v.old == v.b ? v.c : v.old;
}
U32 increment(const Values<U32>& v) { return v.old >= v.b ? 0 : v.old + 1; }
U32 decrement(const Values<U32>& v) { return v.old == 0 || v.old > v.b ? v.b : v.old - 1; }
U32 add_single(const Values<U32>& v) {
  return v.global ? add_f32_flushed(v.old, v.b) : add_f32(v.old, v.b);
}
U64 add_double(const Values<U64>& v) { return add_f64(v.old, v.b, v.global); }
template <U16 (*F)(U16, U16)>
U16 one_half(const Values<U16>& v) {
  return F(v.old, v.b);
}
template <U16 (*F)(U16, U16)>
U32 two_halves(const Values<U32>& v) {
  return in_both_halves<F>(v.old, v.b);
}

/// Op::extra: whether the base has 32 bits, and the space.
constexpr unsigned kSpaceShift = 4;

Space space_in(const Op& op) { return static_cast<Space>(op.extra >> kSpaceShift); }

bool is_in_global_memory(const Context& x, const Op& op, std::size_t lane) {
  if (space_in(op) != Space::generic) return space_in(op) == Space::global;
  return space_of(x.lanes64(op.a)[lane] + static_cast<U64>(op.immediate)) == Space::global;
}

/// Lists: the number of elements, then d, b and c of each.
template <class T, T (*F)(const Values<T>&)>
void atomic(Context& x, const Op& op) {
  const U32* lists = x.state->code->lists.data() + op.list;
  const U32 count = lists[0];
  HostAddresses host;
  locate_in_space(x, op, space_in(op), static_cast<U32>(sizeof(T)) * count, Access::write, host);
  each_lane(x.active, [&](std::size_t lane) {
    for (U32 i = 0; i < count; ++i) {
      const U32* at = lists + 1 + std::size_t{3} * i;
      const auto read = [&](U32 offset) {
        return static_cast<T>(reinterpret_cast<const Stored<T>*>(x.registers + offset)[lane]);
      };
      std::byte* const place = host[lane] + i * sizeof(T);
      Values<T> v;
      std::memcpy(&v.old, place, sizeof(T));
      v.b = read(at[1]);
      v.c = read(at[2]);
      v.global = is_in_global_memory(x, op, lane);
      const T value = F(v);
      std::memcpy(place, &value, sizeof(T));
      reinterpret_cast<Stored<T>*>(x.registers + at[0])[lane] = v.old;
    }
  });
}

/// exch and cas of 128 bits.
template <bool Compares>
void atomic_128(Context& x, const Op& op) {
  const U32* at = x.state->code->lists.data() + op.list + 1;
  HostAddresses host;
  locate_in_space(x, op, space_in(op), 16, Access::write, host);
  const auto half = [&](U32 offset, std::size_t lane, std::size_t part) -> U64& {
    return x.lanes64(offset)[part * kLanes + lane];
  };
  each_lane(x.active, [&](std::size_t lane) {
    std::array<U64, 2> old{};
    std::memcpy(old.data(), host[lane], 16);
    const bool equal = old[0] == half(at[1], lane, 0) && old[1] == half(at[1], lane, 1);
    const U32 source = Compares ? at[2] : at[1];
    const std::array<U64, 2> value{half(source, lane, 0), half(source, lane, 1)};
    if (!Compares || equal) std::memcpy(host[lane], value.data(), 16);
    half(at[0], lane, 0) = old[0];
    half(at[0], lane, 1) = old[1];
  });
}

template <class T, class Signed>
Handler integer_atomic(std::string_view operation, bool is_signed) {
  if (operation == "add") return &atomic<T, &add<T>>;
  if (operation == "min") {
    return is_signed ? &atomic<T, &minimum<T, Signed>> : &atomic<T, &minimum<T, T>>;
  }
  if (operation == "max") {
    return is_signed ? &atomic<T, &maximum<T, Signed>> : &atomic<T, &maximum<T, T>>;
  }
  if (operation == "and") return &atomic<T, &bit_and<T>>;
  if (operation == "or") return &atomic<T, &bit_or<T>>;
  if (operation == "xor") return &atomic<T, &bit_xor<T>>;
  if (operation == "exch") return &atomic<T, &exchange<T>>;
  if (operation == "cas") return &atomic<T, &compare_and_swap<T>>;
  if constexpr (sizeof(T) == 4) {
    if (operation == "inc") return &atomic<T, &increment>;
    if (operation == "dec") return &atomic<T, &decrement>;
  }
  return nullptr;
}

template <bool Bfloat>
Handler half_atomic(std::string_view operation, bool packed) {
  using H = Sixteen<Bfloat>;
  if (operation == "add") {
    return packed ? &atomic<U32, &two_halves<&H::add>> : &atomic<U16, &one_half<&H::add>>;
  }
  if (operation == "min") {
    return packed ? &atomic<U32, &two_halves<&H::minimum>> : &atomic<U16, &one_half<&H::minimum>>;
  }
  if (operation == "max") {
    return packed ? &atomic<U32, &two_halves<&H::maximum>> : &atomic<U16, &one_half<&H::maximum>>;
  }
  return nullptr;
}

Handler choose(std::string_view operation, std::string_view type) {
  if (type == "u32" || type == "b32") return integer_atomic<U32, S32>(operation, false);
  if (type == "s32") return integer_atomic<U32, S32>(operation, true);
  if (type == "u64" || type == "b64") return integer_atomic<U64, S64>(operation, false);
  if (type == "s64") return integer_atomic<U64, S64>(operation, true);
  if (type == "f16") return half_atomic<false>(operation, false);
  if (type == "f16x2") return half_atomic<false>(operation, true);
  if (type == "bf16") return half_atomic<true>(operation, false);
  if (type == "bf16x2") return half_atomic<true>(operation, true);
  if (type == "f32" && operation == "add") return &atomic<U32, &add_single>;
  if (type == "f64" && operation == "add") return &atomic<U64, &add_double>;
  if (type == "b16" && operation == "cas") return &atomic<U16, &compare_and_swap<U16>>;
  if (type == "b128" && operation == "cas") return &atomic_128<true>;
  if (type == "b128" && operation == "exch") return &atomic_128<false>;
  return nullptr;
}

Space space_of_atomic(const InstructionBuilder& builder) {
  if (builder.has("global")) return Space::global;
  if (builder.has("shared") || builder.has("shared::cta")) return Space::shared;
  if (builder.has("shared::cluster")) {
    builder.require_no_clusters();
    return Space::shared;
  }
  return Space::generic;
}

std::vector<ptx::Operand> elements_of(const ptx::Operand& operand, std::size_t count) {
  if (count == 1) return {operand};
  if (operand.kind == ptx::Operand::Kind::sink) return std::vector<ptx::Operand>(count, operand);
  if (operand.kind != ptx::Operand::Kind::vector || operand.elements.size() != count) {
    throw Unsupported("the operand is no vector of that many elements");
  }
  return operand.elements;
}

void decode(InstructionBuilder& builder, bool is_reduction) {
  // atom{.sem}{.scope}{.space}.op{.noftz}{.level::cache_hint}{.vec}.type d, [a], b{, c}; red
  // without d
  if (builder.has("async")) throw Unsupported("asynchronous reductions are of clusters");
  static constexpr std::array<std::string_view, 10> kOperations{"add", "min",  "max", "and", "or",
                                                                "xor", "exch", "cas", "inc", "dec"};
  std::string_view operation;
  for (const std::string_view candidate : kOperations) {
    if (builder.has(candidate)) operation = candidate;
  }
  if (operation.empty()) throw Unsupported("an atomic without its operation");
  const std::string& type = builder.text.modifiers.back();
  const std::size_t count = builder.has("v2")   ? 2
                            : builder.has("v4") ? 4
                            : builder.has("v8") ? 8
                                                : 1;
  const auto bytes = type_bytes(type);
  const Handler handler = choose(operation, type);
  if (handler == nullptr || !bytes || *bytes * count > 16) {
    throw Unsupported(std::string("the atomic .") + std::string(operation) + "." + type);
  }
  const Kind kind = *bytes == 16 ? Kind::b128 : *bytes == 8 ? Kind::b64 : Kind::b32;
  const Immediates immediates = type == "f32"   ? Immediates::f32
                                : type == "f64" ? Immediates::f64
                                                : Immediates::integer;
  ptx::Operand sink;
  sink.kind = ptx::Operand::Kind::sink;
  std::size_t next = 0;
  const auto results = elements_of(is_reduction ? sink : builder.operand(next++), count);
  const ptx::Operand& place = builder.operand(next++);
  const auto address = builder.address(&Op::a, place);
  const auto sources = elements_of(builder.operand(next), count);
  const bool compares = operation == "cas";
  const auto swapped = compares ? elements_of(builder.operand(next + 1), count) : sources;

  Space space = space_of_atomic(builder);
  if (space == Space::generic && address.symbol_space != Space::generic) {
    space = address.symbol_space;
  }
  if (space != Space::generic && space != Space::global && space != Space::shared) {
    throw Unsupported("an atomic in that state space");
  }
  builder.op.extra = static_cast<std::uint8_t>(static_cast<unsigned>(space) << kSpaceShift);
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  builder.begin_list();
  builder.list_raw(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    builder.list_define(results[i], kind);
    builder.list_use(sources[i], kind, immediates);
    builder.list_use(swapped[i], kind, immediates);
  }
  builder.use_allocation_cache();
  builder.communicates();
  builder.op.full = handler;
  builder.op.masked = handler;
}

void decode_atom(InstructionBuilder& builder) { decode(builder, false); }
void decode_red(InstructionBuilder& builder) { decode(builder, true); }

}  // namespace

void add_atomic_rows(DecodeTable& table) {
  table.decoder("atom", &decode_atom);
  table.forms(
      "atom",
      {"atom{,.global,.shared}.add.{u32,s32,u64,s64,f32,f64}",
       "atom{,.global,.shared}.add.noftz.{f16,f16x2,bf16,bf16x2}",
       "atom{,.global,.shared}.{min,max}.{u32,s32,u64,s64}", "atom{,.global,.shared}.{inc,dec}.u32",
       "atom{,.global,.shared}.{and,or,xor}.{b32,b64}",
       "atom{,.global,.shared}.exch.{b32,b64,b128}",
       "atom{,.global,.shared}.cas.{b16,b32,b64,b128}", "atom.global.add.{v2,v4}.f32",
       "atom.global.{add,min,max}.noftz.{v2,v4,v8}.{f16,bf16}",
       "atom.global.{add,min,max}.noftz.{v2,v4}.{f16x2,bf16x2}"});
  table.decoder("red", &decode_red);
  table.forms(
      "red", {"red{,.global,.shared}.add.{u32,s32,u64,s64,f32,f64}",
              "red{,.global,.shared}.add.noftz.{f16,f16x2,bf16,bf16x2}",
              "red{,.global,.shared}.{min,max}.{u32,s32,u64,s64}",
              "red{,.global,.shared}.{inc,dec}.u32", "red{,.global,.shared}.{and,or,xor}.{b32,b64}",
              "red.global.add.{v2,v4}.f32", "red.global.{add,min,max}.noftz.{v2,v4,v8}.{f16,bf16}",
              "red.global.{add,min,max}.noftz.{v2,v4}.{f16x2,bf16x2}"});
}

}  // namespace bitgate::machine
