#include "reference/machine/hazard/races.h"

#include <algorithm>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races_internal.h"
#include "reference/support/error.h"

// What is kept of a launch: blocks, allocations, records and lists of them. Who touches cells is in
// races_cells.cpp, what threads know of each other in races_order.cpp.

namespace bitgate::machine::hazard {

namespace {

constexpr std::uint32_t kMostRecords = kListBit - 1;
constexpr std::size_t kRoom = std::size_t{1} << 14;  // of records and lists at first

}  // namespace

Races::Races(const LaunchState& state, ReportList& reports)
    : state_(state),
      reports_(reports),
      warps_per_block_(
          (state.launch->block.x * state.launch->block.y * state.launch->block.z + kLanes - 1) /
          kLanes),
      traits_(state.code->ops.size()),
      records_(1),
      nodes_(1) {
  records_.reserve(kRoom);
  nodes_.reserve(kRoom);
}

Races::~Races() = default;

const Traits& Races::traits(std::uint32_t pc) {
  auto& [known, traits] = traits_[pc];
  if (!known) {
    traits = traits_of(state_.code->debug[pc].mnemonic);
    known = true;
  }
  return traits;
}

void Races::start_block(Block& block) {
  std::unique_ptr<BlockRaces> races;
  if (free_.empty()) {
    races = std::make_unique<BlockRaces>();
    races->shared = Cells(block.shared_bytes);
    races->warps.resize(warps_per_block_);
  } else {
    races = std::move(free_.back());
    free_.pop_back();
  }
  const std::uint64_t first = block_numbers_.size() * std::uint64_t{warps_per_block_};
  if (first + warps_per_block_ > 0xffffffffU) {
    throw Unsupported("races in a launch of more than 2^32 warps");
  }
  block_numbers_.push_back(block.number);
  races->number = block.number;
  races->first_warp = static_cast<std::uint32_t>(first);
  races->first_record = static_cast<std::uint32_t>(records_.size());
  races->first_node = static_cast<std::uint32_t>(nodes_.size());
  races->places.clear();
  races->phases.clear();
  races->barriers = {};
  for (std::uint32_t i = 0; i < warps_per_block_; ++i) {
    WarpClock& warp = races->warps[i];
    warp = WarpClock{};
    warp.number = races->first_warp + i;
    warp.index = i;
    warp.groups.reserve(kLanes + 1);
    Group& group = warp.groups.emplace_back();
    group.lanes = kAllLanes;
    group.seen.assign(std::size_t{2} * warps_per_block_, 0);
  }
  block.races = races.get();
  blocks_.push_back(std::move(races));
}

void Races::finish_block(Block& block) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const auto& other) { return other.get() == block.races; });
  if (found == blocks_.end()) return;
  free_.push_back(std::move(*found));
  blocks_.erase(found);
  block.races = nullptr;
}

Races::Region* Races::region_of(const std::byte* host) {
  if (last_region_ != nullptr && host >= last_region_->begin && host < last_region_->end) {
    return last_region_;
  }
  auto after = std::upper_bound(
      regions_.begin(), regions_.end(), host,
      [](const std::byte* p, const std::unique_ptr<Region>& region) { return p < region->begin; });
  if (after != regions_.begin() && host < (*std::prev(after))->end) {
    return last_region_ = std::prev(after)->get();
  }
  const GlobalMemory::Allocation* allocation = state_.memory->holding(host);
  if (allocation == nullptr) return nullptr;
  auto region = std::make_unique<Region>();
  region->begin = allocation->host;
  region->end = allocation->host + allocation->bytes;
  region->bias = allocation->address & 15U;
  region->address = allocation->address;
  region->name = allocation->name;
  region->read_only = allocation->read_only;
  if (!region->read_only) region->cells = Cells(allocation->bytes + region->bias);
  return last_region_ = regions_.insert(after, std::move(region))->get();
}

void Races::release(std::uint64_t address) {
  std::erase_if(regions_, [&](const auto& region) { return region->address == address; });
  last_region_ = nullptr;
  constant_begin_ = constant_end_ = nullptr;
}

std::uint32_t Races::record(WarpClock& warp, const Record& record) {
  const std::uint32_t place = record.phase >> record.lane_shift;
  std::uint32_t& recent =
      warp.recent[(record.pc * 2 + (record.write ? 1U : 0U) + place * 5) % WarpClock::kRecent];
  if (recent != 0 && records_[recent] == record) return recent;
  if (records_.size() >= kMostRecords) {
    throw_fault(Fault::Kind::unsupported, -1, "unsupported: races among more than 2^31 accesses");
  }
  recent = static_cast<std::uint32_t>(records_.size());
  records_.push_back(record);
  if (record.who == Who::run) ++warp.runs;
  narrow_runs_ = narrow_runs_ || record.grain() < 2;
  return recent;
}

Ref Races::push(Ref next, std::uint32_t record, std::uint32_t lanes, std::uint32_t version) {
  const Record& what = records_[record];
  Node node{next, record, lanes, version, false, what.grain()};
  node.uniform = what.strong && !what.cta_scope;
  if (next != kNobody) {
    const Node& tail = nodes_[next & ~kListBit];
    node.uniform = node.uniform && tail.uniform && records_[tail.record].bytes == what.bytes;
    node.grain = std::min(node.grain, tail.grain);
  }
  const std::uint32_t hash = (next * 0x9e3779b1U) ^ (record * 0x85ebca6bU) ^ (lanes * 0xc2b2ae35U);
  std::uint32_t& recent = recent_nodes_[(hash >> 22) % recent_nodes_.size()];
  if (recent != 0 && version == 0) {
    const Node& other = nodes_[recent];
    if (other.next == next && other.record == record && other.lanes == lanes &&
        other.version == 0) {
      return recent | kListBit;
    }
  }
  if (nodes_.size() >= kListBit - 1) {
    throw_fault(Fault::Kind::unsupported, -1, "unsupported: races among more than 2^31 accesses");
  }
  recent = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  return recent | kListBit;
}

std::uint64_t Races::bytes() const {
  std::uint64_t result = records_.capacity() * sizeof(Record) + nodes_.capacity() * sizeof(Node) +
                         byte_cells_.capacity() * sizeof(ByteCells);
  for (const auto& region : regions_) result += region->cells.resident_bytes();
  for (const auto* blocks : {&blocks_, &free_}) {
    for (const auto& block : *blocks) {
      result += block->shared.resident_bytes();
      result += block->warps.size() *
                (sizeof(WarpClock) + sizeof(Group) + 8 * std::uint64_t{warps_per_block_});
    }
  }
  return result;
}

}  // namespace bitgate::machine::hazard
