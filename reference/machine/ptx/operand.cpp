#include "reference/machine/ptx/operand.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

#include "reference/machine/ptx/expression.h"
#include "reference/machine/ptx/types.h"

namespace bitgate::machine::ptx {

void RegisterScopes::declare(const RegisterDeclaration& declaration) {
  if (declaration.count) {
    scopes_.back().counted[declaration.name] = *declaration.count;
  } else {
    scopes_.back().names[declaration.name] = true;
  }
}

void RegisterScopes::declare(const Variable& variable) {
  scopes_.back().names[variable.name] = variable.space == StateSpace::reg;
}

bool RegisterScopes::is_register(std::string_view name) const {
  if (name.starts_with('%')) return true;
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string_view stem = name.substr(0, digits);
  std::uint32_t number = std::numeric_limits<std::uint32_t>::max();
  if (digits < name.size()) {
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(name); found != scope->names.end()) {
      return found->second;
    }
    if (const auto found = scope->counted.find(stem);
        found != scope->counted.end() && number < found->second) {
      return true;
    }
  }
  return false;
}

namespace {

// Vectors hold plain operands, addresses hold vectors: three levels are real, a few more parsed.
constexpr int kDeepest = 8;

bool is_component(std::string_view word) {
  if (word.size() == 1) return std::string_view("xyzwrgba").find(word[0]) != std::string_view::npos;
  // Of the video instructions: parts, masks, and selectors over the elements of two registers.
  if (word[0] == 'h') {
    return word.size() <= 3 && word.find_first_not_of("0123", 1) == std::string_view::npos;
  }
  return word[0] == 'b' && word.size() <= 5 &&
         word.find_first_not_of("01234567", 1) == std::string_view::npos;
}

class OperandParser {
 public:
  OperandParser(TokenStream& tokens, const RegisterScopes& scopes, std::string_view opcode)
      : tokens_(tokens), scopes_(scopes), opcode_(opcode) {}

  Operand parse(int depth) {
    if (depth > kDeepest) tokens_.fail(fmt::format("operands of at most {} levels", kDeepest));
    const Token& token = tokens_.peek();
    if (token.is('[')) return address(depth);
    if (token.is('{')) return list(Operand::Kind::vector, '}', depth);
    if (token.is('(') && opcode_ == "call") return list(Operand::Kind::call_list, ')', depth);
    if (token.kind == Token::Kind::identifier && token.text != "WARP_SZ") return named(depth);
    if (token.is('!') || token.is('-')) return signed_operand(depth);
    if (!begins_constant(token)) tokens_.fail("an operand");
    return constant();
  }

 private:
  Operand constant() {
    Operand operand;
    operand.kind = Operand::Kind::immediate;
    operand.immediate = parse_constant(tokens_);
    return operand;
  }

  // !%p1, -%r1.b0 or a constant expression that begins with the sign.
  Operand signed_operand(int depth) {
    const TokenStream before = tokens_;
    const bool is_not = tokens_.take().is('!');
    if (tokens_.peek().kind == Token::Kind::identifier && tokens_.peek().text != "WARP_SZ") {
      Operand operand = named(depth);
      (is_not ? operand.negated : operand.minus) = true;
      return operand;
    }
    tokens_ = before;
    return constant();
  }

  Operand named(int depth) {
    Operand operand = name();
    const bool may_pair = operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::sink;
    if (!may_pair || !tokens_.peek().is('|')) return operand;
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.elements.push_back(std::move(operand));
    tokens_.take();
    pair.elements.push_back(parse(depth + 1));
    return pair;
  }

  Operand name() {
    Operand operand;
    const std::string_view word = tokens_.take().text;
    operand.name = word;
    if (word == "_") {
      operand.kind = Operand::Kind::sink;
    } else if (is_special_register(word)) {
      operand.kind = Operand::Kind::special;
      if (tokens_.peek().kind == Token::Kind::dotted && is_component(tokens_.peek().text)) {
        operand.name += '.';
        operand.name += tokens_.take().text;
      }
    } else if (scopes_.is_register(word)) {
      operand.kind = Operand::Kind::reg;
      if (tokens_.peek().kind == Token::Kind::dotted && is_component(tokens_.peek().text)) {
        operand.component = tokens_.take().text;
      }
    } else {
      operand.kind = Operand::Kind::symbol;
      operand.offset = offset();
    }
    return operand;
  }

  std::int64_t offset() {
    if (!tokens_.peek().is('+') && !tokens_.peek().is('-')) return 0;
    return parse_integer(tokens_, std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::max(), "an offset");
  }

  Operand list(Operand::Kind kind, char close, int depth) {
    Operand operand;
    operand.kind = kind;
    const Token opening = tokens_.take();
    if (tokens_.accept(close)) return operand;
    do {
      operand.elements.push_back(parse(depth + 1));
    } while (tokens_.accept(','));
    if (!tokens_.accept(close)) {
      tokens_.fail(
          fmt::format("',' or '{}' for the '{}' of line {}", close, opening.text, opening.line));
    }
    return operand;
  }

  Operand address(int depth) {
    Operand operand;
    operand.kind = Operand::Kind::address;
    const Token opening = tokens_.take();
    if (tokens_.peek().kind == Token::Kind::identifier && tokens_.peek().text != "WARP_SZ") {
      const Token base = tokens_.take();
      operand.name = base.text;
      operand.base_is_register = scopes_.is_register(base.text);
      operand.offset = offset();
    } else if (begins_constant(tokens_.peek())) {
      operand.offset = offset_constant();
    } else {
      tokens_.fail("a register, a symbol or a constant as address");
    }
    while (tokens_.accept(',')) operand.elements.push_back(parse(depth + 1));
    if (!tokens_.accept(']')) {
      tokens_.fail(fmt::format("']' for the '[' of line {}", opening.line));
    }
    return operand;
  }

  std::int64_t offset_constant() {
    return parse_integer(tokens_, std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::max(), "an address");
  }

  TokenStream& tokens_;
  const RegisterScopes& scopes_;
  std::string_view opcode_;
};

}  // namespace

Operand parse_operand(TokenStream& tokens, const RegisterScopes& scopes, std::string_view opcode) {
  return OperandParser(tokens, scopes, opcode).parse(0);
}

}  // namespace bitgate::machine::ptx
