#include "reference/machine/hazard/kernels/primitives.cuh"

// Arriving at an mbarrier releases; only the wait acquires.
extern "C" __global__ void mbarrier_without_wait(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  __shared__ unsigned long long barrier;
  const unsigned address = shared_address(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(address) : "memory");
  }
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];  // @write
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(address)
               : "memory");
#ifdef RIGHT
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.test_wait.parity.shared.b64 done, [%0], 0;\n"
      "@!done bra WAIT;\n}" ::"r"(address)
      : "memory");
#endif
  out[threadIdx.x] = s[threadIdx.x ^ 32];  // @read
}
