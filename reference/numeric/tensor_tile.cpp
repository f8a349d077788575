#include "reference/numeric/tensor_tile.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core_steps.h"
#include "reference/numeric/tensor_dot.h"

namespace bitgate::numeric {
namespace {

constexpr std::size_t kColumns = 8;
constexpr std::size_t kMostElements = 64;  // s4 k64

/// Elements of a row, unpacked.
struct Unpacked {
  std::array<std::uint32_t, kMostElements> elements{};
  std::size_t count = 0;

  Unpacked(TensorType type, const TileRow& row) {
    const int bits = layout(type).bits;
    const std::uint32_t mask = bits == 32 ? ~0U : (1U << bits) - 1;
    for (const std::uint32_t word : row.words) {
      for (int shift = 0; shift < 32; shift += bits) elements[count++] = word >> shift & mask;
    }
  }
  std::span<const std::uint32_t> span() const { return {elements.data(), count}; }
};

/// The plain way, an output at a time.
template <class Accumulator, class Dot>
void each_output(TensorType a_type, TensorType b_type, TileRowsA a, TileRowsB b,
                 const Accumulator* c, Accumulator* d, Dot&& dot) {
  std::vector<Unpacked> columns;
  columns.reserve(kColumns);
  for (const TileRow& row : b) columns.emplace_back(b_type, row);
  for (std::size_t m = 0; m < a.size(); ++m) {
    const Unpacked row(a_type, a[m]);
    for (std::size_t n = 0; n < kColumns; ++n) {
      const std::size_t at = m * kColumns + n;
      d[at] = dot(row.span(), columns[n].span(), c[at]);
    }
  }
}

bool by_vectors(TensorType type) {
  return type == TensorType::f16 || type == TensorType::bf16 || type == TensorType::tf32;
}

const std::array<std::uint16_t, 256>& halves_of(TensorType type) {
  static const auto make = [](TensorType t) {
    std::array<std::uint16_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      table[i] = to_half(static_cast<double>(element_value(t, i))).bits;
    }
    return table;
  };
  static const std::array<std::uint16_t, 256> e4m3 = make(TensorType::e4m3);
  static const std::array<std::uint16_t, 256> e5m2 = make(TensorType::e5m2);
  return type == TensorType::e4m3 ? e4m3 : e5m2;
}

/// fp8 rows as rows of f16: the first two of each four elements, then the last two.
struct HalfRows {
  std::array<std::array<TileRow, 16>, 2> rows;

  HalfRows(TensorType type, std::span<const TileRow> fp8) {
    const auto& half = halves_of(type);
    for (std::size_t i = 0; i < fp8.size(); ++i) {
      for (std::size_t w = 0; w < fp8[i].words.size(); ++w) {
        const std::uint32_t four = fp8[i].words[w];
        for (std::size_t pair = 0; pair < 2; ++pair) {
          const std::uint32_t two = four >> (16 * pair);
          rows[pair][i].words[w] =
              static_cast<std::uint32_t>(half[two >> 8 & 255]) << 16 | half[two & 255];
        }
      }
    }
  }
};

bool is_two_f16_mma(const TensorModel& model, TensorType type) {
  return layout(type).bits == 8 && model.fp8.kind == Fp8Rule::Kind::two_f16_mma;
}

float add(float c, float product) {
  const float sum = c + product;
  return sum != sum ? std::bit_cast<float>(0x7fffffffU) : sum;
}

std::uint16_t add(std::uint16_t c, std::uint16_t product) {
  return to_half(static_cast<double>(to_float(Half{c})) +
                 static_cast<double>(to_float(Half{product})))
      .bits;
}

template <class Accumulator, class Tile>
void two_f16_mma(TensorType a_type, TensorType b_type, TileRowsA a, TileRowsB b,
                 const Accumulator* c, Accumulator* d, Tile&& tile) {
  constexpr std::size_t kRows = 16;
  const HalfRows right(b_type, b);
  for (std::size_t first = 0; first < a.size(); first += kRows) {
    const TileRowsA rows = a.subspan(first, std::min(kRows, a.size() - first));
    const HalfRows left(a_type, rows);
    std::array<Accumulator, kRows * kColumns> product{};
    for (std::size_t pair = 0; pair < 2; ++pair) {
      tile(TileRowsA(left.rows[pair]).first(rows.size()),
           TileRowsB(right.rows[pair].data(), kColumns), product.data());
    }
    for (std::size_t i = 0; i < rows.size() * kColumns; ++i) {
      const std::size_t at = first * kColumns + i;
      d[at] = add(c[at], product[i]);
    }
  }
}

/// Signed or unsigned elements of 8 or 4 bits as 16-bit numbers.
struct Integers {
  std::array<std::int16_t, kMostElements> values{};

  Integers(TensorType type, const TileRow& row) {
    const TensorTypeLayout sizes = layout(type);
    const int unused = 32 - sizes.bits;
    std::size_t i = 0;
    for (const std::uint32_t word : row.words) {
      for (int shift = 0; shift < 32; shift += sizes.bits) {
        const std::uint32_t at_top = word >> shift << unused;
        values[i++] = static_cast<std::int16_t>(sizes.is_signed
                                                    ? static_cast<std::int32_t>(at_top) >> unused
                                                    : static_cast<std::int32_t>(at_top >> unused));
      }
    }
  }
};

}  // namespace

void tensor_tile(const TensorModel& model, TensorType a_type, TensorType b_type, TileRowsA a,
                 TileRowsB b, const float* c, float* d) {
  if (by_vectors(a_type)) return vector_tile(model, a_type, a, b, c, d);
  if (is_two_f16_mma(model, a_type)) {
    return two_f16_mma(a_type, b_type, a, b, c, d,
                       [&](TileRowsA left, TileRowsB right, float* product) {
                         vector_tile(model, TensorType::f16, left, right, product, product);
                       });
  }
  each_output(a_type, b_type, a, b, c, d,
              [&](std::span<const std::uint32_t> x, std::span<const std::uint32_t> y, float sum) {
                return tensor_dot(model, a_type, b_type, x, y, sum);
              });
}

void tensor_tile_f16(const TensorModel& model, TensorType a_type, TensorType b_type, TileRowsA a,
                     TileRowsB b, const std::uint16_t* c, std::uint16_t* d) {
  if (a_type == TensorType::f16) return vector_tile_f16(model, a, b, c, d);
  if (is_two_f16_mma(model, a_type)) {
    return two_f16_mma(a_type, b_type, a, b, c, d,
                       [&](TileRowsA left, TileRowsB right, std::uint16_t* product) {
                         vector_tile_f16(model, left, right, product, product);
                       });
  }
  each_output(a_type, b_type, a, b, c, d,
              [&](std::span<const std::uint32_t> x, std::span<const std::uint32_t> y,
                  std::uint16_t sum) { return tensor_dot_f16(model, a_type, b_type, x, y, sum); });
}

void integer_tile(TensorType a_type, TensorType b_type, TileRowsA a, TileRowsB b, bool saturate,
                  const std::int32_t* c, std::int32_t* d) {
  std::vector<Integers> columns;
  columns.reserve(kColumns);
  for (const TileRow& row : b) columns.emplace_back(b_type, row);
  for (std::size_t m = 0; m < a.size(); ++m) {
    const Integers row(a_type, a[m]);
    for (std::size_t n = 0; n < kColumns; ++n) {
      std::int32_t products = 0;  // below 2^22
      for (std::size_t k = 0; k < kMostElements; ++k) {
        products += row.values[k] * columns[n].values[k];
      }
      const std::size_t at = m * kColumns + n;
      std::int64_t sum = std::int64_t{c[at]} + products;
      if (saturate) {
        sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      }
      d[at] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
    }
  }
}

void bit_tile(BitProduct product, TileRowsA a, TileRowsB b, const std::int32_t* c,
              std::int32_t* d) {
  for (std::size_t m = 0; m < a.size(); ++m) {
    for (std::size_t n = 0; n < kColumns; ++n) {
      std::uint32_t ones = 0;
      for (std::size_t w = 0; w < a[m].words.size(); ++w) {
        const std::uint32_t x = a[m].words[w];
        const std::uint32_t y = b[n].words[w];
        ones += static_cast<std::uint32_t>(
            std::popcount(product == BitProduct::exclusive_or ? x ^ y : x & y));
      }
      const std::size_t at = m * kColumns + n;
      d[at] = static_cast<std::int32_t>(static_cast<std::uint32_t>(c[at]) + ones);
    }
  }
}

}  // namespace bitgate::numeric
