#include "ci/suite/real_weights.h"

#include <fmt/format.h>

#include <array>

#include "ci/suite/judge_hash.h"
#include "reference/formats/quantize.h"
#include "reference/support/file.h"
#include "reference/support/file_lock.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {

namespace fs = std::filesystem;

using formats::QuantizeOptions;
using formats::ZeroPoints;

namespace {

/// The first, a middle and the last layer of the model.
constexpr std::array<std::int64_t, 3> kLayers = {0, 15, 29};

/// What a file of the folder says it was made from.
constexpr const char* kStamp = "made_from";

struct Scheme {
  std::string name;
  QuantizeOptions options;
};

std::vector<Scheme> schemes() {
  constexpr std::array<std::pair<ZeroPoints, const char*>, 3> kConventions = {
      {{ZeroPoints::gptq_v1, "gptq_v1"},
       {ZeroPoints::gptq_v2, "gptq_v2"},
       {ZeroPoints::awq, "awq"}}};
  std::vector<Scheme> all;
  for (const std::int64_t group : {64, 128}) {
    for (const auto& [convention, name] : kConventions) {
      for (const bool symmetric : {false, true}) {
        for (const bool act_order : {false, true}) {
          if (act_order && convention == ZeroPoints::awq) continue;
          QuantizeOptions options;
          options.scheme = convention;
          options.group_size = group;
          options.symmetric = symmetric;
          options.act_order = act_order;
          options.skip_indivisible = group == 128;
          all.push_back({fmt::format("{}-{}{}-g{}", name, symmetric ? "sym" : "asym",
                                     act_order ? "-act" : "", group),
                         options});
        }
      }
    }
  }
  return all;
}

bool is_stamped(const fs::path& folder, const std::string& stamp) {
  std::error_code error;
  return fs::is_regular_file(folder / kStamp, error) && read_text_file(folder / kStamp) == stamp;
}

}  // namespace

std::vector<fs::path> built_in_checkpoints(const fs::path& model, const fs::path& folder,
                                           std::string& reason) {
  std::error_code error;
  if (!fs::is_regular_file(model, error)) {
    reason = fmt::format("{} is missing: run ci/setup, or name a --checkpoint", model.string());
    return {};
  }
  const std::string stamp =
      fmt::format("model {}\nsources {}\n", sha256(read_file(model)), judge_hash());
  // Gates and tests that start together make them once.
  const FileLock lock(fs::path(folder) += ".lock");
  const bool ready = is_stamped(folder, stamp);
  if (!ready) fs::remove_all(folder, error);
  std::vector<fs::path> checkpoints;
  for (const Scheme& scheme : schemes()) {
    for (const std::int64_t layer : kLayers) {
      const fs::path place = folder / scheme.name / fmt::format("layer{}", layer);
      checkpoints.push_back(place);
      if (ready) continue;
      fs::create_directories(place);
      QuantizeOptions options = scheme.options;
      options.layers = formats::LayerRange{layer, layer};
      formats::quantize(model, place / "model.safetensors", options);
    }
  }
  // Last, so that an interrupted run is made again.
  if (!ready) write_file(folder / kStamp, stamp);
  return checkpoints;
}

}  // namespace bitgate::suite
