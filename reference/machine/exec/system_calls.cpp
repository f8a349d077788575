#include "reference/machine/exec/system_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/exec/print_format.h"
#include "reference/machine/hazard/hazards.h"

namespace bitgate::machine {

namespace {

/// What a block may print; CUDA's own buffer holds 1 MiB for all blocks.
constexpr std::size_t kMostPrintedBytes = std::size_t{1} << 20;
constexpr std::size_t kLongestString = std::size_t{1} << 16;

std::string read_string(Context& x, std::size_t lane, std::uint64_t address) {
  std::string result;
  for (; result.size() < kLongestString; ++address) {
    const char c = static_cast<char>(*locate_lane(x, lane, address, 1, 1, Access::read));
    if (c == '\0') break;
    result += c;
  }
  return result;
}

/// vprintf(format, arguments): each argument lies at a multiple of its size.
void print(Context& x, const Op& op) {
  const std::uint64_t* format = x.lanes64(op.a);
  const std::uint64_t* arguments = x.lanes64(op.b);
  std::uint32_t* result = x.lanes32(op.d);
  std::string& out = x.state->printed[x.block->number];
  each_lane(x.active, [&](std::size_t lane) {
    std::uint64_t next = arguments[lane];
    PrintArguments source;
    source.number = [&](std::uint32_t bytes) {
      next = (next + bytes - 1) & ~std::uint64_t{bytes - 1};
      std::uint64_t value = 0;
      std::memcpy(&value, locate_lane(x, lane, next, bytes, bytes, Access::read), bytes);
      next += bytes;
      return value;
    };
    source.string = [&](std::uint64_t address) { return read_string(x, lane, address); };
    if (format[lane] == 0) {
      result[lane] = 0xffffffffU;
      return;
    }
    std::string text;
    result[lane] = print_formatted(read_string(x, lane, format[lane]), source, text);
    const std::size_t room = kMostPrintedBytes - std::min(out.size(), kMostPrintedBytes);
    out.append(text, 0, room);
  });
}

/// __assertfail(message, file, line, function, character size)
void fail_assertion(Context& x, const Op& op) {
  const auto lane = static_cast<std::size_t>(std::countr_zero(x.active));
  const auto text = [&](std::uint32_t field) {
    const std::uint64_t address = x.lanes64(field)[lane];
    return address == 0 ? std::string("?") : read_string(x, lane, address);
  };
  throw_fault(Fault::Kind::trap, static_cast<int>(lane),
              fmt::format("assertion `{}` failed at {}:{} in {}", text(op.a), text(op.b),
                          x.lanes32(op.c)[lane], text(op.e)));
}

void allocate(Context& x, const Op& op) {
  const std::uint64_t* bytes = x.lanes64(op.a);
  std::uint64_t* d = x.lanes64(op.d);
  each_lane(x.active,
            [&](std::size_t lane) { d[lane] = x.state->memory->heap_allocate(bytes[lane]); });
}

void release(Context& x, const Op& op) {
  const std::uint64_t* address = x.lanes64(op.a);
  auto& cached = x.state->cached_allocation;
  each_lane(x.active, [&](std::size_t lane) {
    if (address[lane] == 0) return;
    if (x.state->hazards != nullptr) x.state->hazards->released(address[lane]);
    if (!x.state->memory->heap_release(address[lane])) {
      throw_fault(Fault::Kind::out_of_bounds, static_cast<int>(lane),
                  fmt::format("free of {:#x}, which malloc did not give", address[lane]));
    }
    std::fill(cached.begin(), cached.end(), nullptr);
  });
}

}  // namespace

const SystemCall* find_system_call(std::string_view name) {
  static const std::array<SystemCall, 4> kCalls{{
      {"vprintf", {Kind::b64, Kind::b64}, Kind::b32, &print, false},
      {"__assertfail",
       {Kind::b64, Kind::b64, Kind::b32, Kind::b64, Kind::b64},
       Kind::none,
       &fail_assertion,
       false},
      {"malloc", {Kind::b64}, Kind::b64, &allocate, true},
      {"free", {Kind::b64}, Kind::none, &release, true},
  }};
  for (const SystemCall& call : kCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

}  // namespace bitgate::machine
