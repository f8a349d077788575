#include "fuzz/classes.h"

#include <algorithm>
#include <optional>

namespace bitgate::fuzz {

using conformance::Fill;
using conformance::Order;
using conformance::ZeroKey;

namespace {

bool is_prime(std::int64_t value) {
  if (value < 2) return false;
  for (std::int64_t divisor = 2; divisor * divisor <= value; ++divisor) {
    if (value % divisor == 0) return false;
  }
  return true;
}

std::int64_t tile_m(const Kernel& kernel) { return std::max(kernel.geometry.tile_m, 1); }
std::int64_t tile_n(const Kernel& kernel) { return std::max(kernel.geometry.tile_n, 1); }
std::int64_t tile_k(const Kernel& kernel) { return std::max(kernel.geometry.tile_k, 1); }
std::int64_t stages(const Kernel& kernel) { return std::max(kernel.geometry.stages, 1); }

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The smallest K of at least `blocks` blocks that a group of the spec divides.
void set_blocks(const Kernel& kernel, Spec& spec, std::int64_t blocks) {
  spec.group = tile_k(kernel) % 64 == 0 ? 64 : 32;
  spec.k = round_up(blocks * tile_k(kernel), spec.group);
}

constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;

/// Rows so far apart that the last lies beyond 2^31 elements, the one before it below.
void across_2_31(const Kernel& kernel, Spec& spec, std::int64_t Spec::* stride) {
  spec.m = std::min<std::int64_t>(tile_m(kernel), 3);
  if (spec.m == 1) spec.m = 2;
  spec.*stride = (kTwo31 / (spec.m - 1) / 8 + 1) * 8;
}

template <ZeroKey Key>
constexpr CaseClass zero_class(std::string_view name) {
  return {name, [](const Kernel&, const Spec& s) { return s.zero == Key; },
          [](const Kernel&, Spec& s) { s.zero = Key; }};
}

template <Order Kind>
constexpr CaseClass order_class(std::string_view name) {
  return {name, [](const Kernel&, const Spec& s) { return s.order == Kind; },
          [](const Kernel&, Spec& s) { s.order = Kind; }};
}

template <std::int64_t Group>
constexpr CaseClass group_class(std::string_view name) {
  return {name, [](const Kernel&, const Spec& s) { return s.group == Group && s.k > 0; },
          [](const Kernel&, Spec& s) {
            s.group = Group;
            if (Group > 0) s.k = round_up(s.k, Group);
          }};
}

template <Fill Kind>
constexpr CaseClass fill_class(std::string_view name) {
  return {name, [](const Kernel&, const Spec& s) { return s.fill == Kind; },
          [](const Kernel&, Spec& s) { s.fill = Kind; }};
}

constexpr CaseClass kClasses[] = {
    {"m_one", [](const Kernel&, const Spec& s) { return s.m == 1; },
     [](const Kernel&, Spec& s) { s.m = 1; }},
    {"full_m", [](const Kernel& k, const Spec& s) { return s.m > 0 && s.m % tile_m(k) == 0; },
     [](const Kernel& k, Spec& s) { s.m = tile_m(k); }},
    {"tail_m", [](const Kernel& k, const Spec& s) { return s.m % tile_m(k) != 0; },
     [](const Kernel& k, Spec& s) { s.m = tile_m(k) - 1; }},
    {"m_above_tile", [](const Kernel& k, const Spec& s) { return s.m > tile_m(k); },
     [](const Kernel& k, Spec& s) { s.m = tile_m(k) + 1; }},
    {"prime_m", [](const Kernel&, const Spec& s) { return is_prime(s.m); },
     [](const Kernel& k, Spec& s) {
       for (s.m = tile_m(k); s.m > 2 && !is_prime(s.m);) --s.m;
     }},
    {"full_n", [](const Kernel& k, const Spec& s) { return s.n > 0 && s.n % tile_n(k) == 0; },
     [](const Kernel& k, Spec& s) { s.n = tile_n(k); }},
    {"tail_n", [](const Kernel& k, const Spec& s) { return s.n % tile_n(k) != 0; },
     [](const Kernel& k, Spec& s) { s.n = tile_n(k) + 8; }},
    {"n_below_tile", [](const Kernel& k, const Spec& s) { return s.n > 0 && s.n < tile_n(k); },
     [](const Kernel& k, Spec& s) { s.n = tile_n(k) - 8; }},
    {"n_above_tile", [](const Kernel& k, const Spec& s) { return s.n > tile_n(k); },
     [](const Kernel& k, Spec& s) { s.n = tile_n(k) + 8; }},
    {"prime_octets_n",
     [](const Kernel&, const Spec& s) { return s.n % 8 == 0 && is_prime(s.n / 8); },
     [](const Kernel& k, Spec& s) {
       for (s.n = round_up(tile_n(k), 8) + 8; !is_prime(s.n / 8);) s.n += 8;
     }},
    {"tail_k", [](const Kernel& k, const Spec& s) { return s.k % tile_k(k) != 0; },
     [](const Kernel& k, Spec& s) {
       s.group = 32;
       s.k = round_up(tile_k(k), 32) + 32;
     }},
    {"k_below_pipeline",
     [](const Kernel& k, const Spec& s) { return s.k > 0 && k_blocks(k, s.k) < stages(k); },
     [](const Kernel& k, Spec& s) { set_blocks(k, s, stages(k) - 1); }},
    {"k_at_pipeline", [](const Kernel& k, const Spec& s) { return k_blocks(k, s.k) == stages(k); },
     [](const Kernel& k, Spec& s) { set_blocks(k, s, stages(k)); }},
    {"k_above_pipeline",
     [](const Kernel& k, const Spec& s) { return k_blocks(k, s.k) > stages(k); },
     [](const Kernel& k, Spec& s) { set_blocks(k, s, stages(k) + 1); }},
    group_class<32>("group_32"),
    group_class<64>("group_64"),
    group_class<128>("group_128"),
    group_class<-1>("group_whole"),
    zero_class<ZeroKey::sym>("zero_sym"),
    zero_class<ZeroKey::gptq_v1>("zero_gptq_v1"),
    zero_class<ZeroKey::gptq_v2>("zero_gptq_v2"),
    zero_class<ZeroKey::awq>("zero_awq"),
    order_class<Order::none>("order_none"),
    order_class<Order::random>("order_random"),
    order_class<Order::skewed>("order_skewed"),
    order_class<Order::reversed>("order_reversed"),
    order_class<Order::identity>("order_identity"),
    {"lda_padded", [](const Kernel&, const Spec& s) { return s.lda > s.k; },
     [](const Kernel&, Spec& s) { s.lda = s.k + 8; }},
    {"lda_odd", [](const Kernel&, const Spec& s) { return s.lda % 8 != 0; },
     [](const Kernel&, Spec& s) { s.lda = s.k + 3; }},
    {"ldc_padded", [](const Kernel&, const Spec& s) { return s.ldc > s.n; },
     [](const Kernel&, Spec& s) { s.ldc = s.n + 8; }},
    {"ldc_odd", [](const Kernel&, const Spec& s) { return s.ldc % 8 != 0; },
     [](const Kernel&, Spec& s) { s.ldc = s.n + 3; }},
    {"a_beyond_2_31",
     [](const Kernel&, const Spec& s) { return s.m > 1 && (s.m - 1) * s.lda > kTwo31; },
     [](const Kernel& k, Spec& s) { across_2_31(k, s, &Spec::lda); }},
    {"c_beyond_2_31",
     [](const Kernel&, const Spec& s) { return s.m > 1 && (s.m - 1) * s.ldc > kTwo31; },
     [](const Kernel& k, Spec& s) { across_2_31(k, s, &Spec::ldc); }},
    {"base_misaligned", [](const Kernel&, const Spec& s) { return s.align % 16 != 0; },
     [](const Kernel&, Spec& s) { s.align = 2; }},
    fill_class<Fill::exact>("fill_exact"),
    fill_class<Fill::real>("fill_real"),
    fill_class<Fill::probe_identity>("fill_probe_identity"),
    fill_class<Fill::probe_ones>("fill_probe_ones"),
    fill_class<Fill::probe_columns>("fill_probe_columns"),
    fill_class<Fill::probe_scales>("fill_probe_scales"),
    {"m_zero", [](const Kernel&, const Spec& s) { return s.m == 0; },
     [](const Kernel&, Spec& s) { s.m = 0; }, true},
    {"n_zero", [](const Kernel&, const Spec& s) { return s.n == 0; },
     [](const Kernel&, Spec& s) { s.n = 0; }, true},
    {"k_zero", [](const Kernel&, const Spec& s) { return s.k == 0; },
     [](const Kernel&, Spec& s) { s.k = 0; }, true},
};

bool belongs(const CaseClass& row, const Kernel& kernel, const Spec& spec) {
  const bool computes = spec.m > 0 && spec.n > 0 && spec.k > 0;
  return (computes || row.empty) && row.holds(kernel, spec);
}

/// The example of a class, where the kernel's domain holds it.
std::optional<Spec> example_of(const CaseClass& row, const Kernel& kernel, std::uint64_t seed) {
  Spec spec = plain_case(kernel);
  spec.seed = seed;
  row.example(kernel, spec);
  if (!in_domain(kernel, spec) || !belongs(row, kernel, spec)) return std::nullopt;
  return spec;
}

}  // namespace

std::span<const CaseClass> case_classes() { return kClasses; }

std::vector<std::string_view> classes_of(const Kernel& kernel, const Spec& spec) {
  std::vector<std::string_view> names;
  for (const CaseClass& row : kClasses) {
    if (belongs(row, kernel, spec)) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string_view> admitted_classes(const Kernel& kernel) {
  std::vector<std::string_view> names;
  for (const CaseClass& row : kClasses) {
    if (example_of(row, kernel, 1)) names.push_back(row.name);
  }
  return names;
}

std::vector<Spec> edge_cases(const Kernel& kernel) {
  std::vector<Spec> cases;
  std::uint64_t seed = 1;
  for (const CaseClass& row : kClasses) {
    const bool hit = std::any_of(cases.begin(), cases.end(),
                                 [&](const Spec& spec) { return belongs(row, kernel, spec); });
    if (hit) continue;
    if (const auto spec = example_of(row, kernel, seed)) {
      cases.push_back(*spec);
      ++seed;
    }
  }
  return cases;
}

void ClassCount::add(const Kernel& kernel, const Spec& spec) {
  auto& hits = hits_[kernel.name];
  for (const std::string_view name : classes_of(kernel, spec)) ++hits[std::string(name)];
}

std::map<std::string, std::uint64_t> ClassCount::total() const {
  std::map<std::string, std::uint64_t> sum;
  for (const auto& [kernel, hits] : hits_) {
    for (const auto& [name, count] : hits) sum[name] += count;
  }
  return sum;
}

std::uint64_t ClassCount::of(const Kernel& kernel, std::string_view name) const {
  const auto hits = hits_.find(kernel.name);
  if (hits == hits_.end()) return 0;
  const auto found = hits->second.find(name);
  return found == hits->second.end() ? 0 : found->second;
}

std::vector<std::string_view> ClassCount::missed(const Kernel& kernel) const {
  std::vector<std::string_view> names;
  for (const std::string_view name : admitted_classes(kernel)) {
    if (of(kernel, name) == 0) names.push_back(name);
  }
  return names;
}

}  // namespace bitgate::fuzz
