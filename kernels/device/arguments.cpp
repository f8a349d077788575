#include "kernels/device/arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace bitgate::kernels {

std::string argument_mismatch(std::span<const machine::ParameterSlot> parameters,
                              std::span<const std::vector<std::byte>> arguments) {
  if (parameters.size() != arguments.size()) {
    return fmt::format("the entry has {} parameters, the launch gives {}", parameters.size(),
                       arguments.size());
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].bytes != arguments[i].size()) {
      return fmt::format("parameter {} ('{}') has {} bytes, the launch gives {}", i,
                         parameters[i].name, parameters[i].bytes, arguments[i].size());
    }
  }
  return {};
}

std::vector<std::byte> pack_arguments(std::span<const machine::ParameterSlot> parameters,
                                      std::span<const std::vector<std::byte>> arguments) {
  std::size_t size = 0;
  for (const auto& slot : parameters) {
    size = std::max(size, std::size_t{slot.offset} + slot.bytes);
  }
  std::vector<std::byte> buffer(size);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::ranges::copy(arguments[i], buffer.begin() + parameters[i].offset);
  }
  return buffer;
}

}  // namespace bitgate::kernels
