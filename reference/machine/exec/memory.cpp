#include "reference/machine/exec/memory.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

// ld, ldu, st, prefetch, and addresses: cvta, isspacep (PTX ISA 9.7.9). Caches hold nothing here:
// their operators and hints do not change values.

namespace bitgate::machine {

namespace {

/// What a load does to an element on its way into a register.
enum class Element : std::uint8_t { u8, s8, s8_to_16, u16, s16, b32, s32_to_64, b64 };

constexpr std::uint32_t bytes_of(Element e) {
  switch (e) {
    case Element::u8:
    case Element::s8:
    case Element::s8_to_16:
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
    case Element::s8_to_16:
      return static_cast<std::uint16_t>(std::int16_t{read_as<std::int8_t>(p)});
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

/// Eight lanes' 16 bytes as four registers' 8 lanes.
void transpose8(const std::byte* from, std::uint32_t* const to[4]) {
  const auto rows = [&](std::size_t lane) {
    const auto* low = reinterpret_cast<const __m128i*>(from + 16 * lane);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                   _mm_loadu_si128(low + 4), 1);
  };
  const __m256i v[4] = {rows(0), rows(1), rows(2), rows(3)};
  const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]);
  const __m256i b = _mm256_unpacklo_epi32(v[2], v[3]);
  const __m256i c = _mm256_unpackhi_epi32(v[0], v[1]);
  const __m256i d = _mm256_unpackhi_epi32(v[2], v[3]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(to[0]), _mm256_unpacklo_epi64(a, b));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to[1]), _mm256_unpackhi_epi64(a, b));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to[2]), _mm256_unpacklo_epi64(c, d));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to[3]), _mm256_unpackhi_epi64(c, d));
}

/// Eight lanes of four registers as 8 · 16 bytes.
void transpose8(const std::uint32_t* const from[4], std::byte* to) {
  __m256i v[4];
  for (std::size_t i = 0; i < 4; ++i) {
    v[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(from[i]));
  }
  const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]);
  const __m256i b = _mm256_unpacklo_epi32(v[2], v[3]);
  const __m256i c = _mm256_unpackhi_epi32(v[0], v[1]);
  const __m256i d = _mm256_unpackhi_epi32(v[2], v[3]);
  const __m256i rows[4] = {_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
                           _mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)};
  auto* out = reinterpret_cast<__m128i*>(to);
  for (std::size_t i = 0; i < 4; ++i) {
    _mm_storeu_si128(out + i, _mm256_castsi256_si128(rows[i]));
    _mm_storeu_si128(out + 4 + i, _mm256_extracti128_si256(rows[i], 1));
  }
}

const std::uint32_t* operand_list(const Context& x, const Op& op) {
  return x.state->code->lists.data() + op.list;
}

/// Where the accesses of a whole warp begin when each lane's follows the one before it, which is
/// checked once for all; null when they do not, or one is out of order: then each is looked at.
template <Space S, std::uint32_t Bytes>
std::byte* find_run(const Context& x, const Op& op, Access access) {
  if constexpr (S != Space::shared && S != Space::global) return nullptr;
  if (x.active != kAllLanes) return nullptr;
  constexpr std::uint32_t kAll = Bytes * kLanes;
  constexpr int kStep = static_cast<int>(Bytes);
  const bool narrow = (op.extra & kBaseIs32Bits) != 0;
  __m256i differ = _mm256_setzero_si256();
  if constexpr (S == Space::shared) {
    if (!narrow) return nullptr;
    const std::uint32_t* lanes = x.lanes32(op.a);
    const auto* base = reinterpret_cast<const __m256i*>(lanes);
    __m256i expected = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(lanes[0])),
                                        _mm256_setr_epi32(0, kStep, 2 * kStep, 3 * kStep, 4 * kStep,
                                                          5 * kStep, 6 * kStep, 7 * kStep));
    for (int i = 0; i < 4; ++i) {
      differ = _mm256_or_si256(differ, _mm256_xor_si256(_mm256_load_si256(base + i), expected));
      expected = _mm256_add_epi32(expected, _mm256_set1_epi32(8 * kStep));
    }
    const std::uint32_t address = lanes[0] + static_cast<std::uint32_t>(op.immediate);
    const std::uint32_t size = x.block->shared_bytes;
    if (_mm256_testz_si256(differ, differ) == 0 || size < kAll || address > size - kAll ||
        address % Bytes != 0) {
      return nullptr;
    }
    return x.block->shared.data() + address;
  }
  const GlobalMemory::Allocation* cached = x.state->cached_allocation[op.cache];
  if (narrow || cached == nullptr || (access == Access::write && cached->read_only)) return nullptr;
  const std::uint64_t* lanes = x.lanes64(op.a);
  const auto* base = reinterpret_cast<const __m256i*>(lanes);
  __m256i expected = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<std::int64_t>(lanes[0])),
                                      _mm256_setr_epi64x(0, kStep, 2 * kStep, 3 * kStep));
  for (int i = 0; i < 8; ++i) {
    differ = _mm256_or_si256(differ, _mm256_xor_si256(_mm256_load_si256(base + i), expected));
    expected = _mm256_add_epi64(expected, _mm256_set1_epi64x(4 * kStep));
  }
  const std::uint64_t address = lanes[0] + static_cast<std::uint64_t>(op.immediate);
  const std::uint64_t offset = address - cached->address;
  if (_mm256_testz_si256(differ, differ) == 0 || cached->bytes < kAll ||
      offset > cached->bytes - kAll || address % Bytes != 0) {
    return nullptr;
  }
  return cached->host + offset;
}

template <Space S, std::uint32_t Bytes>
std::byte* locate_run(Context& x, const Op& op, Access access) {
  std::byte* const run = find_run<S, Bytes>(x, op, access);
  if (run != nullptr && x.state->hazards != nullptr) [[unlikely]] {
    x.state->hazards->access(x, op, {S, access, kAllLanes, Bytes, false, run, nullptr});
  }
  return run;
}

template <Element E, class Register, std::uint32_t Count>
void load_run(const Context& x, const std::uint32_t* registers, const std::byte* from) {
  constexpr std::size_t kElement = bytes_of(E);
  if constexpr (Count == 1 && sizeof(Register) == kElement) {
    std::memcpy(x.registers + registers[0], from, kElement * kLanes);
  } else if constexpr (Count == 4 && E == Element::b32 && sizeof(Register) == 4) {
    for (std::size_t lane = 0; lane < kLanes; lane += 8) {
      std::uint32_t* const to[4] = {x.lanes32(registers[0]) + lane, x.lanes32(registers[1]) + lane,
                                    x.lanes32(registers[2]) + lane, x.lanes32(registers[3]) + lane};
      transpose8(from + 16 * lane, to);
    }
  } else {
    for (std::uint32_t i = 0; i < Count; ++i) {
      auto* d = reinterpret_cast<Register*>(x.registers + registers[i]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        d[lane] = read_element<Register, E>(from + (lane * Count + i) * kElement);
      }
    }
  }
}

template <class Memory, class Register, std::uint32_t Count>
void store_run(const Context& x, const std::uint32_t* registers, std::byte* to) {
  if constexpr (Count == 1 && sizeof(Memory) == sizeof(Register)) {
    std::memcpy(to, x.registers + registers[0], sizeof(Memory) * kLanes);
  } else if constexpr (Count == 4 && sizeof(Memory) == 4 && sizeof(Register) == 4) {
    for (std::size_t lane = 0; lane < kLanes; lane += 8) {
      const std::uint32_t* const from[4] = {
          x.lanes32(registers[0]) + lane, x.lanes32(registers[1]) + lane,
          x.lanes32(registers[2]) + lane, x.lanes32(registers[3]) + lane};
      transpose8(from, to + 16 * lane);
    }
  } else {
    for (std::uint32_t i = 0; i < Count; ++i) {
      const auto* s = reinterpret_cast<const Register*>(x.registers + registers[i]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const auto value = static_cast<Memory>(s[lane]);
        std::memcpy(to + (lane * Count + i) * sizeof(Memory), &value, sizeof(Memory));
      }
    }
  }
}

template <Space S, Element E, class Register, std::uint32_t Count>
void load(Context& x, const Op& op) {
  constexpr std::uint32_t kBytes = bytes_of(E) * Count;
  const std::uint32_t* registers = operand_list(x, op);
  if (const std::byte* from = locate_run<S, kBytes>(x, op, Access::read)) {
    load_run<E, Register, Count>(x, registers, from);
    return;
  }
  HostAddresses host;
  locate<S>(x, op, kBytes, Access::read, host);

  if (x.active == kAllLanes) {
    if constexpr (S == Space::generic && Count == 1 && sizeof(Register) == bytes_of(E)) {
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
  const std::uint32_t* registers = operand_list(x, op);
  if (std::byte* to = locate_run<S, kBytes>(x, op, Access::write)) {
    store_run<Memory, Register, Count>(x, registers, to);
    return;
  }
  HostAddresses host;
  locate<S>(x, op, kBytes, Access::write, host);
  if (x.active == kAllLanes) {
    if constexpr (S == Space::generic && Count == 1 && sizeof(Memory) == sizeof(Register)) {
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
    case Element::s8_to_16:
      return load_of<S, Element::s8_to_16, std::uint32_t>(count);
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
  if (builder.has("shared::cluster")) builder.require_no_clusters();
  if (among("global")) return Space::global;
  if (among("shared")) return Space::shared;
  if (among("local")) return Space::local;
  if (among("const")) return Space::constant;
  if (among("param")) return Space::parameter;
  return Space::generic;
}

/// The space an access is in, given that of its symbol: a `.param` of a device function is local,
/// by its name or by an address that mov took.
Space resolve(const InstructionBuilder& builder, Space symbol) {
  const Space named = space_named(builder);
  if (named == Space::parameter) {
    if (symbol == Space::local) return Space::local;
    const bool own = builder.in_function() && !builder.has("param::entry");
    if (symbol == Space::generic) return own ? Space::local : Space::parameter;
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

/// Op::extra of 128-bit accesses holds the space, above the width of the base.
constexpr unsigned kSpaceShift = 4;

/// One 128-bit register: its lower halves, then its upper ones.
template <Access A>
void move_128(Context& x, const Op& op) {
  HostAddresses host;
  locate_in_space(x, op, static_cast<Space>(op.extra >> kSpaceShift), 16, A, host);
  std::uint64_t* low = x.lanes64(operand_list(x, op)[0]);
  each_lane(x.active, [&](std::size_t lane) {
    for (std::size_t half = 0; half < 2; ++half) {
      std::uint64_t& part = low[half * kLanes + lane];
      if constexpr (A == Access::read) {
        std::memcpy(&part, host[lane] + 8 * half, 8);
      } else {
        std::memcpy(host[lane] + 8 * half, &part, 8);
      }
    }
  });
}

void decode_128(InstructionBuilder& builder, std::size_t value, std::size_t place, Access access) {
  const auto address = builder.address(&Op::a, builder.operand(place));
  const Space space = resolve(builder, address.symbol_space);
  if (access == Access::write && (space == Space::constant || space == Space::parameter)) {
    throw Unsupported("a store to read-only memory");
  }
  builder.op.extra = static_cast<std::uint8_t>(static_cast<unsigned>(space) << kSpaceShift);
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  builder.begin_list();
  if (access == Access::read) {
    builder.list_define(builder.operand(value), Kind::b128);
    builder.op.full = &move_128<Access::read>;
  } else {
    builder.list_use(builder.operand(value), Kind::b128);
    builder.op.full = &move_128<Access::write>;
  }
  builder.op.masked = builder.op.full;
  builder.use_allocation_cache();
}

void decode_load(InstructionBuilder& builder) {
  const std::string& type = type_of(builder);
  const auto bytes = type_bytes(type);
  if (!bytes) throw Unsupported("a load of type ." + type);
  if (orders_blocks(builder)) builder.communicates();
  if (*bytes == 16) return decode_128(builder, 0, 1, Access::read);
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
  const auto in_16_bits = [&](const ptx::Operand& v) { return builder.declared_bytes(v) == 2; };
  if (element == Element::s8 &&
      std::any_of(elements(values).begin(), elements(values).end(), in_16_bits)) {
    element = Element::s8_to_16;
  }
  if (*bytes == 2) element = is_signed ? Element::s16 : Element::u16;
  if (*bytes == 4) element = is_signed && kind == Kind::b64 ? Element::s32_to_64 : Element::b32;
  const bool wide = kind == Kind::b64;
  const Space space = resolve(builder, address.symbol_space);
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
  if (!bytes) throw Unsupported("a store of type ." + type);
  if (builder.has("async") || builder.has("bulk"))
    throw Unsupported("asynchronous stores are of clusters");
  if (orders_blocks(builder)) builder.communicates();
  if (*bytes == 16) return decode_128(builder, 1, 0, Access::write);
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
  const Space space = resolve(builder, address.symbol_space);
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

/// Makes a policy for hints, which hold nothing: no instruction looks at its bits.
void make_policy(Context& x, const Op& op) {
  each_lane(x.active, [&](std::size_t lane) { x.lanes64(op.d)[lane] = 0; });
}

void decode_createpolicy(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::b64);
  builder.op.full = &make_policy;
  builder.op.masked = &make_policy;
}

}  // namespace

void add_memory_rows(DecodeTable& table) {
  constexpr std::string_view kTypes = "{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}";
  const auto of = [&](std::string_view head) { return std::string(head) + std::string(kTypes); };
  table.decoder("ld", &decode_load);
  table.forms("ld",
              {of("ld{,.global,.shared,.local,.const,.param}{,.v2}."),
               "ld{,.global,.shared,.local,.const,.param}.v4.{b8,u8,s8,b16,u16,s16,b32,u32,"
               "s32,f32}",
               of("ld.global.nc{,.v2}."), "ld.global.nc.v4.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32}",
               of("ld.volatile{,.global,.shared}."),
               of("ld.{relaxed,acquire}.{cta,cluster,gpu,sys}{,.global,.shared}."),
               "ld{,.global,.shared}.b128"});
  table.decoder("ldu", &decode_load);
  table.forms("ldu", {of("ldu{,.global}.")});
  table.decoder("st", &decode_store);
  table.forms("st", {of("st{,.global,.shared,.local,.param}{,.v2}."),
                     "st{,.global,.shared,.local,.param}.v4.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32}",
                     of("st.volatile{,.global,.shared}."),
                     of("st.{relaxed,release}.{cta,cluster,gpu,sys}{,.global,.shared}."),
                     "st{,.global,.shared}.b128"});
  table.decoder("cvta", &decode_cvta);
  table.forms("cvta", {"cvta{,.to}.{global,shared,local,const,param}.u64"});
  table.decoder("isspacep", &decode_isspacep);
  table.forms("isspacep", {"isspacep.{global,shared,local,const,param}"});
  // Caches hold nothing here. What discard makes undefined keeps its value.
  for (const char* opcode : {"prefetch", "prefetchu", "applypriority", "discard"}) {
    table.decoder(opcode, &decode_nothing);
  }
  table.forms("prefetch", {"prefetch{,.global,.local}.{L1,L2}",
                           "prefetch.global.{L2::evict_last,L2::evict_normal}"});
  table.forms("prefetchu", {"prefetchu.L1"});
  table.forms("applypriority", {"applypriority{,.global}.L2::evict_normal"});
  table.forms("discard", {"discard{,.global}.L2"});
  table.decoder("createpolicy", &decode_createpolicy);
  table.forms("createpolicy",
              {"createpolicy.fractional.{L2::evict_last,L2::evict_normal,L2::evict_first,"
               "L2::evict_unchanged}.b64",
               "createpolicy.range.L2::evict_last.b64", "createpolicy.cvt.L2.b64"});
}

}  // namespace bitgate::machine
