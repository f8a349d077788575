// Deliberately defective W4A16 kernels: what the suite must reject. They share one plain kernel (a
// thread an output, k in order, fp32) whose right form is `none`; each defect is one of the faults
// of public kernels of this kind, at the line where it was made there.
//
// Layouts, chosen for reading and not for speed: weights [n][k] one byte a code, scales
// [groups][n_stride] in the type, zero points [groups][n_stride] bytes, order [k].

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

struct TeethParams {
  const void* a;
  void* c;
  const std::uint8_t* weights;
  const void* scales;
  const std::uint8_t* zero_points;
  const std::int32_t* order;
  long long lda;
  long long ldc;
  long long n_stride;
  int m;
  int n;
  int k;
  int group;
  int act_order;
};

enum class Defect {
  none,
  tail_store_too_wide,  // column n is stored, too
  tail_rows_unmasked,   // rows past M are loaded and stored
  tail_loads_unmasked,  // rows past M are loaded, their stores masked
  zero_point_plus_one,
  zero_point_minus_one,
  previous_group,          // scale row of the group before
  group_of_k,              // act-order: scale[k / group] for a row that was moved
  last_k_block_lost,       // a loop bound one block of 32 short
  last_tile_unwritten,     // an early return of the last block
  two_rows_a_block,        // no limit where a block covers two rows
  local_against_global,    // the pointer is re-based, its bound is not
  k_step_reads_padding,    // K padded to the step of 64 by reading on
  k_tail_as_full_step,     // K only bounded to whole steps of 64
  offset_32_bit,           // row * stride in int
  stride_of_the_original,  // padded scales read with the unpadded stride
  contiguous_a,            // row stride of A assumed to be K
  wide_loads,              // 4-byte loads of A whatever its alignment
  k_zero_unwritten,        // K = 0 returns before the store
  does_nothing,            // launches, and writes nothing
  writes_nan,              // every output NaN
  writes_zero              // every output +0
};

template <class T>
struct Scalar;
template <>
struct Scalar<__half> {
  static __device__ float to_float(__half x) { return __half2float(x); }
  static __device__ __half round(float x) { return __float2half_rn(x); }
};
template <>
struct Scalar<__nv_bfloat16> {
  static __device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
  static __device__ __nv_bfloat16 round(float x) { return __float2bfloat16_rn(x); }
};

constexpr int kTileM = 2;
constexpr int kTileN = 64;
constexpr int kStep = 64;

// Grid (ceil(N / 64), ceil(M / 2)), block 128: a thread computes one element of the tile.
template <class T, Defect kDefect>
__device__ void teeth(const TeethParams& p) {
  const int local_row = static_cast<int>(threadIdx.x) / kTileN;
  const int local_col = static_cast<int>(threadIdx.x) % kTileN;
  const int row = static_cast<int>(blockIdx.y) * kTileM + local_row;
  const int col = static_cast<int>(blockIdx.x) * kTileN + local_col;
  if (kDefect == Defect::does_nothing) return;
  if (kDefect == Defect::last_tile_unwritten && blockIdx.x == gridDim.x - 1 &&
      blockIdx.y == gridDim.y - 1)
    return;
  if (kDefect == Defect::k_zero_unwritten && p.k == 0) return;

  bool in_rows = row < p.m;
  bool in_cols = col < p.n;
  if (kDefect == Defect::tail_store_too_wide) in_cols = col <= p.n;
  if (kDefect == Defect::tail_rows_unmasked || kDefect == Defect::two_rows_a_block) in_rows = true;
  if (kDefect == Defect::local_against_global) in_cols = local_col < p.n;
  const bool load_rows = in_rows || kDefect == Defect::tail_loads_unmasked;
  // Loads stay in bounds unless the defect is about them: a wrong store should be found as such.
  const int load_row = kDefect == Defect::two_rows_a_block && row >= p.m ? p.m - 1 : row;
  const int load_col = col < p.n ? col : p.n - 1;
  if (!load_rows || !in_cols) return;

  const T* a = static_cast<const T*>(p.a);
  const T* scales = static_cast<const T*>(p.scales);
  const long long lda = kDefect == Defect::contiguous_a ? p.k : p.lda;
  const long long n_stride = kDefect == Defect::stride_of_the_original ? p.n : p.n_stride;
  const T* a_row = a + load_row * lda;
  if (kDefect == Defect::offset_32_bit)
    a_row = a + static_cast<int>(static_cast<unsigned>(load_row) * static_cast<unsigned>(p.lda));

  int k_end = p.k;
  if (kDefect == Defect::last_k_block_lost) k_end = p.k - 32;
  if (kDefect == Defect::k_step_reads_padding || kDefect == Defect::k_tail_as_full_step)
    k_end = (p.k + kStep - 1) / kStep * kStep;

  float sum = 0.0F;
  for (int position = 0; position < k_end; ++position) {
    int g = position / p.group;
    if (kDefect == Defect::previous_group) g = g > 0 ? g - 1 : 0;
    const int source = p.act_order != 0 ? p.order[position] : position;
    if (kDefect == Defect::group_of_k) g = source / p.group;
    if (kDefect == Defect::k_tail_as_full_step && position >= p.k) g = (p.k - 1) / p.group;
    float x = 0.0F;
    if (kDefect == Defect::wide_loads) {
      // Two elements at once, as if A's base and rows were 4-byte aligned.
      const std::uint32_t pair = *reinterpret_cast<const std::uint32_t*>(a_row + source / 2 * 2);
      const std::uint16_t bits = static_cast<std::uint16_t>(source % 2 == 0 ? pair : pair >> 16);
      T element;
      memcpy(&element, &bits, sizeof(bits));
      x = Scalar<T>::to_float(element);
    } else if (kDefect != Defect::k_step_reads_padding || position < p.k) {
      x = Scalar<T>::to_float(a_row[source]);
    }
    const int q = p.weights[static_cast<long long>(load_col) * p.k + position];
    const long long at = g * n_stride + load_col;
    int z = p.zero_points[at];
    if (kDefect == Defect::zero_point_plus_one) z += 1;
    if (kDefect == Defect::zero_point_minus_one) z -= 1;
    const float w = __fmul_rn(Scalar<T>::to_float(scales[at]), static_cast<float>(q - z));
    sum = __fmaf_rn(w, x, sum);
  }
  if (kDefect == Defect::writes_nan) sum = __int_as_float(0x7fffffff);
  if (kDefect == Defect::writes_zero) sum = 0.0F;
  if (!in_rows) return;
  T* c_row = static_cast<T*>(p.c) + static_cast<long long>(row) * p.ldc;
  c_row[col] = Scalar<T>::round(sum);
}

#define TEETH(DEFECT)                                                                       \
  extern "C" __global__ void teeth_##DEFECT##_f16(const __grid_constant__ TeethParams p) {  \
    teeth<__half, Defect::DEFECT>(p);                                                       \
  }                                                                                         \
  extern "C" __global__ void teeth_##DEFECT##_bf16(const __grid_constant__ TeethParams p) { \
    teeth<__nv_bfloat16, Defect::DEFECT>(p);                                                \
  }

TEETH(none)
TEETH(tail_store_too_wide)
TEETH(tail_rows_unmasked)
TEETH(tail_loads_unmasked)
TEETH(zero_point_plus_one)
TEETH(zero_point_minus_one)
TEETH(previous_group)
TEETH(group_of_k)
TEETH(last_k_block_lost)
TEETH(last_tile_unwritten)
TEETH(two_rows_a_block)
TEETH(local_against_global)
TEETH(k_step_reads_padding)
TEETH(k_tail_as_full_step)
TEETH(offset_32_bit)
TEETH(stride_of_the_original)
TEETH(contiguous_a)
TEETH(wide_loads)
TEETH(k_zero_unwritten)
TEETH(does_nothing)
TEETH(writes_nan)
TEETH(writes_zero)
