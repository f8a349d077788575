#include "reference/machine/schedule/block_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/warp.h"
#include "reference/machine/hazard/hazards.h"

namespace bitgate::machine {

namespace {

constexpr std::size_t kRegisterAlignment = 256;
constexpr std::uint64_t kInstructionsBetweenChecks = 1U << 17;

void fill(std::byte* registers, std::uint32_t offset, Kind kind, std::uint64_t value) {
  switch (kind) {
    case Kind::predicate: {
      const auto bits = static_cast<std::uint32_t>(value);
      std::memcpy(registers + offset, &bits, sizeof(bits));
      break;
    }
    case Kind::b64:
      std::fill_n(reinterpret_cast<std::uint64_t*>(registers + offset), kLanes, value);
      break;
    case Kind::b128:
      std::fill_n(reinterpret_cast<std::uint64_t*>(registers + offset), kLanes, value);
      std::fill_n(reinterpret_cast<std::uint64_t*>(registers + offset) + kLanes, kLanes, 0);
      break;
    case Kind::b32:
    case Kind::none:
      std::fill_n(reinterpret_cast<std::uint32_t*>(registers + offset), kLanes,
                  static_cast<std::uint32_t>(value));
      break;
  }
}

Dim3 thread_at(const Dim3& block, std::uint32_t linear) {
  return {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
}

}  // namespace

void AlignedBytes::Free::operator()(std::byte* p) const {
  ::operator delete(p, std::align_val_t{kRegisterAlignment});
}

AlignedBytes::AlignedBytes(std::size_t bytes)
    : data_(static_cast<std::byte*>(
          ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{kRegisterAlignment}))),
      size_(bytes) {
  std::memset(data_.get(), 0, size_);
}

void LazyBytes::Free::operator()(std::byte* p) const { std::free(p); }

LazyBytes::LazyBytes(std::size_t bytes)
    : data_(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(bytes, 1), 1))),
      size_(bytes) {
  if (data_ == nullptr) throw std::bad_alloc();
}

BlockRunner::BlockRunner(const Program::Impl& program, const Code& code, const Launch& launch,
                         const Options& options, GlobalMemory& memory,
                         std::span<const std::byte> constants, Policy& policy,
                         std::chrono::steady_clock::time_point deadline)
    : policy_(policy),
      deadline_(deadline),
      threads_(launch.block.x * launch.block.y * launch.block.z),
      shared_bytes_(launch.dynamic_shared_bytes == 0
                        ? code.static_shared_bytes
                        : code.dynamic_shared_offset + launch.dynamic_shared_bytes) {
  state_.program = &program;
  state_.code = &code;
  state_.launch = &launch;
  state_.options = &options;
  state_.memory = &memory;
  state_.constants = constants;
  state_.tensor_model =
      options.tensor_model != nullptr ? options.tensor_model : &numeric::tensor_model("hopper");
  state_.cached_allocation.assign(std::min<std::uint32_t>(code.memory_ops, 65535) + 1, nullptr);
  state_.eager_copies = policy.eager_copies();
  context_.state = &state_;
  for (const ConstantPlace& place : code.constants) {
    std::uint64_t value = place.value;
    if (!place.global.empty()) {
      bool created = false;
      value += memory.module_variable(program.number, place.global, 1, 1, created);
    }
    constants_.emplace_back(place, value);
  }
  if (options.hazards.any()) {
    hazards_ = std::make_unique<hazard::Hazards>(state_);
    state_.hazards = hazards_.get();
  }
  if (options.coverage != nullptr) {
    counts_.resize(code.ops.size());
    state_.coverage = counts_.data();
  }
}

BlockRunner::~BlockRunner() = default;

void BlockRunner::add_coverage(Coverage& coverage) const {
  Coverage::Lines& lines = coverage.entries[state_.code->name];
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    lines[state_.code->debug[i].ptx_line].add(counts_[i]);
  }
}

void BlockRunner::fill_special(Warp& warp, const SpecialPlace& place) {
  const Launch& launch = *state_.launch;
  const Dim3& block = warp.block->index;
  std::byte* const registers = warp.registers.data();
  const auto each = [&](auto&& value) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t v = value(lane);
      if (place.kind == Kind::b64) {
        reinterpret_cast<std::uint64_t*>(registers + place.offset)[lane] = v;
      } else {
        reinterpret_cast<std::uint32_t*>(registers + place.offset)[lane] =
            static_cast<std::uint32_t>(v);
      }
    }
  };
  const auto thread = [&](std::uint32_t lane) {
    return thread_at(launch.block, warp.index * kLanes + lane);
  };
  const auto all = [&](std::uint64_t value) { fill(registers, place.offset, place.kind, value); };
  switch (place.special) {
    case Special::tid_x:
      return each([&](std::uint32_t lane) { return thread(lane).x; });
    case Special::tid_y:
      return each([&](std::uint32_t lane) { return thread(lane).y; });
    case Special::tid_z:
      return each([&](std::uint32_t lane) { return thread(lane).z; });
    case Special::ntid_x:
      return all(launch.block.x);
    case Special::ntid_y:
      return all(launch.block.y);
    case Special::ntid_z:
      return all(launch.block.z);
    case Special::ctaid_x:
      return all(block.x);
    case Special::ctaid_y:
      return all(block.y);
    case Special::ctaid_z:
      return all(block.z);
    case Special::nctaid_x:
      return all(launch.grid.x);
    case Special::nctaid_y:
      return all(launch.grid.y);
    case Special::nctaid_z:
      return all(launch.grid.z);
    case Special::laneid:
      return each([](std::uint32_t lane) { return lane; });
    case Special::warpid:
      return all(warp.index);
    case Special::nwarpid:
      return all(64);
    case Special::smid:
      return all(warp.block->number % std::max(state_.options->multiprocessors, 1U));
    case Special::nsmid:
      return all(state_.options->multiprocessors);
    case Special::gridid:
      return all(1);
    case Special::lanemask_eq:
      return each([](std::uint32_t lane) { return 1U << lane; });
    case Special::lanemask_le:
      return each([](std::uint32_t lane) { return kAllLanes >> (31 - lane); });
    case Special::lanemask_lt:
      return each([](std::uint32_t lane) { return (1U << lane) - 1; });
    case Special::lanemask_ge:
      return each([](std::uint32_t lane) { return kAllLanes << lane; });
    case Special::lanemask_gt:
      return each([](std::uint32_t lane) { return kAllLanes << lane << 1; });
    case Special::dynamic_smem_size:
      return all(launch.dynamic_shared_bytes);
    case Special::total_smem_size:
      return all(shared_bytes_);
    case Special::zero:
      return all(0);
    case Special::one:
      return all(1);
  }
}

std::unique_ptr<Block> BlockRunner::make_block() {
  auto block = std::make_unique<Block>();
  const std::uint32_t warps = (threads_ + kLanes - 1) / kLanes;
  block->shared = AlignedBytes(shared_bytes_);
  block->shared_bytes = shared_bytes_;
  const std::size_t warp_local = std::size_t{state_.code->local_stride()} * kLanes;
  block->local = LazyBytes(warp_local * warps);
  block->warps.resize(warps);
  for (std::uint32_t w = 0; w < warps; ++w) {
    Warp& warp = block->warps[w];
    warp.index = w;
    warp.block = block.get();
    warp.registers = AlignedBytes(state_.code->register_bytes);
    warp.local = block->local.data() + warp_local * w;
    for (const auto& [place, value] : constants_) {
      fill(warp.registers.data(), place.offset, place.kind, value);
    }
    for (const SpecialPlace& place : state_.code->specials) fill_special(warp, place);
  }
  return block;
}

/// What registers and local variables hold before they are written is nobody's either, but the same
/// whichever blocks the host thread ran before.
void BlockRunner::clear(Warp& warp) const {
  for (const auto& [offset, bytes] : state_.code->scratch) {
    std::memset(warp.registers.data() + offset, 0, bytes);
  }
  const std::size_t local = state_.code->local_bytes;
  if (local == 0) return;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::memset(warp.local + lane * state_.code->local_stride(), 0xff, local);
  }
}

std::unique_ptr<Block> BlockRunner::start(std::uint64_t number) {
  std::unique_ptr<Block> block;
  if (free_.empty()) {
    block = make_block();
  } else {
    block = std::move(free_.back());
    free_.pop_back();
  }
  // What shared memory holds before a block writes it is nobody's: NaN in every float type.
  std::memset(block->shared.data(), 0xff, block->shared.size());
  const Dim3& grid = state_.launch->grid;
  block->number = number;
  block->index = {static_cast<std::uint32_t>(number % grid.x),
                  static_cast<std::uint32_t>(number / grid.x % grid.y),
                  static_cast<std::uint32_t>(number / grid.x / grid.y)};
  block->live_warps = static_cast<std::uint32_t>(block->warps.size());
  for (Barrier& barrier : block->barriers) barrier = Barrier{};
  for (Warp& warp : block->warps) {
    clear(warp);
    const std::uint32_t first = warp.index * kLanes;
    const std::uint32_t lanes = std::min<std::uint32_t>(threads_ - first, kLanes);
    start_warp(warp, *state_.code, lanes == kLanes ? kAllLanes : (1U << lanes) - 1);
    for (const SpecialPlace& place : state_.code->specials) {
      switch (place.special) {
        case Special::ctaid_x:
        case Special::ctaid_y:
        case Special::ctaid_z:
        case Special::smid:
          fill_special(warp, place);
          break;
        default:
          break;
      }
    }
  }
  policy_.start_block(*block);
  if (hazards_ != nullptr) hazards_->start_block(*block);
  return block;
}

void BlockRunner::recycle(std::unique_ptr<Block> block) {
  if (hazards_ != nullptr) hazards_->finish_block(*block);
  free_.push_back(std::move(block));
}

Fault BlockRunner::located(const MachineFault& thrown) const {
  const Warp& warp = *context_.warp;
  int lane = thrown.lane;
  if (lane < 0) lane = context_.active == 0 ? 0 : std::countr_zero(context_.active);
  const auto site = [&](const Warp& of, std::uint32_t pc, int at) {
    const DebugLine& line = state_.code->debug[pc];
    return Site{
        line.instruction,
        line.file,
        line.line,
        line.ptx_line,
        of.block->index,
        thread_at(state_.launch->block, of.index * kLanes + static_cast<std::uint32_t>(at))};
  };
  Fault fault = thrown.fault;
  fault.site = site(warp, context_.pc, lane);
  if (thrown.waiting != nullptr) {
    fault.waiting = site(*thrown.waiting, thrown.waiting_pc, thrown.waiting_lane);
  }
  return fault;
}

void BlockRunner::check_limits() {
  if (state_.warp_instructions < next_check_) return;
  next_check_ = state_.warp_instructions + kInstructionsBetweenChecks;
  if (state_.options->interrupted != nullptr && *state_.options->interrupted) {
    throw_fault(Fault::Kind::interrupted, -1, "the run was interrupted");
  }
  if (std::chrono::steady_clock::now() > deadline_) {
    const auto limit = std::chrono::duration<double>(state_.options->time_limit).count();
    throw_fault(Fault::Kind::timeout, -1,
                fmt::format("the launch ran longer than its limit of {} s; this thread was still "
                            "running",
                            limit));
  }
}

void BlockRunner::report_deadlock(Block& block) {
  for (Warp& warp : block.warps) {
    if (warp.live != 0) context_.warp = &warp;
  }
  const Split& split = context_.warp->splits.front();
  context_.pc = split.pc;
  context_.active = split.mask;
  throw_fault(Fault::Kind::deadlock, -1,
              fmt::format("no thread of block ({}, {}, {}) can go on: {}", block.index.x,
                          block.index.y, block.index.z, describe_waits(block, *state_.code)));
}

BlockRunner::Progress BlockRunner::run(Block& block) {
  const std::uint64_t until = state_.warp_instructions + policy_.block_turn();
  try {
    while (block.live_warps != 0) {
      const std::optional<std::size_t> next = policy_.next_warp(block);
      if (!next) report_deadlock(block);
      const Turn turn = run_warp(context_, block.warps[*next], policy_.warp_turn());
      if (turn == Turn::finished) --block.live_warps;
      if (turn == Turn::used_up) policy_.used_up(block, *next);
      if (hazards_ != nullptr) hazards_->turn_over(block.warps[*next]);
      check_limits();
      if (state_.warp_instructions >= until && block.live_warps != 0) return Progress::used_up;
    }
  } catch (const MachineFault& fault) {
    throw MachineFault(located(fault));
  }
  return Progress::finished;
}

}  // namespace bitgate::machine
