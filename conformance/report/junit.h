#pragma once

#include <string>

#include "conformance/report/report.h"

namespace bitgate::conformance {

/// JUnit XML as CI servers read it: a test suite per kernel, a test case per spec. `fail` is a
/// failure; `untrusted` and `unsupported` are errors, because no verdict is not green.
std::string junit_report(const RunSummary& summary);

}  // namespace bitgate::conformance
