#include "reference/formats/dequantize.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "reference/formats/expect_rejected.h"
#include "reference/formats/gguf_builder.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::formats {
namespace {

/// A checkpoint folder of one vector file's packed tensors.
void write_folder(const std::filesystem::path& folder, const std::string& stem,
                  const std::string& config) {
  const Safetensors file = open_vector(stem);
  std::map<std::string, Tensor> tensors;
  for (const char* suffix : {"qweight", "qzeros", "scales", "g_idx"}) {
    if (!file.has(suffix)) continue;
    const auto bytes = file.bytes(suffix);
    tensors["layer." + std::string(suffix)] = {file.layout(suffix), {bytes.begin(), bytes.end()}};
  }
  write_safetensors(folder / "model.safetensors", tensors);
  write_file(folder / "config.json", "{\"quantization_config\":" + config + "}");
}

TEST(Dequantize, ReadsACheckpointOfAPublicPackage) {
  struct Case {
    std::string stem;
    std::string config;
  };
  for (const Case& c :
       {Case{"gptq_v1_act_g32", R"({"quant_method":"gptq","bits":4,"group_size":32,"desc_act":true,
                                    "sym":false})"},
        Case{"gptq_v2_asym_g64", R"({"quant_method":"gptq","bits":4,"group_size":64,
                                     "desc_act":false,"sym":false,"checkpoint_format":"gptq_v2"})"},
        Case{"gptq_v2_sym_channel", R"({"quant_method":"gptq","bits":4,"group_size":-1,
                                        "desc_act":false,"sym":true,
                                        "checkpoint_format":"gptq_v2"})"},
        Case{"awq_gemm_bf16_g64", R"({"quant_method":"awq","bits":4,"group_size":64,
                                      "zero_point":true,"version":"gemm"})"}}) {
    SCOPED_TRACE(c.stem);
    const ScratchFolder folder;
    write_folder(folder.path(), c.stem, c.config);
    const auto out = folder.path() / "out.f32";
    const DequantizeResult result = dequantize_file(folder.path(), out);
    EXPECT_EQ(result.written, (std::vector<std::string>{"layer.weight"}));
    const Safetensors file = open_vector(c.stem);
    const auto want = file.read<float>("dequant_f32", DType::f32);
    const auto shape = file.layout("dequant_f32").shape;
    const Safetensors written = Safetensors::open(out);
    EXPECT_EQ(written.layout("layer.weight").shape,
              (std::vector<std::int64_t>{shape[1], shape[0]}));
    const auto got = written.read<float>("layer.weight", DType::f32);
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape[0]); ++k) {
      for (std::size_t n = 0; n < static_cast<std::size_t>(shape[1]); ++n) {
        ASSERT_EQ(got[n * static_cast<std::size_t>(shape[0]) + k],
                  want[k * static_cast<std::size_t>(shape[1]) + n]);
      }
    }
  }
}

TEST(Dequantize, ReadsAGgufUnderItsOwnNames) {
  const ScratchFolder folder;
  const auto out = folder.path() / "out.safetensors";
  const DequantizeResult result = dequantize_file(vector_path("gguf_small.gguf"), out);
  EXPECT_TRUE(result.left_out.empty());
  const Safetensors want = open_vector("gguf_small");
  const Safetensors got = Safetensors::open(out);
  EXPECT_EQ(got.names(), want.names());
  EXPECT_EQ(got.names(), result.written);
  for (const std::string& name : want.names()) {
    EXPECT_EQ(got.layout(name), want.layout(name));
    EXPECT_EQ(got.read<float>(name, DType::f32), want.read<float>(name, DType::f32));
  }
}

TEST(Dequantize, NamesTheTypesThatItLeavesOut) {
  const ScratchFolder folder;
  const std::vector<std::byte> block(18);
  write_file(folder.path() / "m.gguf", GgufBuilder()
                                           .tensor_f32("a", {2}, {1, 2})
                                           .tensor("b", {32, 1}, 20, block)
                                           .tensor_at("c", {5}, 77, 0)
                                           .bytes());
  const DequantizeResult result =
      dequantize_file(folder.path() / "m.gguf", folder.path() / "out.safetensors");
  EXPECT_EQ(result.written, (std::vector<std::string>{"a"}));
  ASSERT_EQ(result.left_out.size(), 2U);
  EXPECT_EQ(result.left_out[0].tensor, "b");
  EXPECT_EQ(result.left_out[0].type, "IQ4_NL");
  EXPECT_EQ(result.left_out[1].type, "type 77");
}

TEST(Dequantize, AFailureLeavesNothing) {
  const ScratchFolder folder;
  const auto out = folder.path() / "out.safetensors";
  expect_rejected<InputError>("cannot be opened",
                              [&] { dequantize_file(folder.path() / "none", out); });
  write_folder(folder.path(), "gptq_v1_asym_g32",
               R"({"quant_method":"gptq","bits":4,"group_size":64,"desc_act":false,"sym":false})");
  const auto elsewhere = folder.path() / "weights.f32";
  expect_rejected<InputError>("k = 96 is no multiple of the group size 64",
                              [&] { dequantize_file(folder.path(), elsewhere); });
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

}  // namespace
}  // namespace bitgate::formats
