#include "reference/formats/llama_names.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace bitgate::formats {
namespace {

struct LayerRow {
  std::string_view gguf;
  std::string_view name;
  bool projection;
  PermutedHeads permuted;
};

constexpr std::array<LayerRow, 9> kLayerTensors = {{
    {"attn_q", "self_attn.q_proj", true, PermutedHeads::query},
    {"attn_k", "self_attn.k_proj", true, PermutedHeads::key},
    {"attn_v", "self_attn.v_proj", true, PermutedHeads::none},
    {"attn_output", "self_attn.o_proj", true, PermutedHeads::none},
    {"ffn_gate", "mlp.gate_proj", true, PermutedHeads::none},
    {"ffn_up", "mlp.up_proj", true, PermutedHeads::none},
    {"ffn_down", "mlp.down_proj", true, PermutedHeads::none},
    {"attn_norm", "input_layernorm", false, PermutedHeads::none},
    {"ffn_norm", "post_attention_layernorm", false, PermutedHeads::none},
}};

}  // namespace

std::optional<PublicName> public_name(std::string_view gguf_name) {
  constexpr std::string_view kSuffix = ".weight";
  constexpr std::string_view kBlock = "blk.";
  if (!gguf_name.ends_with(kSuffix)) return std::nullopt;
  std::string_view stem = gguf_name.substr(0, gguf_name.size() - kSuffix.size());
  if (stem == "token_embd") return PublicName{.name = "model.embed_tokens", .layer = {}};
  if (stem == "output_norm") return PublicName{.name = "model.norm", .layer = {}};
  if (stem == "output") return PublicName{.name = "lm_head", .layer = {}};
  if (!stem.starts_with(kBlock)) return std::nullopt;
  stem.remove_prefix(kBlock.size());
  const std::size_t dot = stem.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = stem.substr(0, dot);
  std::uint32_t layer = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), layer);
  if (error != std::errc() || end != digits.end() || std::to_string(layer) != digits) {
    return std::nullopt;
  }
  const auto row = std::find_if(kLayerTensors.begin(), kLayerTensors.end(),
                                [&](const LayerRow& r) { return r.gguf == stem.substr(dot + 1); });
  if (row == kLayerTensors.end()) return std::nullopt;
  return PublicName{.name = "model.layers." + std::to_string(layer) + "." + std::string(row->name),
                    .layer = layer,
                    .projection = row->projection,
                    .permuted = row->permuted};
}

std::int64_t model_row(std::int64_t row, std::int64_t head_dim) {
  const std::int64_t within = row % head_dim;
  return row - within + head_dim / 2 * (within % 2) + within / 2;
}

}  // namespace bitgate::formats
