#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/w4a16/w4a16.h"

namespace bitgate::conformance {

enum class ZeroKey { sym, gptq_v1, gptq_v2, awq };
enum class Order { none, random, skewed, reversed, identity };
enum class Fill {
  exact,           ///< default judge: every summation order gives the same bits
  real,            ///< realistic spread and outliers
  probe_identity,  ///< A = identity: shows the dequantised W
  probe_ones,      ///< ones on a stratified subset: counts k
  probe_columns,   ///< the column number in the zero points
  probe_scales,    ///< a distinct power of two per scale
  checkpoint       ///< weights of a real checkpoint's layer, activations as `real`
};

/// One case of `w4a16`, as on the command line. Defaults are the documented ones.
struct Spec {
  std::int64_t m = 16;
  std::int64_t k = 1024;
  std::int64_t n = 256;
  std::int64_t group = 128;  ///< as written: -1 for whole-K
  numeric::ScalarType type = numeric::ScalarType::f16;
  ZeroKey zero = ZeroKey::gptq_v1;
  Order order = Order::none;
  std::int64_t lda = 0;     ///< 0: k
  std::int64_t ldc = 0;     ///< 0: n
  std::uint32_t align = 0;  ///< byte offset of the bases of A and C, even
  std::uint32_t sms = 0;    ///< 0: the device's
  Fill fill = Fill::exact;
  std::uint64_t seed = 1;
  std::uint64_t schedule = 0;   ///< machine
  std::uint32_t residency = 0;  ///< machine; 0: the policy's own
  std::string checkpoint;       ///< fill=checkpoint: DIR
  std::string layer;            ///< fill=checkpoint: tensor name without suffix
  /// k indices whose activations the shrinker left as they were, ascending; the others are zero.
  /// Empty: all. As text, ranges: `keep=0-15,40`.
  std::vector<std::int64_t> keep;

  friend bool operator==(const Spec&, const Spec&) = default;
};

/// Sizes a spec may ask for; beyond them it is refused before anything is allocated.
struct SpecLimits {
  static constexpr std::int64_t m = std::int64_t{1} << 24;
  static constexpr std::int64_t k = std::int64_t{1} << 20;
  static constexpr std::int64_t n = std::int64_t{1} << 24;
  static constexpr std::int64_t elements = std::int64_t{1} << 32;  ///< of A, of W and of C each
  static constexpr std::int64_t span = std::int64_t{1} << 40;      ///< m * lda and m * ldc
};

/// InputError naming the key, what is allowed and what was found. Keys and values of later issues
/// (split, plan=invariant, frame=marlin, zero=float, geometry) are Unsupported; those of them that
/// say what is done anyway (split=auto, split=1, plan=fast, frame=loader) are accepted and not
/// printed. Spaces, control characters and `%` in a value are written as %XX.
Spec parse_spec(std::string_view line);
/// Canonical: keys in the documented order, defaults left out except m, k, n, group, type, zero,
/// fill, seed. parse_spec(to_string(s)) == s.
std::string to_string(const Spec& spec);
/// What parse_spec asks of a spec as a whole (the group divides k, lda >= k, …), for specs that
/// were not parsed. InputError.
void validate(const Spec& spec);
/// The keys with their defaults, a line each: for `bitgate run --help`.
std::string spec_help();

std::string_view name(ZeroKey zero);
std::string_view name(Order order);
std::string_view name(Fill fill);

std::int64_t resolved_group(const Spec& spec);
kernels::Zeros zeros_of(const Spec& spec);
kernels::w4a16::Shape shape_of(const Spec& spec);

}  // namespace bitgate::conformance
