#include "reference/machine/memory/global_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

// Wider than any error that one 32-bit product makes in an element offset (2^32 elements of up to
// 4 bytes), so that such an access lands between allocations and not in a neighbour.
constexpr std::uint64_t kGap = std::uint64_t{16} << 30;
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 44;
constexpr std::uint64_t kLastAddress = std::uint64_t{1} << 62;

constexpr std::uint64_t kHeapBytes = std::uint64_t{8} << 20;
// Each is a mapping of the host's, of which a process has some 65,000.
constexpr std::size_t kMostHeapAllocations = std::size_t{1} << 15;

std::uint64_t mapped_bytes(std::uint64_t bytes) { return std::max<std::uint64_t>(bytes, 1); }

std::byte* map(std::uint64_t bytes) {
  void* host = mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(host);
}

}  // namespace

struct GlobalMemory::Impl {
  std::map<std::uint64_t, Allocation> by_address;
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> module_variables;
  std::uint64_t next = kFirstAddress;
  std::map<std::uint64_t, std::uint64_t> heap;  ///< bytes by address
  std::uint64_t heap_bytes = 0;

  static void unmap(const Allocation& allocation) {
    if (allocation.host != nullptr) munmap(allocation.host, mapped_bytes(allocation.bytes));
    if (allocation.undefined != nullptr) {
      munmap(allocation.undefined, mapped_bytes(allocation.bytes));
    }
  }
  Allocation& at(std::uint64_t address) {
    const auto found = by_address.find(address);
    if (found == by_address.end()) {
      throw InputError(fmt::format("{:#x} is no allocation's address", address));
    }
    return found->second;
  }
};

GlobalMemory::GlobalMemory() : impl_(std::make_unique<Impl>()) {}

GlobalMemory::~GlobalMemory() {
  for (const auto& [address, allocation] : impl_->by_address) Impl::unmap(allocation);
}

std::uint64_t GlobalMemory::allocate(std::uint64_t bytes, std::string name, std::uint64_t alignment,
                                     std::uint64_t offset) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    throw InputError(
        fmt::format("allocation '{}': alignment {} is not a power of two", name, alignment));
  }
  const std::uint64_t limit = kLastAddress - kGap;
  if (alignment > limit || offset > limit || bytes > limit) throw std::bad_alloc();
  const std::uint64_t aligned = (impl_->next + alignment - 1) & ~(alignment - 1);
  if (aligned > limit || offset > limit - aligned || bytes > limit - aligned - offset) {
    throw std::bad_alloc();
  }
  std::byte* const host = map(bytes);
  const std::uint64_t address = aligned + offset;
  impl_->next = address + bytes + kGap;
  impl_->by_address.emplace(address, Allocation{address, bytes, std::move(name), false, host});
  return address;
}

void GlobalMemory::release(std::uint64_t address) {
  const auto found = impl_->by_address.find(address);
  if (found == impl_->by_address.end()) {
    throw InputError(fmt::format("release of {:#x}, which is no allocation's address", address));
  }
  Impl::unmap(found->second);
  impl_->by_address.erase(found);
}

void GlobalMemory::set_read_only(std::uint64_t address, bool read_only) {
  impl_->at(address).read_only = read_only;
}

void GlobalMemory::set_undefined(std::uint64_t address, std::uint64_t bytes) {
  const Allocation* found = find(address, bytes);
  if (found == nullptr) {
    throw InputError(fmt::format("{} bytes at {:#x} are in no allocation: {}", bytes, address,
                                 describe(address)));
  }
  if (bytes < found->bytes) {
    track_undefined(*found);
    std::memset(found->undefined + (address - found->address),
                std::to_integer<int>(~found->undefined_at_first), bytes);
    return;
  }
  // All of it: what is not touched costs the host nothing.
  Allocation& own = impl_->at(found->address);
  std::byte* const fresh = map(own.bytes);
  if (own.undefined != nullptr) munmap(own.undefined, mapped_bytes(own.bytes));
  own.undefined = fresh;
  own.undefined_at_first = std::byte{0xff};
}

void GlobalMemory::set_output(std::uint64_t address) { impl_->at(address).output = true; }

void GlobalMemory::track_undefined(const Allocation& allocation) {
  Allocation& own = impl_->at(allocation.address);
  if (own.undefined == nullptr) own.undefined = map(own.bytes);
}

std::vector<const GlobalMemory::Allocation*> GlobalMemory::allocations() const {
  std::vector<const Allocation*> result;
  for (const auto& [address, allocation] : impl_->by_address) result.push_back(&allocation);
  return result;
}

const GlobalMemory::Allocation* GlobalMemory::find(std::uint64_t address,
                                                   std::uint64_t bytes) const {
  auto after = impl_->by_address.upper_bound(address);
  if (after == impl_->by_address.begin()) return nullptr;
  const Allocation& candidate = std::prev(after)->second;
  const std::uint64_t into = address - candidate.address;
  if (into > candidate.bytes || bytes > candidate.bytes - into) return nullptr;
  return &candidate;
}

const GlobalMemory::Allocation* GlobalMemory::holding(const std::byte* host) const {
  for (const auto& [address, allocation] : impl_->by_address) {
    if (host >= allocation.host && host < allocation.host + allocation.bytes) return &allocation;
  }
  return nullptr;
}

const GlobalMemory::Allocation* GlobalMemory::nearest(std::uint64_t address) const {
  if (impl_->by_address.empty()) return nullptr;
  const auto after = impl_->by_address.upper_bound(address);
  if (after == impl_->by_address.begin()) return &after->second;
  const Allocation& below = std::prev(after)->second;
  if (after == impl_->by_address.end()) return &below;
  const std::uint64_t end = below.address + below.bytes;
  if (address < end) return &below;
  return after->first - address < address - end ? &after->second : &below;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  const Allocation* near = nearest(address);
  if (near == nullptr) return "there is no allocation";
  const std::uint64_t end = near->address + near->bytes;
  if (address < near->address) {
    return fmt::format("{} bytes before the start of '{}'", near->address - address, near->name);
  }
  if (address < end) {
    return fmt::format("at byte {} of '{}' ({} bytes)", address - near->address, near->name,
                       near->bytes);
  }
  return fmt::format("{} bytes past the end of '{}' ({} bytes)", address - end, near->name,
                     near->bytes);
}

std::uint64_t GlobalMemory::module_variable(std::uint64_t program, const std::string& name,
                                            std::uint64_t bytes, std::uint64_t alignment,
                                            bool& created) {
  const auto [entry, inserted] = impl_->module_variables.try_emplace({program, name}, 0);
  if (inserted) entry->second = allocate(bytes, name, std::max<std::uint64_t>(alignment, 256));
  created = inserted;
  return entry->second;
}

std::uint64_t GlobalMemory::heap_allocate(std::uint64_t bytes) {
  if (impl_->heap.size() >= kMostHeapAllocations || bytes > kHeapBytes - impl_->heap_bytes) {
    return 0;
  }
  const std::uint64_t address = allocate(bytes, "malloc", 16);
  set_undefined(address, bytes);
  impl_->heap.emplace(address, bytes);
  impl_->heap_bytes += bytes;
  return address;
}

bool GlobalMemory::heap_release(std::uint64_t address) {
  const auto found = impl_->heap.find(address);
  if (found == impl_->heap.end()) return false;
  impl_->heap_bytes -= found->second;
  impl_->heap.erase(found);
  release(address);
  return true;
}

void GlobalMemory::write(std::uint64_t address, std::span<const std::byte> bytes) {
  const Allocation* allocation = find(address, bytes.size());
  if (allocation == nullptr) {
    throw InputError(fmt::format("host write of {} bytes at {:#x} is out of bounds: {}",
                                 bytes.size(), address, describe(address)));
  }
  if (bytes.empty()) return;
  const std::uint64_t offset = address - allocation->address;
  std::memcpy(allocation->host + offset, bytes.data(), bytes.size());
  if (allocation->undefined != nullptr) {
    std::memset(allocation->undefined + offset,
                std::to_integer<int>(allocation->undefined_at_first), bytes.size());
  }
}

void GlobalMemory::read(std::uint64_t address, std::span<std::byte> bytes) const {
  const Allocation* allocation = find(address, bytes.size());
  if (allocation == nullptr) {
    throw InputError(fmt::format("host read of {} bytes at {:#x} is out of bounds: {}",
                                 bytes.size(), address, describe(address)));
  }
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), allocation->host + (address - allocation->address), bytes.size());
  }
}

}  // namespace bitgate::machine
