#pragma once

#include <cstdint>

/// Values that stay in registers. A compiler prefers to recompute cheap expressions at each of
/// their uses; in a loop that is short of issue slots each such use costs several instructions.
namespace bitgate::kernels::device {

__device__ __forceinline__ void keep(std::uint32_t& value) { asm volatile("" : "+r"(value)); }
__device__ __forceinline__ void keep(std::int64_t& value) { asm volatile("" : "+l"(value)); }
template <class T>
__device__ __forceinline__ void keep(const T*& pointer) {
  asm volatile("" : "+l"(pointer));
}

}  // namespace bitgate::kernels::device
