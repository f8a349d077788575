#include "reference/machine/hazard/kernels/primitives.cuh"

// Volatile accesses are relaxed ones of the whole system: unordered, they are no data race by the
// letter, though what the second block sees depends on the schedule.
extern "C" __global__ void flag_by_weak_accesses(const unsigned* x, unsigned* out, unsigned* flag) {
#ifdef RIGHT
  volatile unsigned* const place = flag;
#else
  unsigned* const place = flag;
#endif
  if (blockIdx.x == 0 && threadIdx.x == 0) *place = x[0] + 1;  // @write
  if (blockIdx.x == 1 && threadIdx.x == 0) out[0] = *place;    // @read
}
