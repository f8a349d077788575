#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/machine/exec/context.h"

namespace bitgate::machine::hazard {

/// The labels of a block's shared memory, a byte for each of its bytes, and a bit for each granule
/// of 16 that holds a label: mostly there are none, which one look at a line of granules tells.
class SharedLabels {
 public:
  SharedLabels() = default;
  explicit SharedLabels(std::size_t bytes);

  /// All bits labelled, or none.
  void fill(bool labelled);

  std::size_t size() const { return size_; }
  const std::byte* data() const { return labels_.data(); }
  /// Nothing is labelled.
  bool clean() const { return labelled_lines_ == 0; }

  bool any(std::size_t at, std::size_t bytes) const;
  void clear(std::size_t at, std::size_t bytes) {
    const bool within = at % kLine + bytes <= kLine;
    if (within && lines_[at / kLine] == 0) return;
    if (bytes == kGranule && at % kGranule == 0) {
      std::memset(labels_.data() + at, 0, kGranule);
      mark(at, false);
    } else {
      write(at, nullptr, bytes);
    }
  }
  /// `in` null: no labels.
  void write(std::size_t at, const std::byte* in, std::size_t bytes);

 private:
  static constexpr std::size_t kGranule = 16;
  static constexpr std::size_t kLine = 16 * kGranule;

  /// Whether the granule at a place holds a label.
  void mark(std::size_t at, bool labelled) {
    std::uint16_t& line = lines_[at / kLine];
    const unsigned bit = 1U << at % kLine / kGranule;
    labelled_lines_ -= line != 0 ? 1 : 0;
    line = static_cast<std::uint16_t>(labelled ? line | bit : line & ~bit);
    labelled_lines_ += line != 0 ? 1 : 0;
  }

  std::size_t size_ = 0;
  AlignedBytes labels_;
  std::vector<std::uint16_t> lines_;  ///< a bit a granule
  std::size_t labelled_lines_ = 0;
};

}  // namespace bitgate::machine::hazard
