#include "reference/machine/ptx/parser.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "reference/machine/ptx/declaration.h"
#include "reference/machine/ptx/expression.h"
#include "reference/machine/ptx/operand.h"
#include "reference/machine/ptx/types.h"

namespace bitgate::machine::ptx {

namespace {

constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
// All initialisers together: a short text must not ask for all of memory.
constexpr std::uint64_t kMostInitialBytes = std::uint64_t{1} << 28;
constexpr std::size_t kDeepestScope = 1024;

/// Follows `.loc`: which line of the user's source an instruction comes from. An inlined place
/// names the place it was inlined at, which may be inlined itself (PTX ISA, "Debugging Directives:
/// .loc"); the outermost is the line that the user of a library function wrote. The line of the
/// function itself, which its first `.loc` names, says nothing where a macro defines it all.
class SourceTracker {
 public:
  void parse(TokenStream& tokens) {
    const Place here = place(tokens);
    innermost_ = here;
    if (!function_) function_ = line_of(here);
    if (!tokens.accept(',')) {
      inlined_at_.erase(here);
      current_ = here;
      return;
    }
    if (tokens.expect_identifier("function_name") != "function_name") tokens.fail("function_name");
    function_name(tokens);
    tokens.expect(',');
    if (tokens.expect_identifier("inlined_at") != "inlined_at") tokens.fail("inlined_at");
    const Place caller = place(tokens);
    inlined_at_[here] = caller;
    current_ = here;
    // A chain longer than the table has a cycle, which no compiler writes.
    for (std::size_t steps = 0; steps < kLongestChain; ++steps) {
      const auto outer = inlined_at_.find(current_);
      if (outer == inlined_at_.end() || line_of(outer->second) == function_) break;
      current_ = outer->second;
    }
  }

  SourceLine line() const { return {std::get<0>(current_), std::get<1>(current_)}; }
  SourceLine innermost() const { return {std::get<0>(innermost_), std::get<1>(innermost_)}; }

 private:
  static constexpr std::size_t kLongestChain = 256;
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // file, line, column

  static Place place(TokenStream& tokens) {
    const auto number = [&](std::string_view what) {
      return static_cast<std::uint32_t>(parse_integer_literal(tokens, 0, kMost32, what));
    };
    const std::uint32_t file = number("a file number");
    const std::uint32_t line = number("a line number");
    const std::uint32_t column = number("a column number");
    return {file, line, column};
  }

  static void function_name(TokenStream& tokens) {
    if (tokens.peek().kind == Token::Kind::dotted) {
      tokens.take();
    } else {
      tokens.expect_identifier("a label of .debug_str");
    }
    if (tokens.accept('+')) parse_integer_literal(tokens, 0, kMost32, "an offset");
  }

  static std::pair<std::uint32_t, std::uint32_t> line_of(const Place& place) {
    return {std::get<0>(place), std::get<1>(place)};
  }

  std::map<Place, Place> inlined_at_;
  Place current_{0, 0, 0};
  Place innermost_{0, 0, 0};
  std::optional<std::pair<std::uint32_t, std::uint32_t>> function_;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : tokens_(text, name) {}

  Module parse() {
    header();
    while (tokens_.peek().kind != Token::Kind::end) module_item();
    return std::move(module_);
  }

 private:
  void header() {
    if (!tokens_.accept_dotted("version")) tokens_.fail(".version");
    const Token version = tokens_.peek();
    if (version.kind != Token::Kind::number) tokens_.fail("a version such as 9.0");
    tokens_.take();
    const std::size_t dot = version.text.find('.');
    const auto part = [&](std::string_view digits) {
      std::uint32_t value = 0;
      if (digits.empty() || digits.size() > 3) return kNoVersion;
      for (const char c : digits) {
        if (c < '0' || c > '9') return kNoVersion;
        value = value * 10 + static_cast<std::uint32_t>(c - '0');
      }
      return value;
    };
    module_.version_major = part(version.text.substr(0, dot));
    module_.version_minor =
        dot == std::string_view::npos ? kNoVersion : part(version.text.substr(dot + 1));
    if (module_.version_major == kNoVersion || module_.version_minor == kNoVersion) {
      tokens_.fail_at(version,
                      fmt::format("expected a version such as 9.0, found '{}'", version.text));
    }
  }

  void module_item() {
    const Token token = tokens_.peek();
    if (token.kind != Token::Kind::dotted) tokens_.fail("a directive");
    if (token.text == "target") {
      tokens_.take();
      module_.target = tokens_.expect_identifier("a target such as sm_80");
      while (tokens_.accept(',')) {
        module_.target_options.emplace_back(tokens_.expect_identifier("an option of .target"));
      }
    } else if (token.text == "address_size") {
      tokens_.take();
      const Token size = tokens_.peek();
      module_.address_size =
          static_cast<std::uint32_t>(parse_integer_literal(tokens_, 32, 64, "an address size"));
      if (module_.address_size != 32 && module_.address_size != 64) {
        tokens_.fail_at(size, fmt::format("expected an address size of 32 or 64, found {}",
                                          module_.address_size));
      }
    } else if (token.text == "file") {
      file();
    } else if (token.text == "loc") {
      tokens_.take();
      source_.parse(tokens_);
    } else if (token.text == "section") {
      tokens_.take();
      tokens_.expect_dotted("the name of a section");
      tokens_.take_braces();
    } else if (token.text == "pragma") {
      module_.directives.push_back(directive());
      tokens_.expect(';');
    } else if (token.text == "alias") {
      tokens_.take();
      Alias alias;
      alias.name = tokens_.expect_identifier("the name of a function");
      tokens_.expect(',');
      alias.target = tokens_.expect_identifier("the name of a function");
      tokens_.expect(';');
      module_.aliases.push_back(std::move(alias));
    } else {
      declaration();
    }
  }

  void file() {
    tokens_.take();
    File file;
    file.number =
        static_cast<std::uint32_t>(parse_integer_literal(tokens_, 0, kMost32, "a file number"));
    if (tokens_.peek().kind != Token::Kind::string) tokens_.fail("the name of a file in quotes");
    file.name = unescaped(tokens_.take().text);
    // Time stamp and size.
    for (int i = 0; i < 2 && tokens_.accept(','); ++i) {
      parse_integer_literal(tokens_, 0, std::numeric_limits<std::int64_t>::max(), "a number");
    }
    module_.files.push_back(std::move(file));
  }

  static std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool escape =
          text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '\\' || text[i + 1] == '"');
      plain += text[escape ? ++i : i];
    }
    return plain;
  }

  void declaration() {
    Linkage linkage;
    for (;;) {
      if (tokens_.accept_dotted("extern")) {
        linkage.is_extern = true;
      } else if (tokens_.accept_dotted("visible")) {
        linkage.is_visible = true;
      } else if (tokens_.accept_dotted("weak")) {
        linkage.is_weak = true;
      } else if (tokens_.accept_dotted("common")) {
        linkage.is_common = true;
      } else {
        break;
      }
    }
    const Token token = tokens_.peek();
    if (token.is_dotted("entry") || token.is_dotted("func")) {
      function(linkage);
      return;
    }
    if (token.kind != Token::Kind::dotted || space_of(token.text) == StateSpace::none ||
        token.text == "param") {
      tokens_.fail("a directive: .entry, .func, a variable, .file, .section, …");
    }
    if (token.text == "reg") tokens_.fail("no register outside of a function");
    for (Variable& variable : variables(linkage)) module_.variables.push_back(std::move(variable));
  }

  std::vector<Variable> variables(const Linkage& linkage) {
    const Token start = tokens_.peek();
    std::vector<Variable> list = parse_variables(tokens_, linkage);
    for (const Variable& variable : list) initial_bytes_ += variable.initial.size();
    if (initial_bytes_ > kMostInitialBytes) {
      tokens_.fail_at(start, "expected initialisers of at most 2^28 bytes in all");
    }
    return list;
  }

  void function(const Linkage& linkage) {
    Function function;
    function.is_entry = tokens_.peek().text == "entry";
    function.ptx_line = tokens_.take().line;
    function.is_extern = linkage.is_extern;
    function.is_visible = linkage.is_visible;
    function.is_weak = linkage.is_weak;
    if (tokens_.accept_dotted("attribute")) function.attributes = parse_attributes(tokens_);
    if (!function.is_entry && tokens_.peek().is('(')) function.returns = parse_parameters(tokens_);
    function.name = tokens_.expect_identifier("the name of a function");
    if (tokens_.peek().is('(')) function.parameters = parse_parameters(tokens_);
    function_directives(function);
    if (!tokens_.accept(';')) {
      function.has_body = true;
      body(function);
    }
    module_.functions.push_back(std::move(function));
  }

  void function_directives(Function& function) {
    while (tokens_.peek().kind == Token::Kind::dotted) {
      const std::string_view word = tokens_.peek().text;
      if (word == "maxntid") {
        function.maxntid = extents();
      } else if (word == "reqntid") {
        function.reqntid = extents();
      } else if (word == "minnctapersm") {
        function.minnctapersm = extents()[0];
      } else if (word == "maxnreg") {
        function.maxnreg = extents()[0];
      } else if (word == "noreturn") {
        tokens_.take();
        function.noreturn = true;
      } else {
        function.directives.push_back(directive());
        tokens_.accept(';');
      }
    }
  }

  std::vector<std::uint32_t> extents() {
    tokens_.take();
    std::vector<std::uint32_t> numbers;
    do {
      numbers.push_back(
          static_cast<std::uint32_t>(parse_integer_literal(tokens_, 0, kMost32, "a number")));
    } while (numbers.size() < 3 && tokens_.accept(','));
    return numbers;
  }

  // `.pragma "a", "b"`, `.explicitcluster`, `.reqnctapercluster 2, 1, 1`, `.abi_preserve 12`.
  Directive directive() {
    Directive directive;
    directive.name = tokens_.take().text;
    const auto value = [&] {
      const Token token = tokens_.peek();
      if (token.kind == Token::Kind::string) {
        directive.text += fmt::format("\"{}\"", tokens_.take().text);
      } else {
        if (token.kind != Token::Kind::number) tokens_.fail("a number or a string");
        directive.text += tokens_.take().text;
      }
    };
    const Token::Kind kind = tokens_.peek().kind;
    if (kind != Token::Kind::string && kind != Token::Kind::number) return directive;
    value();
    while (tokens_.accept(',')) {
      directive.text += ", ";
      value();
    }
    return directive;
  }

  void body(Function& function) {
    source_ = {};
    scopes_ = {};
    scopes_.open();
    for (const Variable& variable : function.returns) scopes_.declare(variable);
    for (const Variable& variable : function.parameters) scopes_.declare(variable);
    const Token opening = tokens_.peek();
    tokens_.expect('{');
    std::vector<std::uint32_t> open{0};
    while (!open.empty()) {
      const Token token = tokens_.peek();
      if (token.is('{')) {
        if (open.size() >= kDeepestScope) tokens_.fail("scopes of at most 1024 levels");
        tokens_.take();
        scopes_.open();
        function.scope_parent.push_back(open.back());
        open.push_back(static_cast<std::uint32_t>(function.scope_parent.size() - 1));
      } else if (token.is('}')) {
        tokens_.take();
        scopes_.close();
        open.pop_back();
      } else if (token.kind == Token::Kind::end) {
        tokens_.fail(fmt::format("'}}' for the '{{' of line {}", opening.line));
      } else {
        statement(function, open.back());
      }
    }
  }

  void statement(Function& function, std::uint32_t scope) {
    const Token token = tokens_.peek();
    const auto add = [&](auto item) { function.body.push_back({std::move(item), scope}); };
    if (token.kind == Token::Kind::dotted) {
      if (token.text == "loc") {
        tokens_.take();
        source_.parse(tokens_);
      } else if (token.text == "reg") {
        for (RegisterDeclaration& declaration : parse_registers(tokens_)) {
          scopes_.declare(declaration);
          add(std::move(declaration));
        }
      } else if (token.text == "pragma") {
        add(directive());
        tokens_.expect(';');
      } else if (token.text == "file") {
        file();
      } else if (space_of(token.text) != StateSpace::none) {
        for (Variable& variable : variables({})) {
          scopes_.declare(variable);
          add(std::move(variable));
        }
      } else {
        tokens_.fail("a declaration, a label or an instruction");
      }
      return;
    }
    if (tokens_.accept(';')) return;
    if (token.is('@')) {
      add(instruction());
      return;
    }
    if (token.kind != Token::Kind::identifier) {
      tokens_.fail("a declaration, a label or an instruction");
    }
    tokens_.take();
    if (!tokens_.accept(':')) {
      add(instruction_after(token));
    } else if (tokens_.peek().is_dotted("branchtargets") ||
               tokens_.peek().is_dotted("calltargets") ||
               tokens_.peek().is_dotted("callprototype")) {
      add(targets(token.text));
    } else {
      add(Label{std::string(token.text)});
    }
  }

  Targets targets(std::string_view name) {
    Targets targets;
    targets.name = name;
    targets.directive = tokens_.take().text;
    if (targets.directive == "callprototype") {
      if (tokens_.peek().is('(')) targets.returns = parse_parameters(tokens_);
      tokens_.expect_identifier("'_'");
      if (tokens_.peek().is('(')) targets.parameters = parse_parameters(tokens_);
      while (tokens_.peek().kind == Token::Kind::dotted) targets.directives.push_back(directive());
    } else {
      do {
        targets.targets.emplace_back(tokens_.expect_identifier("a label or a function"));
      } while (tokens_.accept(','));
    }
    tokens_.expect(';');
    return targets;
  }

  Instruction instruction() {
    tokens_.expect('@');
    const bool negated = tokens_.accept('!');
    std::string guard(tokens_.expect_identifier("a predicate register"));
    const Token opcode = tokens_.peek();
    tokens_.expect_identifier("an instruction");
    Instruction instruction = instruction_after(opcode);
    instruction.guard = std::move(guard);
    instruction.guard_negated = negated;
    return instruction;
  }

  Instruction instruction_after(const Token& opcode) {
    Instruction instruction;
    instruction.opcode = opcode.text;
    instruction.ptx_line = opcode.line;
    instruction.source = source_.line();
    instruction.innermost = source_.innermost();
    constexpr std::size_t kUsual = 4;
    instruction.modifiers.reserve(kUsual);
    instruction.operands.reserve(kUsual);
    while (tokens_.peek().kind == Token::Kind::dotted) {
      instruction.modifiers.emplace_back(tokens_.take().text);
    }
    if (tokens_.accept(';')) return instruction;
    do {
      instruction.operands.push_back(parse_operand(tokens_, scopes_, instruction.opcode));
    } while (tokens_.accept(','));
    if (!tokens_.accept(';')) tokens_.fail("',' or ';'");
    return instruction;
  }

  static constexpr std::uint32_t kNoVersion = std::numeric_limits<std::uint32_t>::max();

  TokenStream tokens_;
  Module module_;
  SourceTracker source_;
  RegisterScopes scopes_;
  std::uint64_t initial_bytes_ = 0;
};

}  // namespace

Module parse(std::string_view text, std::string_view name) { return Parser(text, name).parse(); }

}  // namespace bitgate::machine::ptx
