#include "ci/suite/record_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "reference/machine/vectors/kernel.h"
#include "reference/machine/vectors/random_program.h"
#include "reference/support/error.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {

namespace vectors = machine::vectors;
using vectors::kProgramThreads;
using vectors::RandomProgram;

namespace {

constexpr std::size_t kProgramsOfAModule = 50;

/// The output registers of both sides.
struct Outputs {
  std::vector<std::uint64_t> hardware;
  std::vector<std::uint64_t> machine;
  std::string failure;  ///< why there are none
  bool differ() const { return failure.empty() && hardware != machine; }
};

struct Variant {
  const RandomProgram* program = nullptr;
  RandomProgram::Emission emission;
};

class Sides {
 public:
  Sides(EntryRunner& hardware, EntryRunner& machine) : hardware_(hardware), machine_(machine) {}

  /// A module takes ptxas a second or two; there are programs that it never ends with.
  static constexpr kernels::PtxasOptions kAsUsual{.optimisation = 3,
                                                  .time_limit = std::chrono::seconds(40)};
  static constexpr kernels::PtxasOptions kUnoptimised{.optimisation = 0,
                                                      .time_limit = std::chrono::seconds(40)};

  /// Compiles the variants as one module; one that does not compile is found by halving.
  void run(std::span<const Variant> variants, std::span<Outputs> outputs,
           const kernels::PtxasOptions& options = kAsUsual) {
    try {
      std::string text = vectors::module_header();
      for (std::size_t i = 0; i < variants.size(); ++i) {
        text += variants[i].program->entry(fmt::format("p{}", i), kProgramThreads,
                                           variants[i].emission);
      }
      const CompiledModule module = compile_module(std::move(text), options);
      for (std::size_t i = 0; i < variants.size(); ++i) {
        run(*variants[i].program, module, fmt::format("p{}", i), outputs[i]);
      }
    } catch (const InputError& error) {
      if (variants.size() == 1) {
        outputs[0].failure = error.what();
        return;
      }
      const std::size_t half = variants.size() / 2;
      run(variants.first(half), outputs.first(half), options);
      run(variants.subspan(half), outputs.subspan(half), options);
    }
  }

 private:
  void run(const RandomProgram& program, const CompiledModule& module, const std::string& entry,
           Outputs& outputs) {
    const auto in = program.inputs(kProgramThreads);
    for (const bool on_hardware : {true, false}) {
      EntryRunner& side = on_hardware ? hardware_ : machine_;
      auto result = side.run(module.code(), entry, kProgramThreads, kProgramThreads, in, in.size());
      if (result.words.empty()) {
        outputs.failure =
            fmt::format("{}: {}", on_hardware ? "hardware" : "machine", result.outcome.message);
        return;
      }
      (on_hardware ? outputs.hardware : outputs.machine) = std::move(result.words);
    }
  }

  EntryRunner& hardware_;
  EntryRunner& machine_;
};

std::string example(const RandomProgram& program, const std::string& text, const Outputs& outputs) {
  const auto in = program.inputs(kProgramThreads);
  std::size_t first = 0;
  while (outputs.hardware[first] == outputs.machine[first]) ++first;
  const std::size_t lane = first % kProgramThreads;
  std::string says = fmt::format("lane {}:", lane);
  for (std::size_t word = 0; word < RandomProgram::words(); ++word) {
    const std::string name = RandomProgram::register_name(word);
    if (text.find(name) == std::string::npos) continue;
    const std::size_t at = word * kProgramThreads + lane;
    says += fmt::format(" {}={:x}", name, in[at]);
    if (outputs.hardware[at] != outputs.machine[at]) {
      says +=
          fmt::format(" (machine {:x}, hardware {:x})", outputs.machine[at], outputs.hardware[at]);
    }
  }
  return says;
}

/// Leaves out ever smaller runs of statements while the outputs still differ.
RandomProgram::Emission smallest(const RandomProgram& program, Sides& sides) {
  RandomProgram::Emission kept = program.emission();
  std::size_t chunk = (program.statements() + 1) / 2;
  while (chunk > 0) {
    std::vector<std::size_t> present;
    for (std::size_t id = 0; id < program.statements(); ++id) {
      if (!kept.without.contains(id)) present.push_back(id);
    }
    std::vector<Variant> variants;
    for (std::size_t at = 0; at < present.size(); at += chunk) {
      Variant variant{.program = &program, .emission = kept};
      for (std::size_t i = at; i < std::min(at + chunk, present.size()); ++i) {
        variant.emission.without.insert(present[i]);
      }
      variants.push_back(std::move(variant));
    }
    std::vector<Outputs> outputs(variants.size());
    sides.run(variants, outputs);
    const auto found =
        std::ranges::find_if(outputs, [](const Outputs& each) { return each.differ(); });
    if (found != outputs.end()) {
      kept = variants[static_cast<std::size_t>(found - outputs.begin())].emission;
      chunk = std::min(chunk, std::max<std::size_t>(1, (present.size() - chunk + 1) / 2));
    } else {
      chunk /= 2;
    }
  }
  return kept;
}

struct Batch {
  std::uint64_t first_seed = 0;
  std::size_t count = 0;
  std::vector<vectors::ProgramRecording::Program> recorded;
  std::vector<ProgramDifference> differences;
  std::vector<std::string> not_run;
  std::uint64_t programs = 0;
  std::uint64_t instructions = 0;
  std::uint64_t words = 0;
};

/// What makes all of the difference, if it has a name: the text without it gives the same bits.
void name_the_rule(const RandomProgram& program, Sides& sides, ProgramDifference& difference) {
  const auto agrees = [&](bool canonical_nan, const kernels::PtxasOptions& options) {
    RandomProgram::Emission emission = program.emission();
    emission.canonical_nan = canonical_nan;
    const Variant variant{.program = &program, .emission = emission};
    Outputs outputs;
    sides.run(std::span(&variant, 1), std::span(&outputs, 1), options);
    return outputs.failure.empty() && !outputs.differ();
  };
  const bool canonical = program.emission().canonical_nan;
  if (!canonical && agrees(true, Sides::kAsUsual)) {
    difference.rule = "nan_payload";
  } else if (agrees(canonical, Sides::kUnoptimised) || agrees(true, Sides::kUnoptimised)) {
    difference.rule = "ptxas_optimisation";
  }
}

void run_batch(Batch& batch, Sides& sides, std::size_t keep) {
  std::vector<RandomProgram> programs;
  for (std::size_t i = 0; i < batch.count; ++i) programs.emplace_back(batch.first_seed + i);
  std::vector<Variant> variants;
  for (const RandomProgram& program : programs) {
    variants.push_back({.program = &program, .emission = program.emission()});
  }
  std::vector<Outputs> outputs(variants.size());
  sides.run(variants, outputs);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::uint64_t seed = batch.first_seed + i;
    if (!outputs[i].hardware.empty() && batch.recorded.size() < keep) {
      batch.recorded.push_back(
          {.seed = seed,
           .text_sha256 = sha256(programs[i].entry(std::string(vectors::kProgramEntry),
                                                   kProgramThreads, programs[i].emission())),
           .out_sha256 = sha256(std::as_bytes(std::span(outputs[i].hardware)))});
    }
    if (!outputs[i].failure.empty()) {
      batch.not_run.push_back(fmt::format("program {}: {}", seed, outputs[i].failure));
      continue;
    }
    ++batch.programs;
    batch.instructions += programs[i].instructions();
    batch.words += outputs[i].hardware.size();
    if (!outputs[i].differ()) continue;
    ProgramDifference difference{.seed = seed, .rule = {}, .text = {}, .example = {}};
    name_the_rule(programs[i], sides, difference);
    // What a rule covers cannot be replayed by its hash.
    if (!difference.rule.empty() && !batch.recorded.empty() && batch.recorded.back().seed == seed) {
      batch.recorded.pop_back();
    }
    batch.differences.push_back(std::move(difference));
  }
}

void shrink(ProgramDifference& difference, Sides& sides) {
  const RandomProgram program(difference.seed);
  const Variant small{.program = &program, .emission = smallest(program, sides)};
  Outputs outputs;
  sides.run(std::span(&small, 1), std::span(&outputs, 1));
  difference.text = program.text(small.emission);
  if (outputs.differ()) difference.example = example(program, difference.text, outputs);
}

}  // namespace

RecordProgramsResult record_programs(EntryRunner& hardware, const RecordProgramsOptions& options) {
  const auto stopped = [&] { return options.interrupted != nullptr && *options.interrupted; };
  std::vector<Batch> batches;
  for (std::uint64_t done = 0; done < options.count; done += kProgramsOfAModule) {
    Batch& batch = batches.emplace_back();
    batch.first_seed = options.first_seed + done;
    batch.count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kProgramsOfAModule, options.count - done));
  }
  for_each_in_parallel(batches.size(), [&](std::size_t i) {
    if (stopped()) return;
    EntryRunner machine(options.make_machine());
    Sides sides(hardware, machine);
    const std::size_t before = i * kProgramsOfAModule;
    run_batch(batches[i], sides, options.keep > before ? options.keep - before : 0);
  });
  RecordProgramsResult result;
  result.recording.device = hardware.properties().description;
  result.recording.threads = kProgramThreads;
  for (Batch& batch : batches) {
    result.programs += batch.programs;
    result.instructions += batch.instructions;
    result.words += batch.words;
    std::ranges::move(batch.recorded, std::back_inserter(result.recording.programs));
    std::ranges::move(batch.not_run, std::back_inserter(result.not_run));
    std::ranges::move(batch.differences, std::back_inserter(result.differences));
  }
  // Those that no rule covers come first.
  std::ranges::stable_sort(result.differences, {},
                           [](const ProgramDifference& each) { return !each.rule.empty(); });
  for_each_in_parallel(std::min(options.shrink, result.differences.size()), [&](std::size_t i) {
    if (stopped()) return;
    EntryRunner machine(options.make_machine());
    Sides sides(hardware, machine);
    shrink(result.differences[i], sides);
  });
  return result;
}

std::string describe(const RecordProgramsResult& result) {
  std::string text;
  std::uint64_t ruled = 0;
  for (const ProgramDifference& each : result.differences) {
    if (!each.rule.empty()) ++ruled;
    text += fmt::format("differs {}{}\n{}{}\n", each.seed,
                        each.rule.empty() ? "" : " (" + each.rule + ")", each.text,
                        each.example.empty() ? "" : "  " + each.example);
  }
  std::size_t shown = 0;
  for (const std::string& each : result.not_run) {
    if (++shown <= 40) text += "not run: " + each + '\n';
  }
  return text +
         fmt::format(
             "{} programs of {} instructions over {} mnemonics; {} registers compared; {} programs "
             "differ, {} more by named rules; {} did not run\n",
             result.programs, result.instructions, RandomProgram::mnemonics().size(), result.words,
             result.differences.size() - ruled, ruled, result.not_run.size());
}

}  // namespace bitgate::suite
