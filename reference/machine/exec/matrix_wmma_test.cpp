#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"
#include "reference/machine/program/decode_table.h"
#include "reference/numeric/half.h"
#include "reference/numeric/tensor_dot.h"
#include "reference/numeric/tile_operands.h"

// wmma by what PTX does fix: matrices in memory, in either layout, multiplied and stored. Which
// lane holds what plays no part.

namespace bitgate::machine {
namespace {

using numeric::OperandClass;
using numeric::TensorType;
using U32 = std::uint32_t;
using Bits = std::vector<std::uint64_t>;

constexpr std::size_t kThreads = 128;  // 64 bytes of input and output each
constexpr std::size_t kPlaceOfB = 2048;
constexpr std::size_t kPlaceOfC = 4096;

std::vector<std::string> words_of(const std::string& mnemonic) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= mnemonic.size()) {
    const std::size_t end = std::min(mnemonic.find('.', begin), mnemonic.size());
    words.push_back(mnemonic.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// The parts of wmma.mma's mnemonic.
struct Form {
  bool a_is_col = false;
  bool b_is_col = false;
  bool saturate = false;
  bool bit_and = false;
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  TensorType a = TensorType::f16;
  TensorType b = TensorType::f16;
  TensorType c{};
  TensorType d{};
  std::string shape;
  std::string rounding = "rn";

  explicit Form(const std::string& mnemonic) {
    std::vector<TensorType> types;
    bool first_layout = true;
    for (const std::string& word : words_of(mnemonic)) {
      if (word == "row" || word == "col") {
        (first_layout ? a_is_col : b_is_col) = word == "col";
        first_layout = false;
      }
      if (word == "satfinite") saturate = true;
      if (word == "and") bit_and = true;
      if (word == "rz" || word == "rm" || word == "rp") rounding = word;
      unsigned sizes[3];
      if (std::sscanf(word.c_str(), "m%un%uk%u", &sizes[0], &sizes[1], &sizes[2]) == 3) {
        m = sizes[0];
        n = sizes[1];
        k = sizes[2];
        shape = word;
      }
      for (int i = 0; i <= static_cast<int>(TensorType::s32); ++i) {
        const auto type = static_cast<TensorType>(i);
        if (word == name(type)) types.push_back(type);
      }
    }
    d = types.front();
    c = types.back();
    if (types.size() == 4) {
      a = types[1];
      b = types[2];
    }
  }
};

std::size_t bits_of(TensorType type) { return static_cast<std::size_t>(layout(type).bits); }

std::size_t stride_of(TensorType type, std::size_t length) {
  return bits_of(type) < 8 ? 2 * length : length + 16;
}

/// Puts a matrix of [rows][columns] into memory at a byte, in lines of one layout.
void put(TestMachine& machine, std::size_t byte, TensorType type, std::size_t rows,
         std::size_t columns, bool col, const Bits& matrix) {
  const std::size_t stride = stride_of(type, col ? rows : columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t bit = byte * 8 + (col ? c * stride + r : r * stride + c) * bits_of(type);
      for (std::size_t i = 0; i < bits_of(type); i += 32) {
        U32& word = machine.in((bit + i) / 512, (bit + i) % 512 / 32);
        word |= static_cast<U32>(matrix[r * columns + c] >> i) << bit % 32;
      }
    }
  }
}

std::uint64_t get(const TestMachine& machine, TensorType type, std::size_t rows,
                  std::size_t columns, bool col, std::size_t r, std::size_t c) {
  const std::size_t stride = stride_of(type, col ? rows : columns);
  const std::size_t byte = (col ? c * stride + r : r * stride + c) * bits_of(type) / 8;
  const std::size_t thread = byte / 64;
  const std::size_t word = byte % 64 / 4;
  if (type == TensorType::f64) return machine.out64(thread, word);
  if (type == TensorType::f16) return machine.out(thread, word) >> (byte % 4 * 8) & 0xffffU;
  return machine.out(thread, word);
}

std::string registers(TensorType type, std::size_t first, std::size_t count) {
  const char* prefix = type == TensorType::f64 ? "%fd" : type == TensorType::f32 ? "%f" : "%r";
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "" : ",", prefix, first + i);
  }
  return text + "}";
}

std::size_t registers_of_side(TensorType type, std::size_t length, std::size_t k) {
  if (type == TensorType::f64) return 1;
  return type == TensorType::f16 ? 8 : length * k * bits_of(type) / 32 / 32;
}

std::size_t registers_of_sums(const Form& form, TensorType type) {
  return form.m * form.n / 32 / (type == TensorType::f16 ? 2 : 1);
}

std::uint64_t expected_sum(const Form& form, const Bits& a, const Bits& b, std::uint64_t c) {
  const numeric::TensorModel& model = numeric::tensor_model("hopper");
  if (form.a == TensorType::f64) {
    auto sum = std::bit_cast<double>(c);
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum);
    }
    return std::bit_cast<std::uint64_t>(sum);
  }
  const std::vector<U32> x(a.begin(), a.end());
  const std::vector<U32> y(b.begin(), b.end());
  if (form.d == TensorType::s32) {
    if (form.a != TensorType::b1) {
      return static_cast<U32>(numeric::integer_dot(
          form.a, form.b, x, y, static_cast<std::int32_t>(static_cast<U32>(c)), form.saturate));
    }
    auto ones = static_cast<U32>(c);
    for (std::size_t k = 0; k < x.size(); ++k) ones += form.bit_and ? x[k] & y[k] : x[k] ^ y[k];
    return ones;
  }
  if (form.d == TensorType::f16 && form.c == TensorType::f16) {
    return numeric::tensor_dot_f16(model, form.a, form.b, x, y, static_cast<std::uint16_t>(c));
  }
  float sum = form.c == TensorType::f16
                  ? numeric::to_float(numeric::Half{static_cast<std::uint16_t>(c)})
                  : std::bit_cast<float>(static_cast<U32>(c));
  // tf32 k8 is two sums of k4.
  const std::size_t count = form.a == TensorType::tf32 ? 4 : x.size();
  for (std::size_t first = 0; first < x.size(); first += count) {
    sum = numeric::tensor_dot(model, form.a, form.b, std::span(x).subspan(first, count),
                              std::span(y).subspan(first, count), sum);
  }
  if (form.d == TensorType::f32) return std::bit_cast<U32>(sum);
  return numeric::to_half(static_cast<double>(sum)).bits;
}

void check(const std::string& mnemonic, std::uint64_t seed) {
  const Form form(mnemonic);
  const OperandClass drawn =
      form.a == TensorType::f64 || seed % 2 == 0 ? OperandClass::ordinary : OperandClass::special;
  numeric::TileOperands tile = draw_tile(
      seed, drawn,
      {.m = form.m, .n = form.n, .k = form.k, .a = form.a, .b = form.b, .accumulator = form.c});
  if (form.rounding != "rn") {
    // Small integers: exact, so that every rounding gives the same.
    for (auto* part : {&tile.a, &tile.b, &tile.c}) {
      for (std::uint64_t& x : *part) {
        x = std::bit_cast<std::uint64_t>(std::trunc(std::bit_cast<double>(x) * 8));
      }
    }
  }
  Bits b_rows(form.k * form.n);  // [k][n], as PTX has B
  for (std::size_t i = 0; i < b_rows.size(); ++i) {
    b_rows[i] = tile.b[i % form.n * form.k + i / form.n];
  }
  const bool c_is_col = seed % 3 == 0;
  const bool d_is_col = seed % 5 < 2;
  const bool shared = seed % 7 < 3;
  TestMachine machine(kThreads);
  put(machine, 0, form.a, form.m, form.k, form.a_is_col, tile.a);
  put(machine, kPlaceOfB, form.b, form.k, form.n, form.b_is_col, b_rows);
  put(machine, kPlaceOfC, form.c, form.m, form.n, c_is_col, tile.c);

  const auto layout_name = [](bool col) { return col ? "col" : "row"; };
  const std::string space = shared ? ".shared" : seed % 2 == 0 ? ".global" : "";
  const auto load = [&](const char* role, bool col, TensorType type, std::size_t first,
                        std::size_t count, std::size_t place, std::size_t stride) {
    return fmt::format("wmma.load.{}.sync.aligned.{}.{}{}.{} {}, [{}+{}], {};\n", role,
                       layout_name(col), form.shape, space, name(type),
                       registers(type == TensorType::tf32 ? TensorType::b1 : type, first, count),
                       shared ? "%r60" : "%rd3", place, stride);
  };
  const std::size_t a_count = registers_of_side(form.a, form.m, form.k);
  const std::size_t b_count = registers_of_side(form.b, form.n, form.k);
  const std::size_t c_count = registers_of_sums(form, form.c);
  const std::size_t d_count = registers_of_sums(form, form.d);
  const TensorType side = form.a == TensorType::f64 ? TensorType::f64 : TensorType::b1;
  std::string body =
      ".shared .align 16 .b8 s[8192];\nmov.u32 %r60, s; shl.b32 %r61, %t2, 6;\n"
      "add.u32 %r61, %r60, %r61;\n";
  for (int i = 0; i < 64; i += 16) {
    body += fmt::format(
        "ld.global.v4.u32 {{%r0,%r1,%r2,%r3}}, [%rd1+{0}]; st.shared.v4.u32 [%r61+{0}], "
        "{{%r0,%r1,%r2,%r3}};\n",
        i);
  }
  body +=
      "bar.sync 0; setp.ge.u32 %p1, %t2, 32;\n@%p1 ret;\n"
      "sub.s64 %rd3, %rd1, %td0; sub.s64 %rd4, %rd2, %td0;\n";
  body += load("a", form.a_is_col, form.a, 0, a_count, 0,
               stride_of(form.a, form.a_is_col ? form.m : form.k));
  body += load("b", form.b_is_col, form.b, 8, b_count, kPlaceOfB,
               stride_of(form.b, form.b_is_col ? form.k : form.n));
  body += load("c", c_is_col, form.c, 16, c_count, kPlaceOfC,
               stride_of(form.c, c_is_col ? form.m : form.n));
  body += fmt::format("{} {}, {}, {}, {};\n", mnemonic, registers(form.d, 24, d_count),
                      registers(side, 0, a_count), registers(side, 8, b_count),
                      registers(form.c, 16, c_count));
  body +=
      fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%rd4], {}, {};\nret;",
                  layout_name(d_is_col), form.shape, name(form.d), registers(form.d, 24, d_count),
                  stride_of(form.d, d_is_col ? form.m : form.n));
  const Outcome outcome = machine.run(body);
  ASSERT_FALSE(outcome.fault) << mnemonic << ": " << TestMachine::describe(outcome);
  EXPECT_EQ(outcome.tensor_instructions, 1U);
  for (std::size_t i = 0; i < form.m; ++i) {
    const auto row = tile.a.begin() + static_cast<std::ptrdiff_t>(i * form.k);
    for (std::size_t j = 0; j < form.n; ++j) {
      const auto column = tile.b.begin() + static_cast<std::ptrdiff_t>(j * form.k);
      const auto k = static_cast<std::ptrdiff_t>(form.k);
      ASSERT_EQ(get(machine, form.d, form.m, form.n, d_is_col, i, j),
                expected_sum(form, {row, row + k}, {column, column + k}, tile.c[i * form.n + j]))
          << mnemonic << " at " << i << ' ' << j;
    }
  }
}

TEST(Wmma, EveryFormMultipliesMatricesInMemory) {
  const DecodeTable::Row& row = DecodeTable::instance().rows().at("wmma");
  std::uint64_t seed = 0;
  int products = 0;
  for (const std::string& form : row.forms) {
    if (!form.starts_with("wmma.mma")) continue;
    check(form, ++seed);
    if (HasFatalFailure()) return;
    ++products;
  }
  EXPECT_GE(products, 120);
}

TEST(Wmma, ElementsOfAFragmentCanBeScaledAlike) {
  // x[i] *= 2 over all registers of A, copies included, is A·2.
  TestMachine machine(kThreads);
  Bits ones(16 * 16, 0x3c00);
  put(machine, 0, TensorType::f16, 16, 16, false, ones);
  put(machine, kPlaceOfB, TensorType::f16, 16, 16, true, ones);
  std::string body =
      "setp.ge.u32 %p1, %t2, 32;\n@%p1 ret;\n"
      "sub.s64 %rd3, %rd1, %td0; sub.s64 %rd4, %rd2, %td0; mov.b32 %r30, 0x40004000;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, "
      "[%rd3], 32;\n"
      "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15}, "
      "[%rd3+2048], 32;\n";
  for (int i = 0; i < 8; ++i) body += fmt::format("mul.rn.f16x2 %r{0}, %r{0}, %r30;\n", i);
  for (int i = 0; i < 8; ++i) body += fmt::format("mov.f32 %f{}, 0f3F800000;\n", i);
  body +=
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
      "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15}, "
      "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};\n"
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd4], "
      "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, 16;\nret;";
  const Outcome outcome = machine.run(body);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(std::bit_cast<float>(machine.out(i / 16, i % 16)), 33.0F) << i;
  }
}

TEST(Wmma, FaultsWhereTheMatrixLeavesMemory) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
      "[%rd1], 1024; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::out_of_bounds);
}

}  // namespace
}  // namespace bitgate::machine
