#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/coverage.h"
#include "reference/machine/hazard/options.h"
#include "reference/machine/hazard/report.h"
#include "reference/machine/hazard/taint_report.h"
#include "reference/machine/memory/global_memory.h"
#include "reference/machine/site.h"
#include "reference/numeric/tensor_core.h"

namespace bitgate::machine {

/// The reference machine: runs the PTX of any kernel, lane-exact, on the CPU.
///
///     Program program = Program::load(ptx_text, "k.ptx");
///     GlobalMemory memory;
///     auto x = memory.allocate(4096, "x");
///     Launch launch{.entry = "saxpy", .grid = {4}, .block = {256}, .parameters = ...};
///     Outcome outcome = run(program, launch, memory, {});

/// Where an entry expects each of its parameters in the parameter buffer.
struct ParameterSlot {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t alignment = 1;
};

/// One PTX text of a program, and what messages call it.
struct PtxText {
  std::string_view text;
  std::string_view name = "ptx";
};

/// A PTX module decoded for execution; immutable, shared between launches and threads.
class Program {
 public:
  /// InputError when the text is not PTX. Instructions the machine does not implement are decoded
  /// as such and stop a run only when reached.
  static Program load(std::string_view ptx, std::string_view name = "ptx");
  /// Several texts, linked: `.extern` names find the definition of another (`nvcc -rdc=true`).
  static Program load(std::span<const PtxText> texts);

  std::vector<std::string> entries() const;
  /// InputError when there is no such entry.
  std::vector<ParameterSlot> parameters(std::string_view entry) const;
  std::uint32_t static_shared_bytes(std::string_view entry) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

struct Launch {
  std::string entry;
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;  ///< the whole buffer, laid out as Program::parameters says
};

struct Options {
  const numeric::TensorModel* tensor_model = nullptr;  ///< null: Hopper
  std::uint64_t schedule_seed = 0;                     ///< 0: ascending blocks, round-robin warps
  std::uint32_t resident_blocks = 0;                   ///< 0: all that fit the policy's limit
  std::uint32_t multiprocessors = 132;
  std::uint32_t threads = 1;  ///< host threads over blocks; bits do not depend on it
  std::chrono::nanoseconds time_limit = std::chrono::seconds(20);
  /// Polled now and then; set by a SIGINT handler.
  const volatile bool* interrupted = nullptr;
  /// What is looked for besides faults. A run that looks for anything uses one host thread.
  hazard::Options hazards;
  /// Where what is executed is counted; null: nowhere. Such a run uses one host thread, and cannot
  /// look for hazards at the same time (InputError).
  Coverage* coverage = nullptr;
};

struct Fault {
  enum class Kind {
    out_of_bounds,
    misaligned,
    read_only_write,
    barrier,
    deadlock,
    timeout,
    inactive_lane,
    trap,
    unsupported,
    interrupted
  };
  Kind kind{};
  Site site;
  std::optional<Site> waiting;  ///< of a barrier: a thread that waits where `site` does not fit in
  std::string space;            ///< "global", "shared", …; empty where none
  std::string buffer;           ///< name of the allocation, or the nearest
  std::uint64_t address = 0;
  std::int64_t offset = 0;  ///< into the buffer or space
  std::uint32_t bytes = 0;
  std::string message;  ///< one sentence for people
};

std::string_view name(Fault::Kind kind);

struct Outcome {
  std::optional<Fault> fault;  ///< none: ran to its end
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t tensor_instructions = 0;
  std::uint32_t contractible = 0;  ///< static counts of the entry's code
  std::uint32_t approximate = 0;
  /// What the kernel printed by vprintf: blocks in the order of their numbers, up to 1 MiB of each,
  /// a block's own lines in the order in which they were printed, lanes ascending.
  std::string printed;
  /// What Options::hazards asked for, a fault of the same kinds included; equal ones are one.
  std::vector<hazard::Report> hazards;
  hazard::Taint taint;  ///< where Options::hazards asked for it
  /// The most host memory that the shadows of registers and memory took at any time.
  std::uint64_t hazard_bytes = 0;
};

/// Runs one launch to its end. Launch errors (too many threads, a parameter buffer of the wrong
/// size, too much shared memory) are InputError.
Outcome run(const Program& program, const Launch& launch, GlobalMemory& memory,
            const Options& options);

}  // namespace bitgate::machine
