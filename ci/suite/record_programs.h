#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ci/suite/both_sides.h"
#include "reference/machine/vectors/program_recording.h"

namespace bitgate::suite {

struct RecordProgramsOptions {
  std::uint64_t count = 20000;
  std::uint64_t first_seed = 1;
  std::size_t keep = 512;   ///< programs whose hashes are recorded
  std::size_t shrink = 24;  ///< differing programs that are made small
  /// A device of its own for each host thread.
  std::function<std::unique_ptr<kernels::Device>()> make_machine;
  const volatile bool* interrupted = nullptr;
};

/// A program whose outputs differ.
struct ProgramDifference {
  std::uint64_t seed = 0;
  /// The named rule that covers it; empty: none does.
  ///  - "nan_payload": with NaN made canonical (RandomProgram::Emission), the same bits;
  ///  - "ptxas_optimisation": the GPU itself gives the machine's bits for the same text when ptxas
  ///    translates it with -O0.
  std::string rule;
  std::string text;     ///< its statements, those left out without which it still differs
  std::string example;  ///< of the first differing lane: registers at first, both results
};

struct RecordProgramsResult {
  machine::vectors::ProgramRecording recording;
  std::uint64_t programs = 0;  ///< that ran on both sides
  std::uint64_t instructions = 0;
  std::uint64_t words = 0;           ///< output registers compared
  std::vector<std::string> not_run;  ///< refused by ptxas, or unsupported by the machine
  std::vector<ProgramDifference> differences;
};

/// Runs generated programs on `hardware` and on the machine and compares every register of every
/// lane; makes the first differing programs small.
RecordProgramsResult record_programs(EntryRunner& hardware, const RecordProgramsOptions& options);

/// A report for people: the differing programs, then counts.
std::string describe(const RecordProgramsResult& result);

}  // namespace bitgate::suite
