#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/machine/exec/instruction_cases.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/decode_table.h"

// The model of approximate instructions where it is exact, and PTX's special cases.

namespace bitgate::machine {
namespace {

TEST(ApproximateInstructions, ExactResultsAndSpecialCases) {
  check({
      {"ex2.approx.f32", "ww", {f32(3)}, f32(8)},
      {"ex2.approx.f32", "ww", {f32(-140)}, f32(0x1p-140F)},
      {"ex2.approx.ftz.f32", "ww", {f32(-140)}, 0},
      {"ex2.approx.ftz.f32", "ww", {0xff800000}, 0},
      {"lg2.approx.f32", "ww", {f32(8)}, f32(3)},
      {"lg2.approx.f32", "ww", {0}, 0xff800000},
      {"lg2.approx.f32", "ww", {f32(-1)}, kNan32},
      {"lg2.approx.ftz.f32", "ww", {0x00000001}, 0xff800000},
      {"sin.approx.f32", "ww", {0x80000000}, 0x80000000},
      {"cos.approx.ftz.f32", "ww", {0}, f32(1)},
      {"sin.approx.f32", "ww", {0x7f800000}, kNan32},
      {"tanh.approx.f32", "ww", {0xff800000}, f32(-1)},
      {"rcp.approx.f32", "ww", {f32(4)}, f32(0.25F)},
      {"rcp.approx.ftz.f32", "ww", {0x80000000}, 0xff800000},
      {"sqrt.approx.f32", "ww", {f32(9)}, f32(3)},
      {"rsqrt.approx.f32", "ww", {f32(4)}, f32(0.5F)},
      {"rsqrt.approx.f32", "ww", {f32(-4)}, kNan32},
      {"rsqrt.approx.f64", "dd", {f64(4)}, f64(0.5)},
      {"div.approx.f32", "www", {f32(1), f32(4)}, f32(0.25F)},
      {"div.approx.f32", "www", {f32(1), f32(0x1p127F)}, 0},
      {"div.approx.f32", "www", {0x7f800000, f32(0x1p127F)}, kNan32},
      {"div.full.f32", "www", {f32(0x1p127F), f32(0x1p127F)}, f32(1)},
      {"div.full.ftz.f32", "www", {0x00000001, f32(1)}, 0},
      {"rcp.approx.ftz.f64", "dd", {f64(3)}, 0x3fd5555500000000},
      {"rsqrt.approx.ftz.f64", "dd", {f64(16)}, f64(0.25)},
      {"ex2.approx.f16", "hh", {0x4200}, 0x4800},
      {"ex2.approx.ftz.bf16x2", "ww", {0x4040bf80}, 0x41003f00},
      {"tanh.approx.f16x2", "ww", {0x7c007e00}, 0x3c007fff},
      {"tanh.approx.bf16", "hh", {0}, 0},
  });
}

TEST(ApproximateInstructions, AreMarked) {
  const auto& rows = DecodeTable::instance().rows();
  for (const auto& [mnemonic, row] : rows) {
    const bool says_so = mnemonic.find(".approx") != std::string::npos ||
                         mnemonic.find(".full") != std::string::npos;
    if (row.decoder == nullptr && row.unsupported.empty()) {
      EXPECT_EQ(row.approximate, says_so) << mnemonic;
    }
  }
}

}  // namespace
}  // namespace bitgate::machine
