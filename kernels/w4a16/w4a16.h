#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "reference/formats/quantized_matrix.h"
#include "reference/oracle/arithmetic.h"

/// The W4A16 family: C[M,N] = A[M,K] · W[K,N], W 4-bit with a scale (and zero point) a group.
namespace bitgate::kernels::w4a16 {

/// A call's shape: everything a plan, a launch and a declared arithmetic depend on.
struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t group = 0;  ///< resolved, > 0 (k for whole-K); 1 stands for any when k = 0
  numeric::ScalarType type = numeric::ScalarType::f16;
  Zeros zeros = Zeros::sym;
  bool act_order = false;
  std::int64_t lda = 0;           ///< elements between rows of A, ≥ k
  std::int64_t ldc = 0;           ///< elements between rows of C, ≥ n
  std::uint32_t base_offset = 0;  ///< bytes of A's and C's bases modulo 16
};

/// Why `kernel` does not serve `shape`, or nothing when it does: the declared domain.
std::optional<std::string> outside_domain(const Kernel& kernel, const Shape& shape);

/// Weights repacked once for the kernels: fragment order, natural group order (act-order rows
/// sorted by group). The layout is described in frame.h.
struct Frame {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t group = 0;
  Zeros zeros = Zeros::sym;
  bool act_order = false;
  numeric::ScalarType type = numeric::ScalarType::f16;
  std::vector<std::uint32_t> weights;
  std::vector<std::uint16_t> scales;
  std::vector<std::uint8_t> zero_points;  ///< bytes; empty for sym
  std::vector<std::int32_t> order;        ///< [k] gather of the activation; empty without act-order
};
/// From the public tensors, by the config's convention alone. InputError when malformed.
Frame repack(const formats::PackedLayer& layer);
/// The inverse, for tests: what the frame says, in checkpoint order.
formats::QuantizedMatrix unpack_frame(const Frame& frame);

/// Device addresses of a call's buffers. zero_points and order are 0 where the shape has none.
struct Buffers {
  std::uint64_t a = 0;
  std::uint64_t c = 0;
  std::uint64_t weights = 0;
  std::uint64_t scales = 0;
  std::uint64_t zero_points = 0;
  std::uint64_t order = 0;
};

/// The launch of one call; nothing when M or N is 0.
std::optional<Launch> make_launch(const Kernel& kernel, const Shape& shape, const Buffers& buffers);

/// Which kernel serves a shape on a device of that many multiprocessors.
const Kernel& plan(const Shape& shape, int multiprocessors);

/// The summation the kernel declares for the shape; see oracle/arithmetic.h.
oracle::Arithmetic declared_arithmetic(const Kernel& kernel, const Shape& shape);

/// Who stores an element of C: for reports of a wrong one.
struct Owner {
  Dim3 block{0, 0, 0};
  int warp = 0;
  int lane = 0;
  int reg = 0;  ///< index into the thread's accumulators
};
Owner owner(const Kernel& kernel, const Shape& shape, std::int64_t row, std::int64_t col);

/// What the suite calls between a problem and a device. Tests replace a member to plant a defect.
struct Adapter {
  std::function<Frame(const formats::PackedLayer&)> repack = w4a16::repack;
  std::function<std::optional<Launch>(const Kernel&, const Shape&, const Buffers&)> make_launch =
      w4a16::make_launch;
};

}  // namespace bitgate::kernels::w4a16
