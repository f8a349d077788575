#include "reference/formats/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/formats/expect_rejected.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::formats {
namespace {

std::string file_of(std::string_view header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file.append(data_bytes, '\x5a');
  return file;
}

void refuse(const std::string& words, const std::string& file) {
  SCOPED_TRACE(file.substr(8, 120));
  expect_rejected<InputError>(
      words, [&] { Safetensors::parse(std::as_bytes(std::span(file.data(), file.size())), "t"); });
}

std::string tensor(std::string_view name, std::string_view dtype, std::string_view shape,
                   std::string_view offsets) {
  std::string text = "\"";
  text.append(name).append("\":{\"dtype\":\"").append(dtype).append("\",\"shape\":").append(shape);
  return text.append(",\"data_offsets\":").append(offsets).append("}");
}

TEST(Safetensors, ReadsWhatThePublicPackageWrote) {
  const Safetensors file = open_vector("awq_gemm_bf16_g64");
  EXPECT_EQ(file.metadata().at("convention"), "awq_gemm");
  EXPECT_EQ(describe(file.layout("dequant_f32")), "F32 [128, 32]");
  EXPECT_EQ(file.read<std::uint8_t>("q", DType::u8).size(), 128U * 32U);
  expect_rejected<InputError>("expected F16, found BF16 [2, 32]",
                              [&] { file.read<std::uint16_t>("scales", DType::f16); });
  expect_rejected<InputError>("a tensor \"none\"", [&] { file.bytes("none"); });
}

TEST(Safetensors, WritesOneCanonicalForm) {
  const ScratchFolder folder;
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  const std::vector<float> floats = {0.5F, -2};
  const std::map<std::string, Tensor> tensors = {
      {"a", Tensor::of<std::uint8_t>(DType::u8, {3}, bytes)},
      {"b", Tensor::of<float>(DType::f32, {2, 1}, floats)},
      {"empty", {{DType::i64, {0, 7}}, {}}}};
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(path, tensors, {{"made", "by a test"}});
  const std::string text = read_text_file(path);
  EXPECT_EQ(text.substr(8), R"({"__metadata__":{"made":"by a test"},)"
                            R"("a":{"data_offsets":[8,11],"dtype":"U8","shape":[3]},)"
                            R"("b":{"data_offsets":[0,8],"dtype":"F32","shape":[2,1]},)"
                            R"("empty":{"data_offsets":[0,0],"dtype":"I64","shape":[0,7]}}    )" +
                                std::string("\0\0\0\x3f\0\0\0\xc0\x01\x02\x03", 11));
  const Safetensors file = Safetensors::open(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b", "empty"}));
  EXPECT_EQ(file.read<float>("b", DType::f32), floats);
  EXPECT_EQ(file.read<std::uint8_t>("a", DType::u8), bytes);
  EXPECT_TRUE(file.read<std::int64_t>("empty", DType::i64).empty());
  EXPECT_EQ(file.metadata().at("made"), "by a test");
}

TEST(Safetensors, RewritesAForeignFileWithoutLoss) {
  const ScratchFolder folder;
  const Safetensors file = open_vector("gptq_v1_act_g32");
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : file.names()) {
    const auto bytes = file.bytes(name);
    tensors[name] = {file.layout(name), {bytes.begin(), bytes.end()}};
  }
  write_safetensors(folder.path() / "x", tensors, file.metadata());
  const Safetensors again = Safetensors::open(folder.path() / "x");
  EXPECT_EQ(again.names(), file.names());
  EXPECT_EQ(again.metadata(), file.metadata());
  for (const std::string& name : file.names()) {
    EXPECT_EQ(again.layout(name), file.layout(name));
    EXPECT_TRUE(std::ranges::equal(again.bytes(name), file.bytes(name)));
  }
}

TEST(Safetensors, AnAbandonedWriterLeavesNothing) {
  const ScratchFolder folder;
  const auto path = folder.path() / "x.safetensors";
  {
    SafetensorsWriter writer(path, {{"a", {DType::u8, {3}}}, {"b", {DType::u8, {1}}}}, {});
    const std::vector<std::byte> bytes(3);
    expect_rejected<InputError>("out of order", [&] { writer.append("b", bytes); });
    expect_rejected<InputError>("U8 [3], but has 2 bytes",
                                [&] { writer.append("a", std::span(bytes).first(2)); });
    writer.append("a", bytes);
    expect_rejected<InputError>("b was never appended", [&] { writer.commit(); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  expect_rejected<InputError>("cannot be written", [&] {
    write_safetensors(folder.path() / "none" / "x.safetensors", {});
  });
}

TEST(Safetensors, NamesTheRuleThatIsBroken) {
  expect_rejected<InputError>("too few for a header length", [] { Safetensors::parse({}, "t"); });
  refuse("announces a header of 17 bytes, 16 follow",
         std::string("\x11\0\0\0\0\0\0\0", 8) + "{}              ");
  refuse("at most 33554432 are accepted", std::string("\0\0\0\0\0\0\0\x80", 8) + "{}");
  refuse("does not begin with '{'", file_of(" {}", 0));
  refuse("does not begin with '{'", file_of("", 0));
  refuse("not JSON", file_of("{\"a\":", 0));
  refuse("not JSON", file_of("{\"\xff\":1}", 0));
  refuse("deeper than 3 levels", file_of("{\"a\":{\"shape\":[[1]]}}", 0));
  refuse("deeper than 3 levels", file_of("{\"a\":" + std::string(100000, '['), 0));
  refuse("\"a\" appears twice", file_of("{" + tensor("a", "U8", "[1]", "[0,1]") + "," +
                                            tensor("a", "U8", "[1]", "[0,1]") + "}",
                                        1));
  refuse("expected an object with dtype", file_of("{\"a\":{}}", 0));
  refuse("expected an object with dtype", file_of("{\"a\":[]}", 0));
  refuse("unknown dtype \"U9\"", file_of("{" + tensor("a", "U9", "[1]", "[0,1]") + "}", 1));
  refuse("its shape holds", file_of("{" + tensor("a", "U8", "[-1]", "[0,1]") + "}", 1));
  refuse("its shape holds", file_of("{" + tensor("a", "U8", "[1.0]", "[0,1]") + "}", 1));
  refuse("its shape holds",
         file_of("{" + tensor("a", "U8", "[18446744073709551615]", "[0,1]") + "}", 1));
  refuse("shape is no array", file_of("{" + tensor("a", "U8", "1", "[0,1]") + "}", 1));
  refuse("no two byte offsets", file_of("{" + tensor("a", "U8", "[1]", "[0]") + "}", 1));
  refuse("no two byte offsets", file_of("{" + tensor("a", "U8", "[1]", "[-1,0]") + "}", 1));
  refuse("do not lie in the file", file_of("{" + tensor("a", "U8", "[2]", "[0,2]") + "}", 1));
  refuse("do not lie in the file", file_of("{" + tensor("a", "U8", "[0]", "[1,0]") + "}", 1));
  refuse("F32 [1] does not take the 1 bytes",
         file_of("{" + tensor("a", "F32", "[1]", "[0,1]") + "}", 1));
  refuse("does not take the 0 bytes",
         file_of("{" + tensor("a", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0));
  refuse("overlap at data byte 1", file_of("{" + tensor("a", "U8", "[2]", "[0,2]") + "," +
                                               tensor("b", "U8", "[2]", "[1,3]") + "}",
                                           3));
  refuse("leave a gap at data byte 1", file_of("{" + tensor("a", "U8", "[1]", "[0,1]") + "," +
                                                   tensor("b", "U8", "[1]", "[2,3]") + "}",
                                               3));
  refuse("2 data bytes follow", file_of("{" + tensor("a", "U8", "[1]", "[0,1]") + "}", 3));
  refuse("__metadata__ is no object", file_of("{\"__metadata__\":1}", 0));
  refuse("__metadata__ \"x\" is no string", file_of("{\"__metadata__\":{\"x\":1}}", 0));
}

TEST(Safetensors, ShowsAHostileNameHarmlessly) {
  const std::string name = "\\u001b[31m" + std::string(5000, 'x');
  const std::string file = file_of("{" + tensor(name, "U9", "[1]", "[0,1]") + "}", 1);
  try {
    Safetensors::parse(std::as_bytes(std::span(file.data(), file.size())), "t");
    FAIL();
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 200U);
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    EXPECT_NE(message.find("\\x1b[31m"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace bitgate::formats
