#pragma once

#include <cstdint>

/// Asynchronous copies from global to shared memory, and barriers among some of a block's warps.
namespace bitgate::kernels::device {

/// Address of shared memory as copies take it: 32 bits, in the shared state space.
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// 16 bytes, past L1. Both addresses are multiples of 16. Without `exists` the source is not read
/// and zeros are written.
__device__ __forceinline__ void copy_async_16(std::uint32_t shared, const void* global,
                                              bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared), "l"(global), "r"(exists ? 16U : 0U)
               : "memory");
}

__device__ __forceinline__ void store_shared_16(std::uint32_t shared, const uint4& value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
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
