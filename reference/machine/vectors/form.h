#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitgate::machine::vectors {

/// What a register of a form holds: its width, and how its inputs are drawn.
enum class Value : std::uint8_t {
  predicate,
  u8,
  s8,
  u16,
  s16,
  b16,
  u32,
  s32,
  b32,
  u64,
  s64,
  b64,
  f16,
  bf16,
  f32,
  f64,
  f16x2,
  bf16x2,
  tf32,
  e4m3x2,
  e5m2x2,
  e4m3x4,
  e5m2x4,
  shift,     ///< b32, an amount or a position: around the widths of registers
  bytes,     ///< b32, four integers of 8 bits
  nibbles,   ///< b32, eight integers of 4 bits
  two_of_4,  ///< b32, metadata of mma.sp: two different, ascending positions in each nibble
  one_of_2,  ///< b32, metadata of mma.sp of tf32: 0b0100 or 0b1110 in each nibble
};

struct Shape {
  std::string_view name;
  unsigned bits = 0;           ///< of the value
  unsigned register_bits = 0;  ///< 1, 16, 32 or 64: of the register that holds it
  unsigned elements = 1;       ///< packed in one value
};
const Shape& shape(Value value);

/// One arithmetic, conversion, bit or comparison instruction with its modifiers, or one mma shape
/// and types: what a hardware vector is a vector of.
///
/// `body` is PTX over the registers %a0, %a1, … (sources) and %d0, %d1, … (results); it may use the
/// scratch predicates %p0 and %p1. Most bodies are the one instruction; those of instructions that
/// write the carry flag read it back.
struct Form {
  std::string name;  ///< unique; the mnemonic where one instruction has one form
  std::string body;
  std::vector<Value> results;
  std::vector<Value> sources;
  /// mma: how many of the sources are A's fragment (then come B's, then as many of C's as there are
  /// results, then the metadata); a warp's inputs are drawn together. 0: threads stand alone.
  unsigned a_registers = 0;
  /// Threads recorded: a multiple of 256.
  std::uint32_t threads = 1024;
};

/// Every form that is recorded, in the order of the file.
const std::vector<Form>& forms();
/// InputError when there is no such form.
const Form& form(std::string_view name);

/// The mnemonics of a form's body: what its vectors test.
std::vector<std::string> mnemonics(const Form& form);

/// Output elements of a form's recorded threads (a packed register holds several).
std::size_t elements(const Form& form);

void add_integer_forms(std::vector<Form>& forms);
void add_bit_forms(std::vector<Form>& forms);
void add_video_forms(std::vector<Form>& forms);
void add_float_forms(std::vector<Form>& forms);
void add_half_forms(std::vector<Form>& forms);
void add_conversion_forms(std::vector<Form>& forms);
void add_comparison_forms(std::vector<Form>& forms);
void add_matrix_forms(std::vector<Form>& forms);

/// A form of one instruction with one result: `mnemonic %d0, %a0, …;`.
Form plain(const std::string& mnemonic, Value result, std::vector<Value> sources);

}  // namespace bitgate::machine::vectors
