#include "conformance/report/json.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "conformance/report/hazards.h"

namespace bitgate::conformance {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::map<std::string, std::uint64_t>& counts) {
  Json json = Json::object();
  for (const auto& [key, count] : counts) json[key] = count;
  return json;
}

Json json_of(const KernelSummary& kernel) {
  Json json;
  json["pass"] = kernel.counts.pass;
  if (kernel.counts.fail > 0) json["fail"] = kernel.counts.fail;
  if (kernel.counts.untrusted > 0) json["untrusted"] = kernel.counts.untrusted;
  if (kernel.counts.unsupported > 0) json["unsupported"] = kernel.counts.unsupported;
  if (kernel.exact_coverage) json["exact_coverage"] = *kernel.exact_coverage;
  if (!kernel.classes.empty()) json["classes"] = json_of(kernel.classes);
  return json;
}

Json json_of(const FirstBad& bad) {
  Json json;
  json["row"] = bad.row;
  json["col"] = bad.col;
  json["got"] = bad.got;
  json["want"] = bad.want;
  json["block"] = bad.block;
  json["warp"] = bad.warp;
  json["lane"] = bad.lane;
  json["register"] = bad.reg;
  return json;
}

Json json_of(const CaseResult& result) {
  Json json;
  json["spec"] = result.spec;
  json["kernel"] = result.kernel;
  json["device"] = result.device;
  json["verdict"] = name(result.verdict);
  json["checks"] = Json::array();
  for (const CheckResult& check : result.checks) {
    Json entry;
    entry["name"] = check.name;
    entry["verdict"] = name(check.verdict);
    if (!check.message.empty()) entry["message"] = check.message;
    json["checks"].push_back(std::move(entry));
  }
  if (!result.out_sha256.empty()) json["out_sha256"] = result.out_sha256;
  if (result.max_error) json["max_error"] = *result.max_error;
  if (result.bound_at_max) json["bound_at_max"] = *result.bound_at_max;
  if (result.first_bad) json["first_bad"] = json_of(*result.first_bad);
  if (!result.diagnosis.empty()) {
    json["diagnosis"] = Json::array();
    for (const Diagnosis& diagnosis : result.diagnosis) {
      Json entry;
      entry["hypothesis"] = diagnosis.hypothesis;
      entry["explains"] = diagnosis.explains;
      if (!diagnosis.variant.empty()) entry["variant"] = diagnosis.variant;
      json["diagnosis"].push_back(std::move(entry));
    }
  }
  if (!result.hazards.empty()) json["hazards"] = hazards_json(result.hazards);
  if (!result.replay.empty()) json["replay"] = result.replay;
  return json;
}

}  // namespace

std::string json_report(const RunSummary& summary, JsonCases cases) {
  Json json;
  json["schema"] = "bitgate.cases/1";
  json["device"] = summary.device;
  json["seed"] = summary.seed;
  json["counts"] = {{"pass", summary.counts.pass},
                    {"fail", summary.counts.fail},
                    {"untrusted", summary.counts.untrusted},
                    {"unsupported", summary.counts.unsupported}};
  if (!summary.suites.empty()) json["suites"] = json_of(summary.suites);
  json["kernels"] = Json::object();
  for (const auto& [kernel, kernel_summary] : summary.kernels) {
    json["kernels"][kernel] = json_of(kernel_summary);
  }
  if (!summary.classes.empty()) json["classes"] = json_of(summary.classes);
  if (!summary.rules.empty()) json["rules"] = json_of(summary.rules);
  if (!summary.notes.empty()) json["notes"] = summary.notes;
  json["cases"] = Json::array();
  for (const CaseResult& result : summary.cases) {
    if (cases == JsonCases::all || result.verdict != Verdict::pass) {
      json["cases"].push_back(json_of(result));
    }
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bitgate::conformance
