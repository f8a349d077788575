#include <fmt/format.h>

#include "ci/bitgate/command.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

void add_later_commands(CLI::App& program, Session& session) {
  for (const char* name : {"inspect", "codegen", "plan", "certify", "mutate", "merge", "diagnose",
                           "masks", "golden", "compare"}) {
    Command command = add_command(program, session, name, "not in this version", [name]() -> int {
      throw Unsupported(fmt::format("the command {} is not in this version", name));
    });
    command.hide();
  }
}

}  // namespace bitgate::command_line
