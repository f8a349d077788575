#include "reference/machine/hazard/fault_report.h"

#include <algorithm>
#include <string_view>

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

std::optional<Report> report_of(const Fault& fault) {
  const std::optional<Kind> kind = kind_of(fault.kind);
  if (!kind) return std::nullopt;
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
  if (fault.waiting) {
    report.first.site = *fault.waiting;
    report.second = Place{AccessKind::none, fault.site};
  }
  report.message = fault.message;
  return report;
}

}  // namespace bitgate::machine::hazard
