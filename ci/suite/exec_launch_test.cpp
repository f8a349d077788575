#include "ci/suite/exec_launch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/machine/hazard/fault_report.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {
namespace {

using kernels::LaunchOutcome;

constexpr const char* kScale = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 out, .param .f32 factor, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [out];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra $done;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.f32 %f2, [%rd4];
  mul.f32 %f3, %f2, %f1;
  add.f32 %f4, %f3, 0f3F800000;
  add.s64 %rd5, %rd2, %rd3;
  st.global.f32 [%rd5], %f4;
$done:
  ret;
}
.visible .entry other() { ret; }
)";

std::string launch_json(std::string_view n, std::string_view more = "") {
  return std::string(R"({"module": "scale.ptx", "buffers": {
    "x": {"bytes": 1024, "file": "x.bin", "read_only": true},
    "out": {"bytes": 1024, "output": true}, "zeros": {"bytes": 8, "fill": "zero", "output": true}},
    "launches": [{"entry": "scale", "grid": [2], "block": [128],
      "args": [{"ptr": "x"}, {"ptr": "out"}, {"f32": 2.0}, {"u32": )") +
         std::string(n) + "}]}" + std::string(more) + "]}";
}

/// A folder with the kernel and its input 0, 1, 2, …
class ExecLaunch : public ::testing::Test {
 protected:
  ExecLaunch() {
    folder_ =
        std::filesystem::temp_directory_path() / ("bitgate-exec-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::vector<float> x(256);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    write_file(folder_ / "x.bin", std::as_bytes(std::span(x)));
    write_file(folder_ / "scale.ptx", kScale);
  }
  ~ExecLaunch() override { std::filesystem::remove_all(folder_); }

  ExecResult exec(const std::string& json, kernels::Device& device, ExecOptions options = {}) {
    write_file(folder_ / "launch.json", json);
    return exec_launch_file(folder_ / "launch.json", device, options);
  }
  std::string error_of(const std::string& json, kernels::Device& device,
                       const ExecOptions& options = {}) {
    try {
      exec(json, device, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Keeps buffers, records what it is asked, and ends a launch as it is told.
class ScriptedDevice final : public kernels::Device {
 public:
  ScriptedDevice() { properties_.kind = "machine"; }
  const kernels::DeviceProperties& properties() const override { return properties_; }
  std::uint64_t allocate(std::uint64_t bytes, std::string_view, std::uint64_t, std::uint64_t,
                         bool read_only) override {
    next_ += std::uint64_t{1} << 41;
    sizes[next_] = bytes;
    read_only_count += read_only ? 1 : 0;
    return next_;
  }
  void release(std::uint64_t address) override { sizes.erase(address); }
  void write(std::uint64_t, std::span<const std::byte> bytes) override { written += bytes.size(); }
  void read(std::uint64_t, std::span<std::byte> bytes) override {
    if (lost) throw kernels::DeviceLost("the device is gone");
    std::ranges::fill(bytes, std::byte{0});
  }
  LaunchOutcome launch(const kernels::Code& code, const kernels::Launch& launch,
                       const kernels::LaunchOptions&) override {
    ptx = code.ptx;
    launches.push_back(launch);
    return same_every_time ? outcome : std::exchange(outcome, {});
  }

  std::map<std::uint64_t, std::uint64_t> sizes;
  int read_only_count = 0;
  std::uint64_t written = 0;
  bool lost = false;
  std::string ptx;
  std::vector<kernels::Launch> launches;
  LaunchOutcome outcome;  ///< of the next launch
  bool same_every_time = false;

 private:
  kernels::DeviceProperties properties_;
  std::uint64_t next_ = 0;
};

TEST_F(ExecLaunch, PassesWhatTheFileSays) {
  ScriptedDevice device;
  const ExecResult result =
      exec(launch_json("200", R"(, {"entry": "other", "grid": [3, 2], "block": [64]})"), device);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.document["schema"], "bitgate.exec/1");
  EXPECT_EQ(result.document["verdict"], "pass");
  EXPECT_TRUE(result.document["unsupported"].is_null());
  EXPECT_EQ(result.document["hazards"].size(), 0u);
  EXPECT_EQ(result.document["contractible"], 1);
  EXPECT_EQ(result.document["approximate"], 0);
  EXPECT_EQ(result.document["outputs"]["zeros"]["bytes"], 8);
  ASSERT_EQ(device.launches.size(), 2u);
  EXPECT_EQ(device.launches[0].entry, "scale");
  EXPECT_EQ(device.launches[0].arguments.size(), 4u);
  EXPECT_EQ(device.launches[0].arguments[2].size(), 4u);
  EXPECT_EQ(device.launches[1].grid, (kernels::Dim3{3, 2, 1}));
  EXPECT_EQ(device.read_only_count, 1);
  EXPECT_EQ(device.written, 2048u) << "x from its file, out poisoned, zeros left alone";
  EXPECT_TRUE(device.sizes.empty()) << "buffers are released";
}

TEST_F(ExecLaunch, LargeBuffersAreNotTouched) {
  ScriptedDevice device;
  exec(R"({"module": "scale.ptx", "buffers": {"big": {"bytes": 8589934592, "fill": "zero"},
           "vast": {"bytes": 1099511627776}},
           "launches": [{"entry": "other", "grid": [1], "block": [1]}]})",
       device);
  EXPECT_EQ(device.written, 0u);
}

TEST_F(ExecLaunch, MistakesAreFoundBeforeAnythingRuns) {
  ScriptedDevice device;
  EXPECT_PRED2(contains, error_of(launch_json("200}, {\"u32\": 1"), device),
               "launches[0].args: expected 4 arguments for 'scale', found 5");
  EXPECT_PRED2(contains, error_of(launch_json("1}, {\"grid\": 1"), device), "expected the keys");
  std::string wrong = launch_json("200");
  wrong.replace(wrong.find("\"f32\": 2.0"), 10, "\"f64\": 2.0");
  EXPECT_PRED2(contains, error_of(wrong, device),
               "launches[0].args[2]: expected 4 bytes for parameter 'factor' (.f32), found 8 bytes "
               "of \"f64\"");
  wrong = launch_json("200");
  wrong.replace(wrong.find("\"entry\": \"scale\", "), 18, "");
  EXPECT_PRED2(contains, error_of(wrong, device), "expected \"entry\", one of 'scale', 'other'");
  wrong = launch_json("200", R"(, {"entry": "gone", "grid": [1], "block": [1]})");
  EXPECT_PRED2(contains, error_of(wrong, device),
               "launches[1].entry: expected one of 'scale', 'other', found 'gone'");
  ExecOptions options;
  options.ptx = folder_ / "none.ptx";
  EXPECT_PRED2(contains, error_of(launch_json("200"), device, options), "none.ptx");
  options.ptx = folder_ / "x.bin";
  EXPECT_PRED2(contains, error_of(launch_json("200"), device, options),
               "x.bin:1:1: expected .version");
  options = {};
  options.out_folder = folder_ / "x.bin" / "below";
  EXPECT_PRED2(contains, error_of(launch_json("200"), device, options),
               "expected a folder that can be written");
  EXPECT_TRUE(device.launches.empty());
}

TEST_F(ExecLaunch, AnotherPtxInPlaceOfTheModule) {
  ScriptedDevice device;
  ExecOptions options;
  options.ptx = folder_ / "changed.ptx";
  write_file(*options.ptx, std::string(kScale) + "// changed\n");
  std::filesystem::remove(folder_ / "scale.ptx");
  EXPECT_EQ(exec(launch_json("200"), device, options).exit_code, 0);
  EXPECT_PRED2(contains, device.ptx, "// changed");
}

TEST_F(ExecLaunch, FaultsBecomeHazards) {
  ScriptedDevice device;
  machine::Fault fault;
  fault.kind = machine::Fault::Kind::out_of_bounds;
  fault.site = {"@%p1 st.global.f32 [%rd5], %f4", "k.cu", 12, 88, {1, 0, 0}, {3, 0, 0}};
  fault.space = "global";
  fault.buffer = "out";
  fault.offset = 1024;
  fault.bytes = 4;
  device.outcome.status = LaunchOutcome::Status::fault;
  device.outcome.message = "4 bytes past the end of 'out'";
  device.outcome.fault = fault;
  device.outcome.hazards = {*machine::hazard::report_of(fault)};
  const ExecResult result =
      exec(launch_json("200", R"(, {"entry": "other", "grid": [1], "block": [1]})"), device);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(device.launches.size(), 1u) << "nothing runs after a fault";
  EXPECT_EQ(result.document["verdict"], "fail");
  const auto& hazard = result.document["hazards"].at(0);
  EXPECT_EQ(hazard["kind"], "out_of_bounds");
  EXPECT_EQ(hazard["space"], "global");
  EXPECT_EQ(hazard["buffer"], "out");
  EXPECT_EQ(hazard["offset"], 1024);
  EXPECT_EQ(hazard["count"], 1);
  EXPECT_EQ(hazard["first"]["access"], "write");
  EXPECT_EQ(hazard["first"]["file"], "k.cu");
  EXPECT_EQ(hazard["first"]["ptx_line"], 88);
  EXPECT_EQ(hazard["first"]["block"], (nlohmann::ordered_json{1, 0, 0}));
  EXPECT_TRUE(hazard["second"].is_null());
  EXPECT_PRED2(contains, result.text, "past the end of 'out'");

  fault.kind = machine::Fault::Kind::deadlock;
  device.outcome.status = LaunchOutcome::Status::fault;
  device.outcome.fault = fault;
  device.outcome.hazards = {*machine::hazard::report_of(fault)};
  EXPECT_TRUE(exec(launch_json("200"), device).document["hazards"].at(0)["space"].is_null());

  fault.kind = machine::Fault::Kind::trap;
  device.outcome.status = LaunchOutcome::Status::fault;
  device.outcome.fault = fault;
  EXPECT_FALSE(machine::hazard::report_of(fault));
  device.outcome.hazards.clear();
  const ExecResult trapped = exec(launch_json("200"), device);
  EXPECT_EQ(trapped.document["verdict"], "fail");
  EXPECT_EQ(trapped.document["hazards"].size(), 0u);
}

TEST_F(ExecLaunch, HazardsFailAndEndNothing) {
  ScriptedDevice device;
  machine::hazard::Report race;
  race.space = "shared";
  race.offset = 128;
  race.bytes = 4;
  race.count = 31;
  race.first = {machine::hazard::AccessKind::write, {"st", "k.cu", 12, 88, {0, 0, 0}, {33, 0, 0}}};
  race.second = machine::hazard::Place{machine::hazard::AccessKind::read,
                                       {"ld", "k.cu", 15, 97, {0, 0, 0}, {1, 0, 0}}};
  device.outcome.hazards = {race};
  device.same_every_time = true;
  const ExecResult result =
      exec(launch_json("200", R"(, {"entry": "other", "grid": [1], "block": [1]})"), device);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(device.launches.size(), 2u);
  EXPECT_EQ(result.document["verdict"], "fail");
  // Equal hazards of both launches are one.
  ASSERT_EQ(result.document["hazards"].size(), 1u);
  const auto& hazard = result.document["hazards"].at(0);
  EXPECT_EQ(hazard["kind"], "race");
  EXPECT_EQ(hazard["space"], "shared");
  EXPECT_TRUE(hazard["buffer"].is_null());
  EXPECT_EQ(hazard["offset"], 128);
  EXPECT_EQ(hazard["bytes"], 4);
  EXPECT_EQ(hazard["count"], 62);
  EXPECT_FALSE(hazard.contains("same_value"));
  EXPECT_EQ(hazard["first"]["access"], "write");
  EXPECT_EQ(hazard["second"]["access"], "read");
  EXPECT_EQ(hazard["second"]["line"], 15);
  EXPECT_EQ(hazard["second"]["thread"], (nlohmann::ordered_json{1, 0, 0}));
}

TEST_F(ExecLaunch, WhatKernelsPrintIsKept) {
  ScriptedDevice device;
  EXPECT_FALSE(exec(launch_json("200"), device).document.contains("printed"));
  device.outcome.printed = "thread 3: 7\n";
  const ExecResult result =
      exec(launch_json("200", R"(, {"entry": "other", "grid": [1], "block": [1]})"), device);
  EXPECT_EQ(result.printed, "thread 3: 7\n");
  EXPECT_EQ(result.document["printed"], "thread 3: 7\n");
}

TEST_F(ExecLaunch, RandomContentsReachTheDevice) {
  const auto device = kernels::make_machine_device(numeric::tensor_model("hopper"));
  std::string json = launch_json("200");
  json.replace(json.find(R"("file": "x.bin")"), 15,
               R"("random": {"seed": 5, "type": "f32", "low": 1, "high": 2})");
  ExecOptions options;
  options.out_folder = folder_ / "random";
  EXPECT_EQ(exec(json, *device, options).exit_code, 0);
  const std::vector<std::byte> out = read_file(*options.out_folder / "out.bin");
  for (std::size_t i = 0; i < 200; ++i) {
    float y;
    std::memcpy(&y, &out[4 * i], 4);
    EXPECT_TRUE(y >= 3.0f && y <= 5.0f) << i << " is 2 x + 1 of an x from 1 to 2: " << y;
  }
}

TEST_F(ExecLaunch, NoVerdict) {
  ScriptedDevice device;
  device.outcome.status = LaunchOutcome::Status::unsupported;
  device.outcome.message = "not implemented: tcgen05.mma";
  device.outcome.fault = machine::Fault{};
  device.outcome.fault->site.ptx_line = 17;
  const ExecResult unsupported = exec(launch_json("200"), device);
  EXPECT_EQ(unsupported.exit_code, 3);
  EXPECT_EQ(unsupported.document["verdict"], "unsupported");
  EXPECT_EQ(unsupported.document["unsupported"]["ptx_line"], 17);
  EXPECT_EQ(unsupported.document["unsupported"]["reason"], "not implemented: tcgen05.mma");

  device.outcome.status = LaunchOutcome::Status::lost;
  EXPECT_EQ(exec(launch_json("200"), device).exit_code, 3);

  device.lost = true;
  const ExecResult lost = exec(launch_json("200"), device);
  EXPECT_EQ(lost.exit_code, 3) << "outputs that cannot be read prove nothing";
  EXPECT_TRUE(lost.document["outputs"].empty());

  device.lost = false;
  device.outcome.status = LaunchOutcome::Status::refused;
  device.outcome.message = "too much shared memory";
  EXPECT_PRED2(contains, error_of(launch_json("200"), device),
               "launches[0]: too much shared memory");
}

TEST_F(ExecLaunch, RunsOnTheMachine) {
  const auto device = kernels::make_machine_device(numeric::tensor_model("hopper"));
  ExecOptions options;
  options.out_folder = folder_ / "new" / "out";
  const ExecResult result = exec(launch_json("200"), *device, options);
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_EQ(result.document["device"], "machine");
  const std::vector<std::byte> out = read_file(*options.out_folder / "out.bin");
  ASSERT_EQ(out.size(), 1024u);
  EXPECT_EQ(result.document["outputs"]["out"]["sha256"], sha256(out));
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &out[4 * i], 4);
    const auto want = std::bit_cast<std::uint32_t>(static_cast<float>(i) * 2.0f + 1.0f);
    EXPECT_EQ(bits, i < 200 ? want : 0xffffffffu) << i;
  }
  const ExecResult past =
      exec(launch_json("257").replace(launch_json("257").find("[2]"), 3, "[3]"), *device);
  EXPECT_EQ(past.exit_code, 1);
  ASSERT_EQ(past.document["hazards"].size(), 1u);
  EXPECT_EQ(past.document["hazards"][0]["kind"], "out_of_bounds");
  EXPECT_EQ(past.document["hazards"][0]["buffer"], "x");
  EXPECT_EQ(past.document["hazards"][0]["first"]["access"], "read");
}

}  // namespace
}  // namespace bitgate::suite
