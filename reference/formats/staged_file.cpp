#include "reference/formats/staged_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "reference/support/error.h"

namespace bitgate::formats {

namespace fs = std::filesystem;

StagedFile::StagedFile(fs::path target)
    : target_(std::move(target)),
      beside_(target_.string() + fmt::format(".{}.partial", ::getpid())),
      out_(beside_, std::ios::binary | std::ios::trunc) {
  if (!out_) fail();
}

StagedFile::~StagedFile() {
  if (committed_) return;
  out_.close();
  std::error_code ignored;
  fs::remove(beside_, ignored);
}

void StagedFile::fail() const {
  const int reason = errno;
  std::error_code ignored;
  fs::remove(beside_, ignored);
  throw InputError(
      fmt::format("{}: cannot be written: {}", target_.string(), std::strerror(reason)));
}

void StagedFile::write(std::span<const std::byte> bytes) {
  out_.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!out_) fail();
}

void StagedFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void StagedFile::close() {
  if (!out_.is_open()) return;
  out_.close();
  if (!out_) fail();
}

void StagedFile::commit() {
  close();
  std::error_code error;
  fs::rename(beside_, target_, error);
  if (error) {
    throw InputError(fmt::format("{}: cannot be written: {}", target_.string(), error.message()));
  }
  committed_ = true;
}

}  // namespace bitgate::formats
