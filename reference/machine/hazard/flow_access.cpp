#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/flow_labels.h"

// Labels between registers and memory.

namespace bitgate::machine::hazard {

namespace {

constexpr std::uint32_t kMostBytes = 512;  // of one access: a line of wmma

/// Whether some byte of 32 accesses is not `clean`.
template <std::uint32_t Bytes>
bool differ(const HostAddresses& host, std::ptrdiff_t to_labels) {
  if constexpr (Bytes == 16) {
    __m128i any = _mm_setzero_si128();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      any = _mm_or_si128(any,
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(host[lane] + to_labels)));
    }
    return _mm_testz_si128(any, any) == 0;
  } else {
    std::uint64_t any = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, host[lane] + to_labels, Bytes);
      any |= bits;
    }
    return any != 0;
  }
}

bool differ(const HostAddresses& host, std::ptrdiff_t to_labels, std::uint32_t bytes) {
  switch (bytes) {
    case 1:
      return differ<1>(host, to_labels);
    case 2:
      return differ<2>(host, to_labels);
    case 4:
      return differ<4>(host, to_labels);
    case 8:
      return differ<8>(host, to_labels);
    default:
      return differ<16>(host, to_labels);
  }
}

/// No labels any more in shared memory, which accesses of these sizes are aligned in.
template <std::uint32_t Bytes, class OffsetOf>
void clear_lanes(SharedLabels& labels, std::uint32_t lanes, const OffsetOf& offset_of) {
  each_lane(lanes, [&](std::size_t lane) { labels.clear_aligned<Bytes>(offset_of(lane)); });
}

template <class OffsetOf>
void clear_lanes(SharedLabels& labels, std::uint32_t lanes, std::uint32_t bytes,
                 const OffsetOf& offset_of) {
  switch (bytes) {
    case 2:
      return clear_lanes<2>(labels, lanes, offset_of);
    case 4:
      return clear_lanes<4>(labels, lanes, offset_of);
    case 8:
      return clear_lanes<8>(labels, lanes, offset_of);
    case 16:
      return clear_lanes<16>(labels, lanes, offset_of);
    default:
      each_lane(lanes, [&](std::size_t lane) { labels.clear(offset_of(lane), bytes); });
      return;
  }
}

bool is_power_up_to_16(std::uint32_t bytes) { return bytes <= 16 && std::has_single_bit(bytes); }

}  // namespace

Labels::Place Labels::place(Context& x, Space space, const std::byte* host) {
  switch (space) {
    case Space::shared:
      return {block_->shared.data() + (host - x.block->shared.data()), std::byte{0}};
    case Space::local:
      return {block_->local.data() + (host - x.block->local.data()), std::byte{0}};
    case Space::global: {
      const Region* region = region_of(host);
      if (region == nullptr) return {};
      return {region->labels + (host - region->host), region->at_first};
    }
    case Space::generic:
    case Space::constant:
    case Space::parameter:
      break;
  }
  return {};
}

void Labels::read_labels(Context& x, const MemoryAccess& access, std::size_t lane, std::byte* out) {
  const Place from = place(x, access.space, access.at(lane));
  if (from.labels == nullptr) {
    std::memset(out, 0, access.bytes);
    return;
  }
  for (std::uint32_t i = 0; i < access.bytes; ++i) out[i] = from.labels[i] ^ from.at_first;
}

void Labels::write_labels(Context& x, const MemoryAccess& access, std::size_t lane,
                          const std::byte* in) {
  std::byte* const host = access.at(lane);
  std::byte* to = nullptr;
  std::byte at_first{0};
  switch (access.space) {
    case Space::shared: {
      const auto offset = static_cast<std::size_t>(host - x.block->shared.data());
      return block_->shared.write(offset, in, access.bytes);
    }
    case Space::local:
      to = block_->local.data() + (host - x.block->local.data());
      break;
    case Space::global: {
      Region* region = region_of(host);
      if (region == nullptr && any_set(in, access.bytes)) region = region_for(host);
      if (region == nullptr) return;
      to = region->labels + (host - region->host);
      at_first = region->at_first;
      break;
    }
    case Space::generic:
    case Space::constant:
    case Space::parameter:
      return;
  }
  for (std::uint32_t i = 0; i < access.bytes; ++i) to[i] = in[i] ^ at_first;
}

/// What labelled bytes of shared and global memory were copied from, for reports.
void Labels::note_origin(Context& x, const MemoryAccess& access, std::size_t lane,
                         OriginId origin) {
  if (label_ != Label::undefined) return;
  for (std::uint32_t i = 0; i < access.bytes; i += 4) {
    if (access.space == Space::shared) {
      const auto word =
          static_cast<std::uint32_t>(access.at(lane) - x.block->shared.data() + i) / 4;
      block_->origins[word] = origin;
    } else if (access.space == Space::global) {
      global_origins_[reinterpret_cast<std::uint64_t>(access.at(lane) + i) / 4] = origin;
    }
  }
  if (access.space == Space::global) {
    listener_.stored({Sink::output, x.pc, x.warp, kLaneBit[lane], origin}, access.at(lane),
                     access.bytes);
  }
}

bool Labels::any_in_memory(Context& x, const MemoryAccess& access) {
  if (access.space == Space::constant || access.space == Space::parameter) return false;
  if (access.space == Space::global && outside_regions(access)) return false;
  if (access.space == Space::shared) {
    const SharedLabels& labels = block_->shared;
    if (labels.clean()) return false;
    const std::byte* shared = x.block->shared.data();
    if (access.run != nullptr) {
      return labels.any(static_cast<std::size_t>(access.run - shared),
                        std::size_t{access.bytes} * kLanes);
    }
    if (access.lanes == kAllLanes && is_power_up_to_16(access.bytes)) {
      return differ(*access.host, labels.data() - shared, access.bytes);
    }
  }
  bool any = false;
  std::array<std::byte, kMostBytes> bytes;
  each_lane(access.lanes, [&](std::size_t lane) {
    if (any) return;
    read_labels(x, access, lane, bytes.data());
    any = any_set(bytes.data(), access.bytes);
  });
  return any;
}

/// What brought labelled bits from memory: the load itself, or, where a thread copied them there,
/// what it had them from.
OriginId Labels::memory_origin(Context& x, const MemoryAccess& access, std::size_t lane) {
  const std::byte* host = access.at(lane);
  if (label_ == Label::undefined) {
    for (std::uint32_t i = 0; i < access.bytes; i += 4) {
      if (access.space == Space::shared) {
        const auto word = static_cast<std::uint32_t>(host - x.block->shared.data() + i) / 4;
        if (const auto found = block_->origins.find(word); found != block_->origins.end()) {
          return found->second;
        }
      } else if (access.space == Space::global) {
        const auto found = global_origins_.find(reinterpret_cast<std::uint64_t>(host + i) / 4);
        if (found != global_origins_.end()) return found->second;
      }
    }
  }
  Origin origin;
  origin.pc = x.pc;
  origin.block = x.warp->block->number;
  origin.warp = x.warp->index;
  origin.lane = static_cast<std::uint32_t>(lane);
  origin.space = access.space;
  origin.bytes = access.bytes;
  switch (access.space) {
    case Space::shared:
      origin.offset = host - x.block->shared.data();
      break;
    case Space::local:
      origin.offset = host - (x.warp->local + lane * state_.code->local_stride());
      break;
    default:
      if (const Region* region = region_of(host)) {
        origin.allocation = region->allocation;
        origin.offset = host - region->host;
      }
      break;
  }
  // One a place in the program, but for the first ones, whose threads a report may name.
  constexpr std::size_t kMostOrigins = std::size_t{1} << 16;
  if (label_ != Label::undefined || origins_.size() > kMostOrigins) {
    const auto [entry, inserted] =
        register_origins_.try_emplace(x.pc, static_cast<OriginId>(origins_.size()));
    if (inserted) origins_.push_back(origin);
    return entry->second;
  }
  origins_.push_back(origin);
  return static_cast<OriginId>(origins_.size() - 1);
}

void Labels::access(Context& x, const Op&, const MemoryAccess& access) {
  if (x.warp != warp_) select(*x.warp);
  const OpFlow& flow = table_[x.pc];
  switch (flow.rule) {
    case Rule::load:
      return load(x, flow, access);
    case Rule::store:
      return store(x, flow, access);
    case Rule::atomic:
      return change(x, flow, access);
    case Rule::mbarrier:
      return change_barrier(x, flow, access);
    case Rule::matrix_load:
    case Rule::matrix_store:
      return move_rows(x, flow, access);
    case Rule::wmma_load:
    case Rule::wmma_store:
      return wmma_line(x, flow, access);
    default:
      return;
  }
}

void Labels::load(Context& x, const OpFlow& flow, const MemoryAccess& access) {
  const FlowOperand* registers = table_.operands(flow);
  const bool scheduled = flow.schedule_dependent && label_ == Label::schedule &&
                         (access.space == Space::global || access.space == Space::shared);
  if (scheduled) {
    for (unsigned i = 0; i < flow.definitions; ++i) {
      label_definition(registers[i].number, access.lanes);
      shadow_->origin[registers[i].number] =
          memory_origin(x, access, static_cast<std::size_t>(std::countr_zero(access.lanes)));
    }
    return;
  }
  if (!any_in_memory(x, access)) {
    if ((flow.moved & shadow_->watched) == 0) return;
    for (unsigned i = 0; i < flow.definitions; ++i) {
      clear_definition(registers[i].number, access.lanes);
    }
    return;
  }
  OriginId origin = 0;
  const std::uint32_t element = access.bytes / std::max<std::uint32_t>(flow.definitions, 1);
  each_lane(access.lanes, [&](std::size_t lane) {
    std::array<std::byte, kMostBytes> bytes{};
    read_labels(x, access, lane, bytes.data());
    if (origin == 0 && any_set(bytes.data(), access.bytes)) {
      origin = memory_origin(x, access, lane);
    }
    for (unsigned i = 0; i < flow.definitions; ++i) {
      std::byte* to = at(registers[i].number);
      if (registers[i].kind == RegisterKind::b128) {
        std::memcpy(to + lane * 8, bytes.data(), 8);
        std::memcpy(to + 8 * kLanes + lane * 8, bytes.data() + 8, 8);
        continue;
      }
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * element, std::min(element, 8U));
      if (flow.is_signed && element < 8) {
        const unsigned unused = 64 - 8 * element;
        bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
      }
      const std::size_t width = registers[i].kind == RegisterKind::b64 ? 8 : 4;
      std::memcpy(to + lane * width, &bits, width);
    }
  });
  for (unsigned i = 0; i < flow.definitions; ++i) {
    update(registers[i].number);
    if (shadow_->labelled[registers[i].number] != 0) shadow_->origin[registers[i].number] = origin;
  }
}

void Labels::clear_memory(Context& x, const MemoryAccess& access) {
  if (access.space == Space::global && outside_regions(access)) return;
  if (access.space == Space::shared) {
    SharedLabels& labels = block_->shared;
    if (labels.clean()) return;
    const std::byte* shared = x.block->shared.data();
    if (access.run != nullptr) {
      return labels.clear(static_cast<std::size_t>(access.run - shared),
                          std::size_t{access.bytes} * kLanes);
    }
    return clear_lanes(labels, access.lanes, access.bytes, [&](std::size_t lane) {
      return static_cast<std::size_t>((*access.host)[lane] - shared);
    });
  }
  const std::array<std::byte, kMostBytes> none{};
  each_lane(access.lanes, [&](std::size_t lane) { write_labels(x, access, lane, none.data()); });
}

void Labels::store(Context& x, const OpFlow& flow, const MemoryAccess& access) {
  const FlowOperand* registers = table_.operands(flow) + flow.definitions;
  const bool any = (flow.moved & shadow_->watched) != 0 &&
                   std::any_of(registers, registers + flow.data, [&](const FlowOperand& operand) {
                     return shadow_->labelled[operand.number] != 0;
                   });
  if (!any) return clear_memory(x, access);
  const OriginId origin = inherited(x, flow);
  const std::uint32_t element = access.bytes / std::max<std::uint32_t>(flow.data, 1);
  std::uint32_t labelled = 0;
  each_lane(access.lanes, [&](std::size_t lane) {
    std::array<std::byte, kMostBytes> bytes{};
    for (unsigned i = 0; i < flow.data; ++i) {
      const std::byte* from = at(registers[i].number);
      if (registers[i].kind == RegisterKind::b128) {
        std::memcpy(bytes.data(), from + lane * 8, 8);
        std::memcpy(bytes.data() + 8, from + 8 * kLanes + lane * 8, 8);
      } else {
        const std::size_t width = registers[i].kind == RegisterKind::b64 ? 8 : 4;
        std::memcpy(bytes.data() + i * element, from + lane * width,
                    std::min<std::size_t>(element, width));
      }
    }
    write_labels(x, access, lane, bytes.data());
    const bool any_here = any_set(bytes.data(), access.bytes);
    if (any_here) labelled |= kLaneBit[lane];
    if (any_here) note_origin(x, access, lane, origin);
  });
  if (label_ == Label::schedule && labelled != 0) {
    listener_.reached({Sink::stored_value, x.pc, x.warp, labelled, origin});
  }
}

/// Atomics, lane after lane.
void Labels::change(Context& x, const OpFlow& flow, const MemoryAccess& access) {
  const FlowOperand* results = table_.operands(flow);
  const FlowOperand* sources = results + flow.definitions;
  const unsigned count = std::max<unsigned>(flow.definitions, 1);
  const std::uint32_t element = access.bytes / count;
  bool sources_labelled = false;
  for (unsigned i = 0; i < flow.data; ++i) {
    sources_labelled = sources_labelled || shadow_->labelled[sources[i].number] != 0;
  }
  const bool makes_label = label_ == Label::schedule;
  const bool memory_labelled = any_in_memory(x, access);
  if (!sources_labelled && !memory_labelled && !makes_label) {
    for (unsigned i = 0; i < flow.definitions; ++i) {
      clear_definition(results[i].number, access.lanes);
    }
    return;
  }
  OriginId origin = inherited(x, flow);
  if (origin == 0) {
    origin = memory_origin(x, access, static_cast<std::size_t>(std::countr_zero(access.lanes)));
  }
  std::uint32_t stored = 0;
  each_lane(access.lanes, [&](std::size_t lane) {
    std::array<std::byte, kMostBytes> bytes{};
    std::array<std::byte, kMostBytes> old{};
    read_labels(x, access, lane, bytes.data());
    old = bytes;
    for (unsigned i = 0; i < count; ++i) {
      std::byte* const here = bytes.data() + i * element;
      const auto operand = [&](unsigned which, std::byte* out) {
        const FlowOperand& source = sources[2 * i + which];
        const std::size_t width = source.kind == RegisterKind::b32 ? 4 : 8;
        std::memcpy(out, at(source.number) + lane * width, std::min<std::size_t>(element, width));
        if (source.kind == RegisterKind::b128) {
          std::memcpy(out + 8, at(source.number) + 8 * kLanes + lane * 8, 8);
        }
      };
      std::array<std::byte, 16> b{};
      std::array<std::byte, 16> c{};
      operand(0, b.data());
      operand(1, c.data());
      const bool labelled = any_set(here, element) || any_set(b.data(), 16);
      switch (flow.atomic) {
        case AtomicEffect::combine:
          std::memset(here, labelled ? 0xff : 0, element);
          break;
        case AtomicEffect::bitwise:
          for (std::uint32_t k = 0; k < element; ++k) here[k] |= b[k];
          break;
        case AtomicEffect::exchange:
          std::memcpy(here, b.data(), element);
          break;
        case AtomicEffect::compare:
          if (labelled) {
            std::memset(here, 0xff, element);
          } else {
            for (std::uint32_t k = 0; k < element; ++k) here[k] |= c[k];
          }
          break;
      }
      // The order of additions of floats decides their sum, and that of exchanges what stays.
      if (makes_label && !flow.atomic_commutes) std::memset(here, 0xff, element);
      if (any_set(b.data(), 16) || any_set(c.data(), 16)) stored |= kLaneBit[lane];
      if (flow.definitions == 0) continue;
      const FlowOperand& result = results[i];
      std::byte* to = at(result.number);
      std::array<std::byte, 16> loaded{};
      std::memcpy(loaded.data(), old.data() + i * element, element);
      if (makes_label) loaded.fill(std::byte{0xff});
      if (result.kind == RegisterKind::b128) {
        std::memcpy(to + lane * 8, loaded.data(), 8);
        std::memcpy(to + 8 * kLanes + lane * 8, loaded.data() + 8, 8);
      } else {
        const std::size_t width = result.kind == RegisterKind::b64 ? 8 : 4;
        std::memcpy(to + lane * width, loaded.data(), width);
      }
    }
    write_labels(x, access, lane, bytes.data());
    if (any_set(bytes.data(), access.bytes)) note_origin(x, access, lane, origin);
  });
  for (unsigned i = 0; i < flow.definitions; ++i) {
    update(results[i].number);
    if (shadow_->labelled[results[i].number] != 0) shadow_->origin[results[i].number] = origin;
  }
  if (label_ == Label::schedule && !flow.atomic_commutes) {
    listener_.reached({Sink::atomic, x.pc, x.warp, access.lanes, origin});
  }
  if (label_ == Label::schedule && stored != 0) {
    listener_.reached({Sink::stored_value, x.pc, x.warp, stored, origin});
  }
}

/// An mbarrier object: what it holds is a synchronisation operand.
void Labels::change_barrier(Context& x, const OpFlow& flow, const MemoryAccess& access) {
  const FlowOperand* results = table_.operands(flow);
  const bool scheduled = flow.schedule_dependent && label_ == Label::schedule;
  for (unsigned i = 0; i < flow.definitions; ++i) {
    clear_definition(results[i].number, access.lanes);
    if (!scheduled) continue;
    label_definition(results[i].number, access.lanes);
    shadow_->origin[results[i].number] = register_origin(x, results[i].number);
  }
  if (!any_in_memory(x, access)) return;
  const std::array<std::byte, 16> none{};
  each_lane(access.lanes, [&](std::size_t lane) {
    std::array<std::byte, 16> bytes{};
    read_labels(x, access, lane, bytes.data());
    if (!flow.initialises && any_set(bytes.data(), access.bytes)) {
      listener_.reached(
          {Sink::barrier_operand, x.pc, x.warp, kLaneBit[lane], memory_origin(x, access, lane)});
    }
    write_labels(x, access, lane, none.data());
  });
}

/// Labels move with the bytes, when they do; what they came from is known now.
void Labels::copy_issued(Context& x, const PendingCopy& copy) {
  if (label_ != Label::undefined) return;
  if (x.warp != warp_) select(*x.warp);
  if (outside_regions(copy, copy.mask)) return;
  each_lane(copy.mask, [&](std::size_t lane) {
    if (copy.source_bytes[lane] == 0 || region_of(copy.source[lane]) == nullptr) return;
    HostAddresses host{};
    host.at[lane] = reinterpret_cast<std::uint64_t>(copy.source[lane]);
    const MemoryAccess access{Space::global, Access::read, kLaneBit[lane], copy.source_bytes[lane],
                              false,         nullptr,      &host};
    std::array<std::byte, 16> bytes{};
    read_labels(x, access, lane, bytes.data());
    if (!any_set(bytes.data(), access.bytes)) return;
    const OriginId origin = memory_origin(x, access, lane);
    const auto word =
        static_cast<std::uint32_t>(copy.destination[lane] - x.block->shared.data()) / 4;
    for (std::uint32_t i = 0; i < access.bytes; i += 4) block_->origins[word + i / 4] = origin;
  });
}

void Labels::copy(const Warp& warp, const PendingCopy& copy, std::uint32_t lanes) {
  if (&warp != warp_) select(warp);
  SharedLabels& shared = block_->shared;
  const auto offset_of = [&](std::size_t lane) {
    return static_cast<std::size_t>(copy.destination[lane] - warp.block->shared.data());
  };
  if (outside_regions(copy, lanes)) {
    if (shared.clean()) return;
    return clear_lanes(shared, lanes, copy.bytes, offset_of);
  }
  each_lane(lanes, [&](std::size_t lane) {
    std::array<std::byte, 16> labels{};
    const std::uint32_t copied = copy.source_bytes[lane];
    const Region* region = copied == 0 ? nullptr : region_of(copy.source[lane]);
    if (region != nullptr) {
      const std::byte* from = region->labels + (copy.source[lane] - region->host);
      for (std::uint32_t i = 0; i < copied; ++i) labels[i] = from[i] ^ region->at_first;
    }
    shared.write(offset_of(lane), labels.data(), copy.bytes);
  });
}

}  // namespace bitgate::machine::hazard
