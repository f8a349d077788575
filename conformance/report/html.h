#pragma once

#include <string>

#include "conformance/report/report.h"

namespace bitgate::conformance {

/// One self-contained HTML page: inline style, no scripts, nothing fetched.
std::string html_report(const RunSummary& summary);

}  // namespace bitgate::conformance
