#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reference/machine/program/code.h"

namespace bitgate::machine {

/// Where each virtual register is defined and used, and from that a small register file: registers
/// that are never live together share a place. Liveness is a lane's own: each lane follows the
/// control flow graph by itself and touches only its own elements of a place, so divergence changes
/// nothing.
class RegisterUse {
 public:
  enum class Role : std::uint8_t { definition, use };

  std::uint32_t add(Kind kind) {
    kinds_.push_back(kind);
    pinned_.push_back(false);
    return static_cast<std::uint32_t>(kinds_.size() - 1);
  }
  /// Has a place for itself, filled before the warp starts.
  std::uint32_t add_pinned(Kind kind) {
    kinds_.push_back(kind);
    pinned_.push_back(true);
    return static_cast<std::uint32_t>(kinds_.size() - 1);
  }
  std::size_t count() const { return kinds_.size(); }

  void refer(std::uint32_t op, std::uint32_t Op::* field, std::uint32_t reg, Role role) {
    references_.push_back({op, field, 0, reg, role});
  }
  void refer_list(std::uint32_t op, std::uint32_t list_index, std::uint32_t reg, Role role) {
    references_.push_back({op, nullptr, list_index, reg, role});
  }
  /// Drops what an instruction referred to so far: it turned out to be unsupported.
  void forget_from(std::size_t reference) { references_.resize(reference); }
  std::size_t reference_count() const { return references_.size(); }

  /// Places all registers: writes their offsets into the ops and lists, sets register_bytes and
  /// scratch, says what each call has to save, and returns the offset of each register.
  std::vector<std::uint32_t> place(Code& code) const;

 private:
  struct Reference {
    std::uint32_t op;
    std::uint32_t Op::* field;
    std::uint32_t list_index;
    std::uint32_t reg;
    Role role;
  };
  struct Interval {
    std::uint32_t begin = 0xffffffffU;
    std::uint32_t end = 0;
  };
  struct Liveness {
    std::vector<Interval> intervals;                             ///< by register
    std::map<std::uint32_t, std::vector<std::uint32_t>> across;  ///< registers, by call op
  };
  Liveness liveness(const Code& code) const;
  void list_operands(Code& code, const std::vector<std::uint32_t>& offsets) const;

  std::vector<Kind> kinds_;
  std::vector<bool> pinned_;
  std::vector<Reference> references_;
};

}  // namespace bitgate::machine
