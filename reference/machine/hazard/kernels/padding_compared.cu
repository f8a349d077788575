#include "reference/machine/hazard/kernels/primitives.cuh"

// A byte, three bytes of padding and a word. They may be copied; they must not decide.
extern "C" __global__ void padding_compared(const unsigned* x, unsigned* out, uint2* work) {
  struct alignas(8) Pair {
    unsigned char key;
    unsigned value;
  };
  __shared__ Pair pairs[32];
  pairs[threadIdx.x].key = static_cast<unsigned char>(x[threadIdx.x]);
  pairs[threadIdx.x].value = x[32 + threadIdx.x];
  const uint2 whole = *reinterpret_cast<const uint2*>(&pairs[threadIdx.x]);  // @read
  work[threadIdx.x] = whole;
#ifdef RIGHT
  const unsigned key = whole.x & 0xffu;
#else
  const unsigned key = whole.x;
#endif
  if (key > 100) {  // @branch
    out[threadIdx.x] = whole.y;
    out[32 + threadIdx.x] = whole.y + 1;
  }
}
