#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"
#include "reference/machine/program/decode_table.h"
#include "reference/numeric/half.h"
#include "reference/numeric/tensor_dot.h"
#include "reference/numeric/tile_operands.h"
#include "reference/support/random.h"

// Matrix instructions against their definition element by element: which lane holds which element
// is written here as the ISA's "Matrix Fragments for …" sections say it, an element at a time, and
// each output is one numeric::tensor_dot.

namespace bitgate::machine {
namespace {

using numeric::OperandClass;
using numeric::TensorModel;
using numeric::TensorType;
using numeric::TileForm;
using numeric::TileOperands;
using U32 = std::uint32_t;

constexpr std::size_t kLaneCount = 32;

/// The parts of an mma's mnemonic.
struct Form {
  std::string mnemonic;
  bool sparse = false;
  bool saturate = false;
  bool bit_and = false;
  std::size_t m = 0;
  std::size_t k = 0;
  TensorType d{};
  TensorType a{};
  TensorType b{};

  std::size_t bits() const { return static_cast<std::size_t>(layout(a).bits); }
  std::size_t stored_k() const { return sparse ? k / 2 : k; }
  std::size_t a_elements() const { return m * stored_k() / kLaneCount; }
  std::size_t b_elements() const { return 8 * k / kLaneCount; }
  std::size_t accumulators() const { return m * 8 / kLaneCount; }
};

Form parse(const std::string& mnemonic) {
  static const std::map<std::string, TensorType> kTypes = [] {
    std::map<std::string, TensorType> all;
    for (int i = 0; i <= static_cast<int>(TensorType::s32); ++i) {
      all[std::string(name(static_cast<TensorType>(i)))] = static_cast<TensorType>(i);
    }
    return all;
  }();
  Form form;
  form.mnemonic = mnemonic;
  std::vector<TensorType> types;
  std::size_t begin = 0;
  while (begin < mnemonic.size()) {
    const std::size_t end = std::min(mnemonic.find('.', begin), mnemonic.size());
    const std::string word = mnemonic.substr(begin, end - begin);
    begin = end + 1;
    if (word.starts_with("sp")) form.sparse = true;
    if (word == "satfinite") form.saturate = true;
    if (word == "and") form.bit_and = true;
    if (kTypes.contains(word)) types.push_back(kTypes.at(word));
    if (word[0] == 'm' && word.find('n') != std::string::npos) {
      form.m = static_cast<std::size_t>(std::stoi(word.substr(1)));
      form.k = static_cast<std::size_t>(std::stoi(word.substr(word.find('k') + 1)));
    }
  }
  form.d = types.at(0);
  form.a = types.at(1);
  form.b = types.at(2);
  return form;
}

std::vector<std::string> mma_forms(std::string_view prefix) {
  std::vector<std::string> forms;
  for (const auto& [mnemonic, row] : DecodeTable::instance().rows()) {
    // m8n8k4 of f16 has fragments of its own.
    if (mnemonic.find("m8n8k4") != std::string::npos && mnemonic.find("f64") == std::string::npos) {
      continue;
    }
    if (mnemonic.starts_with(prefix) && row.unsupported.empty()) forms.push_back(mnemonic);
  }
  return forms;
}

/// Elements of one lane, as bits packed into words low to high.
class LaneBits {
 public:
  void push(std::uint64_t value, std::size_t bits) {
    for (std::size_t i = 0; i < bits; ++i, ++count_) {
      if (count_ % 32 == 0) words_.push_back(0);
      words_.back() |= static_cast<U32>(value >> i & 1U) << count_ % 32;
    }
  }
  const std::vector<U32>& words() const { return words_; }

 private:
  std::vector<U32> words_;
  std::size_t count_ = 0;
};

/// Row and k of element i of a lane's A; E elements are in a register.
std::pair<std::size_t, std::size_t> place_of_a(const Form& form, std::size_t lane, std::size_t i) {
  const std::size_t e = form.a == TensorType::f64 ? 1 : 32 / form.bits();
  const std::size_t row_registers = form.m / 8;
  const std::size_t reg = i / e;
  return {lane / 4 + 8 * (reg % row_registers),
          lane % 4 * e + i % e + 4 * e * (reg / row_registers)};
}

std::pair<std::size_t, std::size_t> place_of_b(const Form& form, std::size_t lane, std::size_t i) {
  const std::size_t e = form.a == TensorType::f64 ? 1 : 32 / form.bits();
  return {lane / 4, lane % 4 * e + i % e + 4 * e * (i / e)};  // column, k
}

std::pair<std::size_t, std::size_t> place_of_c(std::size_t lane, std::size_t i) {
  return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2};
}

/// The words of each lane of operands drawn for a form (a: stored k).
std::vector<std::vector<U32>> lanes_of(const Form& form, const TileOperands& tile) {
  std::vector<std::vector<U32>> lanes(kLaneCount);
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    LaneBits bits;
    for (std::size_t i = 0; i < form.a_elements(); ++i) {
      const auto [row, k] = place_of_a(form, lane, i);
      bits.push(tile.a.at(row * form.stored_k() + k), form.bits());
    }
    for (std::size_t i = 0; i < form.b_elements(); ++i) {
      const auto [column, k] = place_of_b(form, lane, i);
      bits.push(tile.b.at(column * form.k + k), form.bits());
    }
    for (std::size_t i = 0; i < form.accumulators(); ++i) {
      const auto [row, column] = place_of_c(lane, i);
      bits.push(tile.c.at(row * 8 + column), static_cast<std::size_t>(layout(form.d).bits));
    }
    lanes[lane] = bits.words();
  }
  return lanes;
}

std::string registers(const char* prefix, std::size_t first, std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "" : ",", prefix, first + i);
  }
  return text + "}";
}

/// Runs the form on operands in registers, loaded from a machine's input: words 0 to 15 of a lane
/// are the lane's, those beyond lie in the second warp's.
Outcome run_form(TestMachine& machine, const Form& form, const std::vector<std::vector<U32>>& lanes,
                 const std::vector<U32>& metadata, const std::string& tail) {
  const bool f64 = form.a == TensorType::f64;
  const std::size_t step = f64 ? 2 : 1;
  const char* reg = f64 ? "%fd" : "%r";
  const char* type = f64 ? "f64" : "b32";
  const std::size_t a = form.a_elements() * form.bits() / 32 / step;
  const std::size_t b = form.b_elements() * form.bits() / 32 / step;
  const std::size_t c =
      form.accumulators() * static_cast<std::size_t>(layout(form.d).bits) / 32 / step;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t w = 0; w < lanes[lane].size(); ++w) {
      machine.in(lane + w / 16 * kLaneCount, w % 16) = lanes[lane][w];
    }
    if (!metadata.empty()) machine.in(lane + kLaneCount, 0) = metadata[lane];
  }
  std::string body = "setp.ge.u32 %p1, %t2, 32;\n@%p1 ret;\n";
  for (std::size_t i = 0; i < a + b + c; ++i) {
    const std::size_t word = i * step;
    body += fmt::format("ld.global.{} {}{}, [%rd1+{}];\n", type, reg, i,
                        word / 16 * 2048 + word % 16 * 4);
  }
  body += "ld.global.b32 %r40, [%rd1+2048];\n";
  body += fmt::format("{} {}, {}, {}, {}{};\n", form.mnemonic, registers(reg, a + b, c),
                      registers(reg, 0, a), registers(reg, a, b), registers(reg, a + b, c), tail);
  for (std::size_t i = 0; i < c; ++i) {
    body += fmt::format("st.global.{} [%rd2+{}], {}{};\n", type, i * step * 4, reg, a + b + i);
  }
  return machine.run(body + "ret;");
}

std::uint64_t output_bits(const TestMachine& machine, const Form& form, std::size_t lane,
                          std::size_t i) {
  if (form.d == TensorType::f64) return machine.out64(lane, 2 * i);
  if (form.d == TensorType::f16) return machine.out(lane, i / 2) >> (16 * (i % 2)) & 0xffffU;
  return machine.out(lane, i);
}

/// What f64's rounding is worth, by exact arithmetic: the sum of a product of doubles and a double.
double fma_rounded(double x, double y, double z, std::string_view rounding) {
  // NaN is the second factor's, else the sum's, else the first factor's.
  for (const double operand : {y, z, x}) {
    if (!std::isnan(operand)) continue;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(operand) | 0x0008000000000000ULL);
  }
  const double nearest = std::fma(x, y, z);
  if (std::isnan(nearest)) return std::bit_cast<double>(0xfff8000000000000ULL);
  if (!std::isfinite(nearest) || rounding == "rn") return nearest;
  // Operands of the tests are short: 106 bits hold the sum's error exactly in extended precision.
  const long double error = (static_cast<long double>(x) * static_cast<long double>(y) -
                             static_cast<long double>(nearest)) +
                            static_cast<long double>(z);
  if (error == 0) return nearest;
  const bool up = error > 0;
  if (rounding == "rz") {
    if ((nearest > 0) != up) return std::nextafter(nearest, 0.0);
    return nearest;
  }
  if (rounding == "rp") {
    return up ? std::nextafter(nearest, std::numeric_limits<double>::infinity()) : nearest;
  }
  return up ? nearest : std::nextafter(nearest, -std::numeric_limits<double>::infinity());
}

std::uint64_t expected_f64(const Form& form, const std::vector<std::uint64_t>& a,
                           const std::vector<std::uint64_t>& b, std::uint64_t c) {
  std::string_view rounding = "rn";
  for (const char* each : {"rz", "rm", "rp"}) {
    if (form.mnemonic.find(fmt::format(".{}.", each)) != std::string::npos) rounding = each;
  }
  auto sum = std::bit_cast<double>(c);
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum = fma_rounded(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum, rounding);
  }
  return std::bit_cast<std::uint64_t>(sum);
}

/// One output from the elements that meet.
std::uint64_t expected(const TensorModel& model, const Form& form,
                       const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                       std::uint64_t c) {
  if (form.a == TensorType::f64) return expected_f64(form, a, b, c);
  const std::vector<U32> x(a.begin(), a.end());
  const std::vector<U32> y(b.begin(), b.end());
  switch (form.d) {
    case TensorType::f16:
      return numeric::tensor_dot_f16(model, form.a, form.b, x, y, static_cast<std::uint16_t>(c));
    case TensorType::f32:
      return std::bit_cast<U32>(numeric::tensor_dot(model, form.a, form.b, x, y,
                                                    std::bit_cast<float>(static_cast<U32>(c))));
    default:
      break;
  }
  if (form.a == TensorType::b1) {
    auto ones = static_cast<U32>(c);
    for (std::size_t k = 0; k < x.size(); ++k) ones += form.bit_and ? x[k] & y[k] : x[k] ^ y[k];
    return ones;
  }
  return static_cast<U32>(numeric::integer_dot(
      form.a, form.b, x, y, static_cast<std::int32_t>(static_cast<U32>(c)), form.saturate));
}

TileForm tile_form(const Form& form) {
  return {.m = form.m, .n = 8, .k = form.k, .a = form.a, .b = form.b, .accumulator = form.d};
}

std::vector<std::uint64_t> slice(const std::vector<std::uint64_t>& all, std::size_t row,
                                 std::size_t k) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(row * k);
  return {first, first + static_cast<std::ptrdiff_t>(k)};
}

TEST(Matrices, EveryDenseFormFollowsItsFragments) {
  const TensorModel& model = numeric::tensor_model("hopper");
  const std::vector<std::string> forms = mma_forms("mma.sync");
  EXPECT_GE(forms.size(), 98U);
  std::uint64_t seed = 0;
  for (const std::string& mnemonic : forms) {
    const Form form = parse(mnemonic);
    // f64 with short significands: the test's own rounding needs its sums to be exact.
    for (const OperandClass drawn :
         {OperandClass::ordinary, OperandClass::special, OperandClass::overflow}) {
      if (form.a == TensorType::f64 && drawn == OperandClass::overflow) continue;
      TileOperands tile = draw_tile(++seed, drawn, tile_form(form));
      if (form.a == TensorType::f64) {
        for (auto* part : {&tile.a, &tile.b}) {
          for (std::uint64_t& x : *part) x &= ~std::uint64_t{0xffffffffff};
        }
        for (std::uint64_t& x : tile.c) x &= ~std::uint64_t{0x3ff};
      }
      TestMachine machine(64);
      const Outcome outcome = run_form(machine, form, lanes_of(form, tile), {}, "");
      ASSERT_FALSE(outcome.fault) << mnemonic << ": " << TestMachine::describe(outcome);
      EXPECT_EQ(outcome.tensor_instructions, 1U);
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        for (std::size_t i = 0; i < form.accumulators(); ++i) {
          const auto [row, column] = place_of_c(lane, i);
          ASSERT_EQ(output_bits(machine, form, lane, i),
                    expected(model, form, slice(tile.a, row, form.k), slice(tile.b, column, form.k),
                             tile.c[row * 8 + column]))
              << mnemonic << ' ' << name(drawn) << " lane " << lane << " element " << i;
        }
      }
    }
  }
}

/// Ordered indices of two of four.
constexpr std::array<U32, 6> kPairs{0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};

TEST(Matrices, EverySparseFormFollowsItsMetadata) {
  const TensorModel& model = numeric::tensor_model("hopper");
  const std::vector<std::string> forms = mma_forms("mma.sp");
  EXPECT_GE(forms.size(), 40U);
  std::uint64_t seed = 1000;
  for (const std::string& mnemonic : forms) {
    const Form form = parse(mnemonic);
    const bool wide_units = form.bits() >= 16;
    // Chunks a row has: of four 16-bit, of two tf32, of four 8-bit, of eight 4-bit elements.
    const std::size_t chunk_elements = form.bits() == 32 ? 2 : form.bits() == 4 ? 8 : 4;
    const std::size_t chunks = form.k / chunk_elements;
    const bool twice = chunks == (wide_units ? 8U : 16U);
    const U32 selectors = wide_units ? (twice ? 2 : 4) : (twice ? 1 : 2);
    for (U32 selector = 0; selector < selectors; ++selector) {
      Random random(++seed);
      const TileOperands tile = draw_tile(seed, OperandClass::ordinary, tile_form(form));
      // nibble[row][chunk], and the metadata register of each lane; lanes that do not contribute
      // hold noise.
      std::vector<std::vector<U32>> nibbles(16, std::vector<U32>(chunks));
      std::vector<U32> metadata(kLaneCount);
      for (U32& word : metadata) word = static_cast<U32>(random.next());
      for (std::size_t row = 0; row < 16; ++row) {
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
          U32& nibble = nibbles[row][chunk];
          nibble = form.bits() == 32 ? (random.chance(0.5) ? 0b1110 : 0b0100)
                                     : kPairs[random.below(kPairs.size())];
          // ISA figures: 16-bit units: T(selector) or T(2·selector + chunk / 4), rows `group` in
          // the low half; 8-bit units: T(2·selector + row / 8) or T(2·(chunk / 8) + row / 8).
          std::size_t t = 0;
          std::size_t bit = 0;
          if (wide_units) {
            t = twice ? 2 * selector + chunk / 4 : selector;
            bit = row / 8 * 16 + chunk % 4 * 4;
          } else {
            t = (twice ? chunk / 8 * 2 : 2 * selector) + row / 8;
            bit = chunk % 8 * 4;
          }
          U32& word = metadata[row % 8 * 4 + t];
          word = (word & ~(15U << bit)) | nibble << bit;
        }
      }
      TestMachine machine(64);
      const Outcome outcome = run_form(machine, form, lanes_of(form, tile), metadata,
                                       fmt::format(", %r40, {}", selector));
      ASSERT_FALSE(outcome.fault) << mnemonic << ": " << TestMachine::describe(outcome);
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        for (std::size_t i = 0; i < form.accumulators(); ++i) {
          const auto [row, column] = place_of_c(lane, i);
          std::vector<std::uint64_t> b;
          const std::size_t kept = chunk_elements / 2;
          for (std::size_t j = 0; j < form.k / 2; ++j) {
            const U32 nibble = nibbles[row][j / kept];
            std::size_t k = j / kept * chunk_elements;
            if (form.bits() == 32) {
              k += nibble == 0b1110 ? 1 : 0;
            } else if (form.bits() == 4) {
              k += (nibble >> (j % 4 / 2 * 2) & 3U) * 2 + j % 2;
            } else {
              k += nibble >> (j % 2 * 2) & 3U;
            }
            b.push_back(tile.b[column * form.k + k]);
          }
          ASSERT_EQ(
              output_bits(machine, form, lane, i),
              expected(model, form, slice(tile.a, row, form.k / 2), b, tile.c[row * 8 + column]))
              << mnemonic << " selector " << selector << " lane " << lane << " element " << i;
        }
      }
    }
  }
}

TEST(Matrices, WhatIsNotThereSaysWhy) {
  const auto run = [](const std::string& instruction) {
    TestMachine machine;
    return machine.run(instruction + " ret;");
  };
  const std::string four = "{%r0,%r1,%r2,%r3}";
  const Outcome selector = run("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 " + four + "," +
                               four + "," + four + "," + four + ", %r4, 1;");
  ASSERT_TRUE(selector.fault);
  EXPECT_NE(selector.fault->message.find("selector"), std::string::npos) << selector.fault->message;

  TestMachine older;
  older.options.tensor_model = &numeric::tensor_model("ampere");
  const Outcome absent =
      older.run("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0,%f1,%f2,%f3}," + four +
                ",{%r0,%r1},{%f0,%f1,%f2,%f3}; ret;");
  ASSERT_TRUE(absent.fault);
  EXPECT_EQ(absent.fault->kind, Fault::Kind::unsupported);
  EXPECT_NE(absent.fault->message.find("ampere"), std::string::npos);
}

TEST(Matrices, VoltasShapeIsFourProductsOfQuadPairs) {
  for (const bool half : {false, true}) {
    for (const std::string layouts : {"row.col", "row.row", "col.row", "col.col"}) {
      const bool a_col = layouts.starts_with("col");
      const bool b_col = layouts.ends_with("col");
      Random random(half ? 1 : 2);
      TestMachine machine;
      // Small integers: exact in any order, so that what is left is who holds what.
      int a[4][8][4];
      int b[4][4][8];
      int c[4][8][8];
      for (std::size_t q = 0; q < 4; ++q) {
        for (auto& row : a[q]) {
          for (int& v : row) v = static_cast<int>(random.between(-8, 8));
        }
        for (auto& row : b[q]) {
          for (int& v : row) v = static_cast<int>(random.between(-8, 8));
        }
        for (auto& row : c[q]) {
          for (int& v : row) v = static_cast<int>(random.between(-100, 100));
        }
      }
      const auto bits = [](int v) { return U32{numeric::to_half(v).bits}; };
      // Rows and columns of the accumulators as the ISA has them for f16 and f32.
      const auto place = [&](std::size_t lane, std::size_t i) {
        const std::size_t up = lane < 16 ? 0 : 4;
        return half ? std::pair{lane % 4 + up, i}
                    : std::pair{(lane & 1) + (i & 2) + up, (i & 4) + (lane & 2) + (i & 1)};
      };
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::size_t q = lane % 16 / 4;
        const std::size_t up = lane < 16 ? 0 : 4;
        for (std::size_t i = 0; i < 4; ++i) {
          const int x = a_col ? a[q][i + up][lane % 4] : a[q][lane % 4 + up][i];
          const int y = b_col ? b[q][i][lane % 4 + up] : b[q][lane % 4][i + up];
          machine.in(lane, i / 2) |= bits(x) << (16 * (i % 2));
          machine.in(lane, 2 + i / 2) |= bits(y) << (16 * (i % 2));
        }
        for (std::size_t i = 0; i < 8; ++i) {
          const auto [row, column] = place(lane, i);
          const int v = c[q][row][column];
          if (half) {
            machine.in(lane, 4 + i / 2) |= bits(v) << (16 * (i % 2));
          } else {
            machine.in(lane, 4 + i) = std::bit_cast<U32>(static_cast<float>(v));
          }
        }
      }
      const std::size_t count = half ? 4 : 8;
      std::string body = "ld.global.v4.b32 {%r0,%r1,%r2,%r3}, [%rd1];\n";
      for (std::size_t i = 0; i < count; ++i) {
        body += fmt::format("ld.global.b32 %r{}, [%rd1+{}];\n", 4 + i, 16 + 4 * i);
      }
      const char* type = half ? "f16" : "f32";
      body += fmt::format(
          "mma.sync.aligned.m8n8k4.{}.{}.f16.f16.{} {}, {{%r0,%r1}}, {{%r2,%r3}}, {};\n", layouts,
          type, type, registers("%r", 4, count), registers("%r", 4, count));
      for (std::size_t i = 0; i < count; ++i) {
        body += fmt::format("st.global.b32 [%rd2+{}], %r{};\n", 4 * i, 4 + i);
      }
      for (const char* model : {"hopper", "volta"}) {
        machine.options.tensor_model = &numeric::tensor_model(model);
        const Outcome outcome = machine.run(body + "ret;");
        ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
        for (std::size_t lane = 0; lane < 32; ++lane) {
          for (std::size_t i = 0; i < 8; ++i) {
            const std::size_t q = lane % 16 / 4;
            const auto [row, column] = place(lane, i);
            int sum = c[q][row][column];
            for (std::size_t k = 0; k < 4; ++k) sum += a[q][row][k] * b[q][k][column];
            const U32 got =
                half ? machine.out(lane, i / 2) >> (16 * (i % 2)) & 0xffffU : machine.out(lane, i);
            ASSERT_EQ(got, half ? bits(sum) : std::bit_cast<U32>(static_cast<float>(sum)))
                << layouts << ' ' << type << " lane " << lane << " element " << i;
          }
        }
      }
    }
  }
}

TEST(Matrices, StmatrixIsLdmatrixBackwards) {
  for (const std::string trans : {"", ".trans"}) {
    for (const bool generic : {false, true}) {
      TestMachine machine;
      for (std::size_t t = 0; t < 32; ++t) {
        for (std::size_t i = 0; i < 4; ++i) machine.in(t, i) = static_cast<U32>(1000 * i + t);
      }
      const std::string space = generic ? "" : ".shared";
      const std::string address = generic ? "%rd4" : "%r10";
      const Outcome outcome = machine.run(
          ".shared .align 16 .b8 s[512];\nmov.u32 %r9, s; shl.b32 %r8, %t2, 4;\n"
          "add.u32 %r10, %r9, %r8; cvt.u64.u32 %rd3, %r10; cvta.shared.u64 %rd4, %rd3;\n"
          "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1];\n"
          "stmatrix.sync.aligned.m8n8.x4" +
          trans + space + ".b16 [" + address +
          "], {%r1,%r2,%r3,%r4};\nbar.warp.sync -1;\n"
          "ldmatrix.sync.aligned.m8n8.x4" +
          trans + space + ".b16 {%r11,%r12,%r13,%r14}, [" + address +
          "];\nld.shared.v4.u32 {%r15,%r16,%r17,%r18}, [%r10];\n"
          "st.global.v4.u32 [%rd2], {%r11,%r12,%r13,%r14};\n"
          "st.global.v4.u32 [%rd2+16], {%r15,%r16,%r17,%r18}; ret;");
      ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
      for (std::size_t t = 0; t < 32; ++t) {
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_EQ(machine.out(t, i), machine.in(t, i));
          // Lane t's address is row t % 8 of matrix t / 8; its word i is columns 2i and 2i + 1.
          const auto element = [&](std::size_t row, std::size_t column) {
            return machine.in(row * 4 + column / 2, t / 8) >> (16 * (column % 2)) & 0xffffU;
          };
          const std::size_t row = t % 8;
          const U32 want = trans.empty() ? element(row, 2 * i + 1) << 16 | element(row, 2 * i)
                                         : element(2 * i + 1, row) << 16 | element(2 * i, row);
          EXPECT_EQ(machine.out(t, 4 + i), want);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bitgate::machine
