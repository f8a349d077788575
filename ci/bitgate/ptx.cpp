#include "ci/bitgate/command.h"
#include "kernels/kernel.h"
#include "reference/machine/ptx/canonical.h"
#include "reference/machine/ptx/parser.h"

namespace bitgate::command_line {

void add_ptx(CLI::App& program, Session& session) {
  const auto name = std::make_shared<std::string>();
  Command command = add_command(
      program, session, "ptx", "a module with one kernel's code alone", [&session, name] {
        const kernels::Kernel& kernel = kernels::kernel_named(*name);
        const auto module = machine::ptx::parse(kernel.code->ptx, kernel.code->name);
        const std::string text = machine::ptx::slice_module(module, kernel.entry);
        if (session.json) {
          session.print({{"schema", "bitgate.ptx/1"},
                         {"kernel", kernel.name},
                         {"entry", kernel.entry},
                         {"code_hash", kernel.code_hash},
                         {"ptx", text}});
        } else {
          session.out << text;
        }
        return kProven;
      });
  command.required("NAME", *name, "a kernel's name, as bitgate list prints it");
}

}  // namespace bitgate::command_line
