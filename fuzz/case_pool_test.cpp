#include "fuzz/case_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace bitgate::fuzz {
namespace {

using Worker = std::function<int(std::size_t)>;

TEST(CasePool, HandsResultsOverInOrder) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    std::vector<int> seen;
    const std::function<Worker()> make_worker = [] {
      return [](std::size_t index) {
        std::this_thread::sleep_for(std::chrono::microseconds((index * 7919) % 500));
        return static_cast<int>(index * index);
      };
    };
    const auto done = run_in_order<int>(
        60, threads, make_worker, [] { return false; },
        [&](std::size_t index, int result) {
          EXPECT_EQ(index, seen.size());
          seen.push_back(result);
        });
    EXPECT_EQ(done, 60U);
    ASSERT_EQ(seen.size(), 60U);
    EXPECT_EQ(seen[59], 59 * 59);
  }
}

TEST(CasePool, StopLeavesAPrefix) {
  std::size_t last = 0;
  bool stop = false;
  const std::function<Worker()> make_worker = [] { return [](std::size_t) { return 1; }; };
  const auto done = run_in_order<int>(
      1000, 3, make_worker, [&] { return stop; },
      [&](std::size_t index, int) {
        last = index;
        if (index == 20) stop = true;
      });
  EXPECT_EQ(done, last + 1);
  EXPECT_GE(done, 21U);
  EXPECT_LE(done, 24U);
}

TEST(CasePool, RethrowsTheFirstError) {
  const std::function<Worker()> make_worker = [] {
    return [](std::size_t index) -> int {
      if (index == 5) throw std::runtime_error("five");
      return 0;
    };
  };
  EXPECT_THROW(run_in_order<int>(
                   50, 2, make_worker, [] { return false; }, [](std::size_t, int) {}),
               std::runtime_error);
}

}  // namespace
}  // namespace bitgate::fuzz
