#include "conformance/report/hazards.h"

#include <fmt/format.h>

namespace bitgate::conformance {

namespace {

using Json = nlohmann::ordered_json;
namespace hazard = machine::hazard;

Json json_of(const machine::Dim3& at) { return {at.x, at.y, at.z}; }

Json json_of(const hazard::Place& place) {
  Json json;
  if (place.access != hazard::AccessKind::none) json["access"] = hazard::name(place.access);
  json["instruction"] = place.site.instruction;
  json["file"] = place.site.file;
  json["line"] = place.site.line;
  json["ptx_line"] = place.site.ptx_line;
  json["block"] = json_of(place.site.block);
  json["thread"] = json_of(place.site.thread);
  return json;
}

Json json_of(const hazard::Report& report) {
  Json json;
  json["kind"] = hazard::name(report.kind);
  json["space"] = report.space.empty() ? Json(nullptr) : Json(report.space);
  json["buffer"] = report.buffer.empty() ? Json(nullptr) : Json(report.buffer);
  if (!report.space.empty()) {
    json["offset"] = report.offset;
    json["bytes"] = report.bytes;
  }
  if (report.element) json["element"] = {report.element->first, report.element->second};
  json["count"] = report.count;
  if (report.same_value) json["same_value"] = true;
  json["first"] = json_of(report.first);
  json["second"] = report.second ? json_of(*report.second) : Json(nullptr);
  if (!report.message.empty()) json["message"] = report.message;
  return json;
}

}  // namespace

Json hazards_json(std::span<const hazard::Report> reports) {
  Json json = Json::array();
  for (const hazard::Report& report : reports) json.push_back(json_of(report));
  return json;
}

std::string place_text(const hazard::Place& place) {
  const machine::Site& site = place.site;
  std::string text(hazard::name(place.access));
  if (!text.empty()) text += " ";
  if (!site.file.empty()) text += fmt::format("at {}:{} ", site.file, site.line);
  return text + fmt::format("`{}` (PTX line {}) by thread ({},{},{}) of block ({},{},{})",
                            site.instruction, site.ptx_line, site.thread.x, site.thread.y,
                            site.thread.z, site.block.x, site.block.y, site.block.z);
}

std::string hazard_text(const hazard::Report& report, const std::string& indent) {
  std::string where;
  if (!report.space.empty()) {
    where = fmt::format(" in {} memory, {} bytes at {}{}", report.space, report.bytes,
                        report.buffer.empty() ? "byte " : fmt::format("'{}' + ", report.buffer),
                        report.offset);
    if (report.element) {
      where += fmt::format(" (row {}, column {})", report.element->first, report.element->second);
    }
  }
  std::string text =
      fmt::format("{}{}{}{}{}: {}\n", indent, hazard::name(report.kind),
                  report.same_value ? " of the same value" : "", where,
                  report.count > 1 ? fmt::format(", {} times", report.count) : "", report.message);
  text += fmt::format("{}  {}\n", indent, place_text(report.first));
  if (report.second) text += fmt::format("{}  {}\n", indent, place_text(*report.second));
  return text;
}

}  // namespace bitgate::conformance
