#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bitgate::machine::ptx {

/// One token of PTX text (PTX ISA 9.0, "Syntax"). `text` points into the module's text.
struct Token {
  enum class Kind {
    end,
    identifier,  ///< add, %r1, $L__BB0_1, _
    dotted,      ///< .global, .L2::128B, .2d; text without the dot
    number,      ///< 12, 0x1fU, 0f3F800000, 9.0
    string,      ///< "…"; text between the quotes, escapes as written
    punctuation  ///< one character, or << >> <= >= == != && ||
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::uint32_t line = 1;    ///< 1-based
  std::uint32_t column = 1;  ///< 1-based, in bytes

  bool is(char c) const { return kind == Kind::punctuation && text.size() == 1 && text[0] == c; }
  bool is_dotted(std::string_view word) const { return kind == Kind::dotted && text == word; }
};

/// Splits PTX text into tokens, one at a time; comments and white space fall away.
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Token next();
  /// Steps over a `{ … }` body whose opening brace has been taken, whatever lies in it (the tables
  /// of debug sections). The text of it, braces included.
  std::string_view take_braces(const Token& opening);
  /// InputError "NAME:LINE:COLUMN: expected …, found …".
  [[noreturn]] void fail(const Token& found, std::string_view expected) const;
  [[noreturn]] void fail_at(const Token& where, std::string_view message) const;

 private:
  void skip_blanks();
  Token take(Token::Kind kind, std::size_t bytes);
  Token take_number();
  Token take_string();
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace bitgate::machine::ptx
