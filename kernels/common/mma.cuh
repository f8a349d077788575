#pragma once

#include <cstdint>

#include "kernels/common/element.cuh"

/// mma.m16n8k16 with f32 accumulators (PTX ISA, "Matrix Fragments for mma.m16n8k16"). With
/// g = lane / 4 and t = lane % 4 a lane holds of the 16-row operand rows g and g+8 at k 2t, 2t+1
/// (registers 0, 1) and 2t+8, 2t+9 (registers 2, 3); of the 8-column operand column g at the same
/// k (registers 0, 1); of the sums row g at columns 2t, 2t+1 (0, 1) and row g+8 (2, 3).
namespace bitgate::kernels::device {

struct Fragment16x16 {
  std::uint32_t r[4];
};

struct Sums16x8 {
  float v[4];
};

/// sums += rows · columns
template <class T>
__device__ __forceinline__ void mma(Sums16x8& sums, const Fragment16x16& rows,
                                    std::uint32_t column0, std::uint32_t column1);

template <>
__device__ __forceinline__ void mma<F16>(Sums16x8& sums, const Fragment16x16& rows,
                                         std::uint32_t column0, std::uint32_t column1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums.v[0]), "+f"(sums.v[1]), "+f"(sums.v[2]), "+f"(sums.v[3])
      : "r"(rows.r[0]), "r"(rows.r[1]), "r"(rows.r[2]), "r"(rows.r[3]), "r"(column0), "r"(column1));
}

template <>
__device__ __forceinline__ void mma<BF16>(Sums16x8& sums, const Fragment16x16& rows,
                                          std::uint32_t column0, std::uint32_t column1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums.v[0]), "+f"(sums.v[1]), "+f"(sums.v[2]), "+f"(sums.v[3])
      : "r"(rows.r[0]), "r"(rows.r[1]), "r"(rows.r[2]), "r"(rows.r[3]), "r"(column0), "r"(column1));
}

}  // namespace bitgate::kernels::device
