#include "reference/machine/hazard/kernels/primitives.cuh"

// red and a fence after it are no acquire pattern: red sees nothing of what the other released.
extern "C" __global__ void reduction_observes_nothing(const unsigned* x, unsigned* out,
                                                      unsigned* data, unsigned* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = x[0];  // @write
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
#ifdef RIGHT
    unsigned seen = 0;
    while (seen == 0) {
      asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 0;"
                   : "=r"(seen)
                   : "l"(flag)
                   : "memory");
    }
#else
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
#endif
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    out[0] = *data;  // @read
  }
}
