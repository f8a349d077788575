#include "ci/suite/random_contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "reference/numeric/half.h"

namespace bitgate::suite {
namespace {

std::vector<std::byte> bytes_of(const RandomContents& contents, std::size_t size) {
  std::vector<std::byte> bytes(size);
  RandomStream(contents).next(bytes);
  return bytes;
}

template <class T>
std::vector<T> elements_of(const RandomContents& contents, std::size_t count) {
  const std::vector<std::byte> bytes = bytes_of(contents, count * sizeof(T));
  std::vector<T> elements(count);
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

TEST(RandomContents, CutsDoNotChangeThem) {
  const RandomContents contents{.seed = 3, .type = "f32", .low = -1, .high = 1};
  const std::vector<std::byte> whole = bytes_of(contents, 1000);
  RandomStream stream(contents);
  std::vector<std::byte> parts(1000);
  for (std::size_t at = 0, step = 1; at < 1000; at += step, step = 1 + step % 13) {
    stream.next(std::span(parts).subspan(at, std::min(step, 1000 - at)));
  }
  EXPECT_EQ(parts, whole);
}

TEST(RandomContents, SeedsDiffer) {
  EXPECT_NE(bytes_of({.seed = 1}, 64), bytes_of({.seed = 2}, 64));
  // Recorded outputs depend on these bytes.
  EXPECT_EQ(elements_of<std::uint64_t>({.seed = 1}, 1)[0], 0xe0fb8de686a1bf0eu);
}

TEST(RandomContents, IntegersReachBothEnds) {
  const auto elements =
      elements_of<std::int16_t>({.seed = 1, .type = "s16", .least = -2, .most = 2}, 200);
  EXPECT_EQ(std::set<int>(elements.begin(), elements.end()), (std::set<int>{-2, -1, 0, 1, 2}));
}

TEST(RandomContents, FloatsStayWithin) {
  for (const float x : elements_of<float>({.seed = 1, .type = "f32", .low = 2, .high = 3}, 500)) {
    EXPECT_GE(x, 2.0f);
    EXPECT_LE(x, 3.0f);
  }
  double sum = 0;
  for (const auto x :
       elements_of<std::uint16_t>({.seed = 1, .type = "f16", .low = -1, .high = 1}, 2000)) {
    const float value = numeric::to_float(numeric::Half{x});
    EXPECT_LE(std::abs(value), 1.0f);
    sum += value;
  }
  EXPECT_LT(std::abs(sum), 100.0);
}

}  // namespace
}  // namespace bitgate::suite
