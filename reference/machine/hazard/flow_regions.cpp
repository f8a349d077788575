#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/flow_labels.h"

// The allocations of global memory that have labels, and which accesses lie outside all of them.

namespace bitgate::machine::hazard {

namespace {

/// The host addresses that lie between those of an access's lanes.
std::pair<std::uint64_t, std::uint64_t> span_of(const MemoryAccess& access) {
  if (access.run != nullptr) {
    const auto at = reinterpret_cast<std::uint64_t>(access.run);
    return {at, at + std::uint64_t{access.bytes} * kLanes};
  }
  // Host addresses are below 2^47, so that they compare as signed numbers, which vectors can do.
  auto lowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = 0;
  const auto widen = [&](std::size_t lane) {
    const auto at = static_cast<std::int64_t>(access.host->at[lane]);
    lowest = at < lowest ? at : lowest;
    highest = at > highest ? at : highest;
  };
  if (access.lanes == kAllLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) widen(lane);
  } else {
    each_lane(access.lanes, widen);
  }
  return {static_cast<std::uint64_t>(lowest), static_cast<std::uint64_t>(highest) + access.bytes};
}

}  // namespace

void Labels::refresh_regions() {
  regions_are_old_ = false;
  std::vector<std::unique_ptr<Region>> kept;
  for (const GlobalMemory::Allocation* allocation : state_.memory->allocations()) {
    const auto old = std::find_if(regions_.begin(), regions_.end(), [&](const auto& region) {
      return region != nullptr && region->host == allocation->host &&
             region->bytes == allocation->bytes && region->own.size() != 0;
    });
    if (old != regions_.end()) {
      kept.push_back(std::move(*old));
      continue;
    }
    if (label_ == Label::schedule) continue;
    if (label_ == Label::undefined && allocation->undefined == nullptr) continue;
    auto region = std::make_unique<Region>();
    region->host = allocation->host;
    region->bytes = allocation->bytes;
    region->allocation = allocation;
    if (label_ == Label::undefined) {
      region->labels = allocation->undefined;
      region->at_first = allocation->undefined_at_first;
    } else {
      region->own = LazyBytes(allocation->bytes);
      region->labels = region->own.data();
      region->at_first = std::byte{0xff};
    }
    kept.push_back(std::move(region));
  }
  regions_ = std::move(kept);
  regions_begin_ = ~std::uint64_t{0};
  regions_end_ = 0;
  for (const auto& region : regions_) {
    const auto begin = reinterpret_cast<std::uint64_t>(region->host);
    regions_begin_ = std::min(regions_begin_, begin);
    regions_end_ = std::max(regions_end_, begin + region->bytes);
  }
}

bool Labels::outside_regions(std::uint64_t begin, std::uint64_t end) {
  if (begin >= regions_end_ || end <= regions_begin_) return true;
  return std::all_of(regions_.begin(), regions_.end(), [&](const auto& region) {
    const auto at = reinterpret_cast<std::uint64_t>(region->host);
    return begin >= at + region->bytes || end <= at;
  });
}

/// Whether no lane accesses global memory that has labels.
bool Labels::outside_regions(const MemoryAccess& access) {
  if (regions_are_old_) refresh_regions();
  if (regions_.empty()) return true;
  const auto [begin, end] = span_of(access);
  return outside_regions(begin, end);
}

bool Labels::outside_regions(const PendingCopy& copy, std::uint32_t lanes) {
  if (regions_are_old_) refresh_regions();
  if (regions_.empty()) return true;
  auto begin = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0;
  each_lane(lanes, [&](std::size_t lane) {
    if (copy.source_bytes[lane] == 0) return;
    const auto at = reinterpret_cast<std::uint64_t>(copy.source[lane]);
    begin = std::min(begin, at);
    end = std::max(end, at + copy.source_bytes[lane]);
  });
  return outside_regions(begin, end);
}

Labels::Region* Labels::region_of(const std::byte* host) {
  if (regions_are_old_) refresh_regions();
  for (const auto& region : regions_) {
    if (host >= region->host && host < region->host + region->bytes) return region.get();
  }
  return nullptr;
}

/// The same, made where there is none.
Labels::Region* Labels::region_for(const std::byte* host) {
  if (Region* found = region_of(host)) return found;
  for (const GlobalMemory::Allocation* allocation : state_.memory->allocations()) {
    if (host < allocation->host || host >= allocation->host + allocation->bytes) continue;
    if (label_ == Label::undefined) {
      state_.memory->track_undefined(*allocation);
    } else {
      auto region = std::make_unique<Region>();
      region->host = allocation->host;
      region->bytes = allocation->bytes;
      region->allocation = allocation;
      region->own = LazyBytes(allocation->bytes);
      region->labels = region->own.data();
      regions_.push_back(std::move(region));
    }
    refresh_regions();
    return region_of(host);
  }
  return nullptr;
}

}  // namespace bitgate::machine::hazard
