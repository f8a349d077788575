#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "reference/oracle/gemm_reference.h"
#include "reference/oracle/test_problem.h"

// The fp32 reference against OpenBLAS sgemm on the same cores, K = N = 4096. OpenBLAS reads weights
// that were dequantised beforehand.

namespace {

using bitgate::formats::dequantize;
using bitgate::oracle::gemm_reference;
using bitgate::oracle::testing::make_problem;
using bitgate::oracle::testing::TestProblem;

constexpr std::int64_t kSize = 4096;

// CBLAS, as OpenBLAS exports it.
enum { kRowMajor = 101, kNoTranspose = 111 };
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
using SetThreads = void (*)(int);

void* open_blas() {
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  return library;
}

TestProblem problem_of(std::int64_t rows) {
  return make_problem({.m = rows, .k = kSize, .n = kSize, .group = 128}, 1);
}

void rate(benchmark::State& state) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(state.range(0) * kSize * kSize),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void reference(benchmark::State& state) {
  const TestProblem problem = problem_of(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        gemm_reference(problem.a(), problem.w, static_cast<int>(state.range(1))));
  }
  rate(state);
}

void openblas(benchmark::State& state) {
  if (open_blas() == nullptr) {
    state.SkipWithError("no libopenblas.so.0 on this machine");
    return;
  }
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(open_blas(), "cblas_sgemm"));
  const auto set_threads =
      reinterpret_cast<SetThreads>(dlsym(open_blas(), "openblas_set_num_threads"));
  const TestProblem problem = problem_of(state.range(0));
  const std::vector<float> w = dequantize(problem.w);
  const int rows = static_cast<int>(state.range(0));
  const int size = static_cast<int>(kSize);
  std::vector<float> a(static_cast<std::size_t>(state.range(0) * kSize), 0.5F);
  std::vector<float> c(a.size());
  set_threads(static_cast<int>(state.range(1)));
  for (auto _ : state) {
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, rows, size, size, 1.0F, a.data(), size, w.data(),
          size, 0.0F, c.data(), size);
    benchmark::DoNotOptimize(c.data());
  }
  rate(state);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  for (const std::int64_t rows : {1, 16, 256}) {
    for (const std::int64_t threads : {1, 2}) bench->Args({rows, threads});
  }
}

BENCHMARK(reference)->Apply(shapes);
BENCHMARK(openblas)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
