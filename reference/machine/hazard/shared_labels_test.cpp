#include "reference/machine/hazard/shared_labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "reference/support/random.h"

namespace bitgate::machine::hazard {
namespace {

TEST(SharedLabels, AgreeWithPlainBytes) {
  constexpr std::size_t kBytes = 1000;  // no multiple of a granule
  SharedLabels labels(kBytes);
  EXPECT_TRUE(labels.clean());
  labels.fill(true);
  std::vector<std::byte> plain(kBytes, std::byte{0xff});
  Random random(3, "shared labels");
  const auto is_clean = [&](std::size_t at, std::size_t bytes) {
    return std::all_of(&plain[at], &plain[at] + bytes,
                       [](std::byte b) { return b == std::byte{}; });
  };
  bool was_clean = false;
  for (int step = 0; step < 20000; ++step) {
    const std::size_t bytes = 1 + random.below(step % 2 == 0 ? 16 : 512);
    const std::size_t at = random.below(kBytes - bytes + 1);
    if (step % 500 < 100) {
      const std::size_t place = at / 4 * 4;
      labels.clear_aligned<4>(place);
      std::fill_n(&plain[place], 4, std::byte{0});
    } else if (step % 500 < 400) {
      labels.clear(at, bytes);
      std::fill_n(&plain[at], bytes, std::byte{0});
    } else {
      std::array<std::byte, 512> in{};
      for (std::size_t i = 0; i < bytes; ++i) in[i] = std::byte(random.below(4) == 0 ? 1 : 0);
      labels.write(at, in.data(), bytes);
      std::copy_n(in.data(), bytes, &plain[at]);
    }
    ASSERT_EQ(labels.any(at, bytes), !is_clean(at, bytes));
    ASSERT_EQ(labels.clean(), is_clean(0, kBytes));
    was_clean = was_clean || labels.clean();
    const std::size_t other = random.below(kBytes - 15);
    ASSERT_EQ(labels.any(other, 16), !is_clean(other, 16));
    ASSERT_EQ(labels.data()[other], plain[other]);
  }
  EXPECT_TRUE(was_clean);
  labels.fill(false);
  EXPECT_TRUE(labels.clean());
}

}  // namespace
}  // namespace bitgate::machine::hazard
