#include "reference/formats/gguf_blocks/block_type.h"

#include <algorithm>
#include <array>

#include "reference/formats/gguf_blocks/decode.h"

namespace bitgate::formats {
namespace {

constexpr std::array kTypes = {
    BlockType{0, "F32", 1, 4, decode_f32},
    BlockType{1, "F16", 1, 2, decode_f16},
    BlockType{2, "Q4_0", 32, 18, decode_q4_0},
    BlockType{3, "Q4_1", 32, 20, decode_q4_1},
    BlockType{6, "Q5_0", 32, 22, decode_q5_0},
    BlockType{7, "Q5_1", 32, 24, decode_q5_1},
    BlockType{8, "Q8_0", 32, 34, decode_q8_0},
    BlockType{9, "Q8_1", 32, 36},
    BlockType{10, "Q2_K", 256, 84, decode_q2_k},
    BlockType{11, "Q3_K", 256, 110, decode_q3_k},
    BlockType{12, "Q4_K", 256, 144, decode_q4_k},
    BlockType{13, "Q5_K", 256, 176, decode_q5_k},
    BlockType{14, "Q6_K", 256, 210, decode_q6_k},
    BlockType{15, "Q8_K", 256, 292},
    BlockType{16, "IQ2_XXS", 256, 66},
    BlockType{17, "IQ2_XS", 256, 74},
    BlockType{18, "IQ3_XXS", 256, 98},
    BlockType{19, "IQ1_S", 256, 50},
    BlockType{20, "IQ4_NL", 32, 18},
    BlockType{21, "IQ3_S", 256, 110},
    BlockType{22, "IQ2_S", 256, 82},
    BlockType{23, "IQ4_XS", 256, 136},
    BlockType{24, "I8", 1, 1},
    BlockType{25, "I16", 1, 2},
    BlockType{26, "I32", 1, 4},
    BlockType{27, "I64", 1, 8},
    BlockType{28, "F64", 1, 8},
    BlockType{29, "IQ1_M", 256, 56},
    BlockType{30, "BF16", 1, 2},
    BlockType{34, "TQ1_0", 256, 54},
    BlockType{35, "TQ2_0", 256, 66},
    BlockType{39, "MXFP4", 32, 17},
};

}  // namespace

const BlockType* find_block_type(std::uint32_t id) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [=](const BlockType& type) { return type.id == id; });
  return found == kTypes.end() ? nullptr : &*found;
}

std::string block_type_name(std::uint32_t id) {
  const BlockType* const type = find_block_type(id);
  return type != nullptr ? std::string(type->name) : "type " + std::to_string(id);
}

}  // namespace bitgate::formats
