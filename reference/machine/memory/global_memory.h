#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bitgate::machine {

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

  /// The allocation that holds [address, address+bytes), or nothing.
  const Allocation* find(std::uint64_t address, std::uint64_t bytes) const;
  /// The nearest allocation, for messages: "16 bytes past the end of 'c'".
  std::string describe(std::uint64_t address) const;

  /// Host access to device addresses; InputError when out of bounds.
  void write(std::uint64_t address, std::span<const std::byte> bytes);
  void read(std::uint64_t address, std::span<std::byte> bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bitgate::machine
