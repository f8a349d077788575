#include "conformance/problem/spec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "reference/support/error.h"

namespace bitgate::conformance {
namespace {

/// The message of the InputError that parsing `line` gives.
std::string refusal(std::string_view line) {
  try {
    parse_spec(line);
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << line;
  return {};
}

TEST(Spec, PrintsTheDocumentedLine) {
  const std::string line =
      "w4a16 m=17 k=1536 n=2056 group=128 type=f16 zero=gptq_v1 order=random fill=real seed=7";
  EXPECT_EQ(to_string(parse_spec(line)), line);
}

TEST(Spec, KeysComeInAnyOrderAndDefaultsAreFilledIn) {
  const Spec spec = parse_spec(" w4a16\tseed=3  n=8 k=64 m=1 group=-1 ");
  EXPECT_EQ(to_string(spec), "w4a16 m=1 k=64 n=8 group=-1 type=f16 zero=gptq_v1 fill=exact seed=3");
  EXPECT_EQ(resolved_group(spec), 64);
  EXPECT_EQ(shape_of(spec).lda, 64);
}

TEST(Spec, RoundTrips) {
  EXPECT_TRUE(rc::check("parse_spec(to_string(s)) == s", [] {
    Spec s;
    s.m = *rc::gen::inRange<std::int64_t>(0, 70000);
    s.group = *rc::gen::element<std::int64_t>(-1, 32, 64, 128, 1, 24);
    s.k = *rc::gen::inRange<std::int64_t>(0, 40) * (s.group == -1 ? 32 : s.group);
    s.n = *rc::gen::inRange<std::int64_t>(0, 5000);
    s.type = *rc::gen::element(numeric::ScalarType::f16, numeric::ScalarType::bf16);
    s.zero = *rc::gen::element(ZeroKey::sym, ZeroKey::gptq_v1, ZeroKey::gptq_v2, ZeroKey::awq);
    if (s.zero != ZeroKey::awq) {
      s.order = *rc::gen::element(Order::none, Order::random, Order::skewed, Order::reversed,
                                  Order::identity);
    }
    if (*rc::gen::arbitrary<bool>()) s.lda = s.k + *rc::gen::inRange<std::int64_t>(1, 1 << 20);
    if (*rc::gen::arbitrary<bool>()) s.ldc = s.n + *rc::gen::inRange<std::int64_t>(1, 1 << 20);
    s.align = 2 * *rc::gen::inRange<std::uint32_t>(0, 128);
    s.sms = *rc::gen::inRange<std::uint32_t>(0, 200);
    s.fill = *rc::gen::element(Fill::exact, Fill::real, Fill::probe_identity, Fill::probe_ones,
                               Fill::probe_columns, Fill::probe_scales, Fill::checkpoint);
    if (s.fill == Fill::checkpoint) {
      s.checkpoint = "x" + *rc::gen::arbitrary<std::string>();
      s.layer = "model.layers.0";
    }
    s.seed = *rc::gen::arbitrary<std::uint64_t>();
    s.schedule = *rc::gen::arbitrary<std::uint64_t>();
    s.residency = *rc::gen::inRange<std::uint32_t>(0, 100);
    for (std::int64_t k = 0; k < s.k; ++k) {
      if (*rc::gen::inRange(0, 100) < 3) s.keep.push_back(k);
      if (s.keep.size() > 40) break;
    }
    const std::string line = to_string(s);
    RC_ASSERT(parse_spec(line) == s);
    RC_ASSERT(to_string(parse_spec(line)) == line);
  }));
}

TEST(Spec, RefusalsNameTheKeyTheChoicesAndWhatWasFound) {
  EXPECT_EQ(refusal("w4a16 type=f32"), "spec: type: expected f16 | bf16, found 'f32'");
  EXPECT_EQ(refusal("w4a16 order=sorted"),
            "spec: order: expected none | random | skewed | reversed | identity, found 'sorted'");
  EXPECT_EQ(refusal("w4a16 k=100 group=32"),
            "spec: group: expected a divisor of k=100, or -1, found 32");
  EXPECT_EQ(refusal("w4a16 m=-1"),
            "spec: m: expected a whole number from 0 to 16777216, found '-1'");
  EXPECT_EQ(refusal("w4a16 m=1e3"),
            "spec: m: expected a whole number from 0 to 16777216, found '1e3'");
  EXPECT_EQ(refusal("w4a16 k=64 group=64 lda=63"), "spec: lda: expected at least k=64, found 63");
  EXPECT_EQ(refusal("w4a16 n=64 ldc=63"), "spec: ldc: expected at least n=64, found 63");
  EXPECT_NE(refusal("w4a16 align=3").find("align: expected an even number"), std::string::npos);
  EXPECT_EQ(refusal("w4a16 m=1 m=1"), "spec: m: given twice");
  EXPECT_NE(refusal("w4a16 depth=1").find("unknown key 'depth'; known are m, k, n"),
            std::string::npos);
  EXPECT_NE(refusal("w4a16 zero=awq order=random").find("order: expected none"), std::string::npos);
  EXPECT_NE(refusal("w4a16 fill=checkpoint").find("checkpoint, layer"), std::string::npos);
  EXPECT_NE(refusal("w4a16 k=64 group=64 keep=64").find("keep: expected indices below k=64"),
            std::string::npos);
}

TEST(Spec, HostileLinesAreOneShortRefusal) {
  for (const std::string& line :
       {std::string(), std::string("w4a16 m"), std::string("w4a16 =1"), std::string("w4a16 m="),
        std::string("gemm m=1"), std::string(1 << 20, 'x'), "w4a16 m=" + std::string(1 << 20, '9'),
        std::string("w4a16 k=999999999999999999999"),
        std::string("w4a16 m=16777216 k=1048576 group=-1"),
        std::string("w4a16 m=16777216 lda=1099511627776"), std::string("w4a16 group=0"),
        std::string("w4a16 group=-2"), std::string("w4a16 keep=0-99999999999999"),
        std::string("w4a16 keep=5-1"), std::string("w4a16 keep=,"),
        std::string("w4a16 fill=checkpoint checkpoint=%g1 layer=x"),
        std::string("w4a16 \0=1", 9)}) {
    EXPECT_LT(refusal(line).size(), 300U) << line.substr(0, 100);
  }
}

TEST(Spec, LaterKeysAreUnsupportedUnlessTheyChangeNothing) {
  for (const char* line : {"w4a16 split=3", "w4a16 plan=invariant", "w4a16 frame=marlin",
                           "w4a16 zero=float", "w4a16 geometry=16x64x64"}) {
    EXPECT_THROW(parse_spec(line), Unsupported) << line;
  }
  EXPECT_EQ(parse_spec("w4a16 split=1 plan=fast frame=loader"), Spec{});
}

TEST(Spec, HelpNamesEveryKeyWithItsDefault) {
  const std::string help = spec_help();
  for (const char* text : {"m  ", "zero ", "[gptq_v1]", "keep ", "[1024]", "residency"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace bitgate::conformance
