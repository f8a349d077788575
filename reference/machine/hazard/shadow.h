#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgate::machine::hazard {

/// One execution of an access by a warp: where, when, and how. Accesses of the same instruction in
/// the same epoch of its warp share one.
struct Record {
  std::uint32_t warp = 0;   ///< number in the launch
  std::uint32_t epoch = 0;  ///< of the warp, or of its asynchronous copies
  std::uint32_t pc = 0;
  std::uint8_t bytes = 0;  ///< of one element
  bool write = false;
  bool async = false;
  bool strong = false;
  bool atomic = false;
  bool cta_scope = false;
  bool non_coherent = false;

  friend bool operator==(const Record&, const Record&) = default;
};

/// Who accessed a place: 0, nobody; a record, with the lanes of it beside; or a list, by its number
/// with the highest bit set.
using Ref = std::uint32_t;
inline constexpr Ref kNobody = 0;
inline constexpr Ref kListBit = 0x80000000U;
inline constexpr bool is_list(Ref ref) { return (ref & kListBit) != 0; }

/// What is remembered of four bytes that are accessed alike: the last write, or the strong writes
/// that may be concurrent, and the reads since that may be concurrent.
struct Cell {
  Ref write = kNobody;
  std::uint32_t write_lanes = 0;
  Ref read = kNobody;
  std::uint32_t read_lanes = 0;
};

/// Bytes of one word that were accessed apart.
struct ByteCells {
  Cell byte[4];
};
/// Cell::write of a word whose bytes have cells of their own; write_lanes is their number.
inline constexpr Ref kSplit = 0xffffffffU;

/// A list that shares its tail with others.
struct Node {
  Ref next = kNobody;  ///< a list, or nobody
  std::uint32_t record = 0;
  std::uint32_t lanes = 0;
  std::uint32_t version = 0;  ///< of a strong write: its number at its place
  /// All records of the list are strong at gpu scope and of the same size.
  bool uniform = false;
};

/// Cells of a stretch of memory, zero at first; pages that nothing touches cost nothing.
class Cells {
 public:
  Cells() = default;
  explicit Cells(std::uint64_t bytes);
  ~Cells();
  Cells(Cells&& other) noexcept
      : cells_(std::exchange(other.cells_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Cells& operator=(Cells&& other) noexcept {
    std::swap(cells_, other.cells_);
    std::swap(count_, other.count_);
    return *this;
  }

  Cell* data() const { return cells_; }
  std::uint64_t mapped_bytes() const;
  /// Of the host, those that were touched.
  std::uint64_t resident_bytes() const;

 private:
  Cell* cells_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace bitgate::machine::hazard
