#include "ci/suite/both_sides.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

namespace bitgate::suite {

CompiledModule compile_module(std::string ptx, const kernels::PtxasOptions& options) {
  CompiledModule compiled{.ptx = std::move(ptx), .cubin = {}};
  if (const auto ptxas = kernels::find_ptxas()) {
    compiled.cubin = kernels::run_ptxas(*ptxas, compiled.ptx,
                                        kernels::ptxas_target(compiled.ptx, 9, 0), options);
  }
  return compiled;
}

void EntryRunner::reserve(std::size_t in_bytes, std::size_t out_bytes) {
  const auto grow = [&](std::uint64_t& address, std::size_t& have, std::size_t want,
                        const char* name) {
    if (want <= have) return;
    if (have != 0) device_->release(address);
    address = device_->allocate(want, name);
    have = want;
  };
  grow(in_, in_bytes_, in_bytes, "in");
  grow(out_, out_bytes_, out_bytes, "out");
}

EntryRunner::Result EntryRunner::run(const kernels::Code& code, const std::string& entry,
                                     std::uint32_t threads, std::uint32_t block,
                                     std::span<const std::uint64_t> in, std::size_t out_words) {
  const std::lock_guard lock(mutex_);
  Result result;
  result.words.resize(out_words);
  reserve(in.size_bytes(), out_words * sizeof(std::uint64_t));
  device_->write(in_, std::as_bytes(in));
  device_->write(out_, std::as_bytes(std::span(result.words)));
  const auto argument = [](std::uint64_t address) {
    std::vector<std::byte> bytes(sizeof address);
    std::memcpy(bytes.data(), &address, sizeof address);
    return bytes;
  };
  const kernels::Launch launch{.entry = entry,
                               .grid = {threads / block, 1, 1},
                               .block = {block, 1, 1},
                               .dynamic_shared_bytes = 0,
                               .arguments = {argument(in_), argument(out_)}};
  result.outcome = device_->launch(code, launch, {});
  if (result.outcome.status == kernels::LaunchOutcome::Status::completed) {
    device_->read(out_, std::as_writable_bytes(std::span(result.words)));
  } else {
    result.words.clear();
    // A fault takes the buffers of a GPU with it.
    if (result.outcome.status == kernels::LaunchOutcome::Status::fault) {
      device_->release(in_);
      device_->release(out_);
      in_bytes_ = out_bytes_ = 0;
    }
  }
  return result;
}

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto worker = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(most, count); ++i) threads.emplace_back(worker);
  worker();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace bitgate::suite
