#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/numeric/tensor_tile.h"

namespace bitgate::machine {

/// Fragments of mma (PTX ISA 9.7.14.5, "Matrix Fragments for mma.m…"): in all of them, of all
/// types, lane = 4·group + t, and a register's 32 lanes are 8 rows (group) of 4 words (t), in
/// order: 16 bytes of k of eight rows of A, or of eight columns of B. A register of f64 is the same
/// with words of 8 bytes.
///
/// Registers of A with 16 rows go by rows first (rows 0 to 7, rows 8 to 15), then by k; those of B,
/// and of A with 8 rows, by k. Accumulators: register pairs are 8 rows; a lane has columns 2t and
/// 2t+1 of row `group`, of f16 both in one register.

inline constexpr std::size_t kFragmentRows = 8;
inline constexpr std::size_t kFragmentColumns = 8;

/// Copies `blocks` registers of 16 bytes of k for each of `row_groups` groups of eight rows; rows
/// have `RowWords` words.
template <std::size_t RowWords>
void read_rows(const Context& x, const std::uint32_t* registers, std::size_t row_groups,
               std::size_t blocks, std::uint32_t* rows) {
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t group = 0; group < row_groups; ++group) {
      const std::uint32_t* in = x.lanes32(registers[block * row_groups + group]);
      std::uint32_t* out = rows + group * kFragmentRows * RowWords + block * 4;
      for (std::size_t row = 0; row < kFragmentRows; ++row) {
        std::memcpy(out + row * RowWords, in + row * 4, 16);
      }
    }
  }
}

inline void read_rows(const Context& x, const std::uint32_t* registers, std::size_t row_groups,
                      std::size_t blocks, std::span<numeric::TileRow> rows) {
  read_rows<8>(x, registers, row_groups, blocks, rows.front().words.data());
}

inline void write_rows(const Context& x, const std::uint32_t* registers, std::size_t row_groups,
                       std::size_t blocks, std::span<const numeric::TileRow> rows) {
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t group = 0; group < row_groups; ++group) {
      std::uint32_t* out = x.lanes32(registers[block * row_groups + group]);
      for (std::size_t row = 0; row < kFragmentRows; ++row) {
        std::memcpy(out + row * 4, rows[group * kFragmentRows + row].words.data() + block * 4, 16);
      }
    }
  }
}

/// 32-bit accumulators of `row_groups` groups of eight rows, as [row][8].
inline void read_accumulators(const Context& x, const std::uint32_t* registers,
                              std::size_t row_groups, void* matrix) {
  auto* out = static_cast<__m128i*>(matrix);
  for (std::size_t group = 0; group < row_groups; ++group) {
    const auto* even = reinterpret_cast<const __m128i*>(x.lanes32(registers[2 * group]));
    const auto* odd = reinterpret_cast<const __m128i*>(x.lanes32(registers[2 * group + 1]));
    for (std::size_t row = 0; row < kFragmentRows; ++row) {
      const __m128i a = _mm_load_si128(even + row);
      const __m128i b = _mm_load_si128(odd + row);
      _mm_store_si128(out++, _mm_unpacklo_epi32(a, b));
      _mm_store_si128(out++, _mm_unpackhi_epi32(a, b));
    }
  }
}

inline void write_accumulators(const Context& x, const std::uint32_t* registers,
                               std::size_t row_groups, const void* matrix) {
  const auto* in = static_cast<const float*>(matrix);
  for (std::size_t group = 0; group < row_groups; ++group) {
    auto* even = reinterpret_cast<float*>(x.lanes32(registers[2 * group]));
    auto* odd = reinterpret_cast<float*>(x.lanes32(registers[2 * group + 1]));
    for (std::size_t row = 0; row < kFragmentRows; ++row, in += kFragmentColumns) {
      const __m128 a = _mm_load_ps(in);
      const __m128 b = _mm_load_ps(in + 4);
      _mm_store_ps(even + 4 * row, _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
      _mm_store_ps(odd + 4 * row, _mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    }
  }
}

/// f16 accumulators, as [row][8] of 16 bits: a register is eight rows as they are.
inline constexpr std::size_t kHalfFragmentBytes = 128;

inline void read_half_accumulators(const Context& x, const std::uint32_t* registers,
                                   std::size_t row_groups, std::uint16_t* matrix) {
  for (std::size_t group = 0; group < row_groups; ++group) {
    std::memcpy(matrix + group * 64, x.lanes32(registers[group]), kHalfFragmentBytes);
  }
}

inline void write_half_accumulators(const Context& x, const std::uint32_t* registers,
                                    std::size_t row_groups, const std::uint16_t* matrix) {
  for (std::size_t group = 0; group < row_groups; ++group) {
    std::memcpy(x.lanes32(registers[group]), matrix + group * 64, kHalfFragmentBytes);
  }
}

/// a·b + c of f64 by the CPU's rounding. NaN as an H200 gives it, for mma as for fma: the payload
/// of b, else of c, else of a, quiet; 0xfff8000000000000 from an invalid operation.
inline double matrix_fma(double a, double b, double c) {
  const double result = std::fma(a, b, c);
  if (!is_nan(result)) [[likely]]
    return result;
  if (is_nan(b)) return quiet(b);
  if (is_nan(c)) return quiet(c);
  if (is_nan(a)) return quiet(a);
  return std::bit_cast<double>(0xfff8000000000000ULL);
}

/// The registers of a fragment into the list; Unsupported when they are not `count`.
void list_fragment(InstructionBuilder& builder, std::size_t operand, std::size_t count,
                   bool defines, Kind kind = Kind::b32,
                   Immediates immediates = Immediates::integer);

/// An op that all 32 lanes of a warp carry out together.
void whole_warp(InstructionBuilder& builder, Handler handler);

/// Small constants of an instruction's form, in the list before its registers.
template <class Form>
constexpr std::size_t kFormWords = sizeof(Form) / sizeof(std::uint32_t);

template <class Form>
void list_form(InstructionBuilder& builder, const Form& form) {
  static_assert(sizeof(Form) % sizeof(std::uint32_t) == 0);
  const auto words = std::bit_cast<std::array<std::uint32_t, kFormWords<Form>>>(form);
  for (const std::uint32_t word : words) builder.list_raw(word);
}

template <class Form>
Form read_form(const std::uint32_t* list) {
  std::array<std::uint32_t, kFormWords<Form>> words;
  std::memcpy(words.data(), list, sizeof(Form));
  return std::bit_cast<Form>(words);
}

/// The types among an instruction's modifiers, in order.
std::vector<numeric::TensorType> tensor_types(const InstructionBuilder& builder);

/// Throws the machine's `unsupported` when the tensor model has no mma of the type.
void require_type(const Context& x, numeric::TensorType type);

}  // namespace bitgate::machine
