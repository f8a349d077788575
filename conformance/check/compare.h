#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/check/selection.h"
#include "conformance/check/verdict.h"
#include "reference/oracle/wrong_references.h"

namespace bitgate::conformance {

/// An output that is not what it should be.
struct Difference {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::uint16_t got = 0;
  std::uint16_t want = 0;
};

/// Outputs against what they should be.
struct Comparison {
  std::int64_t judged = 0;
  std::int64_t wrong = 0;
  std::int64_t nan_payload = 0;     ///< NaN for NaN with other bits: the rule of that name
  std::optional<Difference> first;  ///< row-major
  /// Largest |got - want|; absent when a wrong output is not finite.
  std::optional<double> max_error = 0.0;
  /// The wrong outputs; beyond 2^20 of them an evenly spread part.
  std::vector<oracle::WrongElement> sample;
};

/// Bits equal to bits, tolerance zero; two NaNs are equal. `output` [m][n] whole, n columns; `want`
/// [rows][cols] of the selection.
Comparison compare_bits(numeric::ScalarType type, const Selection& selection, std::int64_t n,
                        std::span<const std::uint16_t> output, std::span<const std::uint16_t> want);

/// Pass, or fail with how many are wrong and the first of them.
CheckResult verdict_of(const Comparison& comparison, std::string name, numeric::ScalarType type,
                       const Selection& selection);

/// "0x3c00 (1)"
std::string bits_text(numeric::ScalarType type, std::uint16_t bits);
bool is_nan(numeric::ScalarType type, std::uint16_t bits);
bool is_finite(numeric::ScalarType type, std::uint16_t bits);

/// Adds a wrong output to a sample of bounded size that stays evenly spread.
class WrongSample {
 public:
  void add(const oracle::WrongElement& element);
  std::vector<oracle::WrongElement> take() { return std::move(kept_); }

 private:
  std::vector<oracle::WrongElement> kept_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace bitgate::conformance
