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
/// What ptxas 13.0 makes of some texts is not what PTX says (measured on an H200, which gives the
/// machine's bits where ptxas does not optimise). All but one program in 1000 stay clear of it:
///  - an f64 NaN keeps the payload of either operand, and neg, abs, min and max may be folded away,
///    which keeps the payload, where an H200's instruction makes a canonical NaN;
///  - neg and abs of the least 16-bit integer are taken to be positive by signed instructions after
///    them; so is abs of the least integer of any width; a carry out of x − |y| is one off for y =
///    0;
///  - the result of cnot, used as a shift amount or converted, is taken to be a predicate; that of
///    set or of a conversion from f32, used as an amount, to be a float or narrower than it is;
///  - a slct between a register and a constant may take the other one;
///  - a predicate that a branch tests is taken to keep its value in the loops of its arms;
///  - lop3 or the logic of predicates with the same register twice is merged wrongly;
///  - a register that holds an f32, read as another type, may be converted, or its abs.f16x2 be the
///    f32's.
/// And these are left out of all programs: guards of set, testp and video instructions, which are
/// executed in part where the guard does not hold, and float results of set, which come out as the
/// integer 1.
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
  };
  /// As the program is: all statements.
  Emission emission() const { return {.without = {}, .canonical_nan = !open_}; }
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
    std::string text;             ///< instruction, its guard included, and what stands around it
    std::string guard;            ///< branch: the predicate; loop: the trip count's source
    std::string canonical;        ///< instructions that replace a NaN with an open payload
    std::vector<Statement> then;  ///< the body
    std::vector<Statement> otherwise;
  };
  class Generator;
  void emit(const std::vector<Statement>& body, const Emission& emission, std::string& out) const;

  std::uint64_t seed_ = 0;
  bool open_ = false;  ///< does not stay clear of what compilers do
  std::size_t statements_ = 0;
  std::size_t instructions_ = 0;
  std::size_t loops_ = 0;
  std::vector<Statement> body_;
};

}  // namespace bitgate::machine::vectors
