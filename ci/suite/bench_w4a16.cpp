#include "ci/suite/bench_w4a16.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "conformance/problem/problem.h"
#include "kernels/device/guarded_buffer.h"
#include "kernels/w4a16/w4a16.h"
#include "reference/formats/quantized_matrix.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"
#include "reference/support/random.h"

namespace bitgate::suite {
namespace {

using conformance::Spec;
using kernels::GuardedBuffer;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostRotations = 1024;

std::vector<std::int32_t> random_words(std::int64_t count, Random random) {
  std::vector<std::int32_t> words(static_cast<std::size_t>(count));
  for (std::int32_t& word : words) word = static_cast<std::int32_t>(random.next() >> 32U);
  return words;
}

std::vector<std::uint16_t> random_elements(std::int64_t count, numeric::ScalarType type, double low,
                                           double high, Random random) {
  std::vector<std::uint16_t> elements(static_cast<std::size_t>(count));
  for (std::uint16_t& element : elements) {
    element = numeric::round_to(type, low + (high - low) * random.uniform());
  }
  return elements;
}

/// A checkpoint layer of random words in the spec's convention.
formats::PackedLayer random_layer(const Spec& spec) {
  using conformance::ZeroKey;
  formats::PackedLayer layer;
  layer.k = spec.k;
  layer.n = spec.n;
  layer.config.group_size = spec.group;
  layer.config.symmetric = spec.zero == ZeroKey::sym;
  layer.config.awq_layout = spec.zero == ZeroKey::awq;
  layer.config.act_order = spec.order != conformance::Order::none;
  layer.config.scale_type = spec.type;
  layer.config.zero_points = spec.zero == ZeroKey::sym       ? formats::ZeroPoints::sym
                             : spec.zero == ZeroKey::gptq_v1 ? formats::ZeroPoints::gptq_v1
                             : spec.zero == ZeroKey::gptq_v2 ? formats::ZeroPoints::gptq_v2
                                                             : formats::ZeroPoints::awq;
  const std::int64_t groups = spec.k / conformance::resolved_group(spec);
  layer.qweight = random_words(spec.k * spec.n / 8, Random(spec.seed, "bench weights"));
  layer.qzeros = random_words(groups * spec.n / 8, Random(spec.seed, "bench zeros"));
  layer.scales =
      random_elements(groups * spec.n, spec.type, 0x1p-8, 0x1p-6, Random(spec.seed, "scales"));
  if (!layer.config.awq_layout) layer.g_idx = conformance::group_index(spec);
  return layer;
}

/// Specs that share everything but M, C and A share a frame.
bool same_weights(const Spec& a, const Spec& b) {
  return a.k == b.k && a.n == b.n && a.group == b.group && a.type == b.type && a.zero == b.zero &&
         a.order == b.order && a.seed == b.seed;
}

template <class Element>
GuardedBuffer input(kernels::Device& device, const char* name,
                    const std::vector<Element>& contents) {
  const auto bytes = std::as_bytes(std::span(contents));
  GuardedBuffer buffer(device, name, {.rows = 1, .row_bytes = bytes.size()},
                       {.guard_bytes = 256, .read_only = true});
  buffer.upload(bytes);
  return buffer;
}

/// One set of the buffers of a call.
class CallBuffers {
 public:
  CallBuffers(kernels::Device& device, const Spec& spec, const kernels::w4a16::Frame& frame,
              const std::vector<std::uint16_t>& activations)
      : weights_(input(device, "weights", frame.weights)),
        scales_(input(device, "scales", frame.scales)),
        zero_points_(input(device, "zero_points", frame.zero_points)),
        order_(input(device, "order", frame.order)),
        a_(device, "a", layout(spec.m, spec.k, spec.lda),
           {.offset = spec.align, .read_only = true}),
        c_(device, "c", layout(spec.m, spec.n, spec.ldc), {.offset = spec.align}) {
    a_.upload(std::as_bytes(std::span(activations)));
  }

  kernels::w4a16::Buffers addresses() const {
    const auto of = [](const GuardedBuffer& buffer) {
      return buffer.payload_bytes() == 0 ? 0 : buffer.address();
    };
    return {.a = a_.address(),
            .c = c_.address(),
            .weights = weights_.address(),
            .scales = scales_.address(),
            .zero_points = of(zero_points_),
            .order = of(order_)};
  }
  std::vector<kernels::ReadRange> read_ranges() const {
    std::vector<kernels::ReadRange> ranges;
    for (const GuardedBuffer* buffer : {&weights_, &scales_, &zero_points_}) {
      if (buffer->payload_bytes() > 0) {
        ranges.push_back({buffer->address(), buffer->payload_bytes()});
      }
    }
    return ranges;
  }
  GuardedBuffer& c() { return c_; }

 private:
  static GuardedBuffer::Layout layout(std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
    return {.rows = static_cast<std::uint64_t>(rows),
            .row_bytes = static_cast<std::uint64_t>(columns) * 2,
            .pitch_bytes = static_cast<std::uint64_t>(pitch) * 2};
  }

  GuardedBuffer weights_;
  GuardedBuffer scales_;
  GuardedBuffer zero_points_;
  GuardedBuffer order_;
  GuardedBuffer a_;
  GuardedBuffer c_;
};

/// A time of a kernel that does not do its work says nothing.
void require_work(kernels::Device& device, const kernels::BenchArm& arm, GuardedBuffer& c) {
  c.poison();
  const kernels::LaunchOutcome outcome = device.launch(*arm.code, arm.rotations.front(), {});
  if (outcome.status != kernels::LaunchOutcome::Status::completed) {
    throw std::runtime_error(fmt::format("{}: {}", arm.name, outcome.message));
  }
  if (const auto unwritten = c.unwritten(c.download(), 2); unwritten.count > 0) {
    throw std::runtime_error(
        fmt::format("{} leaves {} outputs unwritten", arm.name, unwritten.count));
  }
  if (const auto damage = c.check_guards(); damage.any()) {
    throw std::runtime_error(fmt::format("{}: {}", arm.name, damage.message));
  }
}

/// The plan's choice first, then those asked for that serve the shape.
std::vector<const kernels::Kernel*> kernels_for(const kernels::w4a16::Shape& shape,
                                                int multiprocessors,
                                                const BenchW4a16Options& options) {
  std::vector<const kernels::Kernel*> chosen{&kernels::w4a16::plan(shape, multiprocessors)};
  for (const std::string& glob : options.kernels) {
    for (const kernels::Kernel* kernel : kernels::match_kernels(glob)) {
      if (std::ranges::find(chosen, kernel) == chosen.end() &&
          !kernels::w4a16::outside_domain(*kernel, shape)) {
        chosen.push_back(kernel);
      }
    }
  }
  return chosen;
}

BenchW4a16Row bench_spec(kernels::Device& device, const Spec& spec,
                         const kernels::w4a16::Frame& frame, const BenchW4a16Options& options) {
  const kernels::w4a16::Shape shape = conformance::shape_of(spec);
  const int multiprocessors =
      spec.sms != 0 ? static_cast<int>(spec.sms) : device.properties().multiprocessors;
  const std::vector<std::uint16_t> activations = random_elements(
      spec.m * spec.k, spec.type, -1.0, 1.0, Random(spec.seed, "bench activations"));

  BenchW4a16Row row;
  row.spec = spec;
  row.read_bytes = frame.weights.size() * 4 + frame.scales.size() * 2 + frame.zero_points.size();
  const std::uint64_t wanted =
      2 * device.properties().l2_bytes / std::max<std::uint64_t>(row.read_bytes, 1) + 1;
  row.rotations = static_cast<int>(std::clamp<std::uint64_t>(wanted, 2, kMostRotations));
  std::deque<CallBuffers> buffers;
  for (int i = 0; i < row.rotations; ++i) buffers.emplace_back(device, spec, frame, activations);

  std::vector<kernels::BenchArm> arms;
  for (const kernels::Kernel* kernel : kernels_for(shape, multiprocessors, options)) {
    kernels::BenchArm arm{.name = kernel->name, .code = kernel->code, .rotations = {}};
    for (const CallBuffers& set : buffers) {
      auto launch = kernels::w4a16::make_launch(*kernel, shape, set.addresses());
      if (!launch) throw InputError("nothing to time: M or N is 0");
      arm.rotations.push_back(std::move(*launch));
    }
    require_work(device, arm, buffers.front().c());
    arms.push_back(std::move(arm));
  }
  const std::size_t kernel_arms = arms.size();

  GuardedBuffer sink(device, "sink", {.rows = 1, .row_bytes = 16}, {.guard_bytes = 256});
  std::vector<std::vector<kernels::ReadRange>> ranges;
  for (const CallBuffers& set : buffers) ranges.push_back(set.read_ranges());
  std::ranges::move(
      kernels::plain_read_arms(ranges, device.properties().multiprocessors, sink.address()),
      std::back_inserter(arms));

  const std::vector<kernels::BenchResult> times = kernels::bench(device, arms, options.timing);
  for (std::size_t i = 0; i < kernel_arms; ++i) {
    row.arms.push_back({.planned = i == 0, .time = times[i]});
  }
  row.plain_read =
      *std::min_element(times.begin() + static_cast<std::ptrdiff_t>(kernel_arms), times.end(),
                        [](const auto& a, const auto& b) { return a.median_us < b.median_us; });
  row.table = marlin_time(spec.m, spec.k, spec.n);
  if (row.table) {
    row.marlin_us = row.table->marlin_us * row.plain_read.median_us / row.table->plain_read_us;
  }
  return row;
}

double rounded(double microseconds) { return std::round(microseconds * 1000) / 1000; }

Json json_of(const kernels::BenchResult& time) {
  Json json;
  json["name"] = time.name;
  json["median_us"] = rounded(time.median_us);
  json["min_us"] = rounded(time.min_us);
  json["max_us"] = rounded(time.max_us);
  json["calls"] = time.calls;
  return json;
}

}  // namespace

std::vector<BenchW4a16Row> bench_w4a16(kernels::Device& device, std::span<const Spec> specs,
                                       const BenchW4a16Options& options) {
  if (device.properties().kind != "cuda") {
    throw Unsupported(fmt::format("bench times on a cuda device; this is the {}",
                                  device.properties().description));
  }
  std::vector<BenchW4a16Row> rows;
  std::optional<Spec> framed;
  kernels::w4a16::Frame frame;
  for (const Spec& spec : specs) {
    if (spec.m < 1 || spec.n < 1 || spec.k < 1) {
      throw InputError(fmt::format("bench needs positive sizes, not {}", to_string(spec)));
    }
    options.before(spec);
    if (!framed || !same_weights(*framed, spec)) {
      frame = kernels::w4a16::repack(random_layer(spec));
      framed = spec;
    }
    rows.push_back(bench_spec(device, spec, frame, options));
  }
  return rows;
}

std::string bench_text(std::span<const BenchW4a16Row> rows) {
  std::size_t width = 6;
  for (const BenchW4a16Row& row : rows) {
    for (const BenchW4a16Arm& arm : row.arms) width = std::max(width, arm.time.name.size());
  }
  std::string text =
      fmt::format("{:<11} {:>5} {:>6} {:>6}  {:<{}} {:>9} {:>19} {:>10} {:>6} {:>12} {:>7}\n",
                  "layer", "M", "K", "N", "kernel", width, "us", "min..max", "plain read", "/read",
                  "Marlin (here)", "/Marlin");
  for (const BenchW4a16Row& row : rows) {
    for (const BenchW4a16Arm& arm : row.arms) {
      const double us = arm.time.median_us;
      text += fmt::format(
          "{:<11} {:>5} {:>6} {:>6}  {:<{}} {:>9.2f} {:>19} {:>10.2f} {:>6.2f} {:>12} {:>7}{}\n",
          row.table ? row.table->layer : "", row.spec.m, row.spec.k, row.spec.n, arm.time.name,
          width, us, fmt::format("{:.2f}..{:.2f}", arm.time.min_us, arm.time.max_us),
          row.plain_read.median_us, us / row.plain_read.median_us,
          row.marlin_us ? fmt::format("{:.2f}", *row.marlin_us) : "",
          row.marlin_us ? fmt::format("{:.2f}", us / *row.marlin_us) : "",
          arm.planned ? "  plan" : "");
    }
  }
  return text;
}

std::string bench_json(std::span<const BenchW4a16Row> rows, const std::string& device) {
  Json json;
  json["schema"] = "bitgate.bench/1";
  json["device"] = device;
  json["rows"] = Json::array();
  for (const BenchW4a16Row& row : rows) {
    Json entry;
    entry["spec"] = to_string(row.spec);
    entry["read_bytes"] = row.read_bytes;
    entry["rotations"] = row.rotations;
    entry["plain_read"] = json_of(row.plain_read);
    if (row.table) {
      entry["layer"] = row.table->layer;
      entry["marlin_table_us"] = row.table->marlin_us;
      entry["plain_read_table_us"] = row.table->plain_read_us;
      entry["marlin_us"] = rounded(*row.marlin_us);
    }
    entry["kernels"] = Json::array();
    for (const BenchW4a16Arm& arm : row.arms) {
      Json one = json_of(arm.time);
      one["planned"] = arm.planned;
      one["per_plain_read"] = rounded(arm.time.median_us / row.plain_read.median_us);
      if (row.marlin_us) one["per_marlin"] = rounded(arm.time.median_us / *row.marlin_us);
      entry["kernels"].push_back(std::move(one));
    }
    json["rows"].push_back(std::move(entry));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bitgate::suite
