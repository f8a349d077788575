#include "reference/formats/gguf_blocks/block_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "reference/formats/test_vectors.h"

namespace bitgate::formats {
namespace {

const BlockType& type_named(const std::string& name) {
  for (std::uint32_t id = 0; id < 64; ++id) {
    const BlockType* const type = find_block_type(id);
    if (type != nullptr && type->name == name) return *type;
  }
  throw std::runtime_error("no block type " + name);
}

/// Bits, signs of zero included; a NaN equals a NaN.
void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
        << "element " << i << ": " << got[i] << " instead of " << want[i];
  }
}

std::vector<float> decode(const BlockType& type, const std::vector<std::byte>& blocks) {
  const auto size = static_cast<std::size_t>(type.bytes);
  const auto elements = static_cast<std::size_t>(type.elements);
  std::vector<float> values(blocks.size() / size * elements);
  for (std::size_t b = 0; b < blocks.size() / size; ++b) {
    type.decode(blocks.data() + b * size, values.data() + b * elements);
  }
  return values;
}

void expect_file(const std::string& stem, const std::string& type, const std::string& prefix) {
  SCOPED_TRACE(stem + " " + type);
  const Safetensors file = open_vector(stem);
  const auto got =
      decode(type_named(type), file.read<std::byte>(type + "." + prefix + "blocks", DType::u8));
  expect_same_bits(got, file.read<float>(type + "." + prefix + "f32", DType::f32));
}

TEST(BlockType, DecodesRandomBlocksToTheBitsOfThePublicPackages) {
  for (const char* type : {"Q2_K", "Q3_K", "Q5_K"}) {
    expect_file("gguf_random_q2_k_q3_k_q5_k", type, "");
  }
  for (const char* type : {"Q4_0", "Q4_1", "Q8_0"}) {
    expect_file("gguf_random_q4_0_q4_1_q8_0", type, "");
  }
  for (const char* type : {"Q4_K", "Q6_K"}) expect_file("gguf_random_q4_k_q6_k", type, "");
  for (const char* type : {"Q5_0", "Q5_1"}) expect_file("gguf_random_q5_0_q5_1", type, "");
}

TEST(BlockType, DecodesQuantisedBlocks) {
  for (const char* type : {"Q4_K", "Q6_K"}) expect_file("gguf_quantised_k", type, "ggml_");
  for (const char* type : {"Q4_0", "Q4_1", "Q8_0"}) {
    expect_file("gguf_quantised_legacy", type, "ggml_");
  }
}

TEST(BlockType, DecodesSpecialScales) {
  for (const char* type : {"Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"}) {
    expect_file("gguf_special_scales", type, "");
  }
}

TEST(BlockType, NamesWhatItDoesNotDecode) {
  EXPECT_EQ(find_block_type(4), nullptr);
  EXPECT_EQ(find_block_type(77), nullptr);
  EXPECT_EQ(block_type_name(77), "type 77");
  EXPECT_EQ(block_type_name(23), "IQ4_XS");
  EXPECT_EQ(find_block_type(23)->decode, nullptr);
}

}  // namespace
}  // namespace bitgate::formats
