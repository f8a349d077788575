#include "reference/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "reference/machine/exec/context.h"
#include "reference/machine/hazard/fault_report.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/memory/address_space.h"
#include "reference/machine/program/code.h"
#include "reference/machine/schedule/block_runner.h"
#include "reference/machine/schedule/policy.h"
#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint32_t kMostSharedBytes = 227 * 1024;  // of a block, sm_80 to sm_90
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{1} << 30;

std::uint64_t check(const Code& code, const Launch& launch) {
  const Dim3& block = launch.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (block.x > kMostThreads || block.y > kMostThreads || block.z > 64 || threads == 0 ||
      threads > kMostThreads) {
    throw InputError(
        fmt::format("launch of '{}': a block of {}x{}x{} threads; 1 to {} are possible, z up to 64",
                    code.name, block.x, block.y, block.z, kMostThreads));
  }
  const auto product = [](const std::vector<std::uint32_t>& v) {
    std::uint64_t result = 1;
    for (const std::uint32_t n : v) result *= std::min<std::uint64_t>(n, 1U << 20);
    return result;
  };
  if (!code.maxntid.empty() && threads > product(code.maxntid)) {
    throw InputError(fmt::format("launch of '{}': {} threads a block, and its .maxntid allows {}",
                                 code.name, threads, product(code.maxntid)));
  }
  if (!code.reqntid.empty() && threads != product(code.reqntid)) {
    throw InputError(fmt::format("launch of '{}': {} threads a block, and its .reqntid is {}",
                                 code.name, threads, product(code.reqntid)));
  }
  const Dim3& grid = launch.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffU || grid.y > 65535 ||
      grid.z > 65535) {
    throw InputError(fmt::format(
        "launch of '{}': a grid of {}x{}x{} blocks; 1 to 2147483647 x 65535 x 65535 are possible",
        code.name, grid.x, grid.y, grid.z));
  }
  if (launch.parameters.size() != code.parameter_bytes) {
    throw InputError(fmt::format("launch of '{}': {} bytes of parameters where {} are expected",
                                 code.name, launch.parameters.size(), code.parameter_bytes));
  }
  const std::uint64_t shared =
      std::uint64_t{code.static_shared_bytes} + launch.dynamic_shared_bytes;
  if (shared > kMostSharedBytes) {
    throw InputError(
        fmt::format("launch of '{}': {} bytes of shared memory; at most {} are "
                    "possible",
                    code.name, shared, kMostSharedBytes));
  }
  if (block_bytes(code, launch) > kMostBlockBytes) {
    throw InputError(
        fmt::format("launch of '{}': a block's registers and local memory take {} "
                    "bytes of the host; at most {} are possible",
                    code.name, block_bytes(code, launch), kMostBlockBytes));
  }
  return std::uint64_t{grid.x} * grid.y * grid.z;
}

/// The generic address that a name in an initialiser stands for, or of a `.const` variable its own.
std::uint64_t address_of(const Program::Impl& program, GlobalMemory& memory,
                         const ptx::Variable::Relocation& relocation) {
  const std::string& symbol = relocation.symbol;
  std::uint64_t address = 0;
  const auto function = program.function_address.find(symbol);
  const auto constant = program.constant_offset.find(symbol);
  const auto global =
      std::find_if(program.globals.begin(), program.globals.end(),
                   [&](const GlobalVariable& variable) { return variable.name == symbol; });
  if (function != program.function_address.end()) {
    address = function->second;
  } else if (constant != program.constant_offset.end()) {
    address = constant->second + (relocation.generic ? kConstantWindow : 0);
  } else if (global != program.globals.end()) {
    bool created = false;
    address =
        memory.module_variable(program.number, symbol, global->bytes, global->alignment, created);
  } else {
    throw Unsupported(fmt::format("an initialiser with the address of '{}'", symbol));
  }
  address += static_cast<std::uint64_t>(relocation.offset);
  if (relocation.mask != 0) {
    address = (address & relocation.mask) >> std::countr_zero(relocation.mask);
  }
  return address;
}

std::span<const std::byte> bytes_of(const std::uint64_t& value, std::uint32_t bytes) {
  return std::as_bytes(std::span(&value, 1)).first(std::min<std::size_t>(bytes, sizeof(value)));
}

/// Makes the module's `.global` variables on the first launch with this memory.
void make_globals(const Program::Impl& program, GlobalMemory& memory) {
  for (const GlobalVariable& variable : program.globals) {
    bool created = false;
    const std::uint64_t address = memory.module_variable(
        program.number, variable.name, variable.bytes, variable.alignment, created);
    if (!created) continue;
    if (!variable.initial.empty()) memory.write(address, variable.initial);
    for (const ptx::Variable::Relocation& relocation : variable.relocations) {
      const std::uint64_t value = address_of(program, memory, relocation);
      memory.write(address + relocation.at, bytes_of(value, relocation.bytes));
    }
  }
}

/// The bank of `.const` variables with the addresses in it.
std::vector<std::byte> fill_constants(const Program::Impl& program, GlobalMemory& memory) {
  std::vector<std::byte> bank = program.constant_bank;
  for (const ptx::Variable::Relocation& relocation : program.constant_relocations) {
    const std::uint64_t value = address_of(program, memory, relocation);
    const auto bytes = bytes_of(value, relocation.bytes);
    std::copy(bytes.begin(), bytes.end(),
              bank.begin() + static_cast<std::ptrdiff_t>(relocation.at));
  }
  return bank;
}

/// A fault is a hazard as well, also of a run that looks for no others.
void report_fault(Outcome& outcome) {
  if (!outcome.fault) return;
  if (auto report = hazard::report_of(*outcome.fault)) {
    outcome.hazards.push_back(std::move(*report));
  }
}

using Printed = std::map<std::uint64_t, std::string>;

void add_counts(Outcome& outcome, Printed& printed, const LaunchState& state) {
  outcome.thread_instructions += state.thread_instructions;
  outcome.warp_instructions += state.warp_instructions;
  outcome.tensor_instructions += state.tensor_instructions;
  printed.insert(state.printed.begin(), state.printed.end());
}

/// All blocks on this thread. Blocks start one by one; another is started when those that are live
/// have used up their turns, so that blocks that wait for each other are live together, and others
/// stay in the cache.
void run_in_turn(BlockRunner& runner, Policy& policy, std::uint64_t blocks) {
  std::vector<std::unique_ptr<Block>> live;
  std::uint64_t next = 0;
  std::size_t current = 0;
  std::size_t wanted = policy.initial_blocks();
  for (;;) {
    while (next < blocks && live.size() < std::max<std::size_t>(wanted, 1)) {
      live.push_back(runner.start(policy.block(next++)));
    }
    if (live.empty()) return;
    current = std::min(current, live.size() - 1);
    if (runner.run(*live[current]) == BlockRunner::Progress::finished) {
      runner.recycle(std::move(live[current]));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(current));
      if (!live.empty()) current %= live.size();
    } else {
      wanted = std::min<std::size_t>(live.size() + 1, policy.residency());
      if (next < blocks && live.size() < wanted) {
        live.push_back(runner.start(policy.block(next++)));
      }
      current = policy.next_block(current, live.size());
    }
  }
}

}  // namespace

std::string_view name(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::out_of_bounds:
      return "out of bounds";
    case Fault::Kind::misaligned:
      return "misaligned";
    case Fault::Kind::read_only_write:
      return "write to read-only memory";
    case Fault::Kind::barrier:
      return "barrier";
    case Fault::Kind::deadlock:
      return "deadlock";
    case Fault::Kind::timeout:
      return "timeout";
    case Fault::Kind::inactive_lane:
      return "inactive lane";
    case Fault::Kind::trap:
      return "trap";
    case Fault::Kind::unsupported:
      return "unsupported";
    case Fault::Kind::interrupted:
      return "interrupted";
  }
  return "?";
}

Outcome run(const Program& program, const Launch& launch, GlobalMemory& memory,
            const Options& options) {
  const Program::Impl& impl = program.impl();
  const Code& code = impl.code(launch.entry);
  const std::uint64_t blocks = check(code, launch);
  if (options.coverage != nullptr && options.hazards.any()) {
    throw InputError("a run counts its coverage or looks for hazards, not both");
  }
  make_globals(impl, memory);
  const std::vector<std::byte> constants = fill_constants(impl, memory);
  Printed printed;
  const auto deadline = std::chrono::steady_clock::now() + options.time_limit;

  Outcome outcome;
  outcome.contractible = code.contractible;
  outcome.approximate = code.approximate;
  const auto threads =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max(options.threads, 1U), blocks));
  if (threads == 1 || code.communicates || options.schedule_seed != 0 || options.hazards.any() ||
      options.coverage != nullptr) {
    Policy policy(code, launch, options, blocks);
    BlockRunner runner(impl, code, launch, options, memory, constants, policy, deadline);
    try {
      run_in_turn(runner, policy, blocks);
    } catch (const MachineFault& fault) {
      outcome.fault = fault.fault;
    }
    if (hazard::Hazards* hazards = runner.hazards()) {
      if (outcome.fault) hazards->fault(*outcome.fault);
      outcome.hazards = hazards->reports.take();
      outcome.taint = hazards->taint();
      outcome.hazard_bytes = hazards->peak_bytes();
    } else {
      report_fault(outcome);
    }
    add_counts(outcome, printed, runner.state());
    if (options.coverage != nullptr) runner.add_coverage(*options.coverage);
    for (const auto& [block, text] : printed) outcome.printed += text;
    return outcome;
  }

  // Blocks that cannot see each other, on several threads. The fault that counts is that of the
  // lowest block: every block below it has run.
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> stop_at{std::numeric_limits<std::uint64_t>::max()};
  std::mutex mutex;
  const auto work = [&] {
    Policy policy(code, launch, options, blocks);
    std::optional<BlockRunner> made;
    {
      // Asks the memory for the module's variables.
      const std::lock_guard lock(mutex);
      made.emplace(impl, code, launch, options, memory, constants, policy, deadline);
    }
    BlockRunner& runner = *made;
    for (;;) {
      const std::uint64_t number = next.fetch_add(1);
      if (number >= blocks || number > stop_at.load()) break;
      try {
        std::unique_ptr<Block> block = runner.start(number);
        while (runner.run(*block) != BlockRunner::Progress::finished) {
        }
        runner.recycle(std::move(block));
      } catch (const MachineFault& fault) {
        const std::lock_guard lock(mutex);
        if (number < stop_at.load()) {
          stop_at = number;
          outcome.fault = fault.fault;
        }
        break;
      }
    }
    const std::lock_guard lock(mutex);
    add_counts(outcome, printed, runner.state());
  };
  std::vector<std::thread> workers;
  for (std::uint32_t i = 1; i < threads; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  report_fault(outcome);
  // Blocks beyond the one that failed may have run or not.
  for (const auto& [block, text] : printed) {
    if (block <= stop_at.load()) outcome.printed += text;
  }
  return outcome;
}

}  // namespace bitgate::machine
