#include "reference/machine/hazard/shadow.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace bitgate::machine::hazard {

namespace {

/// Below this the heap serves: it has memory of earlier launches, which need not be mapped anew
/// page by page.
constexpr std::uint64_t kMapped = std::uint64_t{1} << 20;

}  // namespace

Cells::Cells(std::uint64_t bytes) : count_((bytes + 3) / 4 + 1) {
  if (mapped_bytes() < kMapped) {
    words_ = static_cast<std::uint32_t*>(std::calloc(mapped_bytes(), 1));
    if (words_ == nullptr) throw std::bad_alloc();
    return;
  }
  void* memory = mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  words_ = static_cast<std::uint32_t*>(memory);
}

Cells::~Cells() {
  if (words_ == nullptr) return;
  if (mapped_bytes() < kMapped) {
    std::free(words_);
  } else {
    munmap(words_, mapped_bytes());
  }
}

std::uint64_t Cells::mapped_bytes() const { return count_ * sizeof(Cell); }

std::uint64_t Cells::resident_bytes() const {
  if (words_ == nullptr) return 0;
  if (mapped_bytes() < kMapped) return mapped_bytes();
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t kPagesAtOnce = 1U << 16;
  std::vector<unsigned char> resident(kPagesAtOnce);
  std::uint64_t result = 0;
  auto* const begin = reinterpret_cast<std::byte*>(words_);
  for (std::uint64_t at = 0; at < mapped_bytes(); at += kPagesAtOnce * page) {
    const std::uint64_t part = std::min(mapped_bytes() - at, kPagesAtOnce * page);
    if (mincore(begin + at, part, resident.data()) != 0) return mapped_bytes();
    const std::uint64_t pages = (part + page - 1) / page;
    for (std::uint64_t i = 0; i < pages; ++i) result += (resident[i] & 1U) != 0 ? page : 0;
  }
  return result;
}

}  // namespace bitgate::machine::hazard
