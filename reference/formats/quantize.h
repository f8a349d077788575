#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reference/formats/quantized_matrix.h"

namespace bitgate::formats {

/// Both ends included.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct QuantizeOptions {
  ZeroPoints scheme = ZeroPoints::gptq_v1;  ///< gptq_v1, gptq_v2 or awq
  std::int64_t group_size = 64;             ///< 32, 64, 128, or -1 for the whole of K
  bool symmetric = false;
  bool act_order = false;
  /// None: a complete model, embedding and norms too, as f16. Otherwise the projections of these
  /// layers and nothing else.
  std::optional<LayerRange> layers;
  bool skip_indivisible = false;
};

struct QuantizeResult {
  struct Layer {
    std::string name;  ///< "model.layers.0.self_attn.q_proj"
    std::int64_t k = 0;
    std::int64_t n = 0;
    std::int64_t group = 0;
  };
  struct LeftOut {
    std::string tensor;  ///< its name in the GGUF
    std::string reason;
  };
  std::vector<Layer> quantized;      ///< sorted by name
  std::vector<std::string> copied;   ///< written as f16, sorted
  std::vector<LeftOut> indivisible;  ///< by skip_indivisible
  std::vector<LeftOut> not_public;   ///< tensors that have no name in a public checkpoint
};

/// The config under which such a checkpoint is written. InputError for what a scheme cannot hold
/// (awq with act-order, `sym` as a scheme, another group size). Symmetric AWQ is AWQ with zeros
/// of 8, as its readers always read the zeros.
QuantConfig quantize_config(const QuantizeOptions& options);

/// Quantises the seven projections of each layer of a llama-architecture GGUF by round_to_nearest
/// and writes a public checkpoint: `out` and config.json beside it. Rows of q and k are put back in
/// the model's order. Everything is checked before anything is written: InputError naming every
/// tensor that the group does not divide (unless skip_indivisible) or the rule that is broken;
/// Unsupported for another architecture or a tensor type that cannot be decoded.
QuantizeResult quantize(const std::filesystem::path& gguf, const std::filesystem::path& out,
                        const QuantizeOptions& options);

}  // namespace bitgate::formats
