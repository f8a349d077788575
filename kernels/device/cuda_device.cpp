#include "kernels/device/cuda_device.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <new>
#include <thread>
#include <utility>

#include "kernels/device/arguments.h"
#include "kernels/device/ptxas.h"
#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSharedWithoutAsking = 48 * 1024;

/// Errors after which the context answers nothing more ("CUDA Driver API", CUresult): illegal
/// address, launch timeout, assert, hardware stack, illegal instruction, misaligned address,
/// invalid address space, invalid pc, launch failure, uncorrectable ECC.
bool ends_the_context(cuda::Result result) {
  return result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719) ||
         result == 214;
}

/// "580.159.03" of the kernel module, or nothing.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.size() > 4 && word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return {};
}

}  // namespace

CudaDevice::CudaDevice(const cuda::Driver& driver) : driver_(driver) {
  check(driver_.init(0), "cuInit");
  int count = 0;
  check(driver_.device_count(&count), "cuDeviceGetCount");
  if (count == 0) throw std::runtime_error("the NVIDIA driver shows no GPU");
  check(driver_.device_get(&device_, 0), "cuDeviceGet");
  std::array<char, 256> device_name{};
  check(driver_.device_name(device_name.data(), static_cast<int>(device_name.size()) - 1, device_),
        "cuDeviceGetName");
  const auto attribute = [&](int which) {
    int value = 0;
    check(driver_.device_attribute(&value, which, device_), "cuDeviceGetAttribute");
    return value;
  };
  std::size_t memory = 0;
  check(driver_.device_memory(&memory, device_), "cuDeviceTotalMem");
  int version = 0;
  check(driver_.driver_version(&version), "cuDriverGetVersion");
  const std::string module_version = kernel_module_version();

  properties_.kind = "cuda";
  properties_.description = module_version.empty()
                                ? fmt::format("{}, driver for CUDA {}.{}", device_name.data(),
                                              version / 1000, version % 1000 / 10)
                                : fmt::format("{}, driver {}", device_name.data(), module_version);
  properties_.compute_capability_major = attribute(cuda::kAttributeCapabilityMajor);
  properties_.compute_capability_minor = attribute(cuda::kAttributeCapabilityMinor);
  properties_.multiprocessors = attribute(cuda::kAttributeMultiprocessors);
  properties_.l2_bytes = static_cast<std::uint64_t>(attribute(cuda::kAttributeL2Bytes));
  properties_.memory_bytes = memory;
  properties_.tensor_model = &numeric::tensor_model_for(properties_.compute_capability_major,
                                                        properties_.compute_capability_minor);
  open();
}

CudaDevice::~CudaDevice() {
  // Destroying the context of a kernel that never ends would wait for it.
  if (lost_.empty()) close();
}

void CudaDevice::open() {
  check(driver_.context_create(&context_, 0, device_), "cuCtxCreate");
  check(driver_.stream_create(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate");
  check(driver_.event_create(&started_, 0), "cuEventCreate");
  check(driver_.event_create(&finished_, 0), "cuEventCreate");
}

void CudaDevice::close() {
  modules_.clear();
  buffers_.clear();
  // Frees all that the context holds. After a fault it reports that fault again.
  if (context_ != nullptr) driver_.context_destroy(std::exchange(context_, nullptr));
}

void CudaDevice::replace_context() {
  close();
  try {
    open();
    const std::uint64_t probe = allocate(256, "probe", 0, 0, false);
    std::array<std::byte, 256> bytes{};
    write(probe, bytes);
    release(probe);
  } catch (const std::exception& error) {
    lost_ = fmt::format("the context could not be replaced after a fault: {}", error.what());
  }
}

void CudaDevice::enter() {
  if (!lost_.empty()) throw DeviceLost(lost_);
  check(driver_.context_set_current(context_), "cuCtxSetCurrent");
}

std::uint64_t CudaDevice::allocate(std::uint64_t bytes, std::string_view name, std::uint64_t offset,
                                   std::uint64_t guard_bytes, bool /*read_only*/) {
  enter();
  // cuMemAlloc aligns to 256 bytes at least.
  std::uint64_t below = 0;
  std::uint64_t total = 0;
  if (__builtin_add_overflow(guard_bytes, 511, &below)) throw std::bad_alloc();
  below = (guard_bytes + 255) / 256 * 256 + offset;
  if (__builtin_add_overflow(below, bytes, &total) ||
      __builtin_add_overflow(total, guard_bytes + 1, &total)) {
    throw std::bad_alloc();
  }
  cuda::DevicePointer base = 0;
  const cuda::Result result = driver_.memory_allocate(&base, total);
  if (result == cuda::kOutOfMemory) throw std::bad_alloc();
  cuda::check(driver_, result, fmt::format("cuMemAlloc for '{}'", name).c_str());
  const std::uint64_t address = base + below;
  buffers_.emplace(address, base);
  return address;
}

void CudaDevice::release(std::uint64_t address) {
  const auto at = buffers_.find(address);
  if (at == buffers_.end() || !lost_.empty()) return;  // gone with an earlier context
  driver_.context_set_current(context_);
  const cuda::Result result = driver_.memory_free(at->second);
  buffers_.erase(at);
  // Called from destructors, so that the next call is the one that throws.
  if (result != cuda::kSuccess) lost_ = fmt::format("cuMemFree: {}", driver_.describe(result));
}

void CudaDevice::write(std::uint64_t address, std::span<const std::byte> bytes) {
  enter();
  check(driver_.copy_to_device(address, bytes.data(), bytes.size(), stream_), "cuMemcpyHtoDAsync");
  check(driver_.stream_synchronize(stream_), "cuStreamSynchronize");
}

void CudaDevice::read(std::uint64_t address, std::span<std::byte> bytes) {
  enter();
  check(driver_.copy_to_host(bytes.data(), address, bytes.size(), stream_), "cuMemcpyDtoHAsync");
  check(driver_.stream_synchronize(stream_), "cuStreamSynchronize");
}

CudaDevice::Loaded CudaDevice::compile(const Code& code) {
  Loaded loaded;
  std::vector<std::byte> image;
  const int major = properties_.compute_capability_major;
  const auto take = [&](std::span<const std::byte> cubin, std::string how) {
    image.assign(cubin.begin(), cubin.end());
    loaded.compiled_by = std::move(how);
  };
  if (major == 9 && !code.cubin_sm90.empty()) {
    take(code.cubin_sm90, "cubin sm_90 as built");
  } else if (major == 8 && !code.cubin_sm80.empty()) {
    take(code.cubin_sm80, "cubin sm_80 as built");
  } else if (const auto ptxas = find_ptxas(); ptxas && code.cubin_sm80.empty()) {
    const std::string target = ptxas_target(code.ptx, major, properties_.compute_capability_minor);
    take(run_ptxas(*ptxas, code.ptx, target), fmt::format("{} for {}", ptxas->string(), target));
  } else {
    take(std::as_bytes(std::span(code.ptx)), "driver JIT");
    image.push_back(std::byte{0});
  }

  std::array<char, 4096> log{};
  std::array<int, 2> options{cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const cuda::Result result = driver_.module_load(&loaded.module, image.data(), options.size(),
                                                  options.data(), values.data());
  if (result != cuda::kSuccess) {
    throw InputError(fmt::format("{}: the driver does not load it ({}): {} {}", code.name,
                                 loaded.compiled_by, driver_.describe(result), log.data()));
  }
  return loaded;
}

CudaDevice::Loaded& CudaDevice::load(const Code& code) {
  Loaded* loaded = modules_.find(code);
  return loaded != nullptr ? *loaded : modules_.insert(code, compile(code));
}

CudaDevice::Entry& CudaDevice::entry(Loaded& loaded, const std::string& name) {
  const auto known = loaded.entries.find(name);
  if (known != loaded.entries.end()) return known->second;
  Entry entry;
  check(driver_.module_function(&entry.function, loaded.module, name.c_str()),
        "cuModuleGetFunction");
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    if (driver_.function_parameter(entry.function, i, &offset, &bytes) != cuda::kSuccess) break;
    entry.parameters.push_back({.name = fmt::format("{}_param_{}", name, i),
                                .offset = static_cast<std::uint32_t>(offset),
                                .bytes = static_cast<std::uint32_t>(bytes)});
  }
  return loaded.entries.emplace(name, std::move(entry)).first->second;
}

void CudaDevice::enqueue(Entry& entry, const Launch& launch) {
  if (const std::string mismatch = argument_mismatch(entry.parameters, launch.arguments);
      !mismatch.empty()) {
    throw InputError(fmt::format("{}: {}", launch.entry, mismatch));
  }
  if (launch.dynamic_shared_bytes > kSharedWithoutAsking) {
    check(driver_.function_set_attribute(entry.function, cuda::kFunctionMaxDynamicShared,
                                         static_cast<int>(launch.dynamic_shared_bytes)),
          "cuFuncSetAttribute (max dynamic shared memory)");
  }
  std::vector<void*> parameters;
  parameters.reserve(launch.arguments.size());
  for (const auto& argument : launch.arguments) {
    parameters.push_back(const_cast<std::byte*>(argument.data()));
  }
  check(driver_.launch(entry.function, launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x,
                       launch.block.y, launch.block.z, launch.dynamic_shared_bytes, stream_,
                       parameters.data(), nullptr),
        "cuLaunchKernel");
}

LaunchOutcome CudaDevice::wait(const Launch& launch, const LaunchOptions& options) {
  using Status = LaunchOutcome::Status;
  LaunchOutcome outcome;
  const auto begin = Clock::now();
  const auto lose = [&](Status status, std::string message) {
    outcome.status = status;
    outcome.message = lost_ = std::move(message);
  };
  for (;;) {
    const cuda::Result result = driver_.event_query(finished_);
    if (result == cuda::kSuccess) return outcome;
    if (result != cuda::kNotReady) {
      outcome.status = Status::fault;
      outcome.message = fmt::format("{}: {}", launch.entry, driver_.describe(result));
      replace_context();
      return outcome;
    }
    const auto waited = Clock::now() - begin;
    if (waited > options.time_limit) {
      lose(Status::timeout,
           fmt::format("{} did not end within {:.1f} s; it cannot be stopped, the device is lost",
                       launch.entry, std::chrono::duration<double>(options.time_limit).count()));
      return outcome;
    }
    if (options.interrupted != nullptr && *options.interrupted) {
      lose(Status::lost, fmt::format("interrupted while {} ran", launch.entry));
      return outcome;
    }
    // Most kernels end within microseconds; a long one is no reason to hold a core.
    if (waited > std::chrono::milliseconds(1)) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

LaunchOutcome CudaDevice::launch(const Code& code, const Launch& launch,
                                 const LaunchOptions& options) {
  using Status = LaunchOutcome::Status;
  LaunchOutcome outcome;
  try {
    enter();
    enqueue(entry(load(code), launch.entry), launch);
    check(driver_.event_record(finished_, stream_), "cuEventRecord");
    return wait(launch, options);
  } catch (const DeviceLost& error) {
    outcome.status = Status::lost;
    outcome.message = error.what();
  } catch (const InputError& error) {
    outcome.status = Status::refused;
    outcome.message = error.what();
  } catch (const cuda::Error& error) {
    const bool fault = ends_the_context(error.result());
    outcome.status = fault ? Status::fault : Status::refused;
    outcome.message = fmt::format("{}: {}", launch.entry, error.what());
    if (fault) replace_context();
  }
  return outcome;
}

std::string CudaDevice::compiled_by(const Code& code) const {
  const Loaded* loaded = modules_.find(code);
  return loaded == nullptr ? std::string() : loaded->compiled_by;
}

std::unique_ptr<CudaDevice::Replay> CudaDevice::record(const Code& code,
                                                       std::span<const Launch> launches,
                                                       int calls) {
  if (launches.empty()) throw InputError("no launch to time");
  enter();
  // A module cannot be loaded during capture.
  Loaded& loaded = load(code);
  for (const Launch& launch : launches) entry(loaded, launch.entry);
  check(driver_.capture_begin(stream_, cuda::kCaptureThreadLocal), "cuStreamBeginCapture");
  cuda::Graph graph = nullptr;
  try {
    for (int call = 0; call < calls; ++call) {
      const Launch& launch = launches[static_cast<std::size_t>(call) % launches.size()];
      enqueue(entry(loaded, launch.entry), launch);
    }
  } catch (...) {
    if (driver_.capture_end(stream_, &graph) == cuda::kSuccess) driver_.graph_destroy(graph);
    throw;
  }
  check(driver_.capture_end(stream_, &graph), "cuStreamEndCapture");
  cuda::GraphExec exec = nullptr;
  const cuda::Result result = driver_.graph_instantiate(&exec, graph, 0);
  driver_.graph_destroy(graph);
  check(result, "cuGraphInstantiate");
  return std::unique_ptr<Replay>(new Replay(*this, exec));
}

float CudaDevice::Replay::run() {
  device_.enter();
  device_.check(device_.driver_.event_record(device_.started_, device_.stream_), "cuEventRecord");
  device_.check(device_.driver_.graph_launch(exec_, device_.stream_), "cuGraphLaunch");
  device_.check(device_.driver_.event_record(device_.finished_, device_.stream_), "cuEventRecord");
  device_.check(device_.driver_.stream_synchronize(device_.stream_), "cuStreamSynchronize");
  float milliseconds = 0;
  device_.check(
      device_.driver_.event_elapsed_ms(&milliseconds, device_.started_, device_.finished_),
      "cuEventElapsedTime");
  return milliseconds;
}

CudaDevice::Replay::~Replay() { device_.driver_.graph_exec_destroy(exec_); }

std::unique_ptr<Device> make_cuda_device(std::string& reason) {
  const cuda::Driver* driver = cuda::load_driver(reason);
  if (driver == nullptr) return nullptr;
  try {
    return std::make_unique<CudaDevice>(*driver);
  } catch (const std::exception& error) {
    reason = error.what();
    return nullptr;
  }
}

}  // namespace bitgate::kernels
