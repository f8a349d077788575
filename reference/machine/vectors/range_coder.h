#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bitgate::machine::vectors {

/// Adaptive binary range coder (Martin 1979; the carry handling and the 11-bit probabilities are
/// those of Pavlov's LZMA). Bytes are coded bit by bit, the highest first, each bit with the
/// probability that it had after the same higher bits in the same context.
class ByteModel {
 public:
  ByteModel() { probabilities_.fill(1U << 10); }
  std::uint16_t& after(std::size_t prefix) { return probabilities_[prefix]; }

 private:
  std::array<std::uint16_t, 256> probabilities_;
};

class RangeEncoder {
 public:
  void encode(ByteModel& model, std::byte byte);
  std::vector<std::byte> finish();

 private:
  void shift();

  std::vector<std::byte> out_;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffffU;
  std::uint8_t held_ = 0;  ///< with the carry that may still come
  std::uint64_t held_count_ = 1;
};

class RangeDecoder {
 public:
  explicit RangeDecoder(std::span<const std::byte> bytes);
  std::byte decode(ByteModel& model);
  /// Nothing was read beyond the end, and nothing is left.
  bool ended_well() const { return at_ == bytes_.size() && !ran_out_; }

 private:
  std::uint32_t next();

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ran_out_ = false;
  std::uint32_t code_ = 0;
  std::uint32_t range_ = 0xffffffffU;
};

}  // namespace bitgate::machine::vectors
