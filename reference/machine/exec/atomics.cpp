#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

// atom and red (PTX ISA 9.7.13.5, 9.7.13.6): lane after lane, in ascending order.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

enum class Atomic : std::uint8_t {
  add,
  add_float,
  add_float_flushed,
  minimum,
  maximum,
  land,
  lor,
  lxor,
  exchange,
  compare_and_swap,
  increment,
  decrement
};

template <class T, Atomic A>
T combine(T old, T b, [[maybe_unused]] T c) {
  using Un = std::conditional_t<sizeof(T) == 8, U64, U32>;
  switch (A) {
    case Atomic::add:
      return static_cast<T>(static_cast<Un>(old) + static_cast<Un>(b));
    case Atomic::add_float:
    case Atomic::add_float_flushed:
      if constexpr (sizeof(T) == 4) {
        float x = std::bit_cast<float>(old);
        float y = std::bit_cast<float>(b);
        if constexpr (A == Atomic::add_float_flushed) {
          return std::bit_cast<T>(canonical(flush(flush(x) + flush(y))));
        }
        return std::bit_cast<T>(canonical(x + y));
      } else {
        const double x = std::bit_cast<double>(old);
        const double y = std::bit_cast<double>(b);
        if (is_nan(y)) return std::bit_cast<T>(quiet(y));
        if (is_nan(x)) return std::bit_cast<T>(quiet(x));
        return std::bit_cast<T>(x + y);
      }
    case Atomic::minimum:
      return std::min(old, b);
    case Atomic::maximum:
      return std::max(old, b);
    case Atomic::land:
      return old & b;
    case Atomic::lor:
      return old | b;
    case Atomic::lxor:
      return old ^ b;
    case Atomic::exchange:
      return b;
    case Atomic::compare_and_swap:
      return old == b ? c : old;
    case Atomic::increment:
      return old >= b ? T{0} : static_cast<T>(static_cast<Un>(old) + 1);
    case Atomic::decrement:
      return old == 0 || old > b ? b : static_cast<T>(static_cast<Un>(old) - 1);
  }
  return old;
}

template <Space S, class T, Atomic A>
void atomic(Context& x, const Op& op) {
  HostAddresses host;
  locate<S>(x, op, sizeof(T), Access::write, host);
  const U32* lists = x.state->code->lists.data() + op.list;
  const auto* b = reinterpret_cast<const T*>(x.registers + lists[0]);
  const auto* c = reinterpret_cast<const T*>(x.registers + lists[1]);
  auto* d = reinterpret_cast<T*>(x.registers + op.d);
  each_lane(x.active, [&](std::size_t lane) {
    T old;
    std::memcpy(&old, host[lane], sizeof(T));
    const T value = combine<T, A>(old, b[lane], c[lane]);
    std::memcpy(host[lane], &value, sizeof(T));
    d[lane] = old;
  });
}

template <class T, Atomic A>
Handler in_space(Space space) {
  switch (space) {
    case Space::generic:
      return &atomic<Space::generic, T, A>;
    case Space::global:
      return &atomic<Space::global, T, A>;
    case Space::shared:
      return &atomic<Space::shared, T, A>;
    case Space::local:
    case Space::constant:
    case Space::parameter:
      break;
  }
  throw Unsupported("an atomic in that state space");
}

template <class T>
Handler integer_atomic(const std::string& operation, Space space) {
  if (operation == "add") return in_space<T, Atomic::add>(space);
  if (operation == "min") return in_space<T, Atomic::minimum>(space);
  if (operation == "max") return in_space<T, Atomic::maximum>(space);
  if (operation == "and") return in_space<T, Atomic::land>(space);
  if (operation == "or") return in_space<T, Atomic::lor>(space);
  if (operation == "xor") return in_space<T, Atomic::lxor>(space);
  if (operation == "exch") return in_space<T, Atomic::exchange>(space);
  if (operation == "cas") return in_space<T, Atomic::compare_and_swap>(space);
  if (operation == "inc") return in_space<T, Atomic::increment>(space);
  if (operation == "dec") return in_space<T, Atomic::decrement>(space);
  throw Unsupported("the atomic ." + operation);
}

Handler choose(const std::string& operation, const std::string& type, Space space,
               bool is_reduction) {
  if (type == "u32" || type == "b32") return integer_atomic<U32>(operation, space);
  if (type == "s32") return integer_atomic<std::int32_t>(operation, space);
  if (type == "u64" || type == "b64") return integer_atomic<U64>(operation, space);
  if (type == "s64") return integer_atomic<std::int64_t>(operation, space);
  if (operation == "add" && type == "f32") {
    // Measured: atom.add.f32 flushes subnormals in global memory, nowhere else.
    return space == Space::global && !is_reduction ? in_space<U32, Atomic::add_float_flushed>(space)
                                                   : in_space<U32, Atomic::add_float>(space);
  }
  if (operation == "add" && type == "f64") return in_space<U64, Atomic::add_float>(space);
  throw Unsupported("the atomic ." + operation + "." + type);
}

void decode(InstructionBuilder& builder, bool is_reduction) {
  // atom{.sem}{.scope}{.space}.op.type d, [a], b{, c}; red without d
  const auto& modifiers = builder.text.modifiers;
  if (modifiers.size() < 2) throw Unsupported("an atomic without its operation");
  if (builder.has("async") || builder.has("v2") || builder.has("v4") || builder.has("v8")) {
    throw Unsupported("asynchronous and vector atomics are not implemented");
  }
  const std::string& type = modifiers.back();
  const std::string& operation = modifiers[modifiers.size() - 2];
  Space space = Space::generic;
  if (builder.has("global")) space = Space::global;
  if (builder.has("shared") || builder.has("shared::cta")) space = Space::shared;
  if (builder.has("shared::cluster")) throw Unsupported("shared memory of a cluster");
  const auto bytes = type_bytes(type);
  if (!bytes || (*bytes != 4 && *bytes != 8)) throw Unsupported("an atomic of type ." + type);
  const Kind kind = *bytes == 8 ? Kind::b64 : Kind::b32;
  const Immediates immediates = type == "f32"   ? Immediates::f32
                                : type == "f64" ? Immediates::f64
                                                : Immediates::integer;
  ptx::Operand sink;
  sink.kind = ptx::Operand::Kind::sink;
  std::size_t next = 0;
  builder.define(&Op::d, is_reduction ? sink : builder.operand(next++), kind);
  const auto address = builder.address(&Op::a, builder.operand(next++));
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  if (space == Space::generic && address.symbol_space != Space::generic) {
    space = address.symbol_space;
  }
  builder.begin_list();
  builder.list_use(builder.operand(next), kind, immediates);
  builder.list_use(builder.operand(operation == "cas" ? next + 1 : next), kind, immediates);
  builder.use_allocation_cache();
  builder.communicates();
  builder.op.full = choose(operation, type, space, is_reduction);
  builder.op.masked = builder.op.full;
}

void decode_atom(InstructionBuilder& builder) { decode(builder, false); }
void decode_red(InstructionBuilder& builder) { decode(builder, true); }

}  // namespace

void add_atomic_rows(DecodeTable& table) {
  table.decoder("atom", &decode_atom);
  table.decoder("red", &decode_red);
}

}  // namespace bitgate::machine
