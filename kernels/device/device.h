#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/machine.h"
#include "reference/numeric/tensor_core.h"

namespace bitgate::kernels {

using machine::Dim3;

/// A compiled module: the PTX, and cubins that ptxas made from that same PTX (empty for code that
/// came from a file: the device compiles the PTX then).
struct Code {
  std::string name;
  std::string_view ptx;
  std::span<const std::byte> cubin_sm80;
  std::span<const std::byte> cubin_sm90;
};

struct DeviceProperties {
  std::string kind;         ///< "machine" or "cuda"
  std::string description;  ///< "NVIDIA H200, driver 580.159" / "reference machine, hopper"
  int compute_capability_major = 9;
  int compute_capability_minor = 0;
  int multiprocessors = 132;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;
  const numeric::TensorModel* tensor_model = nullptr;
};

/// One kernel launch. `arguments` are the entry's parameters in order, each as its bytes.
struct Launch {
  std::string entry;
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::vector<std::byte>> arguments;
};

struct LaunchOptions {
  std::chrono::nanoseconds time_limit = std::chrono::seconds(20);
  std::uint64_t schedule_seed = 0;        ///< machine only
  std::uint32_t resident_blocks = 0;      ///< machine only; 0: the policy's own
  machine::Coverage* coverage = nullptr;  ///< machine only: counts what is executed
  machine::hazard::Options hazards;       ///< machine only: what to look for
  /// Polled now and then; set by a SIGINT handler. The launch then ends as `lost`.
  const volatile bool* interrupted = nullptr;
};

struct LaunchOutcome {
  enum class Status { completed, fault, timeout, unsupported, refused, lost };
  Status status = Status::completed;
  std::string message;                           ///< one sentence; empty when completed
  std::optional<machine::Fault> fault;           ///< machine only
  std::vector<machine::hazard::Report> hazards;  ///< machine only: what was found, faults included
  machine::hazard::Taint taint;                  ///< machine only
  std::uint64_t hazard_bytes = 0;                ///< the most host memory that finding them took
  std::uint64_t thread_instructions = 0;
  std::uint64_t tensor_instructions = 0;
  std::string printed;  ///< machine only, by vprintf; on cuda the driver prints it to stdout
};

/// Where a kernel runs. Memory is addressed by 64-bit device addresses on both devices.
/// Errors: std::bad_alloc when memory is refused; DeviceLost when the device no longer answers.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;

  /// `bytes` of memory whose address is a multiple of 256 plus `offset`, with at least
  /// `guard_bytes` before and after it that belong to the same buffer: readable and writable
  /// through write() and read() (and by a kernel on cuda; on the machine a kernel's access there is
  /// out of bounds).
  virtual std::uint64_t allocate(std::uint64_t bytes, std::string_view name,
                                 std::uint64_t offset = 0, std::uint64_t guard_bytes = 0,
                                 bool read_only = false) = 0;
  /// Never throws; an address that is no buffer's (its context is gone) is ignored.
  virtual void release(std::uint64_t address) = 0;
  virtual void write(std::uint64_t address, std::span<const std::byte> bytes) = 0;
  virtual void read(std::uint64_t address, std::span<std::byte> bytes) = 0;

  /// Nobody has written these bytes of a buffer, whatever `write` put there so far; and: somebody
  /// will read all of the buffer at `address` after the last launch. Devices that watch for neither
  /// ignore it.
  virtual void mark_undefined(std::uint64_t /*address*/, std::uint64_t /*bytes*/) {}
  virtual void mark_output(std::uint64_t /*address*/) {}
  /// Of the marked outputs, the bytes that launches which looked for uninitialised data left
  /// undefined.
  virtual std::vector<machine::hazard::Report> undefined_outputs() const { return {}; }

  /// Runs to the end of the kernel. Bad launches are `refused`, never an exception.
  virtual LaunchOutcome launch(const Code& code, const Launch& launch,
                               const LaunchOptions& options) = 0;

  /// What runs for `code` and who compiled it, for reports: "cubin sm_90 as built",
  /// "ptxas /usr/local/cuda/bin/ptxas for sm_90", "driver JIT". Empty before its first launch.
  virtual std::string compiled_by(const Code& /*code*/) const { return {}; }
};

class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The reference machine with one of numeric::tensor_models(); `threads` host threads over blocks.
std::unique_ptr<Device> make_machine_device(const numeric::TensorModel& model,
                                            unsigned threads = 1);

/// The first NVIDIA GPU, by the driver API loaded at run time. Null with `reason` filled when there
/// is no driver or no GPU.
std::unique_ptr<Device> make_cuda_device(std::string& reason);

}  // namespace bitgate::kernels
