#pragma once

#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/oracle/activations.h"

namespace bitgate::oracle {

/// A·W in f32, [m][n]: W is dequantised tile by tile (exactly), and each tile of the output is one
/// single-threaded Eigen product per block of k, the blocks added in k order. Rows of k are taken
/// as the checkpoint has them, with scale[g_idx[k]].
///
/// Eigen's products change bits with the number of threads and with the CPU's cache sizes. Here the
/// shapes of the products depend on m, n and k alone, `threads` (0: OpenMP's choice) only says how
/// many tiles are computed at once, the cache sizes are pinned, and a block of k is so short that
/// none from 16 KiB of L1 on would make Eigen split it: same bits for all of them.
///
/// InputError when the operands do not fit each other.
std::vector<float> gemm_reference(const Activations& a, const formats::QuantizedMatrix& w,
                                  int threads = 0);

}  // namespace bitgate::oracle
