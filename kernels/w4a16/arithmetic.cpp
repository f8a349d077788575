#include "reference/oracle/arithmetic.h"

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "kernels/w4a16/frame.h"
#include "kernels/w4a16/w4a16.h"

namespace bitgate::kernels::w4a16 {

namespace {

using oracle::Arithmetic;
using oracle::Chain;
using oracle::Join;

/// Positions are below 2^31 (outside_domain).
std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

/// The run that block `block` of 32 positions belongs to: the chain's last one while the group
/// lasts.
std::vector<std::int32_t>& run_of_block(Chain& chain, std::int64_t block, const Shape& shape) {
  const std::int32_t group = narrow(block * kBlockK / shape.group);
  if (chain.runs.empty() || chain.runs.back().group != group) {
    chain.runs.push_back({group, {}});
  }
  return chain.runs.back().positions;
}

/// Two k16 products of the tensor core; K is permuted inside the block.
void add_tensor_core_block(Chain& chain, std::int64_t block, const Shape& shape) {
  std::vector<std::int32_t>& positions = run_of_block(chain, block, shape);
  for (std::uint32_t step = 0; step < 2; ++step) {
    for (std::uint32_t k = 0; k < 16; ++k) {
      positions.push_back(narrow(block * kBlockK + position_in_block(step, k)));
    }
  }
}

std::int64_t range_begin(std::int64_t blocks, int warp, int warps) { return blocks * warp / warps; }

/// A lane takes 8 consecutive positions of every block of its warp's range; the four lanes of a
/// column add up as ((0 + 1) + (2 + 3)), then the warps in order.
Arithmetic gemv(const Geometry& geometry, const Shape& shape) {
  constexpr std::int32_t kLanes = 4;
  Arithmetic arithmetic;
  arithmetic.product = oracle::Product::fused;
  for (int warp = 0; warp < geometry.warps_k; ++warp) {
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      Chain chain;
      for (std::int64_t block = range_begin(shape.k / kBlockK, warp, geometry.warps_k);
           block < range_begin(shape.k / kBlockK, warp + 1, geometry.warps_k); ++block) {
        std::vector<std::int32_t>& positions = run_of_block(chain, block, shape);
        for (std::int32_t i = 0; i < 8; ++i) {
          positions.push_back(narrow(block * kBlockK + lane * 8 + i));
        }
      }
      arithmetic.chains.push_back(std::move(chain));
    }
    const std::int32_t first = warp * kLanes;
    arithmetic.joins.insert(arithmetic.joins.end(),
                            {{first, first + 1}, {first + 2, first + 3}, {first, first + 2}});
  }
  for (int warp = 1; warp < geometry.warps_k; ++warp) {
    arithmetic.joins.push_back({0, warp * kLanes});
  }
  return arithmetic;
}

/// Each k-group of warps runs through a contiguous range of blocks; the groups add up in order.
Arithmetic gemm(const Geometry& geometry, const Shape& shape) {
  Arithmetic arithmetic;
  for (int warp = 0; warp < geometry.warps_k; ++warp) {
    Chain chain;
    for (std::int64_t block = range_begin(shape.k / kBlockK, warp, geometry.warps_k);
         block < range_begin(shape.k / kBlockK, warp + 1, geometry.warps_k); ++block) {
      add_tensor_core_block(chain, block, shape);
    }
    arithmetic.chains.push_back(std::move(chain));
    if (warp > 0) {
      arithmetic.joins.push_back({0, warp});
    }
  }
  return arithmetic;
}

/// The k-groups take stages of K in turn, each in one chain of scaled weights; the groups add up in
/// order.
Arithmetic prefill(const Geometry& geometry, const Shape& shape) {
  const std::int64_t stage_blocks = geometry.tile_k / (std::int64_t{kBlockK} * geometry.warps_k);
  Arithmetic arithmetic;
  arithmetic.weights = oracle::WeightForm::scaled;
  for (int warp = 0; warp < geometry.warps_k; ++warp) {
    Chain chain;
    for (std::int64_t block = 0; block < shape.k / kBlockK; ++block) {
      if (block / stage_blocks % geometry.warps_k == warp) {
        add_tensor_core_block(chain, block, shape);
      }
    }
    arithmetic.chains.push_back(std::move(chain));
    if (warp > 0) {
      arithmetic.joins.push_back({0, warp});
    }
  }
  return arithmetic;
}

}  // namespace

oracle::Arithmetic declared_arithmetic(const Kernel& kernel, const Shape& shape) {
  const Geometry& geometry = kernel.geometry;
  if (geometry.variant == "gemv") {
    return gemv(geometry, shape);
  }
  if (geometry.variant == "gemm") {
    return gemm(geometry, shape);
  }
  if (geometry.variant == "prefill") {
    return prefill(geometry, shape);
  }
  throw std::logic_error("w4a16 declares no arithmetic for variant " + geometry.variant);
}

}  // namespace bitgate::kernels::w4a16
