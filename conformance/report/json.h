#pragma once

#include <string>

#include "conformance/report/report.h"

namespace bitgate::conformance {

enum class JsonCases { all, not_passed };

/// The `bitgate.cases/1` document (CLI.md, "gate --json, run --json"), indented, with a final
/// newline. Keys keep the documented order and what does not apply is absent; numbers are the
/// shortest that read back equal; nothing in it depends on time or on the number of threads.
std::string json_report(const RunSummary& summary, JsonCases cases);

}  // namespace bitgate::conformance
