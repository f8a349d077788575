#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/device/device.h"

namespace bitgate::kernels {

/// What a device made of each module, found again by the PTX's content: its address says nothing,
/// since text from a file may come to lie where other text lay. Comparing is some 10 GB/s, far
/// below the price of any launch. The oldest entries make room.
template <class Loaded>
class CodeCache {
 public:
  Loaded* find(const Code& code) {
    for (auto& [ptx, loaded] : entries_) {
      if (ptx == code.ptx) return &loaded;
    }
    return nullptr;
  }
  const Loaded* find(const Code& code) const {
    for (const auto& [ptx, loaded] : entries_) {
      if (ptx == code.ptx) return &loaded;
    }
    return nullptr;
  }

  Loaded& insert(const Code& code, Loaded loaded) {
    if (entries_.size() == kCapacity) entries_.pop_front();
    return entries_.emplace_back(std::string(code.ptx), std::move(loaded)).second;
  }
  void clear() { entries_.clear(); }

 private:
  static constexpr std::size_t kCapacity = 32;
  std::deque<std::pair<std::string, Loaded>> entries_;
};

}  // namespace bitgate::kernels
