#pragma once

#include <filesystem>

namespace bitgate::suite {

/// The source tree that this program serves: the nearest folder at or above the working directory,
/// or above the program, that holds fuzz/corpus; else the working directory.
std::filesystem::path source_root();

/// Where verdicts and quantised checkpoints are kept between runs: .cache of the source tree.
std::filesystem::path cache_folder();

std::filesystem::path corpus_folder();

/// The GGUF that ci/setup unpacks: BITGATE_MODEL, or its place in the cache. May be missing.
std::filesystem::path model_file();

}  // namespace bitgate::suite
