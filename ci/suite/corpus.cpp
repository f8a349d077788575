#include "ci/suite/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::suite {

std::vector<CorpusKernel> corpus_kernels(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<CorpusKernel> kernels;
  for (const auto& compiler : fs::directory_iterator(folder)) {
    if (!compiler.is_directory()) continue;
    for (const auto& launch : fs::directory_iterator(compiler.path())) {
      if (launch.path().extension() != ".json") continue;
      const std::string stem = launch.path().stem().string();
      const std::size_t before = kernels.size();
      for (const auto& module : fs::directory_iterator(compiler.path())) {
        const std::string file = module.path().filename().string();
        if (!file.starts_with(stem + ".") || !file.ends_with(".ptx")) continue;
        const std::string folder_name = compiler.path().filename().string();
        kernels.push_back({folder_name + "/" + module.path().stem().string(), folder_name,
                           launch.path(), module.path()});
      }
      if (kernels.size() == before) {
        throw InputError(
            fmt::format("{}: expected {}.ptx beside it", launch.path().string(), stem));
      }
    }
  }
  std::ranges::sort(kernels, {}, &CorpusKernel::name);
  return kernels;
}

CorpusHashes read_corpus_hashes(const std::filesystem::path& file) {
  constexpr std::size_t kHexDigits = 64;
  CorpusHashes hashes;
  std::istringstream lines(read_text_file(file));
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string output;
    std::string hash;
    std::string more;
    words >> name >> output >> hash;
    if (hash.size() != kHexDigits || words >> more) {
      throw InputError(fmt::format("{}:{}: expected 'NAME OUTPUT SHA256', found '{}'",
                                   file.string(), number, line));
    }
    hashes[{name, output}] = hash;
  }
  return hashes;
}

}  // namespace bitgate::suite
