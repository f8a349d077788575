#include "reference/formats/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/formats/expect_rejected.h"
#include "reference/formats/gguf_builder.h"
#include "reference/formats/real_model.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 13> kTypeNames = {
    "UINT8", "INT8",   "UINT16", "INT16",  "UINT32", "INT32",  "FLOAT32",
    "BOOL",  "STRING", "ARRAY",  "UINT64", "INT64",  "FLOAT64"};

json to_json(const GgufArray& array) {
  return std::visit(
      []<typename T>(const std::vector<T>& values) -> json {
        json list = json::array();
        if constexpr (!std::is_same_v<T, GgufArray>) {
          for (const auto& value : values) list.push_back(T(value));
        }
        return list;
      },
      array.elements);
}

json to_json(const GgufValue& value) {
  return std::visit(
      []<typename T>(const T& alternative) -> json {
        if constexpr (std::is_same_v<T, GgufArray>) {
          return to_json(alternative);
        } else {
          return alternative;
        }
      },
      value);
}

TEST(Gguf, ReadsMetadataOfEveryKind) {
  const Gguf file = Gguf::open(vector_path("gguf_small.gguf"));
  const json want = json::parse(read_text_file(vector_path("gguf_small.json")));
  EXPECT_EQ(file.version(), 3U);
  std::size_t seen = 0;
  for (const auto& [key, entry] : want["kv"].items()) {
    if (key.rfind("GGUF.", 0) == 0) continue;
    SCOPED_TRACE(key);
    ++seen;
    ASSERT_EQ(file.metadata().count(key), 1U);
    const GgufValue& value = file.metadata().find(key)->second;
    EXPECT_EQ(kTypeNames[value.index()], entry["types"][0].get<std::string>());
    if (const auto* const array = std::get_if<GgufArray>(&value)) {
      EXPECT_EQ(kTypeNames[array->elements.index()], entry["types"][1].get<std::string>());
    }
    EXPECT_EQ(to_json(value), entry["value"]);
  }
  EXPECT_EQ(seen, 17U);
  EXPECT_EQ(file.metadata().size(), seen);
}

TEST(Gguf, ReadsTensorsWhereTheyLie) {
  const Gguf file = Gguf::open(vector_path("gguf_small.gguf"));
  const json want = json::parse(read_text_file(vector_path("gguf_small.json")));
  const Safetensors values = open_vector("gguf_small");
  ASSERT_EQ(file.tensors().size(), want["tensors"].size());
  for (const GgufTensor& tensor : file.tensors()) {
    SCOPED_TRACE(tensor.name);
    const json& entry = want["tensors"][tensor.name];
    EXPECT_EQ(block_type_name(tensor.type), entry["type"].get<std::string>());
    EXPECT_EQ(json(tensor.dims), entry["dims"]);
    EXPECT_EQ(tensor.offset, entry["offset_in_file"].get<std::uint64_t>());
    EXPECT_EQ(tensor.bytes, entry["bytes"].get<std::uint64_t>());
    EXPECT_EQ(values.layout(tensor.name).shape,
              (std::vector<std::int64_t>{tensor.rows(), tensor.columns()}));
    EXPECT_EQ(file.dequantize(tensor), values.read<float>(tensor.name, DType::f32));
  }
}

TEST(Gguf, ReadsTheRealModel) {
  const Gguf file = Gguf::open(real_model_path());
  const Safetensors rows = open_vector("gguf_smollm2_rows");
  std::map<std::string, int> types;
  for (const GgufTensor& tensor : file.tensors()) ++types[block_type_name(tensor.type)];
  EXPECT_EQ(types, (std::map<std::string, int>{{"F32", 61}, {"Q4_1", 210}, {"Q8_0", 1}}));
  struct Rows {
    std::string tensor;
    std::string range;
    std::uint64_t offset;
    std::size_t first;
  };
  for (const Rows& r : {Rows{"blk.0.attn_q.weight", "[0:8]", 33806656, 0},
                        Rows{"blk.0.ffn_down.weight", "[570:573]", 31868992, 570},
                        Rows{"token_embd.weight", "[504:507]", 1785664, 504}}) {
    SCOPED_TRACE(r.tensor);
    const GgufTensor* const tensor = file.find(r.tensor);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->offset, r.offset);
    const auto blocks = rows.bytes(r.tensor + r.range + ".blocks");
    const std::size_t row_bytes = tensor->bytes / static_cast<std::size_t>(tensor->rows());
    EXPECT_TRUE(std::ranges::equal(file.bytes(*tensor).subspan(r.first * row_bytes, blocks.size()),
                                   blocks));
    const auto want = rows.read<float>(r.tensor + r.range + ".f32", DType::f32);
    const std::vector<float> got = file.dequantize(*tensor);
    const auto columns = static_cast<std::size_t>(tensor->columns());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[r.first * columns + i]),
                std::bit_cast<std::uint32_t>(want[i]));
    }
  }
}

TEST(Gguf, ReadsVersion2AndItsOwnAlignment) {
  const auto bytes = GgufBuilder(2)
                         .value("general.alignment", 4, std::uint32_t{32})
                         .tensor_f32("w", {2}, {1, 2})
                         .bytes();
  const Gguf file = Gguf::parse(bytes, "t");
  EXPECT_EQ(file.version(), 2U);
  EXPECT_EQ(file.dequantize(*file.find("w")), (std::vector<float>{1, 2}));
}

void refuse(const std::string& words, const GgufBuilder& builder) {
  const auto bytes = builder.bytes();
  expect_rejected<InputError>(words, [&] { Gguf::parse(bytes, "t"); });
}

TEST(Gguf, NamesTheRuleThatIsBroken) {
  const std::string nothing(64, '\0');
  expect_rejected<InputError>("the letters GGUF",
                              [&] { Gguf::parse(std::as_bytes(std::span(nothing)), "t"); });
  refuse("GGUF version 4", GgufBuilder(4));
  refuse("value type 13", GgufBuilder().raw_value("k", 13, "........"));
  refuse("a bool of 2", GgufBuilder().raw_value("k", 7, "\x02"));
  refuse("metadata key \"k\" appears twice", GgufBuilder().text("k", "").text("k", ""));
  refuse("tensor \"w\" appears twice",
         GgufBuilder().tensor_f32("w", {1}, {1}).tensor_f32("w", {1}, {1}));
  refuse("5 dimensions", GgufBuilder().tensor_f32("w", {1, 1, 1, 1, 1}, {1}));
  refuse("more than 2^63 elements", GgufBuilder().tensor_at("w", {1ULL << 40, 1ULL << 40}, 0, 0));
  refuse("more than 2^63 elements",
         GgufBuilder().tensor_at("w", {0, 1ULL << 40, 1ULL << 40}, 0, 0));
  refuse("dimension 18446744073709551615", GgufBuilder().tensor_at("w", {~0ULL}, 0, 0));
  refuse("no whole Q4_0 blocks of 32", GgufBuilder().tensor_at("w", {48}, 2, 0));
  refuse("multiple of the alignment 32", GgufBuilder().tensor_at("w", {1}, 0, 16));
  refuse("do not lie in the file", GgufBuilder().tensor_at("w", {1}, 0, 32));
  refuse("do not lie in the file", GgufBuilder().tensor_at("w", {1}, 0, ~31ULL));
  refuse("\"a\" and \"b\" overlap",
         GgufBuilder().tensor_f32("a", {16}, std::vector<float>(16)).tensor_at("b", {1}, 0, 32));
  refuse("general.alignment 24: expected a power of two",
         GgufBuilder().value("general.alignment", 4, std::uint32_t{24}));
  refuse("general.alignment\" is no integer", GgufBuilder().text("general.alignment", "32"));
  refuse("cannot lie in the",
         GgufBuilder().raw_value("k", 9, std::string("\0\0\0\0\0\0\0\0\0\0\0\x01", 12)));
  std::string nested;
  for (int i = 0; i < 6; ++i) nested += std::string("\x09\0\0\0\x01\0\0\0\0\0\0\0", 12);
  refuse("nested more than 4 deep",
         GgufBuilder().raw_value("k", 9, nested + std::string(64, '\0')));
  expect_rejected<Unsupported>("big-endian", [] {
    const auto bytes = GgufBuilder(0x03000000U).bytes();
    Gguf::parse(bytes, "t");
  });
  expect_rejected<Unsupported>("version 1", [] {
    const auto bytes = GgufBuilder(1).bytes();
    Gguf::parse(bytes, "t");
  });
}

TEST(Gguf, NamesATypeThatItDoesNotDecode) {
  const auto bytes = GgufBuilder().tensor_at("w", {7}, 77, 0).tensor_at("v", {0}, 23, 0).bytes();
  const Gguf file = Gguf::parse(bytes, "t");
  expect_rejected<Unsupported>("tensor \"w\" is type 77",
                               [&] { file.dequantize(*file.find("w")); });
  expect_rejected<Unsupported>("tensor \"v\" is IQ4_XS", [&] { file.dequantize(*file.find("v")); });
}

}  // namespace
}  // namespace bitgate::formats
