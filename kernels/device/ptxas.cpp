#include "kernels/device/ptxas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::kernels {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// A folder of our own, removed with what is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "bitgate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw InputError(fmt::format("cannot make a temporary folder {}: {}", name,
                                   std::generic_category().message(errno)));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Waits for the child; kills it at the deadline, and says so by nothing.
std::optional<int> wait_until(pid_t child, std::chrono::steady_clock::time_point deadline) {
  int status = 0;
  auto pause = std::chrono::microseconds(500);
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return std::nullopt;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, std::chrono::milliseconds(10));
  }
}

/// Runs the command with its output in `log`; its exit status, or 128 + the signal. Nothing when it
/// had to be killed at the limit.
std::optional<int> run(const std::vector<std::string>& command, const fs::path& log,
                       std::chrono::milliseconds time_limit) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw InputError(
        fmt::format("cannot run {}: {}", command.front(), std::generic_category().message(error)));
  }
  const auto status = wait_until(child, std::chrono::steady_clock::now() + time_limit);
  if (!status) return std::nullopt;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
}

}  // namespace

std::optional<fs::path> find_ptxas() {
  std::vector<fs::path> folders;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') {
    folders.push_back(fs::path(home) / "bin");
  }
  if (const char* path = std::getenv("PATH"); path != nullptr) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      if (!folder.empty()) folders.emplace_back(folder);
      rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    }
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const fs::path& folder : folders) {
    if (is_executable(folder / "ptxas")) return folder / "ptxas";
  }
  return std::nullopt;
}

std::string ptxas_target(std::string_view ptx, int major, int minor) {
  std::string plain = fmt::format("sm_{}{}", major, minor);
  const std::size_t at = ptx.find("\n.target");
  if (at == std::string_view::npos) return plain;
  std::string_view line = ptx.substr(at + 8, 80);
  line = line.substr(0, line.find_first_of(",\r\n"));
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  line = line.substr(0, line.find_first_of(" \t"));
  const bool variant = line.size() == plain.size() + 1 && line.starts_with(plain) &&
                       (line.back() == 'a' || line.back() == 'f');
  return variant ? std::string(line) : plain;
}

std::vector<std::byte> run_ptxas(const fs::path& ptxas, std::string_view ptx,
                                 std::string_view target, const PtxasOptions& options) {
  const ScratchFolder folder;
  const fs::path source = folder.path() / "module.ptx";
  const fs::path cubin = folder.path() / "module.cubin";
  const fs::path log = folder.path() / "log";
  write_file(source, ptx);
  std::vector<std::string> command{ptxas.string(), fmt::format("-arch={}", target),
                                   "-lineinfo",    "-o",
                                   cubin.string(), source.string()};
  if (options.optimisation != 3) command.push_back(fmt::format("-O{}", options.optimisation));
  const auto status = run(command, log, options.time_limit);
  if (!status) {
    throw InputError(fmt::format("{} did not end within {:.1f} s", ptxas.string(),
                                 std::chrono::duration<double>(options.time_limit).count()));
  }
  if (*status != 0) {
    std::string said = read_text_file(log);
    if (said.size() > 2000) said.resize(2000);
    throw InputError(fmt::format("{} refuses the PTX for {} (exit {}): {}", ptxas.string(), target,
                                 *status, said));
  }
  return read_file(cubin);
}

}  // namespace bitgate::kernels
