#include "reference/formats/quantized_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "reference/formats/awq.h"
#include "reference/formats/gptq.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::formats {
namespace {

constexpr std::uint8_t kSymmetricZero = 8;

std::size_t elements(std::int64_t rows, std::int64_t columns) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(rows, columns, &product)) {
    throw InputError(
        fmt::format("a matrix of {} x {} elements is larger than 2^63", rows, columns));
  }
  return static_cast<std::size_t>(product);
}

template <typename T>
void require_size(std::string_view tensor, const std::vector<T>& values, std::int64_t rows,
                  std::int64_t columns) {
  if (values.size() != elements(rows, columns)) {
    throw InputError(fmt::format("{}: expected {} x {} elements, found {}", tensor, rows, columns,
                                 values.size()));
  }
}

void require_config(const QuantConfig& config) {
  if (config.bits != 4) {
    throw Unsupported(fmt::format("{}-bit weights: only 4-bit layouts are served", config.bits));
  }
  if (config.symmetric != (config.zero_points == ZeroPoints::sym)) {
    throw InputError("a config is symmetric exactly when its zero points are `sym`");
  }
  if (!config.symmetric && config.awq_layout != (config.zero_points == ZeroPoints::awq)) {
    throw InputError("AWQ zero points belong to the AWQ layout, GPTQ's to the GPTQ layout");
  }
  if (config.symmetric_placeholder != ZeroPoints::gptq_v1 &&
      config.symmetric_placeholder != ZeroPoints::gptq_v2) {
    throw InputError("the placeholder of a symmetric checkpoint is written as gptq_v1 or gptq_v2");
  }
  if (config.awq_layout && config.act_order) {
    throw InputError("awq has no g_idx: act-order cannot be stored in it");
  }
  if (config.scale_type == numeric::ScalarType::f32) {
    throw Unsupported("f32 scales: only f16 and bf16 are served");
  }
}

void require_dimensions(std::int64_t k, std::int64_t n) {
  if (k < 0 || n < 0)
    throw InputError(fmt::format("a layer of k = {}, n = {}: both are >= 0", k, n));
  if (k > std::numeric_limits<std::int32_t>::max()) {
    throw InputError(fmt::format("k = {} is more than a 32-bit row index can name", k));
  }
  if (k % 8 != 0) throw InputError(fmt::format("k = {} is no multiple of 8 (codes in a word)", k));
  if (n % 8 != 0) throw InputError(fmt::format("n = {} is no multiple of 8 (codes in a word)", n));
}

std::vector<std::int32_t> consecutive_groups(std::int64_t k, std::int64_t group) {
  std::vector<std::int32_t> g_idx(static_cast<std::size_t>(k));
  for (std::int64_t row = 0; row < k; ++row) {
    g_idx[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(row / group);
  }
  return g_idx;
}

void require_groups(std::span<const std::int32_t> g_idx, std::int64_t k, std::int64_t group) {
  if (g_idx.size() != static_cast<std::size_t>(k)) {
    throw InputError(fmt::format("g_idx: expected one group for each of the {} rows, found {}", k,
                                 g_idx.size()));
  }
  const std::int64_t groups = group > 0 ? k / group : 0;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(groups));
  for (std::size_t row = 0; row < g_idx.size(); ++row) {
    if (g_idx[row] < 0 || g_idx[row] >= groups) {
      throw InputError(fmt::format("g_idx[{}] = {} is out of range: there are {} groups of {} rows",
                                   row, g_idx[row], groups, group));
    }
    ++rows[static_cast<std::size_t>(g_idx[row])];
  }
  for (std::size_t g = 0; g < rows.size(); ++g) {
    if (rows[g] != group) {
      throw InputError(
          fmt::format("g_idx gives group {} {} rows: each group has exactly {} (an "
                      "index that was allocated and never filled looks like this)",
                      g, rows[g], group));
    }
  }
}

void require_matrix(const QuantizedMatrix& m) {
  require_size("q", m.q, m.k, m.n);
  require_size("z", m.z, m.groups(), m.n);
  require_size("scales", m.scales, m.groups(), m.n);
  require_groups(m.g_idx, m.k, m.group);
  const auto bad = std::find_if(m.q.begin(), m.q.end(), [](std::uint8_t q) { return q > 15; });
  if (bad != m.q.end()) {
    const std::int64_t at = bad - m.q.begin();
    throw InputError(fmt::format("code {} at row {}, column {}: 4-bit codes are 0 to 15", *bad,
                                 at / m.n, at % m.n));
  }
}

void pack_zeros(const QuantizedMatrix& m, const QuantConfig& config,
                std::span<std::int32_t> words) {
  switch (config.zero_points) {
    case ZeroPoints::sym: {
      const auto bad =
          std::find_if(m.z.begin(), m.z.end(), [](std::uint8_t z) { return z != kSymmetricZero; });
      if (bad != m.z.end()) {
        const std::int64_t at = bad - m.z.begin();
        throw InputError(
            fmt::format("a symmetric layer has zero points of 8 only: found {} in group "
                        "{}, column {}",
                        *bad, at / m.n, at % m.n));
      }
      if (config.awq_layout) return AwqZeros::pack(m.z, m.groups(), m.n, words);
      if (config.symmetric_placeholder == ZeroPoints::gptq_v2) {
        return GptqV2Zeros::pack(m.z, m.groups(), m.n, words);
      }
      return GptqV1Zeros::pack(m.z, m.groups(), m.n, words);
    }
    case ZeroPoints::gptq_v1:
      return GptqV1Zeros::pack(m.z, m.groups(), m.n, words);
    case ZeroPoints::gptq_v2:
      return GptqV2Zeros::pack(m.z, m.groups(), m.n, words);
    case ZeroPoints::awq:
      return AwqZeros::pack(m.z, m.groups(), m.n, words);
  }
}

void unpack_zeros(const PackedLayer& layer, QuantizedMatrix& m) {
  if (layer.config.zero_points == ZeroPoints::sym) {
    std::fill(m.z.begin(), m.z.end(), kSymmetricZero);
    return;
  }
  require_size("qzeros", layer.qzeros, m.groups(), m.n / 8);
  switch (layer.config.zero_points) {
    case ZeroPoints::sym:
      return;
    case ZeroPoints::gptq_v1:
      return GptqV1Zeros::unpack(layer.qzeros, m.groups(), m.n, m.z);
    case ZeroPoints::gptq_v2:
      return GptqV2Zeros::unpack(layer.qzeros, m.groups(), m.n, m.z);
    case ZeroPoints::awq:
      return AwqZeros::unpack(layer.qzeros, m.groups(), m.n, m.z);
  }
}

}  // namespace

std::int64_t resolve_group(std::int64_t group_size, std::int64_t k) {
  if (group_size == -1) return k;
  if (group_size <= 0) {
    throw InputError(fmt::format("group size {}: expected a positive one, or -1 for the whole of K",
                                 group_size));
  }
  if (k % group_size != 0) {
    throw InputError(fmt::format("k = {} is no multiple of the group size {}", k, group_size));
  }
  if (k / group_size > std::numeric_limits<std::int32_t>::max()) {
    throw InputError(
        fmt::format("{} groups are more than a 32-bit g_idx can name", k / group_size));
  }
  return group_size;
}

PackedLayer pack(const QuantizedMatrix& matrix, const QuantConfig& config) {
  require_config(config);
  require_dimensions(matrix.k, matrix.n);
  if (matrix.group != resolve_group(config.group_size, matrix.k)) {
    throw InputError(fmt::format("the matrix has groups of {} rows, the config says {}",
                                 matrix.group, config.group_size));
  }
  if (matrix.scale_type != config.scale_type) {
    throw InputError(fmt::format("the matrix has {} scales, the config says {}",
                                 name(matrix.scale_type), name(config.scale_type)));
  }
  require_matrix(matrix);
  if (!config.act_order && matrix.g_idx != consecutive_groups(matrix.k, matrix.group)) {
    throw InputError("g_idx is not k / group, but the config says that there is no act-order");
  }

  PackedLayer layer{.config = config,
                    .k = matrix.k,
                    .n = matrix.n,
                    .qweight = {},
                    .qzeros = {},
                    .scales = matrix.scales,
                    .g_idx = {}};
  layer.qweight.resize(matrix.q.size() / 8);
  layer.qzeros.resize(matrix.z.size() / 8);
  pack_zeros(matrix, config, layer.qzeros);
  if (config.awq_layout) {
    AwqWeights::pack(matrix.q, matrix.k, matrix.n, layer.qweight);
  } else {
    GptqWeights::pack(matrix.q, matrix.k, matrix.n, layer.qweight);
    layer.g_idx = matrix.g_idx;
  }
  return layer;
}

QuantizedMatrix unpack(const PackedLayer& layer) {
  require_config(layer.config);
  require_dimensions(layer.k, layer.n);
  QuantizedMatrix m;
  m.k = layer.k;
  m.n = layer.n;
  m.group = resolve_group(layer.config.group_size, layer.k);
  m.scale_type = layer.config.scale_type;
  if (layer.config.awq_layout) {
    require_size("qweight", layer.qweight, m.k, m.n / 8);
  } else {
    require_size("qweight", layer.qweight, m.k / 8, m.n);
  }
  require_size("scales", layer.scales, m.groups(), m.n);

  m.scales = layer.scales;
  m.z.resize(elements(m.groups(), m.n));
  unpack_zeros(layer, m);
  if (layer.config.act_order) {
    require_groups(layer.g_idx, m.k, m.group);
    m.g_idx = layer.g_idx;
  } else {
    m.g_idx = consecutive_groups(m.k, m.group);
  }
  m.q.resize(elements(m.k, m.n));
  if (layer.config.awq_layout) {
    AwqWeights::unpack(layer.qweight, m.k, m.n, m.q);
  } else {
    GptqWeights::unpack(layer.qweight, m.k, m.n, m.q);
  }
  return m;
}

std::vector<float> dequantize(const QuantizedMatrix& matrix) {
  require_matrix(matrix);
  std::vector<float> weights(matrix.q.size());
  std::vector<float> scales(matrix.scales.size());
  std::transform(matrix.scales.begin(), matrix.scales.end(), scales.begin(),
                 [&](std::uint16_t bits) { return numeric::to_float(matrix.scale_type, bits); });
  for (std::int64_t row = 0; row < matrix.k; ++row) {
    const std::int64_t group_start = matrix.g_idx[static_cast<std::size_t>(row)] * matrix.n;
    const std::uint8_t* const q = matrix.q.data() + row * matrix.n;
    const std::uint8_t* const z = matrix.z.data() + group_start;
    const float* const scale = scales.data() + group_start;
    float* const out = weights.data() + row * matrix.n;
    for (std::int64_t c = 0; c < matrix.n; ++c) {
      out[c] = scale[c] * static_cast<float>(static_cast<int>(q[c]) - static_cast<int>(z[c]));
    }
  }
  return weights;
}

std::vector<std::int32_t> sort_by_group(const QuantizedMatrix& matrix) {
  require_groups(matrix.g_idx, matrix.k, matrix.group);
  std::vector<std::int64_t> next(static_cast<std::size_t>(matrix.groups()));
  for (std::size_t g = 0; g < next.size(); ++g) {
    next[g] = static_cast<std::int64_t>(g) * matrix.group;
  }
  std::vector<std::int32_t> order(matrix.g_idx.size());
  for (std::size_t row = 0; row < matrix.g_idx.size(); ++row) {
    const auto g = static_cast<std::size_t>(matrix.g_idx[row]);
    order[static_cast<std::size_t>(next[g]++)] = static_cast<std::int32_t>(row);
  }
  return order;
}

}  // namespace bitgate::formats
