#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

namespace bitgate::formats {

/// A file that is written beside its target and appears there only when committed. Destroyed
/// uncommitted, it leaves nothing behind; several can be staged before the first is committed.
/// InputError, naming the target, for whatever cannot be written.
class StagedFile {
 public:
  explicit StagedFile(std::filesystem::path target);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Flushes and closes: after it, only the rename can still fail.
  void close();
  /// Closes and renames into place.
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path target_;
  std::filesystem::path beside_;
  std::ofstream out_;
  bool committed_ = false;
};

}  // namespace bitgate::formats
