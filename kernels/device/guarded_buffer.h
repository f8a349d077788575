#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/device.h"

namespace bitgate::kernels {

/// A device buffer of `rows` rows of `row_bytes` bytes, `pitch_bytes` apart, between two guard
/// regions. The gaps between the rows (of a view with lda > k) are guards too.
///
/// Guards, gaps and a poisoned payload hold a pattern that depends on the seed and on the place,
/// so that no copy of it elsewhere passes for it. Each of its 16-bit words is a NaN whose payload
/// no arithmetic produces, read as f16 or as bf16, and each two of them are one read as f32: what
/// reads the pattern and computes with it shows NaN, and what still holds it was not written.
///
/// A span above 64 MiB is not touched as a whole: in each gap, the 4 KiB next to either row are
/// filled and checked, and the guards.
class GuardedBuffer {
 public:
  struct Layout {
    std::uint64_t rows = 1;
    std::uint64_t row_bytes = 0;
    std::uint64_t pitch_bytes = 0;  ///< 0: row_bytes
  };
  struct Options {
    std::uint64_t offset = 0;  ///< of the address from a multiple of 256
    std::uint64_t guard_bytes = 16384;
    std::uint64_t seed = 0;
    bool read_only = false;
  };

  /// Guards and gaps are written; the payload is poisoned. InputError when rows overlap or the
  /// size overflows; std::bad_alloc when the device has no room.
  GuardedBuffer(Device& device, std::string name, const Layout& layout, const Options& options);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t address() const { return address_; }
  std::uint64_t payload_bytes() const { return layout_.rows * layout_.row_bytes; }

  /// Rows one after the other, without gaps.
  void upload(std::span<const std::byte> payload);
  std::vector<std::byte> download();
  /// Puts the poison back.
  void poison();

  /// Words of `element_bytes` (2 or 4) of a downloaded payload that still hold the poison, and the
  /// first of them, counted in elements of the payload.
  struct Unwritten {
    std::uint64_t count = 0;
    std::uint64_t first = 0;
  };
  Unwritten unwritten(std::span<const std::byte> payload, std::uint64_t element_bytes) const;

  /// Bytes outside the payload that no longer hold the pattern.
  struct Damage {
    std::uint64_t before = 0;                  ///< in the guard below the buffer
    std::uint64_t gaps = 0;                    ///< between rows
    std::uint64_t after = 0;                   ///< in the guard above it
    std::optional<std::int64_t> first_offset;  ///< lowest changed byte, from address()
    std::string message;                       ///< one sentence; empty when nothing changed
    bool any() const { return first_offset.has_value(); }
  };
  Damage check_guards();

  /// For inputs: bytes of the payload that differ from what was uploaded.
  std::uint64_t changed_bytes(std::span<const std::byte> uploaded);

 private:
  void mark_undefined();
  std::uint64_t span_bytes() const;
  bool touched_as_a_whole() const;
  /// The pattern of the bytes from `offset` (from address(); negative in the lower guard).
  void pattern(std::int64_t offset, std::span<std::byte> out) const;
  void write_pattern(std::int64_t offset, std::uint64_t bytes);
  /// use(offset, bytes) for each part of a gap that is filled and checked.
  template <class Use>
  void for_each_gap(const Use& use) const;

  Device* device_;
  std::string name_;
  Layout layout_;
  std::uint64_t guard_bytes_;
  std::uint64_t key_;
  std::uint64_t address_ = 0;
};

}  // namespace bitgate::kernels
