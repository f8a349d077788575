#include <algorithm>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/flow_labels.h"
#include "reference/machine/program/layout.h"

// Labels through calls: what is saved and restored, passed and returned (exec/calls.cpp).

namespace bitgate::machine::hazard {

void Labels::enter(Context& x, const Op& op) {
  const Code& code = *state_.code;
  const CallSite& site = code.calls[static_cast<std::size_t>(op.immediate)];
  each_lane(x.active, [&](std::size_t lane) {
    const Procedure* procedure = nullptr;
    if (site.procedure != CallSite::kIndirect) {
      procedure = &code.procedures[site.procedure];
    } else {
      const auto found = code.procedure_at.find(x.lanes64(op.a)[lane]);
      if (found == code.procedure_at.end()) return;  // the call is about to fail
      procedure = &code.procedures[found->second];
    }
    const std::uint64_t begin = align_up(x.warp->stacks[lane].top, procedure->frame_alignment);
    if (begin + procedure->frame_bytes > code.local_window()) return;
    std::byte* const local = shadow_->local + lane * code.local_stride();
    const std::uint64_t caller = site.caller_has_frame ? x.lanes64(code.frame_register)[lane] : 0;
    std::memset(local + begin, label_ == Label::undefined ? 0xff : 0, procedure->frame_bytes);
    for (const CallSite::Copy& copy : site.arguments) {
      std::memcpy(local + begin + copy.callee_offset, local + caller + copy.caller_offset,
                  copy.bytes);
    }
    std::vector<std::uint32_t>& saved = shadow_->saved[lane];
    for (const CallSite::Saved& place : site.saved) {
      const std::byte* bits = shadow_->registers.data() + place.offset;
      if (place.kind == RegisterKind::predicate) {
        std::uint32_t lanes = 0;
        std::memcpy(&lanes, bits, 4);
        saved.push_back(lanes >> lane & 1U);
        continue;
      }
      const std::uint32_t words = words_of(place.kind);
      const std::uint32_t wide = words == 1 ? 1 : 2;
      for (std::uint32_t i = 0; i < words; ++i) {
        const auto* array = reinterpret_cast<const std::uint32_t*>(bits);
        saved.push_back(array[(i / wide) * wide * kLanes + lane * wide + i % wide]);
      }
    }
  });
}

void Labels::leave(Context& x) {
  const Code& code = *state_.code;
  std::vector<std::uint32_t> touched;
  each_lane(x.active, [&](std::size_t lane) {
    const LaneStack& stack = x.warp->stacks[lane];
    if (stack.calls.empty()) return;
    const LaneStack::Call& call = stack.calls.back();
    const CallSite& site = code.calls[call.site];
    const std::uint64_t frame = x.lanes64(code.frame_register)[lane];
    std::byte* const local = shadow_->local + lane * code.local_stride();
    const std::uint64_t caller = site.caller_has_frame ? call.frame : 0;
    for (const CallSite::Copy& copy : site.results) {
      std::memcpy(local + caller + copy.caller_offset, local + frame + copy.callee_offset,
                  copy.bytes);
    }
    std::vector<std::uint32_t>& saved = shadow_->saved[lane];
    if (saved.size() < site.saved_words) return;
    const std::uint32_t* in = saved.data() + (saved.size() - site.saved_words);
    for (const CallSite::Saved& place : site.saved) {
      std::byte* bits = shadow_->registers.data() + place.offset;
      auto* array = reinterpret_cast<std::uint32_t*>(bits);
      if (place.kind == RegisterKind::predicate) {
        *array = (*array & ~kLaneBit[lane]) | (*in++ != 0 ? kLaneBit[lane] : 0U);
      } else {
        const std::uint32_t words = words_of(place.kind);
        const std::uint32_t wide = words == 1 ? 1 : 2;
        for (std::uint32_t i = 0; i < words; ++i) {
          array[(i / wide) * wide * kLanes + lane * wide + i % wide] = *in++;
        }
      }
      touched.push_back(place.offset);
    }
    saved.resize(saved.size() - site.saved_words);
  });
  for (std::uint32_t n = kCarryRegister; n < table_.registers().size(); ++n) {
    const std::uint32_t offset = table_.registers()[n].offset;
    if (std::find(touched.begin(), touched.end(), offset) != touched.end()) update(n);
  }
}

/// alloca: the new variable is nobody's.
void Labels::allocate(Context& x, const Op& op) {
  if (label_ != Label::undefined) return;
  const Code& code = *state_.code;
  const FlowTable::Register& size = table_.registers()[table_.operands(table_[x.pc])[1].number];
  each_lane(x.active, [&](std::size_t lane) {
    const std::uint64_t bytes =
        size.kind == RegisterKind::b64 ? x.lanes64(op.a)[lane] : x.lanes32(op.a)[lane];
    const std::uint64_t begin =
        align_up(x.warp->stacks[lane].top, static_cast<std::uint64_t>(op.immediate));
    const std::uint64_t room = code.local_window();
    if (begin > room || bytes > room - begin) return;  // it is about to fail
    std::memset(shadow_->local + lane * code.local_stride() + begin, 0xff, bytes);
  });
}

}  // namespace bitgate::machine::hazard
