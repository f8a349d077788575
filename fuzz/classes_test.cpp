#include "fuzz/classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fuzz/generate.h"

namespace bitgate::fuzz {
namespace {

using conformance::Order;
using conformance::ZeroKey;

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Kernel& first(std::string_view glob) { return *kernels::match_kernels(glob).front(); }

TEST(Classes, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const CaseClass& row : case_classes())
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(Classes, EdgesLieInTheDomainAndHitEveryAdmittedClass) {
  for (const Kernel& kernel : kernels::kernels()) {
    ClassCount count;
    for (const Spec& spec : edge_cases(kernel)) {
      EXPECT_TRUE(in_domain(kernel, spec)) << kernel.name << ": " << to_string(spec);
      count.add(kernel, spec);
    }
    EXPECT_TRUE(count.missed(kernel).empty())
        << kernel.name << ": " << count.missed(kernel).front();
  }
}

TEST(Classes, EveryKernelAdmitsWhatItClaimsToServe) {
  for (const Kernel& kernel : kernels::kernels()) {
    const auto admitted = admitted_classes(kernel);
    for (const char* name : {"m_zero",           "n_zero",       "k_zero",       "m_one",
                             "full_n",           "tail_n",       "n_above_tile", "k_at_pipeline",
                             "k_above_pipeline", "group_32",     "group_64",     "group_128",
                             "group_whole",      "order_random", "order_skewed", "order_reversed",
                             "order_identity",   "lda_padded",   "ldc_padded",   "fill_exact",
                             "fill_real"}) {
      EXPECT_TRUE(contains(admitted, name)) << kernel.name << " leaves out " << name;
    }
    const bool integer = kernel.zeros == kernels::Zeros::integer;
    for (const char* name : {"zero_gptq_v1", "zero_gptq_v2", "zero_awq", "fill_probe_columns"}) {
      EXPECT_EQ(contains(admitted, name), integer) << kernel.name << ": " << name;
    }
    EXPECT_EQ(contains(admitted, "zero_sym"), !integer) << kernel.name;
    EXPECT_EQ(contains(admitted, "k_below_pipeline"), kernel.geometry.stages > 1) << kernel.name;
  }
}

TEST(Classes, AClassNeverHitIsMissed) {
  const Kernel& kernel = first("*int");
  ClassCount count;
  for (const Spec& spec : edge_cases(kernel)) {
    if (spec.order != Order::skewed) count.add(kernel, spec);
  }
  EXPECT_EQ(count.missed(kernel), std::vector<std::string_view>{"order_skewed"});
}

TEST(Classes, ACaseThatComputesNothingBelongsToNothingElse) {
  const Kernel& kernel = first("*int");
  Spec spec = plain_case(kernel);
  spec.order = Order::random;
  EXPECT_TRUE(contains(classes_of(kernel, spec), "order_random"));
  spec.m = 0;
  EXPECT_EQ(classes_of(kernel, spec), std::vector<std::string_view>{"m_zero"});
}

TEST(Classes, DomainRefusesWhatAKernelIsNotBuiltFor) {
  const Kernel& kernel = first("*f16.int");
  Spec spec = plain_case(kernel);
  ASSERT_TRUE(in_domain(kernel, spec));
  Spec other = spec;
  other.type = numeric::ScalarType::bf16;
  EXPECT_FALSE(in_domain(kernel, other));
  other = spec;
  other.zero = ZeroKey::sym;
  EXPECT_FALSE(in_domain(kernel, other));
  other = spec;
  other.zero = ZeroKey::awq;
  EXPECT_TRUE(in_domain(kernel, other));
  other.order = Order::reversed;
  EXPECT_FALSE(in_domain(kernel, other));
  other = spec;
  other.n = 12;
  EXPECT_FALSE(in_domain(kernel, other));
  other = spec;
  other.k += 32;
  EXPECT_FALSE(in_domain(kernel, other)) << "group 64 does not divide K";
}

TEST(Classes, GeneratedCasesHitEveryOrdinaryClassByThemselves) {
  for (const char* glob : {"*gemv*f16.int", "*gemm*bf16.sym"}) {
    const Kernel& kernel = first(glob);
    ClassCount count;
    for (std::uint64_t index = 0; index < 3000; ++index) {
      count.add(kernel, generate(kernel, 5, index));
    }
    for (const std::string_view name : count.missed(kernel)) {
      EXPECT_TRUE(name.ends_with("beyond_2_31")) << kernel.name << ": " << name;
    }
  }
}

}  // namespace
}  // namespace bitgate::fuzz
