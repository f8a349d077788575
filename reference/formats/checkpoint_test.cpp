#include "reference/formats/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/formats/expect_rejected.h"
#include "reference/formats/quant_config.h"
#include "reference/formats/round_to_nearest.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/random.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

PackedLayer sample_layer(const QuantConfig& config, std::uint64_t seed, std::int64_t k = 64,
                         std::int64_t n = 16) {
  Random random(seed);
  std::vector<float> weights;
  for (std::int64_t i = 0; i < k * n; ++i) {
    weights.push_back(static_cast<float>(random.uniform() - 0.5));
  }
  return pack(round_to_nearest(weights, k, n, config), config);
}

QuantConfig v2(bool act_order = false) {
  QuantConfig config;
  config.group_size = 32;
  config.act_order = act_order;
  return config;
}

json config_file(const QuantConfig& config) {
  return {{"quantization_config", public_quant_config(config)}};
}

void expect_same(const PackedLayer& a, const PackedLayer& b) {
  EXPECT_EQ(a.config, b.config);
  EXPECT_EQ(a.k, b.k);
  EXPECT_EQ(a.n, b.n);
  EXPECT_EQ(a.qweight, b.qweight);
  EXPECT_EQ(a.qzeros, b.qzeros);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.g_idx, b.g_idx);
}

TEST(Checkpoint, ReadsBackWhatItWrote) {
  const ScratchFolder folder;
  const PackedLayer a = sample_layer(v2(true), 1);
  const PackedLayer b = sample_layer(v2(true), 2, 128, 8);
  write_checkpoint(folder.path() / "model.safetensors", {{"b", b}, {"x.a", a}}, {},
                   config_file(v2(true)));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  ASSERT_EQ(checkpoint.layers().size(), 2U);
  EXPECT_EQ(checkpoint.layers()[0].name, "b");
  EXPECT_EQ(checkpoint.layers()[0].k, 128);
  EXPECT_EQ(checkpoint.layers()[0].n, 8);
  expect_same(checkpoint.load("x.a"), a);
  expect_same(checkpoint.load("b"), b);
  expect_rejected<InputError>("no layer \"c\"", [&] { checkpoint.load("c"); });
}

TEST(Checkpoint, ReadsAwqAndBf16Scales) {
  const ScratchFolder folder;
  QuantConfig config;
  config.zero_points = ZeroPoints::awq;
  config.awq_layout = true;
  config.group_size = 32;
  PackedLayer layer = sample_layer(config, 3);
  layer.config.scale_type = numeric::ScalarType::bf16;
  write_checkpoint(folder.path() / "m.safetensors", {{"a", layer}}, {}, config_file(config));
  EXPECT_FALSE(Safetensors::open(folder.path() / "m.safetensors").has("a.g_idx"));
  expect_same(Checkpoint::open(folder.path()).load("a"), layer);
}

TEST(Checkpoint, ReadsShardsByTheirIndex) {
  const ScratchFolder folder;
  const PackedLayer a = sample_layer(v2(), 1);
  const PackedLayer b = sample_layer(v2(), 2);
  write_checkpoint(folder.path() / "1.safetensors", {{"a", a}}, {}, config_file(v2()));
  write_checkpoint(folder.path() / "2.safetensors", {{"b", b}}, {}, config_file(v2()));
  // Not in the index: not part of the checkpoint.
  write_checkpoint(folder.path() / "3.safetensors", {{"b", a}}, {}, config_file(v2()));
  expect_rejected<InputError>("lies both in", [&] { Checkpoint::open(folder.path()); });

  json map;
  for (const char* suffix : {".qweight", ".qzeros", ".scales", ".g_idx"}) {
    map["a" + std::string(suffix)] = "1.safetensors";
    map["b" + std::string(suffix)] = "2.safetensors";
  }
  const auto index = folder.path() / "model.safetensors.index.json";
  write_file(index, json{{"weight_map", map}}.dump());
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  PackedLayer want = b;
  want.g_idx.clear();  // no act-order: not read
  expect_same(checkpoint.load("b"), want);

  const auto refuse = [&](const std::string& words, const json& content) {
    write_file(index, content.dump());
    expect_rejected<InputError>(words, [&] { Checkpoint::open(folder.path()); });
  };
  map["c.qweight"] = "2.safetensors";
  refuse("\"c.qweight\" does not lie in", {{"weight_map", map}});
  refuse("is no file name in this folder", {{"weight_map", {{"a", "../1.safetensors"}}}});
  refuse("is no file name in this folder", {{"weight_map", {{"a", ""}}}});
  refuse("is no text", {{"weight_map", {{"a", 1}}}});
  refuse("with a weight_map", json::array());
}

TEST(Checkpoint, RefusesWhatContradictsItself) {
  const PackedLayer layer = sample_layer(v2(true), 1);
  const auto refuse = [&](const std::string& words, const auto& damage) {
    const ScratchFolder folder;
    const auto path = folder.path() / "m.safetensors";
    write_checkpoint(path, {{"a", layer}}, {}, config_file(v2(true)));
    std::map<std::string, Tensor> tensors;
    {
      const Safetensors file = Safetensors::open(path);
      for (const std::string& name : file.names()) {
        const auto bytes = file.bytes(name);
        tensors[name] = {file.layout(name), {bytes.begin(), bytes.end()}};
      }
    }
    damage(tensors);
    write_safetensors(path, tensors);
    expect_rejected<InputError>(words, [&] { unpack(Checkpoint::open(folder.path()).load("a")); });
  };
  using Tensors = std::map<std::string, Tensor>;
  refuse("a tensor \"a.scales\", found none", [](Tensors& t) { t.erase("a.scales"); });
  refuse("a tensor \"a.g_idx\", found none", [](Tensors& t) { t.erase("a.g_idx"); });
  refuse("expected F16 [2, 16], found F16 [32]",
         [](Tensors& t) { t["a.scales"].layout.shape = {32}; });
  refuse("expected I32, found F32", [](Tensors& t) { t["a.qzeros"].layout.dtype = DType::f32; });
  refuse("expected I32 with two dimensions, found I32 [128]",
         [](Tensors& t) { t["a.qweight"].layout.shape = {128}; });
  refuse("k = 16 is no multiple of the group size 32",
         [](Tensors& t) { t["a.qweight"].layout.shape = {2, 64}; });
  refuse("expected I32 with two dimensions, found I32 [0, 9]",
         [](Tensors& t) { t["a.qweight"] = {{DType::i32, {0, 9}}, {}}; });
  refuse("holds a quantised layer", [](Tensors& t) { t.erase("a.qweight"); });
}

TEST(Checkpoint, NeverReadsTheZerosOfASymmetricOne) {
  const ScratchFolder folder;
  QuantConfig config = v2();
  config.symmetric = true;
  config.zero_points = ZeroPoints::sym;
  const PackedLayer layer = sample_layer(config, 1);
  const auto path = folder.path() / "m.safetensors";
  write_checkpoint(path, {{"a", layer}}, {}, config_file(config));
  std::map<std::string, Tensor> tensors;
  {
    const Safetensors file = Safetensors::open(path);
    for (const char* name : {"a.qweight", "a.scales"}) {
      const auto bytes = file.bytes(name);
      tensors[name] = {file.layout(name), {bytes.begin(), bytes.end()}};
    }
  }
  write_safetensors(path, tensors);
  EXPECT_TRUE(unpack(Checkpoint::open(folder.path()).load("a")) == unpack(layer));
}

TEST(Checkpoint, RefusesToOverwriteADifferentConfig) {
  const ScratchFolder folder;
  const auto path = folder.path() / "m.safetensors";
  const PackedLayer layer = sample_layer(v2(), 1);
  write_file(folder.path() / "config.json", R"({"model_type": "other"})");
  expect_rejected<InputError>("says something else", [&] {
    write_checkpoint(path, {{"a", layer}}, {}, config_file(v2()));
  });
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(read_text_file(folder.path() / "config.json"), R"({"model_type": "other"})");

  write_file(folder.path() / "config.json", config_file(v2()).dump());
  write_checkpoint(path, {{"a", layer}}, {}, config_file(v2()));
  EXPECT_EQ(read_text_file(folder.path() / "config.json"), config_file(v2()).dump());
  EXPECT_NO_THROW(Checkpoint::open(folder.path()));
}

TEST(Checkpoint, LeavesNothingHalfWritten) {
  const ScratchFolder folder;
  const PackedLayer layer = sample_layer(v2(), 1);
  expect_rejected<InputError>("folder does not exist", [&] {
    write_checkpoint(folder.path() / "none" / "m.safetensors", {{"a", layer}}, {},
                     config_file(v2()));
  });
  expect_rejected<InputError>("found a folder", [&] {
    write_checkpoint(folder.path(), {{"a", layer}}, {}, config_file(v2()));
  });
  const std::map<std::string, Tensor> bad = {{"x", {{DType::f32, {2}}, {}}}};
  expect_rejected<InputError>("x is F32 [2], but has 0 bytes", [&] {
    write_checkpoint(folder.path() / "m.safetensors", {{"a", layer}}, bad, config_file(v2()));
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace bitgate::formats
