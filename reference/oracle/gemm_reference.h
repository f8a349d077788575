#pragma once

#include <cstdint>
#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/oracle/activations.h"

namespace bitgate::oracle {

/// What may change speed and must not change a bit.
struct GemmReferenceOptions {
  int threads = 0;  ///< 0: OpenMP's choice
  /// Cache sizes that Eigen blocks its products for, in bytes.
  std::int64_t l1 = 32 << 10;
  std::int64_t l2 = 512 << 10;
  std::int64_t l3 = 4 << 20;
};

/// A·W in f32, [m][n]: W dequantised tile by tile (exactly), each tile of the output one
/// single-threaded Eigen product a block of k, the blocks added in k order. Rows of k are taken as
/// the checkpoint has them, with scale[g_idx[k]].
///
/// The shapes of those products depend on m, n and k alone, and each is small enough that Eigen
/// never splits it by cache size: same bits for every number of threads and every cache size.
/// InputError when the operands do not fit each other.
std::vector<float> gemm_reference(const Activations& a, const formats::QuantizedMatrix& w,
                                  const GemmReferenceOptions& options = {});

}  // namespace bitgate::oracle
