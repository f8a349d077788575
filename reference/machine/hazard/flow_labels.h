#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/flow.h"
#include "reference/machine/hazard/label.h"
#include "reference/machine/hazard/shared_labels.h"

namespace bitgate::machine::hazard {

/// Of the shadow of a warp's register.
constexpr std::size_t register_bytes(RegisterKind kind) {
  return kind == RegisterKind::predicate ? 4 : std::size_t{words_of(kind)} * 4 * kLanes;
}

/// Number of an origin in Labels::origins; 0: none is known.
using OriginId = std::uint32_t;

/// The instruction that brought labelled bits into a register, and from where.
struct Origin {
  std::uint32_t pc = 0;
  std::uint64_t block = 0;  ///< number in the grid
  std::uint32_t warp = 0;
  std::uint32_t lane = 0;
  bool in_register = false;  ///< the register itself was never written
  Space space = Space::global;
  const GlobalMemory::Allocation* allocation = nullptr;
  std::int64_t offset = 0;  ///< into the allocation or the space
  std::uint32_t bytes = 0;
};

/// Labelled bits have come to where they matter.
struct Reached {
  Sink sink = Sink::none;
  std::uint32_t pc = 0;
  const Warp* warp = nullptr;
  std::uint32_t lanes = 0;
  OriginId origin = 0;
};

class LabelListener {
 public:
  virtual ~LabelListener() = default;
  virtual void reached(const Reached& where) = 0;
  /// Labelled bytes of global memory were stored, `bytes` at `host`.
  virtual void stored(const Reached&, const std::byte* host, std::uint32_t bytes) {
    (void)host;
    (void)bytes;
  }
};

/// Follows one label: a shadow of every register, and of every byte of shared, local and global
/// memory, in which a set bit is a labelled one. The register shadows have the registers' layout.
class Labels {
 public:
  Labels(const LaunchState& state, const FlowTable& table, Label label, LabelListener& listener);
  ~Labels();
  Labels(const Labels&) = delete;
  Labels& operator=(const Labels&) = delete;

  void start_block(const Block& block);
  void finish_block(const Block& block);

  void before(Context& x, const Op& op, std::uint32_t lanes) {
    if (x.warp != warp_) select(*x.warp);
    const OpFlow& flow = table_[x.pc];
    if ((flow.watched & shadow_->watched) == 0 &&
        !(flow.schedule_dependent && label_ == Label::schedule)) {
      return;
    }
    step(x, op, flow, lanes);
  }
  void access(Context& x, const Op& op, const MemoryAccess& access);
  /// A cp.async that may be carried out later, by `copy`.
  void copy_issued(Context& x, const PendingCopy& copy);
  /// What these lanes copy is about to be copied.
  void copy(const Warp& warp, const PendingCopy& copy, std::uint32_t lanes);

  /// The bits of a warp's registers that are labelled, and kAlways. They stay where they are until
  /// its block finishes.
  const RegisterBits* watched(const Warp& warp) const;

  const Origin& origin(OriginId id) const { return origins_[id]; }
  Label label() const { return label_; }
  std::uint64_t bytes() const { return bytes_; }

  /// For tests: the labelled bits of a lane's part of a register.
  std::uint64_t bits(const Warp& warp, std::uint32_t number, std::size_t lane);

 private:
  using Lanes = std::array<std::uint64_t, kLanes>;

  /// Of a warp.
  struct Shadow {
    AlignedBytes registers;
    std::vector<std::uint8_t> labelled;                    ///< by number: some bit of it is
    RegisterBits watched = kAlways;                        ///< of the registers that are
    std::array<std::uint32_t, 64> sharing{};               ///< how many of them, by bit
    std::vector<OriginId> origin;                          ///< by number
    std::array<std::vector<std::uint32_t>, kLanes> saved;  ///< across calls
    std::byte* local = nullptr;
  };
  struct BlockShadow {
    std::vector<Shadow> warps;
    SharedLabels shared;
    LazyBytes local;
    std::unordered_map<std::uint32_t, OriginId> origins;  ///< by four bytes of shared memory
  };
  /// The labels of an allocation, each byte exclusive-or `at_first`.
  struct Region {
    const std::byte* host = nullptr;
    std::uint64_t bytes = 0;
    std::byte* labels = nullptr;
    std::byte at_first{0};
    const GlobalMemory::Allocation* allocation = nullptr;
    LazyBytes own;
  };
  /// Where the labels of some bytes are.
  struct Place {
    const std::byte* labels = nullptr;  ///< null: none of them can be labelled
    std::byte at_first{0};
  };

  void select(const Warp& warp);
  void start_registers(Shadow& shadow) const;
  static void mark(Shadow& shadow, std::uint32_t number, bool labelled);
  void clear(Shadow& shadow, std::uint32_t lanes);
  void step(Context& x, const Op& op, const OpFlow& flow, std::uint32_t lanes);

  // flow_rules.cpp
  void apply(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active);
  void apply_any(const OpFlow& flow, std::uint32_t active);
  void apply_across(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active);
  void apply_move(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active);
  void apply_logic(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active);
  void apply_predicate_logic(Context& x, const Op& op, const OpFlow& flow, std::uint32_t active);
  void apply_carry(const OpFlow& flow, std::uint32_t active);
  void apply_halves(const OpFlow& flow, std::uint32_t active);
  void apply_ballot(const OpFlow& flow, std::uint32_t active);

  // flow_matrix.cpp
  struct Sides;
  Sides sides(const OpFlow& flow) const;
  void apply_matrix(const OpFlow& flow);
  void wmma_line(Context& x, const OpFlow& flow, const MemoryAccess& access);
  void move_rows(Context& x, const OpFlow& flow, const MemoryAccess& access);

  // flow_calls.cpp
  void enter(Context& x, const Op& op);
  void leave(Context& x);
  void allocate(Context& x, const Op& op);

  // flow_access.cpp
  Place place(Context& x, Space space, const std::byte* host);
  bool outside_regions(std::uint64_t begin, std::uint64_t end);
  bool outside_regions(const MemoryAccess& access);
  bool outside_regions(const PendingCopy& copy, std::uint32_t lanes);
  Region* region_of(const std::byte* host);
  Region* region_for(const std::byte* host);
  void refresh_regions();
  void note_origin(Context& x, const MemoryAccess& access, std::size_t lane, OriginId origin);
  bool any_in_memory(Context& x, const MemoryAccess& access);
  void read_labels(Context& x, const MemoryAccess& access, std::size_t lane, std::byte* out);
  void write_labels(Context& x, const MemoryAccess& access, std::size_t lane, const std::byte* in);
  void load(Context& x, const OpFlow& flow, const MemoryAccess& access);
  void clear_memory(Context& x, const MemoryAccess& access);
  void store(Context& x, const OpFlow& flow, const MemoryAccess& access);
  void change(Context& x, const OpFlow& flow, const MemoryAccess& access);
  void change_barrier(Context& x, const OpFlow& flow, const MemoryAccess& access);
  OriginId memory_origin(Context& x, const MemoryAccess& access, std::size_t lane);

  Lanes read(const FlowOperand& operand) const;
  void write(const FlowOperand& operand, const Lanes& bits, std::uint32_t active);
  void update(std::uint32_t number);
  std::uint32_t lanes_of(std::uint32_t number) const;
  std::uint32_t lanes_with_bits(std::uint32_t number) const;
  void clear_definition(std::uint32_t number, std::uint32_t lanes);
  void label_definition(std::uint32_t number, std::uint32_t lanes);
  OriginId inherited(Context& x, const OpFlow& flow);
  OriginId register_origin(Context& x, std::uint32_t number);
  void reach(Context& x, Sink sink, std::uint32_t number, std::uint32_t lanes);
  /// What a labelled operand does ends at its sink, if that is one of this label.
  bool ends_at(Sink sink) const {
    return sink != Sink::none && !(sink == Sink::shuffle_lane && label_ == Label::undefined);
  }
  std::byte* at(std::uint32_t number) const {
    return shadow_->registers.data() + table_.registers()[number].offset;
  }

  const LaunchState& state_;
  const FlowTable& table_;
  const Label label_;
  LabelListener& listener_;
  std::vector<std::uint32_t> first_;  ///< registers that start with labels
  std::map<const Block*, std::unique_ptr<BlockShadow>> blocks_;
  std::vector<std::unique_ptr<BlockShadow>> free_;
  const Warp* warp_ = nullptr;
  Shadow* shadow_ = nullptr;
  BlockShadow* block_ = nullptr;
  std::vector<std::unique_ptr<Region>> regions_;
  std::uint64_t regions_begin_ = ~std::uint64_t{0};  ///< host addresses that have regions
  std::uint64_t regions_end_ = 0;
  bool regions_are_old_ = true;
  std::vector<Origin> origins_;
  std::map<std::uint32_t, OriginId> register_origins_;          ///< by pc
  std::unordered_map<std::uint64_t, OriginId> global_origins_;  ///< by four bytes
  std::uint32_t line_ = 0;                                      ///< of a wmma.load or .store
  std::uint64_t bytes_ = 0;
};

}  // namespace bitgate::machine::hazard
