#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "reference/machine/machine.h"

// How fast the machine runs on one core: thread-instructions and mma a second, on loops of the
// instructions that GEMM kernels are made of.

namespace bitgate::machine {
namespace {

constexpr std::uint32_t kThreads = 256;

Outcome run_loop(const Program& program, GlobalMemory& memory, std::uint64_t buffer) {
  Launch launch;
  launch.entry = "k";
  launch.block = {kThreads, 1, 1};
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &buffer, 8);
  return run(program, launch, memory, {});
}

/// `body` runs 200 times in each thread; %r1 to %r8 and %f1 to %f8 are set, %rd2 and %r9 address
/// the thread's 16 bytes of global and of shared memory.
void loop(benchmark::State& state, const std::string& body) {
  const Program program = Program::load(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 buffer)\n{\n"
      ".reg .pred %p<4>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .b64 %rd<16>; .reg .b16 %h<8>;\n"
      ".shared .align 16 .b8 s[4096];\n"
      "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [buffer]; mul.wide.u32 %rd2, %r1, 16;\n"
      "add.s64 %rd2, %rd1, %rd2; shl.b32 %r9, %r1, 4; mov.u32 %r10, s; add.s32 %r9, %r9, %r10;\n"
      "add.s32 %r2, %r1, 1; add.s32 %r3, %r1, 2; add.s32 %r4, %r1, 3; add.s32 %r5, %r1, 4;\n"
      "add.s32 %r6, %r1, 5; add.s32 %r7, %r1, 6; add.s32 %r8, %r1, 7;\n"
      "cvt.rn.f32.s32 %f1, %r1; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
      "mov.f32 %f5, 0f3F000000; mov.f32 %f6, %f5; mov.f32 %f7, %f5; mov.f32 %f8, %f5;\n"
      "mov.u32 %r20, 0;\nLOOP:\n" +
          body +
          "\nadd.s32 %r20, %r20, 1; setp.lt.s32 %p1, %r20, 200; @%p1 bra LOOP;\n"
          "st.global.u32 [%rd2], %r2; st.global.f32 [%rd2+4], %f1; ret;\n}\n",
      "bench");
  GlobalMemory memory;
  const std::uint64_t buffer = memory.allocate(std::uint64_t{kThreads} * 16, "buffer");
  double threads = 0;
  double tensor = 0;
  for (auto _ : state) {
    const Outcome outcome = run_loop(program, memory, buffer);
    if (outcome.fault) {
      state.SkipWithError(outcome.fault->message.c_str());
      return;
    }
    threads += static_cast<double>(outcome.thread_instructions);
    tensor += static_cast<double>(outcome.tensor_instructions);
  }
  state.counters["thread_instructions"] = benchmark::Counter(threads, benchmark::Counter::kIsRate);
  if (tensor > 0) state.counters["mma"] = benchmark::Counter(tensor, benchmark::Counter::kIsRate);
}

void integer(benchmark::State& state) {
  loop(state,
       "add.s32 %r2, %r2, %r3; xor.b32 %r4, %r4, %r2; shl.b32 %r5, %r2, 3; and.b32 %r5, %r5, 255;\n"
       "mad.lo.s32 %r6, %r5, %r3, %r6; shr.u32 %r7, %r6, 2; lop3.b32 %r8, %r7, %r5, %r4, 0xea;\n"
       "mul.wide.u32 %rd3, %r8, 4; add.s64 %rd4, %rd3, %rd2; min.s32 %r3, %r8, %r7;\n");
}

void floating(benchmark::State& state) {
  loop(state,
       "fma.rn.f32 %f1, %f1, %f5, %f6; add.rn.f32 %f2, %f2, %f1; mul.rn.f32 %f3, %f1, %f7;\n"
       "sub.rn.f32 %f4, %f3, %f2; fma.rn.f32 %f2, %f4, %f5, %f3; max.f32 %f3, %f3, %f1;\n");
}

/// What unpacks and scales four-bit weights.
void dequantise(benchmark::State& state) {
  loop(state,
       "lop3.b32 %r11, %r2, 0x000f000f, 0x64006400, 0xea; shr.u32 %r12, %r2, 4;\n"
       "lop3.b32 %r12, %r12, 0x000f000f, 0x64006400, 0xea; add.rn.f16x2 %r13, %r11, %r3;\n"
       "fma.rn.f16x2 %r14, %r13, %r4, %r5; prmt.b32 %r15, %r13, %r14, 0x5410;\n");
}

void shared_memory(benchmark::State& state) {
  loop(state,
       "ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r9]; st.shared.v4.u32 [%r9], "
       "{%r12,%r13,%r14,%r11}; ld.shared.u32 %r15, [%r9+4]; add.s32 %r2, %r2, %r15;\n");
}

void global_memory(benchmark::State& state) {
  loop(state,
       "ld.global.v4.u32 {%r11,%r12,%r13,%r14}, [%rd2]; ld.global.u32 %r15, [%rd2+8];\n"
       "add.s32 %r2, %r2, %r15; add.s32 %r3, %r3, %r11;\n");
}

void matrix(benchmark::State& state) {
  loop(state,
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
       "{%r5,%r6}, {%f1,%f2,%f3,%f4};\n");
}

/// Text to decoded code; a step that is not linear in the text shows as a falling rate.
void load(benchmark::State& state) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
      ".reg .b32 %r<4>;\nmov.u32 %r1, %tid.x; mov.u32 %r2, 3; mov.u32 %r3, 5;\n";
  for (std::int64_t line = 0; line < state.range(0); ++line) {
    text += "\t.loc\t1 12 3\n\tmad.lo.s32 \t%r1, %r2, %r3, %r1;\n";
  }
  text += "ret;\n}\n";
  for (auto _ : state) benchmark::DoNotOptimize(Program::load(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK(load)->Arg(1 << 10)->Arg(1 << 15);
BENCHMARK(integer);
BENCHMARK(floating);
BENCHMARK(dequantise);
BENCHMARK(shared_memory);
BENCHMARK(global_memory);
BENCHMARK(matrix);

}  // namespace
}  // namespace bitgate::machine

BENCHMARK_MAIN();
