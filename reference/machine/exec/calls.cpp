#include "reference/machine/exec/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

/// What a call takes of the stack besides the callee's variables: the return address and such.
constexpr std::uint64_t kCallBytes = 32;

void save(const Context& x, std::size_t lane, const CallSite& site,
          std::vector<std::uint32_t>& out) {
  for (const CallSite::Saved& saved : site.saved) {
    switch (saved.kind) {
      case Kind::predicate:
        out.push_back(x.predicate(saved.offset) >> lane & 1U);
        break;
      case Kind::b128:
      case Kind::b64:
        for (std::uint32_t half = 0; half < words_of(saved.kind) / 2; ++half) {
          const std::uint64_t value = x.lanes64(saved.offset + half * 8 * kLanes)[lane];
          out.push_back(static_cast<std::uint32_t>(value));
          out.push_back(static_cast<std::uint32_t>(value >> 32));
        }
        break;
      case Kind::b32:
      case Kind::none:
        out.push_back(x.lanes32(saved.offset)[lane]);
        break;
    }
  }
}

void restore(const Context& x, std::size_t lane, const CallSite& site, const std::uint32_t* in) {
  for (const CallSite::Saved& saved : site.saved) {
    switch (saved.kind) {
      case Kind::predicate: {
        std::uint32_t& p = x.predicate(saved.offset);
        p = (p & ~kLaneBit[lane]) | (*in++ != 0 ? kLaneBit[lane] : 0U);
        break;
      }
      case Kind::b128:
      case Kind::b64:
        for (std::uint32_t half = 0; half < words_of(saved.kind) / 2; ++half) {
          const std::uint64_t low = *in++;
          x.lanes64(saved.offset + half * 8 * kLanes)[lane] = std::uint64_t{*in++} << 32 | low;
        }
        break;
      case Kind::b32:
      case Kind::none:
        x.lanes32(saved.offset)[lane] = *in++;
        break;
    }
  }
}

const Procedure& procedure_of(const Context& x, const Op& op, const CallSite& site,
                              std::size_t lane) {
  const Code& code = *x.state->code;
  if (site.procedure != CallSite::kIndirect) return code.procedures[site.procedure];
  const std::uint64_t address = x.lanes64(op.a)[lane];
  const auto found = code.procedure_at.find(address);
  if (found == code.procedure_at.end()) {
    throw_fault(Fault::Kind::out_of_bounds, static_cast<int>(lane),
                fmt::format("a call of {:#x}, which is no function of this module", address));
  }
  const Procedure& procedure = code.procedures[found->second];
  if (procedure.signature != site.signature) {
    throw_fault(Fault::Kind::out_of_bounds, static_cast<int>(lane),
                fmt::format("a call of '{}' by a prototype that does not fit it", procedure.name));
  }
  return procedure;
}

void enter_lane(Context& x, const Op& op, std::uint32_t pc, std::size_t lane,
                const Procedure& procedure) {
  const Code& code = *x.state->code;
  const CallSite& site = code.calls[static_cast<std::size_t>(op.immediate)];
  LaneStack& stack = x.warp->stacks[lane];
  std::uint64_t& frame = x.lanes64(code.frame_register)[lane];
  const std::uint64_t begin = align_up(stack.top, procedure.frame_alignment);
  const std::uint64_t end = begin + procedure.frame_bytes;
  const std::uint64_t charge = kCallBytes + std::uint64_t{site.saved_words} * 4;
  if (end + stack.charged + charge > code.local_window()) {
    Fault fault;
    fault.kind = Fault::Kind::out_of_bounds;
    fault.space = name(Space::local);
    fault.offset = static_cast<std::int64_t>(end);
    fault.message = fmt::format(
        "stack overflow: the call of '{}' is {} calls deep, and a thread's stack has "
        "{} bytes",
        procedure.name, stack.calls.size() + 1, code.stack_bytes);
    MachineFault thrown(std::move(fault));
    thrown.lane = static_cast<int>(lane);
    throw thrown;
  }
  std::byte* const local = x.warp->local + lane * code.local_stride();
  const std::uint64_t caller = site.caller_has_frame ? frame : 0;
  for (const CallSite::Copy& copy : site.arguments) {
    std::memcpy(local + begin + copy.callee_offset, local + caller + copy.caller_offset,
                copy.bytes);
  }
  stack.calls.push_back({pc, static_cast<std::uint32_t>(op.immediate),
                         static_cast<std::uint32_t>(frame), static_cast<std::uint32_t>(stack.top)});
  save(x, lane, site, stack.saved);
  stack.charged += charge;
  stack.top = end;
  stack.highest = std::max(stack.highest, end);
  frame = begin;
}

}  // namespace

void enter_procedure(Context& x, const Op& op, std::uint32_t pc,
                     std::array<std::uint32_t, kLanes>& target) {
  const CallSite& site = x.state->code->calls[static_cast<std::size_t>(op.immediate)];
  each_lane(x.active, [&](std::size_t lane) {
    const Procedure& procedure = procedure_of(x, op, site, lane);
    enter_lane(x, op, pc, lane, procedure);
    target[lane] = procedure.entry;
  });
}

void leave_procedure(Context& x, std::array<std::uint32_t, kLanes>& target) {
  const Code& code = *x.state->code;
  each_lane(x.active, [&](std::size_t lane) {
    LaneStack& stack = x.warp->stacks[lane];
    const LaneStack::Call call = stack.calls.back();
    stack.calls.pop_back();
    const CallSite& site = code.calls[call.site];
    std::uint64_t& frame = x.lanes64(code.frame_register)[lane];
    std::byte* const local = x.warp->local + lane * code.local_stride();
    const std::uint64_t caller = site.caller_has_frame ? call.frame : 0;
    for (const CallSite::Copy& copy : site.results) {
      std::memcpy(local + caller + copy.caller_offset, local + frame + copy.callee_offset,
                  copy.bytes);
    }
    const std::size_t kept = stack.saved.size() - site.saved_words;
    restore(x, lane, site, stack.saved.data() + kept);
    stack.saved.resize(kept);
    stack.charged -= kCallBytes + std::uint64_t{site.saved_words} * 4;
    stack.top = call.top;
    frame = call.frame;
    target[lane] = call.pc + 1;
  });
}

void reset_stacks(Warp& warp, const Code& code) {
  if (code.stack_bytes == 0) return;
  warp.stacks.resize(kLanes);
  for (std::size_t lane = 0; lane < warp.stacks.size(); ++lane) {
    LaneStack& stack = warp.stacks[lane];
    if (stack.highest > code.local_bytes) {
      std::memset(warp.local + lane * code.local_stride() + code.local_bytes, 0,
                  stack.highest - code.local_bytes);
    }
    stack.calls.clear();
    stack.saved.clear();
    stack.charged = 0;
    stack.top = code.local_bytes;
    stack.highest = code.local_bytes;
  }
}

namespace {

// alloca, stacksave, stackrestore (PTX ISA 9.7.14). The stack grows upwards here; a pointer that
// stacksave gave is the address where the next allocation would begin.

/// d: address, a: bytes, immediate: alignment.
template <class Lane>
void allocate(Context& x, const Op& op) {
  const Code& code = *x.state->code;
  const auto* bytes = reinterpret_cast<const Lane*>(x.registers + op.a);
  auto* d = reinterpret_cast<Lane*>(x.registers + op.d);
  each_lane(x.active, [&](std::size_t lane) {
    LaneStack& stack = x.warp->stacks[lane];
    const std::uint64_t begin = align_up(stack.top, static_cast<std::uint64_t>(op.immediate));
    const std::uint64_t room = code.local_window();
    if (begin > room || bytes[lane] > room - begin || begin + bytes[lane] + stack.charged > room) {
      throw_fault(Fault::Kind::out_of_bounds, static_cast<int>(lane),
                  fmt::format("stack overflow: alloca of {} bytes, and a thread's stack has {}",
                              bytes[lane], code.stack_bytes));
    }
    stack.top = begin + bytes[lane];
    stack.highest = std::max(stack.highest, stack.top);
    d[lane] = static_cast<Lane>(begin);
  });
}

void decode_alloca(InstructionBuilder& builder) {
  // alloca.type ptr, size{, immAlign}
  const bool wide = builder.modifier(0) == "u64";
  const Kind kind = wide ? Kind::b64 : Kind::b32;
  builder.define(&Op::d, builder.operand(0), kind);
  builder.use(&Op::a, builder.operand(1), kind);
  std::uint64_t alignment = 8;
  if (builder.count() > 2) {
    if (builder.operand(2).kind != ptx::Operand::Kind::immediate) {
      throw Unsupported("the alignment is an immediate");
    }
    alignment = std::max<std::uint64_t>(builder.operand(2).immediate.bits, 8);
  }
  if (!std::has_single_bit(alignment) || alignment > std::uint64_t{1} << 23) {
    throw Unsupported("an alignment that is no power of two up to 2^23");
  }
  builder.op.immediate = static_cast<std::int64_t>(alignment);
  builder.op.full = wide ? &allocate<std::uint64_t> : &allocate<std::uint32_t>;
  builder.op.masked = builder.op.full;
}

template <class Lane>
void save_stack(Context& x, const Op& op) {
  auto* d = reinterpret_cast<Lane*>(x.registers + op.d);
  each_lane(x.active,
            [&](std::size_t lane) { d[lane] = static_cast<Lane>(x.warp->stacks[lane].top); });
}

template <class Lane>
void restore_stack(Context& x, const Op& op) {
  const auto* a = reinterpret_cast<const Lane*>(x.registers + op.a);
  each_lane(x.active, [&](std::size_t lane) {
    LaneStack& stack = x.warp->stacks[lane];
    if (a[lane] < x.state->code->local_bytes || a[lane] > stack.top) {
      throw_fault(
          Fault::Kind::out_of_bounds, static_cast<int>(lane),
          fmt::format("stackrestore of {:#x}, which is no address that stacksave gave", a[lane]));
    }
    stack.top = a[lane];
  });
}

void decode_stack(InstructionBuilder& builder) {
  const bool saves = builder.text.opcode == "stacksave";
  const bool wide = builder.modifier(0) == "u64";
  const Kind kind = wide ? Kind::b64 : Kind::b32;
  if (saves) {
    builder.define(&Op::d, builder.operand(0), kind);
    builder.op.full = wide ? &save_stack<std::uint64_t> : &save_stack<std::uint32_t>;
  } else {
    builder.use(&Op::a, builder.operand(0), kind);
    builder.op.full = wide ? &restore_stack<std::uint64_t> : &restore_stack<std::uint32_t>;
  }
  builder.op.masked = builder.op.full;
}

}  // namespace

void add_stack_rows(DecodeTable& table) {
  table.decoder("alloca", &decode_alloca);
  table.forms("alloca", {"alloca.{u32,u64}"});
  table.decoder("stacksave", &decode_stack);
  table.forms("stacksave", {"stacksave.{u32,u64}"});
  table.decoder("stackrestore", &decode_stack);
  table.forms("stackrestore", {"stackrestore.{u32,u64}"});
}

}  // namespace bitgate::machine
