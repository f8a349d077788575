#include "reference/oracle/gemm_reference.h"

// Before Eigen: our own loop over tiles is the only parallel one.
#define EIGEN_DONT_PARALLELIZE
#include <omp.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <mutex>

#include "reference/numeric/fp_environment.h"
#include "reference/numeric/half.h"
#include "reference/oracle/operands.h"

namespace bitgate::oracle {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::OuterStride<Eigen::Dynamic>;

// The longest k that Eigen's f32 kernel keeps in one piece is (L1 - 384) / 112: 136 with 16 KiB.
struct Tile {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

// A function of m and n alone. Long rows of W are read at memory speed and short ones are not, so a
// tile of few rows is wide and shallow; more rows pay for a deeper one. Columns in whole register
// tiles of Eigen's kernel (24), and at least two tiles where there is work for two threads.
Tile tile_of(std::int64_t m, std::int64_t n) {
  const bool few_rows = m <= 32;
  const std::int64_t tiles = few_rows ? 2 : 4;
  const std::int64_t even = ((n + tiles - 1) / tiles + 23) / 24 * 24;
  return {.rows = 256,
          .columns = std::clamp<std::int64_t>(even, 192, few_rows ? 2064 : 1032),
          .depth = few_rows ? 16 : 64};
}

constexpr std::int64_t kProductsWorthThreads = 1 << 20;  // below, waking them costs more

constexpr std::int64_t kRowsAhead = 4;
constexpr std::int64_t kCacheLine = 64;

void pin_cache_sizes() {
  static std::once_flag once;
  std::call_once(once, [] { Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20); });
}

// Rows [first, first + count) of A as f32, [count][k].
RowMajor widen(const Activations& a, std::int64_t first, std::int64_t count) {
  RowMajor rows(count, a.k);
  if (a.k == 0) return rows;  // A may then have no elements to point at
  for (std::int64_t row = 0; row < count; ++row) {
    const std::uint16_t* bits = a.bits.data() + (first + row) * a.lda;
    numeric::to_float(a.type, bits, static_cast<std::size_t>(a.k), rows.row(row).data());
  }
  return rows;
}

// Columns [first, first + count) of W, dequantised a block of k at a time.
class Columns {
 public:
  Columns(const formats::QuantizedMatrix& w, std::int64_t first, std::int64_t count,
          std::int64_t depth)
      : w_(w),
        first_(first),
        scales_(w.groups(), count),
        zero_points_(w.groups(), count),
        block_(depth, count) {
    for (std::int64_t g = 0; g < w.groups(); ++g) {
      const std::uint16_t* scales = w.scales.data() + g * w.n + first;
      const std::uint8_t* zero_points = w.z.data() + g * w.n + first;
      numeric::to_float(w.scale_type, scales, static_cast<std::size_t>(count),
                        scales_.row(g).data());
      for (std::int64_t n = 0; n < count; ++n) {
        zero_points_(g, n) = static_cast<float>(zero_points[n]);
      }
    }
  }

  auto block(std::int64_t k, std::int64_t depth) {
    const std::int64_t count = block_.cols();
    for (std::int64_t i = 0; i < depth; ++i) {
      const std::int64_t group = w_.g_idx[static_cast<std::size_t>(k + i)];
      const std::uint8_t* __restrict q = w_.q.data() + (k + i) * w_.n + first_;
      const float* __restrict scale = &scales_(group, 0);
      const float* __restrict zero_point = &zero_points_(group, 0);
      float* __restrict out = &block_(i, 0);
      // A tile is narrower than a row: what the CPU fetches ahead by itself is the next tile's.
      const std::int64_t ahead = std::min(k + i + kRowsAhead, w_.k - 1);
      const std::uint8_t* next = w_.q.data() + ahead * w_.n + first_;
      for (std::int64_t n = 0; n < count; n += kCacheLine) __builtin_prefetch(next + n);
      for (std::int64_t n = 0; n < count; ++n) {
        out[n] = scale[n] * (static_cast<float>(q[n]) - zero_point[n]);
      }
    }
    return block_.topRows(depth);
  }

 private:
  const formats::QuantizedMatrix& w_;
  std::int64_t first_;
  RowMajor scales_;       // [group][column]
  RowMajor zero_points_;  // [group][column]
  RowMajor block_;        // [k][column]
};

}  // namespace

std::vector<float> gemm_reference(const Activations& a, const formats::QuantizedMatrix& w,
                                  int threads) {
  numeric::require_ieee_environment();
  require_operands(a, w);
  pin_cache_sizes();
  std::vector<float> out(static_cast<std::size_t>(a.m * w.n));
  const Tile tile = tile_of(a.m, w.n);
  const std::int64_t column_tiles = (w.n + tile.columns - 1) / tile.columns;
  const int at_once = threads > 0 ? threads : omp_get_max_threads();
  const bool worth_threads =
      column_tiles > 1 && at_once > 1 && a.m * w.n * a.k >= kProductsWorthThreads;
  for (std::int64_t row = 0; row < a.m; row += tile.rows) {
    const std::int64_t rows = std::min(tile.rows, a.m - row);
    const RowMajor activations = widen(a, row, rows);
#pragma omp parallel for schedule(dynamic) num_threads(at_once) if (worth_threads)
    for (std::int64_t i = 0; i < column_tiles; ++i) {
      const std::int64_t column = i * tile.columns;
      const std::int64_t count = std::min(tile.columns, w.n - column);
      Columns columns(w, column, count, tile.depth);
      RowMajor sum = RowMajor::Zero(rows, count);
      for (std::int64_t k = 0; k < a.k; k += tile.depth) {
        const std::int64_t depth = std::min(tile.depth, a.k - k);
        sum.noalias() += activations.middleCols(k, depth) * columns.block(k, depth);
      }
      // Summed apart: the rows of the output lie a power of two apart too often for the cache.
      Eigen::Map<RowMajor, 0, Strided>(out.data() + row * w.n + column, rows, count, Strided(w.n)) =
          sum;
    }
  }
  return out;
}

}  // namespace bitgate::oracle
