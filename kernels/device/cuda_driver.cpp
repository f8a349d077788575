#include "kernels/device/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace bitgate::kernels::cuda {
namespace {

struct Loaded {
  Driver driver;
  std::string reason;  ///< empty: usable
};

Loaded load() {
  Loaded loaded;
  // Never closed: the driver keeps threads and exit handlers of its own.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    loaded.reason = fmt::format("no NVIDIA driver: {}", why == nullptr ? "libcuda.so.1" : why);
    return loaded;
  }
  const auto resolve = [&](const char* symbol) {
    void* function = dlsym(library, symbol);
    if (function == nullptr && loaded.reason.empty()) {
      loaded.reason = fmt::format(
          "the NVIDIA driver lacks {}: a driver for CUDA 12.4 or later is needed", symbol);
    }
    return function;
  };
#define BITGATE_CUDA_RESOLVE(symbol, member, parameters) \
  loaded.driver.member = reinterpret_cast<decltype(loaded.driver.member)>(resolve(#symbol));
  BITGATE_CUDA_FUNCTIONS(BITGATE_CUDA_RESOLVE)
#undef BITGATE_CUDA_RESOLVE
  return loaded;
}

}  // namespace

std::string Driver::describe(Result result) const {
  const char* text_name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &text_name) != kSuccess || text_name == nullptr) {
    return fmt::format("CUDA error {}", result);
  }
  if (error_string(result, &text) != kSuccess || text == nullptr) return text_name;
  return fmt::format("{} ({})", text_name, text);
}

const Driver* load_driver(std::string& reason) {
  static const Loaded loaded = load();
  if (!loaded.reason.empty()) {
    reason = loaded.reason;
    return nullptr;
  }
  return &loaded.driver;
}

void check(const Driver& driver, Result result, const char* call) {
  if (result != kSuccess) {
    throw Error(result, fmt::format("{}: {}", call, driver.describe(result)));
  }
}

}  // namespace bitgate::kernels::cuda
