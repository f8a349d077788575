#pragma once

#include <immintrin.h>

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
  void clear(std::size_t at, std::size_t bytes);
  /// The same for `Bytes` at a multiple of them, which lie in one granule.
  template <std::size_t Bytes>
  void clear_aligned(std::size_t at) {
    static_assert(kGranule % Bytes == 0);
    if (lines_[at / kLine] == 0) return;
    std::memset(labels_.data() + at, 0, Bytes);
    mark(at, Bytes != kGranule && any_in_granule(at));
  }
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

  bool any_in_granule(std::size_t at) const {
    const auto* granule =
        reinterpret_cast<const __m128i*>(labels_.data() + at / kGranule * kGranule);
    return _mm_testz_si128(*granule, *granule) == 0;
  }
  /// Marks the granules of a range anew.
  void mark_all(std::size_t at, std::size_t bytes);

  std::size_t size_ = 0;
  AlignedBytes labels_;
  std::vector<std::uint16_t> lines_;  ///< a bit a granule
  std::size_t labelled_lines_ = 0;
};

}  // namespace bitgate::machine::hazard
