#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bitgate::formats {

struct DequantizeResult {
  struct LeftOut {
    std::string tensor;
    std::string type;  ///< of a GGUF block type that is not decoded: "IQ4_XS", "type 77"
  };
  std::vector<std::string> written;  ///< names of the f32 tensors, sorted
  std::vector<LeftOut> left_out;     ///< in the GGUF's order
};

/// Writes f32 weights to `out`. `in` is a checkpoint folder: NAME.weight [N, K] for each quantised
/// layer; or a GGUF: each tensor under its own name, dimensions reversed ([rows, columns]), those
/// of types that are not decoded left out. InputError or Unsupported as the readers say.
DequantizeResult dequantize_file(const std::filesystem::path& in, const std::filesystem::path& out);

}  // namespace bitgate::formats
