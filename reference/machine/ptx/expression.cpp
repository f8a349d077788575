#include "reference/machine/ptx/expression.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>

namespace bitgate::machine::ptx {

namespace {

// Bounds the recursion on hostile text; nothing real nests so deep.
constexpr int kDeepest = 64;

struct Value {
  std::uint64_t bits = 0;
  bool is_unsigned = false;
  Immediate::Kind kind = Immediate::Kind::integer;

  std::int64_t as_signed() const { return static_cast<std::int64_t>(bits); }
};

std::uint64_t parse_digits(const TokenStream& tokens, const Token& token, std::string_view digits,
                           int base) {
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range) {
    tokens.fail_at(token,
                   fmt::format("expected a number of at most 64 bits, found '{}'", token.text));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    tokens.fail_at(token, fmt::format("expected a number, found '{}'", token.text));
  }
  return value;
}

Value parse_number(const TokenStream& tokens, const Token& token) {
  std::string_view text = token.text;
  const char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
    const bool is_single = second == 'f' || second == 'F';
    if (text.size() != (is_single ? 10u : 18u)) {
      tokens.fail_at(token, fmt::format("expected {} hexadecimal digits, found '{}'",
                                        is_single ? "0f and 8" : "0d and 16", text));
    }
    return {parse_digits(tokens, token, text.substr(2), 16), false,
            is_single ? Immediate::Kind::f32 : Immediate::Kind::f64};
  }
  const bool is_hex = second == 'x' || second == 'X';
  if (!is_hex && text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      tokens.fail_at(token, fmt::format("expected a number, found '{}'", text));
    }
    return {std::bit_cast<std::uint64_t>(value), false, Immediate::Kind::f64};
  }
  Value value;
  if (text.ends_with('U') || text.ends_with('u')) {
    value.is_unsigned = true;
    text.remove_suffix(1);
  }
  int base = 10;
  if (is_hex) {
    base = 16;
    text.remove_prefix(2);
  } else if (second == 'b' || second == 'B') {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  value.bits = parse_digits(tokens, token, text, base);
  value.is_unsigned |= value.as_signed() < 0;
  return value;
}

struct BinaryOperator {
  std::string_view text;
  int precedence;  // binds tighter when larger
};
constexpr BinaryOperator kBinary[] = {
    {"*", 10}, {"/", 10}, {"+", 9},  {"-", 9},  {"<<", 8}, {">>", 8},
    {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
    {"&", 5},  {"^", 4},  {"|", 3},  {"&&", 2}, {"||", 1},
};

int precedence_of(const Token& token) {
  if (token.kind != Token::Kind::punctuation) return 0;
  for (const BinaryOperator& candidate : kBinary) {
    if (candidate.text == token.text) return candidate.precedence;
  }
  return 0;
}

class Evaluator {
 public:
  explicit Evaluator(TokenStream& tokens) : tokens_(tokens) {}

  Value conditional(int depth) {
    const Value condition = binary(1, depth);
    if (!tokens_.peek().is('?')) return condition;
    require_integer(tokens_.take(), condition);
    const Value yes = conditional(deeper(depth));
    tokens_.expect(':');
    const Value no = conditional(deeper(depth));
    return condition.bits != 0 ? yes : no;
  }

 private:
  int deeper(int depth) const {
    if (depth >= kDeepest) {
      tokens_.fail_at(tokens_.peek(),
                      fmt::format("expected an expression of at most {} levels", kDeepest));
    }
    return depth + 1;
  }

  void require_integer(const Token& where, const Value& value) const {
    if (value.kind == Immediate::Kind::integer) return;
    tokens_.fail_at(where, fmt::format("expected integers beside '{}', found a float", where.text));
  }

  Value unary(int depth) {
    const Token token = tokens_.peek();
    if (token.kind == Token::Kind::number) return parse_number(tokens_, tokens_.take());
    if (token.kind == Token::Kind::identifier && token.text == "WARP_SZ") {
      tokens_.take();
      return {32};
    }
    if (token.is('(')) {
      tokens_.take();
      if (tokens_.peek().is_dotted("s64") || tokens_.peek().is_dotted("u64")) {
        const bool to_unsigned = tokens_.take().text == "u64";
        tokens_.expect(')');
        Value value = unary(deeper(depth));
        require_integer(token, value);
        value.is_unsigned = to_unsigned;
        return value;
      }
      const Value value = conditional(deeper(depth));
      tokens_.expect(')');
      return value;
    }
    if (!token.is('-') && !token.is('+') && !token.is('~') && !token.is('!')) {
      tokens_.fail("a constant");
    }
    tokens_.take();
    Value value = unary(deeper(depth));
    switch (token.text[0]) {
      case '-':
        if (value.kind == Immediate::Kind::f32) {
          value.bits ^= 0x80000000u;
        } else if (value.kind == Immediate::Kind::f64) {
          value.bits ^= 0x8000000000000000u;
        } else {
          value.bits = 0 - value.bits;
        }
        break;
      case '~':
        require_integer(token, value);
        value.bits = ~value.bits;
        break;
      case '!':
        require_integer(token, value);
        value = {value.bits == 0 ? 1u : 0u};
        break;
      default:
        break;
    }
    return value;
  }

  Value binary(int least, int depth) {
    Value left = unary(depth);
    for (;;) {
      const int precedence = precedence_of(tokens_.peek());
      if (precedence < least || precedence == 0) return left;
      const Token op = tokens_.take();
      const Value right = binary(precedence + 1, deeper(depth));
      require_integer(op, left);
      require_integer(op, right);
      left = apply(op, left, right);
    }
  }

  Value apply(const Token& op, const Value& a, const Value& b) const {
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    const auto truth = [](bool holds) { return Value{holds ? 1u : 0u}; };
    const auto less = [&](const Value& x, const Value& y) {
      return is_unsigned ? x.bits < y.bits : x.as_signed() < y.as_signed();
    };
    if (op.text == "+") return {a.bits + b.bits, is_unsigned};
    if (op.text == "-") return {a.bits - b.bits, is_unsigned};
    if (op.text == "*") return {a.bits * b.bits, is_unsigned};
    if (op.text == "/") {
      if (b.bits == 0) tokens_.fail_at(op, "expected a divisor other than 0");
      if (is_unsigned) return {a.bits / b.bits, true};
      if (b.as_signed() == -1) return {0 - a.bits, false};
      return {static_cast<std::uint64_t>(a.as_signed() / b.as_signed()), false};
    }
    if (op.text == "<<") return {b.bits < 64 ? a.bits << b.bits : 0, a.is_unsigned};
    if (op.text == ">>") {
      const auto by = static_cast<int>(b.bits < 63 ? b.bits : 63);
      if (!a.is_unsigned) return {static_cast<std::uint64_t>(a.as_signed() >> by), false};
      return {b.bits < 64 ? a.bits >> by : 0, true};
    }
    if (op.text == "<") return truth(less(a, b));
    if (op.text == ">") return truth(less(b, a));
    if (op.text == "<=") return truth(!less(b, a));
    if (op.text == ">=") return truth(!less(a, b));
    if (op.text == "==") return truth(a.bits == b.bits);
    if (op.text == "!=") return truth(a.bits != b.bits);
    if (op.text == "&") return {a.bits & b.bits, is_unsigned};
    if (op.text == "^") return {a.bits ^ b.bits, is_unsigned};
    if (op.text == "|") return {a.bits | b.bits, is_unsigned};
    if (op.text == "&&") return truth(a.bits != 0 && b.bits != 0);
    return truth(a.bits != 0 || b.bits != 0);
  }

  TokenStream& tokens_;
};

std::int64_t in_range(const TokenStream& tokens, const Token& start, const Immediate& constant,
                      std::int64_t low, std::int64_t high, std::string_view what) {
  const auto value = static_cast<std::int64_t>(constant.bits);
  const bool is_integer = constant.kind == Immediate::Kind::integer;
  if (is_integer && value >= low && value <= high) return value;
  tokens.fail_at(start, fmt::format("expected {} from {} to {}, found {}", what, low, high,
                                    is_integer ? std::to_string(value) : std::string("a float")));
}

}  // namespace

bool begins_constant(const Token& token) {
  return token.kind == Token::Kind::number || token.is('-') || token.is('+') || token.is('~') ||
         token.is('!') || token.is('(') ||
         (token.kind == Token::Kind::identifier && token.text == "WARP_SZ");
}

Immediate parse_constant(TokenStream& tokens) {
  const Value value = Evaluator(tokens).conditional(0);
  return {value.bits, value.kind};
}

std::int64_t parse_integer(TokenStream& tokens, std::int64_t low, std::int64_t high,
                           std::string_view what) {
  const Token start = tokens.peek();
  if (!begins_constant(start)) tokens.fail(what);
  return in_range(tokens, start, parse_constant(tokens), low, high, what);
}

std::int64_t parse_integer_literal(TokenStream& tokens, std::int64_t low, std::int64_t high,
                                   std::string_view what) {
  const Token start = tokens.peek();
  if (start.kind != Token::Kind::number) tokens.fail(what);
  const Value value = parse_number(tokens, tokens.take());
  return in_range(tokens, start, {value.bits, value.kind}, low, high, what);
}

}  // namespace bitgate::machine::ptx
