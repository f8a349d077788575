#include "ci/suite/marlin_table.h"

#include <array>

namespace bitgate::suite {
namespace {

struct Row {
  std::string_view layer;
  std::int64_t k;
  std::int64_t n;
  double plain_read;
  double marlin_1;
  double marlin_16;
  double marlin_1024;
};

constexpr std::array<Row, 7> kRows{{
    {"l8_gateup", 4096, 28672, 15.5, 37.2, 35.1, 707.9},
    {"l8_down", 14336, 4096, 9.1, 24.6, 20.4, 331.2},
    {"l8_qkv", 4096, 6144, 4.9, 13.9, 13.3, 142.2},
    {"l8_o", 4096, 4096, 3.7, 12.8, 11.3, 97.6},
    {"q15_qkv", 1536, 2048, 2.0, 11.7, 11.0, 21.2},
    {"q15_down", 8960, 1536, 3.6, 20.1, 18.3, 77.4},
    {"q15_gateup", 1536, 17920, 5.3, 12.5, 11.9, 163.7},
}};

}  // namespace

std::optional<MarlinTime> marlin_time(std::int64_t m, std::int64_t k, std::int64_t n) {
  for (const Row& row : kRows) {
    if (row.k != k || row.n != n) continue;
    if (m == 1) return MarlinTime{row.layer, row.marlin_1, row.plain_read};
    if (m == 16) return MarlinTime{row.layer, row.marlin_16, row.plain_read};
    if (m == 1024) return MarlinTime{row.layer, row.marlin_1024, row.plain_read};
  }
  return std::nullopt;
}

}  // namespace bitgate::suite
