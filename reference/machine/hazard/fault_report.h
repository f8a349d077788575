#pragma once

#include <optional>

#include "reference/machine/hazard/report.h"
#include "reference/machine/machine.h"

namespace bitgate::machine::hazard {

/// The hazard that a fault is; nothing for a trap, which the program asks for, and for what is no
/// verdict.
std::optional<Report> report_of(const Fault& fault);

}  // namespace bitgate::machine::hazard
