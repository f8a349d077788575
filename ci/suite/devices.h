#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/device.h"

namespace bitgate::suite {

/// `automatic`: cuda where there is one, and the machine always.
enum class DeviceChoice { automatic, machine, cuda, both };

/// InputError naming the four when it is none of them.
DeviceChoice device_choice(std::string_view text);

/// A device was asked for that this host does not have: no verdict.
class NoDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kind of device to run cases on; `make` gives each thread its own.
struct DeviceKind {
  std::string kind;  ///< "machine", "cuda"
  std::string description;
  const numeric::TensorModel* tensor_model = nullptr;
  int multiprocessors = 0;
  unsigned threads = 1;
  std::function<std::unique_ptr<kernels::Device>()> make;
};

/// The devices of a choice, the machine first. The machine takes `model` or, without one, the GPU's
/// where there is a GPU, else Hopper's. NoDevice when cuda is asked for and there is none.
std::vector<DeviceKind> devices_for(DeviceChoice choice, const numeric::TensorModel* model);

/// "machine", "cuda" or "both".
std::string name_of(const std::vector<DeviceKind>& devices);

}  // namespace bitgate::suite
