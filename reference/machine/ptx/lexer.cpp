#include "reference/machine/ptx/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/support/error.h"

namespace bitgate::machine::ptx {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
bool is_word(char c) { return is_alphanumeric(c) || c == '_' || c == '$' || c == '%'; }

// What a message may show of untrusted text.
std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string shown;
  for (const char c : text.substr(0, kMost)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kMost) shown += "...";
  return shown;
}

}  // namespace

void Lexer::fail_at(const Token& where, std::string_view message) const {
  // A message may quote a name or a number, and hostile text has long ones.
  constexpr std::size_t kMost = 300;
  const bool is_long = message.size() > kMost;
  throw InputError(fmt::format("{}:{}:{}: {}{}", name_, where.line, where.column,
                               message.substr(0, kMost), is_long ? "..." : ""));
}

void Lexer::fail(const Token& found, std::string_view expected) const {
  const std::string what = found.kind == Token::Kind::end
                               ? std::string("the end of the text")
                               : fmt::format("'{}{}'", found.kind == Token::Kind::dotted ? "." : "",
                                             printable(found.text));
  fail_at(found, fmt::format("expected {}, found {}", expected, what));
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      const Token opening = take(Token::Kind::punctuation, 2);
      const std::size_t close = text_.find("*/", at_);
      if (close == std::string_view::npos)
        fail_at(opening, "expected '*/' after '/*', found the end of the text");
      for (; at_ < close; ++at_) {
        if (text_[at_] == '\n') {
          ++line_;
          line_start_ = at_ + 1;
        }
      }
      at_ = close + 2;
    } else {
      return;
    }
  }
}

Token Lexer::take(Token::Kind kind, std::size_t bytes) {
  Token token;
  token.kind = kind;
  token.text = text_.substr(at_, bytes);
  token.line = line_;
  token.column = static_cast<std::uint32_t>(at_ - line_start_ + 1);
  at_ += bytes;
  return token;
}

Token Lexer::take_number() {
  std::size_t end = at_;
  const auto at = [&](std::size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  const bool prefixed = at(end) == '0' && is_letter(at(end + 1)) && at(end + 1) != 'U' &&
                        at(end + 1) != 'e' && at(end + 1) != 'E';
  if (prefixed) {
    while (is_alphanumeric(at(end))) ++end;
    return take(Token::Kind::number, end - at_);
  }
  while (is_digit(at(end))) ++end;
  if (at(end) == '.' && is_digit(at(end + 1))) {
    ++end;
    while (is_digit(at(end))) ++end;
  }
  if (at(end) == 'e' || at(end) == 'E') {
    std::size_t digits = end + 1;
    if (at(digits) == '+' || at(digits) == '-') ++digits;
    if (is_digit(at(digits))) {
      end = digits;
      while (is_digit(at(end))) ++end;
    }
  }
  while (is_alphanumeric(at(end))) ++end;
  return take(Token::Kind::number, end - at_);
}

Token Lexer::take_string() {
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
    end += text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n' ? 2u : 1u;
  }
  if (end >= text_.size() || text_[end] != '"') {
    fail_at(take(Token::Kind::string, 1),
            "expected '\"' at the end of a string, found the end of the line");
  }
  Token token = take(Token::Kind::string, end + 1 - at_);
  token.text = token.text.substr(1, token.text.size() - 2);
  return token;
}

Token Lexer::next() {
  skip_blanks();
  if (at_ >= text_.size()) return take(Token::Kind::end, 0);
  const char c = text_[at_];
  if (is_digit(c)) return take_number();
  if (is_word(c)) {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return take(Token::Kind::identifier, end - at_);
  }
  if (c == '.' && is_word(peek(1))) {
    std::size_t end = at_ + 1;
    for (;;) {
      while (end < text_.size() && is_word(text_[end])) ++end;
      const bool joined = end + 2 < text_.size() && text_[end] == ':' && text_[end + 1] == ':' &&
                          is_word(text_[end + 2]);
      if (!joined) break;
      end += 2;
    }
    Token token = take(Token::Kind::dotted, end - at_);
    token.text.remove_prefix(1);
    return token;
  }
  if (c == '"') return take_string();
  const char second = peek(1);
  const bool doubled =
      ((c == '<' || c == '>' || c == '&' || c == '|' || c == '=') && second == c) ||
      ((c == '<' || c == '>' || c == '!') && second == '=');
  return take(Token::Kind::punctuation, doubled ? 2 : 1);
}

std::string_view Lexer::take_braces(const Token& opening) {
  const auto start = static_cast<std::size_t>(opening.text.data() - text_.data());
  std::size_t depth = 1;
  while (depth > 0) {
    skip_blanks();
    if (at_ >= text_.size())
      fail(take(Token::Kind::end, 0), fmt::format("'}}' for the '{{' of line {}", opening.line));
    const char c = text_[at_];
    if (c == '"') {
      take_string();
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}') --depth;
    ++at_;
  }
  return text_.substr(start, at_ - start);
}

}  // namespace bitgate::machine::ptx
