#include "fuzz/generate.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "reference/support/random.h"

namespace bitgate::fuzz {

using conformance::Fill;
using conformance::Order;
using conformance::ZeroKey;

namespace {

constexpr std::int64_t kPrimes[] = {2,  3,  5,  7,   11,  13,  17,  19,  23,  29, 31,
                                    37, 41, 43, 47,  53,  59,  61,  67,  71,  73, 79,
                                    83, 89, 97, 101, 103, 107, 109, 113, 127, 131};

/// A multiple of `unit` in [0, most]: the edges around each of `boundaries` half of the time, a
/// prime number of units, or any.
rc::Gen<std::int64_t> extent(const std::vector<std::int64_t>& boundaries, std::int64_t unit,
                             std::int64_t most) {
  std::vector<std::int64_t> edges = {unit, 2 * unit};
  for (const std::int64_t boundary : boundaries) {
    const std::int64_t below = boundary / unit * unit;
    for (const std::int64_t at : {below - unit, below, below + unit}) edges.push_back(at);
  }
  std::vector<std::int64_t> primes;
  for (const std::int64_t prime : kPrimes) primes.push_back(prime * unit);
  const auto keep_inside = [&](std::vector<std::int64_t>& values) {
    std::erase_if(values, [&](std::int64_t value) { return value <= 0 || value > most; });
    if (values.empty()) values.push_back(std::max(unit, most / unit * unit));
  };
  keep_inside(edges);
  keep_inside(primes);
  const auto any =
      rc::gen::map(rc::gen::inRange<std::int64_t>(1, std::max<std::int64_t>(2, most / unit + 1)),
                   [unit](std::int64_t units) { return units * unit; });
  return rc::gen::weightedOneOf<std::int64_t>({{1, rc::gen::just<std::int64_t>(0)},
                                               {28, rc::gen::elementOf(edges)},
                                               {10, rc::gen::elementOf(primes)},
                                               {17, any}});
}

std::vector<std::int64_t> multiples(std::int64_t tile, std::initializer_list<int> factors) {
  std::vector<std::int64_t> values;
  for (const int factor : factors) values.push_back(factor * tile);
  return values;
}

/// Brings an oversized case under the limit by halving N, then M, then K, in whole units. K goes
/// last: the pipeline's depth is reached by K alone, and every column tile runs the same code.
void fit(const Kernel& kernel, Spec& spec, std::int64_t unit_k, std::int64_t limit) {
  const auto& tile = kernel.geometry;
  while (padded_work(kernel, spec) > limit) {
    if (spec.n > tile.tile_n) {
      spec.n = std::max<std::int64_t>(spec.n / 16 * 8, tile.tile_n / 8 * 8);
    } else if (spec.m > tile.tile_m) {
      spec.m = std::max<std::int64_t>(spec.m / 2, tile.tile_m);
    } else if (spec.k / unit_k > 1) {
      spec.k = spec.k / unit_k / 2 * unit_k;
    } else {
      return;
    }
  }
}

Spec draw(const Kernel& kernel, const GenerateOptions& options) {
  const auto& tile = kernel.geometry;
  const std::int64_t stages = std::max(tile.stages, 1);
  Spec spec;
  spec.type = kernel.type;
  if (kernel.zeros == kernels::Zeros::sym) {
    spec.zero = ZeroKey::sym;
  } else {
    spec.zero = *rc::gen::element(ZeroKey::gptq_v1, ZeroKey::gptq_v2, ZeroKey::awq);
  }
  spec.order = spec.zero == ZeroKey::awq ? Order::none
                                         : *rc::gen::weightedElement<Order>({{4, Order::none},
                                                                             {3, Order::random},
                                                                             {2, Order::skewed},
                                                                             {1, Order::reversed},
                                                                             {1, Order::identity}});
  spec.group = *rc::gen::element<std::int64_t>(32, 64, 128, -1);
  const std::int64_t unit_k = spec.group > 0 ? spec.group : 32;
  const std::int64_t most_m = largest_m(kernel);

  spec.m = *extent({1, tile.tile_m, 2 * tile.tile_m, most_m}, 1, most_m);
  spec.n = *extent(multiples(tile.tile_n, {1, 2, 3, 5}), 8, std::int64_t{8} * tile.tile_n);
  std::vector<std::int64_t> depths;
  for (const std::int64_t blocks : {stages - 1, stages, stages + 1, 2 * stages, 2 * stages + 1}) {
    depths.push_back(blocks * tile.tile_k);
  }
  spec.k =
      *extent(depths, unit_k, std::max<std::int64_t>(4 * stages * tile.tile_k, 16 * tile.tile_k));
  fit(kernel, spec, unit_k, *rc::gen::inRange(0, 8) == 0 ? options.large_work : options.work);

  if (*rc::gen::inRange(0, 4) == 0) {
    spec.lda = spec.k + *rc::gen::element<std::int64_t>(1, 3, 8, 24, 64);
  }
  if (*rc::gen::inRange(0, 4) == 0) {
    spec.ldc = spec.n + *rc::gen::element<std::int64_t>(1, 3, 8, 24, 64);
  }
  if (*rc::gen::inRange(0, 6) == 0) {
    spec.align = *rc::gen::element<std::uint32_t>(2, 4, 6, 8, 14, 16);
  }
  spec.fill = *rc::gen::weightedElement<Fill>({{12, Fill::exact},
                                               {4, Fill::real},
                                               {1, Fill::probe_identity},
                                               {1, Fill::probe_ones},
                                               {1, Fill::probe_columns},
                                               {1, Fill::probe_scales}});
  spec.seed = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 32);
  return spec;
}

}  // namespace

rc::Gen<Spec> cases_of(const Kernel& kernel, const GenerateOptions& options) {
  return rc::gen::exec([&kernel, options] { return draw(kernel, options); });
}

Spec generate(const Kernel& kernel, std::uint64_t seed, std::uint64_t index,
              const GenerateOptions& options) {
  Random stream(seed, kernel.name);
  Random own(stream.next() + index);
  // RapidCheck keeps what `*gen` draws from in one place for all threads.
  static std::mutex drawing;
  const std::scoped_lock lock(drawing);
  const auto gen = cases_of(kernel, options);
  // A pad or an offset that the domain excludes is drawn again; the plain case always lies inside.
  constexpr int kAttempts = 50;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Spec spec = gen(rc::Random(own.next())).value();
    if (in_domain(kernel, spec)) return spec;
    spec.lda = spec.ldc = 0;
    spec.align = 0;
    if (in_domain(kernel, spec)) return spec;
  }
  return plain_case(kernel);
}

}  // namespace bitgate::fuzz
