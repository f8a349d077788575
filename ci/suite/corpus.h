#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bitgate::suite {

/// The corpus of kernels in reference/machine/corpus: ordinary programs in the PTX of several
/// compilers, each with a launch file, and the hashes of their outputs on an H200.
///
/// FOLDER/NAME.json is a launch file whose module is NAME.ptx; NAME.VARIANT.ptx are other texts of
/// the same source for the same launch file.
struct CorpusKernel {
  std::string name;      ///< "nvcc/division.debug"
  std::string compiler;  ///< the folder: nvcc, nvrtc, clang, triton, numba, or ptx (by hand)
  std::filesystem::path launch;
  std::filesystem::path module;
};

/// In order of names. InputError when a launch file has no module beside it.
std::vector<CorpusKernel> corpus_kernels(const std::filesystem::path& folder);

/// NAME OUTPUT to SHA-256, as reference/machine/corpus/record writes them; lines that start with
/// '#' are notes. InputError for a malformed line.
using CorpusHashes = std::map<std::pair<std::string, std::string>, std::string>;
CorpusHashes read_corpus_hashes(const std::filesystem::path& file);

}  // namespace bitgate::suite
