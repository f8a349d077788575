#include "fuzz/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMostBytes = 16U << 20;
constexpr std::size_t kMostLine = 1U << 16;
constexpr std::string_view kKernelFlag = " --kernel ";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

CorpusCase parse_line(std::string_view line, const std::string& where) {
  const std::string_view said = trim(line.substr(0, line.find('#')));
  const auto flag = said.find(kKernelFlag);
  if (flag == std::string_view::npos) {
    throw InputError(fmt::format("{}: expected \"SPEC --kernel NAME\", found no --kernel", where));
  }
  CorpusCase result;
  try {
    result.spec = conformance::parse_spec(trim(said.substr(0, flag)));
  } catch (const std::runtime_error& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
  result.kernel = trim(said.substr(flag + kKernelFlag.size()));
  if (result.kernel.empty() || result.kernel.find(' ') != std::string::npos) {
    throw InputError(fmt::format("{}: expected one kernel name after --kernel, found \"{}\"", where,
                                 result.kernel));
  }
  if (const auto hash = line.find('#'); hash != std::string_view::npos) {
    result.found = trim(line.substr(hash + 1));
  }
  return result;
}

std::vector<CorpusCase> read_file_of_cases(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (!error && bytes > kMostBytes) {
    throw InputError(
        fmt::format("{}: expected at most {} bytes, found {}", file.string(), kMostBytes, bytes));
  }
  const std::string text = read_text_file(file);
  std::vector<CorpusCase> cases;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const std::string where = fmt::format("{}:{}", file.string(), number);
    if (line.size() > kMostLine) {
      throw InputError(fmt::format("{}: expected at most {} characters, found {}", where, kMostLine,
                                   line.size()));
    }
    const std::string_view said = trim(line);
    if (said.empty() || said.front() == '#') continue;
    cases.push_back(parse_line(line, where));
  }
  return cases;
}

}  // namespace

std::vector<CorpusCase> read_corpus(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<CorpusCase> cases;
  for (const fs::path& file : files) {
    for (CorpusCase& found : read_file_of_cases(file)) cases.push_back(std::move(found));
  }
  return cases;
}

std::string corpus_line(const CorpusCase& found) {
  std::string line = conformance::to_string(found.spec) + std::string(kKernelFlag) + found.kernel;
  if (!found.found.empty()) line += " # " + found.found;
  return line;
}

bool add_to_corpus(const fs::path& file, const CorpusCase& found) {
  std::error_code error;
  std::vector<CorpusCase> cases;
  if (fs::exists(file, error)) cases = read_file_of_cases(file);
  const auto same = [&](const CorpusCase& other) {
    return other.kernel == found.kernel &&
           conformance::to_string(other.spec) == conformance::to_string(found.spec);
  };
  if (std::any_of(cases.begin(), cases.end(), same)) return false;
  cases.push_back(found);
  std::vector<std::string> lines;
  for (const CorpusCase& each : cases) lines.push_back(corpus_line(each));
  std::sort(lines.begin(), lines.end());
  std::string text =
      "# Cases that once failed, one a line; the gate runs them first. Sorted; see "
      "fuzz/corpus.h.\n";
  for (const std::string& line : lines) text += line + "\n";
  write_file(file, text);
  return true;
}

}  // namespace bitgate::fuzz
