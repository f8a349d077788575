#include "reference/formats/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "reference/formats/checkpoint.h"
#include "reference/formats/dequantize.h"
#include "reference/formats/expect_rejected.h"
#include "reference/formats/gguf.h"
#include "reference/formats/gguf_builder.h"
#include "reference/formats/real_model.h"
#include "reference/formats/test_vectors.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/random.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

constexpr std::int64_t kHidden = 64;
constexpr std::int64_t kFeedForward = 96;
constexpr std::uint32_t kU32 = 4;

std::vector<float> random_weights(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(random.uniform() - 0.4));
  }
  return values;
}

/// Two layers, hidden 64, four heads of 16 and two key heads, feed-forward 96.
GgufBuilder small_model() {
  GgufBuilder builder;
  builder.text("general.architecture", "llama")
      .value("llama.block_count", kU32, std::uint32_t{2})
      .value("llama.embedding_length", kU32, std::uint32_t{kHidden})
      .value("llama.attention.head_count", kU32, std::uint32_t{4})
      .value("llama.attention.head_count_kv", kU32, std::uint32_t{2})
      .value("llama.rope.freq_base", 6, 1e5F);
  std::uint64_t seed = 0;
  const auto matrix = [&](const std::string& name, std::uint64_t k, std::uint64_t n) {
    builder.tensor_f32(name, {k, n}, random_weights(static_cast<std::int64_t>(k * n), ++seed));
  };
  matrix("token_embd.weight", kHidden, 24);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    builder.tensor_f32(layer + "attn_norm.weight", {kHidden}, random_weights(kHidden, ++seed));
    matrix(layer + "attn_q.weight", kHidden, kHidden);
    matrix(layer + "attn_k.weight", kHidden, kHidden / 2);
    matrix(layer + "attn_v.weight", kHidden, kHidden / 2);
    matrix(layer + "attn_output.weight", kHidden, kHidden);
    matrix(layer + "ffn_gate.weight", kHidden, kFeedForward);
    matrix(layer + "ffn_up.weight", kHidden, kFeedForward);
    matrix(layer + "ffn_down.weight", kFeedForward, kHidden);
  }
  builder.tensor_f32("output_norm.weight", {kHidden}, random_weights(kHidden, ++seed));
  builder.tensor_f32("rope_freqs.weight", {8}, random_weights(8, ++seed));
  return builder;
}

std::filesystem::path write_model(const ScratchFolder& folder, const GgufBuilder& builder) {
  const auto path = folder.path() / "model.gguf";
  write_file(path, builder.bytes());
  return path;
}

QuantizeOptions options_of(ZeroPoints scheme, std::int64_t group, bool symmetric = false,
                           bool act_order = false) {
  QuantizeOptions options;
  options.scheme = scheme;
  options.group_size = group;
  options.symmetric = symmetric;
  options.act_order = act_order;
  return options;
}

TEST(Quantize, WritesACompleteModelUnderPublicNames) {
  const ScratchFolder folder;
  const auto model = write_model(folder, small_model());
  const auto out = folder.path() / "out.safetensors";
  const QuantizeResult result = quantize(model, out, options_of(ZeroPoints::gptq_v1, 32));
  EXPECT_EQ(result.quantized.size(), 14U);
  EXPECT_EQ(result.quantized.front().name, "model.layers.0.mlp.down_proj");
  EXPECT_EQ(result.quantized.front().k, kFeedForward);
  EXPECT_EQ(result.copied, (std::vector<std::string>{
                               "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                               "model.layers.1.input_layernorm.weight", "model.norm.weight"}));
  ASSERT_EQ(result.not_public.size(), 1U);
  EXPECT_EQ(result.not_public[0].tensor, "rope_freqs.weight");

  const Safetensors file = Safetensors::open(out);
  EXPECT_EQ(file.names().size(), 14U * 4U + 4U);
  EXPECT_EQ(describe(file.layout("model.layers.0.self_attn.k_proj.qweight")), "I32 [8, 32]");
  EXPECT_EQ(describe(file.layout("model.layers.0.self_attn.k_proj.qzeros")), "I32 [2, 4]");
  EXPECT_EQ(describe(file.layout("model.layers.0.self_attn.k_proj.scales")), "F16 [2, 32]");
  EXPECT_EQ(describe(file.layout("model.layers.0.self_attn.k_proj.g_idx")), "I32 [64]");
  EXPECT_EQ(describe(file.layout("model.embed_tokens.weight")), "F16 [24, 64]");
  const auto embedding = file.read<std::uint16_t>("model.embed_tokens.weight", DType::f16);
  EXPECT_EQ(embedding[5], numeric::to_half(random_weights(6, 1)[5]).bits);

  const json config = json::parse(read_text_file(folder.path() / "config.json"));
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(config["rope_theta"], 1e5);
  EXPECT_EQ(config["quantization_config"]["checkpoint_format"], "gptq");
  EXPECT_EQ(config["quantization_config"]["sym"], false);
}

TEST(Quantize, WritesTheLayersThatWereAskedForAndNothingElse) {
  const ScratchFolder folder;
  const auto model = write_model(folder, small_model());
  QuantizeOptions options = options_of(ZeroPoints::awq, -1);
  options.layers = LayerRange{1, 1};
  const auto out = folder.path() / "out.safetensors";
  const QuantizeResult result = quantize(model, out, options);
  EXPECT_EQ(result.quantized.size(), 7U);
  EXPECT_TRUE(result.copied.empty());
  EXPECT_TRUE(result.not_public.empty());
  for (const std::string& name : Safetensors::open(out).names()) {
    EXPECT_EQ(name.rfind("model.layers.1.", 0), 0U) << name;
  }
  const auto refuse = [&](std::int64_t first, std::int64_t last) {
    options.layers = LayerRange{first, last};
    expect_rejected<InputError>("has layers 0..1",
                                [&] { quantize(model, folder.path() / "no", options); });
  };
  refuse(0, 2);
  refuse(1, 0);
  refuse(-1, 0);
}

TEST(Quantize, NamesEveryTensorThatTheGroupDoesNotDivide) {
  const ScratchFolder folder;
  const auto model = write_model(folder, small_model());
  QuantizeOptions options = options_of(ZeroPoints::gptq_v2, 64);
  const auto out = folder.path() / "out.safetensors";
  for (const char* tensor : {"blk.0.ffn_down.weight", "blk.1.ffn_down.weight"}) {
    expect_rejected<InputError>(
        std::string("\"") + tensor + "\": k = 96 is no multiple of the group size 64",
        [&] { quantize(model, out, options); });
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "config.json"));

  options.skip_indivisible = true;
  const QuantizeResult result = quantize(model, out, options);
  EXPECT_EQ(result.quantized.size(), 12U);
  ASSERT_EQ(result.indivisible.size(), 2U);
  EXPECT_EQ(result.indivisible[0].tensor, "blk.0.ffn_down.weight");
  EXPECT_FALSE(Safetensors::open(out).has("model.layers.0.mlp.down_proj.qweight"));

  options.group_size = 128;
  expect_rejected<InputError>("no tensor is left to quantise",
                              [&] { quantize(model, folder.path() / "no", options); });
}

TEST(Quantize, StoresTheZerosOfEachScheme) {
  const ScratchFolder folder;
  const auto model = write_model(folder, small_model());
  const auto zeros_of = [&](const QuantizeOptions& options) {
    const auto out = folder.path() / "out.safetensors";
    std::filesystem::remove(folder.path() / "config.json");
    quantize(model, out, options);
    std::set<std::int32_t> words;
    const Safetensors file = Safetensors::open(out);
    for (const std::string& name : file.names()) {
      if (!name.ends_with(".qzeros")) continue;
      for (const std::int32_t word : file.read<std::int32_t>(name, DType::i32)) words.insert(word);
    }
    return words;
  };
  const auto eights = static_cast<std::int32_t>(0x88888888U);
  EXPECT_EQ(zeros_of(options_of(ZeroPoints::gptq_v1, 32, true)),
            (std::set<std::int32_t>{0x77777777}));
  EXPECT_EQ(zeros_of(options_of(ZeroPoints::gptq_v2, 32, true)), (std::set<std::int32_t>{eights}));
  EXPECT_EQ(zeros_of(options_of(ZeroPoints::awq, 32, true)), (std::set<std::int32_t>{eights}));
  EXPECT_GT(zeros_of(options_of(ZeroPoints::awq, 32)).size(), 1U);
  // Symmetric AWQ reads back as AWQ, because its readers read the zeros.
  std::filesystem::remove(folder.path() / "config.json");
  quantize(model, folder.path() / "out.safetensors", options_of(ZeroPoints::awq, 32, true));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.config().zero_points, ZeroPoints::awq);
  const QuantizedMatrix m = unpack(checkpoint.load("model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(std::ranges::all_of(m.z, [](std::uint8_t z) { return z == 8; }));
}

TEST(Quantize, RefusesWhatASchemeCannotHold) {
  const ScratchFolder folder;
  const auto model = write_model(folder, small_model());
  const auto refuse = [&](const std::string& words, const QuantizeOptions& options) {
    expect_rejected<InputError>(words, [&] { quantize(model, folder.path() / "no", options); });
  };
  refuse("awq has no g_idx", options_of(ZeroPoints::awq, 32, false, true));
  refuse("group size 48: expected 32, 64, 128 or -1", options_of(ZeroPoints::gptq_v1, 48));
  refuse("a scheme is gptq_v1", options_of(ZeroPoints::sym, 32));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "no"));
}

TEST(Quantize, RefusesAModelItDoesNotUnderstand) {
  const ScratchFolder folder;
  const QuantizeOptions options = options_of(ZeroPoints::gptq_v1, 32);
  const auto run = [&](const GgufBuilder& builder) {
    quantize(write_model(folder, builder), folder.path() / "out.safetensors", options);
  };
  expect_rejected<Unsupported>("architecture \"qwen2\"",
                               [&] { run(GgufBuilder().text("general.architecture", "qwen2")); });
  const auto llama = [](std::uint32_t heads) {
    GgufBuilder builder;
    builder.text("general.architecture", "llama").value("llama.attention.head_count", kU32, heads);
    return builder;
  };
  expect_rejected<InputError>("head counts of 1 to 2^20", [&] { run(llama(0)); });
  expect_rejected<InputError>("no tensor is left", [&] { run(llama(1)); });
  expect_rejected<Unsupported>("\"blk.0.ffn_up.weight\": IQ4_NL", [&] {
    const std::vector<std::byte> block(18);
    run(llama(1).tensor("blk.0.ffn_up.weight", {32, 1}, 20, block));
  });
  expect_rejected<InputError>("its 8 rows are no 3 heads", [&] {
    run(llama(3).tensor_f32("blk.0.attn_q.weight", {32, 8}, std::vector<float>(256)));
  });
  expect_rejected<InputError>("expected a matrix", [&] {
    run(llama(1).tensor_f32("blk.0.attn_q.weight", {32}, std::vector<float>(32)));
  });
  expect_rejected<InputError>("row 7, column 0 is inf", [&] {
    std::vector<float> weights(256);
    weights[7] = INFINITY;
    run(llama(1).tensor_f32("blk.0.attn_q.weight", {32, 8}, weights));
  });
  expect_rejected<InputError>("holds 1000000, which f16 cannot", [&] {
    run(llama(1)
            .tensor_f32("blk.0.attn_q.weight", {32, 8}, std::vector<float>(256))
            .tensor_f32("output_norm.weight", {1}, {1e6F}));
  });
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.safetensors"));
}

TEST(Quantize, IsDeterministic) {
  const ScratchFolder folder;
  const auto model = write_model(folder, small_model());
  const QuantizeOptions options = options_of(ZeroPoints::gptq_v1, 32, false, true);
  quantize(model, folder.path() / "a.safetensors", options);
  quantize(model, folder.path() / "b.safetensors", options);
  EXPECT_EQ(read_file(folder.path() / "a.safetensors"), read_file(folder.path() / "b.safetensors"));
}

/// Every scheme on the real model's layer 0, read back by `dequantize` and compared with the GGUF's
/// own weights, their rows put in the model's order here.
TEST(Quantize, RealModelReadsBackUnderEveryScheme) {
  const Gguf model = Gguf::open(real_model_path());
  struct Projection {
    std::string gguf;
    std::string name;
    std::int64_t heads;  ///< 0: rows in order
  };
  const std::vector<Projection> projections = {
      {"attn_q", "self_attn.q_proj", 9}, {"attn_k", "self_attn.k_proj", 3},
      {"attn_v", "self_attn.v_proj", 0}, {"attn_output", "self_attn.o_proj", 0},
      {"ffn_gate", "mlp.gate_proj", 0},  {"ffn_up", "mlp.up_proj", 0},
      {"ffn_down", "mlp.down_proj", 0},
  };
  std::map<std::string, std::vector<float>> weights;
  for (const Projection& p : projections) {
    const GgufTensor& tensor = *model.find("blk.0." + p.gguf + ".weight");
    const std::vector<float> rows = model.dequantize(tensor);
    const auto k = static_cast<std::size_t>(tensor.columns());
    std::vector<float>& ordered = weights["model.layers.0." + p.name];
    if (p.heads == 0) {
      ordered = rows;
      continue;
    }
    for (std::int64_t head = 0; head < p.heads; ++head) {
      for (const std::int64_t j : {0, 1}) {
        for (std::int64_t i = 0; i < 32; ++i) {
          const auto* const from =
              rows.data() + static_cast<std::size_t>(64 * head + 2 * i + j) * k;
          ordered.insert(ordered.end(), from, from + k);
        }
      }
    }
  }

  for (const QuantizeOptions& scheme :
       {options_of(ZeroPoints::gptq_v1, 64), options_of(ZeroPoints::gptq_v1, 64, true),
        options_of(ZeroPoints::gptq_v1, 64, false, true), options_of(ZeroPoints::gptq_v2, 32),
        options_of(ZeroPoints::gptq_v2, -1, true), options_of(ZeroPoints::awq, 64),
        options_of(ZeroPoints::awq, 64, true)}) {
    const ScratchFolder folder;
    QuantizeOptions options = scheme;
    options.layers = LayerRange{0, 0};
    const QuantizeResult result =
        quantize(real_model_path(), folder.path() / "w.safetensors", options);
    EXPECT_EQ(result.quantized.size(), 7U);
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    const auto back_path = folder.path() / "back.f32";
    dequantize_file(folder.path(), back_path);
    const Safetensors back = Safetensors::open(back_path);
    for (const auto& [name, want] : weights) {
      SCOPED_TRACE(name);
      const QuantizedMatrix m = unpack(checkpoint.load(name));
      EXPECT_EQ(back.layout(name + ".weight").shape, (std::vector<std::int64_t>{m.n, m.k}));
      const auto got = back.read<float>(name + ".weight", DType::f32);
      ASSERT_EQ(got.size(), want.size());
      double worst = 0;
      for (std::int64_t column = 0; column < m.n; ++column) {
        for (std::int64_t row = 0; row < m.k; ++row) {
          const auto at = static_cast<std::size_t>(column * m.k + row);
          const auto g = m.g_idx[static_cast<std::size_t>(row)];
          const double scale = numeric::to_float(
              numeric::Half{m.scales[static_cast<std::size_t>(g * m.n + column)]});
          worst = std::max(worst, std::abs(static_cast<double>(got[at] - want[at])) / scale);
        }
      }
      // Half a step, half another where the rounded zero point clips an end, and the f16 scale.
      EXPECT_LT(worst, 1 + 15 * 0x1p-11);
      EXPECT_GT(worst, 0.4);
    }
  }
}

TEST(Quantize, RealModelRefusesGroup128AllTensorsNamed) {
  const ScratchFolder folder;
  QuantizeOptions options = options_of(ZeroPoints::gptq_v1, 128);
  options.layers = LayerRange{0, 1};
  const auto out = folder.path() / "w.safetensors";
  try {
    quantize(real_model_path(), out, options);
    FAIL();
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(std::ranges::count(message, '\n'), 12);
    for (const char* tensor : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up"}) {
      EXPECT_NE(message.find("blk.1." + std::string(tensor)), std::string::npos) << message;
    }
    EXPECT_EQ(message.find("ffn_down"), std::string::npos);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  options.skip_indivisible = true;
  const QuantizeResult result = quantize(real_model_path(), out, options);
  EXPECT_EQ(result.quantized.size(), 2U);
  EXPECT_EQ(result.indivisible.size(), 12U);
}

}  // namespace
}  // namespace bitgate::formats
