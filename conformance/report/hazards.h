#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "reference/machine/hazard/report.h"

namespace bitgate::conformance {

/// The `hazards` of `bitgate.exec/1` and `bitgate.cases/1`, one entry a report: kind, space,
/// buffer, offset, bytes and count, the row and column of a matrix's element, `same_value` of a
/// race, and the two places.
nlohmann::ordered_json hazards_json(std::span<const machine::hazard::Report> reports);

/// One report for people, on some lines that begin with `indent`.
std::string hazard_text(const machine::hazard::Report& report, const std::string& indent);

/// Where a place stands, in a line: "write at gemm.cu:212 (PTX line 88) by thread (33,0,0) of block
/// (0,0,0)".
std::string place_text(const machine::hazard::Place& place);

}  // namespace bitgate::conformance
