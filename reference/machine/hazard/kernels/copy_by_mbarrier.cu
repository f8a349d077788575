#include "reference/machine/hazard/kernels/primitives.cuh"

// Completion of the copies through an mbarrier, which each thread's copies arrive at.
extern "C" __global__ void copy_by_mbarrier(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  __shared__ unsigned long long barrier;
  const unsigned address = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(address) : "memory");
  }
  __syncthreads();
  copy_async<4>(&s[threadIdx.x], &x[threadIdx.x]);  // @copy
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address) : "memory");
#ifdef RIGHT
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.test_wait.parity.shared.b64 done, [%0], 0;\n"
      "@!done bra WAIT;\n}" ::"r"(address)
      : "memory");
#endif
  out[threadIdx.x] = s[threadIdx.x ^ 32];  // @read
}
