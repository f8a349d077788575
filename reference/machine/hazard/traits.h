#pragma once

#include <cstdint>
#include <string_view>

namespace bitgate::machine::hazard {

/// How an access takes part in PTX's memory consistency model (PTX ISA 8.4, 8.5). All but weak ones
/// are strong; `.volatile` is relaxed at system scope.
enum class Order : std::uint8_t { weak, relaxed, acquire, release, acq_rel };

/// Threads that an access or a fence is strong among. Clusters are single blocks here, and there is
/// one GPU, so that two are left.
enum class Scope : std::uint8_t { cta, gpu };

/// What an instruction's text says of memory and synchronisation.
struct Traits {
  Order order = Order::weak;
  Scope scope = Scope::gpu;
  bool atomic = false;        ///< reads and writes as one
  bool observes = true;       ///< false for `red`, which returns nothing
  bool non_coherent = false;  ///< .nc
  bool phases = false;        ///< of an mbarrier, which orders by its phases
  bool sequential = false;    ///< fence.sc, membar
  bool aligned = false;       ///< all lanes of a warp execute the same barrier instruction
  std::uint8_t elements = 1;  ///< of a vector: each is an access of its own

  bool acquires() const { return order == Order::acquire || order == Order::acq_rel; }
  bool releases() const { return order == Order::release || order == Order::acq_rel; }
  bool strong() const { return order != Order::weak; }
};

/// "ld.acquire.gpu.global.u32": opcode and modifiers.
Traits traits_of(std::string_view mnemonic);

}  // namespace bitgate::machine::hazard
