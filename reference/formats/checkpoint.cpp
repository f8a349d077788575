#include "reference/formats/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "reference/formats/printable.h"
#include "reference/formats/quant_config.h"
#include "reference/formats/staged_file.h"
#include "reference/formats/strict_json.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::formats {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kWeights = ".qweight";
constexpr int kIndexDepth = 8;
constexpr int kConfigDepth = 64;

/// The shards that the index names, each a plain file name, and what it says of each tensor.
std::map<std::string, std::string> read_weight_map(const fs::path& path) {
  const std::string where = path.string();
  const json index = parse_strict_json(read_text_file(path), where, kIndexDepth);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    throw InputError(where + ": expected an object with a weight_map");
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string()) {
      throw InputError(fmt::format("{}: the file of {} is no text", where, printable(tensor)));
    }
    const auto& name = file.get_ref<const std::string&>();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      throw InputError(
          fmt::format("{}: {} is no file name in this folder", where, printable(name)));
    }
    map[tensor] = name;
  }
  return map;
}

LayerInfo layer_of(const Safetensors& file, const std::string& tensor, const QuantConfig& config) {
  const TensorLayout& layout = file.layout(tensor);
  LayerInfo layer{.name = tensor.substr(0, tensor.size() - kWeights.size())};
  if (layout.dtype != DType::i32 || layout.shape.size() != 2 || layout.shape[0] == 0 ||
      layout.shape[1] == 0) {
    throw InputError(fmt::format("{}: tensor {}: expected I32 with two dimensions, found {}",
                                 file.where(), printable(tensor), describe(layout)));
  }
  layer.k = layout.shape[0];
  layer.n = layout.shape[1];
  // No overflow: the file holds all words of a shape without zero extents.
  (config.awq_layout ? layer.n : layer.k) *= 8;
  return layer;
}

void require_shape(const Safetensors& file, const std::string& tensor,
                   const std::vector<std::int64_t>& shape) {
  const TensorLayout& layout = file.layout(tensor);
  if (layout.shape != shape) {
    throw InputError(fmt::format("{}: tensor {}: expected {}, found {}", file.where(),
                                 printable(tensor), describe({layout.dtype, shape}),
                                 describe(layout)));
  }
}

template <typename T>
Tensor tensor_of(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  return Tensor::of<T>(dtype, std::move(shape), std::span(values));
}

fs::path config_beside(const fs::path& out) { return out.parent_path() / "config.json"; }

}  // namespace

Checkpoint Checkpoint::open(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(fmt::format("{}: expected a checkpoint folder", folder.string()));
  }
  Checkpoint result;
  result.where_ = folder.string();
  result.config_ = read_quant_config(folder);

  const fs::path index = folder / "model.safetensors.index.json";
  std::map<std::string, std::string> weight_map;
  std::set<fs::path> paths;
  if (fs::exists(index, ignored)) {
    weight_map = read_weight_map(index);
    for (const auto& [tensor, file] : weight_map) paths.insert(folder / file);
  } else {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".safetensors") paths.insert(entry->path());
    }
    if (error) throw InputError(fmt::format("{}: {}", folder.string(), error.message()));
  }
  for (const fs::path& path : paths) result.add_file(path);
  for (const auto& [tensor, file] : weight_map) {
    const auto found = result.tensors_.find(tensor);
    if (found == result.tensors_.end() ||
        fs::path(result.files_[found->second].where()) != folder / file) {
      throw InputError(fmt::format("{}: tensor {} does not lie in {} as it says", index.string(),
                                   printable(tensor), printable(file)));
    }
  }

  for (const auto& [tensor, file] : result.tensors_) {
    if (tensor.ends_with(kWeights)) {
      result.layers_.push_back(layer_of(result.files_[file], tensor, result.config_));
    }
  }
  if (result.layers_.empty()) {
    throw InputError(fmt::format("{}: no safetensors here holds a quantised layer (NAME{})",
                                 result.where_, kWeights));
  }
  return result;
}

void Checkpoint::add_file(const fs::path& path) {
  files_.push_back(Safetensors::open(path));
  for (const std::string& tensor : files_.back().names()) {
    const auto [place, added] = tensors_.emplace(tensor, files_.size() - 1);
    if (!added) {
      throw InputError(fmt::format("the tensor {} lies both in {} and in {}", printable(tensor),
                                   files_[place->second].where(), path.string()));
    }
  }
}

const Safetensors& Checkpoint::file_of(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) {
    throw InputError(fmt::format("{}: expected a tensor {}, found none of that name", where_,
                                 printable(tensor)));
  }
  return files_[found->second];
}

PackedLayer Checkpoint::load(std::string_view layer) const {
  const auto info = std::find_if(layers_.begin(), layers_.end(),
                                 [&](const LayerInfo& l) { return l.name == layer; });
  if (info == layers_.end()) {
    throw InputError(fmt::format("{}: no layer {}: it has {} layers, the first is {}", where_,
                                 printable(layer), layers_.size(), layers_.front().name));
  }
  const auto named = [&](std::string_view suffix) { return info->name + std::string(suffix); };
  const auto words = [&](std::string_view suffix, const std::vector<std::int64_t>& shape) {
    const Safetensors& file = file_of(named(suffix));
    require_shape(file, named(suffix), shape);
    return file.read<std::int32_t>(named(suffix), DType::i32);
  };

  PackedLayer result{.config = config_,
                     .k = info->k,
                     .n = info->n,
                     .qweight = {},
                     .qzeros = {},
                     .scales = {},
                     .g_idx = {}};
  std::int64_t group = 0;
  try {
    group = resolve_group(config_.group_size, info->k);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: layer {}: {}", where_, printable(layer), error.what()));
  }
  result.qweight =
      words(kWeights, config_.awq_layout ? std::vector<std::int64_t>{info->k, info->n / 8}
                                         : std::vector<std::int64_t>{info->k / 8, info->n});
  const std::string scales = named(".scales");
  const Safetensors& scales_file = file_of(scales);
  require_shape(scales_file, scales, {info->k / group, info->n});
  const DType type = scales_file.layout(scales).dtype;
  if (type != DType::f16 && type != DType::bf16) {
    throw Unsupported(fmt::format("{}: tensor {}: {} scales: F16 and BF16 are read",
                                  scales_file.where(), printable(scales), name(type)));
  }
  result.config.scale_type =
      type == DType::f16 ? numeric::ScalarType::f16 : numeric::ScalarType::bf16;
  result.scales = scales_file.read<std::uint16_t>(scales, type);
  if (!config_.symmetric) result.qzeros = words(".qzeros", {info->k / group, info->n / 8});
  if (config_.act_order) result.g_idx = words(".g_idx", {info->k});
  return result;
}

void require_checkpoint_writable(const fs::path& out, const json& config) {
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(fmt::format("{}: its folder does not exist", out.string()));
  }
  if (fs::is_directory(out, ignored)) {
    throw InputError(fmt::format("{}: expected a file to write, found a folder", out.string()));
  }
  const fs::path path = config_beside(out);
  if (fs::exists(path, ignored) &&
      parse_strict_json(read_text_file(path), path.string(), kConfigDepth) != config) {
    throw InputError(
        fmt::format("{} exists and says something else: write to another folder", path.string()));
  }
}

void write_checkpoint(const fs::path& out, const std::map<std::string, PackedLayer>& layers,
                      const std::map<std::string, Tensor>& others, const json& config) {
  require_checkpoint_writable(out, config);
  std::map<std::string, Tensor> tensors = others;
  for (const auto& [layer, packed] : layers) {
    const bool awq = packed.config.awq_layout;
    const std::int64_t groups = packed.k / resolve_group(packed.config.group_size, packed.k);
    tensors[layer + ".qweight"] = tensor_of(DType::i32,
                                            awq ? std::vector<std::int64_t>{packed.k, packed.n / 8}
                                                : std::vector<std::int64_t>{packed.k / 8, packed.n},
                                            packed.qweight);
    tensors[layer + ".qzeros"] = tensor_of(DType::i32, {groups, packed.n / 8}, packed.qzeros);
    tensors[layer + ".scales"] =
        tensor_of(packed.config.scale_type == numeric::ScalarType::bf16 ? DType::bf16 : DType::f16,
                  {groups, packed.n}, packed.scales);
    if (!awq) tensors[layer + ".g_idx"] = tensor_of(DType::i32, {packed.k}, packed.g_idx);
  }
  std::map<std::string, TensorLayout> layouts;
  for (const auto& [name, tensor] : tensors) layouts.emplace(name, tensor.layout);

  SafetensorsWriter weights(out, std::move(layouts), {{"format", "pt"}});
  for (const std::string& name : weights.order()) weights.append(name, tensors.at(name).bytes);
  weights.close();
  const fs::path config_path = config_beside(out);
  std::error_code ignored;
  if (!fs::exists(config_path, ignored)) {
    StagedFile config_file(config_path);
    config_file.write(config.dump(2) + "\n");
    config_file.commit();
  }
  weights.commit();
}

}  // namespace bitgate::formats
