#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/formats/safetensors.h"

namespace bitgate::formats {

struct LayerInfo {
  std::string name;  ///< without ".qweight": "model.layers.0.self_attn.q_proj"
  std::int64_t k = 0;
  std::int64_t n = 0;
};

/// A checkpoint folder: a config that states the convention and one or more *.safetensors (those of
/// model.safetensors.index.json where there is one).
class Checkpoint {
 public:
  /// InputError for whatever is missing or contradicts itself, Unsupported for a convention that is
  /// not read; both name the file.
  static Checkpoint open(const std::filesystem::path& folder);

  const QuantConfig& config() const { return config_; }
  /// Every quantised layer, sorted by name. Shapes are those of qweight under the stated layout.
  const std::vector<LayerInfo>& layers() const { return layers_; }
  /// The layer's public tensors. `qzeros` is read only if not symmetric, `g_idx` only with
  /// act-order.
  PackedLayer load(std::string_view layer) const;

 private:
  Checkpoint() = default;
  void add_file(const std::filesystem::path& path);
  const Safetensors& file_of(const std::string& tensor) const;

  std::string where_;
  QuantConfig config_;
  std::vector<Safetensors> files_;
  std::map<std::string, std::size_t, std::less<>> tensors_;  ///< to its file
  std::vector<LayerInfo> layers_;
};

/// Writes the layers' tensors and `others` to `out` and `config` as config.json beside it. Both are
/// complete before either appears. InputError, with nothing written, when there is a different
/// config.json already or a path cannot be written.
void write_checkpoint(const std::filesystem::path& out,
                      const std::map<std::string, PackedLayer>& layers,
                      const std::map<std::string, Tensor>& others, const nlohmann::json& config);

/// The refusal above alone, for a caller that wants it before it starts to compute.
void require_checkpoint_writable(const std::filesystem::path& out, const nlohmann::json& config);

}  // namespace bitgate::formats
