#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/machine/site.h"

namespace bitgate::machine::hazard {

enum class Kind : std::uint8_t {
  out_of_bounds,
  misaligned,
  uninitialised,
  race,
  barrier,
  deadlock,
  timeout,
  read_only_write,
  inactive_lane
};
std::string_view name(Kind kind);

/// What an instruction does at its place. Asynchronous copies (cp.async) read and write on their
/// own, some time after the thread that issued them.
enum class AccessKind : std::uint8_t { none, read, write, atomic, async_read, async_write };
/// Empty for none.
std::string_view name(AccessKind kind);

/// One of the instructions that a hazard is about, and the thread that executed it.
struct Place {
  AccessKind access = AccessKind::none;
  Site site;
};

/// One hazard. `first` and `second` are: for a race, the two accesses; for uninitialised data, the
/// read of the place and the instruction where it matters; for a barrier, the waiting and the
/// missing or mismatched instruction; for a deadlock or timeout, where it waits; otherwise the
/// access alone.
struct Report {
  Kind kind = Kind::race;
  std::string space;        ///< "global", "shared", "register", …; empty where none
  std::string buffer;       ///< name of the allocation; empty where none
  std::int64_t offset = 0;  ///< into the buffer or the space
  std::uint32_t bytes = 0;
  std::uint64_t count = 1;  ///< hazards of the same kind between the same two instructions
  bool same_value = false;  ///< of a race of two writes: they write the same bytes
  /// Row and column, filled by who knows that the buffer is a matrix.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> element;
  Place first;
  std::optional<Place> second;
  std::string message;  ///< one sentence for people
};

/// Hazards of one launch in the order in which they were found, equal ones merged.
class ReportList {
 public:
  /// Counts it to an equal one, or keeps it. Gives its number.
  std::size_t add(Report report);
  Report& at(std::size_t number) { return reports_[number]; }
  const std::vector<Report>& all() const { return reports_; }
  std::vector<Report> take() { return std::move(reports_); }
  bool empty() const { return reports_.empty(); }

 private:
  std::vector<Report> reports_;
};

}  // namespace bitgate::machine::hazard
