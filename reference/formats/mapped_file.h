#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace bitgate::formats {

/// A regular file mapped read-only, so that opening a checkpoint of many gigabytes costs what is
/// read of it. InputError when it cannot be opened or mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace bitgate::formats
