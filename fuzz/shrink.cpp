#include "fuzz/shrink.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace bitgate::fuzz {

using conformance::Fill;
using conformance::Order;
using conformance::ZeroKey;

namespace {

class Shrinker {
 public:
  Shrinker(const Kernel& kernel, const Spec& failing, const std::function<bool(const Spec&)>& fails,
           int most_runs)
      : kernel_(kernel), best_(failing), fails_(fails), most_runs_(most_runs) {}

  Shrunk run() {
    while (shrink_conventions() || shrink_extents()) {
    }
    shrink_kept();
    return {best_, runs_};
  }

 private:
  /// Takes the candidate over when it still fails.
  bool accept(const Spec& candidate) {
    if (runs_ >= most_runs_ || !in_domain(kernel_, candidate)) return false;
    ++runs_;
    if (!fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  template <typename Change>
  bool attempt(bool already, Change change) {
    if (already) return false;
    Spec candidate = best_;
    change(candidate);
    return accept(candidate);
  }

  bool shrink_conventions() {
    bool smaller = false;
    const std::int64_t lda_pad = best_.lda == 0 ? 0 : best_.lda - best_.k;
    smaller |= attempt(best_.lda == 0, [](Spec& s) { s.lda = 0; });
    smaller |= attempt(best_.lda == 0 || lda_pad <= 8, [](Spec& s) { s.lda = s.k + 8; });
    smaller |= attempt(best_.ldc == 0, [](Spec& s) { s.ldc = 0; });
    smaller |=
        attempt(best_.ldc == 0 || best_.ldc - best_.n <= 8, [](Spec& s) { s.ldc = s.n + 8; });
    smaller |= attempt(best_.align == 0, [](Spec& s) { s.align = 0; });
    smaller |= attempt(best_.fill == Fill::exact, [](Spec& s) { s.fill = Fill::exact; });
    smaller |= attempt(best_.order == Order::none, [](Spec& s) { s.order = Order::none; });
    if (best_.order != Order::none) {
      smaller |= attempt(best_.order == Order::identity || best_.order == Order::reversed,
                         [](Spec& s) { s.order = Order::reversed; });
    }
    smaller |= attempt(best_.zero == ZeroKey::gptq_v2 || best_.zero == ZeroKey::sym,
                       [](Spec& s) { s.zero = ZeroKey::gptq_v2; });
    smaller |= attempt(best_.group == -1, [](Spec& s) { s.group = -1; });
    return smaller;
  }

  bool shrink_extents() {
    const std::int64_t unit_k = best_.group > 0 ? best_.group : 32;
    bool smaller = shrink_extent(&Spec::m, 1, nullptr);
    smaller |= shrink_extent(&Spec::n, 8, &Spec::ldc);
    smaller |= shrink_extent(&Spec::k, unit_k, &Spec::lda);
    if (best_.group == 128 || best_.group == 64) {
      smaller |= attempt(best_.group == 32, [](Spec& s) { s.group /= 2; });
    }
    return smaller;
  }

  /// Smallest first, then half the way back, so that few runs reach a small case and the last steps
  /// are of one unit. A stride keeps its pad.
  bool shrink_extent(std::int64_t Spec::* extent, std::int64_t unit, std::int64_t Spec::* stride) {
    bool smaller = false;
    for (bool again = true; again;) {
      again = false;
      const std::int64_t units = best_.*extent / unit;
      for (std::int64_t step = units; step > 0; step /= 2) {
        Spec candidate = best_;
        candidate.*extent = (units - step) * unit;
        if (stride != nullptr && candidate.*stride != 0) {
          candidate.*stride -= best_.*extent - candidate.*extent;
        }
        std::erase_if(candidate.keep, [&](std::int64_t k) { return k >= candidate.k; });
        if (accept(candidate)) {
          again = smaller = true;
          break;
        }
      }
    }
    return smaller;
  }

  /// Delta debugging (Zeller and Hildebrandt, 2002) on the k indices that stay non-zero.
  void shrink_kept() {
    if (best_.keep.empty()) {
      Spec all = best_;
      all.keep.resize(static_cast<std::size_t>(best_.k));
      std::iota(all.keep.begin(), all.keep.end(), std::int64_t{0});
      kept_ = all.keep;
    } else {
      kept_ = best_.keep;
    }
    std::size_t pieces = 2;
    while (kept_.size() > 1 && runs_ < most_runs_) {
      if (keep_fewer(pieces)) {
        pieces = std::max<std::size_t>(pieces - 1, 2);
      } else if (pieces >= kept_.size()) {
        break;
      } else {
        pieces = std::min(2 * pieces, kept_.size());
      }
    }
  }

  /// One piece alone, or all but one piece.
  bool keep_fewer(std::size_t pieces) {
    const auto bound = [&](std::size_t piece) {
      return static_cast<std::ptrdiff_t>(piece * kept_.size() / pieces);
    };
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      Spec candidate = best_;
      candidate.keep.assign(kept_.begin() + bound(piece), kept_.begin() + bound(piece + 1));
      if (accept(candidate)) return take_kept();
    }
    for (std::size_t piece = 0; piece < pieces && pieces > 2; ++piece) {
      Spec candidate = best_;
      candidate.keep.assign(kept_.begin(), kept_.begin() + bound(piece));
      candidate.keep.insert(candidate.keep.end(), kept_.begin() + bound(piece + 1), kept_.end());
      if (accept(candidate)) return take_kept();
    }
    return false;
  }

  bool take_kept() {
    kept_ = best_.keep;
    return true;
  }

  const Kernel& kernel_;
  Spec best_;
  const std::function<bool(const Spec&)>& fails_;
  int most_runs_;
  int runs_ = 0;
  std::vector<std::int64_t> kept_;
};

}  // namespace

Shrunk shrink(const Kernel& kernel, const Spec& failing,
              const std::function<bool(const Spec&)>& fails, int most_runs) {
  return Shrinker(kernel, failing, fails, most_runs).run();
}

}  // namespace bitgate::fuzz
