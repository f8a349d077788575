#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "reference/formats/safetensors.h"

namespace bitgate::formats {

/// Tensors that the public packages made (testdata/README.md).
inline std::filesystem::path vector_path(const std::string& file) {
  return std::filesystem::path(BITGATE_SOURCE_DIR) / "reference/formats/testdata" / file;
}

inline Safetensors open_vector(const std::string& stem) {
  return Safetensors::open(vector_path(stem + ".safetensors"));
}

/// A folder of the running test's own, empty, removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            (std::string("bitgate.") + test->test_suite_name() + "." + test->name() + "." +
             std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
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

}  // namespace bitgate::formats
