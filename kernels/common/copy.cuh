#pragma once

#include <cstdint>

/// Asynchronous copies from global to shared memory, and barriers among some of a block's warps.
namespace bitgate::kernels::device {

/// 16 bytes, past L1. Both addresses are multiples of 16.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "l"(global)
               : "memory");
}

__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}

/// Until all but the `pending` youngest of this thread's groups have arrived.
template <int pending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(pending) : "memory");
}

/// Barrier among the `warps` warps that name the same `id`; a single warp needs no barrier
/// resource.
template <int warps>
__device__ __forceinline__ void synchronize_warps(int id) {
  if constexpr (warps == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" : : "r"(id), "n"(warps * 32) : "memory");
  }
}

}  // namespace bitgate::kernels::device
