#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bitgate::suite {

/// What Marlin (the original public kernel, group 128, symmetric, fp16) and a plain read of the
/// same bytes as one launch took on an H200, in µs a call: CUDA graph of many calls over rotating
/// buffers larger than L2, median of 20, CUDA 13.0, 2026-11-30.
struct MarlinTime {
  std::string_view layer;
  double marlin_us;
  double plain_read_us;
};

/// Nothing for a shape that was not measured.
std::optional<MarlinTime> marlin_time(std::int64_t m, std::int64_t k, std::int64_t n);

}  // namespace bitgate::suite
