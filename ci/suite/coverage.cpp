#include "ci/suite/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "ci/suite/case_plan.h"
#include "ci/suite/devices.h"
#include "ci/suite/replacement_code.h"
#include "conformance/run_case.h"
#include "fuzz/case_pool.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"

namespace bitgate::suite {

namespace {

using conformance::CaseResult;
using conformance::Verdict;
namespace ptx = machine::ptx;

/// What a PTX text says of its own lines.
class Listing {
 public:
  Listing(std::string_view text, const std::string& name) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    const ptx::Module module = ptx::parse(text, name);
    for (const ptx::File& file : module.files) files_[file.number] = file.name;
    for (const ptx::Function& function : module.functions) {
      for (const ptx::Statement& statement : function.body) {
        const auto* instruction = std::get_if<ptx::Instruction>(&statement.item);
        if (instruction != nullptr) places_[instruction->ptx_line] = instruction->innermost;
      }
    }
  }

  /// The end of the code counts at the line of its entry, which is no instruction.
  bool has(std::uint32_t ptx_line) const { return places_.contains(ptx_line); }

  CoveredInstruction at(std::uint32_t ptx_line, const machine::Coverage::Count& count) const {
    CoveredInstruction result;
    result.ptx_line = ptx_line;
    result.count = count;
    if (ptx_line >= 1 && ptx_line <= lines_.size()) {
      std::string_view text = lines_[ptx_line - 1];
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      for (const char c : text) result.text += c == '\t' ? ' ' : c;
    }
    if (const auto place = places_.find(ptx_line); place != places_.end()) {
      result.line = place->second.line;
      const auto file = files_.find(place->second.file);
      if (file != files_.end() && result.line != 0) result.file = file->second;
    }
    return result;
  }

 private:
  std::vector<std::string_view> lines_;
  std::map<std::uint32_t, std::string> files_;
  std::map<std::uint32_t, ptx::SourceLine> places_;
};

std::vector<PlannedCase> cases_of(const CoverageOptions& options, const KernelList& kernels,
                                  int multiprocessors) {
  if (!options.spec) {
    CasePlan plan = plan_cases(kernels, options.checkpoints, options.seed, multiprocessors);
    plan.fixed.insert(plan.fixed.end(), std::make_move_iterator(plan.generated.begin()),
                      std::make_move_iterator(plan.generated.end()));
    return std::move(plan.fixed);
  }
  std::vector<PlannedCase> cases;
  for (const kernels::Kernel* kernel : kernels) {
    const auto shape = conformance::shape_of(*options.spec);
    if (!kernels::w4a16::outside_domain(*kernel, shape)) {
      cases.push_back({"spec", *options.spec, kernel});
    }
  }
  if (cases.empty()) {
    throw Unsupported("the spec lies outside the domain of every kernel asked for");
  }
  return cases;
}

struct Ran {
  CaseResult result;
  machine::Coverage coverage;
};

/// A name as a reader of the source tree knows it.
std::string file_name(std::string name) {
  if (name.starts_with("./")) name.erase(0, 2);
  return name;
}

bool is_library(std::string_view file) { return file.starts_with('/'); }

}  // namespace

std::uint64_t KernelCoverage::executed() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      instructions, [](const CoveredInstruction& i) { return i.count.executions != 0; }));
}

CoveredLines KernelCoverage::lines() const {
  CoveredLines result;
  for (const CoveredInstruction& instruction : instructions) {
    if (instruction.file.empty() || is_library(instruction.file)) continue;
    CoveredLine& line = result[file_name(instruction.file)][instruction.line];
    ++line.instructions;
    line.executed += instruction.count.executions != 0 ? 1U : 0U;
    line.count.add(instruction.count);
  }
  return result;
}

CoverageOutcome measure_coverage(const CoverageOptions& options) {
  const CodeSource code = options.ptx.empty() ? CodeSource() : CodeSource(options.ptx);
  const KernelList kernels = code.among(kernels::match_kernels(options.kernel_glob));
  const DeviceKind device = devices_for(DeviceChoice::machine, options.tensor_model).front();
  const std::vector<PlannedCase> cases = cases_of(options, kernels, device.multiprocessors);
  if (options.starts) options.starts(cases.size());

  CoverageOutcome outcome;
  std::map<const kernels::Kernel*, std::uint64_t> count;
  machine::Coverage all;
  const std::function<std::function<Ran(std::size_t)>()> make_worker = [&] {
    return [&, own = std::shared_ptr<kernels::Device>(device.make())](std::size_t i) {
      Ran ran;
      conformance::CaseOptions case_options;
      case_options.launch.time_limit = options.time_limit;
      case_options.launch.interrupted = options.interrupted;
      case_options.launch.coverage = &ran.coverage;
      case_options.code = code.code();
      case_options.diagnose = false;
      ran.result = conformance::run_case(cases[i].spec, *cases[i].kernel, *own, case_options);
      return ran;
    };
  };
  const std::function<void(std::size_t, Ran)> done = [&](std::size_t i, const Ran& ran) {
    all.add(ran.coverage);
    ++count[cases[i].kernel];
    const bool passed = ran.result.verdict == Verdict::pass;
    if (!passed) {
      outcome.failed[ran.result.replay + code.replay_flag()] =
          std::string(conformance::name(ran.result.verdict));
    }
    if (options.ran) options.ran(passed);
  };
  const auto stop = [&] { return options.interrupted != nullptr && *options.interrupted; };
  outcome.cases = fuzz::run_in_order<Ran>(cases.size(), device.threads, make_worker, stop, done);
  outcome.complete = outcome.cases == cases.size() && !stop();

  std::map<const kernels::Code*, Listing> listings;
  for (const kernels::Kernel* kernel : kernels) {
    const kernels::Code& own = code.replaces() ? *code.code() : *kernel->code;
    const Listing& listing = listings.try_emplace(&own, own.ptx, own.name).first->second;
    KernelCoverage covered{.kernel = kernel->name, .cases = count[kernel], .instructions = {}};
    for (const auto& [line, executed] : all.entries[kernel->entry]) {
      if (listing.has(line)) covered.instructions.push_back(listing.at(line, executed));
    }
    outcome.kernels.push_back(std::move(covered));
  }
  return outcome;
}

int exit_code(const CoverageOutcome& outcome) {
  const auto failed = std::ranges::any_of(outcome.failed, [](const auto& one) {
    return one.second == conformance::name(Verdict::fail) ||
           one.second == conformance::name(Verdict::unsupported);
  });
  if (failed) return 1;
  return !outcome.complete || outcome.cases == 0 || !outcome.failed.empty() ? 3 : 0;
}

}  // namespace bitgate::suite
