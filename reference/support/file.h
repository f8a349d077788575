#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgate {

/// The whole of a regular file. InputError when it cannot be read, naming the path and the reason.
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

/// Writes beside the target and renames into place, so that a reader sees the old file or the new
/// one and an interrupted run leaves nothing half-written. InputError when it cannot be written.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace bitgate
