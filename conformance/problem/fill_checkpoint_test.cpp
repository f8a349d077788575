#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "conformance/problem/fill.h"
#include "reference/formats/checkpoint.h"
#include "reference/formats/quant_config.h"
#include "reference/formats/test_vectors.h"
#include "reference/support/error.h"

namespace bitgate::conformance {
namespace {

/// A checkpoint whose one layer, "x.proj", is that of a real fill.
class WrittenCheckpoint {
 public:
  explicit WrittenCheckpoint(const std::string& keys)
      : problem_(materialise(parse_spec("w4a16 fill=real " + keys))) {
    formats::write_checkpoint(
        folder_.path() / "model.safetensors", {{"x.proj", problem_.layer}}, {},
        {{"quantization_config", formats::public_quant_config(problem_.layer.config)}});
  }

  Problem read(const std::string& keys) const {
    return materialise(parse_spec(fmt::format("w4a16 fill=checkpoint checkpoint={} layer=x.proj {}",
                                              folder_.path().string(), keys)));
  }
  const Problem& written() const { return problem_; }

 private:
  formats::ScratchFolder folder_;
  Problem problem_;
};

TEST(FillCheckpoint, TakesTheLayerAsItIs) {
  for (const char* keys :
       {"m=3 k=128 n=40 group=32 zero=gptq_v1", "m=3 k=128 n=40 group=-1 zero=gptq_v2",
        "m=3 k=128 n=40 group=64 zero=awq", "m=3 k=128 n=40 group=32 zero=gptq_v2 order=random",
        "m=3 k=128 n=40 group=32 zero=sym"}) {
    const WrittenCheckpoint checkpoint(keys);
    const Problem problem = checkpoint.read(keys);
    const Problem& written = checkpoint.written();
    EXPECT_EQ(problem.judge, Judge::replay);
    EXPECT_EQ(problem.layer.qweight, written.layer.qweight) << keys;
    EXPECT_EQ(problem.layer.scales, written.layer.scales);
    EXPECT_EQ(problem.matrix.q, written.matrix.q);
    EXPECT_EQ(problem.matrix.z, written.matrix.z);
    EXPECT_EQ(problem.matrix.g_idx, written.matrix.g_idx);
    EXPECT_EQ(problem.activations, written.activations);
  }
}

TEST(FillCheckpoint, RefusesWhatTheSpecDoesNotSay) {
  const WrittenCheckpoint checkpoint("m=1 k=128 n=40 group=32 zero=gptq_v2");
  for (const char* keys :
       {"m=1 k=64 n=40 group=32 zero=gptq_v2", "m=1 k=128 n=48 group=32 zero=gptq_v2",
        "m=1 k=128 n=40 group=64 zero=gptq_v2", "m=1 k=128 n=40 group=32 zero=gptq_v1",
        "m=1 k=128 n=40 group=32 zero=awq", "m=1 k=128 n=40 group=32 zero=sym",
        "m=1 k=128 n=40 group=32 zero=gptq_v2 order=random",
        "m=1 k=128 n=40 group=32 zero=gptq_v2 type=bf16"}) {
    EXPECT_THROW(checkpoint.read(keys), InputError) << keys;
  }
  EXPECT_THROW(materialise(parse_spec(
                   "w4a16 fill=checkpoint checkpoint=/nonexistent layer=x.proj k=64 group=32")),
               InputError);
}

}  // namespace
}  // namespace bitgate::conformance
