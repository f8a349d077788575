#include "kernels/device/guarded_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "reference/support/error.h"
#include "reference/support/random.h"

namespace bitgate::kernels {
namespace {

constexpr std::uint64_t kWholeSpan = std::uint64_t{64} << 20;
constexpr std::uint64_t kGapEdge = 4096;
constexpr std::uint64_t kChunk = std::uint64_t{16} << 20;

// A 16-bit word with bits 14..7 set is a NaN of bf16 and, bit 6..0 being no zero, of f16; as the
// upper half of an f32 it makes that a NaN too. Bit 1 stays clear: 0x7fff, the NaN that arithmetic
// produces, is none of these.
constexpr std::uint64_t kRandomBits = 0x807c807c807c807cULL;
constexpr std::uint64_t kFixedBits = 0x7f817f817f817f81ULL;

std::uint64_t pattern_unit(std::uint64_t key, std::int64_t unit) {
  const std::uint64_t bits = Random(key ^ static_cast<std::uint64_t>(unit)).next();
  return (bits & kRandomBits) | kFixedBits;
}

std::uint64_t checked_span(const GuardedBuffer::Layout& layout, const std::string& name) {
  if (layout.rows == 0 || layout.row_bytes == 0) return 0;
  if (layout.pitch_bytes < layout.row_bytes) {
    throw InputError(fmt::format("buffer '{}': rows of {} bytes overlap at a pitch of {} bytes",
                                 name, layout.row_bytes, layout.pitch_bytes));
  }
  std::uint64_t span = 0;
  if (__builtin_mul_overflow(layout.rows - 1, layout.pitch_bytes, &span) ||
      __builtin_add_overflow(span, layout.row_bytes, &span) || span >> 62U != 0) {
    throw InputError(fmt::format("buffer '{}': {} rows, {} bytes apart, exceed 2^62 bytes", name,
                                 layout.rows, layout.pitch_bytes));
  }
  return span;
}

std::uint64_t different_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, std::string name, const Layout& layout,
                             const Options& options)
    : device_(&device),
      name_(std::move(name)),
      layout_(layout),
      guard_bytes_(options.guard_bytes),
      key_(Random(options.seed, name_).next()) {
  if (layout_.pitch_bytes == 0) layout_.pitch_bytes = layout_.row_bytes;
  const std::uint64_t span = checked_span(layout_, name_);
  address_ = device_->allocate(span, name_, options.offset, guard_bytes_, options.read_only);
  const auto guard = static_cast<std::int64_t>(guard_bytes_);
  if (touched_as_a_whole()) {
    write_pattern(-guard, span + 2 * guard_bytes_);
    mark_undefined();
  } else {
    write_pattern(-guard, guard_bytes_);
    for_each_gap([&](std::int64_t offset, std::uint64_t bytes) { write_pattern(offset, bytes); });
    write_pattern(static_cast<std::int64_t>(span), guard_bytes_);
    poison();
  }
}

GuardedBuffer::~GuardedBuffer() {
  if (device_ != nullptr) device_->release(address_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      name_(std::move(other.name_)),
      layout_(other.layout_),
      guard_bytes_(other.guard_bytes_),
      key_(other.key_),
      address_(other.address_) {}

void GuardedBuffer::upload(std::span<const std::byte> payload) {
  if (payload.size() != payload_bytes()) {
    throw InputError(fmt::format("buffer '{}' holds {} bytes, {} were given", name_,
                                 payload_bytes(), payload.size()));
  }
  if (layout_.pitch_bytes == layout_.row_bytes) {
    if (!payload.empty()) device_->write(address_, payload);
    return;
  }
  for (std::uint64_t row = 0; row < layout_.rows; ++row) {
    device_->write(address_ + row * layout_.pitch_bytes,
                   payload.subspan(row * layout_.row_bytes, layout_.row_bytes));
  }
}

std::vector<std::byte> GuardedBuffer::download() {
  std::vector<std::byte> payload(payload_bytes());
  if (payload.empty()) return payload;
  if (layout_.pitch_bytes == layout_.row_bytes) {
    device_->read(address_, payload);
    return payload;
  }
  const std::span<std::byte> rows(payload);
  std::vector<std::byte> image(touched_as_a_whole() ? span_bytes() : 0);
  if (!image.empty()) device_->read(address_, image);
  for (std::uint64_t row = 0; row < layout_.rows; ++row) {
    const auto out = rows.subspan(row * layout_.row_bytes, layout_.row_bytes);
    if (image.empty()) {
      device_->read(address_ + row * layout_.pitch_bytes, out);
    } else {
      std::memcpy(out.data(), image.data() + row * layout_.pitch_bytes, out.size());
    }
  }
  return payload;
}

void GuardedBuffer::poison() {
  if (layout_.pitch_bytes == layout_.row_bytes) {
    write_pattern(0, payload_bytes());
  } else {
    for (std::uint64_t row = 0; row < layout_.rows; ++row) {
      write_pattern(static_cast<std::int64_t>(row * layout_.pitch_bytes), layout_.row_bytes);
    }
  }
  mark_undefined();
}

void GuardedBuffer::mark_undefined() {
  if (layout_.pitch_bytes == layout_.row_bytes) {
    device_->mark_undefined(address_, payload_bytes());
    return;
  }
  for (std::uint64_t row = 0; row < layout_.rows; ++row) {
    device_->mark_undefined(address_ + row * layout_.pitch_bytes, layout_.row_bytes);
  }
}

GuardedBuffer::Unwritten GuardedBuffer::unwritten(std::span<const std::byte> payload,
                                                  std::uint64_t element_bytes) const {
  Unwritten result;
  if (layout_.row_bytes == 0) return result;
  std::vector<std::byte> expected(layout_.row_bytes);
  for (std::uint64_t row = 0; row < layout_.rows; ++row) {
    pattern(static_cast<std::int64_t>(row * layout_.pitch_bytes), expected);
    const std::byte* got = payload.data() + row * layout_.row_bytes;
    for (std::uint64_t at = 0; at + element_bytes <= layout_.row_bytes; at += element_bytes) {
      if (std::memcmp(got + at, expected.data() + at, element_bytes) != 0) continue;
      if (result.count++ == 0) result.first = (row * layout_.row_bytes + at) / element_bytes;
    }
  }
  return result;
}

GuardedBuffer::Damage GuardedBuffer::check_guards() {
  Damage damage;
  const auto guard = static_cast<std::int64_t>(guard_bytes_);
  const std::uint64_t span = span_bytes();
  std::vector<std::byte> image;
  if (touched_as_a_whole()) {
    image.resize(span + 2 * guard_bytes_);
    if (!image.empty()) device_->read(address_ - guard_bytes_, image);
  }
  std::vector<std::byte> got;
  std::vector<std::byte> want;
  const auto check = [&](std::int64_t offset, std::uint64_t bytes, std::uint64_t& changed) {
    want.resize(bytes);
    pattern(offset, want);
    std::span<const std::byte> found;
    if (image.empty()) {
      got.resize(bytes);
      if (bytes > 0) device_->read(address_ + static_cast<std::uint64_t>(offset), got);
      found = got;
    } else {
      found = std::span(image).subspan(static_cast<std::uint64_t>(offset + guard), bytes);
    }
    const std::uint64_t different = bytes == 0 ? 0 : different_bytes(found, want);
    changed += different;
    if (different > 0 && !damage.first_offset) {
      damage.first_offset = offset + (std::ranges::mismatch(found, want).in1 - found.begin());
    }
  };
  check(-guard, guard_bytes_, damage.before);
  for_each_gap(
      [&](std::int64_t offset, std::uint64_t bytes) { check(offset, bytes, damage.gaps); });
  check(static_cast<std::int64_t>(span), guard_bytes_, damage.after);
  if (!damage.any()) return damage;

  std::string where;
  const std::int64_t first = *damage.first_offset;
  if (first < 0) {
    where = fmt::format("{} bytes below its start", -first);
  } else if (static_cast<std::uint64_t>(first) >= span) {
    where = fmt::format("{} bytes past its end", static_cast<std::uint64_t>(first) - span);
  } else {
    where =
        fmt::format("in the gap behind row {}, {} bytes past the row's end",
                    static_cast<std::uint64_t>(first) / layout_.pitch_bytes,
                    static_cast<std::uint64_t>(first) % layout_.pitch_bytes - layout_.row_bytes);
  }
  damage.message = fmt::format(
      "'{}': bytes changed outside the buffer: {} below it, {} between rows, {} above it; the "
      "first "
      "{}",
      name_, damage.before, damage.gaps, damage.after, where);
  return damage;
}

std::uint64_t GuardedBuffer::changed_bytes(std::span<const std::byte> uploaded) {
  if (uploaded.size() != payload_bytes()) {
    throw InputError(fmt::format("buffer '{}' holds {} bytes, {} are expected", name_,
                                 payload_bytes(), uploaded.size()));
  }
  return uploaded.empty() ? 0 : different_bytes(download(), uploaded);
}

std::uint64_t GuardedBuffer::span_bytes() const {
  if (payload_bytes() == 0) return 0;
  return (layout_.rows - 1) * layout_.pitch_bytes + layout_.row_bytes;
}

bool GuardedBuffer::touched_as_a_whole() const { return span_bytes() <= kWholeSpan; }

void GuardedBuffer::pattern(std::int64_t offset, std::span<std::byte> out) const {
  // Floor division, so that the pattern runs on through offset 0 into the lower guard.
  std::int64_t unit = offset >> 3;
  auto skip = static_cast<std::size_t>(offset - unit * 8);
  for (std::size_t done = 0; done < out.size(); ++unit, skip = 0) {
    const std::uint64_t bits = pattern_unit(key_, unit);
    std::array<std::byte, 8> bytes;
    std::memcpy(bytes.data(), &bits, 8);
    const std::size_t count = std::min<std::size_t>(8 - skip, out.size() - done);
    std::memcpy(out.data() + done, bytes.data() + skip, count);
    done += count;
  }
}

void GuardedBuffer::write_pattern(std::int64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> chunk(std::min(bytes, kChunk));
  for (std::uint64_t done = 0; done < bytes; done += chunk.size()) {
    const auto part = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), bytes - done));
    const std::uint64_t at = static_cast<std::uint64_t>(offset) + done;
    pattern(static_cast<std::int64_t>(at), part);
    device_->write(address_ + at, part);
  }
}

template <class Use>
void GuardedBuffer::for_each_gap(const Use& use) const {
  if (payload_bytes() == 0 || layout_.pitch_bytes == layout_.row_bytes) return;
  const std::uint64_t gap = layout_.pitch_bytes - layout_.row_bytes;
  const bool whole = touched_as_a_whole() || gap <= 2 * kGapEdge;
  for (std::uint64_t row = 0; row + 1 < layout_.rows; ++row) {
    const auto begin = static_cast<std::int64_t>(row * layout_.pitch_bytes + layout_.row_bytes);
    if (whole) {
      use(begin, gap);
    } else {
      use(begin, kGapEdge);
      use(begin + static_cast<std::int64_t>(gap - kGapEdge), kGapEdge);
    }
  }
}

}  // namespace bitgate::kernels
