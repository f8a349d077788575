#include <gtest/gtest.h>

#include "kernels/device/arguments.h"
#include "kernels/device/bench.h"
#include "kernels/device/cuda_driver.h"
#include "kernels/device/device.h"
#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

TEST(CudaDevice, IsThereOrSaysWhyNot) {
  std::string reason;
  const std::unique_ptr<Device> device = make_cuda_device(reason);
  if (device == nullptr) {
    EXPECT_FALSE(reason.empty());
  } else {
    EXPECT_EQ(device->properties().kind, "cuda");
    EXPECT_GT(device->properties().multiprocessors, 0);
  }
}

TEST(CudaDriver, MissingDriverIsNamed) {
  std::string reason;
  if (cuda::load_driver(reason) == nullptr) {
    EXPECT_NE(reason.find("libcuda.so.1"), std::string::npos) << reason;
  }
}

TEST(Arguments, ArePlacedAtTheirOffsets) {
  const std::vector<machine::ParameterSlot> slots{
      {.name = "a", .offset = 0, .bytes = 4, .alignment = 4},
      {.name = "b", .offset = 8, .bytes = 8, .alignment = 8}};
  const std::vector<std::vector<std::byte>> arguments{std::vector(4, std::byte{1}),
                                                      std::vector(8, std::byte{2})};
  EXPECT_EQ(argument_mismatch(slots, arguments), "");
  const std::vector<std::byte> packed = pack_arguments(slots, arguments);
  ASSERT_EQ(packed.size(), 16U);
  EXPECT_EQ(packed[3], std::byte{1});
  EXPECT_EQ(packed[4], std::byte{0});
  EXPECT_EQ(packed[15], std::byte{2});
  EXPECT_NE(argument_mismatch(slots, {}), "");
  EXPECT_NE(argument_mismatch(std::span(slots).first(1), arguments), "");
  const std::vector<std::vector<std::byte>> swapped{arguments[1], arguments[0]};
  EXPECT_EQ(argument_mismatch(slots, swapped), "parameter 0 ('a') has 4 bytes, the launch gives 8");
}

TEST(Bench, NeedsAGpu) {
  const auto machine = make_machine_device(numeric::tensor_model("hopper"));
  EXPECT_THROW(bench(*machine, {}), Unsupported);
}

TEST(PlainRead, TakesOneToThreeAlignedRanges) {
  const auto arms = plain_read_arms({{{0x1000, 4096}, {0x8000, 512}}}, 132, 0x10);
  ASSERT_FALSE(arms.empty());
  for (const BenchArm& arm : arms) {
    ASSERT_EQ(arm.rotations.size(), 1U);
    EXPECT_EQ(arm.rotations[0].arguments[0].size(), 40U);
    EXPECT_GT(arm.rotations[0].grid.x, 0U);
  }
  EXPECT_THROW(plain_read_arms({{}}, 132, 0x10), InputError);
  EXPECT_THROW(plain_read_arms({{{0x1008, 4096}}}, 132, 0x10), InputError);
  EXPECT_THROW(plain_read_arms({{{0x1000, 4104}}}, 132, 0x10), InputError);
  EXPECT_THROW(plain_read_arms({{{0x1000, std::uint64_t{1} << 36U}}}, 132, 0x10), InputError);
}

}  // namespace
}  // namespace bitgate::kernels
