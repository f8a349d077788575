#include "reference/formats/dequantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "reference/formats/checkpoint.h"
#include "reference/formats/gguf.h"
#include "reference/formats/printable.h"
#include "reference/formats/safetensors.h"
#include "reference/support/error.h"

namespace bitgate::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeight = ".weight";

std::vector<std::string> names_of(const std::map<std::string, TensorLayout>& layouts) {
  std::vector<std::string> names;
  for (const auto& [name, layout] : layouts) names.push_back(name);
  return names;
}

/// w[k][n] as f32 [n][k], as a linear layer's weight lies.
std::vector<float> transposed(const std::vector<float>& weights, std::size_t k, std::size_t n) {
  std::vector<float> result(weights.size());
  for (std::size_t row = 0; row < k; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      result[column * k + row] = weights[row * n + column];
    }
  }
  return result;
}

DequantizeResult dequantize_checkpoint(const fs::path& in, const fs::path& out) {
  const Checkpoint checkpoint = Checkpoint::open(in);
  std::map<std::string, TensorLayout> layouts;
  for (const LayerInfo& layer : checkpoint.layers()) {
    layouts[layer.name + std::string(kWeight)] = {DType::f32, {layer.n, layer.k}};
  }
  SafetensorsWriter writer(out, layouts, {{"format", "pt"}});
  for (const std::string& name : writer.order()) {
    const std::string layer = name.substr(0, name.size() - kWeight.size());
    try {
      const QuantizedMatrix matrix = unpack(checkpoint.load(layer));
      const std::vector<float> weights =
          transposed(dequantize(matrix), static_cast<std::size_t>(matrix.k),
                     static_cast<std::size_t>(matrix.n));
      writer.append(name, std::as_bytes(std::span(weights)));
    } catch (const InputError& error) {
      throw InputError(fmt::format("layer {}: {}", printable(layer), error.what()));
    }
  }
  writer.commit();
  return {.written = names_of(layouts), .left_out = {}};
}

DequantizeResult dequantize_gguf(const fs::path& in, const fs::path& out) {
  const Gguf model = Gguf::open(in);
  DequantizeResult result;
  std::map<std::string, TensorLayout> layouts;
  for (const GgufTensor& tensor : model.tensors()) {
    const BlockType* const type = find_block_type(tensor.type);
    if (type == nullptr || type->decode == nullptr) {
      result.left_out.push_back({tensor.name, block_type_name(tensor.type)});
    } else {
      layouts[tensor.name] = {DType::f32, {tensor.dims.rbegin(), tensor.dims.rend()}};
    }
  }
  result.written = names_of(layouts);
  SafetensorsWriter writer(out, std::move(layouts), {{"format", "pt"}});
  for (const std::string& name : writer.order()) {
    const std::vector<float> values = model.dequantize(*model.find(name));
    writer.append(name, std::as_bytes(std::span(values)));
  }
  writer.commit();
  return result;
}

}  // namespace

DequantizeResult dequantize_file(const fs::path& in, const fs::path& out) {
  std::error_code ignored;
  return fs::is_directory(in, ignored) ? dequantize_checkpoint(in, out) : dequantize_gguf(in, out);
}

}  // namespace bitgate::formats
