#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/formats/gguf.h"
#include "reference/support/error.h"

/// libFuzzer: any bytes are a GGUF that reads, or an error of ours.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bitgate;
  try {
    const formats::Gguf file = formats::Gguf::parse(std::as_bytes(std::span(data, size)), "fuzz");
    for (const formats::GgufTensor& tensor : file.tensors()) {
      const formats::BlockType* const type = formats::find_block_type(tensor.type);
      if (type != nullptr && type->decode != nullptr) file.dequantize(tensor);
    }
  } catch (const InputError&) {
  } catch (const Unsupported&) {
  }
  return 0;
}
