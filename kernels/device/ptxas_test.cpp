#include "kernels/device/ptxas.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>

#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::kernels {
namespace {

namespace fs = std::filesystem;

/// A toolchain of one shell script, as CUDA_HOME.
class FakeToolchain {
 public:
  explicit FakeToolchain(const std::string& script)
      : home_(fs::temp_directory_path() / ("bitgate-toolchain-" + std::to_string(getpid()))) {
    fs::create_directories(home_ / "bin");
    write_file(home_ / "bin" / "ptxas", "#!/bin/sh\n" + script);
    fs::permissions(home_ / "bin" / "ptxas", fs::perms::owner_all);
    if (const char* before = std::getenv("CUDA_HOME"); before != nullptr) before_ = before;
    setenv("CUDA_HOME", home_.c_str(), 1);
  }
  ~FakeToolchain() {
    if (before_) {
      setenv("CUDA_HOME", before_->c_str(), 1);
    } else {
      unsetenv("CUDA_HOME");
    }
    fs::remove_all(home_);
  }
  FakeToolchain(const FakeToolchain&) = delete;
  FakeToolchain& operator=(const FakeToolchain&) = delete;
  fs::path ptxas() const { return home_ / "bin" / "ptxas"; }

 private:
  fs::path home_;
  std::optional<std::string> before_;
};

TEST(Ptxas, IsFoundUnderCudaHomeFirst) {
  const FakeToolchain toolchain("exit 0\n");
  EXPECT_EQ(find_ptxas(), toolchain.ptxas());
}

TEST(Ptxas, GetsThePtxAndGivesTheCubin) {
  // Arguments: -arch=sm_90 -lineinfo -o CUBIN PTX. This one "compiles" to the target and the text.
  const FakeToolchain toolchain("{ echo \"$1\"; cat \"$5\"; } > \"$4\"\n");
  const std::vector<std::byte> cubin = run_ptxas(toolchain.ptxas(), "some ptx", "sm_90");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(cubin.data()), cubin.size()),
            "-arch=sm_90\nsome ptx");
}

TEST(Ptxas, SaysWhatTheCompilerSaid) {
  const FakeToolchain toolchain("echo 'line 3; error : Unknown symbol' >&2\nexit 255\n");
  try {
    run_ptxas(toolchain.ptxas(), "some ptx", "sm_90");
    FAIL() << "a failing compiler was believed";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3; error : Unknown symbol"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("exit 255"), std::string::npos);
  }
}

TEST(Ptxas, OneThatDoesNotEndIsStopped) {
  const FakeToolchain toolchain("exec sleep 60\n");
  try {
    run_ptxas(toolchain.ptxas(), "some ptx", "sm_90",
              {.time_limit = std::chrono::milliseconds(50)});
    FAIL() << "a compiler that did not end was believed";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did not end"), std::string::npos) << error.what();
  }
}

TEST(Ptxas, MissingCompilerIsAnInputError) {
  EXPECT_THROW(run_ptxas("/nonexistent/ptxas", "some ptx", "sm_90"), InputError);
}

TEST(PtxasTarget, KeepsTheModulesOwnVariantOfTheDevice) {
  EXPECT_EQ(ptxas_target(".version 8.0\n.target sm_80\n", 9, 0), "sm_90");
  EXPECT_EQ(ptxas_target(".version 8.0\n.target sm_90a\n", 9, 0), "sm_90a");
  EXPECT_EQ(ptxas_target(".version 8.0\n.target\tsm_90a, debug\n", 9, 0), "sm_90a");
  EXPECT_EQ(ptxas_target(".version 8.0\n.target sm_100a\n", 9, 0), "sm_90");
  EXPECT_EQ(ptxas_target("no target", 8, 6), "sm_86");
  EXPECT_EQ(ptxas_target(".version 8.0\n.target", 8, 0), "sm_80");
}

}  // namespace
}  // namespace bitgate::kernels
