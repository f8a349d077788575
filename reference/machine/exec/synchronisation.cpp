#include "reference/machine/exec/synchronisation.h"

#include "reference/machine/exec/lanes.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// bar, barrier, bar.warp.sync, fence, membar (PTX ISA 9.7.13). Memory is sequentially consistent
// here, and there is one proxy, so that fences order nothing further.

namespace bitgate::machine {

namespace {

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
  builder.op.full = &do_nothing;
  builder.op.masked = &do_nothing;
}

}  // namespace

void warp_barrier(Context&, const Op&) {}

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
