#pragma once

#include <cstdint>

#include "kernels/w4a16/tile_layout.h"

/// The layout of Frame. A *unit* is 32 columns by 32 positions of K (row order[p] of the checkpoint
/// is position p); N is padded to whole units with code 0, scale 0, zero point 0.
///
///   weights      [unit of N][block of K][lane 32][word 4]
///   scales       [unit of N][group][32]
///   zero_points  [unit of N][group][32]
///
/// Weights are the 16-row operand of mma.m16n8k16. With g = lane/4 and t = lane%4, word 2·tile+step
/// holds the lane's eight codes of tile 0, 1 (16 columns each) in k16 step 0, 1: nibble
/// register + 4·element, register and element being the fragment's (common/mma.cuh). K is permuted
/// inside a block so that a lane's activations of both steps are the 8 consecutive positions
/// 8t … 8t+7: logical k 2t+e of step s is position 8t+4s+e, logical k 2t+8+e is 8t+4s+2+e.
///
/// Scales and zero points of a unit are ordered so that the four of a lane are consecutive: place
/// 4g + 2·tile + half is column 16·tile + 8·half + g.
namespace bitgate::kernels::w4a16 {

/// Position of K inside its block of 32 that the operand's logical `k` (0..15) of `step` reads.
constexpr std::uint32_t position_in_block(std::uint32_t step, std::uint32_t logical_k) {
  return 8 * (logical_k % 8 / 2) + 4 * step + 2 * (logical_k / 8) + logical_k % 2;
}

/// Column inside its unit of place `place` of the unit's scales and zero points.
constexpr std::uint32_t column_of_scale(std::uint32_t place) {
  return place / 2 % 2 * 16 + place % 2 * 8 + place / 4;
}

/// Where a code lies inside its unit.
struct CodePlace {
  std::uint32_t word;  ///< lane · 4 + word of the lane
  std::uint32_t shift;
};
constexpr CodePlace code_place(std::uint32_t column, std::uint32_t position) {
  const std::uint32_t lane = column % 8 * 4 + position / 8;
  const std::uint32_t word = column / 16 * 2 + position % 8 / 4;
  const std::uint32_t reg = column % 16 / 8 + position % 4 / 2 * 2;
  return {lane * 4 + word, 4 * (reg + 4 * (position % 2))};
}

}  // namespace bitgate::kernels::w4a16
