#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/device.h"

namespace bitgate::suite {

struct ExecOptions {
  std::optional<std::filesystem::path> ptx;  ///< in place of the launch file's module
  std::optional<std::filesystem::path>
      out_folder;                 ///< gets NAME.bin of each output; made if missing
  kernels::LaunchOptions launch;  ///< time limit, schedule, interrupt
  /// Gets the bytes of each output buffer by name, if wanted.
  std::map<std::string, std::vector<std::byte>>* save_outputs = nullptr;
};

struct ExecResult {
  nlohmann::ordered_json document;  ///< bitgate.exec/1
  std::string text;                 ///< the same for people, some lines
  std::string printed;              ///< by the kernels, on the machine
  int exit_code = 0;                ///< 0 pass, 1 fail, 3 unsupported, interrupted or device lost
};

/// Runs a launch file: all launches in order on the same buffers, up to the first that does not
/// complete. InputError (exit 2) for everything that is wrong before the first launch runs: the
/// file, its module, an argument that does not fit its parameter, a folder that cannot be written.
///
/// Uninitialised buffers hold 0xff bytes, a NaN in every float type; above 64 MiB they are left as
/// the device hands them out, and the machine never touches pages that nothing uses.
ExecResult exec_launch_file(const std::filesystem::path& path, kernels::Device& device,
                            const ExecOptions& options);

}  // namespace bitgate::suite
