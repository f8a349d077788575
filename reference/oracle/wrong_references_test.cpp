#include "reference/oracle/wrong_references.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "reference/numeric/half.h"
#include "reference/oracle/gemm_oracle.h"
#include "reference/oracle/test_problem.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

using formats::QuantConfig;
using formats::ZeroPoints;
using numeric::ScalarType;
using testing::make_problem;
using testing::TestProblem;
using testing::TestShape;

struct Scene {
  std::string name;
  TestProblem problem;
  formats::PackedLayer layer;
};

Scene make_scene(const std::string& name, TestShape shape, QuantConfig config, std::uint64_t seed) {
  config.scale_type = shape.type;
  if (config.group_size != -1) config.group_size = shape.group;
  shape.act_order = config.act_order;
  Scene scene{name, make_problem(shape, seed), {}};
  scene.layer = formats::pack(scene.problem.w, config);
  if (config.symmetric) {  // what nobody may read holds junk
    Random random(seed, "junk");
    for (auto& word : scene.layer.qzeros) word = static_cast<std::int32_t>(random.next());
  }
  return scene;
}

// Between them every hypothesis applies and shows.
std::vector<Scene> scenes() {
  const TestShape base{.m = 3, .k = 608, .n = 8};
  TestShape v1 = base;
  v1.z_low = 1;
  TestShape v2 = base;
  v2.z_high = 15;
  v2.type = ScalarType::bf16;
  TestShape symmetric = base;
  symmetric.z_low = symmetric.z_high = 8;
  TestShape whole = v2;
  whole.group = whole.k;
  QuantConfig gptq_v1{.zero_points = ZeroPoints::gptq_v1};
  QuantConfig act{.zero_points = ZeroPoints::gptq_v1, .act_order = true};
  QuantConfig gptq_v2{.zero_points = ZeroPoints::gptq_v2};
  QuantConfig sym{.symmetric = true, .zero_points = ZeroPoints::sym};
  QuantConfig awq{.zero_points = ZeroPoints::awq, .awq_layout = true};
  QuantConfig one_group{.group_size = -1, .zero_points = ZeroPoints::gptq_v2};
  std::vector<Scene> list;
  list.push_back(make_scene("gptq_v1", v1, gptq_v1, 1));
  list.push_back(make_scene("act_order", v1, act, 2));
  list.push_back(make_scene("gptq_v2 bf16", v2, gptq_v2, 3));
  list.push_back(make_scene("sym", symmetric, sym, 4));
  list.push_back(make_scene("awq", v2, awq, 5));
  list.push_back(make_scene("whole k", whole, one_group, 6));
  return list;
}

std::vector<WrongElement> elements_of(const Scene& scene, const std::vector<double>& out) {
  std::vector<WrongElement> elements;
  const std::int64_t n = scene.problem.w.n;
  for (std::size_t i = 0; i < out.size(); ++i) {
    elements.push_back({static_cast<std::int64_t>(i) / n, static_cast<std::int64_t>(i) % n,
                        numeric::round_to(scene.problem.w.scale_type, out[i])});
  }
  return elements;
}

std::string full_name(const Hypothesis& hypothesis) {
  return hypothesis.name + (hypothesis.variant.empty() ? "" : " (" + hypothesis.variant + ")");
}

TEST(WrongReferences, EachExplainsTheOutputMadeWithIt) {
  std::set<std::string> shown;
  for (const Scene& scene : scenes()) {
    const auto& w = scene.problem.w;
    const Activations a = scene.problem.a();
    const Reading reading{scene.layer, w, formats::sort_by_group(w)};
    for (const Hypothesis& hypothesis : hypotheses()) {
      if (!hypothesis.applies(reading)) continue;
      const auto out = wrong_reference(hypothesis, scene.layer, w, a);
      const auto found = explain(scene.layer, w, a, WeightForm::integer, elements_of(scene, out));
      if (found.empty()) continue;  // the mistake changes nothing here; `shown` asks for one scene
      EXPECT_EQ(found[0].explained, found[0].of) << scene.name << ": " << full_name(hypothesis);
      const auto itself = std::find_if(found.begin(), found.end(), [&](const auto& explanation) {
        return explanation.hypothesis == &hypothesis;
      });
      ASSERT_NE(itself, found.end()) << scene.name << ": " << full_name(hypothesis);
      EXPECT_EQ(itself->explained, itself->of);
      // The first one named is it, or one that is plainer and the same mistake with this layer.
      if (found[0].hypothesis != &hypothesis) {
        const auto same = wrong_reference(*found[0].hypothesis, scene.layer, w, a);
        for (std::size_t i = 0; i < out.size(); ++i) {
          ASSERT_EQ(numeric::round_to(w.scale_type, out[i]),
                    numeric::round_to(w.scale_type, same[i]))
              << scene.name << ": " << full_name(*found[0].hypothesis) << " for "
              << full_name(hypothesis);
        }
      }
      shown.insert(full_name(hypothesis));
    }
  }
  for (const Hypothesis& hypothesis : hypotheses()) {
    EXPECT_TRUE(shown.contains(full_name(hypothesis))) << full_name(hypothesis);
  }
}

TEST(WrongReferences, ARightOutputIsExplainedByNone) {
  for (const Scene& scene : scenes()) {
    const auto right = gemm_oracle(scene.problem.a(), scene.problem.w, WeightForm::integer);
    EXPECT_TRUE(explain(scene.layer, scene.problem.w, scene.problem.a(), WeightForm::integer,
                        elements_of(scene, right.value))
                    .empty())
        << scene.name;
  }
}

TEST(WrongReferences, AnUnknownFaultIsExplainedByNone) {
  for (const Scene& scene : scenes()) {
    auto out = gemm_oracle(scene.problem.a(), scene.problem.w, WeightForm::integer).value;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] * 1.37 + 0.25;
    EXPECT_TRUE(explain(scene.layer, scene.problem.w, scene.problem.a(), WeightForm::integer,
                        elements_of(scene, out))
                    .empty())
        << scene.name;
  }
}

TEST(WrongReferences, WeightsRoundedToTheTypeAreExplainedAsSuch) {
  const Scene scene = scenes()[0];
  auto matrix = scene.problem.w;
  for (auto& z : matrix.z) z = static_cast<std::uint8_t>(z + 1);
  const auto out = gemm_oracle(scene.problem.a(), matrix, WeightForm::scaled).value;
  const auto found = explain(scene.layer, scene.problem.w, scene.problem.a(), WeightForm::scaled,
                             elements_of(scene, out));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].hypothesis->name, "zero_point_off_by_one");
  EXPECT_EQ(found[0].hypothesis->variant, "+1");
}

TEST(WrongReferences, OnlySomeElementsWrongIsEnough) {
  const Scene scene = scenes()[0];
  const auto& list = hypotheses();
  const auto lost = std::find_if(list.begin(), list.end(), [](const Hypothesis& h) {
    return h.name == "last_k_block_lost" && h.variant == "32";
  });
  ASSERT_NE(lost, list.end());
  const auto out = wrong_reference(*lost, scene.layer, scene.problem.w, scene.problem.a());
  auto elements = elements_of(scene, out);
  elements.resize(3);
  const auto found =
      explain(scene.layer, scene.problem.w, scene.problem.a(), WeightForm::integer, elements);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].hypothesis, &*lost);
}

TEST(WrongReferences, NamesAreUniqueAndSaySomething) {
  std::set<std::string> names;
  for (const Hypothesis& hypothesis : hypotheses()) {
    EXPECT_TRUE(names.insert(full_name(hypothesis)).second) << full_name(hypothesis);
    EXPECT_FALSE(hypothesis.says.empty());
  }
}

// An output that nobody wrote, where k is 0.
TEST(WrongReferences, NothingExplainsJunkWithoutAnyK) {
  const TestProblem problem = make_problem({.m = 2, .k = 0, .n = 8}, 3);
  const formats::PackedLayer layer =
      formats::pack(problem.w, {.group_size = 32, .zero_points = ZeroPoints::gptq_v2});
  const std::vector<WrongElement> junk{{1, 3, 0x7e55}};
  EXPECT_TRUE(explain(layer, problem.w, problem.a(), WeightForm::integer, junk).empty());
}

TEST(WrongReferences, ElementsOutsideTheOutputAreRefused) {
  const Scene scene = scenes()[0];
  const std::vector<WrongElement> outside{{3, 0, 0}};
  EXPECT_THROW(
      explain(scene.layer, scene.problem.w, scene.problem.a(), WeightForm::integer, outside),
      InputError);
}

}  // namespace
}  // namespace bitgate::oracle
