#include "reference/machine/hazard/shared_labels.h"

#include <algorithm>
#include <cstring>

namespace bitgate::machine::hazard {

// The last granule may be shorter: there is room for all of it, without labels.
SharedLabels::SharedLabels(std::size_t bytes)
    : size_(bytes), labels_(bytes + kGranule), lines_((bytes + kLine - 1) / kLine, 0) {}

void SharedLabels::fill(bool labelled) {
  std::memset(labels_.data(), labelled ? 0xff : 0, size_);
  std::fill(lines_.begin(), lines_.end(), std::uint16_t{0});
  labelled_lines_ = 0;
  if (!labelled || lines_.empty()) return;
  std::fill(lines_.begin(), lines_.end() - 1, std::uint16_t{0xffff});
  labelled_lines_ = lines_.size() - 1;
  for (std::size_t at = labelled_lines_ * kLine; at < size_; at += kGranule) mark(at, true);
}

bool SharedLabels::any(std::size_t at, std::size_t bytes) const {
  if (clean()) return false;
  for (const std::size_t end = at + bytes; at < end;) {
    const std::size_t line = at / kLine;
    const std::size_t part = std::min(end, (line + 1) * kLine) - at;
    if (lines_[line] != 0 && any_set(labels_.data() + at, part)) return true;
    at += part;
  }
  return false;
}

void SharedLabels::mark_all(std::size_t at, std::size_t bytes) {
  const std::size_t end = at + bytes;
  for (at = at / kGranule * kGranule; at < end; at += kGranule) mark(at, any_in_granule(at));
}

void SharedLabels::clear(std::size_t at, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t last = (at + bytes - 1) / kLine;
  std::size_t line = at / kLine;
  while (line <= last && lines_[line] == 0) ++line;
  if (line > last) return;
  std::memset(labels_.data() + at, 0, bytes);
  mark_all(at, bytes);
}

void SharedLabels::write(std::size_t at, const std::byte* in, std::size_t bytes) {
  std::memcpy(labels_.data() + at, in, bytes);
  mark_all(at, bytes);
}

}  // namespace bitgate::machine::hazard
