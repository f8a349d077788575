#pragma once

#include "ci/bitgate/command.h"

namespace bitgate::command_line {

/// `exec --list-opcodes`: what the machine makes of each opcode and its types, as a page of
/// Markdown or as bitgate.opcodes/1.
int list_opcodes(const Session& session);

}  // namespace bitgate::command_line
