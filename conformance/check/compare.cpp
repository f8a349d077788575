#include "conformance/check/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "reference/numeric/half.h"

namespace bitgate::conformance {
namespace {

constexpr std::size_t kSample = std::size_t{1} << 20;

std::uint16_t infinity(numeric::ScalarType type) {
  return type == numeric::ScalarType::bf16 ? 0x7f80 : 0x7c00;
}

}  // namespace

bool is_nan(numeric::ScalarType type, std::uint16_t bits) {
  return (bits & 0x7fffU) > infinity(type);
}

bool is_finite(numeric::ScalarType type, std::uint16_t bits) {
  return (bits & 0x7fffU) < infinity(type);
}

std::string bits_text(numeric::ScalarType type, std::uint16_t bits) {
  return fmt::format("0x{:04x} ({})", bits, numeric::to_float(type, bits));
}

void WrongSample::add(const oracle::WrongElement& element) {
  if (seen_++ % stride_ != 0) return;
  if (kept_.size() == kSample) {
    for (std::size_t i = 0; 2 * i < kSample; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kSample / 2);
    stride_ *= 2;
    if ((seen_ - 1) % stride_ != 0) return;
  }
  kept_.push_back(element);
}

Comparison compare_bits(numeric::ScalarType type, const Selection& selection, std::int64_t n,
                        std::span<const std::uint16_t> output,
                        std::span<const std::uint16_t> want) {
  Comparison comparison;
  comparison.judged = selection.size();
  if (selection.whole && std::ranges::equal(output, want)) return comparison;
  WrongSample sample;
  std::size_t at = 0;
  for (const std::int64_t row : selection.rows) {
    for (const std::int64_t col : selection.cols) {
      const std::uint16_t expected = want[at++];
      const std::uint16_t got = output[static_cast<std::size_t>(row * n + col)];
      if (got == expected) continue;
      if (is_nan(type, got) && is_nan(type, expected)) {
        ++comparison.nan_payload;
        continue;
      }
      if (comparison.wrong++ == 0) {
        comparison.first = Difference{.row = row, .col = col, .got = got, .want = expected};
      }
      sample.add({.row = row, .col = col, .got = got});
      if (!is_finite(type, got) || !is_finite(type, expected)) {
        comparison.max_error.reset();
      } else if (comparison.max_error) {
        const double error = std::abs(static_cast<double>(numeric::to_float(type, got)) -
                                      static_cast<double>(numeric::to_float(type, expected)));
        comparison.max_error = std::max(*comparison.max_error, error);
      }
    }
  }
  comparison.sample = sample.take();
  return comparison;
}

CheckResult verdict_of(const Comparison& comparison, std::string name, numeric::ScalarType type,
                       const Selection& selection) {
  CheckResult result{.name = std::move(name), .verdict = Verdict::pass, .message = {}};
  if (comparison.wrong > 0) {
    const Difference& first = *comparison.first;
    result.verdict = Verdict::fail;
    result.message = fmt::format(
        "{} of {} outputs are wrong; the first, row {} column {}, is {} and "
        "should be {}",
        comparison.wrong, comparison.judged, first.row, first.col, bits_text(type, first.got),
        bits_text(type, first.want));
  }
  if (!selection.whole) {
    result.message += fmt::format("{}{} outputs were judged, {} rows by {} columns",
                                  result.message.empty() ? "" : "; ", comparison.judged,
                                  selection.rows.size(), selection.cols.size());
  }
  return result;
}

}  // namespace bitgate::conformance
