// Damaged PTX is refused with a place or read as other PTX; it never crashes. Run under the
// sanitizers as well.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "reference/machine/ptx/canonical.h"
#include "reference/machine/ptx/lint.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/random.h"

namespace bitgate::machine::ptx {
namespace {

struct Tally {
  int refused = 0;
  int read = 0;
};

void feed(const std::string& text, Tally& tally) {
  try {
    const Module module = parse(text, "hostile.ptx");
    lint(module);
    for (const Function& function : module.functions) {
      if (function.is_entry) code_hash(module, function.name);
    }
    ++tally.read;
  } catch (const InputError& error) {
    ++tally.refused;
    const std::string_view message = error.what();
    EXPECT_EQ(message.find('\n'), std::string_view::npos);
    EXPECT_LT(message.size(), 400u);
  }
}

std::string sample(const char* name) {
  return read_text_file(std::string(BITGATE_SOURCE_DIR "/reference/machine/ptx/testdata/") + name);
}

constexpr const char* kSamples[] = {"nvcc.ptx", "clang.ptx", "triton.ptx", "numba.ptx"};

TEST(HostilePtx, Truncated) {
  Tally tally;
  for (const char* name : kSamples) {
    const std::string text = sample(name);
    for (std::size_t size = 0; size < text.size(); size += 23) feed(text.substr(0, size), tally);
  }
  RecordProperty("refused", tally.refused);
  RecordProperty("read", tally.read);
  EXPECT_GT(tally.refused, 500);
  EXPECT_GT(tally.read, 0) << "a cut between functions";
}

TEST(HostilePtx, BitsFlipped) {
  Tally tally;
  Random random(1, "flipped bits");
  for (const char* name : kSamples) {
    const std::string text = sample(name);
    for (int i = 0; i < 200; ++i) {
      std::string damaged = text;
      for (std::uint64_t flips = 1 + random.below(8); flips > 0; --flips) {
        char& c = damaged[random.below(damaged.size())];
        c = static_cast<char>(static_cast<unsigned char>(c) ^ (1u << random.below(8)));
      }
      feed(damaged, tally);
    }
  }
  RecordProperty("refused", tally.refused);
  RecordProperty("read", tally.read);
  EXPECT_GT(tally.refused, 400);
  EXPECT_GT(tally.read, 50);
}

TEST(HostilePtx, PiecesSwappedAndRepeated) {
  Tally tally;
  Random random(1, "swapped pieces");
  for (const char* name : kSamples) {
    const std::string text = sample(name);
    for (int i = 0; i < 150; ++i) {
      const std::size_t from = random.below(text.size());
      const std::size_t to = random.below(text.size());
      const std::string piece = text.substr(from, 1 + random.below(60));
      std::string damaged = text;
      damaged.insert(to, piece);
      feed(damaged, tally);
    }
  }
  RecordProperty("refused", tally.refused);
  EXPECT_GT(tally.refused, 250);
}

TEST(HostilePtx, EveryByte) {
  Tally tally;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string c(1, static_cast<char>(byte));
    feed(c, tally);
    feed(".version 9.0\n.target sm_80\n.entry k() { " + c + " }", tally);
    feed(".version 9.0\n.target sm_80\n.entry k() { ret" + c + " }", tally);
    feed(".version 9.0\n.target sm_80\n.entry k() { mov.u32 %r1, " + c + "; }", tally);
  }
  EXPECT_EQ(tally.refused + tally.read, 1024);
}

}  // namespace
}  // namespace bitgate::machine::ptx
