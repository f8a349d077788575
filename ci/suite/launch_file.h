#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ci/suite/random_contents.h"
#include "kernels/device/device.h"

namespace bitgate::suite {

/// What any PTX kernel needs to run, as `bitgate exec` reads it (JSON; CLI: "A launch file").
struct LaunchFile {
  struct Buffer {
    std::string name;  ///< letters, digits, '_', '-' and '.', so that NAME.bin is a file name
    std::uint64_t bytes = 0;
    std::optional<std::filesystem::path> file;  ///< its contents; exactly `bytes` long
    std::optional<std::byte> fill;              ///< every byte
    std::optional<RandomContents> random;       ///< none of the three: uninitialised
    bool output = false;
    bool read_only = false;
  };

  struct Argument {
    std::string kind;                   ///< the key it was written with: "ptr", "u32", "bytes", …
    std::optional<std::size_t> buffer;  ///< of a ptr, in `buffers`; none: null
    std::uint64_t offset = 0;           ///< of a ptr, in bytes
    std::vector<std::byte> bytes;       ///< of all others, as the parameter holds them
  };

  struct Launch {
    std::optional<std::string> entry;  ///< none: the module's only one
    kernels::Dim3 grid;
    kernels::Dim3 block;
    std::uint32_t shared = 0;  ///< dynamic shared memory, bytes
    std::vector<Argument> arguments;
  };

  std::filesystem::path module;  ///< PTX
  std::vector<Buffer> buffers;   ///< in the order of the file
  std::vector<Launch> launches;
};

/// The format, for --help.
std::string launch_file_help();

/// Strict: unknown and repeated keys, wrong types and values out of range are InputErrors that name
/// the place ("k.json: launches[0].args[2].u32: expected …, found …"). Paths are made relative to
/// `folder`; no file is opened.
LaunchFile parse_launch_file(std::string_view text, const std::string& name,
                             const std::filesystem::path& folder);

/// The file at `path`, and the sizes of the files it names.
LaunchFile read_launch_file(const std::filesystem::path& path);

}  // namespace bitgate::suite
