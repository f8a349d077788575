#include "reference/formats/llama_names.h"

#include <gtest/gtest.h>

namespace bitgate::formats {
namespace {

TEST(LlamaNames, TranslatesLayerTensors) {
  const auto q = public_name("blk.17.attn_q.weight");
  ASSERT_TRUE(q);
  EXPECT_EQ(q->name, "model.layers.17.self_attn.q_proj");
  EXPECT_EQ(q->layer, 17);
  EXPECT_TRUE(q->projection);
  EXPECT_EQ(q->permuted, PermutedHeads::query);
  EXPECT_EQ(public_name("blk.0.attn_k.weight")->permuted, PermutedHeads::key);
  EXPECT_EQ(public_name("blk.0.attn_v.weight")->permuted, PermutedHeads::none);
  EXPECT_EQ(public_name("blk.0.ffn_down.weight")->name, "model.layers.0.mlp.down_proj");
  const auto norm = public_name("blk.3.ffn_norm.weight");
  EXPECT_EQ(norm->name, "model.layers.3.post_attention_layernorm");
  EXPECT_FALSE(norm->projection);
  EXPECT_EQ(public_name("token_embd.weight")->name, "model.embed_tokens");
  EXPECT_FALSE(public_name("token_embd.weight")->layer);
}

TEST(LlamaNames, KnowsNothingElse) {
  for (const char* name : {"", ".weight", "blk.weight", "blk.0.weight", "blk..attn_q.weight",
                           "blk.00.attn_q.weight", "blk.-1.attn_q.weight", "blk.0.attn_q.bias",
                           "blk.99999999999.attn_q.weight", "rope_freqs.weight"}) {
    EXPECT_FALSE(public_name(name)) << name;
  }
}

TEST(LlamaNames, ModelRowsUndoAdjacentRotaryPairs) {
  // Head dimension 64: GGUF row 2i+j of a head is model row 32j+i.
  for (std::int64_t head = 0; head < 3; ++head) {
    for (std::int64_t i = 0; i < 32; ++i) {
      for (std::int64_t j = 0; j < 2; ++j) {
        EXPECT_EQ(model_row(64 * head + 2 * i + j, 64), 64 * head + 32 * j + i);
      }
    }
  }
}

}  // namespace
}  // namespace bitgate::formats
