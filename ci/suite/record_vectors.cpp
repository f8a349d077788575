#include "ci/suite/record_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/machine/vectors/form.h"
#include "reference/machine/vectors/inputs.h"
#include "reference/machine/vectors/kernel.h"
#include "reference/support/error.h"

namespace bitgate::suite {

namespace vectors = machine::vectors;

namespace {

constexpr std::size_t kFormsOfAModule = 48;
constexpr std::size_t kExamples = 6;

struct Batch {
  std::vector<const vectors::Form*> forms;
  std::vector<FormOutcome> outcomes;
  std::vector<vectors::Recorded> recorded;
};

/// Inputs are the same for neighbours with the same sources.
class InputCache {
 public:
  const std::vector<std::uint64_t>& of(const vectors::Form& form, std::uint64_t seed) {
    std::string key = fmt::format("{} {} {}", vectors::signature(form), form.threads, seed);
    for (auto& [known, words] : entries_) {
      if (known == key) return words;
    }
    if (entries_.size() == 32) entries_.erase(entries_.begin());
    entries_.emplace_back(std::move(key), vectors::inputs(form, seed, form.threads));
    return entries_.back().second;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> entries_;
};

std::string example(const vectors::Form& form, const std::vector<std::uint64_t>& in,
                    std::size_t word, std::uint64_t machine, std::uint64_t hardware) {
  std::string text;
  const std::size_t thread = word % form.threads;
  if (form.a_registers == 0) {
    for (std::size_t k = 0; k < form.sources.size(); ++k) {
      text += fmt::format("{:x} ", in[k * form.threads + thread]);
    }
  }
  return text + fmt::format("(thread {}, result {}): machine {:x}, hardware {:x}", thread,
                            word / form.threads, machine, hardware);
}

class BatchRecorder {
 public:
  BatchRecorder(EntryRunner& hardware, EntryRunner& machine, const RecordVectorsOptions& options,
                Batch& batch)
      : hardware_(hardware), machine_(machine), options_(options), batch_(batch) {}

  void record(std::span<const vectors::Form* const> forms) {
    std::vector<std::uint32_t> threads;
    for (const vectors::Form* form : forms) threads.push_back(form->threads);
    try {
      const CompiledModule module = compile_module(vectors::module_text(forms, threads));
      for (std::size_t i = 0; i < forms.size(); ++i) {
        if (options_.interrupted != nullptr && *options_.interrupted) return;
        record(*forms[i], module, fmt::format("f{}", i));
      }
    } catch (const InputError& error) {
      if (forms.size() == 1) {
        batch_.outcomes.push_back(
            {.form = forms[0]->name, .refused = error.what(), .unsupported = {}, .examples = {}});
        return;
      }
      record(forms.first(forms.size() / 2));
      record(forms.subspan(forms.size() / 2));
    }
  }

 private:
  void record(const vectors::Form& form, const CompiledModule& module, const std::string& entry) {
    FormOutcome outcome{.form = form.name, .refused = {}, .unsupported = {}, .examples = {}};
    for (std::uint32_t round = 0; round <= options_.rounds; ++round) {
      // The long forms have their vectors in the first round.
      if (round > 1 && form.a_registers != 0) break;
      const std::uint64_t seed = options_.seed + round;
      const auto& in = inputs_.of(form, seed);
      const auto on_hardware = run(hardware_, form, module, entry, in);
      if (on_hardware.words.empty()) {
        outcome.refused = on_hardware.outcome.message;
        break;
      }
      if (round == 0)
        batch_.recorded.push_back(vectors::record(form, on_hardware.words, form.threads));
      if (!outcome.unsupported.empty()) break;
      const auto on_machine = run(machine_, form, module, entry, in);
      if (on_machine.words.empty()) {
        outcome.unsupported = on_machine.outcome.message;
        continue;
      }
      compare(form, in, on_machine.words, on_hardware.words, outcome);
    }
    batch_.outcomes.push_back(std::move(outcome));
  }

  static EntryRunner::Result run(EntryRunner& runner, const vectors::Form& form,
                                 const CompiledModule& module, const std::string& entry,
                                 const std::vector<std::uint64_t>& in) {
    return runner.run(module.code(), entry, form.threads, vectors::kBlock, in,
                      form.results.size() * form.threads);
  }

  static void compare(const vectors::Form& form, const std::vector<std::uint64_t>& in,
                      const std::vector<std::uint64_t>& machine,
                      const std::vector<std::uint64_t>& hardware, FormOutcome& outcome) {
    outcome.compared += machine.size();
    for (std::size_t i = 0; i < machine.size(); ++i) {
      if (machine[i] == hardware[i]) continue;
      ++outcome.differing;
      if (outcome.examples.size() < kExamples) {
        outcome.examples.push_back(example(form, in, i, machine[i], hardware[i]));
      }
    }
  }

  EntryRunner& hardware_;
  EntryRunner& machine_;
  const RecordVectorsOptions& options_;
  Batch& batch_;
  InputCache inputs_;
};

}  // namespace

RecordVectorsResult record_vectors(EntryRunner& hardware, const RecordVectorsOptions& options) {
  std::vector<Batch> batches;
  for (const vectors::Form& form : vectors::forms()) {
    // mma forms are long: few a module, so that the threads share them.
    const std::size_t most = form.a_registers != 0 ? 4 : kFormsOfAModule;
    if (batches.empty() || batches.back().forms.size() >= most) batches.emplace_back();
    batches.back().forms.push_back(&form);
  }
  for_each_in_parallel(batches.size(), [&](std::size_t i) {
    EntryRunner machine(options.make_machine());
    BatchRecorder(hardware, machine, options, batches[i]).record(batches[i].forms);
  });
  RecordVectorsResult result;
  result.recording.device = hardware.properties().description;
  result.recording.seed = options.seed;
  for (Batch& batch : batches) {
    std::ranges::move(batch.outcomes, std::back_inserter(result.forms));
    std::ranges::move(batch.recorded, std::back_inserter(result.recording.forms));
  }
  return result;
}

std::string describe(const RecordVectorsResult& result) {
  std::string text;
  std::size_t refused = 0;
  std::size_t unsupported = 0;
  std::size_t differing = 0;
  std::uint64_t compared = 0;
  for (const FormOutcome& form : result.forms) {
    compared += form.compared;
    if (!form.refused.empty()) {
      ++refused;
      text += fmt::format("refused {}: {}\n", form.form, form.refused);
    } else if (!form.unsupported.empty()) {
      ++unsupported;
      text += fmt::format("unsupported {}: {}\n", form.form, form.unsupported);
    }
    if (form.differing == 0) continue;
    ++differing;
    text += fmt::format("differs {}: {} of {}\n", form.form, form.differing, form.compared);
    for (const std::string& example : form.examples) text += fmt::format("    {}\n", example);
  }
  return text + fmt::format(
                    "{} forms, {} refused by the hardware side, {} unsupported by the machine, {} "
                    "differ; {} outputs compared\n",
                    result.forms.size(), refused, unsupported, differing, compared);
}

}  // namespace bitgate::suite
