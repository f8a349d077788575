#include "ci/suite/case_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "fuzz/classes.h"
#include "fuzz/corpus.h"
#include "fuzz/generate.h"
#include "reference/formats/checkpoint.h"
#include "reference/support/error.h"

namespace bitgate::suite {

using conformance::Spec;
using kernels::Kernel;

namespace {

/// Decoding, a small batch, one row tile and one row more, a prefill of two row tiles.
constexpr std::array<std::int64_t, 5> kRows = {1, 3, 16, 33, 130};

conformance::ZeroKey zero_key(const formats::QuantConfig& config) {
  if (config.symmetric) return conformance::ZeroKey::sym;
  switch (config.zero_points) {
    case formats::ZeroPoints::sym:
      return conformance::ZeroKey::sym;
    case formats::ZeroPoints::gptq_v1:
      return conformance::ZeroKey::gptq_v1;
    case formats::ZeroPoints::gptq_v2:
      return conformance::ZeroKey::gptq_v2;
    case formats::ZeroPoints::awq:
      return conformance::ZeroKey::awq;
  }
  return conformance::ZeroKey::sym;
}

Spec spec_of_layer(const std::filesystem::path& folder, const formats::Checkpoint& checkpoint,
                   const formats::LayerInfo& layer) {
  // The type of the scales is the tensor's: no config states it.
  const formats::QuantConfig config = checkpoint.load(layer.name).config;
  Spec spec;
  spec.fill = conformance::Fill::checkpoint;
  spec.checkpoint = std::filesystem::proximate(folder).string();
  spec.layer = layer.name;
  spec.k = layer.k;
  spec.n = layer.n;
  spec.group = config.group_size;
  spec.type = config.scale_type;
  spec.zero = zero_key(config);
  // Any order but none says that the checkpoint's g_idx counts; which one is the checkpoint's.
  spec.order = config.act_order ? conformance::Order::random : conformance::Order::none;
  return spec;
}

}  // namespace

std::vector<PlannedCase> corpus_cases(const std::filesystem::path& folder,
                                      const KernelList& kernels) {
  std::vector<PlannedCase> cases;
  for (const fuzz::CorpusCase& found : fuzz::read_corpus(folder)) {
    const Kernel* kernel = &bitgate::kernels::kernel_named(found.kernel);
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) continue;
    cases.push_back({"corpus", found.spec, kernel});
  }
  return cases;
}

std::vector<PlannedCase> real_weight_cases(const std::vector<std::filesystem::path>& checkpoints,
                                           const KernelList& kernels, int multiprocessors) {
  std::vector<PlannedCase> cases;
  std::size_t turn = 0;
  std::size_t substitute = 0;
  for (const auto& folder : checkpoints) {
    const auto checkpoint = formats::Checkpoint::open(folder);
    for (const formats::LayerInfo& layer : checkpoint.layers()) {
      Spec spec = spec_of_layer(folder, checkpoint, layer);
      spec.m = kRows[turn++ % kRows.size()];
      spec.seed = turn;
      const Kernel* chosen =
          &bitgate::kernels::w4a16::plan(conformance::shape_of(spec), multiprocessors);
      if (std::find(kernels.begin(), kernels.end(), chosen) == kernels.end()) {
        KernelList serving;
        std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(serving),
                     [&](const Kernel* kernel) { return fuzz::in_domain(*kernel, spec); });
        if (serving.empty()) continue;
        chosen = serving[substitute++ % serving.size()];
      }
      cases.push_back({"real_weights", spec, chosen});
    }
  }
  return cases;
}

std::vector<PlannedCase> edge_cases(const KernelList& kernels) {
  std::vector<PlannedCase> cases;
  for (const Kernel* kernel : kernels) {
    for (const Spec& spec : fuzz::edge_cases(*kernel)) cases.push_back({"edges", spec, kernel});
  }
  return cases;
}

std::vector<PlannedCase> generated_cases(const KernelList& kernels, std::uint64_t seed,
                                         const std::vector<PlannedCase>& fixed,
                                         std::uint64_t least) {
  constexpr std::uint64_t kLeastGenerated = 8;
  std::map<const Kernel*, std::uint64_t> already;
  for (const PlannedCase& planned : fixed) {
    if (planned.suite == "edges") ++already[planned.kernel];
  }
  std::vector<PlannedCase> cases;
  for (const Kernel* kernel : kernels) {
    const std::uint64_t have = already[kernel];
    const std::uint64_t wanted =
        std::max(kLeastGenerated, least > have ? least - have : std::uint64_t{0});
    for (std::uint64_t index = 0; index < wanted; ++index) {
      cases.push_back({"generated", fuzz::generate(*kernel, seed, index), kernel});
    }
  }
  return cases;
}

}  // namespace bitgate::suite
