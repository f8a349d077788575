#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/knowledge.h"
#include "reference/machine/hazard/report.h"
#include "reference/machine/hazard/shadow.h"
#include "reference/machine/hazard/traits.h"

namespace bitgate::machine::hazard {

/// A place of strong accesses: what an observer of its latest write learns.
struct SyncPlace {
  std::uint32_t version = 0;  ///< number of strong writes; 0: there was none
  Scope scope = Scope::gpu;   ///< of the latest
  std::uint64_t block = 0;    ///< the writer's
  std::uint32_t bytes = 0;    ///< of the latest; other sizes do not observe it
  Offer offer;
  Offer fences;  ///< sequentially consistent fences before the latest writes
  /// Who has observed it up to which version: a thread's later accesses come after those writes.
  struct Observation {
    std::uint32_t warp;
    std::uint32_t lane;
    std::uint32_t epoch;
    std::uint32_t version;
  };
  std::vector<Observation> observations;
};
using SyncPlaces = std::unordered_map<const std::byte*, SyncPlace>;

/// Of an mbarrier: what the arrivals of the running phase bring, and what the completed ones did.
struct PhaseClock {
  ClockPtr arriving;
  ClockPtr completed;
};

/// Of a named barrier, of all who have arrived.
struct BarrierClock {
  std::vector<std::uint32_t> seen;
  ClockPtr extra;
  ClockPtr fences[2];
};

/// What Races keeps of a block that is live.
struct BlockRaces {
  std::uint64_t number = 0;      ///< of the block in the grid
  std::uint32_t first_warp = 0;  ///< its number in the launch
  /// Records and lists below these are of blocks whose shared memory lay here before.
  std::uint32_t first_record = 0;
  std::uint32_t first_node = 0;
  std::vector<WarpClock> warps;
  Cells shared;
  SyncPlaces places;
  std::array<BarrierClock, 16> barriers;
  std::map<std::uint32_t, PhaseClock> phases;  ///< by the mbarrier's shared address
};

/// Data races by happens-before (PTX ISA 8, "Memory Consistency Model"), in shared and global
/// memory, byte by byte. Two accesses race when they conflict, causality orders neither before the
/// other, and they are not morally strong: both strong, of scopes that include each other, and of
/// the same bytes. What happened to run first decides nothing.
///
/// Decisions where the text is open: fences of the two kinds `membar` and `fence.sc` take what the
/// sequentially consistent fences offer that come before them by program order, barriers and
/// observation, for no order of fences can then put them after; an asynchronous copy is an actor of
/// its own whose completion a wait shows to the issuing thread alone; `ldmatrix`, `stmatrix` and
/// `wmma` access each row by all lanes of the warp; accesses of different sizes to one place are no
/// morally strong pair; a matching `.nc` read and write of one launch are a hazard in any order.
class Races {
 public:
  Races(const LaunchState& state, ReportList& reports);
  ~Races();
  Races(const Races&) = delete;
  Races& operator=(const Races&) = delete;

  void start_block(Block& block);
  void finish_block(Block& block);

  void access(Context& x, const Op& op, const MemoryAccess& access);
  /// Bytes of a heap allocation go back: nothing is remembered of them.
  void release(std::uint64_t address);

  void copy_issued(Context& x, const Op& op, const PendingCopy& copy);
  void copies_committed(Context& x);
  /// The active lanes' copies are done, but for their `pending` latest groups.
  void copies_awaited(Context& x, std::uint32_t pending);
  void all_copies_awaited(Context& x);

  void barrier_arrives(Warp& warp, std::uint32_t number, std::uint32_t lanes);
  void barrier_completes(Block& block, std::uint32_t number);
  void warp_barrier(Warp& warp, std::uint32_t lanes);
  void fence(Context& x);
  void mbarrier_arrives(Context& x, std::size_t lane, const std::byte* place, bool with_copies,
                        bool completes);
  void mbarrier_observed(Context& x, std::uint32_t lanes, const HostAddresses& places);

  /// Compares what racing writes wrote, after the instruction that wrote last.
  void settle(Context& x, const Op& op);
  bool unsettled() const { return !unsettled_.empty(); }

  /// Host memory that the shadows take now.
  std::uint64_t bytes() const;

 private:
  struct Region;
  struct Actor;
  struct Found;
  enum class Ordered : std::uint8_t { no, here, everywhere };

  const Traits& traits(std::uint32_t pc);
  BlockRaces& of(const Block& block) { return *block.races; }
  WarpClock& of(const Warp& warp) { return warp.block->races->warps[warp.index]; }
  Region* region_of(const std::byte* host);
  std::uint32_t record(WarpClock& warp, const Record& record);
  Ref push(Ref next, std::uint32_t record, std::uint32_t lanes, std::uint32_t version);

  // What is known (races_order.cpp).
  Ordered before(const Record& record, std::uint32_t lanes, const Actor& actor) const;
  bool observed(const Node& node, const Actor& actor, const std::byte* at) const;
  bool morally_strong(const Record& record, const Actor& actor) const;
  bool in_block(const BlockRaces& block, std::uint64_t key) const;
  void learn(const BlockRaces& block, Group& group, const ClockPtr& clock) const;
  bool knows(const BlockRaces& block, const Group& group, const ClockPtr& clock) const;
  ClockPtr others_of(const BlockRaces& block, const Group& group) const;
  ClockPtr publish(const BlockRaces& block, const WarpClock& warp, std::uint32_t lanes) const;
  ClockPtr publish(const WarpClock& warp, const Snapshot& snapshot, std::uint32_t lanes) const;
  static bool is_whole(const WarpClock& warp, std::uint32_t lanes);
  void set_copies_done(const Warp& warp, std::uint32_t lanes, std::uint32_t epoch);

  // Weak accesses (races_weak.cpp).
  void enter(Actor& actor, const Context& x, Space space) const;
  bool find_cells(Actor& actor, std::byte* at, bool read);
  bool is_constant(const MemoryAccess& access) const;
  void weak_access(Context& x, const MemoryAccess& access, const Traits& traits);
  bool become_run(Actor& actor, std::byte* run, std::uint32_t bytes_of_lane) const;
  void touch_run(Actor& actor, std::byte* run, std::uint32_t bytes_of_lane);
  void touch_rows(Actor& actor, std::uint32_t lanes);
  void touch_lanes(Actor& actor, std::uint32_t lanes);
  void read_by_address(Actor& actor, std::uint32_t lanes);

  // Who touched a cell (races_cells.cpp).
  Ordered all_before(Ref ref, std::uint32_t lanes, const Actor& actor, const std::byte* at,
                     bool against_write, Found& found);
  bool is_stale(Ref ref, const Actor& actor) const;
  bool is_settled(Ref ref, Ref& ok, const Actor& actor) const;
  template <bool Write>
  bool settles(Ref write, Ref read, Actor& actor) const;
  bool write_is_settled(Ref write, Actor& actor) const;
  std::uint16_t grain(Ref ref) const;
  bool needs_no_lanes(Ref ref) const;
  bool are_alike(const Cells& cells, std::uint64_t index) const;
  std::uint32_t lanes_of(Ref ref, std::uint32_t mask, std::uint64_t offset) const;
  bool needs_bytes(const Cell& cell, const Actor& actor) const;
  template <bool Write>
  void touch(std::byte* at, std::uint32_t bytes, std::uint32_t lanes, Actor& actor);
  template <class Vector, bool Write>
  void touch_vectors(std::uint64_t index, std::uint32_t words, std::byte* at, std::uint32_t lanes,
                     Actor& actor);
  template <bool Write>
  void touch_unit(std::uint64_t index, std::uint32_t words, std::byte* at, std::uint32_t lanes,
                  Actor& actor);
  template <bool Write>
  void touch_word(std::uint64_t index, std::byte* at, std::uint32_t lanes, Actor& actor);
  template <bool Write>
  void touch_cell(Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                  Actor& actor);
  template <bool Write>
  void check(const Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
             Actor& actor);
  bool writes_are_settled(std::byte* at, std::uint32_t bytes, Actor& actor);
  void check_read(std::byte* at, std::uint32_t bytes, std::uint32_t lanes, Actor& actor);
  bool add_reader(Cell& cell, std::byte* at, std::uint32_t lanes, Actor& actor);
  std::uint32_t split(const Cells& cells, std::uint64_t index);

  // Strong accesses (races_strong.cpp).
  void strong_access(Context& x, const MemoryAccess& access, const Traits& traits);
  void strong_lane(Actor& actor, const Traits& traits, std::byte* at, std::uint32_t bytes,
                   std::uint32_t lane, bool write);
  void observe(Actor& actor, const Traits& traits, SyncPlace& place, std::uint32_t lane);
  void offer(Actor& actor, const Traits& traits, SyncPlace& place, std::uint32_t lane,
             bool continues);
  void touch_strongly(std::byte* at, std::uint32_t bytes, std::uint32_t lane, Actor& actor,
                      bool write, std::uint32_t version);
  void touch_cell_strongly(Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lane,
                           Actor& actor, bool write, std::uint32_t version);

  // Reports.
  using RaceKey =
      std::pair<std::pair<std::uint32_t, AccessKind>, std::pair<std::uint32_t, AccessKind>>;
  void report(const Found& found, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
              Actor& actor, bool write);
  void report_non_coherent(std::uint32_t writer, std::uint32_t lanes, std::byte* at,
                           std::uint32_t bytes, Actor& actor);
  void locate(Report& report, const std::byte* at, std::uint32_t bytes, const Actor& actor) const;
  Place place(const Record& record, std::uint32_t lanes) const;

  const LaunchState& state_;
  ReportList& reports_;
  std::uint32_t warps_per_block_;
  std::vector<std::uint64_t> block_numbers_;  ///< in the order in which they started
  std::vector<std::pair<bool, Traits>> traits_;
  std::vector<Record> records_;
  std::vector<Node> nodes_;
  std::array<std::uint32_t, 1024> recent_nodes_{};
  bool narrow_runs_ = false;  ///< there is a record whose words have several lanes
  std::vector<ByteCells> byte_cells_;
  std::vector<std::uint32_t> free_byte_cells_;
  std::vector<std::unique_ptr<Region>> regions_;  ///< by host address
  Region* last_region_ = nullptr;
  // The part that was read last of those that nobody writes: no reads of it are remembered.
  const std::byte* constant_begin_ = nullptr;
  const std::byte* constant_end_ = nullptr;
  SyncPlaces places_;
  std::vector<std::unique_ptr<BlockRaces>> blocks_;
  std::vector<std::unique_ptr<BlockRaces>> free_;

  /// Two racing writes whose values are still to be compared.
  struct Unsettled {
    std::size_t report = 0;
    std::byte* at = nullptr;
    std::uint32_t bytes = 0;
    std::array<std::byte, 16> old{};
    std::uint32_t first_lane = 0;
    std::uint32_t second_lane = 0;
    bool one_instruction = false;
  };
  std::vector<Unsettled> unsettled_;
  std::map<RaceKey, std::size_t> race_reports_;
};

}  // namespace bitgate::machine::hazard
