#include "ci/suite/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fuzz/case_pool.h"
#include "reference/support/error.h"

namespace bitgate::suite {

namespace {

/// Each holds a context of its own on the one GPU; more of them only take turns.
constexpr unsigned kMostCudaThreads = 8;

DeviceKind describe(const kernels::Device& device) {
  const auto& properties = device.properties();
  DeviceKind kind;
  kind.kind = properties.kind;
  kind.description = properties.description;
  kind.tensor_model = properties.tensor_model;
  kind.multiprocessors = properties.multiprocessors;
  return kind;
}

std::optional<DeviceKind> cuda_device(std::string& reason) {
  const auto device = kernels::make_cuda_device(reason);
  if (device == nullptr) return std::nullopt;
  DeviceKind kind = describe(*device);
  kind.threads = std::min(fuzz::host_threads(), kMostCudaThreads);
  kind.make = [] {
    std::string lost;
    auto made = kernels::make_cuda_device(lost);
    if (made == nullptr) throw kernels::DeviceLost("cuda: " + lost);
    return made;
  };
  return kind;
}

DeviceKind machine_device(const numeric::TensorModel& model) {
  DeviceKind kind = describe(*kernels::make_machine_device(model));
  kind.threads = fuzz::host_threads();
  kind.make = [&model] { return kernels::make_machine_device(model); };
  return kind;
}

}  // namespace

DeviceChoice device_choice(std::string_view text) {
  if (text == "auto") return DeviceChoice::automatic;
  if (text == "machine") return DeviceChoice::machine;
  if (text == "cuda") return DeviceChoice::cuda;
  if (text == "both") return DeviceChoice::both;
  throw InputError(
      fmt::format("--device: expected auto, machine, cuda or both, found \"{}\"", text));
}

std::vector<DeviceKind> devices_for(DeviceChoice choice, const numeric::TensorModel* model) {
  std::optional<DeviceKind> cuda;
  if (choice != DeviceChoice::machine) {
    std::string reason;
    cuda = cuda_device(reason);
    if (!cuda && choice != DeviceChoice::automatic) {
      throw NoDevice("no cuda device: " + reason);
    }
  }
  std::vector<DeviceKind> devices;
  if (choice != DeviceChoice::cuda) {
    if (model == nullptr) model = cuda ? cuda->tensor_model : &numeric::tensor_model("hopper");
    devices.push_back(machine_device(*model));
  }
  if (cuda) devices.push_back(std::move(*cuda));
  return devices;
}

std::string name_of(const std::vector<DeviceKind>& devices) {
  return devices.size() == 1 ? devices.front().kind : "both";
}

}  // namespace bitgate::suite
