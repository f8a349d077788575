// The warp matrix API on 8-bit integers, bf16, tf32 and f64.
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void wmma_others(const signed char* a, const signed char* b, int* c,
                                       const __nv_bfloat16* p, float* q, const float* t, float* u,
                                       const double* v, double* w) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> ia;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> ib;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> ic;
  wmma::fill_fragment(ic, 5);
  wmma::load_matrix_sync(ia, a, 16);
  wmma::load_matrix_sync(ib, b, 16);
  wmma::mma_sync(ic, ia, ib, ic);
  wmma::store_matrix_sync(c, ic, 8, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::col_major> ba;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> bb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> bc;
  wmma::fill_fragment(bc, 0.0f);
  wmma::load_matrix_sync(ba, p, 16);
  wmma::load_matrix_sync(bb, p + 256, 16);
  wmma::mma_sync(bc, ba, bb, bc);
  wmma::store_matrix_sync(q, bc, 16, wmma::mem_col_major);
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ta;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> tb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> tc;
  wmma::load_matrix_sync(ta, t, 8);
  wmma::load_matrix_sync(tb, t + 128, 8);
  for (int i = 0; i < ta.num_elements; ++i) ta.x[i] = wmma::__float_to_tf32(ta.x[i]);
  for (int i = 0; i < tb.num_elements; ++i) tb.x[i] = wmma::__float_to_tf32(tb.x[i]);
  __syncwarp();
  wmma::load_matrix_sync(tc, q, 16, wmma::mem_row_major);
  wmma::mma_sync(tc, ta, tb, tc);
  wmma::store_matrix_sync(u, tc, 16, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> da;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> db;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> dc;
  wmma::fill_fragment(dc, 0.5);
  wmma::load_matrix_sync(da, v, 4);
  wmma::load_matrix_sync(db, v + 32, 4);
  wmma::mma_sync(dc, da, db, dc);
  wmma::store_matrix_sync(w, dc, 8, wmma::mem_row_major);
}
