#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "reference/formats/quantized_matrix.h"

namespace bitgate::formats {

/// Which file a config came from: it says what an absent `quant_method` means.
enum class ConfigFile {
  config_json,    ///< the `quantization_config` in config.json; the method must be stated
  quantize_json,  ///< AutoGPTQ's quantize_config.json: gptq where not stated
  quant_json      ///< AutoAWQ's quant_config.json: awq where not stated
};

/// The convention that a public config states; tensors are never consulted (`scale_type`, of which
/// configs say nothing, is left at its default).
///   gptq: `bits`, `group_size`, `desc_act`, `sym`; `checkpoint_format` (or `format`) gptq or
///         gptq_v2, absent: v1, as AutoGPTQ never wrote the key.
///   awq:  `bits` or `w_bit`, `group_size` or `q_group_size`, `version` gemm, `zero_point`: true is
///         asymmetric, whatever `sym` says (transformers' AwqConfig writes `sym: true` for every
///         checkpoint).
/// Unsupported, by name: other widths, GEMV and GEMVFast, Marlin, compressed-tensors, HQQ, any
/// other method, per-module overrides. InputError for a missing key, a wrong type, a contradiction.
QuantConfig parse_quant_config(const nlohmann::json& config, ConfigFile file,
                               std::string_view where);

/// The config of a checkpoint folder. Where several files state one, all are read and must agree.
QuantConfig read_quant_config(const std::filesystem::path& folder);

/// The `quantization_config` that the public packages write for that convention.
nlohmann::json public_quant_config(const QuantConfig& config);

}  // namespace bitgate::formats
