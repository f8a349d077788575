#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/problem/spec.h"

namespace bitgate::fuzz {

/// A case that once failed, kept so that the gate runs it first: one line
/// `SPEC --kernel NAME # found …`. Blank lines and lines that begin with '#' say nothing.
struct CorpusCase {
  conformance::Spec spec;
  std::string kernel;
  std::string found;  ///< what follows the '#', without it
};

/// Every case of the *.txt files of a folder, files by name, lines in order; none when the folder
/// is missing. InputError naming file:line for a malformed line, an oversized file or line.
std::vector<CorpusCase> read_corpus(const std::filesystem::path& folder);

/// The line as it stands in a file.
std::string corpus_line(const CorpusCase& found);

/// Adds a case to a file, made if missing; lines stay sorted, a case that is already there (spec
/// and kernel) is not added again. Written beside the file and renamed into place. Returns whether
/// it was new.
bool add_to_corpus(const std::filesystem::path& file, const CorpusCase& found);

}  // namespace bitgate::fuzz
