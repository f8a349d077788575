#include "reference/formats/quantized_matrix.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "reference/formats/expect_rejected.h"
#include "reference/formats/test_vectors.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"
#include "reference/support/random.h"

namespace bitgate::formats {
namespace {

using numeric::ScalarType;

QuantConfig config_of(ZeroPoints zeros, std::int64_t group, bool act_order = false) {
  return {.group_size = group,
          .symmetric = zeros == ZeroPoints::sym,
          .zero_points = zeros,
          .awq_layout = zeros == ZeroPoints::awq,
          .act_order = act_order};
}

std::uint8_t smallest_zero(ZeroPoints zeros) {
  return zeros == ZeroPoints::sym ? 8 : zeros == ZeroPoints::gptq_v1 ? 1 : 0;
}

std::uint8_t largest_zero(ZeroPoints zeros) {
  return zeros == ZeroPoints::sym ? 8 : zeros == ZeroPoints::gptq_v1 ? 16 : 15;
}

QuantizedMatrix random_matrix(std::int64_t k, std::int64_t n, const QuantConfig& config,
                              std::uint64_t seed) {
  Random random(seed);
  QuantizedMatrix m;
  m.k = k;
  m.n = n;
  m.group = resolve_group(config.group_size, k);
  for (std::int64_t i = 0; i < k * n; ++i) {
    m.q.push_back(static_cast<std::uint8_t>(random.below(16)));
  }
  for (std::int64_t i = 0; i < m.groups() * n; ++i) {
    m.z.push_back(static_cast<std::uint8_t>(
        random.between(smallest_zero(config.zero_points), largest_zero(config.zero_points))));
    m.scales.push_back(static_cast<std::uint16_t>(random.below(0x7c00)));
  }
  for (std::int64_t row = 0; row < k; ++row) {
    m.g_idx.push_back(static_cast<std::int32_t>(row / m.group));
  }
  if (config.act_order) {
    for (std::size_t i = m.g_idx.size(); i > 1; --i) {
      std::swap(m.g_idx[i - 1], m.g_idx[random.below(i)]);
    }
  }
  return m;
}

/// A vector file: prefix of its packed tensors and what its config states.
struct Vector {
  std::string file;
  std::string prefix;
  QuantConfig config;
};

std::vector<Vector> vectors() {
  QuantConfig bf16 = config_of(ZeroPoints::awq, 64);
  bf16.scale_type = ScalarType::bf16;
  QuantConfig v2_symmetric = config_of(ZeroPoints::sym, -1);
  v2_symmetric.symmetric_placeholder = ZeroPoints::gptq_v2;
  return {{"gptq_v1_act_g32", "", config_of(ZeroPoints::gptq_v1, 32, true)},
          {"gptq_v1_asym_g32", "", config_of(ZeroPoints::gptq_v1, 32)},
          {"gptq_v1_sym_g64", "", config_of(ZeroPoints::sym, 64)},
          {"gptq_v2_act_g32", "", config_of(ZeroPoints::gptq_v2, 32, true)},
          {"gptq_v2_asym_g64", "", config_of(ZeroPoints::gptq_v2, 64)},
          {"gptq_v2_sym_channel", "", v2_symmetric},
          {"awq_gemm_bf16_g64", "", bf16},
          {"awq_gemm_g32_n96", "", config_of(ZeroPoints::awq, 32)},
          {"awq_gemm_g64", "", config_of(ZeroPoints::awq, 64)},
          {"awq_to_gptq_v1_g64", "awq.", config_of(ZeroPoints::awq, 64)}};
}

DType stored(ScalarType type) { return type == ScalarType::bf16 ? DType::bf16 : DType::f16; }

PackedLayer packed_of(const Safetensors& file, const Vector& v) {
  const auto shape = file.layout("q").shape;
  PackedLayer layer{
      .config = v.config,
      .k = shape[0],
      .n = shape[1],
      .qweight = file.read<std::int32_t>(v.prefix + "qweight", DType::i32),
      .qzeros = file.read<std::int32_t>(v.prefix + "qzeros", DType::i32),
      .scales = file.read<std::uint16_t>(v.prefix + "scales", stored(v.config.scale_type)),
      .g_idx = {}};
  if (!v.config.awq_layout) layer.g_idx = file.read<std::int32_t>("g_idx", DType::i32);
  return layer;
}

QuantizedMatrix matrix_of(const Safetensors& file, const Vector& v) {
  const auto shape = file.layout("q").shape;
  QuantizedMatrix m;
  m.k = shape[0];
  m.n = shape[1];
  m.group = resolve_group(v.config.group_size, m.k);
  m.scale_type = v.config.scale_type;
  m.q = file.read<std::uint8_t>("q", DType::u8);
  for (const std::int32_t z : file.read<std::int32_t>("z", DType::i32)) {
    m.z.push_back(static_cast<std::uint8_t>(z));
  }
  m.scales = file.read<std::uint16_t>("s", stored(v.config.scale_type));
  if (file.has("g_idx")) {
    m.g_idx = file.read<std::int32_t>("g_idx", DType::i32);
  } else {
    for (std::int64_t row = 0; row < m.k; ++row) {
      m.g_idx.push_back(static_cast<std::int32_t>(row / m.group));
    }
  }
  return m;
}

TEST(QuantizedMatrix, PacksTheWordsOfThePublicPackages) {
  for (const Vector& v : vectors()) {
    SCOPED_TRACE(v.file);
    const Safetensors file = open_vector(v.file);
    const PackedLayer want = packed_of(file, v);
    const PackedLayer got = pack(matrix_of(file, v), v.config);
    EXPECT_EQ(got.qweight, want.qweight);
    EXPECT_EQ(got.qzeros, want.qzeros);
    EXPECT_EQ(got.scales, want.scales);
    EXPECT_EQ(got.g_idx, want.g_idx);
  }
}

TEST(QuantizedMatrix, ReadsTheWordsOfThePublicPackages) {
  for (const Vector& v : vectors()) {
    SCOPED_TRACE(v.file);
    const Safetensors file = open_vector(v.file);
    const QuantizedMatrix got = unpack(packed_of(file, v));
    EXPECT_TRUE(got == matrix_of(file, v));
    const std::vector<float> weights = dequantize(got);
    if (file.has("dequant_f32")) {
      EXPECT_EQ(weights, file.read<float>("dequant_f32", DType::f32));
    }
    const ScalarType type = v.config.scale_type;
    const std::string rounded = "dequant_" + std::string(numeric::name(type));
    if (file.has(rounded)) {
      const auto want = file.read<std::uint16_t>(rounded, stored(type));
      ASSERT_EQ(want.size(), weights.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        // Compared as numbers, because the sign of a zero is not binding here.
        EXPECT_EQ(numeric::to_float(type, numeric::round_to(type, weights[i])),
                  numeric::to_float(type, want[i]));
      }
    }
  }
}

TEST(QuantizedMatrix, ReadsAwqRepackedAsGptqV1) {
  const Safetensors file = open_vector("awq_to_gptq_v1_g64");
  const QuantizedMatrix from_awq =
      unpack(packed_of(file, {"", "awq.", config_of(ZeroPoints::awq, 64)}));
  const PackedLayer gptq{.config = config_of(ZeroPoints::gptq_v1, 64),
                         .k = from_awq.k,
                         .n = from_awq.n,
                         .qweight = file.read<std::int32_t>("gptq_v1.qweight", DType::i32),
                         .qzeros = file.read<std::int32_t>("gptq_v1.qzeros", DType::i32),
                         .scales = from_awq.scales,
                         .g_idx = {}};
  EXPECT_TRUE(unpack(gptq) == from_awq);
  EXPECT_EQ(pack(from_awq, gptq.config).qzeros, gptq.qzeros);
}

TEST(QuantizedMatrix, SortsByGroupAsVllmUpToTheOrderWithinAGroup) {
  const Safetensors file = open_vector("gptq_vllm_act_g32");
  const auto layout = file.layout("q").shape;
  const PackedLayer layer{.config = config_of(ZeroPoints::sym, 32, true),
                          .k = layout[0],
                          .n = layout[1],
                          .qweight = file.read<std::int32_t>("qweight", DType::i32),
                          .qzeros = {},
                          .scales = file.read<std::uint16_t>("scales", DType::f16),
                          .g_idx = file.read<std::int32_t>("g_idx", DType::i32)};
  const QuantizedMatrix m = unpack(layer);
  EXPECT_EQ(m.q, file.read<std::uint8_t>("q", DType::u8));

  const std::vector<float> weights = dequantize(m);
  const auto reference = file.read<std::uint16_t>("w_ref", DType::f16);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(numeric::to_float(ScalarType::f16, numeric::round_to(ScalarType::f16, weights[i])),
              numeric::to_float(ScalarType::f16, reference[i]));
  }

  const auto sorted_groups = file.read<std::int32_t>("g_idx_sorted", DType::i32);
  const auto unstable = file.read<std::int32_t>("sort_indices", DType::i32);
  const std::vector<std::int32_t> order = sort_by_group(m);
  EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), unstable.begin()));
  for (std::size_t p = 0; p < order.size(); ++p) {
    EXPECT_EQ(m.g_idx[static_cast<std::size_t>(order[p])], sorted_groups[p]);
    if (p > 0 && sorted_groups[p] == sorted_groups[p - 1]) {
      EXPECT_LT(order[p - 1], order[p]);
    }
  }
  // The file's sorted codes, put back by its own (unstable) indices, are the codes.
  const auto q_sorted = file.read<std::uint8_t>("q_sorted", DType::u8);
  const QuantizedMatrix sorted =
      unpack({.config = config_of(ZeroPoints::sym, 32),
              .k = m.k,
              .n = m.n,
              .qweight = file.read<std::int32_t>("qweight_sorted", DType::i32),
              .qzeros = {},
              .scales = layer.scales,
              .g_idx = {}});
  EXPECT_EQ(sorted.q, q_sorted);
  for (std::size_t p = 0; p < unstable.size(); ++p) {
    const auto n = static_cast<std::size_t>(m.n);
    const auto row = static_cast<std::size_t>(unstable[p]);
    EXPECT_TRUE(std::equal(q_sorted.begin() + static_cast<std::ptrdiff_t>(p * n),
                           q_sorted.begin() + static_cast<std::ptrdiff_t>((p + 1) * n),
                           m.q.begin() + static_cast<std::ptrdiff_t>(row * n)));
  }
}

TEST(QuantizedMatrix, EveryValueInEveryLaneSurvives) {
  for (const ZeroPoints zeros :
       {ZeroPoints::gptq_v1, ZeroPoints::gptq_v2, ZeroPoints::awq, ZeroPoints::sym}) {
    const QuantConfig config = config_of(zeros, 8);
    // Column n, row k: every code meets every lane of a word, along k as along n.
    QuantizedMatrix m = random_matrix(8 * 16, 8 * 16, config, 1);
    for (std::int64_t k = 0; k < m.k; ++k) {
      for (std::int64_t n = 0; n < m.n; ++n) {
        m.q[static_cast<std::size_t>(k * m.n + n)] =
            static_cast<std::uint8_t>((k / 8 + n / 8) % 16);
      }
    }
    const int count = largest_zero(zeros) - smallest_zero(zeros) + 1;
    for (std::int64_t g = 0; g < m.groups(); ++g) {
      for (std::int64_t n = 0; n < m.n; ++n) {
        m.z[static_cast<std::size_t>(g * m.n + n)] =
            static_cast<std::uint8_t>(smallest_zero(zeros) + (g + n / 8) % count);
      }
    }
    EXPECT_TRUE(unpack(pack(m, config)) == m);
  }
}

TEST(QuantizedMatrix, PackAndUnpackAreInverse) {
  EXPECT_TRUE(rc::check("unpack(pack(m)) == m", [] {
    const auto zeros = *rc::gen::element(ZeroPoints::sym, ZeroPoints::gptq_v1, ZeroPoints::gptq_v2,
                                         ZeroPoints::awq);
    const bool act_order = zeros != ZeroPoints::awq && *rc::gen::arbitrary<bool>();
    const auto group = *rc::gen::element<std::int64_t>(-1, 8, 24, 32);
    const std::int64_t k = (group == -1 ? 8 : group) * *rc::gen::inRange<std::int64_t>(1, 5);
    const std::int64_t n = 8 * *rc::gen::inRange<std::int64_t>(0, 6);
    QuantConfig config = config_of(zeros, group, act_order);
    config.symmetric_placeholder = *rc::gen::element(ZeroPoints::gptq_v1, ZeroPoints::gptq_v2);
    const QuantizedMatrix m = random_matrix(k, n, config, *rc::gen::arbitrary<std::uint64_t>());
    RC_ASSERT(unpack(pack(m, config)) == m);
  }));
}

TEST(QuantizedMatrix, WordsOfRandomBitsSurvive) {
  EXPECT_TRUE(rc::check("pack(unpack(words)) == words", [] {
    const auto zeros = *rc::gen::element(ZeroPoints::gptq_v1, ZeroPoints::gptq_v2, ZeroPoints::awq);
    const QuantConfig config = config_of(zeros, 16);
    PackedLayer layer{
        .config = config, .k = 32, .n = 24, .qweight = {}, .qzeros = {}, .scales = {}, .g_idx = {}};
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (int i = 0; i < 96; ++i) layer.qweight.push_back(static_cast<std::int32_t>(random.next()));
    for (int i = 0; i < 6; ++i) layer.qzeros.push_back(static_cast<std::int32_t>(random.next()));
    for (int i = 0; i < 48; ++i) layer.scales.push_back(static_cast<std::uint16_t>(random.next()));
    const PackedLayer again = pack(unpack(layer), config);
    RC_ASSERT(again.qweight == layer.qweight);
    RC_ASSERT(again.qzeros == layer.qzeros);
    RC_ASSERT(again.scales == layer.scales);
  }));
}

TEST(QuantizedMatrix, SymmetricPlaceholders) {
  QuantConfig config = config_of(ZeroPoints::sym, 8);
  const QuantizedMatrix m = random_matrix(16, 8, config, 3);
  EXPECT_EQ(pack(m, config).qzeros, (std::vector<std::int32_t>{0x77777777, 0x77777777}));
  config.symmetric_placeholder = ZeroPoints::gptq_v2;
  const auto eights = static_cast<std::int32_t>(0x88888888U);
  EXPECT_EQ(pack(m, config).qzeros, (std::vector<std::int32_t>{eights, eights}));
  config.awq_layout = true;
  EXPECT_EQ(pack(m, config).qzeros, (std::vector<std::int32_t>{eights, eights}));
}

TEST(QuantizedMatrix, SymmetricNeverReadsQzeros) {
  const QuantConfig config = config_of(ZeroPoints::sym, 16, true);
  const QuantizedMatrix m = random_matrix(64, 16, config, 4);
  PackedLayer layer = pack(m, config);
  for (std::int32_t& word : layer.qzeros) word = 0x13579bdf;
  EXPECT_TRUE(unpack(layer) == m);
  layer.qzeros.clear();
  EXPECT_TRUE(unpack(layer) == m);
}

TEST(QuantizedMatrix, WithoutActOrderNeverReadsGIdx) {
  const QuantConfig config = config_of(ZeroPoints::gptq_v1, 16);
  const QuantizedMatrix m = random_matrix(64, 16, config, 5);
  PackedLayer layer = pack(m, config);
  for (std::int32_t& g : layer.g_idx) g = 0x7ffffff0;
  EXPECT_TRUE(unpack(layer) == m);
  layer.g_idx.clear();
  EXPECT_TRUE(unpack(layer) == m);
}

TEST(QuantizedMatrix, RefusesAMalformedGIdx) {
  const QuantConfig config = config_of(ZeroPoints::gptq_v1, 16, true);
  const PackedLayer good = pack(random_matrix(64, 8, config, 6), config);
  PackedLayer bad = good;
  bad.g_idx.assign(64, 0);
  expect_rejected<InputError>("gives group 0 64 rows", [&] { unpack(bad); });
  bad = good;
  bad.g_idx[5] = 4;
  expect_rejected<InputError>("g_idx[5] = 4 is out of range", [&] { unpack(bad); });
  bad.g_idx[5] = -1;
  expect_rejected<InputError>("g_idx[5] = -1 is out of range", [&] { unpack(bad); });
  bad.g_idx.pop_back();
  expect_rejected<InputError>("one group for each of the 64 rows, found 63", [&] { unpack(bad); });
}

TEST(QuantizedMatrix, RefusesWhatAConventionCannotHold) {
  const auto with_zero = [](ZeroPoints zeros, std::uint8_t z) {
    QuantizedMatrix m = random_matrix(16, 8, config_of(zeros, 16), 7);
    m.z[3] = z;
    return m;
  };
  const auto refuse = [&](ZeroPoints zeros, std::uint8_t z, const std::string& words) {
    expect_rejected<InputError>(words, [&] { pack(with_zero(zeros, z), config_of(zeros, 16)); });
  };
  refuse(ZeroPoints::gptq_v1, 0, "gptq_v1 has no code for a zero point of 0 (group 0, column 3)");
  refuse(ZeroPoints::gptq_v1, 17, "gptq_v1 has no code for a zero point of 17");
  refuse(ZeroPoints::gptq_v2, 16, "gptq_v2 has no code for a zero point of 16");
  refuse(ZeroPoints::awq, 16, "awq has no code for a zero point of 16");
  refuse(ZeroPoints::sym, 7, "zero points of 8 only: found 7");
  EXPECT_NO_THROW(pack(with_zero(ZeroPoints::gptq_v1, 16), config_of(ZeroPoints::gptq_v1, 16)));
  EXPECT_NO_THROW(pack(with_zero(ZeroPoints::gptq_v2, 0), config_of(ZeroPoints::gptq_v2, 16)));
}

TEST(QuantizedMatrix, RefusesAMatrixThatIsNotWhatItSays) {
  const QuantConfig config = config_of(ZeroPoints::gptq_v2, 16);
  const QuantizedMatrix good = random_matrix(32, 8, config, 8);
  const auto refuse = [&](const std::string& words, const auto& damage) {
    QuantizedMatrix m = good;
    QuantConfig c = config;
    damage(m, c);
    expect_rejected<InputError>(words, [&] { pack(m, c); });
  };
  refuse("q: expected 32 x 8", [](QuantizedMatrix& m, QuantConfig&) { m.q.pop_back(); });
  refuse("z: expected 2 x 8", [](QuantizedMatrix& m, QuantConfig&) { m.z.pop_back(); });
  refuse("scales: expected", [](QuantizedMatrix& m, QuantConfig&) { m.scales.push_back(0); });
  refuse("code 16 at row 1, column 1", [](QuantizedMatrix& m, QuantConfig&) { m.q[9] = 16; });
  refuse("no multiple of the group size 24",
         [](QuantizedMatrix&, QuantConfig& c) { c.group_size = 24; });
  refuse("groups of 16 rows, the config says 32",
         [](QuantizedMatrix&, QuantConfig& c) { c.group_size = 32; });
  refuse("group size 0", [](QuantizedMatrix&, QuantConfig& c) { c.group_size = 0; });
  refuse("f16 scales, the config says bf16",
         [](QuantizedMatrix&, QuantConfig& c) { c.scale_type = ScalarType::bf16; });
  refuse("no act-order",
         [](QuantizedMatrix& m, QuantConfig&) { std::swap(m.g_idx[0], m.g_idx[31]); });
  refuse("symmetric exactly when", [](QuantizedMatrix&, QuantConfig& c) { c.symmetric = true; });
  refuse("AWQ zero points belong", [](QuantizedMatrix&, QuantConfig& c) { c.awq_layout = true; });
  refuse("awq has no g_idx", [](QuantizedMatrix&, QuantConfig& c) {
    c.awq_layout = c.act_order = true;
    c.zero_points = ZeroPoints::awq;
  });
  refuse("n = 12 is no multiple of 8", [](QuantizedMatrix& m, QuantConfig&) { m.n = 12; });
  refuse("k = 36 is no multiple of 8", [](QuantizedMatrix& m, QuantConfig&) { m.k = 36; });
  EXPECT_THROW(
      {
        QuantConfig eight = config;
        eight.bits = 8;
        pack(good, eight);
      },
      Unsupported);
}

TEST(QuantizedMatrix, RefusesALayerOfOtherShapes) {
  const QuantConfig config = config_of(ZeroPoints::gptq_v2, 16);
  const PackedLayer good = pack(random_matrix(32, 16, config, 9), config);
  const auto refuse = [&](const std::string& words, const auto& damage) {
    PackedLayer layer = good;
    damage(layer);
    expect_rejected<InputError>(words, [&] { unpack(layer); });
  };
  refuse("qweight: expected 4 x 16", [](PackedLayer& l) { l.qweight.pop_back(); });
  refuse("qzeros: expected 2 x 2", [](PackedLayer& l) { l.qzeros.clear(); });
  refuse("scales: expected 2 x 16", [](PackedLayer& l) { l.scales.pop_back(); });
  refuse("larger than 2^63", [](PackedLayer& l) { l.n = std::int64_t{1} << 62; });
}

TEST(QuantizedMatrix, ZeroExtentsAreEmptyNotErrors) {
  const QuantConfig config = config_of(ZeroPoints::gptq_v2, -1);
  QuantizedMatrix no_rows;
  no_rows.n = 16;
  EXPECT_TRUE(unpack(pack(no_rows, config)) == no_rows);
  EXPECT_TRUE(dequantize(no_rows).empty());
  EXPECT_TRUE(sort_by_group(no_rows).empty());
  const QuantizedMatrix no_columns = random_matrix(16, 0, config, 10);
  EXPECT_TRUE(unpack(pack(no_columns, config)) == no_columns);
}

TEST(QuantizedMatrix, DequantizesByGIdx) {
  QuantizedMatrix m = random_matrix(16, 8, config_of(ZeroPoints::gptq_v1, 8, true), 11);
  std::fill(m.scales.begin(), m.scales.begin() + 8, numeric::to_half(0.5).bits);
  std::fill(m.scales.begin() + 8, m.scales.end(), numeric::to_half(4).bits);
  const std::vector<float> weights = dequantize(m);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t c = 0; c < 8; ++c) {
      const auto g = static_cast<std::size_t>(m.g_idx[row]);
      const int difference = m.q[8 * row + c] - m.z[8 * g + c];
      EXPECT_EQ(weights[8 * row + c], (g == 0 ? 0.5F : 4.0F) * static_cast<float>(difference));
    }
  }
}

}  // namespace
}  // namespace bitgate::formats
