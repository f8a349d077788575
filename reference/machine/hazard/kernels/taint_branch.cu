#include "reference/machine/hazard/kernels/primitives.cuh"

// The kernels named taint_ are free of hazards. Each has the contents of a buffer, or what depends
// on the schedule, reach one of the places that a certificate for all data or all schedules asks
// about.
extern "C" __global__ void taint_branch(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  out[threadIdx.x] = x[threadIdx.x] > 500 ? 1 : 2;
#else
  if (x[threadIdx.x] > 500) {  // @sink
    out[threadIdx.x] = x[threadIdx.x] + 1;
    out[32 + threadIdx.x] = x[32 + threadIdx.x];
  }
#endif
}
