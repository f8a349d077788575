#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace bitgate::machine::hazard {

/// How a record says which of its warp's lanes accessed a place.
enum class Who : std::uint8_t {
  cell,  ///< a mask beside each reference to it says so
  run,   ///< all 32, each the next bytes: the place itself says which
  all    ///< all 32 together
};

/// One execution of an access by a warp: where, when, and how. Accesses of the same instruction in
/// the same epoch of its warp share one if they say alike who did it.
struct Record {
  std::uint32_t warp = 0;   ///< number in the launch
  std::uint32_t epoch = 0;  ///< of the warp, or of its asynchronous copies
  std::uint32_t pc = 0;
  std::uint16_t phase = 0;       ///< of a run: where it begins, modulo its length
  std::uint16_t lane_shift = 0;  ///< of a run: logarithm of a lane's bytes
  std::uint8_t bytes = 0;        ///< of one element
  Who who = Who::cell;
  bool write = false;
  bool async = false;
  bool strong = false;
  bool atomic = false;
  bool cta_scope = false;
  bool non_coherent = false;

  /// The lanes that accessed the byte at `offset`; `mask` is what stands beside the reference.
  std::uint32_t lanes_at(std::uint64_t offset, std::uint32_t mask) const {
    if (who == Who::cell) return mask;
    if (who == Who::all) return 0xffffffffU;
    return 1U << ((offset - phase) >> lane_shift & 31U);
  }
  /// Logarithm of how many bytes, aligned to that, were surely accessed by the same lanes if one
  /// reference says it.
  std::uint16_t grain() const { return who == Who::run ? lane_shift : kCoarse; }
  static constexpr std::uint16_t kCoarse = 16;
  /// The same lane of both accessed each place.
  bool aligned_with(const Record& other) const {
    return who == Who::run && other.who == Who::run && phase == other.phase &&
           lane_shift == other.lane_shift;
  }
  /// Without who did it.
  Record bare() const {
    Record record = *this;
    record.who = Who::cell;
    record.phase = 0;
    record.lane_shift = 0;
    return record;
  }

  /// Word by word: compilers compare member by member.
  friend bool operator==(const Record& a, const Record& b) {
    using Words = std::array<std::uint64_t, 3>;
    return std::bit_cast<Words>(a) == std::bit_cast<Words>(b);
  }
};
static_assert(std::has_unique_object_representations_v<Record>);

/// Who accessed a place: 0, nobody; a record, with the lanes of it beside (Who::cell); or a list,
/// by its number with the highest bit set.
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
  std::uint16_t grain = 0;  ///< the least of its records
};

/// Cells of a stretch of memory, zero at first; pages of a large one that nothing touches cost
/// nothing. Each member of all cells lies together, so that accesses of many words compare and set
/// them by vectors; the lanes beside a reference that needs none are left as they are.
class Cells {
 public:
  Cells() = default;
  explicit Cells(std::uint64_t bytes);
  ~Cells();
  Cells(Cells&& other) noexcept
      : words_(std::exchange(other.words_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Cells& operator=(Cells&& other) noexcept {
    std::swap(words_, other.words_);
    std::swap(count_, other.count_);
    return *this;
  }

  Ref* write() const { return words_; }
  Ref* read() const { return words_ + count_; }
  std::uint32_t* write_lanes() const { return words_ + 2 * count_; }
  std::uint32_t* read_lanes() const { return words_ + 3 * count_; }

  Cell load(std::uint64_t i) const {
    return {write()[i], write_lanes()[i], read()[i], read_lanes()[i]};
  }
  void store(std::uint64_t i, const Cell& cell) const {
    write()[i] = cell.write;
    write_lanes()[i] = cell.write_lanes;
    read()[i] = cell.read;
    read_lanes()[i] = cell.read_lanes;
  }

  bool empty() const { return words_ == nullptr; }
  std::uint64_t mapped_bytes() const;
  /// Of the host, those that were touched.
  std::uint64_t resident_bytes() const;

 private:
  std::uint32_t* words_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace bitgate::machine::hazard
