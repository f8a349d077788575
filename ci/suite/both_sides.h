#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/device.h"
#include "kernels/device/ptxas.h"

namespace bitgate::suite {

/// A generated module, compiled by ptxas where there is one (else the driver compiles it on its
/// first launch).
struct CompiledModule {
  std::string ptx;
  std::vector<std::byte> cubin;
  kernels::Code code() const {
    return {.name = "generated", .ptx = ptx, .cubin_sm80 = {}, .cubin_sm90 = cubin};
  }
};

/// InputError with what ptxas said when it refuses, or when it does not end. Any thread.
CompiledModule compile_module(std::string ptx, const kernels::PtxasOptions& options = {});

/// Runs entries with the parameters (.u64 in, .u64 out) on one device, for many threads at a time.
class EntryRunner {
 public:
  explicit EntryRunner(std::unique_ptr<kernels::Device> device) : device_(std::move(device)) {}

  struct Result {
    kernels::LaunchOutcome outcome;
    std::vector<std::uint64_t> words;  ///< the output; empty unless the launch completed
  };
  /// `threads` in blocks of `block`; the output starts as zeros. InputError when the driver does
  /// not load the module.
  Result run(const kernels::Code& code, const std::string& entry, std::uint32_t threads,
             std::uint32_t block, std::span<const std::uint64_t> in, std::size_t out_words);

  const kernels::DeviceProperties& properties() const { return device_->properties(); }

 private:
  void reserve(std::size_t in_bytes, std::size_t out_bytes);

  std::mutex mutex_;
  std::unique_ptr<kernels::Device> device_;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  std::size_t in_bytes_ = 0;
  std::size_t out_bytes_ = 0;
};

/// Calls work(index) for every index below `count` on as many threads as the host has; the first
/// exception comes back.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace bitgate::suite
