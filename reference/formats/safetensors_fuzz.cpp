#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "reference/formats/safetensors.h"
#include "reference/support/error.h"

/// libFuzzer: any bytes are a safetensors file that reads, or an error of ours.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bitgate;
  try {
    const auto file = formats::Safetensors::parse(std::as_bytes(std::span(data, size)), "fuzz");
    for (const std::string& name : file.names()) {
      if (file.layout(name).dtype == formats::DType::f32) {
        file.read<float>(name, formats::DType::f32);
      }
    }
  } catch (const InputError&) {
  }
  return 0;
}
