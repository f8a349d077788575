#include "ci/suite/launch_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/random.h"

namespace bitgate::suite {
namespace {

// The example of the command line's contract.
constexpr const char* kExample = R"({ "module": "saxpy.ptx",
  "buffers": { "x":   {"bytes": 4096, "file": "x.bin"},
               "y":   {"bytes": 4096, "fill": "zero"},
               "out": {"bytes": 4096, "output": true},
               "lut": {"bytes": 64, "file": "lut.bin", "read_only": true} },
  "launches": [ { "entry": "saxpy", "grid": [4,1,1], "block": [256,1,1], "shared": 0,
                  "args": [ {"ptr": "x"}, {"ptr": "y", "offset": 64}, {"ptr": "out"}, {"ptr": null},
                            {"u32": 1024}, {"s32": -1}, {"u64": 7}, {"f32": 1.5}, {"f64": 0.5},
                            {"bytes": "00ff10"} ] } ] })";

LaunchFile parsed(std::string_view text) { return parse_launch_file(text, "k.json", "folder"); }

std::string error_of(std::string_view text) {
  try {
    parsed(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string with(std::string_view from, std::string_view to) {
  std::string text = kExample;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(LaunchFile, Example) {
  const LaunchFile file = parsed(kExample);
  EXPECT_EQ(file.module, "folder/saxpy.ptx");
  ASSERT_EQ(file.buffers.size(), 4u);
  EXPECT_EQ(file.buffers[0].name, "x");
  EXPECT_EQ(*file.buffers[0].file, "folder/x.bin");
  EXPECT_EQ(file.buffers[1].fill, std::byte{0});
  EXPECT_TRUE(file.buffers[2].output);
  EXPECT_FALSE(file.buffers[2].fill || file.buffers[2].file);
  EXPECT_TRUE(file.buffers[3].read_only);
  ASSERT_EQ(file.launches.size(), 1u);
  const LaunchFile::Launch& launch = file.launches[0];
  EXPECT_EQ(launch.entry, "saxpy");
  EXPECT_EQ(launch.grid, (kernels::Dim3{4, 1, 1}));
  EXPECT_EQ(launch.block, (kernels::Dim3{256, 1, 1}));
  ASSERT_EQ(launch.arguments.size(), 10u);
  EXPECT_EQ(launch.arguments[1].buffer, 1u);
  EXPECT_EQ(launch.arguments[1].offset, 64u);
  EXPECT_FALSE(launch.arguments[3].buffer);
  const auto as = [&]<typename T>(std::size_t i, T expected) {
    ASSERT_EQ(launch.arguments[i].bytes.size(), sizeof(T));
    T value;
    std::memcpy(&value, launch.arguments[i].bytes.data(), sizeof(T));
    EXPECT_EQ(value, expected);
  };
  as(4, std::uint32_t{1024});
  as(5, std::int32_t{-1});
  as(6, std::uint64_t{7});
  as(7, 1.5f);
  as(8, 0.5);
  EXPECT_EQ(launch.arguments[9].bytes,
            (std::vector{std::byte{0}, std::byte{0xff}, std::byte{0x10}}));
}

TEST(LaunchFile, Defaults) {
  const LaunchFile file =
      parsed(R"({"module": "/a.ptx", "launches": [{"grid": [2], "block": [32, 2]}]})");
  EXPECT_EQ(file.module, "/a.ptx");
  EXPECT_FALSE(file.launches[0].entry);
  EXPECT_EQ(file.launches[0].grid, (kernels::Dim3{2, 1, 1}));
  EXPECT_EQ(file.launches[0].block, (kernels::Dim3{32, 2, 1}));
  EXPECT_EQ(file.launches[0].shared, 0u);
  EXPECT_EQ(*parsed(with("\"zero\"", "\"0x7F\"")).buffers[1].fill, std::byte{0x7f});
}

TEST(LaunchFile, RandomContents) {
  const LaunchFile file = parsed(with(
      "\"fill\": \"zero\"",
      R"("random": {"seed": 7, "type": "s16", "low": -3, "high": 4}}, "r": {"bytes": 8, "random": 9)"));
  ASSERT_TRUE(file.buffers[1].random && file.buffers[2].random);
  EXPECT_EQ(file.buffers[1].random->seed, 7u);
  EXPECT_EQ(file.buffers[1].random->type, "s16");
  EXPECT_EQ(file.buffers[1].random->least, -3);
  EXPECT_EQ(file.buffers[1].random->most, 4);
  EXPECT_EQ(file.buffers[2].random->type, "bits");
  EXPECT_EQ(file.buffers[2].random->seed, 9u);
}

TEST(LaunchFile, EveryMistakeIsNamed) {
  struct Mistake {
    const char* from;
    const char* to;
    const char* message;
  };
  const Mistake mistakes[] = {
      {"\"module\"", "\"modul\"",
       "k.json: expected the keys \"module\", \"buffers\", \"launches\", found \"modul\""},
      {"\"saxpy.ptx\"", "3", "module: expected a string, found 3"},
      {"\"saxpy.ptx\"", "\"\"", "module: expected the path of a file"},
      {"\"bytes\": 4096, \"file\"", "\"byts\": 4096, \"file\"", "buffers.x: expected the keys"},
      {"\"bytes\": 4096, \"file\"", "\"file\"", "buffers.x: expected the key \"bytes\""},
      {"\"bytes\": 4096, \"file\"", "\"bytes\": 0, \"file\"",
       "buffers.x.bytes: expected an integer from 1 to 1099511627776, found 0"},
      {"\"bytes\": 4096, \"file\"", "\"bytes\": -1, \"file\"", "found -1"},
      {"\"bytes\": 4096, \"file\"", "\"bytes\": 1.5, \"file\"", "found 1.5"},
      {"\"bytes\": 4096, \"file\"", "\"bytes\": \"4096\", \"file\"", "found \"4096\""},
      {"\"bytes\": 4096, \"file\"", "\"bytes\": 99999999999999999999, \"file\"",
       "buffers.x.bytes: expected an integer"},
      {"\"fill\": \"zero\"", "\"fill\": \"0x1ff\"",
       "buffers.y.fill: expected \"zero\" or a byte such as \"0xff\", found \"0x1ff\""},
      {"\"fill\": \"zero\"", "\"fill\": \"zero\", \"file\": \"y\"",
       "buffers.y: expected one of \"file\", \"fill\" and \"random\", found several"},
      {"\"fill\": \"zero\"", "\"random\": -7", "buffers.y.random: expected an integer from 0"},
      {"\"fill\": \"zero\"", "\"random\": {\"type\": \"u8\"}",
       "buffers.y.random: expected the key \"seed\""},
      {"\"fill\": \"zero\"", "\"random\": {\"seed\": 1, \"type\": \"int\"}",
       "buffers.y.random.type: expected one of \"bits\""},
      {"\"fill\": \"zero\"", "\"random\": {\"seed\": 1, \"type\": \"u8\", \"high\": 256}",
       "buffers.y.random.high: expected an integer from 0 to 255, found 256"},
      {"\"fill\": \"zero\"", "\"random\": {\"seed\": 1, \"type\": \"f16\", \"high\": 65505}",
       "buffers.y.random.high: expected a number that f16 holds"},
      {"\"fill\": \"zero\"", "\"random\": {\"seed\": 1, \"type\": \"f32\", \"low\": 2}",
       "buffers.y.random: expected \"low\" up to \"high\""},
      {"\"fill\": \"zero\"", "\"random\": {\"seed\": 1, \"type\": \"bits\", \"low\": 0}",
       "buffers.y.random: expected no \"low\""},
      {"\"output\": true", "\"output\": 1", "buffers.out.output: expected true or false, found 1"},
      {"\"y\":   {", "\"x\":   {", "expected each key once, found \"x\" twice"},
      {"\"lut\": {", "\"../lut\": {", "buffers.../lut: expected a buffer's name"},
      {"\"lut\": {", "\"\": {", "expected a buffer's name"},
      {"\"grid\": [4,1,1]", "\"grid\": [4,0,1]",
       "launches[0].grid[1]: expected an integer from 1 to 65535, found 0"},
      {"\"grid\": [4,1,1]", "\"grid\": [1,1,1,1]", "launches[0].grid: expected 1 to 3 numbers"},
      {"\"grid\": [4,1,1]", "\"grid\": 4", "launches[0].grid: expected an array, found 4"},
      {"\"grid\": [4,1,1], ", "", "launches[0]: expected the key \"grid\""},
      {"\"block\": [256,1,1]", "\"block\": [256,5,1]",
       "launches[0].block: expected at most 1024 threads, found 1280"},
      {"\"shared\": 0", "\"shared\": 999999",
       "launches[0].shared: expected an integer from 0 to 232448"},
      {"{\"ptr\": \"x\"}", "{\"ptr\": \"z\"}",
       "launches[0].args[0].ptr: expected null or the name of a buffer, found \"z\""},
      {"\"offset\": 64", "\"offset\": 4097",
       "launches[0].args[1].offset: expected an integer from 0 to 4096, found 4097"},
      {"{\"ptr\": null}", "{\"ptr\": null, \"offset\": 1}",
       "launches[0].args[3]: expected no \"offset\""},
      {"{\"u32\": 1024}", "{\"u32\": -1}",
       "launches[0].args[4].u32: expected an integer from 0 to 4294967295, found -1"},
      {"{\"u32\": 1024}", "{\"u32\": 1, \"s32\": 1}", "launches[0].args[4]: expected one of"},
      {"{\"u32\": 1024}", "{\"i32\": 1}", "launches[0].args[4]: expected the keys"},
      {"{\"u32\": 1024}", "7", "launches[0].args[4]: expected one of"},
      {"{\"s32\": -1}", "{\"s32\": 2147483648}", "launches[0].args[5].s32: expected an integer"},
      {"{\"u64\": 7}", "{\"u64\": 7.0}", "launches[0].args[6].u64: expected an integer"},
      {"{\"f32\": 1.5}", "{\"f32\": 1e39}",
       "launches[0].args[7].f32: expected a number that f32 holds"},
      {"{\"f32\": 1.5}", "{\"f32\": \"nan\"}", "launches[0].args[7].f32: expected a number"},
      {"\"00ff10\"", "\"00ff1\"",
       "launches[0].args[9].bytes: expected two hexadecimal digits a byte"},
      {"\"00ff10\"", "\"00fg10\"", "launches[0].args[9].bytes: expected hexadecimal digits"},
      {"\"launches\": [", "\"launches\": 5, \"x\": [", "expected the keys"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_PRED2(contains, error_of(with(mistake.from, mistake.to)), mistake.message);
  }
  EXPECT_PRED2(contains, error_of("[]"), "k.json: expected an object, found an array");
  EXPECT_PRED2(contains, error_of(""), "k.json: expected JSON");
  EXPECT_PRED2(contains, error_of(R"({"module": "a"})"), "expected the key \"launches\"");
  EXPECT_PRED2(contains, error_of(R"({"module": "a", "launches": []})"), "at least one launch");
  EXPECT_PRED2(contains, error_of(std::string(100000, '[')), "levels of nesting");
}

TEST(LaunchFile, FilesMustHaveTheSizeThatTheBufferHas) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bitgate-launch-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto error = [&](const std::string& text) -> std::string {
    write_file(folder / "k.json", text);
    try {
      read_launch_file(folder / "k.json");
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_PRED2(contains, error(kExample), "buffers.x.file: expected a readable file");
  write_file(folder / "x.bin", std::string(4096, 'x'));
  write_file(folder / "lut.bin", std::string(63, 'x'));
  EXPECT_PRED2(contains, error(kExample), "buffers.lut.file: expected 64 bytes in");
  write_file(folder / "lut.bin", std::string(64, 'x'));
  EXPECT_EQ(error(kExample), "no error");
  EXPECT_THROW(read_launch_file(folder / "none.json"), InputError);
  std::filesystem::remove_all(folder);
}

struct Tally {
  int refused = 0;
  int read = 0;
};

void feed(const std::string& text, Tally& tally) {
  try {
    parsed(text);
    ++tally.read;
  } catch (const InputError&) {
    ++tally.refused;
  }
}

TEST(LaunchFile, DamagedTextIsRefusedOrReadAsSomethingElse) {
  Tally truncated;
  const std::string text = kExample;
  for (std::size_t size = 0; size < text.size(); ++size) feed(text.substr(0, size), truncated);
  EXPECT_EQ(truncated.read, 0);
  Tally flipped;
  Random random(1, "launch file");
  for (int i = 0; i < 6000; ++i) {
    std::string damaged = text;
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      char& c = damaged[random.below(damaged.size())];
      c = static_cast<char>(static_cast<unsigned char>(c) ^ (1u << random.below(8)));
    }
    feed(damaged, flipped);
  }
  RecordProperty("truncated_refused", truncated.refused);
  RecordProperty("flipped_refused", flipped.refused);
  RecordProperty("flipped_read", flipped.read);
  EXPECT_GT(flipped.refused, 3000);
  EXPECT_GT(flipped.read, 100) << "a changed digit is another launch file";
}

TEST(LaunchFile, AnyBytesAreRefused) {
  EXPECT_TRUE(rc::check("any bytes", [](const std::string& text) {
    Tally tally;
    feed(text, tally);
    RC_ASSERT(tally.refused == 1);
  }));
}

}  // namespace
}  // namespace bitgate::suite
