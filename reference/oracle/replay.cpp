#include "reference/oracle/replay.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>

#include "reference/numeric/fp_environment.h"
#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core_operands.h"
#include "reference/oracle/operands.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

using numeric::ScalarType;
using numeric::TensorCoreColumns;
using numeric::TensorCoreRow;

constexpr std::int64_t kLanes = 8;                       // columns computed at once
constexpr std::int64_t kRows = 32;                       // rows computed with weights decoded once
constexpr std::int64_t kStep = 16;                       // positions of a tensor-core step
constexpr std::int64_t kProductsWorthThreads = 1 << 20;  // below, waking them costs more
constexpr int kColumnsAtOnce = 8;  // column blocks in a row: neighbours share cache lines of q

void require_run(const Run& run, Product product, const formats::QuantizedMatrix& w,
                 std::span<const std::int32_t> order, const std::string& where) {
  if (run.group < 0 || run.group >= w.groups()) {
    throw InputError(
        fmt::format("{}: group {} is none of the {} groups", where, run.group, w.groups()));
  }
  if (product == Product::tensor_core && run.positions.size() % kStep != 0) {
    throw InputError(
        fmt::format("{}: {} positions are not whole steps of 16", where, run.positions.size()));
  }
  for (const std::int32_t position : run.positions) {
    if (position == -1 && product == Product::tensor_core) continue;
    if (position < 0 || position >= w.k) {
      throw InputError(fmt::format("{}: position {} is outside k = {}", where, position, w.k));
    }
    const std::int32_t row = order[static_cast<std::size_t>(position)];
    const std::int32_t group = w.g_idx[static_cast<std::size_t>(row)];
    if (group != run.group) {
      throw InputError(fmt::format("{}: position {} (row {}) is of group {}, the run of {}", where,
                                   position, row, group, run.group));
    }
  }
}

void require_arithmetic(const Arithmetic& arithmetic, const formats::QuantizedMatrix& w,
                        std::span<const std::int32_t> order) {
  for (std::size_t c = 0; c < arithmetic.chains.size(); ++c) {
    const auto& runs = arithmetic.chains[c].runs;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      require_run(runs[r], arithmetic.product, w, order, fmt::format("chain {}, run {}", c, r));
    }
  }
  const auto chains = static_cast<std::int64_t>(arithmetic.chains.size());
  for (const Join& join : arithmetic.joins) {
    if (join.into < 0 || join.into >= chains || join.from < 0 || join.from >= chains ||
        join.into == join.from) {
      throw InputError(fmt::format("a join of chain {} into chain {}, of {} chains", join.from,
                                   join.into, chains));
    }
  }
}

// Eight columns of one run: what its steps share.
struct GroupOfColumns {
  const formats::QuantizedMatrix* w;
  std::int64_t first;  // column
  std::int64_t count;  // of them, up to 8; the rest are zero
  __m256i zero_points;
  __m256 scales;

  GroupOfColumns(const formats::QuantizedMatrix& matrix, std::int64_t group, std::int64_t column)
      : w(&matrix), first(column), count(std::min(kLanes, matrix.n - column)) {
    const auto at = static_cast<std::size_t>(group * w->n + first);
    alignas(32) std::array<float, kLanes> scale{};
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
      scale[n] = numeric::to_float(w->scale_type, w->scales[at + n]);
    }
    scales = _mm256_load_ps(scale.data());
    zero_points = load8(w->z.data() + at);
  }

  __m256i load8(const std::uint8_t* bytes) const {
    std::uint64_t eight = 0;
    __builtin_memcpy(&eight, bytes, static_cast<std::size_t>(count));
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(eight)));
  }

  // q - z of a row of W; as a weight rounded to the scale's type with WeightForm::scaled.
  __m256 weights(std::int64_t row, WeightForm form) const {
    const __m256i q = load8(w->q.data() + row * w->n + first);
    const __m256 integers = _mm256_cvtepi32_ps(_mm256_sub_epi32(q, zero_points));
    if (form == WeightForm::integer) return integers;
    return rounded(_mm256_mul_ps(scales, integers));
  }

  __m256 rounded(__m256 exact) const {
    if (w->scale_type == ScalarType::f16) {
      return _mm256_cvtph_ps(_mm256_cvtps_ph(exact, _MM_FROUND_TO_NEAREST_INT));
    }
    // To the upper 16 bits, nearest even. A NaN scale has its payload there and stays a NaN.
    const __m256i bits = _mm256_castps_si256(exact);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i kept = _mm256_and_si256(up, _mm256_set1_epi32(static_cast<int>(0xffff0000U)));
    const __m256 is_nan = _mm256_cmp_ps(exact, exact, _CMP_UNORD_Q);
    return _mm256_blendv_ps(_mm256_castsi256_ps(kept), exact, is_nan);
  }
};

// A block of up to kRows rows of A, laid out for the steps of an arithmetic.
class RowBlock {
 public:
  RowBlock(const Arithmetic& arithmetic, const Activations& a, std::span<const std::int32_t> order,
           std::int64_t first, std::int64_t count)
      : count_(count) {
    if (arithmetic.product == Product::tensor_core) {
      decode_steps(arithmetic, a, order, first);
    } else {
      widen(a, order, first);
    }
  }

  std::int64_t count() const { return count_; }
  const TensorCoreRow& step(std::int64_t step, std::int64_t row) const {
    return steps_[static_cast<std::size_t>(step * count_ + row)];
  }
  float element(std::int64_t position, std::int64_t row) const {
    return elements_[static_cast<std::size_t>(position * count_ + row)];
  }

 private:
  void decode_steps(const Arithmetic& arithmetic, const Activations& a,
                    std::span<const std::int32_t> order, std::int64_t first) {
    std::size_t positions = 0;
    for (const Chain& chain : arithmetic.chains) {
      for (const Run& run : chain.runs) positions += run.positions.size();
    }
    steps_.reserve(positions / kStep * static_cast<std::size_t>(count_));
    for (const Chain& chain : arithmetic.chains) {
      for (const Run& run : chain.runs) {
        for (std::size_t s = 0; s < run.positions.size(); s += kStep) {
          for (std::int64_t row = 0; row < count_; ++row) {
            const std::uint16_t* bits = a.bits.data() + (first + row) * a.lda;
            std::array<std::uint16_t, kStep> sixteen{};
            for (std::size_t i = 0; i < kStep; ++i) {
              const std::int32_t position = run.positions[s + i];
              if (position >= 0) sixteen[i] = bits[order[static_cast<std::size_t>(position)]];
            }
            numeric::decode_row(a.type, sixteen.data(), steps_.emplace_back());
          }
        }
      }
    }
  }

  void widen(const Activations& a, std::span<const std::int32_t> order, std::int64_t first) {
    elements_.reserve(order.size() * static_cast<std::size_t>(count_));
    for (const std::int32_t column : order) {
      for (std::int64_t row = 0; row < count_; ++row) {
        elements_.push_back(numeric::to_float(
            a.type, a.bits[static_cast<std::size_t>((first + row) * a.lda + column)]));
      }
    }
  }

  std::int64_t count_;
  std::vector<TensorCoreRow> steps_;  // [step][row]
  std::vector<float> elements_;       // [position][row]
};

using Lanes = std::array<float, kLanes>;

// The rows of a block by eight columns.
class Tile {
 public:
  Tile(const Arithmetic& arithmetic, const numeric::TensorModel& model, ScalarType type,
       const formats::QuantizedMatrix& w, std::span<const std::int32_t> order, const RowBlock& rows,
       std::int64_t column)
      : arithmetic_(arithmetic),
        model_(model),
        type_(type),
        w_(w),
        order_(order),
        rows_(rows),
        column_(column),
        sums_(std::max<std::size_t>(arithmetic.chains.size(), 1) *
              static_cast<std::size_t>(rows.count())) {}

  // Sums of chain 0 after the joins, [row].
  std::span<const Lanes> run() {
    for (std::size_t c = 0; c < arithmetic_.chains.size(); ++c) {
      const auto acc = chain(c);
      for (const Run& run : arithmetic_.chains[c].runs) {
        const GroupOfColumns columns(w_, run.group, column_);
        if (arithmetic_.product == Product::tensor_core) {
          tensor_core_run(run, columns, acc);
        } else {
          fused_run(run, columns, acc);
        }
      }
    }
    for (const Join& join : arithmetic_.joins) {
      const auto into = chain(static_cast<std::size_t>(join.into));
      const auto from = chain(static_cast<std::size_t>(join.from));
      for (std::size_t r = 0; r < into.size(); ++r) {
        for (std::size_t n = 0; n < kLanes; ++n) into[r][n] += from[r][n];
      }
    }
    return chain(0);
  }

 private:
  std::span<Lanes> chain(std::size_t c) {
    const auto count = static_cast<std::size_t>(rows_.count());
    return {sums_.data() + c * count, count};
  }

  // Where the steps of a run add up: in the chain itself, or in a part that is scaled afterwards.
  std::span<Lanes> start(std::span<Lanes> acc) {
    if (arithmetic_.weights == WeightForm::scaled) return acc;
    part_.fill({});
    return std::span(part_).first(acc.size());
  }
  void finish(const GroupOfColumns& columns, std::span<const Lanes> part, std::span<Lanes> acc) {
    if (arithmetic_.weights == WeightForm::scaled) return;
    for (std::size_t r = 0; r < acc.size(); ++r) {
      _mm256_storeu_ps(acc[r].data(),
                       _mm256_fmadd_ps(columns.scales, _mm256_loadu_ps(part[r].data()),
                                       _mm256_loadu_ps(acc[r].data())));
    }
  }

  void tensor_core_run(const Run& run, const GroupOfColumns& columns, std::span<Lanes> acc) {
    const auto sum = start(acc);
    TensorCoreColumns decoded;
    alignas(32) std::array<Lanes, kStep> weights;
    for (std::size_t s = 0; s < run.positions.size(); s += kStep) {
      for (std::size_t i = 0; i < kStep; ++i) {
        const std::int32_t position = run.positions[s + i];
        const __m256 eight =
            position < 0
                ? _mm256_setzero_ps()
                : columns.weights(order_[static_cast<std::size_t>(position)], arithmetic_.weights);
        _mm256_storeu_ps(weights[i].data(), eight);
      }
      numeric::decode_columns(type_, weights[0].data(), kLanes, decoded);
      for (std::size_t r = 0; r < sum.size(); ++r) {
        numeric::tensor_core_row(model_, type_, rows_.step(step_, static_cast<std::int64_t>(r)),
                                 decoded, sum[r].data(), sum[r].data());
      }
      ++step_;
    }
    finish(columns, sum, acc);
  }

  void fused_run(const Run& run, const GroupOfColumns& columns, std::span<Lanes> acc) {
    const auto sum = start(acc);
    for (const std::int32_t position : run.positions) {
      const __m256 weights =
          columns.weights(order_[static_cast<std::size_t>(position)], arithmetic_.weights);
      for (std::size_t r = 0; r < sum.size(); ++r) {
        const __m256 element =
            _mm256_set1_ps(rows_.element(position, static_cast<std::int64_t>(r)));
        _mm256_storeu_ps(sum[r].data(),
                         _mm256_fmadd_ps(weights, element, _mm256_loadu_ps(sum[r].data())));
      }
    }
    finish(columns, sum, acc);
  }

  const Arithmetic& arithmetic_;
  const numeric::TensorModel& model_;
  ScalarType type_;
  const formats::QuantizedMatrix& w_;
  std::span<const std::int32_t> order_;
  const RowBlock& rows_;
  std::int64_t column_;
  std::int64_t step_ = 0;
  std::vector<Lanes> sums_;  // [chain][row]
  std::array<Lanes, kRows> part_{};
};

// Rows `rows` of A without gaps, columns `cols` of W.
std::vector<std::uint16_t> gather_rows(const Activations& a, std::span<const std::int64_t> rows) {
  std::vector<std::uint16_t> bits;
  bits.reserve(rows.size() * static_cast<std::size_t>(a.k));
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= a.m) {
      throw InputError(fmt::format("row {} is outside m = {}", row, a.m));
    }
    const auto whole = a.bits.subspan(static_cast<std::size_t>(a.k > 0 ? row * a.lda : 0),
                                      static_cast<std::size_t>(a.k));
    bits.insert(bits.end(), whole.begin(), whole.end());
  }
  return bits;
}

formats::QuantizedMatrix gather_columns(const formats::QuantizedMatrix& w,
                                        std::span<const std::int64_t> cols) {
  for (const std::int64_t col : cols) {
    if (col < 0 || col >= w.n) {
      throw InputError(fmt::format("column {} is outside n = {}", col, w.n));
    }
  }
  const auto gather = [&](const auto& from, std::int64_t rows) {
    std::remove_cvref_t<decltype(from)> to;
    to.reserve(cols.size() * static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const std::int64_t col : cols) {
        to.push_back(from[static_cast<std::size_t>(row * w.n + col)]);
      }
    }
    return to;
  };
  formats::QuantizedMatrix chosen;
  chosen.k = w.k;
  chosen.n = static_cast<std::int64_t>(cols.size());
  chosen.group = w.group;
  chosen.scale_type = w.scale_type;
  chosen.q = gather(w.q, w.k);
  chosen.z = gather(w.z, w.groups());
  chosen.scales = gather(w.scales, w.groups());
  chosen.g_idx = w.g_idx;
  return chosen;
}

}  // namespace

std::vector<std::uint16_t> replay(const Arithmetic& arithmetic, const numeric::TensorModel& model,
                                  const Activations& a, const formats::QuantizedMatrix& w,
                                  std::span<const std::int32_t> order) {
  numeric::require_ieee_environment();
  require_operands(a, w);
  if (w.scale_type != a.type) {
    throw InputError(fmt::format("a kernel has one type: activations are {}, scales {}",
                                 numeric::name(a.type), numeric::name(w.scale_type)));
  }
  require_order(order, w.k);
  require_arithmetic(arithmetic, w, order);

  std::vector<std::uint16_t> out(static_cast<std::size_t>(a.m * w.n));
  const std::int64_t column_blocks = (w.n + kLanes - 1) / kLanes;
  for (std::int64_t first = 0; first < a.m; first += kRows) {
    const RowBlock rows(arithmetic, a, order, first, std::min(kRows, a.m - first));
    const bool worth_threads = rows.count() * w.k * w.n >= kProductsWorthThreads;
#pragma omp parallel for schedule(static, kColumnsAtOnce) if (worth_threads)
    for (std::int64_t block = 0; block < column_blocks; ++block) {
      const std::int64_t column = block * kLanes;
      Tile tile(arithmetic, model, a.type, w, order, rows, column);
      const auto sums = tile.run();
      const auto columns = static_cast<std::size_t>(std::min(kLanes, w.n - column));
      for (std::size_t r = 0; r < sums.size(); ++r) {
        std::uint16_t* to = out.data() + (first + static_cast<std::int64_t>(r)) * w.n + column;
        for (std::size_t n = 0; n < columns; ++n) {
          to[n] = numeric::round_to(a.type, static_cast<double>(sums[r][n]));
        }
      }
    }
  }
  return out;
}

std::vector<std::uint16_t> replay(const Arithmetic& arithmetic, const numeric::TensorModel& model,
                                  const Activations& a, const formats::QuantizedMatrix& w,
                                  std::span<const std::int32_t> order,
                                  std::span<const std::int64_t> rows,
                                  std::span<const std::int64_t> cols) {
  require_operands(a, w);
  const std::vector<std::uint16_t> bits = gather_rows(a, rows);
  const Activations chosen{a.type, static_cast<std::int64_t>(rows.size()), a.k, a.k, bits};
  return replay(arithmetic, model, chosen, gather_columns(w, cols), order);
}

std::int64_t positions_missing(const Arithmetic& arithmetic, std::int64_t k) {
  std::vector<int> uses(static_cast<std::size_t>(k));
  std::int64_t strangers = 0;
  for (const Chain& chain : arithmetic.chains) {
    for (const Run& run : chain.runs) {
      for (const std::int32_t position : run.positions) {
        if (position >= 0 && position < k) {
          ++uses[static_cast<std::size_t>(position)];
        } else if (position != -1) {
          ++strangers;
        }
      }
    }
  }
  return strangers + std::count_if(uses.begin(), uses.end(), [](int count) { return count != 1; });
}

}  // namespace bitgate::oracle
