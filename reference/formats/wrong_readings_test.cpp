#include "reference/formats/wrong_readings.h"

#include <gtest/gtest.h>

#include <string>

#include "reference/formats/gptq.h"
#include "reference/formats/test_vectors.h"

namespace bitgate::formats {
namespace {

const std::vector<std::string> kWriters = {"autogptq_pack", "gptqmodel_v2_to_v1",
                                           "gptqmodel_revert", "autoawq_unpack_reorder_pack"};

std::vector<std::int32_t> widen(const std::vector<std::uint8_t>& values) {
  return {values.begin(), values.end()};
}

TEST(WrongReadings, EachIsItsPackagesReading) {
  const Safetensors file = open_vector("gptq_v1_zero_is_0");
  for (const std::string& writer : kWriters) {
    SCOPED_TRACE(writer);
    const auto words = file.read<std::int32_t>("qzeros." + writer, DType::i32);
    const auto reading = [&](const std::string& reader) {
      return file.read<std::int32_t>("read." + reader + "." + writer, DType::i32);
    };
    std::vector<std::uint8_t> right(8 * words.size());
    GptqV1Zeros::unpack(words, 2, 64, right);
    EXPECT_EQ(widen(right), reading("autogptq_cuda"));
    EXPECT_EQ(widen(right), reading("autogptq_marlin"));
    EXPECT_EQ(widen(wrong_v1_zeros_wrap(words)), reading("autogptq_cuda_old"));
    EXPECT_EQ(widen(wrong_v1_zeros_wrap(words)), reading("gptqmodel_correct"));
    EXPECT_EQ(widen(wrong_v1_zeros_carry(words)), reading("gptqmodel_v1_to_v2"));
  }
}

TEST(WrongReadings, TheyDifferFromOursAndFromEachOtherExactlyAtAStored15) {
  const std::vector<std::int32_t> none = {0x01234567, 0x6eedcba9};
  const std::vector<std::int32_t> one = {0x012345f7};
  const auto right = [](const std::vector<std::int32_t>& words) {
    std::vector<std::uint8_t> z(8 * words.size());
    GptqV1Zeros::unpack(words, 1, static_cast<std::int64_t>(z.size()), z);
    return z;
  };
  EXPECT_EQ(right(none), wrong_v1_zeros_wrap(none));
  EXPECT_EQ(right(none), wrong_v1_zeros_carry(none));
  EXPECT_EQ(right(one), (std::vector<std::uint8_t>{8, 16, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(wrong_v1_zeros_wrap(one), (std::vector<std::uint8_t>{8, 0, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(wrong_v1_zeros_carry(one), (std::vector<std::uint8_t>{8, 0, 7, 5, 4, 3, 2, 1}));
}

TEST(WrongReadings, V2StoresTheZeroItself) {
  const Safetensors file = open_vector("gptq_v1_zero_is_0");
  std::vector<std::uint8_t> z(128);
  GptqV2Zeros::unpack(file.read<std::int32_t>("qzeros_v2", DType::i32), 2, 64, z);
  EXPECT_EQ(widen(z), file.read<std::int32_t>("z", DType::i32));
}

}  // namespace
}  // namespace bitgate::formats
