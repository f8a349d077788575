#include "reference/formats/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "reference/formats/checkpoint.h"
#include "reference/formats/gguf.h"
#include "reference/formats/llama_names.h"
#include "reference/formats/printable.h"
#include "reference/formats/quant_config.h"
#include "reference/formats/round_to_nearest.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

struct Source {
  const GgufTensor* tensor = nullptr;
  PublicName name;
};

struct Plan {
  std::vector<Source> quantize;
  std::vector<Source> copy;
  QuantizeResult result;
};

struct Heads {
  std::uint64_t query = 0;
  std::uint64_t key = 0;
};

Heads read_heads(const Gguf& model) {
  constexpr std::uint64_t kMost = 1U << 20U;
  const auto query = model.unsigned_value("llama.attention.head_count").value_or(0);
  const auto key = model.unsigned_value("llama.attention.head_count_kv").value_or(query);
  if (query == 0 || query > kMost || key == 0 || key > kMost) {
    throw InputError(
        fmt::format("{}: expected head counts of 1 to 2^20 in llama.attention.head_count "
                    "and head_count_kv, found {} and {}",
                    model.where(), query, key));
  }
  return {query, key};
}

void require_layers(const Gguf& model, const LayerRange& range) {
  const auto count = model.unsigned_value("llama.block_count");
  if (!count) throw InputError(model.where() + ": expected metadata llama.block_count");
  if (range.first < 0 || range.last < range.first ||
      static_cast<std::uint64_t>(range.last) >= *count) {
    throw InputError(fmt::format("layers {}..{}: {} has layers 0..{}, both ends included",
                                 range.first, range.last, model.where(),
                                 static_cast<std::int64_t>(*count) - 1));
  }
}

/// Why a projection cannot be stored, or nothing.
std::string indivisible(const GgufTensor& tensor, std::int64_t group_size) {
  const std::int64_t k = tensor.columns();
  const std::int64_t n = tensor.rows();
  if (group_size > 0 && k % group_size != 0) {
    return fmt::format("k = {} is no multiple of the group size {}", k, group_size);
  }
  if (k % 8 != 0) return fmt::format("k = {} is no multiple of 8", k);
  if (n % 8 != 0) return fmt::format("n = {} is no multiple of 8", n);
  return {};
}

Plan make_plan(const Gguf& model, const QuantizeOptions& options) {
  Plan plan;
  std::string refused;
  std::string undecodable;
  for (const GgufTensor& tensor : model.tensors()) {
    const std::optional<PublicName> name = public_name(tensor.name);
    if (!name) {
      if (!options.layers) {
        plan.result.not_public.push_back(
            {tensor.name, "it has no name in a public llama checkpoint"});
      }
      continue;
    }
    if (options.layers && (!name->projection || *name->layer < options.layers->first ||
                           *name->layer > options.layers->last)) {
      continue;
    }
    const BlockType* const type = find_block_type(tensor.type);
    if (type == nullptr || type->decode == nullptr) {
      undecodable +=
          fmt::format("\n  {}: {}", printable(tensor.name), block_type_name(tensor.type));
      continue;
    }
    if (!name->projection) {
      plan.copy.push_back({&tensor, *name});
      continue;
    }
    if (tensor.dims.size() != 2 || tensor.bytes == 0) {
      throw InputError(fmt::format("{}: tensor {}: expected a matrix that is not empty",
                                   model.where(), printable(tensor.name)));
    }
    const std::string reason = indivisible(tensor, options.group_size);
    if (reason.empty()) {
      plan.quantize.push_back({&tensor, *name});
    } else if (options.skip_indivisible) {
      plan.result.indivisible.push_back({tensor.name, reason});
    } else {
      refused += fmt::format("\n  {}: {}", printable(tensor.name), reason);
    }
  }
  if (!undecodable.empty()) {
    throw Unsupported(model.where() + ": tensors of types that are not decoded:" + undecodable);
  }
  if (!refused.empty()) {
    throw InputError(model.where() +
                     ": tensors that cannot be stored (leave them out with "
                     "--skip-indivisible, or choose another group):" +
                     refused);
  }
  if (plan.quantize.empty()) {
    throw InputError(model.where() + ": no tensor is left to quantise");
  }
  return plan;
}

/// W [n][k] with the rows of q and k in the model's order.
std::vector<float> model_weights(const Gguf& model, const Source& source, const Heads& heads) {
  std::vector<float> weights = model.dequantize(*source.tensor);
  if (source.name.permuted == PermutedHeads::none) return weights;
  const auto count = source.name.permuted == PermutedHeads::query ? heads.query : heads.key;
  const std::int64_t n = source.tensor->rows();
  const auto k = static_cast<std::size_t>(source.tensor->columns());
  if (static_cast<std::uint64_t>(n) % (2 * count) != 0) {
    throw InputError(
        fmt::format("{}: tensor {}: its {} rows are no {} heads of an even number of "
                    "rows",
                    model.where(), printable(source.tensor->name), n, count));
  }
  const std::int64_t head_dim = n / static_cast<std::int64_t>(count);
  std::vector<float> ordered(weights.size());
  for (std::int64_t row = 0; row < n; ++row) {
    const auto to = static_cast<std::size_t>(model_row(row, head_dim));
    std::memcpy(ordered.data() + to * k, weights.data() + static_cast<std::size_t>(row) * k,
                k * sizeof(float));
  }
  return ordered;
}

Tensor as_f16(const Gguf& model, const GgufTensor& tensor) {
  std::vector<std::uint16_t> bits;
  for (const float value : model.dequantize(tensor)) {
    const numeric::Half half = numeric::to_half(value);
    if (std::isfinite(value) && !std::isfinite(numeric::to_float(half))) {
      throw InputError(fmt::format("{}: tensor {} holds {}, which f16 cannot", model.where(),
                                   printable(tensor.name), value));
    }
    bits.push_back(half.bits);
  }
  return Tensor::of<std::uint16_t>(DType::f16, {tensor.dims.rbegin(), tensor.dims.rend()}, bits);
}

/// What public loaders need of a llama model, as far as the GGUF states it.
json model_config(const Gguf& model, const QuantConfig& config) {
  json result = {{"architectures", {"LlamaForCausalLM"}},
                 {"model_type", "llama"},
                 {"torch_dtype", "float16"},
                 {"tie_word_embeddings", model.find("output.weight") == nullptr},
                 {"quantization_config", public_quant_config(config)}};
  constexpr std::array<std::pair<const char*, const char*>, 7> kIntegers = {
      {{"llama.embedding_length", "hidden_size"},
       {"llama.feed_forward_length", "intermediate_size"},
       {"llama.block_count", "num_hidden_layers"},
       {"llama.attention.head_count", "num_attention_heads"},
       {"llama.attention.head_count_kv", "num_key_value_heads"},
       {"llama.context_length", "max_position_embeddings"},
       {"llama.vocab_size", "vocab_size"}}};
  for (const auto& [key, name] : kIntegers) {
    if (const auto value = model.unsigned_value(key)) result[name] = *value;
  }
  constexpr std::array<std::pair<const char*, const char*>, 2> kReals = {
      {{"llama.attention.layer_norm_rms_epsilon", "rms_norm_eps"},
       {"llama.rope.freq_base", "rope_theta"}}};
  for (const auto& [key, name] : kReals) {
    const auto found = model.metadata().find(key);
    if (found == model.metadata().end()) continue;
    if (const auto* const value = std::get_if<float>(&found->second)) result[name] = *value;
  }
  return result;
}

}  // namespace

QuantConfig quantize_config(const QuantizeOptions& options) {
  const std::array<std::int64_t, 4> groups = {32, 64, 128, -1};
  if (std::find(groups.begin(), groups.end(), options.group_size) == groups.end()) {
    throw InputError(fmt::format("group size {}: expected 32, 64, 128 or -1", options.group_size));
  }
  if (options.scheme == ZeroPoints::sym) {
    throw InputError("a scheme is gptq_v1, gptq_v2 or awq; symmetric is said apart");
  }
  QuantConfig config;
  config.group_size = options.group_size;
  config.zero_points = options.scheme;
  config.act_order = options.act_order;
  config.awq_layout = options.scheme == ZeroPoints::awq;
  if (config.awq_layout && config.act_order) {
    throw InputError("awq has no g_idx to store act-order in: choose gptq_v1 or gptq_v2");
  }
  if (options.symmetric && !config.awq_layout) {
    config.symmetric = true;
    config.zero_points = ZeroPoints::sym;
    config.symmetric_placeholder = options.scheme;
  }
  return config;
}

QuantizeResult quantize(const std::filesystem::path& gguf, const std::filesystem::path& out,
                        const QuantizeOptions& options) {
  const QuantConfig config = quantize_config(options);
  const Gguf model = Gguf::open(gguf);
  const std::string architecture = model.text_value("general.architecture").value_or("");
  if (architecture != "llama") {
    throw Unsupported(fmt::format("{}: architecture {}: only llama is quantised", model.where(),
                                  printable(architecture)));
  }
  const Heads heads = read_heads(model);
  if (options.layers) require_layers(model, *options.layers);
  Plan plan = make_plan(model, options);
  const json file_config = model_config(model, config);
  require_checkpoint_writable(out, file_config);

  // Symmetric AWQ is quantised as symmetric (z = 8) and stored as AWQ, zeros included.
  QuantConfig rounding = config;
  if (options.symmetric) rounding.zero_points = ZeroPoints::sym;
  std::map<std::string, PackedLayer> layers;
  for (const Source& source : plan.quantize) {
    const std::int64_t k = source.tensor->columns();
    const std::int64_t n = source.tensor->rows();
    try {
      const QuantizedMatrix matrix =
          round_to_nearest(model_weights(model, source, heads), k, n, rounding);
      layers.emplace(source.name.name, pack(matrix, config));
      plan.result.quantized.push_back({source.name.name, k, n, matrix.group});
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: tensor {}: {}", model.where(),
                                   printable(source.tensor->name), error.what()));
    }
  }
  std::map<std::string, Tensor> others;
  for (const Source& source : plan.copy) {
    const std::string name = source.name.name + ".weight";
    others.emplace(name, as_f16(model, *source.tensor));
    plan.result.copied.push_back(name);
  }
  write_checkpoint(out, layers, others, file_config);
  std::sort(plan.result.quantized.begin(), plan.result.quantized.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::sort(plan.result.copied.begin(), plan.result.copied.end());
  return std::move(plan.result);
}

}  // namespace bitgate::formats
