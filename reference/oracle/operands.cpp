#include "reference/oracle/operands.h"

#include <fmt/format.h>

#include <cstddef>

#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

using numeric::ScalarType;

bool is_16_bit(ScalarType type) { return type == ScalarType::f16 || type == ScalarType::bf16; }

// rows · columns, or a refusal: sizes come from files.
std::size_t elements(std::int64_t rows, std::int64_t columns) {
  std::int64_t product = 0;
  if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &product)) {
    throw InputError(fmt::format("{} x {} is no size of a matrix", rows, columns));
  }
  return static_cast<std::size_t>(product);
}

void require(bool holds, std::string_view what) {
  if (!holds) throw InputError(std::string(what));
}

}  // namespace

void require_operands(const Activations& a, const formats::QuantizedMatrix& w) {
  require(is_16_bit(a.type), "activations are f16 or bf16");
  require(is_16_bit(w.scale_type), "scales are f16 or bf16");
  require(a.m >= 0 && a.k >= 0 && w.n >= 0, "m, k and n are at least 0");
  if (a.k != w.k) {
    throw InputError(fmt::format("A has {} columns and W {} rows: both are k", a.k, w.k));
  }
  if (a.lda < a.k) {
    throw InputError(fmt::format("lda = {} is below k = {}: rows would overlap", a.lda, a.k));
  }
  if (a.m > 0 && a.k > 0) {
    const std::size_t needed = elements(a.m - 1, a.lda) + static_cast<std::size_t>(a.k);
    if (a.bits.size() < needed) {
      throw InputError(fmt::format("A needs {} elements (m = {}, lda = {}, k = {}), found {}",
                                   needed, a.m, a.lda, a.k, a.bits.size()));
    }
  }
  if (w.k > 0) {
    if (w.group <= 0 || w.k % w.group != 0) {
      throw InputError(fmt::format("the group, {}, must divide k = {}", w.group, w.k));
    }
  }
  require(w.q.size() == elements(w.k, w.n), "q is [k][n]");
  require(w.z.size() == elements(w.groups(), w.n), "z is [k/group][n]");
  require(w.scales.size() == elements(w.groups(), w.n), "scales is [k/group][n]");
  require(w.g_idx.size() == static_cast<std::size_t>(w.k), "g_idx is [k]");
  for (std::size_t k = 0; k < w.g_idx.size(); ++k) {
    if (w.g_idx[k] < 0 || w.g_idx[k] >= w.groups()) {
      throw InputError(
          fmt::format("g_idx[{}] = {} is none of the {} groups", k, w.g_idx[k], w.groups()));
    }
  }
}

void require_order(std::span<const std::int32_t> order, std::int64_t k) {
  if (order.size() != static_cast<std::size_t>(k)) {
    throw InputError(fmt::format("an order of {} positions for k = {} rows", order.size(), k));
  }
  std::vector<bool> seen(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    const std::int32_t row = order[p];
    if (row < 0 || row >= k || seen[static_cast<std::size_t>(row)]) {
      throw InputError(
          fmt::format("order[{}] = {} is out of range or named twice (k = {})", p, row, k));
    }
    seen[static_cast<std::size_t>(row)] = true;
  }
}

void dequantize_row(const formats::QuantizedMatrix& w, WeightForm form, std::int64_t k,
                    std::int64_t first, std::int64_t count, float* out) {
  const std::int64_t group = w.g_idx[static_cast<std::size_t>(k)];
  const std::uint8_t* q = w.q.data() + k * w.n + first;
  const std::uint8_t* z = w.z.data() + group * w.n + first;
  const std::uint16_t* scale = w.scales.data() + group * w.n + first;
  for (std::int64_t n = 0; n < count; ++n) {
    const float exact = numeric::to_float(w.scale_type, scale[n]) *
                        static_cast<float>(static_cast<int>(q[n]) - static_cast<int>(z[n]));
    out[n] = form == WeightForm::integer
                 ? exact
                 : numeric::to_float(w.scale_type,
                                     numeric::round_to(w.scale_type, static_cast<double>(exact)));
  }
}

}  // namespace bitgate::oracle
