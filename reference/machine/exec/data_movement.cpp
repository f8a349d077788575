#include <cstdint>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

// mov, with its forms that pack and unpack vectors (PTX ISA 9.7.9.4, 9.7.9.5).

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

void move_predicate(Context& x, const Op& op) {
  store_predicate(x, op.d, x.predicate(op.a) ^ ((op.flip & 1U) != 0 ? kAllLanes : 0U));
}

/// %clock, %clock64 and %globaltimer: the warp's own count of its readings.
template <class Lane>
void move_clock(Context& x, const Op& op) {
  constexpr std::uint64_t kStep = 32;
  auto* d = reinterpret_cast<Lane*>(x.registers + op.d);
  x.warp->clock += kStep;
  each_lane(x.active,
            [&](std::size_t lane) { d[lane] = static_cast<Lane>(x.warp->clock >> op.immediate); });
}

/// `Parts` elements of `Bits` each, the first lowest, into one register.
template <class Whole, unsigned Bits, unsigned Parts>
void pack(Context& x, const Op& op) {
  auto* d = reinterpret_cast<Whole*>(x.registers + op.d);
  const U32* parts = x.state->code->lists.data() + op.list;
  constexpr U32 kMask = Bits == 32 ? 0xffffffffU : (1U << Bits) - 1;
  const U32* source[Parts];
  for (unsigned i = 0; i < Parts; ++i) source[i] = x.lanes32(parts[i]);
  const auto lane_value = [&](std::size_t lane) {
    Whole value = 0;
    for (unsigned i = 0; i < Parts; ++i) {
      value |= static_cast<Whole>(source[i][lane] & kMask) << (i * Bits);
    }
    return value;
  };
  if (x.active == kAllLanes) {
    BITGATE_LANE_LOOP
    for (std::size_t lane = 0; lane < kLanes; ++lane) d[lane] = lane_value(lane);
  } else {
    each_lane(x.active, [&](std::size_t lane) { d[lane] = lane_value(lane); });
  }
}

template <class Whole, unsigned Bits, unsigned Parts>
void unpack(Context& x, const Op& op) {
  const auto* a = reinterpret_cast<const Whole*>(x.registers + op.a);
  const U32* parts = x.state->code->lists.data() + op.list;
  constexpr U32 kMask = Bits == 32 ? 0xffffffffU : (1U << Bits) - 1;
  for (unsigned i = 0; i < Parts; ++i) {
    U32* d = x.lanes32(parts[i]);
    if (x.active == kAllLanes) {
      BITGATE_LANE_LOOP
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        d[lane] = static_cast<U32>(a[lane] >> (i * Bits)) & kMask;
      }
    } else {
      each_lane(x.active, [&](std::size_t lane) {
        d[lane] = static_cast<U32>(a[lane] >> (i * Bits)) & kMask;
      });
    }
  }
}

// A register of 128 bits is two arrays of 64-bit lanes, the lower halves first.
void pack_128(Context& x, const Op& op) {
  U64* d = x.lanes64(op.d);
  const U32* parts = x.state->code->lists.data() + op.list;
  each_lane(x.active, [&](std::size_t lane) {
    for (std::size_t half = 0; half < 2; ++half) {
      d[half * kLanes + lane] = op.extra == 2
                                    ? x.lanes64(parts[half])[lane]
                                    : static_cast<U64>(x.lanes32(parts[2 * half + 1])[lane]) << 32 |
                                          x.lanes32(parts[2 * half])[lane];
    }
  });
}

void unpack_128(Context& x, const Op& op) {
  const U64* a = x.lanes64(op.a);
  const U32* parts = x.state->code->lists.data() + op.list;
  each_lane(x.active, [&](std::size_t lane) {
    for (std::size_t half = 0; half < 2; ++half) {
      const U64 value = a[half * kLanes + lane];
      if (op.extra == 2) {
        x.lanes64(parts[half])[lane] = value;
      } else {
        x.lanes32(parts[2 * half])[lane] = static_cast<U32>(value);
        x.lanes32(parts[2 * half + 1])[lane] = static_cast<U32>(value >> 32);
      }
    }
  });
}

void move_128(Context& x, const Op& op) {
  const U64* a = x.lanes64(op.a);
  U64* d = x.lanes64(op.d);
  each_lane(x.active, [&](std::size_t lane) {
    d[lane] = a[lane];
    d[kLanes + lane] = a[kLanes + lane];
  });
}

void set_both(Op& op, Handler handler) {
  op.full = handler;
  op.masked = handler;
}

void decode_vector_mov(InstructionBuilder& builder, std::uint32_t bytes) {
  const ptx::Operand& destination = builder.operand(0);
  const ptx::Operand& source = builder.operand(1);
  const bool packs = source.kind == ptx::Operand::Kind::vector;
  if (packs && destination.kind == ptx::Operand::Kind::vector) {
    throw Unsupported("mov from a vector to a vector");
  }
  const auto& elements = packs ? source.elements : destination.elements;
  if (elements.size() != 2 && elements.size() != 4) {
    throw Unsupported("mov of a vector of that many elements");
  }
  const unsigned bits = bytes * 8 / static_cast<unsigned>(elements.size());
  const Kind whole = bytes == 16 ? Kind::b128 : bytes == 8 ? Kind::b64 : Kind::b32;
  const Kind part = bits == 64 ? Kind::b64 : Kind::b32;
  builder.begin_list();
  for (const ptx::Operand& element : elements) {
    if (packs) {
      builder.list_use(element, part);
    } else {
      builder.list_define(element, part);
    }
  }
  if (packs) {
    builder.define(&Op::d, destination, whole);
  } else {
    builder.use(&Op::a, source, whole);
  }
  builder.op.extra = static_cast<std::uint8_t>(elements.size());
  if (bytes == 16) {
    set_both(builder.op, packs ? &pack_128 : &unpack_128);
  } else if (bytes == 8 && bits == 32) {
    set_both(builder.op, packs ? &pack<U64, 32, 2> : &unpack<U64, 32, 2>);
  } else if (bytes == 8 && bits == 16) {
    set_both(builder.op, packs ? &pack<U64, 16, 4> : &unpack<U64, 16, 4>);
  } else if (bytes == 4 && bits == 16) {
    set_both(builder.op, packs ? &pack<U32, 16, 2> : &unpack<U32, 16, 2>);
  } else if (bytes == 4 && bits == 8) {
    set_both(builder.op, packs ? &pack<U32, 8, 4> : &unpack<U32, 8, 4>);
  } else if (bytes == 2 && bits == 8) {
    set_both(builder.op, packs ? &pack<U32, 8, 2> : &unpack<U32, 8, 2>);
  } else {
    throw Unsupported("mov of a vector of that shape");
  }
}

void decode_mov(InstructionBuilder& builder) {
  if (builder.text.modifiers.empty()) throw Unsupported("mov without a type");
  const std::string& type = builder.text.modifiers.back();
  const ptx::Operand& source = builder.operand(1);
  if (type == "pred") {
    builder.define(&Op::d, builder.operand(0), Kind::predicate);
    builder.use(&Op::a, source, Kind::predicate);
    set_both(builder.op, &move_predicate);
    return;
  }
  const auto bytes = type_bytes(type);
  if (!bytes || *bytes < 2) throw Unsupported("mov of type ." + type);
  if (source.kind == ptx::Operand::Kind::vector ||
      builder.operand(0).kind == ptx::Operand::Kind::vector) {
    decode_vector_mov(builder, *bytes);
    return;
  }
  if (*bytes == 16) {
    builder.define(&Op::d, builder.operand(0), Kind::b128);
    builder.use(&Op::a, source, Kind::b128);
    set_both(builder.op, &move_128);
    return;
  }
  const Kind kind = *bytes == 8 ? Kind::b64 : Kind::b32;
  builder.define(&Op::d, builder.operand(0), kind);
  if (source.kind == ptx::Operand::Kind::special &&
      (source.name.starts_with("%clock") || source.name.starts_with("%globaltimer"))) {
    builder.op.immediate = source.name.ends_with("_hi") ? 32 : 0;
    set_both(builder.op, kind == Kind::b64 ? &move_clock<U64> : &move_clock<U32>);
    return;
  }
  builder.use(&Op::a, source, kind,
              type == "f32"   ? Immediates::f32
              : type == "f64" ? Immediates::f64
                              : Immediates::integer);
  if (kind == Kind::b64) {
    constexpr auto move = [](U64 a) -> U64 { return a; };
    builder.op.full = &SignatureOf<move>::apply<false, move>;
    builder.op.masked = &SignatureOf<move>::apply<true, move>;
  } else if (*bytes == 2) {
    constexpr auto move = [](std::uint16_t a) -> std::uint16_t { return a; };
    builder.op.full = &SignatureOf<move>::apply<false, move>;
    builder.op.masked = &SignatureOf<move>::apply<true, move>;
  } else {
    constexpr auto move = [](U32 a) -> U32 { return a; };
    builder.op.full = &SignatureOf<move>::apply<false, move>;
    builder.op.masked = &SignatureOf<move>::apply<true, move>;
  }
}

}  // namespace

void add_data_movement_rows(DecodeTable& table) {
  table.decoder("mov", &decode_mov);
  table.forms("mov", {"mov.{pred,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64,b128}"});
}

}  // namespace bitgate::machine
