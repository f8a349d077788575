#include "reference/machine/vectors/form.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "reference/support/error.h"

namespace bitgate::machine::vectors {

const Shape& shape(Value value) {
  static constexpr std::array<Shape, 27> kShapes{{
      {"pred", 1, 1, 1},     {"u8", 8, 16, 1},      {"s8", 8, 16, 1},      {"u16", 16, 16, 1},
      {"s16", 16, 16, 1},    {"b16", 16, 16, 1},    {"u32", 32, 32, 1},    {"s32", 32, 32, 1},
      {"b32", 32, 32, 1},    {"u64", 64, 64, 1},    {"s64", 64, 64, 1},    {"b64", 64, 64, 1},
      {"f16", 16, 16, 1},    {"bf16", 16, 16, 1},   {"f32", 32, 32, 1},    {"f64", 64, 64, 1},
      {"f16x2", 32, 32, 2},  {"bf16x2", 32, 32, 2}, {"tf32", 32, 32, 1},   {"e4m3x2", 16, 16, 2},
      {"e5m2x2", 16, 16, 2}, {"e4m3x4", 32, 32, 4}, {"e5m2x4", 32, 32, 4}, {"b32", 32, 32, 1},
      {"b32", 32, 32, 4},    {"b32", 32, 32, 8},    {"b32", 32, 32, 1},
  }};
  // The two kinds of metadata have one shape.
  return kShapes[std::min(static_cast<std::size_t>(value), kShapes.size() - 1)];
}

Form plain(const std::string& mnemonic, Value result, std::vector<Value> sources) {
  Form form{.name = mnemonic, .body = mnemonic + " %d0", .results = {result}, .sources = {}};
  for (std::size_t i = 0; i < sources.size(); ++i) form.body += ", %a" + std::to_string(i);
  form.body += ';';
  form.sources = std::move(sources);
  return form;
}

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = [] {
    std::vector<Form> all;
    add_integer_forms(all);
    add_bit_forms(all);
    add_video_forms(all);
    add_float_forms(all);
    add_half_forms(all);
    add_conversion_forms(all);
    add_comparison_forms(all);
    add_matrix_forms(all);
    return all;
  }();
  return kForms;
}

const Form& form(std::string_view name) {
  static const std::map<std::string_view, const Form*> kByName = [] {
    std::map<std::string_view, const Form*> by_name;
    for (const Form& each : forms()) by_name.emplace(each.name, &each);
    return by_name;
  }();
  const auto found = kByName.find(name);
  if (found == kByName.end()) throw InputError("no form is called " + std::string(name));
  return *found->second;
}

std::vector<std::string> mnemonics(const Form& form) {
  std::vector<std::string> found;
  std::string_view rest = form.body;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::string_view instruction = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    instruction.remove_prefix(std::min(instruction.find_first_not_of(' '), instruction.size()));
    const std::string mnemonic(instruction.substr(0, instruction.find(' ')));
    if (!mnemonic.empty() && std::ranges::find(found, mnemonic) == found.end()) {
      found.push_back(mnemonic);
    }
  }
  return found;
}

std::size_t elements(const Form& form) {
  std::size_t count = 0;
  for (const Value result : form.results) count += shape(result).elements * form.threads;
  return count;
}

}  // namespace bitgate::machine::vectors
