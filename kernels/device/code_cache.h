#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/device/device.h"
#include "kernels/embedded.h"

namespace bitgate::kernels {

/// What a device made of each module, found again by the PTX's content: its address says nothing,
/// since text from a file may come to lie where other text lay, unless it is part of this program.
/// The oldest entries make room.
template <class Loaded>
class CodeCache {
 public:
  Loaded* find(const Code& code) { return find_in(entries_, code); }
  const Loaded* find(const Code& code) const { return find_in(entries_, code); }

  Loaded& insert(const Code& code, Loaded loaded) {
    if (entries_.size() == kCapacity) entries_.pop_front();
    return entries_.emplace_back(code, std::move(loaded)).loaded;
  }
  void clear() { entries_.clear(); }

 private:
  static constexpr std::size_t kCapacity = 32;

  struct Key {
    explicit Key(const Code& code) : ptx(code.ptx), embedded(is_embedded(code.ptx)) {}
    bool is(const Key& other) const {
      if (embedded && other.embedded) return ptx.data() == other.ptx.data();
      return ptx == other.ptx;
    }
    std::string_view ptx;
    bool embedded;
  };
  struct Entry {
    Entry(const Code& code, Loaded made)
        : key(code),
          kept(key.embedded ? std::string() : std::string(code.ptx)),
          loaded(std::move(made)) {
      if (!key.embedded) key.ptx = kept;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    Key key;
    std::string kept;  ///< the text, unless it is part of this program
    Loaded loaded;
  };
  template <class Entries>
  static auto find_in(Entries& entries, const Code& code) -> decltype(&entries.front().loaded) {
    const Key key(code);
    for (auto& entry : entries) {
      if (entry.key.is(key)) return &entry.loaded;
    }
    return nullptr;
  }

  std::deque<Entry> entries_;
};

}  // namespace bitgate::kernels
