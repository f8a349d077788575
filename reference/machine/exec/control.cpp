#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// bra, brx.idx, ret, exit, trap (PTX ISA 9.7.12). What they do to the splits of a warp is in
// exec/warp.cpp; calls are decoded in program/call_decoder.cpp.

namespace bitgate::machine {

namespace {

void decode_bra(InstructionBuilder& builder) {
  builder.op.flow = Flow::branch;
  builder.branch_to(builder.operand(0));
}

void decode_brx(InstructionBuilder& builder) {
  // brx.idx{.uni} index, table
  builder.use(&Op::a, builder.operand(0), Kind::b32);
  builder.list_branch_targets(builder.operand(1).name);
  builder.op.flow = Flow::indirect_branch;
}

void decode_exit(InstructionBuilder& builder) { builder.op.flow = Flow::exit; }
void decode_trap(InstructionBuilder& builder) { builder.op.flow = Flow::trap; }

void do_nothing(Context&, const Op&) {}
void decode_nothing(InstructionBuilder& builder) {
  builder.op.full = &do_nothing;
  builder.op.masked = &do_nothing;
}

}  // namespace

void add_control_rows(DecodeTable& table) {
  table.decoder("bra", &decode_bra);
  table.decoder("brx", &decode_brx);
  table.decoder("exit", &decode_exit);
  table.decoder("ret", &decode_exit);
  table.decoder("trap", &decode_trap);
  table.decoder("brkpt", &decode_trap);
  // What only paces or counts: dependent launches run one after the other here, and a thread has
  // all the registers that it names.
  for (const char* opcode : {"nanosleep", "pmevent", "griddepcontrol", "setmaxnreg"}) {
    table.decoder(opcode, &decode_nothing);
  }
  table.forms("bra", {"bra{,.uni}"});
  table.forms("brx", {"brx.idx{,.uni}"});
  table.forms("ret", {"ret{,.uni}"});
  table.forms("nanosleep", {"nanosleep.u32"});
  table.forms("griddepcontrol", {"griddepcontrol.{launch_dependents,wait}"});
  table.forms("setmaxnreg", {"setmaxnreg.{inc,dec}.sync.aligned.u32"});
}

}  // namespace bitgate::machine
