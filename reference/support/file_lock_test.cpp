#include "reference/support/file_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "reference/support/error.h"

namespace bitgate {
namespace {

TEST(FileLock, ASecondHolderWaitsForTheFirst) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "bitgate_lock" / "one.lock";
  std::optional<FileLock> first(path);
  std::atomic<bool> released = false;
  std::atomic<bool> saw_release = false;
  std::thread second([&] {
    const FileLock lock(path);
    saw_release = released.load();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  released = true;
  first.reset();
  second.join();
  EXPECT_TRUE(saw_release);
}

TEST(FileLock, NamesAPlaceThatCannotBeLocked) {
  EXPECT_THROW(FileLock("/proc/nowhere/a.lock"), InputError);
}

}  // namespace
}  // namespace bitgate
