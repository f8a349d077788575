#pragma once

#include <memory>

#include "reference/machine/hazard/flow.h"

namespace bitgate::machine::hazard {

/// The table of an entry, made at its first watched launch: a small launch takes less time than
/// reading all its mnemonics does. Safe to call from any thread.
std::shared_ptr<const FlowTable> flow_of(const Program::Impl& program, const Code& code);

}  // namespace bitgate::machine::hazard
