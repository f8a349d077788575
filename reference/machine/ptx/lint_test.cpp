#include "reference/machine/ptx/lint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/ptx/parser.h"
#include "reference/support/file.h"

namespace bitgate::machine::ptx {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

using Kind = LintFinding::Kind;
using Kinds = std::vector<Kind>;

std::vector<LintFinding> lint_body(const std::string& body) {
  return lint(
      parse(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
            ".reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .f32 %f<10>; .reg .f64 %fd<10>;\n"
            ".reg .b64 %rd<10>; .reg .pred %p<10>;\n" +
            body + "\n}\n"));
}

std::vector<Kind> kinds(const std::string& body) {
  std::vector<Kind> list;
  for (const LintFinding& finding : lint_body(body)) list.push_back(finding.kind);
  return list;
}

TEST(Lint, ContractiblePair) {
  const auto findings = lint_body("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::contractible);
  EXPECT_EQ(findings[0].entry, "k");
  EXPECT_EQ(findings[0].instruction, "add.f32 %f4, %f1, %f5");
  EXPECT_EQ(findings[0].ptx_line, 9u);
  EXPECT_PRED2(contains, findings[0].why, "PTX line 8");
}

TEST(Lint, EitherMarkPreventsContraction) {
  EXPECT_EQ(kinds("mul.rn.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;"), Kinds{});
  EXPECT_EQ(kinds("mul.f32 %f1, %f2, %f3; add.rn.f32 %f4, %f1, %f5;"), Kinds{});
  EXPECT_EQ(kinds("mul.f32 %f1, %f2, %f3; sub.rz.f32 %f4, %f1, %f5;"), Kinds{});
}

TEST(Lint, TypesAndFtzMustAgree) {
  EXPECT_EQ(kinds("mul.ftz.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;"), Kinds{});
  EXPECT_EQ(kinds("mul.ftz.f32 %f1, %f2, %f3; add.ftz.sat.f32 %f4, %f1, %f5;"),
            (Kinds{Kind::contractible}));
  EXPECT_EQ(kinds("mul.f16 %rs1, %rs2, %rs3; add.f16x2 %r4, %r1, %r5;"), Kinds{});
  EXPECT_EQ(kinds("mul.lo.s32 %r1, %r2, %r3; add.s32 %r4, %r1, %r5;"), Kinds{});
  for (const char* type : {"f64", "f16", "f16x2", "bf16", "bf16x2"}) {
    const std::string t = type;
    EXPECT_EQ(kinds("mul." + t + " %r1, %r2, %r3; sub." + t + " %r4, %r5, %r1;"),
              (Kinds{Kind::contractible}))
        << type;
  }
}

TEST(Lint, ProductsAreFollowed) {
  // Through moves and negation.
  EXPECT_EQ(kinds("mul.f32 %f1, %f2, %f3; mov.b32 %r1, %f1; mov.f32 %f6, %r1; neg.f32 %f7, %f6;"
                  "sub.f32 %f4, %f5, %f7;"),
            (Kinds{Kind::contractible}));
  // Across blocks, and round a loop.
  EXPECT_EQ(kinds("$top: add.f32 %f4, %f1, %f4; mul.f32 %f1, %f2, %f3; @%p1 bra $top;"),
            (Kinds{Kind::contractible}));
  // Through a packed register, half by half.
  EXPECT_EQ(kinds("mul.f16 %rs1, %rs2, %rs3; mov.b32 %r1, {%rs1, %rs4}; mov.b32 %r2, %r1;"
                  "mov.b32 {%rs5, %rs6}, %r2; add.f16 %rs7, %rs5, %rs8;"),
            (Kinds{Kind::contractible}));
  EXPECT_EQ(kinds("mul.f16 %rs1, %rs2, %rs3; mov.b32 %r1, {%rs1, %rs4};"
                  "mov.b32 {%rs5, %rs6}, %r1; add.f16 %rs7, %rs6, %rs8;"),
            Kinds{});
  // Not through a register of an inner scope that only has the name.
  EXPECT_EQ(kinds("{ .reg .f32 t; mul.f32 t, %f2, %f3; } { .reg .f32 t; mov.f32 t, %f6;"
                  "add.f32 %f4, t, %f5; }"),
            Kinds{});
  // A product that two additions use is two findings; one addition of two products is one.
  EXPECT_EQ(kinds("mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5; add.f32 %f6, %f1, %f7;"),
            (Kinds{Kind::contractible, Kind::contractible}));
  EXPECT_EQ(kinds("mul.f32 %f1, %f2, %f3; mul.f32 %f4, %f2, %f3; add.f32 %f6, %f1, %f4;"),
            (Kinds{Kind::contractible}));
}

TEST(Lint, PlainHalfIntrinsicsOfNvcc) {
  const Module module =
      parse(read_text_file(BITGATE_SOURCE_DIR "/reference/machine/ptx/testdata/nvcc.ptx"));
  EXPECT_EQ(lint_counts(module, "plain_half2").contractible, 1u);
  EXPECT_EQ(lint_counts(module, "marked_half2").contractible, 0u);
  EXPECT_EQ(lint_counts(module, "everything").contractible, 0u) << "compiled with -fmad=false";
  EXPECT_EQ(lint_counts(module, "everything").approximate, 1u) << "exp2f";
  bool found = false;
  for (const LintFinding& finding : lint(module)) {
    if (finding.entry != "plain_half2") continue;
    found = true;
    EXPECT_EQ(finding.file, "nvcc.cu");
    EXPECT_EQ(finding.line, 42u);
    EXPECT_EQ(finding.instruction.substr(0, 9), "add.f16x2");
  }
  EXPECT_TRUE(found);
}

TEST(Lint, Approximations) {
  EXPECT_EQ(kinds("ex2.approx.ftz.f32 %f1, %f2;"), (Kinds{Kind::approximate}));
  EXPECT_EQ(kinds("tanh.approx.f16x2 %r1, %r2;"), (Kinds{Kind::approximate}));
  EXPECT_EQ(kinds("div.full.f32 %f1, %f2, %f3;"), (Kinds{Kind::approximate}));
  EXPECT_EQ(kinds("rcp.approx.ftz.f64 %fd1, %fd2;"), (Kinds{Kind::approximate}));
  EXPECT_EQ(kinds("rcp.rn.f32 %f1, %f2; sqrt.rn.f32 %f1, %f2; div.rn.f32 %f1, %f2, %f3;"), Kinds{});
}

TEST(Lint, SchedulesAndClocks) {
  EXPECT_EQ(kinds("activemask.b32 %r1;"), (Kinds{Kind::activemask}));
  EXPECT_EQ(kinds("atom.global.add.f32 %f1, [%rd1], %f2;"), (Kinds{Kind::float_atomic}));
  EXPECT_EQ(kinds("red.global.add.noftz.bf16x2 [%rd1], %r2;"), (Kinds{Kind::float_atomic}));
  EXPECT_EQ(kinds("red.global.add.v2.f32 [%rd1], {%f1, %f2};"), (Kinds{Kind::float_atomic}));
  EXPECT_EQ(
      kinds(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd1], [%rd2], %r1;"),
      (Kinds{Kind::float_atomic}));
  EXPECT_EQ(kinds("red.global.add.u32 [%rd1], %r2; atom.global.max.s32 %r1, [%rd1], %r2;"),
            Kinds{});
  EXPECT_EQ(kinds("mov.u64 %rd1, %clock64;"), (Kinds{Kind::clock}));
  EXPECT_EQ(kinds("mov.u64 %rd1, %globaltimer; mov.u32 %r1, %laneid;"), (Kinds{Kind::clock}));
}

TEST(Lint, CountsFollowCalls) {
  const Module module = parse(
      ".version 9.0\n.target sm_80\n.address_size 64\n"
      ".func f() { .reg .f32 %f<3>; ex2.approx.f32 %f1, %f2; ret; }\n"
      ".func g() { .reg .f32 %f<3>; lg2.approx.f32 %f1, %f2; ret; }\n"
      ".entry k() { call.uni f; ret; }\n");
  EXPECT_EQ(lint_counts(module, "k").approximate, 1u);
  EXPECT_EQ(lint(module).size(), 2u);
}

}  // namespace
}  // namespace bitgate::machine::ptx
