#pragma once

#include <algorithm>
#include <cmath>

namespace bitgate::oracle {

/// Products of one step: what a running bound needs to know of them.
struct StepOfProducts {
  double sum = 0;
  double largest = 0;   ///< magnitude
  double net_sign = 0;  ///< positive ones less negative ones

  void add(double product) {
    sum += product;
    largest = std::max(largest, std::abs(product));
    net_sign += (product > 0 ? 1.0 : 0.0) - (product < 0 ? 1.0 : 0.0);
  }
};

/// The sum of one output element and its error bound, walked 16 products at a time. gemm_oracle.h
/// derives the bound.
class RunningBound {
 public:
  void step(const StepOfProducts& products) {
    const double after = sum_ + products.sum;
    const double largest = std::max({std::abs(sum_), std::abs(after), products.largest});
    cut_sums_ += largest;
    cut_terms_ += largest * std::abs(products.net_sign);
    squares_ += largest * largest;
    sum_ = after;
  }
  double sum() const { return sum_; }
  double bound() const {
    return 0x1p-23 * cut_sums_ + 0x1p-25 * cut_terms_ +
           kDeviation * 0x1p-24 * std::sqrt(18 * squares_);
  }

 private:
  static constexpr double kDeviation = 6.5;  // Hoeffding: exceeded once in 10^9

  double sum_ = 0;
  double cut_sums_ = 0;
  double cut_terms_ = 0;
  double squares_ = 0;
};

}  // namespace bitgate::oracle
