#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/w4a16/frame.h"
#include "kernels/w4a16/tile_grid.h"
#include "kernels/w4a16/tile_layout.h"
#include "kernels/w4a16/w4a16.h"
#include "reference/support/error.h"

namespace bitgate::kernels::w4a16 {

namespace {

constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max() - 128;
constexpr std::int64_t kLargestPitch = std::int64_t{1} << 40;

template <class... Values>
std::vector<std::vector<std::byte>> bytes_of(const Values&... values) {
  std::vector<std::vector<std::byte>> all;
  const auto add = [&all](const auto& value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    all.push_back(std::move(bytes));
  };
  (add(values), ...);
  return all;
}

/// Block b of 32 positions is of group b >> shift.
std::uint32_t group_shift(const Shape& shape) {
  if (shape.k == 0 || shape.group == shape.k) {
    return 31;
  }
  return static_cast<std::uint32_t>(
      std::countr_zero(static_cast<std::uint64_t>(shape.group) / kBlockK));
}

ActivationPath activation_path(const Shape& shape, std::uint64_t a) {
  if (shape.act_order) {
    return ActivationPath::gathered;
  }
  const bool aligned = a % 16 == 0 && (shape.lda % 8 == 0 || shape.m == 1);
  return aligned ? ActivationPath::vectors : ActivationPath::elements;
}

}  // namespace

std::optional<std::string> outside_domain(const Kernel& kernel, const Shape& shape) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  if (shape.type != kernel.type) {
    return kernel.name + " is built for " + std::string(numeric::name(kernel.type)) +
           "; the call is " + std::string(numeric::name(shape.type));
  }
  if (shape.zeros != kernel.zeros) {
    return kernel.name + " is built for " + std::string(name(kernel.zeros)) +
           " zero points; the call has " + std::string(name(shape.zeros));
  }
  const std::array<std::pair<const char*, std::int64_t>, 3> sizes = {
      {{"M", shape.m}, {"N", shape.n}, {"K", shape.k}}};
  for (const auto& [what, size] : sizes) {
    if (size < 0 || size > kLargestSize) {
      return std::string(what) + " must lie in 0.." + text(kLargestSize) + "; it is " + text(size);
    }
  }
  if (shape.n % 8 != 0) {
    return "N must be a multiple of 8; it is " + text(shape.n);
  }
  if (shape.k % kBlockK != 0) {
    return "K must be a multiple of 32; it is " + text(shape.k);
  }
  if (shape.group <= 0) {
    return "the group must be resolved to a positive number of rows; it is " + text(shape.group);
  }
  if (shape.k > 0) {
    if (shape.group != 32 && shape.group != 64 && shape.group != 128 && shape.group != shape.k) {
      return "the group must be 32, 64, 128 or the whole of K = " + text(shape.k) + "; it is " +
             text(shape.group);
    }
    if (shape.k % shape.group != 0) {
      return "K must be a multiple of the group of " + text(shape.group) + "; it is " +
             text(shape.k);
    }
  }
  if (shape.lda < shape.k || shape.lda > kLargestPitch) {
    return "lda must lie in K.." + text(kLargestPitch) + " with K = " + text(shape.k) + "; it is " +
           text(shape.lda);
  }
  if (shape.ldc < shape.n || shape.ldc > kLargestPitch) {
    return "ldc must lie in N.." + text(kLargestPitch) + " with N = " + text(shape.n) + "; it is " +
           text(shape.ldc);
  }
  if (shape.base_offset % 2 != 0) {
    return "A and C must lie on even addresses; they are " + text(shape.base_offset) +
           " bytes past a multiple of 16";
  }
  if (TileGrid(kernel.geometry, shape).blocks() > std::numeric_limits<std::int32_t>::max()) {
    return "a launch has at most 2147483647 blocks; M = " + text(shape.m) +
           " by N = " + text(shape.n) + " takes " +
           text(TileGrid(kernel.geometry, shape).blocks()) + " of " + kernel.name;
  }
  return std::nullopt;
}

std::optional<Launch> make_launch(const Kernel& kernel, const Shape& shape,
                                  const Buffers& buffers) {
  if (const auto reason = outside_domain(kernel, shape)) {
    throw InputError(*reason);
  }
  if (shape.m == 0 || shape.n == 0) {
    return std::nullopt;
  }
  const bool output_vectors = buffers.c % 16 == 0 && (shape.ldc % 8 == 0 || shape.m == 1);
  Launch launch;
  launch.entry = kernel.entry;
  launch.grid = {static_cast<std::uint32_t>(TileGrid(kernel.geometry, shape).blocks()), 1, 1};
  launch.block = {threads(kernel.geometry), 1, 1};
  launch.dynamic_shared_bytes = shared_bytes(kernel.geometry);
  launch.arguments = bytes_of(
      buffers.a, buffers.c, buffers.weights, buffers.scales, buffers.zero_points, buffers.order,
      static_cast<std::uint32_t>(shape.m), static_cast<std::uint32_t>(shape.n),
      static_cast<std::uint32_t>(shape.k), group_shift(shape), shape.lda, shape.ldc,
      activation_path(shape, buffers.a), std::uint32_t{output_vectors});
  return launch;
}

}  // namespace bitgate::kernels::w4a16
