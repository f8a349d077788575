// The warp matrix API on f16: loads from shared and global memory, a fragment scaled, a store.
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void wmma_half(const __half* a, const __half* b, float* c, __half* h) {
  __shared__ __half tile[16 * 24];
  for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> fh;
  wmma::fill_fragment(fc, 0.25f);
  wmma::load_matrix_sync(fh, a, 16, wmma::mem_row_major);
  wmma::load_matrix_sync(fa, tile, 24);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::mma_sync(fh, fa, fb, fh);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = __fmul_rn(fc.x[i], 2.0f);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
  wmma::store_matrix_sync(h, fh, 16, wmma::mem_col_major);
}
