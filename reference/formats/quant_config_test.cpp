#include "reference/formats/quant_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reference/formats/expect_rejected.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

json public_config(const std::string& name) {
  return json::parse(read_text_file(vector_path("configs.json")))[name]["config"];
}

QuantConfig parse(const json& config, ConfigFile file = ConfigFile::config_json) {
  return parse_quant_config(config, file, "t");
}

QuantConfig gptq(ZeroPoints zeros, ZeroPoints version, bool act_order) {
  QuantConfig config;
  config.zero_points = zeros;
  config.symmetric = zeros == ZeroPoints::sym;
  config.symmetric_placeholder = config.symmetric ? version : ZeroPoints::gptq_v1;
  config.act_order = act_order;
  return config;
}

QuantConfig awq(std::int64_t group) {
  QuantConfig config;
  config.zero_points = ZeroPoints::awq;
  config.awq_layout = true;
  config.group_size = group;
  return config;
}

TEST(QuantConfig, ReadsWhatThePublicPackagesWrite) {
  EXPECT_EQ(parse(public_config("gptq_v1_autogptq"), ConfigFile::quantize_json),
            gptq(ZeroPoints::gptq_v1, ZeroPoints::gptq_v1, true));
  EXPECT_EQ(parse(public_config("gptq_v1_gptqmodel")),
            gptq(ZeroPoints::sym, ZeroPoints::gptq_v1, false));
  EXPECT_EQ(parse(public_config("gptq_v2_gptqmodel")),
            gptq(ZeroPoints::gptq_v2, ZeroPoints::gptq_v2, true));
  EXPECT_EQ(parse(public_config("gptq_v1_transformers")),
            gptq(ZeroPoints::sym, ZeroPoints::gptq_v1, false));
  EXPECT_EQ(parse(public_config("awq_autoawq"), ConfigFile::quant_json), awq(128));
  EXPECT_EQ(parse(public_config("awq_autoawq_hf")), awq(64));
}

TEST(QuantConfig, ForAwqZeroPointCountsAndSymDoesNot) {
  json config = public_config("awq_transformers");
  EXPECT_TRUE(config["sym"].get<bool>());
  EXPECT_EQ(parse(config), awq(128));
  config["zero_point"] = false;
  EXPECT_TRUE(parse(config).symmetric);
  config["sym"] = false;
  EXPECT_TRUE(parse(config).symmetric);
}

TEST(QuantConfig, RefusesByNameWhatIsNotServed) {
  const auto refuse = [](const std::string& words, const json& config,
                         ConfigFile file = ConfigFile::config_json) {
    expect_rejected<Unsupported>(words, [&] { parse(config, file); });
  };
  refuse("\"compressed-tensors\"", public_config("ct_asym_group"));
  refuse("\"compressed-tensors\"", public_config("ct_sym_channel"));
  refuse("\"hqq\"", public_config("hqq_transformers"));
  refuse("AWQ version \"gemv_fast\"", public_config("awq_gemv_fast_autoawq_hf"));
  json config = public_config("awq_autoawq_hf");
  config["version"] = "GEMV";
  refuse("AWQ version \"gemv\"", config);
  config["version"] = "gemm";
  config["desc_act"] = true;
  refuse("AWQ has no g_idx", config);
  config = public_config("gptq_v1_gptqmodel");
  config["bits"] = 8;
  refuse("8-bit weights", config);
  config = public_config("gptq_v1_autogptq");
  config["is_marlin_format"] = true;
  refuse("Marlin", config);
  config = public_config("gptq_v1_gptqmodel");
  config["checkpoint_format"] = config["format"] = "marlin";
  refuse("checkpoint_format \"marlin\"", config);
  config = public_config("gptq_v1_gptqmodel");
  config["dynamic"] = {{"-:lm_head", json::object()}};
  refuse("per-module overrides", config);
  config = public_config("gptq_v1_gptqmodel");
  config["pack_dtype"] = "int8";
  refuse("pack_dtype", config);
}

TEST(QuantConfig, NeverGuesses) {
  const auto refuse = [](const std::string& words, const std::string& name, const auto& damage) {
    json config = public_config(name);
    damage(config);
    expect_rejected<InputError>(words, [&] { parse(config); });
  };
  refuse("expected sym to be true or false", "gptq_v1_gptqmodel", [](json& c) { c.erase("sym"); });
  refuse("expected desc_act to be", "gptq_v1_gptqmodel", [](json& c) { c["desc_act"] = nullptr; });
  refuse("expected desc_act to be", "gptq_v1_gptqmodel", [](json& c) { c["desc_act"] = 1; });
  refuse("expected bits to be an integer", "gptq_v1_gptqmodel", [](json& c) { c.erase("bits"); });
  refuse("expected bits to be an integer", "gptq_v1_gptqmodel", [](json& c) { c["bits"] = "4"; });
  refuse("expected bits to be an integer below", "gptq_v1_gptqmodel",
         [](json& c) { c["bits"] = 18446744073709551615ULL; });
  refuse("group_size to be positive, or -1", "gptq_v1_gptqmodel",
         [](json& c) { c["group_size"] = 0; });
  refuse("checkpoint_format \"gptq_v2\" and format \"gptq\" disagree", "gptq_v1_gptqmodel",
         [](json& c) { c["checkpoint_format"] = "gptq_v2"; });
  refuse("expected quant_method to be stated", "gptq_v1_gptqmodel", [](json& c) {
    c.erase("quant_method");
    c.erase("method");
  });
  refuse("expected version to be stated", "awq_autoawq_hf", [](json& c) { c.erase("version"); });
  refuse("expected zero_point to be", "awq_autoawq_hf", [](json& c) { c.erase("zero_point"); });
  refuse("bits and w_bit disagree", "awq_autoawq_hf", [](json& c) { c["w_bit"] = 8; });
  refuse("is no object", "awq_autoawq_hf", [](json& c) { c = json::array(); });
}

TEST(QuantConfig, WritesWhatItReads) {
  for (const auto& config : {gptq(ZeroPoints::gptq_v1, ZeroPoints::gptq_v1, true),
                             gptq(ZeroPoints::gptq_v2, ZeroPoints::gptq_v2, false),
                             gptq(ZeroPoints::sym, ZeroPoints::gptq_v1, false),
                             gptq(ZeroPoints::sym, ZeroPoints::gptq_v2, true), awq(32), awq(-1)}) {
    EXPECT_EQ(parse(public_quant_config(config)), config);
  }
}

TEST(QuantConfig, FindsItInAFolder) {
  const ScratchFolder folder;
  expect_rejected<InputError>("never guessed", [&] { read_quant_config(folder.path()); });
  write_file(folder.path() / "config.json", R"({"model_type": "llama"})");
  expect_rejected<InputError>("never guessed", [&] { read_quant_config(folder.path()); });
  write_file(folder.path() / "quantize_config.json", public_config("gptq_v1_autogptq").dump());
  EXPECT_EQ(read_quant_config(folder.path()), gptq(ZeroPoints::gptq_v1, ZeroPoints::gptq_v1, true));
  const json same = {{"quantization_config", public_config("gptq_v1_autogptq")}};
  expect_rejected<InputError>("expected quant_method", [&] {
    json without = same;
    without["quantization_config"].erase("quant_method");
    write_file(folder.path() / "config.json", without.dump());
    read_quant_config(folder.path());
  });
  write_file(folder.path() / "config.json", same.dump());
  EXPECT_NO_THROW(read_quant_config(folder.path()));
  const json other = {{"quantization_config", public_config("gptq_v2_gptqmodel")}};
  write_file(folder.path() / "config.json", other.dump());
  expect_rejected<InputError>("state different conventions",
                              [&] { read_quant_config(folder.path()); });
  write_file(folder.path() / "config.json", "[]");
  expect_rejected<InputError>("expected a JSON object", [&] { read_quant_config(folder.path()); });
  write_file(folder.path() / "config.json", "{\"a\":1,\"a\":2}");
  expect_rejected<InputError>("\"a\" appears twice", [&] { read_quant_config(folder.path()); });
}

}  // namespace
}  // namespace bitgate::formats
