#include "kernels/device/guarded_buffer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>

#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

class GuardedBufferTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_machine_device(numeric::tensor_model("hopper"));

  void poke(std::uint64_t address) {
    std::byte byte{};
    device_->read(address, {&byte, 1});
    byte ^= std::byte{1};
    device_->write(address, {&byte, 1});
  }
};

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i);
  return result;
}

TEST_F(GuardedBufferTest, GivesBackWhatWasUploaded) {
  GuardedBuffer dense(*device_, "a", {.rows = 1, .row_bytes = 100}, {});
  dense.upload(numbered(100));
  EXPECT_EQ(dense.download(), numbered(100));
  GuardedBuffer strided(*device_, "a", {.rows = 5, .row_bytes = 20, .pitch_bytes = 48},
                        {.offset = 2});
  strided.upload(numbered(100));
  EXPECT_EQ(strided.download(), numbered(100));
  EXPECT_EQ(strided.address() % 256, 2U);
  EXPECT_FALSE(strided.check_guards().any());
  EXPECT_EQ(strided.changed_bytes(numbered(100)), 0U);
  poke(strided.address() + 48);
  EXPECT_EQ(strided.changed_bytes(numbered(100)), 1U);
}

TEST_F(GuardedBufferTest, PoisonIsNanInEveryType) {
  GuardedBuffer buffer(*device_, "c", {.rows = 1, .row_bytes = 4096}, {.seed = 7});
  const auto poison = buffer.download();
  for (std::size_t at = 0; at < poison.size(); at += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &poison[at], 2);
    EXPECT_TRUE(std::isnan(numeric::to_float(numeric::ScalarType::f16, bits)));
    EXPECT_TRUE(std::isnan(numeric::to_float(numeric::ScalarType::bf16, bits)));
    EXPECT_NE(bits & 0x7fff, 0x7fff) << "the NaN that arithmetic produces";
  }
  for (std::size_t at = 0; at < poison.size(); at += 4) {
    float value = 0;
    std::memcpy(&value, &poison[at], 4);
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST_F(GuardedBufferTest, PatternDependsOnSeedNameAndPlace) {
  const auto contents = [&](const char* name, std::uint64_t seed) {
    return GuardedBuffer(*device_, name, {.rows = 1, .row_bytes = 256}, {.seed = seed}).download();
  };
  EXPECT_EQ(contents("c", 1), contents("c", 1));
  EXPECT_NE(contents("c", 1), contents("c", 2));
  EXPECT_NE(contents("c", 1), contents("d", 1));
  const auto one = contents("c", 1);
  EXPECT_NE(std::vector(one.begin(), one.begin() + 128), std::vector(one.begin() + 128, one.end()));
}

TEST_F(GuardedBufferTest, CountsWhatWasNotWritten) {
  GuardedBuffer buffer(*device_, "c", {.rows = 3, .row_bytes = 32, .pitch_bytes = 40}, {});
  auto contents = buffer.download();
  EXPECT_EQ(buffer.unwritten(contents, 2).count, 48U);
  buffer.upload(std::vector<std::byte>(96));
  EXPECT_EQ(buffer.unwritten(buffer.download(), 2).count, 0U);
  // Element 9 of row 1 keeps its poison.
  auto almost = std::vector<std::byte>(96);
  std::copy_n(contents.begin() + 32 + 18, 2, almost.begin() + 32 + 18);
  const auto unwritten = buffer.unwritten(almost, 2);
  EXPECT_EQ(unwritten.count, 1U);
  EXPECT_EQ(unwritten.first, 25U);
  buffer.poison();
  EXPECT_EQ(buffer.download(), contents);
}

TEST_F(GuardedBufferTest, FindsOneByteChangedAnywhereOutside) {
  constexpr std::uint64_t kGuard = 300;
  const GuardedBuffer::Layout layout{.rows = 4, .row_bytes = 30, .pitch_bytes = 50};
  EXPECT_TRUE(rc::check([&] {
    GuardedBuffer buffer(*device_, "c", layout, {.offset = 6, .guard_bytes = kGuard});
    const std::int64_t offset = *rc::gen::inRange<std::int64_t>(-300, 180 + 300);
    const bool inside = offset >= 0 && offset < 180 && offset % 50 < 30;
    poke(buffer.address() + static_cast<std::uint64_t>(offset));
    const auto damage = buffer.check_guards();
    RC_ASSERT(damage.any() == !inside);
    if (inside) return;
    RC_ASSERT(*damage.first_offset == offset);
    RC_ASSERT(damage.before == (offset < 0 ? 1U : 0U));
    RC_ASSERT(damage.after == (offset >= 180 ? 1U : 0U));
    RC_ASSERT(damage.before + damage.gaps + damage.after == 1U);
  }));
}

TEST_F(GuardedBufferTest, SaysWhereTheDamageIs) {
  GuardedBuffer buffer(*device_, "c", {.rows = 4, .row_bytes = 30, .pitch_bytes = 50}, {});
  poke(buffer.address() + 2 * 50 + 34);
  EXPECT_EQ(buffer.check_guards().message,
            "'c': bytes changed outside the buffer: 0 below it, 1 between rows, 0 above it; the "
            "first in the gap behind row 2, 4 bytes past the row's end");
}

TEST_F(GuardedBufferTest, LargeSpansAreSampledNotTouched) {
  // Rows across 2^31 bytes: filled as a whole this would map 6 GiB.
  const GuardedBuffer::Layout layout{
      .rows = 4, .row_bytes = 64, .pitch_bytes = std::uint64_t{1} << 31U};
  GuardedBuffer buffer(*device_, "c", layout, {});
  buffer.upload(numbered(256));
  EXPECT_EQ(buffer.download(), numbered(256));
  EXPECT_FALSE(buffer.check_guards().any());
  for (const std::uint64_t offset : {std::uint64_t{64}, layout.pitch_bytes - 1,
                                     3 * layout.pitch_bytes - 4096, 3 * layout.pitch_bytes + 64}) {
    poke(buffer.address() + offset);
    EXPECT_TRUE(buffer.check_guards().any()) << offset;
    poke(buffer.address() + offset);
  }
  EXPECT_FALSE(buffer.check_guards().any());
}

TEST_F(GuardedBufferTest, EmptyBuffersHaveGuardsToo) {
  GuardedBuffer buffer(*device_, "c", {.rows = 0, .row_bytes = 64}, {});
  EXPECT_TRUE(buffer.download().empty());
  EXPECT_FALSE(buffer.check_guards().any());
  poke(buffer.address());
  EXPECT_EQ(buffer.check_guards().after, 1U);
}

TEST_F(GuardedBufferTest, RefusesWhatDoesNotFit) {
  EXPECT_THROW(GuardedBuffer(*device_, "c", {.rows = 2, .row_bytes = 64, .pitch_bytes = 32}, {}),
               InputError);
  EXPECT_THROW(GuardedBuffer(*device_, "c",
                             {.rows = std::uint64_t{1} << 33U,
                              .row_bytes = 64,
                              .pitch_bytes = std::uint64_t{1} << 33U},
                             {}),
               InputError);
  GuardedBuffer buffer(*device_, "c", {.rows = 1, .row_bytes = 64}, {});
  EXPECT_THROW(buffer.upload(numbered(63)), InputError);
}

}  // namespace
}  // namespace bitgate::kernels
