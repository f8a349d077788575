#include "reference/machine/vectors/range_coder.h"

#include <utility>

namespace bitgate::machine::vectors {

namespace {

constexpr unsigned kProbabilityBits = 11;
constexpr unsigned kAdaptation = 4;
constexpr std::uint32_t kLeastRange = 1U << 24;

void update(std::uint16_t& zero, bool bit) {
  if (bit) {
    zero = static_cast<std::uint16_t>(zero - (zero >> kAdaptation));
  } else {
    zero = static_cast<std::uint16_t>(zero + (((1U << kProbabilityBits) - zero) >> kAdaptation));
  }
}

}  // namespace

void RangeEncoder::shift() {
  if (low_ < 0xff000000U || low_ > 0xffffffffU) {
    const auto carry = static_cast<std::uint8_t>(low_ >> 32);
    out_.push_back(static_cast<std::byte>(held_ + carry));
    for (; held_count_ > 1; --held_count_) out_.push_back(static_cast<std::byte>(0xff + carry));
    held_ = static_cast<std::uint8_t>(low_ >> 24);
    held_count_ = 0;
  }
  ++held_count_;
  low_ = (low_ & 0xffffffU) << 8;
}

void RangeEncoder::encode(ByteModel& model, std::byte byte) {
  std::size_t prefix = 1;
  for (int i = 7; i >= 0; --i) {
    const bool bit = (static_cast<unsigned>(byte) >> i & 1U) != 0;
    std::uint16_t& zero = model.after(prefix);
    const std::uint32_t bound = (range_ >> kProbabilityBits) * zero;
    if (bit) {
      low_ += bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    update(zero, bit);
    for (; range_ < kLeastRange; range_ <<= 8) shift();
    prefix = prefix << 1 | (bit ? 1U : 0U);
  }
}

std::vector<std::byte> RangeEncoder::finish() {
  for (int i = 0; i < 5; ++i) shift();
  return std::move(out_);
}

RangeDecoder::RangeDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
  for (int i = 0; i < 5; ++i) code_ = code_ << 8 | next();
}

std::uint32_t RangeDecoder::next() {
  if (at_ < bytes_.size()) return static_cast<std::uint32_t>(bytes_[at_++]);
  ran_out_ = true;
  return 0;
}

std::byte RangeDecoder::decode(ByteModel& model) {
  std::size_t prefix = 1;
  while (prefix < 256) {
    std::uint16_t& zero = model.after(prefix);
    const std::uint32_t bound = (range_ >> kProbabilityBits) * zero;
    const bool bit = code_ >= bound;
    if (bit) {
      code_ -= bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    update(zero, bit);
    for (; range_ < kLeastRange; range_ <<= 8) code_ = code_ << 8 | next();
    prefix = prefix << 1 | (bit ? 1U : 0U);
  }
  return static_cast<std::byte>(prefix);
}

}  // namespace bitgate::machine::vectors
