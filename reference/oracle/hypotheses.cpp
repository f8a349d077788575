#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "reference/formats/wrong_readings.h"
#include "reference/numeric/half.h"
#include "reference/oracle/wrong_references.h"

// The list of wrong references. To add one: a row in hypotheses(), plainer ones first, and a case
// in wrong_references_test.cpp, which asks that it explains the output made with it.

namespace bitgate::oracle {
namespace {

using formats::ZeroPoints;

constexpr std::array<std::int64_t, 8> kAwqOrder{0, 2, 4, 6, 1, 3, 5, 7};

std::int64_t group_of(const Reading& r, std::int64_t row) {
  return r.matrix.g_idx[static_cast<std::size_t>(row)];
}
int code(const Reading& r, std::int64_t row, std::int64_t n) {
  return r.matrix.q[static_cast<std::size_t>(row * r.matrix.n + n)];
}
int zero_point(const Reading& r, std::int64_t group, std::int64_t n) {
  return r.matrix.z[static_cast<std::size_t>(group * r.matrix.n + n)];
}
std::uint16_t scale_bits(const Reading& r, std::int64_t group, std::int64_t n) {
  return r.matrix.scales[static_cast<std::size_t>(group * r.matrix.n + n)];
}
float scale(const Reading& r, std::int64_t group, std::int64_t n) {
  return numeric::to_float(r.matrix.scale_type, scale_bits(r, group, n));
}
// Nibble of a qzeros tensor [groups][n/8], in plain order.
int stored_zero(const Reading& r, std::int64_t group, std::int64_t n) {
  const auto word = static_cast<std::uint32_t>(
      r.layer.qzeros[static_cast<std::size_t>(group * (r.matrix.n / 8) + n / 8)]);
  return static_cast<int>((word >> (4 * (n % 8))) & 15U);
}

bool always(const Reading& /*reading*/) { return true; }
bool has_zero_points(const Reading& r) { return !r.layer.config.symmetric; }
bool has_qzeros(const Reading& r) {
  return r.matrix.n % 8 == 0 &&
         r.layer.qzeros.size() == static_cast<std::size_t>(r.matrix.groups() * (r.matrix.n / 8));
}
bool is_symmetric_with_placeholder(const Reading& r) {
  return r.layer.config.symmetric && has_qzeros(r);
}
bool is_v1(const Reading& r) {
  return r.layer.config.zero_points == ZeroPoints::gptq_v1 && has_qzeros(r);
}
bool is_awq(const Reading& r) { return r.layer.config.awq_layout && r.matrix.n % 8 == 0; }
bool is_gptq(const Reading& r) { return !r.layer.config.awq_layout && r.matrix.n % 8 == 0; }
bool is_act_order(const Reading& r) { return r.layer.config.act_order; }
bool has_groups(const Reading& r) { return r.matrix.groups() > 1; }
bool is_whole_k(const Reading& r) { return r.layer.config.group_size == -1; }

// A hypothesis about the weight of each position: weight(reading, position, row, n).
template <class Weight>
auto weights(Weight weight) {
  return [weight](const Reading& r, std::int64_t n, EffectiveColumn& column) {
    for (std::size_t p = 0; p < r.order.size(); ++p) {
      column.weights[p] =
          weight(r, static_cast<std::int64_t>(p), static_cast<std::int64_t>(r.order[p]), n);
    }
  };
}

// …about the zero point that is subtracted: zero(reading, group, n).
template <class Zero>
auto zero_points(Zero zero) {
  return weights([zero](const Reading& r, std::int64_t, std::int64_t row, std::int64_t n) {
    const std::int64_t g = group_of(r, row);
    return scale(r, g, n) * static_cast<float>(code(r, row, n) - zero(r, g, n));
  });
}

// …about the code: other(reading, row, n).
template <class Code>
auto codes(Code other) {
  return weights([other](const Reading& r, std::int64_t, std::int64_t row, std::int64_t n) {
    const std::int64_t g = group_of(r, row);
    return scale(r, g, n) * static_cast<float>(other(r, row, n) - zero_point(r, g, n));
  });
}

enum class Rows { scales_and_zero_points, scales, zero_points };
constexpr std::array kRows{std::pair{Rows::scales_and_zero_points, "scales and zero points"},
                           std::pair{Rows::scales, "scales"},
                           std::pair{Rows::zero_points, "zero points"}};

// …about the group whose scales and zero points are taken: group(reading, position, row).
template <class Group>
auto group_rows(Rows rows, Group group) {
  return weights([=](const Reading& r, std::int64_t p, std::int64_t row, std::int64_t n) {
    const std::int64_t right = group_of(r, row);
    const std::int64_t wrong = group(r, p, row);
    return scale(r, rows == Rows::zero_points ? right : wrong, n) *
           static_cast<float>(code(r, row, n) -
                              zero_point(r, rows == Rows::scales ? right : wrong, n));
  });
}

// …about positions that are left out: lost(reading, position).
template <class Lost>
auto positions_lost(Lost lost) {
  return [lost](const Reading& r, std::int64_t, EffectiveColumn& column) {
    for (std::size_t p = 0; p < column.weights.size(); ++p) {
      if (lost(r, static_cast<std::int64_t>(p))) column.weights[p] = 0;
    }
  };
}

using Hypotheses = std::vector<Hypothesis>;

void add_zero_points(Hypotheses& list) {
  const std::string off = "zero_point_off_by_one";
  list.push_back({off, "+1", "every zero point is one too high, as gptq_v2's read as gptq_v1's",
                  always, zero_points([](const Reading& r, std::int64_t g, std::int64_t n) {
                    return zero_point(r, g, n) + 1;
                  })});
  list.push_back({off, "-1", "every zero point is one too low, as gptq_v1's read as gptq_v2's",
                  always, zero_points([](const Reading& r, std::int64_t g, std::int64_t n) {
                    return zero_point(r, g, n) - 1;
                  })});
  list.push_back({"zero_points_ignored", "8", "8 is subtracted in place of the zero points",
                  has_zero_points,
                  zero_points([](const Reading&, std::int64_t, std::int64_t) { return 8; })});
  list.push_back({"zero_points_ignored", "0", "no zero point is subtracted", always,
                  zero_points([](const Reading&, std::int64_t, std::int64_t) { return 0; })});
  const std::string used = "zero_points_used_though_symmetric";
  list.push_back({used, "gptq_v1",
                  "the qzeros placeholder of a symmetric layer is read, a stored z as z + 1",
                  is_symmetric_with_placeholder,
                  zero_points([](const Reading& r, std::int64_t g, std::int64_t n) {
                    return stored_zero(r, g, n) + 1;
                  })});
  list.push_back({used, "gptq_v2",
                  "the qzeros placeholder of a symmetric layer is read, a stored z as z",
                  is_symmetric_with_placeholder,
                  zero_points([](const Reading& r, std::int64_t g, std::int64_t n) {
                    return stored_zero(r, g, n);
                  })});
  list.push_back({"zero_point_added", "", "the zero point is added, not subtracted", always,
                  zero_points([](const Reading& r, std::int64_t g, std::int64_t n) {
                    return -zero_point(r, g, n);
                  })});
  const auto v1 = [](auto read) {
    return zero_points([read](const Reading& r, std::int64_t g, std::int64_t n) {
      const auto word = static_cast<std::size_t>(g * (r.matrix.n / 8) + n / 8);
      return static_cast<int>(
          read(std::span(r.layer.qzeros).subspan(word, 1))[static_cast<std::size_t>(n % 8)]);
    });
  };
  list.push_back({"zero_point_v1_wrap", "", "a stored 15 under gptq_v1 is read as 0, not 16", is_v1,
                  v1(formats::wrong_v1_zeros_wrap)});
  list.push_back({"zero_point_v1_carry", "",
                  "one is added to a whole word of gptq_v1 zero points: a stored 15 reads as 0 and "
                  "carries into the next column",
                  is_v1, v1(formats::wrong_v1_zeros_carry)});
}

void add_layouts(Hypotheses& list) {
  // Nibble i of an AWQ word is column kAwqOrder[i]; read in plain order, it passes for column i.
  const auto awq_column = [](std::int64_t n) {
    return n / 8 * 8 + kAwqOrder[static_cast<std::size_t>(n % 8)];
  };
  const std::string awq = "awq_order_not_undone";
  list.push_back(
      {awq, "weights and zero points", "AWQ's nibbles are read as columns 0 to 7", is_awq,
       weights([=](const Reading& r, std::int64_t, std::int64_t row, std::int64_t n) {
         const std::int64_t g = group_of(r, row);
         return scale(r, g, n) *
                static_cast<float>(code(r, row, awq_column(n)) - zero_point(r, g, awq_column(n)));
       })});
  list.push_back({awq, "weights", "AWQ's weights, not its zero points, are read as columns 0 to 7",
                  is_awq, codes([=](const Reading& r, std::int64_t row, std::int64_t n) {
                    return code(r, row, awq_column(n));
                  })});
  list.push_back({awq, "zero points",
                  "AWQ's zero points, not its weights, are read as columns 0 to 7", is_awq,
                  zero_points([=](const Reading& r, std::int64_t g, std::int64_t n) {
                    return zero_point(r, g, awq_column(n));
                  })});
  list.push_back({"nibble_order_reversed", "weights",
                  "the eight codes of a word are read backwards", always,
                  codes([](const Reading& r, std::int64_t row, std::int64_t n) {
                    if (r.layer.config.awq_layout) {
                      const auto nibble = std::find(kAwqOrder.begin(), kAwqOrder.end(), n % 8);
                      const auto i = static_cast<std::size_t>(nibble - kAwqOrder.begin());
                      return code(r, row, n / 8 * 8 + kAwqOrder[7 - i]);
                    }
                    const std::int64_t other = row / 8 * 8 + 7 - row % 8;
                    return code(r, std::min(other, r.matrix.k - 1), n);
                  })});
  list.push_back({"nibble_order_reversed", "zero points",
                  "the eight zero points of a word are read backwards", is_gptq,
                  zero_points([](const Reading& r, std::int64_t g, std::int64_t n) {
                    return zero_point(r, g, n / 8 * 8 + 7 - n % 8);
                  })});
  list.push_back({"codes_read_as_signed", "", "codes 8 to 15 are read as -8 to -1", always,
                  codes([](const Reading& r, std::int64_t row, std::int64_t n) {
                    const int q = code(r, row, n);
                    return q < 8 ? q : q - 16;
                  })});
  list.push_back({"scales_of_the_other_type", "",
                  "the scales' bits are read as f16 for bf16, or the "
                  "other way round",
                  always,
                  weights([](const Reading& r, std::int64_t, std::int64_t row, std::int64_t n) {
                    using numeric::ScalarType;
                    const auto other =
                        r.matrix.scale_type == ScalarType::f16 ? ScalarType::bf16 : ScalarType::f16;
                    const std::int64_t g = group_of(r, row);
                    return numeric::to_float(other, scale_bits(r, g, n)) *
                           static_cast<float>(code(r, row, n) - zero_point(r, g, n));
                  })});
}

void add_act_order(Hypotheses& list) {
  list.push_back({"gather_skipped", "", "rows are sorted by group, the activation is not gathered",
                  is_act_order, [](const Reading&, std::int64_t, EffectiveColumn& column) {
                    for (std::size_t p = 0; p < column.activation.size(); ++p) {
                      column.activation[p] = static_cast<std::int32_t>(p);
                    }
                  }});
  list.push_back({"gather_inverted", "", "the activation is gathered by the inverse permutation",
                  is_act_order, [](const Reading& r, std::int64_t, EffectiveColumn& column) {
                    for (std::size_t p = 0; p < r.order.size(); ++p) {
                      column.activation[static_cast<std::size_t>(r.order[p])] =
                          static_cast<std::int32_t>(p);
                    }
                  }});
  for (const auto& [rows, variant] : kRows) {
    list.push_back({"group_index_k_over_group", variant,
                    "act-order: row k takes those of group k / group, not of g_idx[k]",
                    is_act_order,
                    group_rows(rows, [](const Reading& r, std::int64_t, std::int64_t row) {
                      return row / r.matrix.group;
                    })});
  }
}

void add_groups(Hypotheses& list) {
  for (const auto& [rows, variant] : kRows) {
    list.push_back({"scale_row_previous_group", variant,
                    "a group takes those of the group before it", has_groups,
                    group_rows(rows, [](const Reading& r, std::int64_t, std::int64_t row) {
                      return std::max<std::int64_t>(group_of(r, row) - 1, 0);
                    })});
    list.push_back({"scale_row_next_group", variant, "a group takes those of the group after it",
                    has_groups,
                    group_rows(rows, [](const Reading& r, std::int64_t, std::int64_t row) {
                      return std::min(group_of(r, row) + 1, r.matrix.groups() - 1);
                    })});
  }
  for (const std::int64_t tile : {64, 128, 256, 512}) {
    for (const auto& [rows, variant] : kRows) {
      list.push_back(
          {"one_scale_row_per_tile", "k tile of " + std::to_string(tile) + ", " + variant,
           "a tile of k takes those of its first row, though it spans several groups", has_groups,
           group_rows(rows, [tile](const Reading& r, std::int64_t p, std::int64_t) {
             return group_of(r, r.order[static_cast<std::size_t>(p / tile * tile)]);
           })});
    }
  }
  list.push_back(
      {"one_scale_row_per_tile", "whole k", "all rows take those of group 0", has_groups,
       group_rows(Rows::scales_and_zero_points,
                  [](const Reading&, std::int64_t, std::int64_t) { return std::int64_t{0}; })});
  // k / -1 names a row before the scales: no number, NaN where a guard lies there.
  list.push_back({"group_minus_one_as_number", "row -k",
                  "group -1 is divided by: scale rows lie before the buffer", is_whole_k,
                  weights([](const Reading& r, std::int64_t, std::int64_t row, std::int64_t n) {
                    if (row > 0) return std::numeric_limits<float>::quiet_NaN();
                    return scale(r, 0, n) *
                           static_cast<float>(code(r, row, n) - zero_point(r, 0, n));
                  })});
  list.push_back({"group_minus_one_as_number", "no groups",
                  "group -1 is divided by: there are no groups to loop over", is_whole_k,
                  positions_lost([](const Reading&, std::int64_t) { return true; })});
}

void add_k_blocks(Hypotheses& list) {
  // A block of all of k leaves zeros, which many other faults leave, too.
  for (const std::int64_t block : {16, 32, 64, 128, 256}) {
    const auto has_more = [block](const Reading& r) { return r.matrix.k > block; };
    list.push_back({"last_k_block_lost", std::to_string(block),
                    "the last " + std::to_string(block) + " of k are left out", has_more,
                    positions_lost([block](const Reading& r, std::int64_t p) {
                      return p >= r.matrix.k - block;
                    })});
    list.push_back({"first_k_block_lost", std::to_string(block),
                    "the first " + std::to_string(block) + " of k are left out", has_more,
                    positions_lost([block](const Reading&, std::int64_t p) { return p < block; })});
  }
  for (const std::int64_t block : {64, 128, 256, 512}) {
    list.push_back(
        {"k_tail_lost", std::to_string(block),
         "what k is more than a multiple of " + std::to_string(block) + " is left out",
         [block](const Reading& r) { return r.matrix.k > block && r.matrix.k % block != 0; },
         positions_lost([block](const Reading& r, std::int64_t p) {
           return p >= r.matrix.k / block * block;
         })});
  }
}

}  // namespace

const std::vector<Hypothesis>& hypotheses() {
  static const Hypotheses list = [] {
    Hypotheses all;
    add_zero_points(all);
    add_layouts(all);
    add_act_order(all);
    add_groups(all);
    add_k_blocks(all);
    return all;
  }();
  return list;
}

}  // namespace bitgate::oracle
