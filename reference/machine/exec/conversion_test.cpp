#include "reference/machine/exec/conversion.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/machine/exec/instruction_cases.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/decode_table.h"
#include "reference/support/random.h"

namespace bitgate::machine {
namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;
using F = Format;

constexpr std::array kRoundings{Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};

Conversion make(F to, F from, Rounding rounding, unsigned flags = 0) {
  Conversion c;
  c.to = to;
  c.from = from;
  c.rounding = rounding;
  c.flags = static_cast<std::uint8_t>(flags);
  return c;
}

/// Bit patterns of every magnitude, and those where something changes.
std::vector<U64> patterns(U32 width, std::size_t count) {
  std::vector<U64> result{0, 1, 2, 3};
  const U64 mask = width == 64 ? ~U64{0} : (U64{1} << width) - 1;
  for (U32 bit = 0; bit < width; ++bit) {
    for (const U64 delta : {U64{0}, U64{1}, ~U64{0}}) {
      result.push_back(((U64{1} << bit) + delta) & mask);
      result.push_back((~(U64{1} << bit) + delta) & mask);
    }
  }
  Random random(20261130 + width);
  for (std::size_t i = 0; i < count; ++i) {
    const U64 bits = random.next();
    // Runs of equal bits make ties and exact values likely.
    const U32 shift = static_cast<U32>(random.next() % width);
    result.push_back(bits & mask);
    result.push_back((bits >> shift << shift) & mask);
    result.push_back(bits & mask >> shift);
  }
  return result;
}

template <class To, class From>
void agrees_with_the_cpu(F to, F from) {
  for (const Rounding rounding : kRoundings) {
    for (const U64 bits : patterns(sizeof(From) * 8, 400)) {
      From source{};
      std::memcpy(&source, &bits, sizeof source);
      volatile From in = source;
      volatile To out{};
      {
        const RoundingScope scope(rounding);
        out = static_cast<To>(in);
      }
      const To value = out;
      if constexpr (std::is_floating_point_v<From>) {
        if (source != source) continue;
      }
      U64 expected = 0;
      std::memcpy(&expected, &value, sizeof value);
      ASSERT_EQ(convert(make(to, from, rounding), bits), expected)
          << name(to) << " " << name(from) << " " << name(rounding) << " " << std::hex << bits;
    }
  }
}

TEST(Conversion, RoundsAsTheCpuDoes) {
  agrees_with_the_cpu<float, double>(F::f32, F::f64);
  agrees_with_the_cpu<double, float>(F::f64, F::f32);
  agrees_with_the_cpu<float, U32>(F::f32, F::u32);
  agrees_with_the_cpu<float, std::int32_t>(F::f32, F::s32);
  agrees_with_the_cpu<float, std::int64_t>(F::f32, F::s64);
  agrees_with_the_cpu<double, std::int64_t>(F::f64, F::s64);
  agrees_with_the_cpu<double, std::int16_t>(F::f64, F::s16);
}

TEST(Conversion, ToAndFromHalfAsTheCpuDoes) {
  for (const U64 bits : patterns(32, 2000)) {
    const float v = std::bit_cast<float>(static_cast<U32>(bits));
    if (v != v) continue;
    EXPECT_EQ(convert(make(F::f16, F::f32, Rounding::rn), bits), _cvtss_sh(v, 0));
    EXPECT_EQ(convert(make(F::f16, F::f32, Rounding::rm), bits), _cvtss_sh(v, 1));
    EXPECT_EQ(convert(make(F::f16, F::f32, Rounding::rp), bits), _cvtss_sh(v, 2));
    EXPECT_EQ(convert(make(F::f16, F::f32, Rounding::rz), bits), _cvtss_sh(v, 3));
  }
  for (U32 half = 0; half < 0x10000; ++half) {
    const float v = _cvtsh_ss(static_cast<std::uint16_t>(half));
    if (v != v) continue;
    ASSERT_EQ(convert(make(F::f32, F::f16, Rounding::rn), half), std::bit_cast<U32>(v));
  }
}

TEST(Conversion, ToIntegersRoundsAndClamps) {
  for (const U64 bits : patterns(64, 2000)) {
    const double v = std::bit_cast<double>(bits);
    if (v != v) continue;
    const auto expected = [&](double rounded) {
      return rounded >= 2147483647.0    ? 0x7fffffffLL
             : rounded <= -2147483648.0 ? -0x80000000LL
                                        : static_cast<long long>(rounded);
    };
    const auto got = [&](Rounding r) {
      return static_cast<long long>(convert(make(F::s32, F::f64, r, Conversion::integral), bits));
    };
    ASSERT_EQ(got(Rounding::rn), expected(std::nearbyint(v))) << v;
    ASSERT_EQ(got(Rounding::rz), expected(std::trunc(v))) << v;
    ASSERT_EQ(got(Rounding::rm), expected(std::floor(v))) << v;
    ASSERT_EQ(got(Rounding::rp), expected(std::ceil(v))) << v;
  }
}

/// By definition: the code whose value is nearest, the even one of two.
U64 nearest_code(float v, float (*value_of)(U32), U32 codes) {
  U32 best = 0;
  for (U32 code = 1; code < codes; ++code) {
    const double distance = std::abs(static_cast<double>(value_of(code)) - static_cast<double>(v));
    const double least = std::abs(static_cast<double>(value_of(best)) - static_cast<double>(v));
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return best;
}
float e4m3_value(U32 code) {
  const auto fraction = static_cast<float>(code & 7U);
  const int exponent = static_cast<int>(code >> 3);
  return exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
}
float e5m2_value(U32 code) {
  const auto fraction = static_cast<float>(code & 3U);
  const int exponent = static_cast<int>(code >> 2);
  return exponent == 0 ? std::ldexp(fraction, -16) : std::ldexp(4 + fraction, exponent - 17);
}

TEST(Conversion, EightBitFloatsAreTheNearestCode) {
  Random random(8);
  for (int i = 0; i < 3000; ++i) {
    const int exponent = static_cast<int>(random.next() % 32) - 18;
    const float v = std::ldexp(1.0F + static_cast<float>(random.next() % 64) / 64.0F, exponent);
    const U64 bits = std::bit_cast<U32>(v);
    EXPECT_EQ(convert(make(F::e4m3, F::f32, Rounding::rn, Conversion::satfinite), bits),
              nearest_code(v, e4m3_value, 0x7f))
        << v;
    EXPECT_EQ(convert(make(F::e5m2, F::f32, Rounding::rn, Conversion::satfinite), bits),
              nearest_code(v, e5m2_value, 0x7c))
        << v;
  }
  for (U32 code = 0; code < 0x7f; ++code) {
    EXPECT_EQ(convert(make(F::f32, F::e4m3, Rounding::rn), code),
              std::bit_cast<U32>(e4m3_value(code)));
    EXPECT_EQ(convert(make(F::f16, F::e4m3, Rounding::rn), code | 0x80U),
              _cvtss_sh(-e4m3_value(code), 0));
  }
  for (U32 code = 0; code < 0x7c; ++code) {
    EXPECT_EQ(convert(make(F::f16, F::e5m2, Rounding::rn), code), code << 8);
  }
}

// Every row of the table, through the machine, against the conversion that it names: the handlers
// over whole vectors, the widths of operands, and masks.
TEST(Conversion, RowsAreTheirConversions) {
  std::size_t rows = 0;
  Random random(11);
  for (const auto& [mnemonic, row] : DecodeTable::instance().rows()) {
    if (!mnemonic.starts_with("cvt.") || row.decoder == nullptr) continue;
    ++rows;
    const auto c = std::bit_cast<Conversion>(row.immediate);
    const U32 from_bytes = bytes(c.from) * (c.shape == Conversion::pairs ? 2U : 1U);
    const U32 to_bytes = bytes(c.to) * (c.shape == Conversion::single ? 1U : 2U);
    const std::string from = from_bytes == 8 ? "%rd" : from_bytes == 4 ? "%r" : "%h";
    const std::string to = to_bytes == 8 ? "%rd" : to_bytes == 4 ? "%r" : "%h";
    const std::vector<U64> values = patterns(bytes(c.from) * 8, 64);
    TestMachine machine;
    for (std::size_t t = 0; t < 32; ++t) {
      for (std::size_t w = 0; w < 6; ++w) {
        machine.in(t, w) = static_cast<U32>(w % 2 == 0 || from_bytes == 8 ? random.next() : 0);
      }
      // Values where something changes, three a thread.
      for (std::size_t i = 0; i < 3; ++i) {
        const U64 value = values[random.next() % values.size()];
        if (c.shape != Conversion::pairs) machine.in64(t, 2 * i, value);
      }
    }
    const auto load = [&](const std::string& n) {
      const std::string at = ", [%rd1+" + std::to_string(8 * (std::stoi(n) - 3)) + "]; ";
      return (from_bytes == 8   ? "ld.global.u64 %rd"
              : from_bytes == 4 ? "ld.global.u32 %r"
                                : "ld.global.u16 %h") +
             n + at;
    };
    const auto operands = [&](const std::string& first, const std::string& second) {
      return from + first + (c.shape == Conversion::packs ? ", " + from + second : "") + "; ";
    };
    const auto store = [&](const std::string& n, const std::string& offset) {
      return (to_bytes == 8   ? "st.global.u64 "
              : to_bytes == 4 ? "st.global.u32 "
                              : "st.global.u16 ") +
             ("[%rd2+" + offset + "], ") + to + n + "; ";
    };
    // %1: all lanes; %2: the odd ones alone, the others keep what they had.
    const Outcome outcome = machine.run(
        load("3") + load("4") + load("5") + mnemonic + " " + to + "10, " + operands("3", "4") +
        mnemonic + " " + to + "11, " + operands("5", "5") +
        "\nand.b32 %r20, %t2, 1; setp.ne.u32 %p1, %r20, 0; @%p1 " + mnemonic + " " + to + "11, " +
        operands("4", "3") + "\n" + store("10", "0") + store("11", "8") + "ret;");
    ASSERT_FALSE(outcome.fault) << mnemonic << ": " << TestMachine::describe(outcome);
    const auto expected = [&](std::size_t t, std::size_t first, std::size_t second) {
      const auto input = [&](std::size_t i) {
        return static_cast<U64>(machine.in(t, 2 * i + 1)) << 32 | machine.in(t, 2 * i);
      };
      const U32 to_bits = bytes(c.to) * 8;
      const U32 from_bits = bytes(c.from) * 8;
      const U64 low = convert(c, input(first));
      U64 result = low;
      if (c.shape == Conversion::packs) result = low << to_bits | convert(c, input(second));
      if (c.shape == Conversion::pairs) {
        result = convert(c, input(first) >> from_bits) << to_bits | low;
      }
      const U32 kept = to_bytes == 1 ? 16 : to_bytes * 8;
      return kept == 64 ? result : result & ((U64{1} << kept) - 1);
    };
    for (std::size_t t = 0; t < 32; ++t) {
      ASSERT_EQ(machine.out64(t, 0), expected(t, 0, 1))
          << mnemonic << std::hex << " " << machine.in(t, 0) << " " << machine.in(t, 1);
      ASSERT_EQ(machine.out64(t, 2), t % 2 == 0 ? expected(t, 2, 2) : expected(t, 1, 0))
          << mnemonic << " lane " << t;
    }
  }
  EXPECT_GT(rows, 700U);
}

TEST(Conversion, ResultsExtendIntoWiderRegisters) {
  check({
      {"cvt.s8.s32", "hw", {0x180}, 0xff80},
      {"cvt.s8.s32", "ww", {0x180}, 0xffffff80},
      {"cvt.u8.s32", "ww", {0x1ff}, 0xff},
      {"cvt.s16.s32", "ww", {0x18000}, 0xffff8000},
      {"cvt.s16.s8", "dw", {0x80}, 0xffffffffffffff80},
      {"cvt.u16.s8", "ww", {0x80}, 0xff80},
      {"cvt.s32.s8", "wd", {0xffffffffffffff80}, 0xffffff80},
      {"cvt.u32.u16", "wd", {0xfedcba9876543210}, 0x3210},
      {"cvt.rzi.s8.f32", "ww", {f32(-300)}, 0xffffff80},
      {"cvt.sat.s8.s32", "ww", {0xfffff000}, 0xffffff80},
      {"cvt.rn.f32.s32", "wd", {0x100000005}, f32(5)},
      {"cvt.rn.f32.u8", "ww", {0x1ff}, f32(255)},
      {"cvt.f32.f16", "ww", {0x12343c00}, f32(1)},
  });
}

TEST(Conversion, NarrowFloats) {
  check({
      {"cvt.rn.satfinite.e4m3x2.f32", "hww", {f32(1), f32(-2)}, 0x38c0},
      {"cvt.rn.satfinite.e4m3x2.f32", "hww", {f32(448), f32(1e9F)}, 0x7e7e},
      {"cvt.rn.satfinite.e4m3x2.f32", "hww", {0xff800000, kSignalling32}, 0xfe7f},
      // Ties: 1.0625 to 1, 1.1875 to 1.25; half of the smallest subnormal to 0.
      {"cvt.rn.satfinite.e4m3x2.f32", "hww", {f32(1.0625F), f32(1.1875F)}, 0x383a},
      {"cvt.rn.satfinite.e4m3x2.f32", "hww", {f32(0x1p-10F), f32(0x1.8p-10F)}, 0x0001},
      {"cvt.rn.satfinite.relu.e4m3x2.f32", "hww", {f32(-1), kNan32}, 0x007f},
      {"cvt.rn.satfinite.e5m2x2.f32", "hww", {f32(1), 0x7f800000}, 0x3c7b},
      {"cvt.rn.satfinite.e5m2x2.f32", "hww", {kSignalling32, f32(61440)}, 0x7f7b},
      {"cvt.rn.satfinite.e5m2x2.f16x2", "hw", {0xbc003c80}, 0xbc3c},
      {"cvt.rn.satfinite.e4m3x2.f16x2", "hw", {0xfc003c00}, 0xfe38},
      {"cvt.rn.f16x2.e4m3x2", "wh", {0x7f38}, 0x7fff3c00},
      {"cvt.rn.relu.f16x2.e4m3x2", "wh", {0xb838}, 0x00003c00},
      {"cvt.rn.f16x2.e5m2x2", "wh", {0xfc3c}, 0xfc003c00},
      {"cvt.rna.tf32.f32", "ww", {0x3f801000}, 0x3f802000},
      {"cvt.rna.tf32.f32", "ww", {0x7fa00001}, 0x7fa00000},
      {"cvt.rna.tf32.f32", "ww", {0x7f7fffff}, 0x7f800000},
      {"cvt.rn.tf32.f32", "ww", {0x3f801000}, 0x3f800000},
      {"cvt.rn.tf32.f32", "ww", {0x3f803000}, 0x3f804000},
      {"cvt.rz.tf32.f32", "ww", {0x3f803fff}, 0x3f802000},
      {"cvt.rn.tf32.f32", "ww", {kSignalling32}, 0x7fffe000},
      {"cvt.rn.relu.tf32.f32", "ww", {f32(-1)}, 0},
      {"cvt.rn.bf16.f16", "hh", {0x3c01}, 0x3f80},
      {"cvt.rp.bf16.f16", "hh", {0x3c01}, 0x3f81},
      {"cvt.rn.f16.bf16", "hh", {0x7f7f}, 0x7c00},
      {"cvt.rz.f16.bf16", "hh", {0x7f7f}, 0x7bff},
      {"cvt.rn.satfinite.f16.f32", "hw", {f32(1e9F)}, 0x7bff},
      {"cvt.rn.satfinite.bf16x2.f32", "www", {0xff800000, f32(1)}, 0xff7f3f80},
      {"cvt.rn.relu.satfinite.bf16.f32", "hw", {f32(-1)}, 0},
      {"cvt.rp.f16.u32", "hw", {2049}, 0x6801},
      {"cvt.rz.f16.s32", "hw", {0xfffff7ff}, 0xe800},
      {"cvt.rz.bf16.u32", "hw", {0x01ffffff}, 0x4bff},
      {"cvt.rn.sat.f16.s32", "hw", {3}, 0x3c00},
      {"cvt.rni.f16.f16", "hh", {0x4100}, 0x4000},
      {"cvt.sat.f16.f16", "hh", {0x7e00}, 0},
      {"cvt.ftz.f64.f32", "dw", {kSignalling32}, 0x7fffffffe0000000},
      {"cvt.ftz.f64.f32", "dw", {0x80000001}, 0x8000000000000000},
      {"cvt.rp.ftz.f32.f64", "wd", {f64(0x1p-140)}, 0},
      {"cvt.rp.f32.f64", "wd", {f64(0x1p-200)}, 1},
      {"cvt.sat.f64.f64", "dd", {f64(2)}, f64(1)},
      {"cvt.f64.f64", "dd", {0x7ff0000000000001}, 0x7ff0000000000001},
      {"cvt.f32.f32", "ww", {kSignalling32}, kSignalling32},
      {"cvt.f32.bf16", "wh", {0xff81}, 0xff810000},
      {"cvt.rp.ftz.f16.f32", "hw", {0x00007fff}, 1},
      {"cvt.rna.satfinite.tf32.f32", "ww", {0x7f800001}, 0x7f7fe000},
      {"cvt.rna.satfinite.tf32.f32", "ww", {0xffbfffff}, 0xffbfc000},
      {"cvt.rna.satfinite.tf32.f32", "ww", {0xff800000}, 0xff7fe000},
      {"cvt.rn.bf16.f64", "hd", {0xfff4000000000000}, 0xffe0},
  });
}

TEST(Conversion, PacksSaturatedIntegers) {
  check({
      {"cvt.pack.sat.u8.s32.b32", "wwww", {300, 0xfffffffb, 0x11223344}, 0x3344ff00},
      {"cvt.pack.sat.s8.s32.b32", "wwww", {200, 0xffffff38, 0x11223344}, 0x33447f80},
      {"cvt.pack.sat.u16.s32", "www", {70000, 5}, 0xffff0005},
      {"cvt.pack.sat.s16.s32", "www", {0xffff63c0, 5}, 0x80000005},
      {"cvt.pack.sat.u4.s32.b32", "wwww", {20, 3, 0x11223344}, 0x223344f3},
      {"cvt.pack.sat.s2.s32.b32", "wwww", {5, 0xfffffff7, 0x11223344}, 0x12233446},
      {"cvt.pack.sat.u2.s32.b32", "wwww", {7, 1, 0x11223344}, 0x1223344d},
  });
}

}  // namespace
}  // namespace bitgate::machine
