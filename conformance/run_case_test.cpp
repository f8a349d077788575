#include "conformance/run_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <span>

#include "reference/oracle/replay.h"
#include "reference/support/error.h"

namespace bitgate::conformance {
namespace {

using kernels::Kernel;
using kernels::w4a16::Buffers;
using kernels::w4a16::Frame;
using kernels::w4a16::Shape;

/// A device that computes a call on the host by the kernel's declared arithmetic, from the frame it
/// was given and the activations in its memory: right unless the frame, or `after`, is not.
class HostDevice final : public kernels::Device {
 public:
  HostDevice() {
    properties_.kind = "host";
    properties_.tensor_model = &numeric::tensor_model("hopper");
  }

  const kernels::DeviceProperties& properties() const override { return properties_; }

  std::uint64_t allocate(std::uint64_t bytes, std::string_view, std::uint64_t offset,
                         std::uint64_t guard_bytes, bool) override {
    const std::uint64_t address = next_ + 65536 + offset;
    memory_[address - guard_bytes].resize(bytes + 2 * guard_bytes);
    guard_ = guard_bytes;
    next_ += (bytes / 256 + 1024) * 256;
    return address;
  }
  void release(std::uint64_t address) override { memory_.erase(address - guard_); }
  void write(std::uint64_t address, std::span<const std::byte> bytes) override {
    std::memcpy(at(address, bytes.size()), bytes.data(), bytes.size());
  }
  void read(std::uint64_t address, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), at(address, bytes.size()), bytes.size());
  }

  kernels::LaunchOutcome launch(const kernels::Code&, const kernels::Launch&,
                                const kernels::LaunchOptions&) override {
    ++launches;
    if (outcome.status != kernels::LaunchOutcome::Status::completed) return outcome;
    if (shape.m == 0) return outcome;
    std::vector<std::uint16_t> c = compute();
    if (before_store) before_store(c);
    for (std::int64_t row = 0; row < shape.m; ++row) {
      const auto of_row = std::span(c).subspan(static_cast<std::size_t>(row * shape.n),
                                               static_cast<std::size_t>(shape.n));
      for (std::int64_t col = 0; col < shape.n; ++col) {
        if (skip_store && skip_store(row, col)) continue;
        write(buffers.c + static_cast<std::uint64_t>(row * shape.ldc + col) * 2,
              std::as_bytes(of_row.subspan(static_cast<std::size_t>(col), 1)));
      }
    }
    if (after) after(*this);
    return outcome;
  }

  Frame frame;
  Shape shape;
  Buffers buffers;
  const Kernel* kernel = nullptr;
  int launches = 0;
  kernels::LaunchOutcome outcome;
  std::function<void(std::vector<std::uint16_t>&)> before_store;
  std::function<bool(std::int64_t row, std::int64_t col)> skip_store;
  std::function<void(HostDevice&)> after;
  std::function<void(oracle::Arithmetic&)> change_arithmetic;

 private:
  std::byte* at(std::uint64_t address, std::size_t bytes) {
    auto found = memory_.upper_bound(address);
    if (found == memory_.begin()) throw std::logic_error("no such address");
    --found;
    if (address + bytes > found->first + found->second.size()) {
      throw std::logic_error("past the end of a buffer");
    }
    return found->second.data() + (address - found->first);
  }

  std::vector<std::uint16_t> compute() {
    std::vector<std::uint16_t> a(static_cast<std::size_t>(shape.m * shape.k));
    for (std::int64_t row = 0; row < shape.m && shape.k > 0; ++row) {
      const auto of_row = std::span(a).subspan(static_cast<std::size_t>(row * shape.k),
                                               static_cast<std::size_t>(shape.k));
      read(buffers.a + static_cast<std::uint64_t>(row * shape.lda) * 2,
           std::as_writable_bytes(of_row));
    }
    const formats::QuantizedMatrix w = kernels::w4a16::unpack_frame(frame);
    oracle::Arithmetic arithmetic = kernels::w4a16::declared_arithmetic(*kernel, shape);
    if (change_arithmetic) change_arithmetic(arithmetic);
    const std::vector<std::int32_t> order =
        frame.order.empty() ? formats::sort_by_group(w) : frame.order;
    return oracle::replay(
        arithmetic, *properties_.tensor_model,
        {.type = shape.type, .m = shape.m, .k = shape.k, .lda = shape.k, .bits = a}, w, order);
  }

  kernels::DeviceProperties properties_;
  std::map<std::uint64_t, std::vector<std::byte>> memory_;
  std::uint64_t next_ = 256;
  std::uint64_t guard_ = 0;
};

/// A case on a HostDevice, whose frame `defect` may change after the repack.
struct Bench {
  HostDevice device;
  CaseOptions options;
  std::function<void(Frame&)> defect;

  CaseResult run(const std::string& keys) {
    const Spec spec = parse_spec("w4a16 " + keys);
    const Kernel& kernel = kernel_for(spec);
    device.kernel = &kernel;
    options.adapter.repack = [this](const formats::PackedLayer& layer) {
      Frame frame = kernels::w4a16::repack(layer);
      if (defect) defect(frame);
      device.frame = frame;
      return frame;
    };
    if (!replaced_launch) {
      options.adapter.make_launch = [this](const Kernel& k, const Shape& s, const Buffers& b) {
        device.shape = s;
        device.buffers = b;
        return kernels::w4a16::make_launch(k, s, b);
      };
    }
    return run_case(spec, kernel, device, options);
  }

  /// A tensor-core kernel of the spec's type and zero points, so that K is cut into steps of 16.
  static const Kernel& kernel_for(const Spec& spec) {
    return *std::ranges::find_if(kernels::kernels(), [&](const Kernel& kernel) {
      return kernel.geometry.variant == "gemm" && kernel.geometry.tile_m == 16 &&
             kernel.type == spec.type && kernel.zeros == zeros_of(spec);
    });
  }

  bool replaced_launch = false;
};

const CheckResult& check_named(const CaseResult& result, std::string_view name) {
  static const CheckResult missing{.name = "missing", .verdict = Verdict::pass, .message = ""};
  const auto found = std::ranges::find(result.checks, name, &CheckResult::name);
  return found == result.checks.end() ? missing : *found;
}

std::string all_of(const CaseResult& result) {
  std::string text = result.spec + ": " + std::string(name(result.verdict));
  for (const CheckResult& check : result.checks) {
    text += "\n  " + check.name + " " + std::string(name(check.verdict)) + " " + check.message;
  }
  for (const Diagnosis& d : result.diagnosis) {
    text += "\n  " + d.hypothesis + " (" + d.variant + ") explains " + d.explains;
  }
  return text;
}

bool diagnosed(const CaseResult& result, std::string_view hypothesis) {
  return std::ranges::find(result.diagnosis, hypothesis, &Diagnosis::hypothesis) !=
         result.diagnosis.end();
}

TEST(RunCase, TheRightKernelPassesUnderEveryFillAndConvention) {
  for (const char* keys :
       {"m=5 k=256 n=72 group=64 zero=gptq_v1 fill=exact",
        "m=5 k=256 n=72 group=64 zero=gptq_v2 fill=real order=random",
        "m=5 k=256 n=72 group=32 zero=awq fill=real type=bf16",
        "m=5 k=256 n=72 group=-1 zero=sym fill=real",
        "m=5 k=256 n=72 group=64 zero=sym fill=exact order=skewed type=bf16",
        "m=5 k=256 n=72 group=64 fill=probe_identity order=reversed",
        "m=5 k=256 n=72 group=64 fill=probe_ones", "m=5 k=256 n=72 group=64 fill=probe_columns",
        "m=5 k=256 n=72 group=64 fill=probe_scales lda=300 ldc=90 align=6",
        "m=3 k=64 n=8 group=32 fill=real keep=5"}) {
    Bench bench;
    const CaseResult result = bench.run(keys);
    EXPECT_EQ(result.verdict, Verdict::pass) << all_of(result);
    EXPECT_EQ(result.out_sha256.size(), 64U);
    EXPECT_EQ(result.max_error, 0.0);
    EXPECT_FALSE(result.first_bad.has_value());
    EXPECT_EQ(bench.device.launches, 2);
  }
}

TEST(RunCase, StatesItsCoverageAndItsReplay) {
  Bench bench;
  const CaseResult result = bench.run("m=2 k=128 n=16 group=32");
  EXPECT_EQ(result.exact_coverage, 1.0);
  EXPECT_EQ(result.coverage->cells(), 16);
  EXPECT_EQ(result.replay,
            "bitgate run 'w4a16 m=2 k=128 n=16 group=32 type=f16 zero=gptq_v1 "
            "fill=exact seed=1' --kernel " +
                result.kernel + " --device host");
}

TEST(RunCase, EmptyOutputsLaunchNothing) {
  for (const char* keys : {"m=0", "n=0", "m=0 n=0", "m=0 k=0", "n=0 fill=real"}) {
    Bench bench;
    const CaseResult result = bench.run(keys);
    EXPECT_EQ(result.verdict, Verdict::pass) << all_of(result);
    EXPECT_EQ(bench.device.launches, 0);
    EXPECT_TRUE(result.out_sha256.empty());
  }
}

TEST(RunCase, AnEmptyOutputThatIsLaunchedForFails) {
  Bench bench;
  bench.replaced_launch = true;
  bench.options.adapter.make_launch = [](const Kernel&, const Shape&, const Buffers&) {
    return std::optional<kernels::Launch>(kernels::Launch{});
  };
  EXPECT_EQ(bench.run("m=0").verdict, Verdict::fail);
}

TEST(RunCase, KZeroIsAllPlusZero) {
  for (const char* keys : {"k=0 m=3 n=16", "k=0 m=3 n=16 fill=real", "k=0 m=3 n=16 group=-1"}) {
    Bench bench;
    const CaseResult right = bench.run(keys);
    EXPECT_EQ(right.verdict, Verdict::pass) << all_of(right);
    bench.device.before_store = [](auto& c) { c[5] = 0x8000; };
    const CaseResult minus_zero = bench.run(keys);
    EXPECT_EQ(check_named(minus_zero, "exact").verdict, Verdict::fail) << all_of(minus_zero);
  }
}

TEST(RunCase, OutsideTheDomainIsUnsupported) {
  Bench bench;
  for (const char* keys : {"n=7", "k=48 group=16", "k=1024 group=256"}) {
    const CaseResult result = bench.run(keys);
    EXPECT_EQ(result.verdict, Verdict::unsupported) << all_of(result);
    EXPECT_FALSE(check_named(result, "domain").message.empty());
  }
  EXPECT_EQ(bench.device.launches, 0);
}

TEST(RunCase, NothingLaunchedIsUntrusted) {
  Bench bench;
  bench.replaced_launch = true;
  bench.options.adapter.make_launch = [](const Kernel&, const Shape&, const Buffers&) {
    return std::optional<kernels::Launch>();
  };
  const CaseResult result = bench.run("m=2 k=64 n=8 group=32");
  EXPECT_EQ(result.verdict, Verdict::untrusted);
  EXPECT_NE(check_named(result, "launch").message.find("nothing was launched"), std::string::npos);
}

TEST(RunCase, LaunchesThatDoNotCompleteSayWhy) {
  using Status = kernels::LaunchOutcome::Status;
  for (const auto& [status, verdict] :
       {std::pair{Status::fault, Verdict::fail}, std::pair{Status::timeout, Verdict::fail},
        std::pair{Status::refused, Verdict::fail},
        std::pair{Status::unsupported, Verdict::unsupported},
        std::pair{Status::lost, Verdict::untrusted}}) {
    Bench bench;
    bench.device.outcome.status = status;
    bench.device.outcome.message = "told by the device";
    const CaseResult result = bench.run("m=2 k=64 n=8 group=32");
    EXPECT_EQ(result.verdict, verdict);
    EXPECT_EQ(check_named(result, "launch").message, "told by the device");
  }
}

TEST(RunCase, ARefusalInsideTheDomainFails) {
  Bench bench;
  bench.defect = [](Frame&) { throw InputError("no such layout"); };
  const CaseResult result = bench.run("m=2 k=64 n=8 group=32");
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_NE(check_named(result, "launch").message.find("no such layout"), std::string::npos);
}

TEST(RunCase, UnwrittenOutputsAreCounted) {
  Bench bench;
  bench.device.skip_store = [](std::int64_t row, std::int64_t col) { return row == 1 && col > 12; };
  const CaseResult result = bench.run("m=2 k=64 n=16 group=32");
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(check_named(result, "written").message,
            "3 of 32 outputs were not written; the first is row 1 column 13");
  EXPECT_EQ(result.diagnosis.front().hypothesis, "not_written");
  EXPECT_EQ(result.diagnosis.front().explains, "all");
}

TEST(RunCase, BytesOutsideTheOutputAreGuarded) {
  for (const auto& [keys, offset] :
       {std::pair{"m=2 k=64 n=16 group=32", std::int64_t{64}},
        std::pair{"m=2 k=64 n=16 group=32", std::int64_t{-2}},
        std::pair{"m=2 k=64 n=16 group=32 ldc=20", std::int64_t{34}}}) {
    Bench bench;
    const std::int64_t at = offset;
    bench.device.after = [at](HostDevice& device) {
      const std::uint16_t zero = 0;
      device.write(device.buffers.c + static_cast<std::uint64_t>(at),
                   std::as_bytes(std::span(&zero, 1)));
    };
    const CaseResult result = bench.run(keys);
    EXPECT_EQ(check_named(result, "guards").verdict, Verdict::fail) << all_of(result);
    EXPECT_EQ(check_named(result, "exact").verdict, Verdict::pass);
  }
}

TEST(RunCase, InputsStayAsTheyWere) {
  Bench bench;
  bench.device.after = [](HostDevice& device) {
    const std::uint16_t other = 0x1234;
    device.write(device.buffers.scales + 2, std::as_bytes(std::span(&other, 1)));
  };
  const CaseResult result = bench.run("m=2 k=64 n=16 group=32");
  EXPECT_NE(check_named(result, "guards").message.find("input 'scales'"), std::string::npos)
      << all_of(result);
}

TEST(RunCase, ASecondLaunchThatDiffersFails) {
  Bench bench;
  bench.device.before_store = [&bench](auto& c) {
    if (bench.device.launches == 2) c[7] ^= 1;
  };
  const CaseResult result = bench.run("m=2 k=64 n=16 group=32 fill=real");
  EXPECT_EQ(check_named(result, "rerun").verdict, Verdict::fail) << all_of(result);
  EXPECT_EQ(check_named(result, "replay").verdict, Verdict::pass);
  bench.options.rerun = false;
  EXPECT_EQ(check_named(bench.run("m=2 k=64 n=16 group=32"), "rerun").name, "missing");
}

TEST(RunCase, ComparatorsRejectDegenerateOutputs) {
  const std::function<void(std::vector<std::uint16_t>&)> degenerate[] = {
      [](auto& c) { std::ranges::fill(c, std::uint16_t{0x7fff}); },
      [](auto& c) { std::ranges::fill(c, std::uint16_t{0}); },
      [](auto& c) { std::ranges::fill(c, std::uint16_t{0x7c00}); },
      [](auto& c) { c.back() ^= 1; },
      [](auto& c) { std::ranges::rotate(c, c.begin() + 1); },
      [](auto& c) {
        for (auto& bits : c) bits ^= 0x8000;
      }};
  for (const auto& make : degenerate) {
    for (const char* fill : {"exact", "real", "probe_ones"}) {
      Bench bench;
      bench.device.before_store = make;
      const CaseResult result = bench.run(std::string("m=3 k=64 n=16 group=32 fill=") + fill);
      EXPECT_EQ(result.verdict, Verdict::fail) << all_of(result);
      EXPECT_TRUE(result.first_bad.has_value());
    }
  }
}

TEST(RunCase, TheFirstBadElementNamesItsOwner) {
  Bench bench;
  bench.device.before_store = [](auto& c) { c[18 * 72 + 70] ^= 0x10; };
  const CaseResult result = bench.run("m=20 k=64 n=72 group=32");
  ASSERT_TRUE(result.first_bad.has_value());
  EXPECT_EQ(result.first_bad->row, 18);
  EXPECT_EQ(result.first_bad->col, 70);
  const auto owner = kernels::w4a16::owner(*bench.device.kernel, bench.device.shape, 18, 70);
  EXPECT_EQ(result.first_bad->lane, owner.lane);
  EXPECT_EQ(result.first_bad->block[0], owner.block.x);
  EXPECT_NE(result.first_bad->got, result.first_bad->want);
  EXPECT_EQ(result.first_bad->want.substr(0, 2), "0x");
  EXPECT_GT(*result.max_error, 0.0);
}

/// A defect planted between a problem and the device, and the name that its diagnosis must give.
struct Planted {
  const char* name;
  const char* keys;
  const char* hypothesis;
  void (*plant)(Bench& bench);
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

const Planted kPlanted[] = {
    {"zero_point_plus_one", "zero=gptq_v2", "zero_point_off_by_one",
     [](Bench& bench) {
       bench.defect = [](Frame& frame) {
         for (auto& z : frame.zero_points) ++z;
       };
     }},
    {"zero_point_minus_one", "zero=gptq_v1", "zero_point_off_by_one",
     [](Bench& bench) {
       bench.defect = [](Frame& frame) {
         for (auto& z : frame.zero_points) z = static_cast<std::uint8_t>(z == 0 ? 0 : z - 1);
       };
     }},
    {"gather_skipped", "order=random", "gather_skipped",
     [](Bench& bench) {
       bench.defect = [](Frame& frame) {
         for (std::size_t i = 0; i < frame.order.size(); ++i) {
           frame.order[i] = static_cast<std::int32_t>(i);
         }
       };
     }},
    {"scales_of_the_previous_group", "", "scale_row_previous_group",
     [](Bench& bench) {
       // [unit of 32 columns][group][32]
       bench.defect = [](Frame& frame) {
         const auto row = std::size_t{32};
         const auto unit = row * static_cast<std::size_t>(frame.k / frame.group);
         for (std::size_t begin = 0; begin < frame.scales.size(); begin += unit) {
           const auto first = frame.scales.begin() + static_cast<std::ptrdiff_t>(begin);
           std::copy_backward(first, first + static_cast<std::ptrdiff_t>(unit - row),
                              first + static_cast<std::ptrdiff_t>(unit));
         }
       };
     }},
    {"last_k_block_lost", "", "last_k_block_lost", [](Bench& bench) {
       bench.device.change_arithmetic = [](oracle::Arithmetic& arithmetic) {
         std::int32_t last = 0;
         for (const auto& chain : arithmetic.chains) {
           for (const auto& run : chain.runs)
             last = std::max(last, std::ranges::max(run.positions));
         }
         for (auto& chain : arithmetic.chains) {
           for (auto& run : chain.runs) {
             for (auto& p : run.positions) p = p > last - 32 ? -1 : p;
           }
         }
       };
     }}};

class PlantedDefects
    : public testing::TestWithParam<std::tuple<Planted, const char*, const char*>> {};

TEST_P(PlantedDefects, AreRejectedAndNamed) {
  const auto& [planted, type, fill] = GetParam();
  // One of 280 blocks of K is hard to see in the 8 bits of bf16, if anywhere.
  const std::string k = std::string_view(type) == "bf16" ? " k=8960 " : " k=256 ";
  Bench bench;
  planted.plant(bench);
  const CaseResult result =
      bench.run(std::string("m=4 n=40 group=64 type=") + type + " fill=" + fill + k + planted.keys);
  EXPECT_EQ(result.verdict, Verdict::fail) << all_of(result);
  EXPECT_TRUE(diagnosed(result, planted.hypothesis)) << all_of(result);
  EXPECT_TRUE(result.first_bad.has_value());
  EXPECT_TRUE(result.wrong_map.has_value());
}

INSTANTIATE_TEST_SUITE_P(All, PlantedDefects,
                         testing::Combine(testing::ValuesIn(kPlanted),
                                          testing::Values("f16", "bf16"),
                                          testing::Values("exact", "real")));

TEST(RunCase, SavesTheKernelsBits) {
  Bench bench;
  std::vector<std::uint16_t> bits;
  bench.options.save_output = &bits;
  bench.run("m=3 k=64 n=16 group=32 ldc=40");
  EXPECT_EQ(bits.size(), 48U);
}

}  // namespace
}  // namespace bitgate::conformance
