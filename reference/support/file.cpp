#include "reference/support/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "reference/support/error.h"

namespace bitgate {

namespace fs = std::filesystem;

std::vector<std::byte> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw InputError(fmt::format("{}: expected a readable file, found {}", path.string(),
                                 fs::exists(path, error) ? "something else" : "nothing there"));
  }
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0) {
    throw InputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), size)) {
    throw InputError(fmt::format("{}: reading stopped before {} bytes", path.string(), size));
  }
  return bytes;
}

std::string read_text_file(const fs::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  const fs::path beside = path.string() + fmt::format(".{}.partial", getpid());
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) {
      std::error_code ignored;
      fs::remove(beside, ignored);
      throw InputError(
          fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
    }
  }
  std::error_code error;
  fs::rename(beside, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw InputError(fmt::format("{}: cannot be written: {}", path.string(), error.message()));
  }
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace bitgate
