#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bitgate::suite {

/// Checkpoint folders, one a scheme, of layers 0, 15 and 29 of the model: gptq_v1, gptq_v2 and awq,
/// symmetric and not, with act-order and without, group 64, and 128 for the layers whose K it
/// divides. Each is quantised once into `folder` and found there afterwards, as long as the model's
/// file is the same. Empty, with `reason` filled, when there is no model file.
std::vector<std::filesystem::path> built_in_checkpoints(const std::filesystem::path& model,
                                                        const std::filesystem::path& folder,
                                                        std::string& reason);

}  // namespace bitgate::suite
