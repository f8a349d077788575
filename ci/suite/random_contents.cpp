#include "ci/suite/random_contents.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "reference/numeric/half.h"

namespace bitgate::suite {

namespace {

template <class T>
constexpr RandomType integer(std::string_view name) {
  return {name, sizeof(T), false, 0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}
constexpr RandomType floating(std::string_view name, std::size_t bytes, double greatest) {
  return {name, bytes, true, greatest, 0, 0};
}

// Random::between needs the width of the range in 63 bits.
constexpr std::int64_t kMost64 = (std::int64_t{1} << 62) - 1;

constexpr std::array kTypes = {
    RandomType{"bits", 8, false, 0, 0, 0},
    integer<std::uint8_t>("u8"),
    integer<std::int8_t>("s8"),
    integer<std::uint16_t>("u16"),
    integer<std::int16_t>("s16"),
    integer<std::uint32_t>("u32"),
    integer<std::int32_t>("s32"),
    RandomType{"u64", 8, false, 0, 0, kMost64},
    RandomType{"s64", 8, false, 0, -kMost64, kMost64},
    floating("f16", 2, 65504.0),
    floating("bf16", 2, 0x1.fep127),
    floating("f32", 4, double{std::numeric_limits<float>::max()}),
    floating("f64", 8, std::numeric_limits<double>::max()),
};

}  // namespace

const RandomType* random_type(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &RandomType::name);
  return found == kTypes.end() ? nullptr : found;
}

RandomStream::RandomStream(const RandomContents& contents)
    : contents_(contents),
      type_(random_type(contents.type)),
      random_(contents.seed, "launch file buffer") {}

std::uint64_t RandomStream::element() {
  if (type_->name == "bits") return random_.next();
  if (!type_->is_float) {
    return static_cast<std::uint64_t>(random_.between(contents_.least, contents_.most));
  }
  const double value = contents_.low + (contents_.high - contents_.low) * random_.uniform();
  if (type_->name == "f64") return std::bit_cast<std::uint64_t>(value);
  if (type_->name == "f32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return type_->name == "f16" ? numeric::to_half(value).bits : numeric::to_bfloat16(value).bits;
}

void RandomStream::next(std::span<std::byte> out) {
  for (std::byte& byte : out) {
    if (left_ == 0) {
      element_ = element();
      left_ = type_->bytes;
    }
    byte = static_cast<std::byte>(element_);
    element_ >>= 8;
    --left_;
  }
}

}  // namespace bitgate::suite
