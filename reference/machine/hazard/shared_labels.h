#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/machine/exec/context.h"

namespace bitgate::machine::hazard {

inline bool any_set(const std::byte* at, std::size_t bytes) {
  std::byte any{0};
  for (std::size_t i = 0; i < bytes; ++i) any |= at[i];
  return any != std::byte{0};
}

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
    const auto kept = _mm_and_si128(*granule_at(at), kept_beside<Bytes>(at % kGranule));
    *granule_at(at) = kept;
    mark(at, _mm_testz_si128(kept, kept) == 0);
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

  __m128i* granule_at(std::size_t at) const {
    return reinterpret_cast<__m128i*>(labels_.data() + at / kGranule * kGranule);
  }
  bool any_in_granule(std::size_t at) const {
    return _mm_testz_si128(*granule_at(at), *granule_at(at)) == 0;
  }
  /// All ones but for `Bytes` bytes of a granule. A granule is changed as a whole: the processor
  /// waits for a store of a part of what it loads next.
  template <std::size_t Bytes>
  static __m128i kept_beside(std::size_t offset) {
    static constexpr auto kWindow = [] {
      std::array<std::uint8_t, 2 * kGranule + Bytes> window{};
      for (std::size_t i = 0; i < window.size(); ++i) {
        window[i] = i < kGranule || i >= kGranule + Bytes ? 0xff : 0;
      }
      return window;
    }();
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(&kWindow[kGranule - offset]));
  }
  /// Marks the granules of a range anew.
  void mark_all(std::size_t at, std::size_t bytes);

  std::size_t size_ = 0;
  AlignedBytes labels_;
  std::vector<std::uint16_t> lines_;  ///< a bit a granule
  std::size_t labelled_lines_ = 0;
};

}  // namespace bitgate::machine::hazard
