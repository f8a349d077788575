#include "reference/machine/hazard/kernels/primitives.cuh"

// One place as 32 and as 64 bits: the model does not say what such atomics do to each other.
extern "C" __global__ void atomics_of_two_sizes(const unsigned* x, unsigned long long* out) {
#ifndef RIGHT
  if (blockIdx.x == 1) {
    atomicAdd(reinterpret_cast<unsigned*>(&out[threadIdx.x]), x[threadIdx.x]);  // @narrow
    return;
  }
#endif
  atomicAdd(&out[threadIdx.x], static_cast<unsigned long long>(x[threadIdx.x]));  // @wide
}
