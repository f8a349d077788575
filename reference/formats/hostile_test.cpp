#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "reference/formats/gguf.h"
#include "reference/formats/quant_config.h"
#include "reference/formats/strict_json.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/random.h"

namespace bitgate::formats {
namespace {

using Bytes = std::vector<std::byte>;
using Reader = std::function<void(std::span<const std::byte>)>;

/// Everything that can be reached in a file that was accepted.
void read_gguf(std::span<const std::byte> bytes) {
  const Gguf file = Gguf::parse(bytes, "t");
  for (const GgufTensor& tensor : file.tensors()) {
    const BlockType* const type = find_block_type(tensor.type);
    if (type != nullptr && type->decode != nullptr) file.dequantize(tensor);
  }
}

void read_safetensors(std::span<const std::byte> bytes) {
  const Safetensors file = Safetensors::parse(bytes, "t");
  for (const std::string& name : file.names()) {
    if (file.layout(name).dtype == DType::i32) file.read<std::int32_t>(name, DType::i32);
  }
}

void read_config(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  parse_quant_config(parse_strict_json(text, "t", 64), ConfigFile::config_json, "t");
}

struct Counts {
  int accepted = 0;
  int rejected = 0;
};

/// Anything but our two errors ends the test.
void count(const Reader& reader, std::span<const std::byte> bytes, Counts& counts) {
  // A copy of exactly its size, so that a sanitizer sees the first byte past it.
  const Bytes copy(bytes.begin(), bytes.end());
  try {
    reader(copy);
    ++counts.accepted;
  } catch (const InputError&) {
    ++counts.rejected;
  } catch (const Unsupported&) {
    ++counts.rejected;
  }
}

void report(const char* what, const char* how, const Counts& counts) {
  std::printf("%s, %s: %d files, %d rejected, %d read\n", what, how,
              counts.rejected + counts.accepted, counts.rejected, counts.accepted);
}

Counts truncate_everywhere(const Reader& reader, const Bytes& good) {
  Counts counts;
  for (std::size_t size = 0; size < good.size(); ++size) {
    count(reader, std::span(good).first(size), counts);
  }
  return counts;
}

/// One to eight bytes changed, nine times of ten within the first `head` bytes, where the structure
/// is; to a random value, one flipped bit, 0 or 255.
Counts flip_bytes(const Reader& reader, const Bytes& good, std::size_t head, int files) {
  Counts counts;
  Random random(1);
  for (int i = 0; i < files; ++i) {
    Bytes bad = good;
    for (std::uint64_t flips = 1 + random.below(8); flips > 0; --flips) {
      std::byte& at = bad[random.below(random.chance(0.9) ? head : bad.size())];
      switch (random.below(4)) {
        case 0:
          at = static_cast<std::byte>(random.below(256));
          break;
        case 1:
          at ^= static_cast<std::byte>(1U << random.below(8));
          break;
        case 2:
          at = std::byte{0};
          break;
        default:
          at = std::byte{255};
          break;
      }
    }
    count(reader, bad, counts);
  }
  return counts;
}

void attack(const char* what, const Reader& reader, const Bytes& good, std::size_t head) {
  Counts unharmed;
  count(reader, good, unharmed);
  EXPECT_EQ(unharmed.accepted, 1);
  const Counts truncated = truncate_everywhere(reader, good);
  report(what, "truncated at every byte", truncated);
  EXPECT_EQ(truncated.accepted, 0);
  const Counts flipped = flip_bytes(reader, good, head, 4000);
  report(what, "bytes changed", flipped);
  EXPECT_GT(flipped.rejected, 400);
  EXPECT_GT(flipped.accepted, 40);
}

TEST(Hostile, Gguf) {
  Bytes good = read_file(vector_path("gguf_small.gguf"));
  const Gguf file = Gguf::parse(good, "t");
  const GgufTensor& last = file.tensors().back();
  // The file ends with padding that nobody needs: without it, every truncation is one.
  good.resize(last.offset + last.bytes);
  attack("GGUF", read_gguf, good, file.tensors().front().offset);
}

TEST(Hostile, Safetensors) {
  const ScratchFolder folder;
  const std::vector<std::int32_t> words = {1, 2, 3, 4, 5, 6};
  const std::vector<std::uint16_t> halves = {7, 8, 9};
  write_safetensors(folder.path() / "x",
                    {{"layer.qweight", Tensor::of<std::int32_t>(DType::i32, {2, 3}, words)},
                     {"layer.qzeros", Tensor::of<std::int32_t>(DType::i32, {6}, words)},
                     {"layer.scales", Tensor::of<std::uint16_t>(DType::f16, {1, 3}, halves)}},
                    {{"format", "pt"}});
  const Bytes good = read_file(folder.path() / "x");
  attack("safetensors", read_safetensors, good, good.size() - 54);
}

TEST(Hostile, QuantConfig) {
  const auto configs = nlohmann::json::parse(read_text_file(vector_path("configs.json")));
  const std::string text = configs["gptq_v2_gptqmodel"]["config"].dump();
  const auto bytes = std::as_bytes(std::span(text));
  attack("config", read_config, {bytes.begin(), bytes.end()}, text.size());
}

TEST(Hostile, DeepJsonIsRefusedNotFollowed) {
  const std::string open(1'000'000, '[');
  EXPECT_THROW(parse_strict_json(open, "t", 64), InputError);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THROW(parse_strict_json(objects, "t", 64), InputError);
}

}  // namespace
}  // namespace bitgate::formats
