#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/report.h"

// Accesses of whole warps are looked at together where that can be. Here random ones of a small
// launch are told twice, as instructions and lane by lane: the same must be reported.

namespace bitgate::machine::hazard {
namespace {

constexpr std::uint32_t kWarps = 3;
constexpr std::uint32_t kBlocks = 2;
constexpr std::uint32_t kBytes = 2048;  ///< of each memory

/// What happens next.
struct Step {
  enum class What { access, copy, commit, wait, barrier, warp_barrier, fence, restart };
  What what = What::access;
  std::uint32_t block = 0;
  std::uint32_t warp = 0;
  std::uint32_t pc = 0;
  std::uint32_t lanes = kAllLanes;
  std::uint32_t bytes = 4;
  bool shared = true;
  bool collective = false;
  std::vector<std::uint32_t> offset = std::vector<std::uint32_t>(kLanes);
};

struct Instruction {
  std::string mnemonic;
  std::uint32_t bytes;
  bool strong = false;
};

const std::vector<Instruction>& instructions() {
  static const std::vector<Instruction> kInstructions{
      {"ld.shared.u32", 4},
      {"ld.shared.u32", 4},
      {"ld.shared.v4.u32", 16},
      {"ld.shared.v4.u32", 16},
      {"ld.shared.v2.u32", 8},
      {"ld.shared.u16", 2},
      {"st.shared.u32", 4},
      {"st.shared.u32", 4},
      {"st.shared.v4.u32", 16},
      {"st.shared.v2.u32", 8},
      {"st.shared.u16", 2},
      {"st.shared.u8", 1},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", 16},
      {"atom.shared.add.u32", 4, true},
      {"ld.relaxed.gpu.shared.u32", 4, true},
      {"ld.global.u32", 4},
      {"ld.global.v4.u32", 16},
      {"ld.global.nc.u32", 4},
      {"st.global.u32", 4},
      {"st.global.v4.u32", 16},
      {"st.global.u16", 2},
      {"st.global.u16", 2},
      {"red.relaxed.gpu.global.add.u32", 4, true},
      {"cp.async.cg.shared.global", 16},
      {"fence.acq_rel.cta", 0},
  };
  return kInstructions;
}

/// Addresses as kernels have them: a run, a shifted one, few places for many lanes, anything.
void place(Step& step, std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t run = step.bytes * kLanes;
  const std::uint32_t pattern = below(8);
  const std::uint32_t room = kBytes / step.bytes;
  std::uint32_t base = below(kBytes / run) * run;
  if (pattern == 1 || pattern == 2) base = below((kBytes - run) / step.bytes + 1) * step.bytes;
  const std::uint32_t any = below(room);
  const std::uint32_t stride = 1 + below(5);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    std::uint32_t& offset = step.offset[lane];
    switch (pattern) {
      case 5:
        offset = any * step.bytes;
        break;
      case 6:
        offset = (any + lane / 4 * stride) % room * step.bytes;
        break;
      case 7:
        offset = (any + lane % 4 * stride) % room * step.bytes;
        break;
      case 4:
        offset = below(room) * step.bytes;
        break;
      default:
        offset = base + lane * step.bytes;
        break;
    }
  }
  if (below(4) == 0) step.lanes = static_cast<std::uint32_t>(random()) | 1U;
}

/// `words`: no accesses of less.
std::vector<Step> make_steps(std::uint32_t seed, bool words) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  // Few barriers in some launches, many in others; then most accesses are ordered.
  const std::uint32_t barriers = 1 + below(6);
  std::vector<Step> steps;
  const std::size_t count = 20 + below(120);
  while (steps.size() < count) {
    Step step;
    step.block = below(kBlocks);
    step.warp = below(kWarps);
    if (below(8) < barriers) {
      step.what = below(2) == 0 ? Step::What::barrier : Step::What::warp_barrier;
      if (below(6) == 0) step.lanes = 0xffffU << below(17);
      if (below(40) == 0) step.what = Step::What::restart;
      steps.push_back(step);
      if (below(3) != 0) continue;
    }
    step = Step{};
    step.block = below(kBlocks);
    step.warp = below(kWarps);
    step.pc = below(static_cast<std::uint32_t>(instructions().size()));
    const Instruction& instruction = instructions()[step.pc];
    if (words && (instruction.bytes == 1 || instruction.bytes == 2)) continue;
    step.bytes = instruction.bytes;
    step.shared = instruction.mnemonic.find("shared") != std::string::npos;
    if (instruction.mnemonic.starts_with("fence")) {
      step.what = Step::What::fence;
      steps.push_back(step);
      continue;
    }
    place(step, random);
    step.collective = instruction.mnemonic.starts_with("ldmatrix");
    if (step.collective) step.lanes = kAllLanes;
    if (instruction.mnemonic.starts_with("cp.async")) {
      step.what = Step::What::copy;
      steps.push_back(step);
      Step after = step;
      after.what = Step::What::commit;
      if (below(2) == 0) steps.push_back(after);
      after.what = Step::What::wait;
      if (below(3) != 0) steps.push_back(after);
      continue;
    }
    steps.push_back(step);
  }
  return steps;
}

class Launched {
 public:
  Launched(bool by_lane, bool words) : by_lane_(by_lane), words_(words) {
    for (std::size_t i = 0; i < instructions().size(); ++i) {
      code_.ops.emplace_back();
      DebugLine& line = code_.debug.emplace_back();
      line.mnemonic = line.instruction = instructions()[i].mnemonic;
      line.ptx_line = static_cast<std::uint32_t>(i);
    }
    launch_.grid = {64, 1, 1};
    launch_.block = {kWarps * kLanes, 1, 1};
    state_.code = &code_;
    state_.launch = &launch_;
    state_.memory = &memory_;
    global_ = memory_.find(memory_.allocate(kBytes, "buf"), kBytes)->host;
    races_ = std::make_unique<Races>(state_, reports_);
    for (Block& block : blocks_) {
      block.shared = AlignedBytes(kBytes);
      block.shared_bytes = kBytes;
      block.warps.resize(kWarps);
      for (std::uint32_t i = 0; i < kWarps; ++i) {
        block.warps[i].block = &block;
        block.warps[i].index = i;
        block.warps[i].live = kAllLanes;
      }
      start(block);
    }
  }

  std::vector<std::string> run(const std::vector<Step>& steps) {
    for (const Step& step : steps) take(step);
    std::vector<std::string> texts;
    for (const Report& report : reports_.all()) texts.push_back(text(report));
    std::sort(texts.begin(), texts.end());
    return texts;
  }

 private:
  void start(Block& block) {
    block.number = next_++;
    races_->start_block(block);
  }

  void take(const Step& step) {
    Block& block = blocks_[step.block];
    Warp& warp = block.warps[step.warp];
    Context x;
    x.active = step.lanes;
    x.pc = step.pc;
    x.warp = &warp;
    x.block = &block;
    x.state = &state_;
    switch (step.what) {
      case Step::What::access:
        return access(x, step);
      case Step::What::copy:
        return copy(x, step);
      case Step::What::commit:
        return races_->copies_committed(x);
      case Step::What::wait:
        return races_->copies_awaited(x, 0);
      case Step::What::barrier:
        for (Warp& each : block.warps) {
          each.splits = {{0, kAllLanes, Split::State::barrier, 0}};
          races_->barrier_arrives(each, 0, kAllLanes);
        }
        return races_->barrier_completes(block, 0);
      case Step::What::warp_barrier:
        return races_->warp_barrier(warp, step.lanes);
      case Step::What::fence:
        return races_->fence(x);
      case Step::What::restart:
        races_->finish_block(block);
        return start(block);
    }
  }

  /// In the order of whole instructions: lanes that know the same after each other.
  template <class Visit>
  static void by_lane(const Warp& warp, std::uint32_t lanes, const Visit& visit) {
    for (const Group& group : warp.block->races->warps[warp.index].groups) {
      each_lane(group.lanes & lanes, visit);
    }
  }

  void access(Context& x, const Step& step) {
    const Instruction& instruction = instructions()[step.pc];
    MemoryAccess access;
    access.space = step.shared ? Space::shared : Space::global;
    const bool reads = instruction.mnemonic.starts_with("ld");
    access.access = reads ? Access::read : Access::write;
    access.lanes = step.lanes;
    access.bytes = step.bytes;
    access.collective = step.collective;
    std::byte* const memory = step.shared ? x.block->shared.data() : global_;
    HostAddresses host;
    bool run = step.lanes == kAllLanes && !step.collective;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      host.at[lane] = reinterpret_cast<std::uint64_t>(memory + step.offset[lane]);
      run = run && step.offset[lane] == step.offset[0] + lane * step.bytes;
    }
    access.host = &host;
    const Op op;
    if (!by_lane_ || step.collective || instruction.strong) {
      if (run) access.run = memory + step.offset[0];
      return races_->access(x, op, access);
    }
    by_lane(*x.warp, step.lanes, [&](std::size_t lane) {
      access.lanes = kLaneBit[lane];
      races_->access(x, op, access);
    });
  }

  void copy(Context& x, const Step& step) {
    PendingCopy copy;
    copy.mask = step.lanes;
    copy.bytes = 16;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      copy.destination[lane] = x.block->shared.data() + step.offset[lane];
      copy.source[lane] = global_ + step.offset[kLanes - 1 - lane];
      copy.source_bytes[lane] = static_cast<std::uint8_t>(step.offset[lane] % 64 == 0 ? 8 : 16);
    }
    const Op op;
    if (!by_lane_) return races_->copy_issued(x, op, copy);
    by_lane(*x.warp, step.lanes, [&](std::size_t lane) {
      copy.mask = kLaneBit[lane];
      races_->copy_issued(x, op, copy);
    });
  }

  /// Without the message, which says how many bytes were looked at together. That is also what
  /// bytes and count depend on, if words are accessed in parts.
  std::string text(const Report& report) const {
    const auto site = [](const Place& place) {
      return std::string(name(place.access)) + " " + std::to_string(place.site.ptx_line) + " " +
             place.site.instruction + " block " + std::to_string(place.site.block.x) + " thread " +
             std::to_string(place.site.thread.x);
    };
    return std::string(name(report.kind)) + " " + report.space + "+" +
           std::to_string(report.offset) +
           (words_ ? " bytes " + std::to_string(report.bytes) + " x" + std::to_string(report.count)
                   : "") +
           (report.same_value ? " same value" : "") + ": " + site(report.first) +
           (report.second ? ", " + site(*report.second) : "");
  }

  bool by_lane_;
  bool words_;
  Code code_;
  Launch launch_;
  GlobalMemory memory_;
  LaunchState state_;
  ReportList reports_;
  std::byte* global_ = nullptr;
  Block blocks_[kBlocks];
  std::uint64_t next_ = 0;
  std::unique_ptr<Races> races_;
};

std::string only_in(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> only;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  std::string text;
  for (const std::string& line : only) text += "\n  " + line;
  return text;
}

TEST(RacesByLane, SameReports) {
  constexpr std::uint32_t kSeeds = 1000;
  std::size_t reported = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const bool words = seed % 2 == 0;
    const std::vector<Step> steps = make_steps(seed, words);
    const std::vector<std::string> together = Launched(false, words).run(steps);
    const std::vector<std::string> by_lane = Launched(true, words).run(steps);
    ASSERT_EQ(together, by_lane) << "seed " << seed << "\ntogether: " << only_in(together, by_lane)
                                 << "\nby lane: " << only_in(by_lane, together);
    reported += together.size();
  }
  // Neither all of it races nor nothing does.
  EXPECT_GT(reported, kSeeds);
  EXPECT_LT(reported, 100 * kSeeds);
}

}  // namespace
}  // namespace bitgate::machine::hazard
