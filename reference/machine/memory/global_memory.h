#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bitgate::machine {

namespace hazard {
struct UndefinedStores;
}

/// The machine's global memory: allocations with identity in a sparse 64-bit device address space.
/// Pages are mapped lazily, so that an allocation of many GiB costs what is touched. Between
/// allocations lie addresses that belong to none: an access there is out of bounds.
class GlobalMemory {
 public:
  struct Allocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::string name;
    bool read_only = false;
    std::byte* host = nullptr;  ///< host address of the first byte
    bool output = false;        ///< see set_output
    /// A byte for each, with the bits that nobody has defined, exclusive-or `undefined_at_first`;
    /// null: all are defined. Kept by launches that watch for uninitialised data.
    std::byte* undefined = nullptr;
    std::byte undefined_at_first{0};
  };

  GlobalMemory();
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  /// `alignment` is a power of two; the address is a multiple of it plus `offset`. Contents start
  /// as zero bytes. std::bad_alloc when address space is refused.
  std::uint64_t allocate(std::uint64_t bytes, std::string name, std::uint64_t alignment = 256,
                         std::uint64_t offset = 0);
  void release(std::uint64_t address);
  void set_read_only(std::uint64_t address, bool read_only);
  /// Nobody has written these bytes of an allocation: they are undefined until somebody does.
  void set_undefined(std::uint64_t address, std::uint64_t bytes);
  /// Somebody will read all of it after the last launch: each byte of it has to be defined by then.
  void set_output(std::uint64_t address);
  /// Gives the allocation Allocation::undefined, if it has none: nothing is undefined yet.
  void track_undefined(const Allocation& allocation);
  std::vector<const Allocation*> allocations() const;
  /// Who stored undefined bits, for reports of later launches (hazard/validity.h).
  std::shared_ptr<hazard::UndefinedStores> undefined_stores;

  /// The allocation that holds [address, address+bytes), or nothing.
  const Allocation* find(std::uint64_t address, std::uint64_t bytes) const;
  /// The allocation whose storage holds this byte of the host's, or nothing.
  const Allocation* holding(const std::byte* host) const;
  /// The nearest allocation, for messages: "16 bytes past the end of 'c'".
  std::string describe(std::uint64_t address) const;

  /// The allocation that holds `address`, else the one whose edge is closest; null if there is
  /// none.
  const Allocation* nearest(std::uint64_t address) const;

  /// Storage of a module's `.global` variable: made on first use, then the same for every launch of
  /// that program (identified by a number), as a loaded CUDA module's is. `created`: it is new and
  /// wants its initial contents.
  std::uint64_t module_variable(std::uint64_t program, const std::string& name, std::uint64_t bytes,
                                std::uint64_t alignment, bool& created);

  /// The device's heap, of 8 MiB as CUDA's is by default, and 2^15 allocations. 0: it is full.
  std::uint64_t heap_allocate(std::uint64_t bytes);
  /// False when the heap has no such allocation. Allocation objects of it are gone then.
  bool heap_release(std::uint64_t address);

  /// Host access to device addresses; InputError when out of bounds.
  void write(std::uint64_t address, std::span<const std::byte> bytes);
  void read(std::uint64_t address, std::span<std::byte> bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bitgate::machine
