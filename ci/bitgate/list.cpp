#include <fmt/format.h>

#include <algorithm>

#include "ci/bitgate/command.h"
#include "fuzz/classes.h"
#include "kernels/kernel.h"

namespace bitgate::command_line {

using nlohmann::ordered_json;

namespace {

/// The domain in words; outside_domain is what decides, and a test asks it about each of these.
ordered_json domain_of(const kernels::Kernel& kernel) {
  const bool symmetric = kernel.zeros == kernels::Zeros::sym;
  return {{"m", "any, 0 included"},
          {"n", "a multiple of 8, 0 included"},
          {"k", "a multiple of the group, of 32 for the whole of K, 0 included"},
          {"group", {32, 64, 128, -1}},
          {"type", numeric::name(kernel.type)},
          {"zero", symmetric ? ordered_json({"sym"}) : ordered_json({"gptq_v1", "gptq_v2", "awq"})},
          {"order", {"none", "random", "skewed", "reversed", "identity"}},
          {"lda", "any from k"},
          {"ldc", "any from n"},
          {"align", "any even offset"}};
}

ordered_json describe(const kernels::Kernel& kernel) {
  const auto& geometry = kernel.geometry;
  return {{"name", kernel.name},
          {"family", kernel.family},
          {"entry", kernel.entry},
          {"geometry",
           {{"variant", geometry.variant},
            {"tile_m", geometry.tile_m},
            {"tile_n", geometry.tile_n},
            {"tile_k", geometry.tile_k},
            {"warps_m", geometry.warps_m},
            {"warps_n", geometry.warps_n},
            {"warps_k", geometry.warps_k},
            {"stages", geometry.stages}}},
          {"domain", domain_of(kernel)},
          {"claims", kernel.claims},
          {"code_hash", kernel.code_hash}};
}

int list(const Session& session, const std::string& glob) {
  const auto chosen = kernels::match_kernels(glob);
  if (session.json) {
    ordered_json document = {{"schema", "bitgate.kernels/1"}, {"kernels", ordered_json::array()}};
    for (const kernels::Kernel* kernel : chosen) document["kernels"].push_back(describe(*kernel));
    session.print(document);
    return kProven;
  }
  std::size_t width = 0;
  for (const kernels::Kernel* kernel : chosen) width = std::max(width, kernel->name.size());
  for (const kernels::Kernel* kernel : chosen) {
    const auto& geometry = kernel->geometry;
    session.out << fmt::format("{:{}}  {} warps, {} stages  {}  {}\n", kernel->name, width,
                               geometry.warps_m * geometry.warps_n * geometry.warps_k,
                               geometry.stages, fmt::join(kernel->claims, " "),
                               kernel->code_hash.substr(0, 12));
  }
  session.out
      << "m any; n a multiple of 8; k a multiple of the group (32, 64, 128, or -1: whole, a "
         "multiple of 32)\n";
  return kProven;
}

}  // namespace

void add_list(CLI::App& program, Session& session) {
  const auto glob = std::make_shared<std::string>("*");
  Command command =
      add_command(program, session, "list", "kernels with geometry, domain, claims and code hash",
                  [&session, glob] { return list(session, *glob); });
  command.option("--kernel", *glob, "GLOB of kernel names (*)");
}

}  // namespace bitgate::command_line
