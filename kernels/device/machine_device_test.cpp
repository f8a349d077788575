#include <gtest/gtest.h>

#include <cstring>

#include "kernels/device/device.h"
#include "kernels/device/guarded_buffer.h"
#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

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
)";

constexpr std::string_view kSpin = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry spin()
{
$again:
	bra $again;
}
)";

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

class MachineDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_machine_device(numeric::tensor_model("hopper"));
  Code code_{.name = "store.ptx", .ptx = kStore, .cubin_sm80 = {}, .cubin_sm90 = {}};

  Launch store(std::uint64_t c, std::int32_t first, std::uint32_t threads) {
    return {.entry = "store",
            .grid = {1, 1, 1},
            .block = {threads, 1, 1},
            .dynamic_shared_bytes = 0,
            .arguments = {bytes_of(c), bytes_of(first)}};
  }
};

using Status = LaunchOutcome::Status;

TEST_F(MachineDeviceTest, RunsAKernel) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {});
  const LaunchOutcome outcome = device_->launch(code_, store(c.address(), 0, 31), {});
  ASSERT_EQ(outcome.status, Status::completed) << outcome.message;
  EXPECT_GT(outcome.thread_instructions, 31U);
  const auto contents = c.download();
  for (std::uint32_t i = 0; i < 31; ++i) {
    std::uint32_t value = 0;
    std::memcpy(&value, &contents[i * 4], 4);
    EXPECT_EQ(value, i);
  }
  const auto unwritten = c.unwritten(contents, 4);
  EXPECT_EQ(unwritten.count, 1U);
  EXPECT_EQ(unwritten.first, 31U);
  EXPECT_FALSE(c.check_guards().any());
  EXPECT_EQ(device_->compiled_by(code_), "reference machine");
}

TEST_F(MachineDeviceTest, OneElementBehindThePayloadFaults) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {});
  for (const std::int32_t first : {1, -1}) {
    const LaunchOutcome outcome = device_->launch(code_, store(c.address(), first, 32), {});
    ASSERT_EQ(outcome.status, Status::fault);
    ASSERT_TRUE(outcome.fault);
    EXPECT_EQ(outcome.fault->kind, machine::Fault::Kind::out_of_bounds);
    EXPECT_FALSE(outcome.message.empty());
  }
  EXPECT_FALSE(c.check_guards().any()) << "the store went nowhere";
}

TEST_F(MachineDeviceTest, WritingAReadOnlyBufferFaults) {
  GuardedBuffer input(*device_, "a", {.rows = 1, .row_bytes = 128}, {.read_only = true});
  input.upload(std::vector<std::byte>(128));
  const LaunchOutcome outcome = device_->launch(code_, store(input.address(), 0, 32), {});
  ASSERT_EQ(outcome.status, Status::fault);
  EXPECT_EQ(outcome.fault->kind, machine::Fault::Kind::read_only_write);
}

TEST_F(MachineDeviceTest, RefusesLaunchesThatDoNotFit) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {});
  Launch launch = store(c.address(), 0, 32);
  launch.entry = "stored";
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::refused);

  launch = store(c.address(), 0, 32);
  launch.arguments.pop_back();
  LaunchOutcome outcome = device_->launch(code_, launch, {});
  EXPECT_EQ(outcome.status, Status::refused);
  EXPECT_NE(outcome.message.find("2 parameters, the launch gives 1"), std::string::npos)
      << outcome.message;

  launch = store(c.address(), 0, 32);
  launch.arguments[1] = bytes_of(std::uint64_t{0});
  outcome = device_->launch(code_, launch, {});
  EXPECT_EQ(outcome.status, Status::refused);
  EXPECT_NE(outcome.message.find("has 4 bytes, the launch gives 8"), std::string::npos)
      << outcome.message;

  launch = store(c.address(), 0, 2048);
  EXPECT_EQ(device_->launch(code_, launch, {}).status, Status::refused);
  EXPECT_EQ(device_
                ->launch({.name = "no.ptx", .ptx = "no PTX", .cubin_sm80 = {}, .cubin_sm90 = {}},
                         store(c.address(), 0, 32), {})
                .status,
            Status::refused);
}

TEST_F(MachineDeviceTest, EndsAtItsTimeLimit) {
  const Code spin{.name = "spin.ptx", .ptx = kSpin, .cubin_sm80 = {}, .cubin_sm90 = {}};
  const Launch launch{
      .entry = "spin", .grid = {}, .block = {}, .dynamic_shared_bytes = 0, .arguments = {}};
  LaunchOptions options;
  options.time_limit = std::chrono::milliseconds(20);
  EXPECT_EQ(device_->launch(spin, launch, options).status, Status::timeout);
}

TEST_F(MachineDeviceTest, TellsCodeByContentNotByAddress) {
  GuardedBuffer c(*device_, "c", {.rows = 1, .row_bytes = 128}, {});
  std::string text(kStore);
  Code code{.name = "store.ptx", .ptx = text, .cubin_sm80 = {}, .cubin_sm90 = {}};
  ASSERT_EQ(device_->launch(code, store(c.address(), 0, 32), {}).status, Status::completed);
  const std::size_t at = text.find("store(");
  text[at + 4] = 'm';
  EXPECT_EQ(device_->launch(code, store(c.address(), 0, 32), {}).status, Status::refused);
}

TEST_F(MachineDeviceTest, HostAccessStaysInsideABuffer) {
  const std::uint64_t address = device_->allocate(100, "x", 4, 50);
  EXPECT_EQ(address % 256, 4U);
  std::vector<std::byte> all(200, std::byte{7});
  device_->write(address - 50, all);
  std::vector<std::byte> back(200);
  device_->read(address - 50, back);
  EXPECT_EQ(back, all);
  std::vector<std::byte> more(201);
  EXPECT_THROW(device_->read(address - 50, more), InputError);
  EXPECT_THROW(device_->write(address - 51, all), InputError);
  EXPECT_THROW(device_->read(8, back), InputError);
  device_->release(address);
  EXPECT_THROW(device_->read(address, back), InputError);
  device_->release(address);
}

TEST_F(MachineDeviceTest, RefusesHugeGuards) {
  EXPECT_THROW(device_->allocate(1, "x", 0, std::uint64_t{1} << 40U), std::bad_alloc);
}

}  // namespace
}  // namespace bitgate::kernels
