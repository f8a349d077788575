#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "reference/machine/machine.h"

namespace bitgate::machine {

/// Runs small PTX bodies in tests. The kernel gets two pointers: %rd1 to 64 bytes of input a
/// thread, %rd2 to 64 bytes of output a thread (zero at first); both registers point at the
/// thread's own.
class TestMachine {
 public:
  static constexpr std::size_t kWords = 16;  ///< 32-bit words a thread has of each

  explicit TestMachine(std::uint32_t threads = 32, std::uint32_t blocks = 1)
      : threads_(threads), blocks_(blocks), in_(std::size_t{threads} * blocks * kWords) {}

  std::uint32_t& in(std::size_t thread, std::size_t word) { return in_.at(thread * kWords + word); }
  void in64(std::size_t thread, std::size_t word, std::uint64_t value) {
    in(thread, word) = static_cast<std::uint32_t>(value);
    in(thread, word + 1) = static_cast<std::uint32_t>(value >> 32);
  }
  std::uint32_t out(std::size_t thread, std::size_t word = 0) const {
    return out_.at(thread * kWords + word);
  }
  std::uint64_t out64(std::size_t thread, std::size_t word = 0) const {
    return std::uint64_t{out(thread, word + 1)} << 32 | out(thread, word);
  }

  Options options;
  std::uint32_t dynamic_shared_bytes = 0;

  static std::string module(const std::string& body, const std::string& before = {}) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
           "\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
           ".reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .f32 %f<32>;\n"
           ".reg .b64 %rd<32>; .reg .f64 %fd<32>; .reg .b32 %t<4>; .reg .b64 %td<4>;\n"
           "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
           "mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x;\n"
           "mad.lo.s32 %t3, %t0, %t1, %t2; mul.wide.u32 %td0, %t3, 64;\n"
           "add.s64 %rd1, %rd1, %td0; add.s64 %rd2, %rd2, %td0;\n" +
           body + "\n}\n";
  }

  Outcome run(const std::string& body, const std::string& before = {}) {
    const Program program = Program::load(module(body, before), "test.ptx");
    GlobalMemory memory;
    const std::uint64_t bytes = in_.size() * 4;
    const std::uint64_t in_address = memory.allocate(bytes, "in");
    const std::uint64_t out_address = memory.allocate(bytes, "out");
    memory.write(in_address, std::as_bytes(std::span(in_)));
    memory.set_read_only(in_address, true);
    Launch launch;
    launch.entry = "k";
    launch.grid = {blocks_, 1, 1};
    launch.block = {threads_, 1, 1};
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.parameters.resize(16);
    std::memcpy(launch.parameters.data(), &in_address, 8);
    std::memcpy(launch.parameters.data() + 8, &out_address, 8);
    Outcome outcome = machine::run(program, launch, memory, options);
    out_.resize(in_.size());
    memory.read(out_address, std::as_writable_bytes(std::span(out_)));
    return outcome;
  }

  /// For messages of failed expectations.
  static std::string describe(const Outcome& outcome) {
    return outcome.fault ? std::string(name(outcome.fault->kind)) + ": " + outcome.fault->message +
                               " at " + outcome.fault->site.instruction
                         : "ran";
  }

 private:
  std::uint32_t threads_;
  std::uint32_t blocks_;
  std::vector<std::uint32_t> in_;
  std::vector<std::uint32_t> out_;
};

}  // namespace bitgate::machine
