#include "reference/machine/hazard/label.h"

namespace bitgate::machine::hazard {

std::string_view name(Label label) {
  switch (label) {
    case Label::undefined:
      return "undefined";
    case Label::data:
      return "data";
    case Label::schedule:
      return "schedule";
  }
  return "?";
}

std::string_view name(Sink sink) {
  switch (sink) {
    case Sink::none:
      return "none";
    case Sink::branch:
      return "branch";
    case Sink::guard:
      return "guard";
    case Sink::load_address:
      return "load_address";
    case Sink::store_address:
      return "store_address";
    case Sink::atomic_address:
      return "atomic_address";
    case Sink::barrier_operand:
      return "barrier_operand";
    case Sink::mask_operand:
      return "mask_operand";
    case Sink::shuffle_lane:
      return "shuffle_lane";
    case Sink::copy_size:
      return "copy_size";
    case Sink::indirect_target:
      return "indirect_target";
    case Sink::atomic:
      return "atomic";
    case Sink::stored_value:
      return "stored_value";
    case Sink::output:
      return "output";
  }
  return "?";
}

}  // namespace bitgate::machine::hazard
