#include "reference/machine/hazard/traits.h"

#include <algorithm>

namespace bitgate::machine::hazard {

namespace {

bool has(std::string_view mnemonic, std::string_view modifier) {
  while (!mnemonic.empty()) {
    const std::size_t end = std::min(mnemonic.find('.'), mnemonic.size());
    if (mnemonic.substr(0, end) == modifier) return true;
    mnemonic.remove_prefix(std::min(end + 1, mnemonic.size()));
  }
  return false;
}

}  // namespace

Traits traits_of(std::string_view mnemonic) {
  const std::string_view opcode = mnemonic.substr(0, mnemonic.find('.'));
  Traits traits;
  const bool fences = opcode == "fence" || opcode == "membar";
  const bool phases = (opcode == "mbarrier" || has(mnemonic, "mbarrier")) &&
                      !has(mnemonic, "init") && !has(mnemonic, "inval");
  const bool atomic = opcode == "atom" || opcode == "red" || phases;
  if (atomic) traits.order = Order::relaxed;  // where it says nothing
  if (has(mnemonic, "relaxed") || has(mnemonic, "volatile") || has(mnemonic, "mmio")) {
    traits.order = Order::relaxed;
  } else if (has(mnemonic, "acquire")) {
    traits.order = Order::acquire;
  } else if (has(mnemonic, "release")) {
    traits.order = Order::release;
  } else if (has(mnemonic, "acq_rel") || fences) {
    traits.order = Order::acq_rel;
  }
  if (has(mnemonic, "cta") || has(mnemonic, "cluster")) traits.scope = Scope::cta;
  traits.atomic = atomic;
  traits.phases = phases;
  traits.observes = opcode != "red";
  traits.non_coherent = has(mnemonic, "nc");
  traits.sequential = opcode == "membar" || (fences && has(mnemonic, "sc"));
  traits.aligned = opcode == "bar" || has(mnemonic, "aligned");
  if (has(mnemonic, "v2")) traits.elements = 2;
  if (has(mnemonic, "v4")) traits.elements = 4;
  if (has(mnemonic, "v8")) traits.elements = 8;
  return traits;
}

}  // namespace bitgate::machine::hazard
