#include "reference/machine/exec/memory.h"

#include <immintrin.h>

#include <cstring>
#include <string>
#include <string_view>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

// ld, ldu, st, prefetch, and addresses: cvta, isspacep (PTX ISA 9.7.9). Caches hold nothing here:
// their operators and hints do not change values.

namespace bitgate::machine {

namespace {

/// What a load does to an element on its way into a register.
enum class Element : std::uint8_t { u8, s8, u16, s16, b32, s32_to_64, b64 };

constexpr std::uint32_t bytes_of(Element e) {
  switch (e) {
    case Element::u8:
    case Element::s8:
      return 1;
    case Element::u16:
    case Element::s16:
      return 2;
    case Element::b32:
    case Element::s32_to_64:
      return 4;
    case Element::b64:
      return 8;
  }
  return 0;
}

template <class T>
T read_as(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

template <class Register, Element E>
Register read_element(const std::byte* p) {
  switch (E) {
    case Element::u8:
      return read_as<std::uint8_t>(p);
    case Element::s8:
      return static_cast<Register>(std::int64_t{read_as<std::int8_t>(p)});
    case Element::u16:
      return read_as<std::uint16_t>(p);
    case Element::s16:
      return static_cast<Register>(std::int64_t{read_as<std::int16_t>(p)});
    case Element::b32:
      return read_as<std::uint32_t>(p);
    case Element::s32_to_64:
      return static_cast<Register>(std::int64_t{read_as<std::int32_t>(p)});
    case Element::b64:
      return static_cast<Register>(read_as<std::uint64_t>(p));
  }
  return 0;
}

/// Whether all lanes' accesses follow each other in memory.
template <std::uint32_t Bytes>
bool contiguous(const HostAddresses& host) {
  const __m256i step = _mm256_set1_epi64x(4 * Bytes);
  __m256i expected = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<std::int64_t>(host.at[0])),
                                      _mm256_setr_epi64x(0, Bytes, 2 * Bytes, 3 * Bytes));
  __m256i differ = _mm256_setzero_si256();
  for (int i = 0; i < kLanes / 4; ++i) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(host.at.data()) + i);
    differ = _mm256_or_si256(differ, _mm256_xor_si256(v, expected));
    expected = _mm256_add_epi64(expected, step);
  }
  return _mm256_testz_si256(differ, differ) != 0;
}

/// Four lanes' 16 bytes as four registers' 4 lanes, and back.
void transpose4(__m128i v[4]) {
  const __m128i a = _mm_unpacklo_epi32(v[0], v[1]);
  const __m128i b = _mm_unpacklo_epi32(v[2], v[3]);
  const __m128i c = _mm_unpackhi_epi32(v[0], v[1]);
  const __m128i d = _mm_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm_unpacklo_epi64(a, b);
  v[1] = _mm_unpackhi_epi64(a, b);
  v[2] = _mm_unpacklo_epi64(c, d);
  v[3] = _mm_unpackhi_epi64(c, d);
}

const std::uint32_t* operand_list(const Context& x, const Op& op) {
  return x.state->code->lists.data() + op.list;
}

template <Space S, Element E, class Register, std::uint32_t Count>
void load(Context& x, const Op& op) {
  constexpr std::uint32_t kBytes = bytes_of(E) * Count;
  HostAddresses host;
  locate<S>(x, op, kBytes, Access::read, host);
  const std::uint32_t* registers = operand_list(x, op);

  if (x.active == kAllLanes) {
    if constexpr (Count == 1 && sizeof(Register) == bytes_of(E)) {
      if (contiguous<kBytes>(host)) {
        std::memcpy(x.registers + registers[0], host[0], std::size_t{kBytes} * kLanes);
        return;
      }
    }
    if constexpr (Count == 4 && E == Element::b32 && sizeof(Register) == 4) {
      for (std::size_t lane = 0; lane < kLanes; lane += 4) {
        __m128i v[4];
        for (std::size_t i = 0; i < 4; ++i) {
          v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(host[lane + i]));
        }
        transpose4(v);
        for (std::size_t i = 0; i < 4; ++i) {
          _mm_store_si128(reinterpret_cast<__m128i*>(x.lanes32(registers[i]) + lane), v[i]);
        }
      }
      return;
    }
    for (std::uint32_t i = 0; i < Count; ++i) {
      auto* d = reinterpret_cast<Register*>(x.registers + registers[i]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        d[lane] = read_element<Register, E>(host[lane] + i * bytes_of(E));
      }
    }
    return;
  }
  for (std::uint32_t i = 0; i < Count; ++i) {
    auto* d = reinterpret_cast<Register*>(x.registers + registers[i]);
    each_lane(x.active, [&](std::size_t lane) {
      d[lane] = read_element<Register, E>(host[lane] + i * bytes_of(E));
    });
  }
}

template <Space S, class Memory, class Register, std::uint32_t Count>
void store(Context& x, const Op& op) {
  constexpr std::uint32_t kBytes = sizeof(Memory) * Count;
  HostAddresses host;
  locate<S>(x, op, kBytes, Access::write, host);
  const std::uint32_t* registers = operand_list(x, op);
  if (x.active == kAllLanes) {
    if constexpr (Count == 1 && sizeof(Memory) == sizeof(Register)) {
      if (contiguous<kBytes>(host)) {
        std::memcpy(host[0], x.registers + registers[0], std::size_t{kBytes} * kLanes);
        return;
      }
    }
    if constexpr (Count == 4 && sizeof(Memory) == 4 && sizeof(Register) == 4) {
      for (std::size_t lane = 0; lane < kLanes; lane += 4) {
        __m128i v[4];
        for (std::size_t i = 0; i < 4; ++i) {
          v[i] = _mm_load_si128(reinterpret_cast<const __m128i*>(x.lanes32(registers[i]) + lane));
        }
        transpose4(v);
        // In lane order: of two lanes that write the same place, the higher one stays.
        for (std::size_t i = 0; i < 4; ++i) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(host[lane + i]), v[i]);
        }
      }
      return;
    }
  }
  each_lane(x.active, [&](std::size_t lane) {
    for (std::uint32_t i = 0; i < Count; ++i) {
      const auto value =
          static_cast<Memory>(reinterpret_cast<const Register*>(x.registers + registers[i])[lane]);
      std::memcpy(host[lane] + i * sizeof(Memory), &value, sizeof(Memory));
    }
  });
}

// From what the text says to one of the instantiations.

template <Space S, Element E, class Register>
Handler load_of(std::size_t count) {
  switch (count) {
    case 1:
      return &load<S, E, Register, 1>;
    case 2:
      return &load<S, E, Register, 2>;
    case 4:
      if constexpr (bytes_of(E) <= 4) return &load<S, E, Register, 4>;
      break;
    default:
      break;
  }
  throw Unsupported("a vector of that many elements");
}

template <Space S>
Handler load_in(Element element, bool wide, std::size_t count) {
  switch (element) {
    case Element::u8:
      return wide ? load_of<S, Element::u8, std::uint64_t>(count)
                  : load_of<S, Element::u8, std::uint32_t>(count);
    case Element::s8:
      return wide ? load_of<S, Element::s8, std::uint64_t>(count)
                  : load_of<S, Element::s8, std::uint32_t>(count);
    case Element::u16:
      return wide ? load_of<S, Element::u16, std::uint64_t>(count)
                  : load_of<S, Element::u16, std::uint32_t>(count);
    case Element::s16:
      return wide ? load_of<S, Element::s16, std::uint64_t>(count)
                  : load_of<S, Element::s16, std::uint32_t>(count);
    case Element::b32:
      return wide ? load_of<S, Element::b32, std::uint64_t>(count)
                  : load_of<S, Element::b32, std::uint32_t>(count);
    case Element::s32_to_64:
      return load_of<S, Element::s32_to_64, std::uint64_t>(count);
    case Element::b64:
      return load_of<S, Element::b64, std::uint64_t>(count);
  }
  throw Unsupported("a load of that type");
}

template <Space S, class Memory, class Register>
Handler store_of(std::size_t count) {
  switch (count) {
    case 1:
      return &store<S, Memory, Register, 1>;
    case 2:
      return &store<S, Memory, Register, 2>;
    case 4:
      if constexpr (sizeof(Memory) <= 4) return &store<S, Memory, Register, 4>;
      break;
    default:
      break;
  }
  throw Unsupported("a vector of that many elements");
}

template <Space S>
Handler store_in(std::uint32_t bytes, bool wide, std::size_t count) {
  switch (bytes) {
    case 1:
      return wide ? store_of<S, std::uint8_t, std::uint64_t>(count)
                  : store_of<S, std::uint8_t, std::uint32_t>(count);
    case 2:
      return wide ? store_of<S, std::uint16_t, std::uint64_t>(count)
                  : store_of<S, std::uint16_t, std::uint32_t>(count);
    case 4:
      return wide ? store_of<S, std::uint32_t, std::uint64_t>(count)
                  : store_of<S, std::uint32_t, std::uint32_t>(count);
    case 8:
      return store_of<S, std::uint64_t, std::uint64_t>(count);
    default:
      throw Unsupported("a store of that type");
  }
}

Space space_named(const InstructionBuilder& builder) {
  const auto among = [&](std::string_view stem) {
    for (const std::string& m : builder.text.modifiers) {
      if (m == stem) return true;
      if (m.starts_with(stem) && std::string_view(m).substr(stem.size(), 2) == "::") return true;
    }
    return false;
  };
  if (builder.has("shared::cluster")) throw Unsupported("shared memory of a cluster");
  if (among("global")) return Space::global;
  if (among("shared")) return Space::shared;
  if (among("local")) return Space::local;
  if (among("const")) return Space::constant;
  if (among("param")) return Space::parameter;
  return Space::generic;
}

/// The space an access is in, given that of its symbol: a `.param` of a device function is local.
Space resolve(Space named, Space symbol) {
  if (named == Space::parameter) {
    if (symbol == Space::local) return Space::local;
    if (symbol == Space::generic) return Space::parameter;
  }
  if (symbol == Space::generic) return named;
  if (named == Space::generic) {
    if (symbol == Space::global) return Space::global;
    throw Unsupported("a generic access to a variable by name");
  }
  if (named != symbol) throw Unsupported("the variable is in another state space");
  return named;
}

bool orders_blocks(const InstructionBuilder& builder) {
  for (const char* m : {"volatile", "relaxed", "acquire", "release", "mmio"}) {
    if (builder.has(m)) return true;
  }
  return false;
}

struct Values {
  const std::vector<ptx::Operand>* elements = nullptr;
  std::vector<ptx::Operand> single;
  std::size_t count = 1;
};

Values values_of(InstructionBuilder& builder, const ptx::Operand& operand) {
  Values result;
  std::size_t expected = 1;
  if (builder.has("v2")) expected = 2;
  if (builder.has("v4")) expected = 4;
  if (builder.has("v8")) expected = 8;
  if (operand.kind == ptx::Operand::Kind::vector) {
    result.elements = &operand.elements;
  } else {
    result.single.push_back(operand);
  }
  result.count = result.elements != nullptr ? result.elements->size() : 1;
  if (result.count != expected) throw Unsupported("the operand is no vector of that many elements");
  return result;
}

const std::vector<ptx::Operand>& elements(const Values& values) {
  return values.elements != nullptr ? *values.elements : values.single;
}

/// The registers' common width; a narrow type may lie in a wider register.
Kind width_of(InstructionBuilder& builder, const Values& values, std::uint32_t bytes) {
  Kind kind = bytes == 8 ? Kind::b64 : Kind::b32;
  for (const ptx::Operand& element : elements(values)) {
    if (element.kind == ptx::Operand::Kind::reg && builder.declared_kind(element) == Kind::b64) {
      kind = Kind::b64;
    }
  }
  return kind;
}

const std::string& type_of(const InstructionBuilder& builder) {
  if (builder.text.modifiers.empty()) throw Unsupported("an access without a type");
  return builder.text.modifiers.back();
}

void decode_load(InstructionBuilder& builder) {
  const std::string& type = type_of(builder);
  const auto bytes = type_bytes(type);
  if (!bytes || *bytes > 8) throw Unsupported("a load of type ." + type);
  if (orders_blocks(builder)) builder.communicates();
  const Values values = values_of(builder, builder.operand(0));
  const Kind kind = width_of(builder, values, *bytes);
  const auto address = builder.address(&Op::a, builder.operand(1));
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  builder.begin_list();
  for (const ptx::Operand& element : elements(values)) builder.list_define(element, kind);
  builder.use_allocation_cache();

  const bool is_signed = type.starts_with("s");
  Element element = Element::b64;
  if (*bytes == 1) element = is_signed ? Element::s8 : Element::u8;
  if (*bytes == 2) element = is_signed ? Element::s16 : Element::u16;
  if (*bytes == 4) element = is_signed && kind == Kind::b64 ? Element::s32_to_64 : Element::b32;
  const bool wide = kind == Kind::b64;
  const Space space = resolve(space_named(builder), address.symbol_space);
  switch (space) {
    case Space::generic:
      builder.op.full = load_in<Space::generic>(element, wide, values.count);
      break;
    case Space::global:
      builder.op.full = load_in<Space::global>(element, wide, values.count);
      break;
    case Space::shared:
      builder.op.full = load_in<Space::shared>(element, wide, values.count);
      break;
    case Space::local:
      builder.op.full = load_in<Space::local>(element, wide, values.count);
      break;
    case Space::constant:
      builder.op.full = load_in<Space::constant>(element, wide, values.count);
      break;
    case Space::parameter:
      builder.op.full = load_in<Space::parameter>(element, wide, values.count);
      break;
  }
  builder.op.masked = builder.op.full;
}

void decode_store(InstructionBuilder& builder) {
  const std::string& type = type_of(builder);
  const auto bytes = type_bytes(type);
  if (!bytes || *bytes > 8) throw Unsupported("a store of type ." + type);
  if (builder.has("async")) throw Unsupported("st.async is not implemented");
  if (orders_blocks(builder)) builder.communicates();
  const Values values = values_of(builder, builder.operand(1));
  const Kind kind = width_of(builder, values, *bytes);
  const auto address = builder.address(&Op::a, builder.operand(0));
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  const Immediates immediates = type == "f32"   ? Immediates::f32
                                : type == "f64" ? Immediates::f64
                                                : Immediates::integer;
  builder.begin_list();
  for (const ptx::Operand& element : elements(values)) builder.list_use(element, kind, immediates);
  builder.use_allocation_cache();
  const bool wide = kind == Kind::b64;
  const Space space = resolve(space_named(builder), address.symbol_space);
  switch (space) {
    case Space::generic:
      builder.op.full = store_in<Space::generic>(*bytes, wide, values.count);
      break;
    case Space::global:
      builder.op.full = store_in<Space::global>(*bytes, wide, values.count);
      break;
    case Space::shared:
      builder.op.full = store_in<Space::shared>(*bytes, wide, values.count);
      break;
    case Space::local:
      builder.op.full = store_in<Space::local>(*bytes, wide, values.count);
      break;
    case Space::constant:
    case Space::parameter:
      throw Unsupported("a store to read-only memory");
  }
  builder.op.masked = builder.op.full;
}

void do_nothing(Context&, const Op&) {}

void decode_nothing(InstructionBuilder& builder) {
  builder.op.full = &do_nothing;
  builder.op.masked = &do_nothing;
}

/// cvta: a constant is added or, to a space, subtracted; for global memory it is 0.
template <class Lane>
void add_immediate(Context& x, const Op& op) {
  auto* d = reinterpret_cast<Lane*>(x.registers + op.d);
  const auto* a = reinterpret_cast<const Lane*>(x.registers + op.a);
  each_lane(x.active,
            [&](std::size_t lane) { d[lane] = a[lane] + static_cast<Lane>(op.immediate); });
}

void decode_cvta(InstructionBuilder& builder) {
  if (type_of(builder) != "u64") throw Unsupported("32-bit generic addresses");
  const auto window = static_cast<std::int64_t>(window_of(space_named(builder)));
  builder.define(&Op::d, builder.operand(0), Kind::b64);
  builder.use(&Op::a, builder.operand(1), Kind::b64);
  builder.op.immediate = builder.has("to") ? -window : window;
  builder.op.full = &add_immediate<std::uint64_t>;
  builder.op.masked = builder.op.full;
}

void is_space(Context& x, const Op& op) {
  const std::uint64_t* a = x.lanes64(op.a);
  std::uint32_t result = 0;
  each_lane(x.active, [&](std::size_t lane) {
    if (space_of(a[lane]) == static_cast<Space>(op.immediate)) result |= kLaneBit[lane];
  });
  store_predicate(x, op.d, result);
}

void decode_isspacep(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::predicate);
  builder.use(&Op::a, builder.operand(1), Kind::b64);
  builder.op.immediate = static_cast<std::int64_t>(space_named(builder));
  builder.op.full = &is_space;
  builder.op.masked = &is_space;
}

}  // namespace

void add_memory_rows(DecodeTable& table) {
  table.decoder("ld", &decode_load);
  table.decoder("ldu", &decode_load);
  table.decoder("st", &decode_store);
  table.decoder("cvta", &decode_cvta);
  table.decoder("isspacep", &decode_isspacep);
  for (const char* opcode : {"prefetch", "prefetchu", "applypriority"}) {
    table.decoder(opcode, &decode_nothing);
  }
  // Makes a policy for hints, which hold nothing.
  table.unsupported("createpolicy", "cache eviction policies are not implemented");
}

}  // namespace bitgate::machine
