#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitgate::kernels {

/// ptxas of the CUDA toolchain: CUDA_HOME/bin, then PATH, then /usr/local/cuda/bin.
std::optional<std::filesystem::path> find_ptxas();

/// What ptxas is told to compile `ptx` for on a device of that compute capability: the module's own
/// `.target` when that is a variant of it ("sm_90a"), else "sm_90".
std::string ptxas_target(std::string_view ptx, int major, int minor);

struct PtxasOptions {
  int optimisation = 3;
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);
};

/// The cubin of `ptx`. InputError with what ptxas said when it refuses, or when it does not end.
std::vector<std::byte> run_ptxas(const std::filesystem::path& ptxas, std::string_view ptx,
                                 std::string_view target, const PtxasOptions& options = {});

}  // namespace bitgate::kernels
