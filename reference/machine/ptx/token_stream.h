#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "reference/machine/ptx/lexer.h"

namespace bitgate::machine::ptx {

/// Tokens with one of look-ahead, and the questions a recursive-descent parser asks of them.
class TokenStream {
 public:
  TokenStream(std::string_view text, std::string_view name)
      : lexer_(text, name), current_(lexer_.next()) {}

  const Token& peek() const { return current_; }
  Token take() { return std::exchange(current_, lexer_.next()); }

  bool accept(char c) {
    if (!current_.is(c)) return false;
    take();
    return true;
  }
  bool accept_dotted(std::string_view word) {
    if (!current_.is_dotted(word)) return false;
    take();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }
  std::string_view expect_identifier(std::string_view what) {
    if (current_.kind != Token::Kind::identifier) fail(what);
    return take().text;
  }
  std::string_view expect_dotted(std::string_view what) {
    if (current_.kind != Token::Kind::dotted) fail(what);
    return take().text;
  }

  /// The current token is `{`; steps behind its `}` without reading what lies between as PTX, and
  /// gives the text from the one to the other.
  std::string_view take_braces() {
    if (!current_.is('{')) fail("'{'");
    const std::string_view text = lexer_.take_braces(current_);
    current_ = lexer_.next();
    return text;
  }

  [[noreturn]] void fail(std::string_view expected) const { lexer_.fail(current_, expected); }
  [[noreturn]] void fail_at(const Token& where, std::string_view message) const {
    lexer_.fail_at(where, message);
  }

 private:
  Lexer lexer_;
  Token current_;
};

}  // namespace bitgate::machine::ptx
