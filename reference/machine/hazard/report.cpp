#include "reference/machine/hazard/report.h"

#include <algorithm>
#include <utility>

namespace bitgate::machine::hazard {

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds:
      return "out_of_bounds";
    case Kind::misaligned:
      return "misaligned";
    case Kind::uninitialised:
      return "uninitialised";
    case Kind::race:
      return "race";
    case Kind::barrier:
      return "barrier";
    case Kind::deadlock:
      return "deadlock";
    case Kind::timeout:
      return "timeout";
    case Kind::read_only_write:
      return "read_only_write";
    case Kind::inactive_lane:
      return "inactive_lane";
  }
  return "?";
}

std::string_view name(AccessKind kind) {
  switch (kind) {
    case AccessKind::none:
      return "";
    case AccessKind::read:
      return "read";
    case AccessKind::write:
      return "write";
    case AccessKind::atomic:
      return "atomic";
    case AccessKind::async_read:
      return "async_read";
    case AccessKind::async_write:
      return "async_write";
  }
  return "?";
}

namespace {

bool same_instruction(const Place& a, const Place& b) {
  return a.access == b.access && a.site.ptx_line == b.site.ptx_line &&
         a.site.instruction == b.site.instruction;
}

bool same(const Report& a, const Report& b) {
  return a.kind == b.kind && a.space == b.space && same_instruction(a.first, b.first) &&
         a.second.has_value() == b.second.has_value() &&
         (!a.second || same_instruction(*a.second, *b.second));
}

}  // namespace

std::size_t ReportList::add(Report report) {
  const auto equal = std::find_if(reports_.begin(), reports_.end(),
                                  [&](const Report& other) { return same(other, report); });
  const auto number = static_cast<std::size_t>(equal - reports_.begin());
  if (equal != reports_.end()) {
    equal->count += report.count;
  } else {
    reports_.push_back(std::move(report));
  }
  return number;
}

}  // namespace bitgate::machine::hazard
