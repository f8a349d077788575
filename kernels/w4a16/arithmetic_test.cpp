#include "reference/oracle/arithmetic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/w4a16/w4a16.h"

namespace bitgate::kernels::w4a16 {
namespace {

/// What is wrong with a declaration for the shape, or nothing.
std::string fault_of(const oracle::Arithmetic& arithmetic, const Shape& shape) {
  std::vector<int> seen(static_cast<std::size_t>(shape.k), 0);
  for (const oracle::Chain& chain : arithmetic.chains) {
    for (const oracle::Run& run : chain.runs) {
      if (arithmetic.product == oracle::Product::tensor_core && run.positions.size() % 16 != 0) {
        return "a step is not whole";
      }
      for (const std::int32_t position : run.positions) {
        if (position < 0 || position >= shape.k) {
          return "a position lies outside K";
        }
        if (position / shape.group != run.group) {
          return "a position is scaled by another group";
        }
        ++seen[static_cast<std::size_t>(position)];
      }
    }
  }
  for (const int times : seen) {
    if (times != 1) {
      return "a position is added " + std::to_string(times) + " times";
    }
  }
  std::vector<bool> joined(arithmetic.chains.size(), false);
  for (const oracle::Join& join : arithmetic.joins) {
    if (join.from == join.into || joined[static_cast<std::size_t>(join.from)] ||
        joined[static_cast<std::size_t>(join.into)]) {
      return "a chain is joined twice";
    }
    joined[static_cast<std::size_t>(join.from)] = true;
  }
  for (std::size_t chain = 1; chain < joined.size(); ++chain) {
    if (!joined[chain]) {
      return "a chain is not joined";
    }
  }
  return joined.empty() || joined[0] ? "nothing is left" : "";
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::int64_t k : {32, 64, 96, 576, 1536, 1568, 8960}) {
    for (const std::int64_t group : {std::int64_t{32}, std::int64_t{64}, std::int64_t{128}, k}) {
      if (k % group == 0) {
        Shape shape;
        shape.m = 3;
        shape.n = 40;
        shape.k = k;
        shape.group = group;
        all.push_back(shape);
      }
    }
  }
  return all;
}

TEST(DeclaredArithmetic, AddsEveryPositionOnceInItsGroup) {
  for (const Kernel& kernel : kernels()) {
    for (const Shape& shape : shapes()) {
      EXPECT_EQ(fault_of(declared_arithmetic(kernel, shape), shape), "")
          << kernel.name << " k=" << shape.k << " group=" << shape.group;
    }
  }
}

TEST(DeclaredArithmetic, OfAnEmptyKIsNothing) {
  for (const Kernel& kernel : kernels()) {
    Shape shape;
    shape.m = 1;
    shape.n = 8;
    shape.group = 1;
    EXPECT_EQ(fault_of(declared_arithmetic(kernel, shape), shape), "") << kernel.name;
  }
}

TEST(DeclaredArithmetic, TheFaultFinderFindsFaults) {
  const Kernel& kernel = *match_kernels("w4a16.gemm.*.f16.sym").front();
  const Shape shape = shapes().back();
  const oracle::Arithmetic good = declared_arithmetic(kernel, shape);
  oracle::Arithmetic lost = good;
  lost.chains.back().runs.back().positions.resize(lost.chains.back().runs.back().positions.size() -
                                                  16);
  EXPECT_NE(fault_of(lost, shape), "");
  oracle::Arithmetic misplaced = good;
  misplaced.chains.front().runs.front().group += 1;
  EXPECT_NE(fault_of(misplaced, shape), "");
  oracle::Arithmetic unjoined = good;
  unjoined.joins.pop_back();
  EXPECT_NE(fault_of(unjoined, shape), "");
}

}  // namespace
}  // namespace bitgate::kernels::w4a16
