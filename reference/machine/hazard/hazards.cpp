#include "reference/machine/hazard/hazards.h"

#include <optional>
#include <string_view>
#include <utility>

namespace bitgate::machine::hazard {

namespace {

/// The hazard that a fault is; nothing for one that the program asks for, or that is no verdict.
std::optional<Kind> kind_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::out_of_bounds:
      return Kind::out_of_bounds;
    case Fault::Kind::misaligned:
      return Kind::misaligned;
    case Fault::Kind::read_only_write:
      return Kind::read_only_write;
    case Fault::Kind::barrier:
      return Kind::barrier;
    case Fault::Kind::deadlock:
      return Kind::deadlock;
    case Fault::Kind::timeout:
      return Kind::timeout;
    case Fault::Kind::inactive_lane:
      return Kind::inactive_lane;
    case Fault::Kind::trap:
    case Fault::Kind::unsupported:
    case Fault::Kind::interrupted:
      break;
  }
  return std::nullopt;
}

bool is_of_memory(Kind kind) {
  return kind == Kind::out_of_bounds || kind == Kind::misaligned || kind == Kind::read_only_write;
}

/// What the instruction does in `space`, by its text.
AccessKind access_of(std::string_view instruction, std::string_view space) {
  if (instruction.starts_with('@')) {
    instruction.remove_prefix(std::min(instruction.find(' ') + 1, instruction.size()));
  }
  if (instruction.starts_with("cp.async")) {
    return space == "global" ? AccessKind::async_read : AccessKind::async_write;
  }
  if (instruction.starts_with("st") || instruction.starts_with("wmma.store")) {
    return AccessKind::write;
  }
  if (instruction.starts_with("atom") || instruction.starts_with("red.")) return AccessKind::atomic;
  return AccessKind::read;
}

}  // namespace

Hazards::Hazards(const LaunchState& state) : state_(state) {}
Hazards::~Hazards() = default;

void Hazards::start_block(Block&) {}
void Hazards::finish_block(Block&) {}
void Hazards::before(Context&, const Op&, std::uint32_t) {}
void Hazards::after(Context&, const Op&) {}
void Hazards::after_reduction(Warp&, const Op&, std::uint32_t) {}
void Hazards::access(Context&, const Op&, const MemoryAccess&) {}
void Hazards::copy(Warp&, std::size_t, std::byte*, const std::byte*, std::uint32_t, std::uint32_t) {
}

void Hazards::fault(const Fault& fault) {
  const std::optional<Kind> kind = kind_of(fault.kind);
  if (!kind) return;
  Report report;
  report.kind = *kind;
  if (is_of_memory(*kind)) {
    report.space = fault.space;
    report.buffer = fault.buffer;
    report.offset = fault.offset;
    report.bytes = fault.bytes;
    report.first.access = access_of(fault.site.instruction, fault.space);
  }
  report.first.site = fault.site;
  report.message = fault.message;
  reports.add(std::move(report));
}

Site Hazards::site(const Warp& warp, std::uint32_t pc, std::size_t lane) const {
  const DebugLine& line = state_.code->debug[pc];
  const Dim3& block = state_.launch->block;
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  return {line.instruction,
          line.file,
          line.line,
          line.ptx_line,
          warp.block->index,
          {thread % block.x, thread / block.x % block.y, thread / block.x / block.y}};
}

}  // namespace bitgate::machine::hazard
