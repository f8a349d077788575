#pragma once

#include <cstdint>
#include <vector>

#include "reference/machine/hazard/flow.h"

namespace bitgate::machine::hazard {

/// Registers, by their number in the table, that some thread may read before it has written them:
/// the others are written on every way from the start to each place that reads them (definite
/// assignment), so that nobody ever sees what they hold at first. A guarded instruction may leave
/// its results as they were. Ways are those of the control-flow graph, whatever the guards' values.
///
/// Code with procedures, whose registers share places with their callers', gets all of them.
std::vector<std::uint8_t> maybe_read_undefined(const Code& code, const FlowTable& table);

}  // namespace bitgate::machine::hazard
