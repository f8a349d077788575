#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ci/suite/both_sides.h"
#include "reference/machine/vectors/recording.h"

namespace bitgate::suite {

struct RecordVectorsOptions {
  std::uint64_t seed = 1;
  /// Every form also runs on `rounds` further seeds, compared and not stored.
  std::uint32_t rounds = 8;
  /// A device of its own for each host thread.
  std::function<std::unique_ptr<kernels::Device>()> make_machine;
  const volatile bool* interrupted = nullptr;
};

/// What became of one form.
struct FormOutcome {
  std::string form;
  std::string refused;      ///< why the hardware side has no outputs; empty: recorded
  std::string unsupported;  ///< why the machine has none
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;
  /// The first differences: inputs, machine, hardware.
  std::vector<std::string> examples;
};

struct RecordVectorsResult {
  machine::vectors::Recording recording;
  std::vector<FormOutcome> forms;
};

/// Runs every form on `hardware` and on the machine: what the hardware gave, and where the two
/// differ. A module that does not compile is halved until the forms that are refused stand alone.
RecordVectorsResult record_vectors(EntryRunner& hardware, const RecordVectorsOptions& options);

/// A report for people: a line a form that differs or was refused, examples under it, counts last.
std::string describe(const RecordVectorsResult& result);

}  // namespace bitgate::suite
