#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

namespace bitgate::machine::vectors {

/// A generated PTX program: straight-line code, guards, branches and loops of bounded trip counts
/// over every form of vectors::forms() whose bits PTX fixes (no approximation, no addition or
/// multiplication that a compiler may contract; no mma). Lanes diverge on what they computed.
///
/// Two things are left to compilers, and ptxas 13.0 uses both (measured on an H200). Most programs
/// take them out, one in twenty does not:
///  - the payload of a NaN: which operand's an f64 instruction keeps, and whether neg and abs are
///    folded into another instruction, which keeps the payload, or make a canonical NaN;
///  - abs of the least integer, which ptxas takes to be not negative.
///
/// The first programs on an H200 gave, for a guarded set or testp, what an unguarded part of it
/// would give, and for a float result of set the integer 1; ptxas 13.0 is suspected, which is not
/// shown. Until it is, neither is guarded, and set gives integers alone.
///
/// Registers are eight pools by what they hold (bits of 16, 32 and 64, f16, f32, two halves, f64,
/// predicates); now and then an operand comes from another pool of its width, or is a constant.
class RandomProgram {
 public:
  /// The same seed gives the same program, as long as forms() is the same.
  explicit RandomProgram(std::uint64_t seed);

  /// Statements that can be left out one by one, in the order of the text. A branch or a loop is
  /// one, and so is each statement within.
  std::size_t statements() const { return statements_; }
  std::size_t instructions() const { return instructions_; }

  struct Emission {
    std::set<std::size_t> without;  ///< statements left out
    bool canonical_nan = true;      ///< NaN whose payload is open are replaced by one and the same
    bool clamped_abs = true;        ///< abs takes no least integer
  };
  /// As the program is: all statements, in one of twenty with what is left to compilers.
  Emission emission() const;
  /// An entry `name` with the parameters (.u64 in, .u64 out): thread i reads register k of kWords
  /// at in + 8·(k·threads + i) and writes it back to out in the same place.
  std::string entry(const std::string& name, std::uint32_t threads, const Emission& emission) const;
  /// Its statements alone, for people.
  std::string text(const Emission& emission) const;

  /// Registers of all pools.
  static std::size_t words();
  /// "%f3"
  static std::string register_name(std::size_t word);
  /// Initial registers, of the same seed as the program.
  std::vector<std::uint64_t> inputs(std::uint32_t threads) const;

  /// The mnemonics that programs are made of.
  static std::vector<std::string> mnemonics();

 private:
  struct Statement {
    enum class Kind : std::uint8_t { instruction, branch, loop };
    Kind kind = Kind::instruction;
    std::size_t id = 0;
    std::string text;             ///< instruction, its guard included
    std::string guard;            ///< branch: the predicate; loop: the trip count's source
    std::string canonical;        ///< instructions that replace a NaN with an open payload
    std::string clamped;          ///< instead of text, where that is abs
    std::vector<Statement> then;  ///< the body
    std::vector<Statement> otherwise;
  };
  class Generator;
  void emit(const std::vector<Statement>& body, const Emission& emission, std::string& out) const;

  std::uint64_t seed_ = 0;
  std::size_t statements_ = 0;
  std::size_t instructions_ = 0;
  std::size_t loops_ = 0;
  std::vector<Statement> body_;
};

}  // namespace bitgate::machine::vectors
