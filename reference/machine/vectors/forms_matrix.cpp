#include <algorithm>
#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.14: mma and mma.sp. The inputs of a thread are the registers of its fragments.

namespace bitgate::machine::vectors {

namespace {

using V = Value;

/// Registers of a thread's fragments.
struct Registers {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
};

struct Matrix {
  std::string mnemonic = {};
  V a = V::b32;
  V b = V::b32;
  V c = V::f32;
  Registers registers = {};
  V metadata = V::b32;    ///< of mma.sp; b32: dense
  int selector = -1;      ///< of mma.sp
  std::size_t least = 0;  ///< output elements at least
};

constexpr std::size_t kVectorsOfAType = 100000;
/// Integer types come with eight forms a shape: each adds its share.
constexpr std::size_t kVectorsOfAVariant = 32768;

void add(std::vector<Form>& forms, const Matrix& matrix) {
  Form form{.name = matrix.mnemonic, .body = matrix.mnemonic + " ", .results = {}, .sources = {}};
  form.a_registers = matrix.registers.a;
  const auto list = [&](const char* prefix, std::size_t first, std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i != 0 ? ", %" : "%") + std::string(prefix) + std::to_string(first + i);
    }
    return text + "}";
  };
  const Registers& r = matrix.registers;
  form.body += list("d", 0, r.c) + ", " + list("a", 0, r.a) + ", " + list("a", r.a, r.b) + ", " +
               list("a", r.a + r.b, r.c);
  form.results.assign(r.c, matrix.c);
  form.sources.assign(r.a, matrix.a);
  form.sources.insert(form.sources.end(), r.b, matrix.b);
  form.sources.insert(form.sources.end(), r.c, matrix.c);
  if (matrix.selector >= 0) {
    form.name += " " + std::to_string(matrix.selector);
    form.body += ", %a" + std::to_string(r.a + r.b + r.c) + ", " + std::to_string(matrix.selector);
    form.sources.push_back(matrix.metadata);
  }
  form.body += ";";
  const std::size_t a_thread = r.c * shape(matrix.c).elements;
  form.threads = static_cast<std::uint32_t>((matrix.least / a_thread + 255) / 256 * 256);
  forms.push_back(std::move(form));
}

std::string prefix(const char* shape_name, bool sparse = false) {
  return std::string(sparse ? "mma.sp" : "mma") + ".sync.aligned." + shape_name + ".row.col";
}

void add_dense_floats(std::vector<Form>& forms) {
  const auto dense = [&](const std::string& mnemonic, V ab, V c, Registers registers) {
    add(forms, {.mnemonic = mnemonic,
                .a = ab,
                .b = ab,
                .c = c,
                .registers = registers,
                .least = kVectorsOfAType});
  };
  dense(prefix("m16n8k8") + ".f32.f16.f16.f32", V::f16x2, V::f32, {2, 1, 4});
  dense(prefix("m16n8k8") + ".f16.f16.f16.f16", V::f16x2, V::f16x2, {2, 1, 2});
  dense(prefix("m16n8k16") + ".f32.f16.f16.f32", V::f16x2, V::f32, {4, 2, 4});
  dense(prefix("m16n8k16") + ".f16.f16.f16.f16", V::f16x2, V::f16x2, {4, 2, 2});
  dense(prefix("m16n8k8") + ".f32.bf16.bf16.f32", V::bf16x2, V::f32, {2, 1, 4});
  dense(prefix("m16n8k16") + ".f32.bf16.bf16.f32", V::bf16x2, V::f32, {4, 2, 4});
  dense(prefix("m16n8k4") + ".f32.tf32.tf32.f32", V::tf32, V::f32, {2, 1, 4});
  dense(prefix("m16n8k8") + ".f32.tf32.tf32.f32", V::tf32, V::f32, {4, 2, 4});
  dense(prefix("m8n8k4") + ".f64.f64.f64.f64", V::f64, V::f64, {1, 1, 2});
  dense(prefix("m16n8k4") + ".f64.f64.f64.f64", V::f64, V::f64, {2, 1, 4});
  dense(prefix("m16n8k8") + ".f64.f64.f64.f64", V::f64, V::f64, {4, 2, 4});
  dense(prefix("m16n8k16") + ".f64.f64.f64.f64", V::f64, V::f64, {8, 4, 4});
  for (const char* layout : {"row.col", "row.row", "col.row", "col.col"}) {
    const std::string m8n8k4 = std::string("mma.sync.aligned.m8n8k4.") + layout;
    dense(m8n8k4 + ".f32.f16.f16.f32", V::f16x2, V::f32, {2, 2, 8});
    dense(m8n8k4 + ".f16.f16.f16.f16", V::f16x2, V::f16x2, {2, 2, 4});
  }
}

void add_eight_bit_floats(std::vector<Form>& forms) {
  for (const char* a : {"e4m3", "e5m2"}) {
    for (const char* b : {"e4m3", "e5m2"}) {
      const std::string types = std::string(".") + a + "." + b;
      Matrix matrix{.a = a == std::string("e4m3") ? V::e4m3x4 : V::e5m2x4,
                    .b = b == std::string("e4m3") ? V::e4m3x4 : V::e5m2x4,
                    .least = kVectorsOfAType};
      for (const bool half : {false, true}) {
        matrix.c = half ? V::f16x2 : V::f32;
        const std::string d = half ? ".f16" : ".f32";
        const unsigned c = half ? 2 : 4;
        matrix.metadata = V::b32;
        matrix.selector = -1;
        matrix.mnemonic = prefix("m16n8k32") + d + types + d;
        matrix.registers = {4, 2, c};
        add(forms, matrix);
        matrix.mnemonic = prefix("m16n8k16") + d + types + d;
        matrix.registers = {2, 1, c};
        add(forms, matrix);
        if (half) continue;  // not for sm_90
        matrix.mnemonic = prefix("m16n8k64", true) + d + types + d;
        matrix.registers = {4, 4, c};
        matrix.metadata = V::two_of_4;
        matrix.selector = 0;
        add(forms, matrix);
      }
    }
  }
}

void add_sparse_floats(std::vector<Form>& forms) {
  const auto sparse = [&](const std::string& mnemonic, V ab, V c, Registers registers, V metadata,
                          int selector) {
    add(forms, {.mnemonic = mnemonic,
                .a = ab,
                .b = ab,
                .c = c,
                .registers = registers,
                .metadata = metadata,
                .selector = selector,
                .least = kVectorsOfAType});
  };
  const std::string k8 = prefix("m16n8k8", true);
  const std::string k16 = prefix("m16n8k16", true);
  const std::string k32 = prefix("m16n8k32", true);
  sparse(k16 + ".f32.f16.f16.f32", V::f16x2, V::f32, {2, 2, 4}, V::two_of_4, 1);
  sparse(k16 + ".f16.f16.f16.f16", V::f16x2, V::f16x2, {2, 2, 2}, V::two_of_4, 3);
  sparse(k32 + ".f32.f16.f16.f32", V::f16x2, V::f32, {4, 4, 4}, V::two_of_4, 0);
  sparse(k32 + ".f16.f16.f16.f16", V::f16x2, V::f16x2, {4, 4, 2}, V::two_of_4, 1);
  sparse(k16 + ".f32.bf16.bf16.f32", V::bf16x2, V::f32, {2, 2, 4}, V::two_of_4, 2);
  sparse(k32 + ".f32.bf16.bf16.f32", V::bf16x2, V::f32, {4, 4, 4}, V::two_of_4, 1);
  sparse(k8 + ".f32.tf32.tf32.f32", V::tf32, V::f32, {2, 2, 4}, V::one_of_2, 2);
  sparse(k16 + ".f32.tf32.tf32.f32", V::tf32, V::f32, {4, 4, 4}, V::one_of_2, 1);
}

void add_integers(std::vector<Form>& forms, const char* bits, V packed,
                  const std::vector<std::pair<const char*, Registers>>& shapes,
                  const std::vector<std::pair<const char*, Registers>>& sparse_shapes) {
  for (const char* a : {"s", "u"}) {
    for (const char* b : {"s", "u"}) {
      for (const char* clamp : {"", ".satfinite"}) {
        const std::string types = std::string(clamp) + ".s32." + a + bits + "." + b + bits + ".s32";
        Matrix matrix{.a = packed, .b = packed, .c = V::s32, .least = kVectorsOfAVariant};
        for (const auto& [name, registers] : shapes) {
          matrix.mnemonic = prefix(name) + types;
          matrix.registers = registers;
          add(forms, matrix);
        }
        matrix.metadata = V::two_of_4;
        matrix.selector = 0;
        for (const auto& [name, registers] : sparse_shapes) {
          matrix.mnemonic = prefix(name, true) + types;
          matrix.registers = registers;
          add(forms, matrix);
        }
      }
    }
  }
}

void add_single_bits(std::vector<Form>& forms) {
  for (const char* op : {".xor", ".and"}) {
    const std::string types = std::string(".s32.b1.b1.s32") + op + ".popc";
    Matrix matrix{.c = V::s32, .least = kVectorsOfAVariant};
    matrix.mnemonic = prefix("m8n8k128") + types;
    matrix.registers = {1, 1, 2};
    add(forms, matrix);
    matrix.mnemonic = prefix("m16n8k128") + types;
    matrix.registers = {2, 1, 4};
    add(forms, matrix);
    matrix.mnemonic = prefix("m16n8k256") + types;
    matrix.registers = {4, 2, 4};
    add(forms, matrix);
  }
}

}  // namespace

void add_matrix_forms(std::vector<Form>& forms) {
  add_dense_floats(forms);
  add_sparse_floats(forms);
  add_eight_bit_floats(forms);
  add_integers(forms, "8", V::bytes,
               {{"m8n8k16", {1, 1, 2}}, {"m16n8k16", {2, 1, 4}}, {"m16n8k32", {4, 2, 4}}},
               {{"m16n8k32", {2, 2, 4}}, {"m16n8k64", {4, 4, 4}}});
  add_integers(forms, "4", V::nibbles,
               {{"m8n8k32", {1, 1, 2}}, {"m16n8k32", {2, 1, 4}}, {"m16n8k64", {4, 2, 4}}},
               {{"m16n8k64", {2, 2, 4}}, {"m16n8k128", {4, 4, 4}}});
  add_single_bits(forms);
}

}  // namespace bitgate::machine::vectors
