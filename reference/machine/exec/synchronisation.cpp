#include "reference/machine/exec/synchronisation.h"

#include <bit>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// bar, barrier, bar.warp.sync, fence, membar (PTX ISA 9.7.13). Memory is sequentially consistent
// here, and there is one proxy, so that fences order nothing further.

namespace bitgate::machine {

namespace {

void fence(Context& x, const Op&) {
  if (x.state->hazards != nullptr) x.state->hazards->fence(x);
}

/// Of a proxy: there is one.
void do_nothing(Context&, const Op&) {}

void decode_barrier(InstructionBuilder& builder) {
  // bar{.cta}.{sync,arrive,red}, barrier{.cta}.{sync,arrive,red}{.aligned}, bar.warp.sync
  if (builder.has("warp")) {
    builder.use(&Op::a, builder.operand(0), Kind::b32);
    builder.op.full = &warp_barrier;
    builder.op.masked = &warp_barrier;
    builder.op.flow = Flow::converge;
    return;
  }
  if (builder.has("cluster")) throw Unsupported("barriers of a cluster are not implemented");
  builder.op.flow = Flow::barrier;
  std::size_t next = 0;
  auto action = BarrierAction::sync;
  if (builder.has("arrive")) action = BarrierAction::arrive;
  if (builder.has("red")) {
    // The result's type is the last modifier: .popc.u32, .and.pred, .or.pred.
    action = builder.has("popc")  ? BarrierAction::popc
             : builder.has("and") ? BarrierAction::land
                                  : BarrierAction::lor;
    builder.define(&Op::d, builder.operand(next++),
                   action == BarrierAction::popc ? Kind::b32 : Kind::predicate);
  }
  builder.op.extra = static_cast<std::uint8_t>(action);
  if (builder.text.opcode == "bar" || builder.has("aligned")) builder.op.extra |= kAlignedBarrier;
  builder.use(&Op::a, builder.operand(next++), Kind::b32);
  const std::size_t predicate = action >= BarrierAction::popc ? 1 : 0;
  if (builder.count() > next + predicate) {
    builder.use(&Op::b, builder.operand(next++), Kind::b32);
  } else {
    builder.use_constant(&Op::b, Kind::b32, 0);
  }
  if (predicate != 0) {
    builder.use(&Op::c, builder.operand(next), Kind::predicate, Immediates::integer, 2);
  }
}

void decode_fence(InstructionBuilder& builder) {
  builder.communicates();
  const bool orders = !builder.has("proxy") && !builder.has("mbarrier_init");
  builder.op.full = orders ? &fence : &do_nothing;
  builder.op.masked = builder.op.full;
}

}  // namespace

void warp_barrier(Context& x, const Op& op) {
  if (x.state->hazards == nullptr) return;
  // Lanes that name the same members wait for each other.
  const std::uint32_t* member = x.lanes32(op.a);
  std::uint32_t left = x.active;
  while (left != 0) {
    const std::uint32_t mask = member[static_cast<std::size_t>(std::countr_zero(left))];
    std::uint32_t together = 0;
    each_lane(left, [&](std::size_t lane) {
      if (member[lane] == mask) together |= kLaneBit[lane];
    });
    x.state->hazards->warp_barrier(*x.warp, together);
    left &= ~together;
  }
}

void add_synchronisation_rows(DecodeTable& table) {
  table.decoder("bar", &decode_barrier);
  table.forms("bar",
              {"bar{,.cta}.{sync,arrive,red.popc.u32,red.and.pred,red.or.pred}", "bar.warp.sync"});
  table.decoder("barrier", &decode_barrier);
  table.forms("barrier", {"barrier{,.cta}.{sync,arrive}{,.aligned}",
                          "barrier{,.cta}.red.{popc,and,or}{,.aligned}.{u32,pred}"});
  table.decoder("fence", &decode_fence);
  table.forms("fence", {"fence{,.sc,.acq_rel,.acquire,.release}.{cta,cluster,gpu,sys}",
                        "fence.proxy.{alias,async,async.global,async.shared::cta}",
                        "fence.mbarrier_init.release.cluster"});
  table.decoder("membar", &decode_fence);
  table.forms("membar", {"membar.{cta,gl,sys}"});
}

}  // namespace bitgate::machine
