#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "kernels/device/arguments.h"
#include "kernels/device/code_cache.h"
#include "kernels/device/device.h"
#include "reference/machine/hazard/validity.h"
#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

LaunchOutcome::Status status_of(machine::Fault::Kind kind) {
  switch (kind) {
    case machine::Fault::Kind::timeout:
      return LaunchOutcome::Status::timeout;
    case machine::Fault::Kind::unsupported:
      return LaunchOutcome::Status::unsupported;
    case machine::Fault::Kind::interrupted:
      return LaunchOutcome::Status::lost;
    default:
      return LaunchOutcome::Status::fault;
  }
}

// Allocations of the machine lie 16 GiB apart: guards up to this size never meet.
constexpr std::uint64_t kMostGuardBytes = std::uint64_t{1} << 30;

/// Guards live beside the machine's memory, so that a kernel that touches one is out of bounds
/// while the host reads and writes them at the addresses they would have.
struct Buffer {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::vector<std::byte> before;
  std::vector<std::byte> after;

  std::uint64_t begin() const { return address - before.size(); }
  std::uint64_t end() const { return address + bytes + after.size(); }
};

class MachineDevice final : public Device {
 public:
  MachineDevice(const numeric::TensorModel& model, unsigned threads)
      : model_(&model), threads_(std::max(threads, 1U)) {
    properties_.kind = "machine";
    properties_.description = fmt::format("reference machine, {}", model.name);
    properties_.compute_capability_major = model.compute_capability_major;
    properties_.compute_capability_minor = model.compute_capability_minor;
    properties_.tensor_model = model_;
  }

  const DeviceProperties& properties() const override { return properties_; }

  std::uint64_t allocate(std::uint64_t bytes, std::string_view name, std::uint64_t offset,
                         std::uint64_t guard_bytes, bool read_only) override {
    if (guard_bytes > kMostGuardBytes) throw std::bad_alloc();
    Buffer buffer;
    buffer.bytes = bytes;
    buffer.before.resize(guard_bytes);
    buffer.after.resize(guard_bytes);
    buffer.address = memory_.allocate(bytes, std::string(name), 256, offset);
    if (read_only) memory_.set_read_only(buffer.address, true);
    const std::uint64_t address = buffer.address;
    buffers_.emplace(buffer.begin(), std::move(buffer));
    return address;
  }

  void release(std::uint64_t address) override {
    const auto at = holder(address);
    if (at == buffers_.end() || at->second.address != address) return;
    memory_.release(address);
    buffers_.erase(at);
  }

  void write(std::uint64_t address, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    Buffer& buffer = buffer_at(address, bytes.size());
    for_each_part(buffer, address, bytes.size(),
                  [&](std::byte* guard, std::uint64_t at, std::size_t from, std::size_t count) {
                    const auto part = bytes.subspan(from, count);
                    if (guard != nullptr) {
                      std::ranges::copy(part, guard);
                    } else {
                      memory_.write(at, part);
                    }
                  });
  }

  void read(std::uint64_t address, std::span<std::byte> bytes) override {
    if (bytes.empty()) return;
    Buffer& buffer = buffer_at(address, bytes.size());
    for_each_part(
        buffer, address, bytes.size(),
        [&](const std::byte* guard, std::uint64_t at, std::size_t from, std::size_t count) {
          const auto part = bytes.subspan(from, count);
          if (guard != nullptr) {
            std::copy_n(guard, count, part.begin());
          } else {
            memory_.read(at, part);
          }
        });
  }

  void mark_undefined(std::uint64_t address, std::uint64_t bytes) override {
    if (bytes != 0) memory_.set_undefined(address, bytes);
  }
  void mark_output(std::uint64_t address) override { memory_.set_output(address); }
  std::vector<machine::hazard::Report> undefined_outputs() const override {
    return machine::hazard::undefined_outputs(memory_);
  }

  LaunchOutcome launch(const Code& code, const Launch& launch,
                       const LaunchOptions& options) override {
    using Status = LaunchOutcome::Status;
    LaunchOutcome outcome;
    try {
      machine::Program* program = programs_.find(code);
      if (program == nullptr) {
        program = &programs_.insert(code, machine::Program::load(code.ptx, code.name));
      }
      const auto slots = program->parameters(launch.entry);
      if (std::string mismatch = argument_mismatch(slots, launch.arguments); !mismatch.empty()) {
        outcome.status = Status::refused;
        outcome.message = fmt::format("{}: {}", launch.entry, mismatch);
        return outcome;
      }
      const machine::Launch run{.entry = launch.entry,
                                .grid = launch.grid,
                                .block = launch.block,
                                .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                                .parameters = pack_arguments(slots, launch.arguments)};
      machine::Options machine_options;
      machine_options.tensor_model = model_;
      machine_options.schedule_seed = options.schedule_seed;
      machine_options.resident_blocks = options.resident_blocks;
      machine_options.multiprocessors = static_cast<std::uint32_t>(properties_.multiprocessors);
      machine_options.threads = threads_;
      machine_options.time_limit = options.time_limit;
      machine_options.interrupted = options.interrupted;
      machine_options.hazards = options.hazards;
      machine_options.coverage = options.coverage;
      machine::Outcome result = machine::run(*program, run, memory_, machine_options);
      outcome.thread_instructions = result.thread_instructions;
      outcome.tensor_instructions = result.tensor_instructions;
      outcome.printed = std::move(result.printed);
      outcome.hazards = std::move(result.hazards);
      outcome.hazard_bytes = result.hazard_bytes;
      outcome.taint = std::move(result.taint);
      if (result.fault) {
        outcome.status = status_of(result.fault->kind);
        outcome.message = result.fault->message;
        outcome.fault = std::move(result.fault);
      }
    } catch (const InputError& error) {
      outcome.status = Status::refused;
      outcome.message = error.what();
    } catch (const Unsupported& error) {
      outcome.status = Status::unsupported;
      outcome.message = error.what();
    }
    return outcome;
  }

  std::string compiled_by(const Code& /*code*/) const override { return "reference machine"; }

 private:
  using Buffers = std::map<std::uint64_t, Buffer>;  // by Buffer::begin()

  Buffers::iterator holder(std::uint64_t address) {
    const auto next = buffers_.upper_bound(address);
    return next == buffers_.begin() ? buffers_.end() : std::prev(next);
  }

  Buffer& buffer_at(std::uint64_t address, std::uint64_t bytes) {
    const auto at = holder(address);
    if (at == buffers_.end() || address > at->second.end() || bytes > at->second.end() - address) {
      throw InputError(fmt::format("no buffer holds the {} bytes at device address {:#x}: {}",
                                   bytes, address, memory_.describe(address)));
    }
    return at->second;
  }

  /// Calls use(guard bytes or null, device address, first byte of the range, count) for the parts
  /// of the range below, in and above the payload.
  template <class Use>
  static void for_each_part(Buffer& buffer, std::uint64_t address, std::uint64_t bytes,
                            const Use& use) {
    std::uint64_t done = 0;
    while (done < bytes) {
      const std::uint64_t at = address + done;
      const std::uint64_t payload_end = buffer.address + buffer.bytes;
      std::byte* guard = nullptr;
      std::uint64_t part_end = payload_end;
      if (at < buffer.address) {
        guard = buffer.before.data() + (at - buffer.begin());
        part_end = buffer.address;
      } else if (at >= payload_end) {
        guard = buffer.after.data() + (at - payload_end);
        part_end = buffer.end();
      }
      const std::uint64_t count = std::min(part_end - at, bytes - done);
      use(guard, at, done, count);
      done += count;
    }
  }

  const numeric::TensorModel* model_;
  unsigned threads_;
  DeviceProperties properties_;
  machine::GlobalMemory memory_;
  Buffers buffers_;
  CodeCache<machine::Program> programs_;
};

}  // namespace

std::unique_ptr<Device> make_machine_device(const numeric::TensorModel& model, unsigned threads) {
  return std::make_unique<MachineDevice>(model, threads);
}

}  // namespace bitgate::kernels
