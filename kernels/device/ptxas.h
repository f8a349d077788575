#pragma once

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

/// The cubin of `ptx`. InputError with what ptxas said when it refuses.
std::vector<std::byte> run_ptxas(const std::filesystem::path& ptxas, std::string_view ptx,
                                 std::string_view target);

}  // namespace bitgate::kernels
