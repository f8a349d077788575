#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/code_cache.h"
#include "kernels/device/cuda_driver.h"
#include "kernels/device/device.h"

namespace bitgate::kernels {

/// The first NVIDIA GPU, through the driver API. Memory is plain device memory; guards lie around a
/// buffer in the same allocation, where a kernel can damage them.
///
/// After a fault CUDA answers nothing more in the context, and every buffer of before is gone. The
/// context is replaced where the driver allows it; after an illegal address it does not (measured:
/// H200, driver 580), and the device is lost to this process. A kernel that passes its time limit
/// cannot be stopped: the device is lost, too.
class CudaDevice final : public Device {
 public:
  /// std::runtime_error when there is no usable GPU.
  explicit CudaDevice(const cuda::Driver& driver);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceProperties& properties() const override { return properties_; }
  std::uint64_t allocate(std::uint64_t bytes, std::string_view name, std::uint64_t offset,
                         std::uint64_t guard_bytes, bool read_only) override;
  void release(std::uint64_t address) override;
  void write(std::uint64_t address, std::span<const std::byte> bytes) override;
  void read(std::uint64_t address, std::span<std::byte> bytes) override;
  LaunchOutcome launch(const Code& code, const Launch& launch,
                       const LaunchOptions& options) override;
  std::string compiled_by(const Code& code) const override;

  /// A CUDA graph of launches, one after the other, ready to replay.
  class Replay {
   public:
    /// Milliseconds of one replay, by events around it.
    float run();
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

   private:
    friend class CudaDevice;
    Replay(CudaDevice& device, cuda::GraphExec exec) : device_(device), exec_(exec) {}
    CudaDevice& device_;
    cuda::GraphExec exec_;
  };
  /// `calls` launches, rotating through `launches`. std::runtime_error when one is refused.
  std::unique_ptr<Replay> record(const Code& code, std::span<const Launch> launches, int calls);

 private:
  struct Entry {
    cuda::Function function = nullptr;
    std::vector<machine::ParameterSlot> parameters;
  };
  struct Loaded {
    cuda::Module module = nullptr;
    std::string compiled_by;
    std::map<std::string, Entry> entries;
  };

  void open();
  void close();
  void replace_context();
  void enter();
  Loaded& load(const Code& code);
  Loaded compile(const Code& code);
  Entry& entry(Loaded& loaded, const std::string& name);
  /// InputError when the launch does not fit the entry; cuda::Error when the driver refuses.
  void enqueue(Entry& entry, const Launch& launch);
  LaunchOutcome wait(const Launch& launch, const LaunchOptions& options);
  void check(cuda::Result result, const char* call) const { cuda::check(driver_, result, call); }

  const cuda::Driver& driver_;
  cuda::DeviceHandle device_ = 0;
  DeviceProperties properties_;
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Event started_ = nullptr;
  cuda::Event finished_ = nullptr;
  std::map<std::uint64_t, cuda::DevicePointer> buffers_;  ///< address → allocation
  CodeCache<Loaded> modules_;
  std::string lost_;  ///< why the device no longer answers; empty while it does
};

}  // namespace bitgate::kernels
