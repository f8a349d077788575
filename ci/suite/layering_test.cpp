// The order of dependence, read from the sources: a folder includes only what is to its left, and
// the reference machine knows nothing but numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace bitgate::suite {
namespace {

namespace fs = std::filesystem;

constexpr std::array kOrder = {"reference", "kernels", "conformance", "fuzz", "golden", "ci"};

struct Include {
  std::string from;      ///< path in the tree
  std::string included;  ///< as written between the quotes
};

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

std::ptrdiff_t rank(const std::string& folder) {
  return std::find(kOrder.begin(), kOrder.end(), folder) - kOrder.begin();
}

/// Empty when the include is allowed, else the rule that it breaks.
std::string broken_rule(const Include& include) {
  const std::string to = folder_of(include.included);
  if (rank(to) == static_cast<std::ptrdiff_t>(kOrder.size())) {
    return "not from the root of the tree";
  }
  if (rank(to) > rank(folder_of(include.from))) return "to the right";
  const std::string machine = "reference/machine/";
  if (include.from.starts_with(machine) && !include.included.starts_with(machine) &&
      !include.included.starts_with("reference/numeric/") &&
      !include.included.starts_with("reference/support/")) {
    return "the machine includes only numeric and support";
  }
  return {};
}

std::vector<Include> includes_of_the_tree() {
  const fs::path root = BITGATE_SOURCE_DIR;
  const std::set<std::string> kinds = {".h", ".cpp", ".cu", ".cuh", ".inc"};
  const std::regex line(R"(^\s*#\s*include\s*"([^"]+)\".*)");
  std::vector<Include> includes;
  for (const char* top : kOrder) {
    if (!fs::is_directory(root / top)) continue;  // git keeps no empty folder
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !kinds.contains(entry.path().extension().string())) continue;
      const std::string from = fs::relative(entry.path(), root).string();
      // Kernels to be judged, compiled in their own folder so that their PTX names plain files.
      if (from.starts_with("reference/machine/hazard/kernels/")) continue;
      std::ifstream in(entry.path());
      std::smatch match;
      for (std::string text; std::getline(in, text);) {
        if (std::regex_match(text, match, line)) includes.push_back({from, match[1]});
      }
    }
  }
  return includes;
}

TEST(Layering, EveryIncludePointsLeft) {
  const auto includes = includes_of_the_tree();
  EXPECT_GT(includes.size(), 300U);
  for (const Include& include : includes) {
    EXPECT_EQ(broken_rule(include), "") << include.from << " includes " << include.included;
  }
}

TEST(Layering, TheRulesRejectWhatTheyShould) {
  EXPECT_NE(broken_rule({"reference/oracle/a.cpp", "kernels/kernel.h"}), "");
  EXPECT_NE(broken_rule({"kernels/device/a.cpp", "conformance/run_case.h"}), "");
  EXPECT_NE(broken_rule({"conformance/a.cpp", "fuzz/classes.h"}), "");
  EXPECT_NE(broken_rule({"reference/machine/exec/a.cpp", "reference/formats/gguf.h"}), "");
  EXPECT_NE(broken_rule({"fuzz/a.cpp", "classes.h"}), "");
  EXPECT_EQ(broken_rule({"reference/machine/exec/a.cpp", "reference/numeric/half.h"}), "");
  EXPECT_EQ(broken_rule({"ci/suite/a.cpp", "fuzz/classes.h"}), "");
}

TEST(Layering, TheTopLevelIsFixed) {
  const std::set<std::string> allowed = {"CMakeLists.txt",
                                         "CMakePresets.json",
                                         "README.md",
                                         "reference",
                                         "kernels",
                                         "conformance",
                                         "fuzz",
                                         "golden",
                                         "ci"};
  // Git knows what belongs to the tree; a checkout holds builds and caches besides.
  const std::string command =
      "git -c safe.directory='*' -C '" BITGATE_SOURCE_DIR "' ls-files 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string listing;
  std::array<char, 4096> buffer{};
  for (std::size_t read = 0; (read = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    listing.append(buffer.data(), read);
  }
  const int status = pclose(pipe);
  if (status != 0 || listing.empty()) GTEST_SKIP() << "not a git checkout";
  std::istringstream lines(listing);
  for (std::string path; std::getline(lines, path);) {
    const std::string top = folder_of(path);
    EXPECT_TRUE(allowed.contains(top) || top.starts_with('.')) << path;
  }
}

}  // namespace
}  // namespace bitgate::suite
