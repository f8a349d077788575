// What these sources use of CUDA, from clang's own builtins: NVIDIA's headers want another clang.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define noinline __attribute__((noinline))

#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
#define THREADS __nvvm_read_ptx_sreg_ntid_x()
#define BARRIER __syncthreads()

inline __device__ int index() {
  return static_cast<int>(BLOCK * THREADS + THREAD);
}
