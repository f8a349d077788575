#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device/arguments.h"
#include "kernels/device/bench.h"
#include "kernels/device/cuda_driver.h"
#include "kernels/device/device.h"
#include "kernels/device/guarded_buffer.h"
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

// Thread i stores its number into c[i + first].
constexpr std::string_view kStore = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry store(.param .u64 c, .param .u32 first)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 	%rd1, [c];
	ld.param.u32 	%r1, [first];
	mov.u32 	%r2, %tid.x;
	add.s32 	%r3, %r1, %r2;
	mul.wide.s32 	%rd2, %r3, 4;
	add.s64 	%rd3, %rd1, %rd2;
	st.global.u32 	[%rd3], %r2;
	ret;
}

// Runs for half a second: past any time limit here, and not for ever.
.visible .entry linger()
{
	.reg .pred %p<2>;
	.reg .b64 %rd<4>;
	mov.u64 	%rd1, %globaltimer;
	add.s64 	%rd2, %rd1, 500000000;
$again:
	mov.u64 	%rd3, %globaltimer;
	setp.lt.u64 	%p1, %rd3, %rd2;
	@%p1 bra 	$again;
	ret;
}
)";

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Runs where there is a GPU; elsewhere it is skipped with the reason.
class OnGpu : public testing::Test {
 protected:
  using Status = LaunchOutcome::Status;

  void SetUp() override {
    std::string reason;
    device_ = make_cuda_device(reason);
    if (device_ == nullptr) GTEST_SKIP() << reason;
  }

  LaunchOutcome store(std::uint64_t c, std::int32_t first) {
    return device_->launch(code_,
                           {.entry = "store",
                            .grid = {1, 1, 1},
                            .block = {32, 1, 1},
                            .dynamic_shared_bytes = 0,
                            .arguments = {bytes_of(c), bytes_of(first)}},
                           {});
  }

  std::unique_ptr<Device> device_;
  Code code_{.name = "store.ptx", .ptx = kStore, .cubin_sm80 = {}, .cubin_sm90 = {}};
};

TEST_F(OnGpu, RunsAKernelAndFindsWhatItDamaged) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {.offset = 4});
  EXPECT_EQ(c.address() % 256, 4U);
  LaunchOutcome outcome = store(c.address(), 0);
  ASSERT_EQ(outcome.status, Status::completed) << outcome.message;
  EXPECT_FALSE(device_->compiled_by(code_).empty());
  EXPECT_EQ(c.unwritten(c.download(), 4).count, 0U);
  EXPECT_FALSE(c.check_guards().any());

  ASSERT_EQ(store(c.address(), 1).status, Status::completed);
  EXPECT_EQ(c.check_guards().first_offset, 128);
  ASSERT_EQ(store(c.address(), -1).status, Status::completed);
  EXPECT_EQ(c.check_guards().first_offset, -4);
}

TEST_F(OnGpu, RefusesLaunchesThatDoNotFit) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {});
  Launch launch{.entry = "store",
                .grid = {1, 1, 1},
                .block = {32, 1, 1},
                .dynamic_shared_bytes = 0,
                .arguments = {bytes_of(c.address())}};
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::refused);
  launch.arguments.push_back(bytes_of(std::int32_t{0}));
  launch.block = {2048, 1, 1};
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::refused);
  launch.block = {32, 1, 1};
  launch.dynamic_shared_bytes = 1U << 30U;
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::refused);
  launch.dynamic_shared_bytes = 64 * 1024;
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::completed);
  launch.entry = "stored";
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::refused);
  const Code no_ptx{.name = "no.ptx", .ptx = "no PTX", .cubin_sm80 = {}, .cubin_sm90 = {}};
  EXPECT_EQ(device_->launch(no_ptx, launch, {}).status, Status::refused);
}

TEST_F(OnGpu, IsLostAfterAnIllegalAddress) {
  const LaunchOutcome outcome = store(8, 0);
  EXPECT_EQ(outcome.status, Status::fault);
  EXPECT_NE(outcome.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
      << outcome.message;
  EXPECT_THROW(device_->allocate(16, "x"), DeviceLost);
}

TEST_F(OnGpu, IsLostAfterItsTimeLimit) {
  const Launch linger{
      .entry = "linger", .grid = {}, .block = {}, .dynamic_shared_bytes = 0, .arguments = {}};
  LaunchOptions options;
  options.time_limit = std::chrono::milliseconds(20);
  EXPECT_EQ(device_->launch(code_, linger, options).status, Status::timeout);
  EXPECT_EQ(device_->launch(code_, linger, options).status, Status::lost);
  EXPECT_THROW(device_->allocate(16, "x"), DeviceLost);
}

TEST_F(OnGpu, TimesLaunches) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {});
  const BenchArm arm{
      .name = "store",
      .code = &code_,
      .rotations = {{.entry = "store",
                     .grid = {1, 1, 1},
                     .block = {32, 1, 1},
                     .dynamic_shared_bytes = 0,
                     .arguments = {bytes_of(c.address()), bytes_of(std::int32_t{0})}}}};
  const auto results = bench(*device_, {arm, arm}, {.repetitions = 3});
  ASSERT_EQ(results.size(), 2U);
  for (const BenchResult& result : results) {
    EXPECT_GE(result.calls, 50);
    EXPECT_GT(result.min_us, 0);
    EXPECT_LE(result.min_us, result.median_us);
    EXPECT_LE(result.median_us, result.max_us);
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
