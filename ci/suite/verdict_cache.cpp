#include "ci/suite/verdict_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "ci/suite/judge_hash.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {

namespace fs = std::filesystem;

using conformance::CaseResult;
using conformance::Verdict;
using nlohmann::json;

namespace {

constexpr std::uintmax_t kMostBytes = 1U << 16;

json to_json(const CaseResult& result) {
  json document = {{"spec", result.spec},     {"kernel", result.kernel},
                   {"device", result.device}, {"out_sha256", result.out_sha256},
                   {"rules", result.rules},   {"replay", result.replay},
                   {"checks", json::array()}};
  for (const auto& check : result.checks) {
    document["checks"].push_back({{"name", check.name}, {"message", check.message}});
  }
  if (result.max_error) document["max_error"] = *result.max_error;
  if (result.bound_at_max) document["bound_at_max"] = *result.bound_at_max;
  if (result.exact_coverage) document["exact_coverage"] = *result.exact_coverage;
  if (result.coverage) {
    document["coverage"] = {result.coverage->steps, result.coverage->column_tiles,
                            result.coverage->covered};
  }
  return document;
}

CaseResult from_json(const json& document) {
  CaseResult result;
  result.verdict = Verdict::pass;
  result.spec = document.at("spec").get<std::string>();
  result.kernel = document.at("kernel").get<std::string>();
  result.device = document.at("device").get<std::string>();
  result.out_sha256 = document.at("out_sha256").get<std::string>();
  result.rules = document.at("rules").get<decltype(result.rules)>();
  result.replay = document.at("replay").get<std::string>();
  for (const json& check : document.at("checks")) {
    result.checks.push_back({check.at("name").get<std::string>(), Verdict::pass,
                             check.at("message").get<std::string>()});
  }
  const auto number = [&](const char* key) -> std::optional<double> {
    if (!document.contains(key)) return std::nullopt;
    return document.at(key).get<double>();
  };
  result.max_error = number("max_error");
  result.bound_at_max = number("bound_at_max");
  result.exact_coverage = number("exact_coverage");
  if (document.contains("coverage")) {
    const json& counts = document.at("coverage");
    result.coverage = conformance::Coverage{counts.at(0), counts.at(1), counts.at(2)};
  }
  return result;
}

}  // namespace

VerdictCache::VerdictCache(fs::path folder) : folder_(std::move(folder)) {}

const std::string& VerdictCache::contents_of(const std::string& checkpoint) {
  if (const auto known = checkpoints_.find(checkpoint); known != checkpoints_.end()) {
    return known->second;
  }
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoint, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const fs::path& file : files) {
    text += file.filename().string() + " " + sha256(read_file(file)) + "\n";
  }
  return checkpoints_.emplace(checkpoint, sha256(text)).first->second;
}

std::string VerdictCache::key(const std::string& code_hash, const conformance::Spec& spec,
                              const std::string& kernel, const DeviceKind& device) {
  return fmt::format(
      "judge {}\ncode {}\nkernel {}\nspec {}\ncheckpoint {}\ndevice {} {}\nmodel {}\n",
      judge_hash(), code_hash, kernel, conformance::to_string(spec),
      spec.checkpoint.empty() ? "none" : contents_of(spec.checkpoint), device.kind,
      device.description, device.tensor_model->name);
}

std::optional<CaseResult> VerdictCache::find(const std::string& key) const {
  const fs::path file = folder_ / (sha256(key) + ".json");
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error || bytes > kMostBytes) return std::nullopt;
  try {
    const json document = json::parse(read_text_file(file));
    if (document.at("key").get<std::string>() != key) return std::nullopt;
    return from_json(document.at("result"));
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void VerdictCache::keep(const std::string& key, const CaseResult& result) const {
  if (result.verdict != Verdict::pass) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  try {
    write_file(folder_ / (sha256(key) + ".json"),
               json{{"key", key}, {"result", to_json(result)}}.dump() + "\n");
  } catch (const InputError&) {
    return;
  }
}

}  // namespace bitgate::suite
