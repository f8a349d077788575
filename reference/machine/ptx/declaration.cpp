#include "reference/machine/ptx/declaration.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>

#include "reference/machine/ptx/expression.h"
#include "reference/machine/ptx/types.h"

namespace bitgate::machine::ptx {

namespace {

constexpr std::uint64_t kMostVariableBytes = std::uint64_t{1} << 48;
// What an initialiser may reach; the text of a larger one would not fit a compiler either.
constexpr std::uint64_t kMostInitialBytes = std::uint64_t{1} << 26;
constexpr std::int64_t kMostRegisters = 1 << 24;
constexpr std::int64_t kMostAlignment = 1 << 16;

std::uint32_t parse_alignment(TokenStream& tokens) {
  const Token where = tokens.peek();
  const auto alignment =
      static_cast<std::uint32_t>(parse_integer(tokens, 1, kMostAlignment, "an alignment"));
  if (!std::has_single_bit(alignment)) {
    tokens.fail_at(where, fmt::format("expected a power of two as alignment, found {}", alignment));
  }
  return alignment;
}

/// What stands between the state space and the first name, shared by all names of a declaration.
Variable parse_variable_head(TokenStream& tokens, bool is_parameter) {
  Variable head;
  const Token space = tokens.peek();
  head.space = space.kind == Token::Kind::dotted ? space_of(space.text) : StateSpace::none;
  if (head.space == StateSpace::none) tokens.fail("a state space");
  head.ptx_line = space.line;
  tokens.take();
  while (tokens.peek().kind == Token::Kind::dotted) {
    const std::string_view word = tokens.peek().text;
    if (word == "align") {
      tokens.take();
      (head.is_ptr ? head.ptr_alignment : head.alignment) = parse_alignment(tokens);
    } else if (word == "attribute") {
      tokens.take();
      for (std::string& attribute : parse_attributes(tokens)) {
        head.attributes.push_back(std::move(attribute));
      }
    } else if (word == "v2" || word == "v4" || word == "v8") {
      head.vector_width = static_cast<std::uint32_t>(word[1] - '0');
      tokens.take();
    } else if (word == "ptr" && is_parameter) {
      head.is_ptr = true;
      tokens.take();
    } else if (head.is_ptr && space_of(word) != StateSpace::none) {
      head.ptr_space = space_of(word);
      tokens.take();
    } else if (is_type(word)) {
      head.type = word;
      tokens.take();
    } else {
      tokens.fail("a type, .align, .v2, .v4 or a name");
    }
  }
  if (head.type.empty()) tokens.fail("a type");
  return head;
}

void parse_dimensions(TokenStream& tokens, Variable& variable) {
  std::uint64_t bytes =
      std::max<std::uint64_t>(1, type_bytes(variable.type)) * variable.vector_width;
  while (tokens.peek().is('[')) {
    const Token where = tokens.take();
    std::uint64_t dimension = 0;
    if (!tokens.peek().is(']')) {
      dimension = static_cast<std::uint64_t>(
          parse_integer(tokens, 0, static_cast<std::int64_t>(kMostVariableBytes), "an array size"));
    } else if (!variable.dimensions.empty()) {
      tokens.fail("an array size (only the first may be left out)");
    }
    tokens.expect(']');
    if (dimension > 0 && bytes > kMostVariableBytes / dimension) {
      tokens.fail_at(
          where, fmt::format("expected a variable of at most 2^48 bytes in '{}'", variable.name));
    }
    bytes *= std::max<std::uint64_t>(1, dimension);
    variable.dimensions.push_back(dimension);
    if (variable.dimensions.size() > 16) tokens.fail_at(where, "expected at most 16 dimensions");
  }
}

/// `= value` or `= { … }` of one variable.
class Initialiser {
 public:
  Initialiser(TokenStream& tokens, Variable& variable)
      : tokens_(tokens), variable_(variable), element_(type_bytes(variable.type)) {
    // Elements below each level of braces; a vector is one level more.
    std::vector<std::uint64_t> extents = variable.dimensions;
    if (variable.vector_width > 1) extents.push_back(variable.vector_width);
    levels_.assign(extents.size() + 1, 1);
    for (std::size_t i = extents.size(); i-- > 0;)
      levels_[i] = levels_[i + 1] * std::max<std::uint64_t>(1, extents[i]);
    open_ended_ = !variable.dimensions.empty() && variable.dimensions[0] == 0;
  }

  void parse() {
    if (element_ == 0) {
      tokens_.fail(fmt::format("no initialiser for a variable of type .{}", variable_.type));
    }
    if (tokens_.peek().is('{')) {
      if (levels_.size() == 1) tokens_.fail("one value, for a variable that is no array");
      braces(0, 0);
    } else {
      element(0);
    }
    if (open_ended_) {
      const std::uint64_t row = levels_[1] * element_;
      variable_.dimensions[0] = (variable_.initial.size() + row - 1) / row;
    }
  }

 private:
  // Values from `first` on, at a level of nesting.
  void braces(std::size_t level, std::uint64_t first) {
    const Token opening = tokens_.peek();
    tokens_.expect('{');
    const std::uint64_t limit = level == 0 && open_ended_ ? kMostInitialBytes : levels_[level];
    std::uint64_t used = 0;
    while (!tokens_.peek().is('}')) {
      const bool nested = tokens_.peek().is('{');
      if (nested && level + 2 >= levels_.size()) tokens_.fail("a value");
      const std::uint64_t step = nested ? levels_[level + 1] : 1;
      if (used + step > limit) {
        tokens_.fail_at(tokens_.peek(),
                        fmt::format("expected at most {} values for '{}'", limit, variable_.name));
      }
      if (nested) {
        braces(level + 1, first + used);
      } else {
        element(first + used);
      }
      used += step;
      if (!tokens_.accept(',')) break;
    }
    if (!tokens_.accept('}')) {
      tokens_.fail(fmt::format("',' or '}}' for the '{{' of line {}", opening.line));
    }
  }

  std::byte* place(std::uint64_t index) {
    const std::uint64_t at = index * element_;
    if (at >= kMostInitialBytes) {
      tokens_.fail_at(tokens_.peek(), "expected an initialiser that ends within 2^26 bytes");
    }
    if (variable_.initial.size() < at + element_) variable_.initial.resize(at + element_);
    return variable_.initial.data() + at;
  }

  void element(std::uint64_t index) {
    std::byte* const bytes = place(index);
    if (tokens_.peek().kind == Token::Kind::identifier && tokens_.peek().text != "WARP_SZ") {
      address(index);
      return;
    }
    const Token where = tokens_.peek();
    const Immediate value = parse_constant(tokens_);
    if (tokens_.peek().is('(')) {
      masked_address(index, where, value);
      return;
    }
    const std::uint64_t bits = converted(where, value);
    for (std::uint32_t i = 0; i < element_ && i < 8; ++i) {
      bytes[i] = static_cast<std::byte>(bits >> (8 * i));
    }
  }

  // A literal's bits in the variable's type. Untyped (.b32) variables take the literal's own.
  std::uint64_t converted(const Token& where, const Immediate& value) const {
    using Kind = Immediate::Kind;
    const bool is_f32 = variable_.type == "f32";
    const bool is_f64 = variable_.type == "f64";
    if (value.kind == Kind::integer) {
      const auto integer = static_cast<std::int64_t>(value.bits);
      if (is_f32) return std::bit_cast<std::uint32_t>(static_cast<float>(integer));
      if (is_f64) return std::bit_cast<std::uint64_t>(static_cast<double>(integer));
      return value.bits;
    }
    if (value.kind == Kind::f64 && is_f32) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
    }
    if (value.kind == Kind::f32 && is_f64) {
      const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(value.bits));
      return std::bit_cast<std::uint64_t>(static_cast<double>(single));
    }
    const bool fits = is_f32 || is_f64 || element_ == (value.kind == Kind::f32 ? 4u : 8u);
    if (!fits)
      tokens_.fail_at(where,
                      fmt::format("expected a value of type .{}, found a float", variable_.type));
    return value.bits;
  }

  // 0xff00(symbol): one byte of an address.
  void masked_address(std::uint64_t index, const Token& where, const Immediate& mask) {
    const std::uint64_t run = mask.bits == 0 ? 0 : mask.bits >> std::countr_zero(mask.bits);
    if (mask.kind != Immediate::Kind::integer || run == 0 || (run & (run + 1)) != 0) {
      tokens_.fail_at(where, "expected a mask that is one run of ones");
    }
    tokens_.expect('(');
    address(index);
    variable_.relocations.back().mask = mask.bits;
    tokens_.expect(')');
  }

  // symbol, symbol+8, generic(symbol)+8
  void address(std::uint64_t index) {
    Variable::Relocation relocation;
    relocation.at = index * element_;
    relocation.bytes = element_;
    const std::string_view word = tokens_.expect_identifier("a symbol");
    if (word == "generic" && tokens_.accept('(')) {
      relocation.generic = true;
      relocation.symbol = tokens_.expect_identifier("a symbol");
      relocation.offset = offset();
      tokens_.expect(')');
    } else {
      relocation.symbol = word;
    }
    relocation.offset += offset();
    variable_.relocations.push_back(std::move(relocation));
  }

  std::int64_t offset() {
    if (!tokens_.peek().is('+') && !tokens_.peek().is('-')) return 0;
    return parse_integer(tokens_, std::numeric_limits<std::int32_t>::min(),
                         std::numeric_limits<std::int32_t>::max(), "an offset");
  }

  TokenStream& tokens_;
  Variable& variable_;
  std::uint32_t element_;
  std::vector<std::uint64_t> levels_;
  bool open_ended_ = false;
};

}  // namespace

std::vector<std::string> parse_attributes(TokenStream& tokens) {
  std::vector<std::string> attributes;
  tokens.expect('(');
  do {
    std::string attribute(tokens.expect_dotted("an attribute"));
    if (tokens.accept('(')) {
      attribute += '(';
      do {
        if (attribute.back() != '(') attribute += ", ";
        if (tokens.peek().kind != Token::Kind::number) tokens.fail("a number");
        attribute += tokens.take().text;
      } while (tokens.accept(','));
      tokens.expect(')');
      attribute += ')';
    }
    attributes.push_back(std::move(attribute));
  } while (tokens.accept(','));
  tokens.expect(')');
  return attributes;
}

std::vector<Variable> parse_variables(TokenStream& tokens, const Linkage& linkage) {
  Variable head = parse_variable_head(tokens, /*is_parameter=*/false);
  head.is_extern = linkage.is_extern;
  head.is_visible = linkage.is_visible;
  head.is_weak = linkage.is_weak;
  head.is_common = linkage.is_common;
  std::vector<Variable> variables;
  do {
    Variable variable = head;
    variable.ptx_line = tokens.peek().line;
    variable.name = tokens.expect_identifier("the name of a variable");
    parse_dimensions(tokens, variable);
    if (tokens.accept('=')) {
      if (type_bytes(variable.type) == 0 && tokens.peek().is('{')) {
        variable.opaque_initial = tokens.take_braces();
      } else {
        Initialiser(tokens, variable).parse();
      }
    }
    variables.push_back(std::move(variable));
  } while (tokens.accept(','));
  tokens.expect(';');
  return variables;
}

std::vector<Variable> parse_parameters(TokenStream& tokens) {
  std::vector<Variable> parameters;
  tokens.expect('(');
  if (tokens.accept(')')) return parameters;
  do {
    Variable parameter = parse_variable_head(tokens, /*is_parameter=*/true);
    parameter.name = tokens.expect_identifier("the name of a parameter");
    parse_dimensions(tokens, parameter);
    parameters.push_back(std::move(parameter));
  } while (tokens.accept(','));
  tokens.expect(')');
  return parameters;
}

std::vector<RegisterDeclaration> parse_registers(TokenStream& tokens) {
  const Variable head = parse_variable_head(tokens, /*is_parameter=*/false);
  std::vector<RegisterDeclaration> registers;
  do {
    RegisterDeclaration declaration;
    declaration.type = head.type;
    declaration.vector_width = head.vector_width;
    declaration.name = tokens.expect_identifier("the name of a register");
    if (tokens.accept('<')) {
      // A plain literal: in an expression the '>' would compare.
      declaration.count = static_cast<std::uint32_t>(
          parse_integer_literal(tokens, 0, kMostRegisters, "a number of registers"));
      tokens.expect('>');
    }
    registers.push_back(std::move(declaration));
  } while (tokens.accept(','));
  tokens.expect(';');
  return registers;
}

}  // namespace bitgate::machine::ptx
