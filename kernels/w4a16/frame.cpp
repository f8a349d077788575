#include "kernels/w4a16/frame.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/w4a16/w4a16.h"
#include "reference/support/error.h"

namespace bitgate::kernels::w4a16 {

namespace {

constexpr std::size_t kUnitWords = kUnitBytes / 4;

std::size_t units_of(std::int64_t n) {
  return (static_cast<std::size_t>(n) + kUnitColumns - 1) / kUnitColumns;
}

std::size_t blocks_of(std::int64_t k) { return static_cast<std::size_t>(k) / kBlockK; }

/// Values of [group][n] in the frame's order, `padding` for columns that are not there.
template <class Value>
std::vector<Value> to_units(const std::vector<Value>& values, std::size_t groups, std::size_t n) {
  const std::size_t units = units_of(static_cast<std::int64_t>(n));
  std::vector<Value> result(units * groups * kUnitColumns);
  for (std::size_t unit = 0; unit < units; ++unit) {
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::uint32_t place = 0; place < kUnitColumns; ++place) {
        const std::size_t column = unit * kUnitColumns + column_of_scale(place);
        if (column < n) {
          result[(unit * groups + group) * kUnitColumns + place] = values[group * n + column];
        }
      }
    }
  }
  return result;
}

template <class Value>
std::vector<Value> from_units(const std::vector<Value>& units, std::size_t groups, std::size_t n) {
  std::vector<Value> result(groups * n);
  for (std::size_t unit = 0; unit < units_of(static_cast<std::int64_t>(n)); ++unit) {
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::uint32_t place = 0; place < kUnitColumns; ++place) {
        const std::size_t column = unit * kUnitColumns + column_of_scale(place);
        if (column < n) {
          result[group * n + column] = units[(unit * groups + group) * kUnitColumns + place];
        }
      }
    }
  }
  return result;
}

/// code_place for every position and column of a unit.
std::vector<CodePlace> all_code_places() {
  std::vector<CodePlace> places;
  places.reserve(std::size_t{kBlockK} * kUnitColumns);
  for (std::uint32_t position = 0; position < kBlockK; ++position) {
    for (std::uint32_t column = 0; column < kUnitColumns; ++column) {
      places.push_back(code_place(column, position));
    }
  }
  return places;
}

/// The checkpoint's row at each position.
std::vector<std::int32_t> row_order(const Frame& frame) {
  if (frame.act_order) {
    return frame.order;
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(frame.k));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

Frame repack(const formats::PackedLayer& layer) {
  const formats::QuantizedMatrix matrix = formats::unpack(layer);
  if (matrix.k % kBlockK != 0) {
    throw InputError("the kernel frame takes K in blocks of 32; this layer has K = " +
                     std::to_string(matrix.k) + "; pad its rows");
  }
  Frame frame;
  frame.k = matrix.k;
  frame.n = matrix.n;
  frame.group = matrix.group;
  frame.zeros = layer.config.symmetric ? Zeros::sym : Zeros::integer;
  frame.act_order = layer.config.act_order;
  frame.type = matrix.scale_type;
  if (frame.act_order) {
    frame.order = formats::sort_by_group(matrix);
  }

  const std::vector<std::int32_t> order = row_order(frame);
  const std::vector<CodePlace> places = all_code_places();
  const auto n = static_cast<std::size_t>(matrix.n);
  const std::size_t blocks = blocks_of(matrix.k);
  const std::size_t units = units_of(matrix.n);
  frame.weights.assign(units * blocks * kUnitWords, 0);
#pragma omp parallel for schedule(static)
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::size_t columns = std::min<std::size_t>(kUnitColumns, n - unit * kUnitColumns);
    for (std::size_t block = 0; block < blocks; ++block) {
      std::uint32_t* words = &frame.weights[(unit * blocks + block) * kUnitWords];
      for (std::size_t position = 0; position < kBlockK; ++position) {
        const auto row = static_cast<std::size_t>(order[block * kBlockK + position]);
        const std::uint8_t* codes = &matrix.q[row * n + unit * kUnitColumns];
        for (std::size_t column = 0; column < columns; ++column) {
          const CodePlace place = places[position * kUnitColumns + column];
          words[place.word] |= static_cast<std::uint32_t>(codes[column]) << place.shift;
        }
      }
    }
  }
  const auto groups = static_cast<std::size_t>(matrix.groups());
  frame.scales = to_units(matrix.scales, groups, n);
  if (frame.zeros == Zeros::integer) {
    frame.zero_points = to_units(matrix.z, groups, n);
  }
  return frame;
}

formats::QuantizedMatrix unpack_frame(const Frame& frame) {
  formats::QuantizedMatrix matrix;
  matrix.k = frame.k;
  matrix.n = frame.n;
  matrix.group = frame.group;
  matrix.scale_type = frame.type;
  const auto n = static_cast<std::size_t>(frame.n);
  const std::size_t blocks = blocks_of(frame.k);
  const std::vector<std::int32_t> order = row_order(frame);
  matrix.q.resize(static_cast<std::size_t>(frame.k) * n);
  matrix.g_idx.resize(static_cast<std::size_t>(frame.k));
  for (std::size_t position = 0; position < order.size(); ++position) {
    const auto row = static_cast<std::size_t>(order[position]);
    matrix.g_idx[row] = static_cast<std::int32_t>(position / static_cast<std::size_t>(frame.group));
    for (std::size_t column = 0; column < n; ++column) {
      const CodePlace place = code_place(static_cast<std::uint32_t>(column % kUnitColumns),
                                         static_cast<std::uint32_t>(position % kBlockK));
      const std::size_t unit = (column / kUnitColumns * blocks + position / kBlockK) * kUnitWords;
      matrix.q[row * n + column] =
          static_cast<std::uint8_t>(frame.weights[unit + place.word] >> place.shift & 15U);
    }
  }
  const auto groups = static_cast<std::size_t>(matrix.groups());
  matrix.scales = from_units(frame.scales, groups, n);
  matrix.z = frame.zeros == Zeros::sym ? std::vector<std::uint8_t>(groups * n, 8)
                                       : from_units(frame.zero_points, groups, n);
  return matrix;
}

}  // namespace bitgate::kernels::w4a16
