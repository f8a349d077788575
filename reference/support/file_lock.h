#pragma once

#include <filesystem>

namespace bitgate {

/// Held by one process at a time: others wait for it in their constructor. The file stays, empty;
/// the lock ends with its holder, however that ends.
class FileLock {
 public:
  /// Creates the file and its folder. InputError when that cannot be done.
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace bitgate
