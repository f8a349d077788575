#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"
#include "reference/machine/vectors/inputs.h"
#include "reference/machine/vectors/kernel.h"
#include "reference/machine/vectors/recording.h"
#include "reference/machine/vectors/test_run.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/random.h"

namespace bitgate::machine::vectors {
namespace {

std::filesystem::path file() {
  return std::filesystem::path(BITGATE_SOURCE_DIR) / "reference/machine/vectors/h200.vectors";
}

const Recording& h200() {
  static const Recording kRecording = parse_recording(read_file(file()));
  return kRecording;
}

/// What the machine makes of forms, one module for many of them.
std::map<std::string, Recorded> on_the_machine(std::span<const Form* const> some,
                                               std::map<std::string, std::string>& failures) {
  std::vector<std::uint32_t> threads;
  for (const Form* form : some) threads.push_back(form->threads);
  const Program program = Program::load(module_text(some, threads), "forms.ptx");
  std::map<std::string, Recorded> recorded;
  std::map<std::string, std::vector<std::uint64_t>> inputs_of;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const Form& form = *some[i];
    auto& in = inputs_of[signature(form) + " " + std::to_string(form.threads)];
    if (in.empty()) in = inputs(form, h200().seed, form.threads);
    const TestRun run = test_run(program, "f" + std::to_string(i), form.threads, kBlock, in,
                                 form.results.size() * form.threads);
    if (!run.failure.empty()) failures[form.name] = run.failure;
    recorded.emplace(form.name, record(form, run.words, form.threads));
  }
  return recorded;
}

TEST(HardwareVectors, EveryFormIsRecorded) {
  std::vector<std::string> recorded;
  for (const Recorded& each : h200().forms) recorded.push_back(each.form);
  std::vector<std::string> listed;
  for (const Form& each : forms()) listed.push_back(each.name);
  EXPECT_EQ(recorded, listed);
  EXPECT_LT(std::filesystem::file_size(file()), 4U << 20);
  EXPECT_NE(h200().device.find("H200"), std::string::npos) << h200().device;
}

TEST(HardwareVectors, TheMachineGivesTheirBits) {
  std::map<std::string, const Recorded*> expected;
  for (const Recorded& each : h200().forms) expected[each.form] = &each;
  constexpr std::size_t kForms = 64;
  std::vector<const Form*> all;
  for (const Form& form : forms()) {
    if (expected.contains(form.name)) all.push_back(&form);
  }
  std::size_t outputs = 0;
  for (std::size_t at = 0; at < all.size(); at += kForms) {
    const auto some = std::span(all).subspan(at, std::min(kForms, all.size() - at));
    std::map<std::string, std::string> failures;
    const auto found = on_the_machine(some, failures);
    for (const Form* form : some) {
      EXPECT_EQ(failures[form->name], "") << form->name;
      const Recorded& mine = found.at(form->name);
      const Difference difference = compare(*form, *expected[form->name], mine);
      EXPECT_TRUE(difference.none())
          << form->name << ": " << difference.words.size() << " of the stored words and "
          << difference.hashes.size() << " of the hashed groups differ, the first word is "
          << (difference.words.empty() ? -1 : static_cast<int>(difference.words.front()));
      outputs += elements(*form);
    }
  }
  RecordProperty("outputs", static_cast<int>(outputs));
}

/// Output elements of mma by the types that it multiplies.
TEST(HardwareVectors, EveryTypeOfMatrixHasAHundredThousand) {
  std::map<std::string, std::size_t> by_type;
  for (const Form& form : forms()) {
    if (form.a_registers == 0) {
      EXPECT_GE(elements(form), 1000U) << form.name;
      continue;
    }
    for (const char* type :
         {"f16.f16", "bf16.bf16", "tf32", "f64", "e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2",
          "s8.s8", "s8.u8", "u8.s8", "u8.u8", "s4.s4", "s4.u4", "u4.s4", "u4.u4", "b1.b1"}) {
      if (form.name.find(std::string(".") + type + ".") != std::string::npos) {
        by_type[type] += elements(form);
      }
    }
  }
  EXPECT_EQ(by_type.size(), 17U);
  for (const auto& [type, count] : by_type) EXPECT_GE(count, 100000U) << type;
}

TEST(HardwareVectors, InputsHoldWhatTheyPromise) {
  const Form& form = vectors::form("add.rn.f32");
  const auto words = inputs(form, 1, form.threads);
  EXPECT_EQ(words, inputs(vectors::form("mul.rn.f32"), 1, form.threads));
  EXPECT_NE(words, inputs(form, 2, form.threads));
  std::map<std::string, int> classes;
  for (std::size_t i = 0; i < form.threads; ++i) {
    const auto a = static_cast<std::uint32_t>(words[i]);
    const auto b = static_cast<std::uint32_t>(words[form.threads + i]);
    const float value = std::bit_cast<float>(a);
    if (std::isnan(value)) ++classes[(a & 0x400000U) != 0 ? "quiet NaN" : "signalling NaN"];
    if (std::isinf(value)) ++classes["infinity"];
    if (value == 0) ++classes["zero"];
    if (std::fpclassify(value) == FP_SUBNORMAL) ++classes["subnormal"];
    if (std::abs(value) == 0x1.fffffep127F) ++classes["largest"];
    if (a == b) ++classes["equal"];
    if (a == (b ^ 0x80000000U)) ++classes["opposite"];
    if ((a & 0x1fffU) == 0x1000U) ++classes["tie of f16"];
    if (std::abs(value) <= 16 && value == std::trunc(value)) ++classes["small integer"];
  }
  EXPECT_EQ(classes.size(), 10U);
  for (const auto& [name, count] : classes) EXPECT_GE(count, 2) << name;
}

Recorded sample(const char* name, std::uint64_t seed) {
  const Form& of = form(name);
  std::vector<std::uint64_t> words(of.results.size() * of.threads);
  Random random(seed);
  for (auto& word : words) word = random.next() & random.next() & random.next();
  return record(of, words, of.threads);
}

TEST(Recording, ComesBackFromItsBytes) {
  Recording recording;
  recording.device = "a device";
  recording.seed = 7;
  for (const char* name : {"add.rn.f32", "add.rz.f32", "setp.lt.f32", "setp.lt.f16x2", "add.rn.f64",
                           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "lop3.and.b32"}) {
    recording.forms.push_back(sample(name, recording.forms.size()));
  }
  // Alike: stored as a difference.
  recording.forms[1].bits = recording.forms[0].bits;
  recording.forms[1].bits[5] ^= std::byte{1};
  const auto bytes = serialise(recording);
  const Recording back = parse_recording(bytes);
  EXPECT_EQ(back.device, recording.device);
  EXPECT_EQ(back.seed, recording.seed);
  ASSERT_EQ(back.forms.size(), recording.forms.size());
  for (std::size_t i = 0; i < back.forms.size(); ++i) {
    EXPECT_EQ(back.forms[i].bits, recording.forms[i].bits) << recording.forms[i].form;
    EXPECT_EQ(back.forms[i].hashes, recording.forms[i].hashes) << recording.forms[i].form;
  }
  for (std::size_t length = 0; length < bytes.size(); length += 97) {
    EXPECT_THROW(parse_recording(std::span(bytes).first(length)), InputError) << length;
  }
}

TEST(Recording, FindsTheWordsThatDiffer) {
  const Form& of = form("setp.lt.f16x2");
  Recorded expected = sample("setp.lt.f16x2", 1);
  Recorded found = expected;
  EXPECT_TRUE(compare(of, expected, found).none());
  found.bits[3] ^= std::byte{0x10};
  found.hashes[2][0] ^= std::byte{1};
  const Difference difference = compare(of, expected, found);
  EXPECT_EQ(difference.words, std::vector<std::size_t>{28});
  EXPECT_EQ(difference.hashes, std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace bitgate::machine::vectors
