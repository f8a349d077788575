#include "conformance/check/execution.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <span>
#include <utility>

#include "reference/support/error.h"

namespace bitgate::conformance {
namespace {

using kernels::GuardedBuffer;

/// The buffers of one call. Inputs remember what they were given.
class CallBuffers {
 public:
  CallBuffers(const Problem& problem, const kernels::w4a16::Frame& frame, kernels::Device& device)
      : seed_(problem.spec.seed), device_(device), output_(make_output(problem)) {
    const kernels::w4a16::Shape& shape = problem.shape;
    const auto row_bytes = static_cast<std::uint64_t>(shape.k) * 2;
    addresses_.c = output_.address();
    addresses_.a =
        add_input("a", problem.activations,
                  GuardedBuffer::Layout{.rows = static_cast<std::uint64_t>(shape.m),
                                        .row_bytes = row_bytes,
                                        .pitch_bytes = static_cast<std::uint64_t>(shape.lda) * 2},
                  problem.spec.align);
    addresses_.weights = add_input("weights", frame.weights);
    addresses_.scales = add_input("scales", frame.scales);
    if (!frame.zero_points.empty()) {
      addresses_.zero_points = add_input("zero_points", frame.zero_points);
    }
    if (!frame.order.empty()) addresses_.order = add_input("order", frame.order);
  }

  const kernels::w4a16::Buffers& addresses() const { return addresses_; }
  GuardedBuffer& output() { return output_; }

  /// Names the elements of A and C that hazards are about.
  static void name_elements(const Problem& problem, std::vector<machine::hazard::Report>& hazards) {
    for (machine::hazard::Report& report : hazards) {
      const bool is_a = report.buffer == "a";
      if ((!is_a && report.buffer != "c") || report.offset < 0) continue;
      const auto pitch = static_cast<std::uint64_t>(is_a ? problem.shape.lda : problem.shape.ldc);
      const std::uint64_t element = static_cast<std::uint64_t>(report.offset) / 2;
      if (pitch != 0) report.element = {element / pitch, element % pitch};
    }
  }

  void look_for_damage(Execution& execution) {
    const auto look = [&](GuardedBuffer& buffer) {
      const GuardedBuffer::Damage damage = buffer.check_guards();
      if (damage.any()) execution.damage.push_back(damage.message);
    };
    look(output_);
    for (Input& input : inputs_) {
      look(input.buffer);
      const std::uint64_t changed = input.buffer.changed_bytes(input.given);
      if (changed == 0) continue;
      execution.overwritten.push_back(
          fmt::format("{} bytes of the input '{}' were changed", changed, input.buffer.name()));
    }
  }

 private:
  struct Input {
    GuardedBuffer buffer;
    std::span<const std::byte> given;
  };

  GuardedBuffer make_output(const Problem& problem) {
    const kernels::w4a16::Shape& shape = problem.shape;
    return {device_,
            "c",
            {.rows = static_cast<std::uint64_t>(shape.m),
             .row_bytes = static_cast<std::uint64_t>(shape.n) * 2,
             .pitch_bytes = static_cast<std::uint64_t>(shape.ldc) * 2},
            {.offset = problem.spec.align, .seed = seed_}};
  }

  template <class Element>
  std::uint64_t add_input(const char* name, const std::vector<Element>& contents) {
    return add_input(
        name, contents,
        GuardedBuffer::Layout{.rows = 1, .row_bytes = contents.size() * sizeof(Element)}, 0);
  }

  template <class Element>
  std::uint64_t add_input(const char* name, const std::vector<Element>& contents,
                          const GuardedBuffer::Layout& layout, std::uint64_t offset) {
    const auto bytes = std::as_bytes(std::span(contents));
    const GuardedBuffer::Options options{.offset = offset, .seed = seed_, .read_only = true};
    inputs_.push_back({.buffer = GuardedBuffer(device_, name, layout, options), .given = bytes});
    inputs_.back().buffer.upload(bytes);
    return inputs_.back().buffer.address();
  }

  std::uint64_t seed_;
  kernels::Device& device_;
  GuardedBuffer output_;
  std::deque<Input> inputs_;
  kernels::w4a16::Buffers addresses_;
};

std::vector<std::uint16_t> elements_of(std::span<const std::byte> bytes) {
  std::vector<std::uint16_t> elements(bytes.size() / 2);
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

kernels::LaunchOptions options_of(const Spec& spec, kernels::LaunchOptions options) {
  if (spec.schedule != 0) options.schedule_seed = spec.schedule;
  if (spec.residency != 0) options.resident_blocks = spec.residency;
  return options;
}

bool completed(const kernels::LaunchOutcome& outcome) {
  return outcome.status == kernels::LaunchOutcome::Status::completed;
}

}  // namespace

Execution execute(const Problem& problem, const kernels::Kernel& kernel, kernels::Device& device,
                  const ExecutionOptions& options) {
  Execution execution;
  kernels::w4a16::Frame frame;
  std::optional<kernels::Launch> launch;
  std::optional<CallBuffers> buffers;
  try {
    frame = options.adapter.repack(problem.layer);
    buffers.emplace(problem, frame, device);
    launch = options.adapter.make_launch(kernel, problem.shape, buffers->addresses());
  } catch (const InputError& error) {
    execution.refused = error.what();
    return execution;
  }

  const kernels::Code& code = options.code != nullptr ? *options.code : *kernel.code;
  kernels::LaunchOptions launch_options = options_of(problem.spec, options.launch);
  execution.launched = launch.has_value();
  if (launch) {
    device.mark_output(buffers->output().address());
    execution.outcome = device.launch(code, *launch, launch_options);
  }
  execution.hazards = execution.outcome.hazards;
  if (launch && launch_options.hazards.validity && completed(execution.outcome)) {
    const auto undefined = device.undefined_outputs();
    execution.hazards.insert(execution.hazards.end(), undefined.begin(), undefined.end());
  }
  CallBuffers::name_elements(problem, execution.hazards);
  if (!completed(execution.outcome)) return execution;
  const std::vector<std::byte> written = buffers->output().download();
  execution.output = elements_of(written);
  execution.unwritten = buffers->output().unwritten(written, 2);

  if (launch && options.rerun) {
    buffers->output().poison();
    if (device.properties().kind == "machine") ++launch_options.schedule_seed;
    launch_options.hazards = {};
    execution.rerun_outcome = device.launch(code, *launch, launch_options);
    if (!completed(*execution.rerun_outcome)) return execution;
    execution.rerun_output = elements_of(buffers->output().download());
  }
  buffers->look_for_damage(execution);
  return execution;
}

}  // namespace bitgate::conformance
