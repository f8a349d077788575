#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bitgate::formats {

/// Whose heads the rows of a GGUF tensor are permuted by, for adjacent rotary pairs.
enum class PermutedHeads { none, query, key };

/// A GGUF tensor of a llama model under the name that public checkpoints use.
struct PublicName {
  std::string name;  ///< without ".weight"
  std::optional<std::int64_t> layer;
  bool projection = false;  ///< one of the seven matrices of a layer that are quantised
  PermutedHeads permuted = PermutedHeads::none;
};

/// None for a tensor that has no public counterpart (rope_freqs, biases, anything unknown).
std::optional<PublicName> public_name(std::string_view gguf_name);

/// Model row of GGUF row `row` of a q or k projection with heads of `head_dim` rows: the converter
/// made rotary pairs adjacent, so row 2i+j of a head is the model's row head_dim/2·j + i.
std::int64_t model_row(std::int64_t row, std::int64_t head_dim);

}  // namespace bitgate::formats
