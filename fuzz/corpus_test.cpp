#include "fuzz/corpus.h"

#include <gtest/gtest.h>

#include <fstream>

#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::fuzz {
namespace {

namespace fs = std::filesystem;

class Corpus : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  CorpusCase a_case(std::int64_t m) const {
    CorpusCase found;
    found.spec = conformance::parse_spec("w4a16 k=64 n=8 group=64 seed=3");
    found.spec.m = m;
    found.kernel = "w4a16.gemm.x";
    found.found = "by hand";
    return found;
  }
  std::string message_for(const std::string& text) const {
    write_file(folder_ / "bad.txt", text);
    try {
      read_corpus(folder_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  fs::path folder_;
};

TEST_F(Corpus, ReadsBackWhatItWrote) {
  const fs::path file = folder_ / "found.txt";
  EXPECT_TRUE(add_to_corpus(file, a_case(3)));
  EXPECT_TRUE(add_to_corpus(file, a_case(2)));
  CorpusCase again = a_case(3);
  again.found = "somewhere else";
  EXPECT_FALSE(add_to_corpus(file, again));
  const auto cases = read_corpus(folder_);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(corpus_line(cases[0]), corpus_line(a_case(2)));
  EXPECT_EQ(corpus_line(cases[1]), corpus_line(a_case(3)));
  EXPECT_EQ(cases[1].found, "by hand");
}

TEST_F(Corpus, AMissingFolderIsEmpty) { EXPECT_TRUE(read_corpus(folder_ / "none").empty()); }

TEST_F(Corpus, NamesFileAndLineOfWhatItCannotRead) {
  EXPECT_NE(
      message_for("# a comment\n\nw4a16 m=3\n").find("bad.txt:3: expected \"SPEC --kernel NAME\""),
      std::string::npos);
  EXPECT_NE(message_for("w4a16 m=x --kernel a\n").find("bad.txt:1: "), std::string::npos);
  EXPECT_NE(message_for("w4a16 m=1 --kernel a b\n").find("one kernel name"), std::string::npos);
  EXPECT_NE(message_for(std::string(70000, 'w')).find("at most 65536 characters"),
            std::string::npos);
}

TEST_F(Corpus, TheTreesOwnCorpusReads) {
  EXPECT_NO_THROW(read_corpus(fs::path(BITGATE_SOURCE_DIR) / "fuzz" / "corpus"));
}

}  // namespace
}  // namespace bitgate::fuzz
