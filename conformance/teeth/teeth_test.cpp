// Each planted defect of teeth.cu, and each planted adapter, must be rejected: by the check that is
// there for it, and where a wrong reference explains it, by that name. The right kernel passes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "conformance/run_case.h"
#include "reference/support/file.h"

namespace bitgate::conformance {
namespace {

using kernels::Dim3;
using kernels::Kernel;
using kernels::Launch;
using kernels::w4a16::Buffers;
using kernels::w4a16::Frame;
using kernels::w4a16::Shape;

/// As teeth.cu reads them.
struct TeethParams {
  std::uint64_t a, c, weights, scales, zero_points, order;
  std::int64_t lda, ldc, n_stride;
  std::int32_t m, n, k, group, act_order;
  std::int32_t padding = 0;
};

std::int64_t padded_columns(std::int64_t n) { return (n + 31) / 32 * 32 + 32; }

/// The layouts of teeth.cu: weights [n][k], scales and zero points [groups][padded_columns(n)].
Frame plain_frame(const formats::PackedLayer& layer) {
  const formats::QuantizedMatrix matrix = formats::unpack(layer);
  const std::vector<std::int32_t> order = formats::sort_by_group(matrix);
  Frame frame;
  frame.k = matrix.k;
  frame.n = matrix.n;
  frame.group = matrix.group;
  frame.zeros = layer.config.symmetric ? kernels::Zeros::sym : kernels::Zeros::integer;
  frame.act_order = layer.config.act_order;
  frame.type = matrix.scale_type;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(matrix.k * matrix.n));
  for (std::int64_t n = 0; n < matrix.n; ++n) {
    for (std::int64_t k = 0; k < matrix.k; ++k) {
      codes[static_cast<std::size_t>(n * matrix.k + k)] =
          matrix.q[static_cast<std::size_t>(order[static_cast<std::size_t>(k)] * matrix.n + n)];
    }
  }
  frame.weights.resize((codes.size() + 3) / 4);
  if (!codes.empty()) std::memcpy(frame.weights.data(), codes.data(), codes.size());
  const std::int64_t stride = padded_columns(matrix.n);
  frame.scales.resize(static_cast<std::size_t>(matrix.groups() * stride));
  frame.zero_points.resize(frame.scales.size());
  for (std::int64_t g = 0; g < matrix.groups(); ++g) {
    for (std::int64_t n = 0; n < matrix.n; ++n) {
      const auto to = static_cast<std::size_t>(g * stride + n);
      const auto from = static_cast<std::size_t>(g * matrix.n + n);
      frame.scales[to] = matrix.scales[from];
      frame.zero_points[to] = matrix.z[from];
    }
  }
  if (frame.act_order) frame.order = order;
  return frame;
}

std::optional<Launch> plain_launch(const std::string& defect, const Kernel& kernel,
                                   const Shape& shape, const Buffers& buffers) {
  if (shape.m == 0 || shape.n == 0) return std::nullopt;
  const TeethParams params{
      .a = buffers.a,
      .c = buffers.c,
      .weights = buffers.weights,
      .scales = buffers.scales,
      .zero_points = buffers.zero_points,
      .order = buffers.order,
      .lda = shape.lda,
      .ldc = shape.ldc,
      .n_stride = padded_columns(shape.n),
      .m = static_cast<std::int32_t>(shape.m),
      .n = static_cast<std::int32_t>(shape.n),
      .k = static_cast<std::int32_t>(shape.k),
      .group = static_cast<std::int32_t>(shape.group),
      .act_order = shape.act_order ? 1 : 0,
  };
  Launch launch;
  launch.entry = fmt::format("teeth_{}_{}", defect, numeric::name(kernel.type));
  launch.grid = {static_cast<std::uint32_t>((shape.n + 63) / 64),
                 static_cast<std::uint32_t>((shape.m + 1) / 2), 1};
  launch.block = {128, 1, 1};
  launch.arguments.emplace_back(sizeof(params));
  std::memcpy(launch.arguments.back().data(), &params, sizeof(params));
  return launch;
}

class Teeth : public ::testing::Test {
 protected:
  Teeth()
      : ptx_(read_text_file(BITGATE_BINARY_DIR "/teeth/teeth.ptx")),
        device_(kernels::make_machine_device(numeric::tensor_model("hopper"))) {
    code_.name = "teeth";
    code_.ptx = ptx_;
  }

  /// One case of a kernel of teeth.cu in place of a GEMM with integer zero points.
  CaseResult run(const std::string& defect, const std::string& spec_line) {
    CaseOptions options;
    options.code = &code_;
    options.adapter.repack = plain_frame;
    options.adapter.make_launch = [&defect](const Kernel& kernel, const Shape& shape,
                                            const Buffers& buffers) {
      return plain_launch(defect, kernel, shape, buffers);
    };
    return run_with(options, spec_line);
  }

  CaseResult run_with(const CaseOptions& options, const std::string& spec_line) {
    const Spec spec = parse_spec("w4a16 " + spec_line);
    const auto matched = kernels::match_kernels(
        fmt::format("w4a16.gemm.*.{}.{}", numeric::name(spec.type), kernels::name(zeros_of(spec))));
    return run_case(spec, *matched.front(), *device_, options);
  }

  std::string ptx_;
  kernels::Code code_;
  std::unique_ptr<kernels::Device> device_;
};

std::string describe(const CaseResult& result) {
  std::string text = fmt::format("{}: {}\n", result.spec, name(result.verdict));
  for (const CheckResult& check : result.checks) {
    text += fmt::format("  {} {} {}\n", check.name, name(check.verdict), check.message);
  }
  for (const Diagnosis& diagnosis : result.diagnosis) {
    text += fmt::format("  explained by {}: {}\n", diagnosis.hypothesis, diagnosis.explains);
  }
  return text;
}

bool fails(const CaseResult& result, std::string_view check) {
  for (const CheckResult& each : result.checks) {
    if (each.name == check && each.verdict == Verdict::fail) return true;
  }
  return false;
}

bool explained_by(const CaseResult& result, std::string_view hypothesis) {
  for (const Diagnosis& each : result.diagnosis) {
    if (each.hypothesis == hypothesis && each.explains == "all") return true;
  }
  return false;
}

TEST_F(Teeth, TheRightKernelPasses) {
  for (const char* spec : {
           "m=3 k=192 n=72 group=64 zero=gptq_v2",
           "m=1 k=96 n=8 group=-1 zero=gptq_v1 type=bf16",
           "m=5 k=256 n=200 group=32 zero=awq lda=264 ldc=208",
           "m=4 k=256 n=64 group=64 zero=gptq_v2 order=random",
           "m=2 k=0 n=64 group=-1 zero=gptq_v2",
           "m=0 k=64 n=64 group=64 zero=gptq_v2",
       }) {
    const CaseResult result = run("none", spec);
    EXPECT_EQ(result.verdict, Verdict::pass) << describe(result);
  }
}

struct Planted {
  const char* defect;     ///< entry of teeth.cu
  const char* field_bug;  ///< id in the field's list of bugs, or why it is here
  const char* spec;
  const char* check;       ///< that must fail
  const char* hypothesis;  ///< that must explain every wrong element; null: none is expected
};

constexpr Planted kPlanted[] = {
    {"tail_store_too_wide", "tail", "m=3 k=64 n=72 group=64 zero=gptq_v2 ldc=80", "launch",
     nullptr},
    {"tail_rows_unmasked", "B06", "m=3 k=64 n=64 group=64 zero=gptq_v2", "launch", nullptr},
    {"tail_loads_unmasked", "B04", "m=3 k=64 n=64 group=64 zero=gptq_v2", "launch", nullptr},
    {"zero_point_plus_one", "B16", "m=2 k=128 n=64 group=64 zero=gptq_v2", "exact",
     "zero_point_off_by_one"},
    {"zero_point_minus_one", "B16", "m=2 k=128 n=64 group=64 zero=gptq_v1", "exact",
     "zero_point_off_by_one"},
    {"previous_group", "B13", "m=2 k=256 n=64 group=64 zero=gptq_v2", "exact",
     "scale_row_previous_group"},
    {"group_of_k", "B21", "m=2 k=256 n=64 group=32 zero=gptq_v2 order=random", "exact",
     "group_index_k_over_group"},
    {"last_k_block_lost", "last block", "m=2 k=256 n=64 group=64 zero=gptq_v2", "exact",
     "last_k_block_lost"},
    {"last_k_block_lost", "last block", "m=1 k=8960 n=64 group=128 type=bf16 zero=gptq_v2", "exact",
     "last_k_block_lost"},
    {"last_tile_unwritten", "one tile unwritten", "m=4 k=64 n=136 group=64 zero=gptq_v2", "written",
     nullptr},
    {"two_rows_a_block", "B02", "m=3 k=64 n=64 group=64 zero=gptq_v2", "launch", nullptr},
    {"local_against_global", "B03", "m=2 k=64 n=72 group=64 zero=gptq_v2", "launch", nullptr},
    {"k_step_reads_padding", "B05", "m=2 k=96 n=8 group=32 zero=gptq_v2", "launch", nullptr},
    {"k_tail_as_full_step", "B09", "m=2 k=96 n=64 group=32 zero=gptq_v2 lda=160", "launch",
     nullptr},
    {"offset_32_bit", "B41", "m=3 k=64 n=8 group=64 zero=gptq_v2 lda=2147483648", "launch",
     nullptr},
    {"stride_of_the_original", "B45", "m=2 k=128 n=72 group=64 zero=gptq_v2", "exact", nullptr},
    {"contiguous_a", "B46", "m=3 k=64 n=64 group=64 zero=gptq_v2 lda=72", "exact", nullptr},
    {"wide_loads", "B47", "m=2 k=64 n=64 group=64 zero=gptq_v2 align=2", "launch", nullptr},
    {"k_zero_unwritten", "B48", "m=2 k=0 n=64 group=-1 zero=gptq_v2", "written", nullptr},
    {"does_nothing", "B60", "m=2 k=64 n=64 group=64 zero=gptq_v2", "written", nullptr},
    {"writes_nan", "B60", "m=2 k=64 n=64 group=64 zero=gptq_v2", "exact", nullptr},
    {"writes_zero", "B60", "m=2 k=64 n=64 group=64 zero=gptq_v2", "exact", nullptr},
};

TEST_F(Teeth, EveryPlantedKernelIsRejectedByName) {
  for (const Planted& planted : kPlanted) {
    SCOPED_TRACE(fmt::format("{} ({})", planted.defect, planted.field_bug));
    const CaseResult right = run("none", planted.spec);
    EXPECT_EQ(right.verdict, Verdict::pass) << "its twin without the defect: " << describe(right);
    const CaseResult result = run(planted.defect, planted.spec);
    EXPECT_EQ(result.verdict, Verdict::fail) << describe(result);
    EXPECT_TRUE(fails(result, planted.check)) << describe(result);
    if (planted.hypothesis != nullptr) {
      EXPECT_TRUE(explained_by(result, planted.hypothesis)) << describe(result);
    }
    fmt::print("{:24} {:20} {}", planted.defect, planted.field_bug, describe(result));
  }
}

TEST_F(Teeth, NothingLaunchedIsNoPass) {
  CaseOptions options;
  options.adapter.make_launch = [](const Kernel&, const Shape&, const Buffers&) {
    return std::optional<Launch>();
  };
  const CaseResult result = run_with(options, "m=2 k=64 n=64 group=64 zero=gptq_v2");
  EXPECT_NE(result.verdict, Verdict::pass) << describe(result);
  fmt::print("{:24} {:20} {}", "nothing_launched", "", describe(result));
}

TEST_F(Teeth, AnEmptyGridIsALaunchError) {
  CaseOptions options;
  options.adapter.make_launch = [](const Kernel& kernel, const Shape& shape,
                                   const Buffers& buffers) {
    Shape one_row = shape;
    one_row.m = 1;
    std::optional<Launch> launch = kernels::w4a16::make_launch(kernel, one_row, buffers);
    if (launch) launch->grid.x = 0;
    return launch;
  };
  const CaseResult result = run_with(options, "m=0 k=64 n=64 group=64 zero=gptq_v2");
  EXPECT_EQ(result.verdict, Verdict::fail) << describe(result);
  EXPECT_TRUE(fails(result, "launch")) << describe(result);
  fmt::print("{:24} {:20} {}", "empty_grid", "B48", describe(result));
}

}  // namespace
}  // namespace bitgate::conformance
