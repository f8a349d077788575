#include "ci/suite/corpus.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ci/suite/exec_launch.h"
#include "ci/suite/launch_file.h"
#include "reference/machine/program/opcode_table.h"
#include "reference/machine/ptx/parser.h"
#include "reference/machine/ptx/reach.h"
#include "reference/support/file.h"

namespace bitgate::suite {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(BITGATE_SOURCE_DIR) / "reference/machine/corpus";

struct Tally {
  int kernels = 0;
  int exact = 0;         ///< outputs equal to the recorded ones, in bits that PTX fixes
  int approximate = 0;   ///< kernels with approximate instructions
  int contractible = 0;  ///< kernels with pairs that may be contracted
  int equal_anyway = 0;  ///< outputs of those two that are equal all the same
  int unequal_anyway = 0;
};

TEST(Corpus, TheMachineGivesTheRecordedBits) {
  const CorpusHashes recorded = read_corpus_hashes(kFolder / "expected.txt");
  std::map<std::string, Tally> tallies;
  std::string not_comparable;
  std::size_t used = 0;
  for (const CorpusKernel& kernel : corpus_kernels(kFolder)) {
    SCOPED_TRACE(kernel.name);
    Tally& tally = tallies[kernel.compiler];
    ++tally.kernels;
    const auto device = kernels::make_machine_device(numeric::tensor_model("hopper"));
    ExecOptions options;
    options.ptx = kernel.module;
    const ExecResult result = exec_launch_file(kernel.launch, *device, options);
    EXPECT_EQ(result.document.at("verdict"), "pass") << result.text;
    const bool approximate = result.document.at("approximate") != 0;
    const bool contractible = result.document.at("contractible") != 0;
    tally.approximate += approximate ? 1 : 0;
    tally.contractible += contractible ? 1 : 0;
    if (approximate || contractible) not_comparable += " " + kernel.name;
    for (const auto& [output, found] : result.document.at("outputs").items()) {
      const auto expected = recorded.find({kernel.name, output});
      ASSERT_NE(expected, recorded.end())
          << output << " has no recorded hash: run ci/device's step corpus on an H200";
      ++used;
      const bool equal = found.at("sha256") == expected->second;
      if (approximate || contractible) {
        ++(equal ? tally.equal_anyway : tally.unequal_anyway);
      } else {
        EXPECT_TRUE(equal) << output << " differs from the H200's";
        tally.exact += equal ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(used, recorded.size()) << "expected.txt has outputs that no kernel writes";
  for (const auto& [compiler, tally] : tallies) {
    std::printf(
        "%-6s %3d kernels, %3d outputs with the H200's bits; bits not fixed: %d approximate and %d "
        "contractible kernels, of whose outputs %d are equal anyway, %d not\n",
        compiler.c_str(), tally.kernels, tally.exact, tally.approximate, tally.contractible,
        tally.equal_anyway, tally.unequal_anyway);
  }
  std::printf("bits not fixed by PTX:%s\n", not_comparable.c_str());
}

// Ordinary programs have no hazards, but for two whose findings are true. nvcc's `atomics` adds to
// one word from two blocks at the scope of a block (atomicAdd_block). `half_atomics` begins its
// loops of compare-and-swap, which CUDA's header writes where a type has no atomic, with plain
// reads.
TEST(Corpus, HazardsAreFoundWhereTheyAreAndNowhereElse) {
  using Found = std::set<std::string>;
  const std::map<std::string, Found> expected{{"nvcc/atomics", {"race words: atomic and atomic"}},
                                              {"nvcc/half_atomics", {"race b: atomic and read"}}};
  int kernels = 0;
  std::map<std::string, Found> found;
  for (const CorpusKernel& kernel : corpus_kernels(kFolder)) {
    SCOPED_TRACE(kernel.name);
    ++kernels;
    const auto device = kernels::make_machine_device(numeric::tensor_model("hopper"));
    ExecOptions options;
    options.ptx = kernel.module;
    options.launch.hazards = machine::hazard::Options::all();
    const ExecResult result = exec_launch_file(kernel.launch, *device, options);
    const std::string source = kernel.compiler + "/" + kernel.launch.stem().string();
    EXPECT_EQ(result.document.at("verdict"), expected.contains(source) ? "fail" : "pass")
        << result.text;
    for (const auto& hazard : result.document.at("hazards")) {
      found[source].insert(fmt::format("{} {}: {} and {}", hazard.at("kind").get<std::string>(),
                                       hazard.at("buffer").get<std::string>(),
                                       hazard.at("first").at("access").get<std::string>(),
                                       hazard.at("second").at("access").get<std::string>()));
    }
  }
  EXPECT_EQ(found, expected);
  std::printf("%d kernels watched for hazards, those of %zu sources have some\n", kernels,
              found.size());
}

TEST(Corpus, EnoughSourcesOfEachCompiler) {
  std::map<std::string, std::set<std::filesystem::path>> sources;
  for (const CorpusKernel& kernel : corpus_kernels(kFolder)) {
    sources[kernel.compiler].insert(kernel.launch);
    if (kernel.compiler == "ptx") continue;
    const bool has_source =
        std::filesystem::exists(std::filesystem::path(kernel.launch).replace_extension(".cu")) ||
        std::filesystem::exists(std::filesystem::path(kernel.launch).replace_extension(".py"));
    EXPECT_TRUE(has_source) << kernel.name << " has no source beside it";
  }
  EXPECT_GE(sources["nvcc"].size(), 60u);
  for (const char* compiler : {"nvrtc", "clang", "triton", "numba"}) {
    EXPECT_GE(sources[compiler].size(), 8u) << compiler;
  }
}

std::string mnemonic(const machine::ptx::Instruction& instruction) {
  std::string text = instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) text += "." + modifier;
  return text;
}

/// The rows of the opcode table that stand in what the kernel's launches reach.
void add_rows(const CorpusKernel& kernel, std::set<std::string>& rows) {
  const machine::ptx::Module module =
      machine::ptx::parse(read_text_file(kernel.module), kernel.module.string());
  std::set<std::uint32_t> functions;
  for (const LaunchFile::Launch& launch : read_launch_file(kernel.launch).launches) {
    for (const machine::ptx::Function& function : module.functions) {
      if (!function.is_entry || (launch.entry && *launch.entry != function.name)) continue;
      const machine::ptx::Reach reached = machine::ptx::reach(module, function.name);
      functions.insert(reached.functions.begin(), reached.functions.end());
    }
  }
  for (const std::uint32_t index : functions) {
    for (const machine::ptx::Statement& statement : module.functions[index].body) {
      const auto* instruction = std::get_if<machine::ptx::Instruction>(&statement.item);
      if (instruction != nullptr) rows.insert(machine::opcode_and_types(mnemonic(*instruction)));
    }
  }
}

// What stands in the code of a kernel that runs to its end counts as executed.
TEST(Corpus, NineTenthsOfTheSupportedOpcodesAndTypes) {
  std::set<std::string> by_compilers;
  std::set<std::string> by_all;
  for (const CorpusKernel& kernel : corpus_kernels(kFolder)) {
    add_rows(kernel, by_all);
    if (kernel.compiler != "ptx") add_rows(kernel, by_compilers);
  }
  std::size_t supported = 0;
  std::size_t covered = 0;
  std::size_t covered_by_compilers = 0;
  std::string missing;
  for (const machine::OpcodeRow& row : machine::opcode_table()) {
    if (row.support != machine::Support::supported) continue;
    const std::string name = row.types.empty() ? row.opcode : row.opcode + "." + row.types;
    ++supported;
    if (by_all.contains(name)) {
      ++covered;
    } else {
      missing += " " + name;
    }
    covered_by_compilers += by_compilers.contains(name) ? 1 : 0;
  }
  std::printf("%zu opcode and type rows; %zu in the corpus, %zu without the PTX written by hand\n",
              supported, covered, covered_by_compilers);
  EXPECT_GE(10 * covered, 9 * supported) << "missing:" << missing;
}

}  // namespace
}  // namespace bitgate::suite
