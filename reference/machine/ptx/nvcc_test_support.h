#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace bitgate::machine::ptx {

/// The CUDA tool "nvcc" or "ptxas", where the build looks for it: CUDA_HOME, PATH, /usr/local/cuda,
/// the folder that ci/setup unpacks. Throws where there is none: a test that needs it must fail.
inline std::string cuda_tool(const std::string& tool) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(fs::path(home) / "bin");
  if (const char* path = std::getenv("PATH")) {
    const std::string all = path;
    for (std::size_t start = 0; start <= all.size();) {
      const std::size_t end = std::min(all.find(':', start), all.size());
      folders.emplace_back(all.substr(start, end - start));
      start = end + 1;
    }
  }
  folders.emplace_back("/usr/local/cuda/bin");
  folders.emplace_back(fs::path(BITGATE_SOURCE_DIR) / ".cache/cuda/nvidia/cu13/bin");
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / tool, error)) return (folder / tool).string();
  }
  throw std::runtime_error(tool + " is not in CUDA_HOME, PATH, /usr/local/cuda or .cache/cuda");
}

/// A new empty folder, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bitgate-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Runs a command line by the shell; its output goes to `output`. The exit status.
inline int run_command(const std::string& command, std::string& output) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return -1;
  output.clear();
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  return ::pclose(pipe);
}

}  // namespace bitgate::machine::ptx
