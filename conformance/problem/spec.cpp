#include "conformance/problem/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "reference/support/error.h"

namespace bitgate::conformance {
namespace {

constexpr std::string_view kFamily = "w4a16";

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array kTypes{Named{"f16", numeric::ScalarType::f16},
                            Named{"bf16", numeric::ScalarType::bf16}};
constexpr std::array kZeros{Named{"sym", ZeroKey::sym}, Named{"gptq_v1", ZeroKey::gptq_v1},
                            Named{"gptq_v2", ZeroKey::gptq_v2}, Named{"awq", ZeroKey::awq}};
constexpr std::array kOrders{Named{"none", Order::none}, Named{"random", Order::random},
                             Named{"skewed", Order::skewed}, Named{"reversed", Order::reversed},
                             Named{"identity", Order::identity}};
constexpr std::array kFills{Named{"exact", Fill::exact},
                            Named{"real", Fill::real},
                            Named{"probe_identity", Fill::probe_identity},
                            Named{"probe_ones", Fill::probe_ones},
                            Named{"probe_columns", Fill::probe_columns},
                            Named{"probe_scales", Fill::probe_scales},
                            Named{"checkpoint", Fill::checkpoint}};

template <class Value, std::size_t size>
std::string_view name_in(const std::array<Named<Value>, size>& table, Value value) {
  return std::ranges::find(table, value, &Named<Value>::value)->name;
}

template <class Value, std::size_t size>
std::string choices(const std::array<Named<Value>, size>& table) {
  std::string text;
  for (const auto& row : table) text += (text.empty() ? "" : " | ") + std::string(row.name);
  return text;
}

template <class Value, std::size_t size>
Value choose(const std::array<Named<Value>, size>& table, std::string_view key,
             std::string_view text) {
  const auto found = std::ranges::find(table, text, &Named<Value>::name);
  if (found == table.end()) {
    throw InputError(fmt::format("spec: {}: expected {}, found '{}'", key, choices(table), text));
  }
  return found->value;
}

template <class Integer>
std::optional<Integer> integer(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

template <class Integer>
Integer number(std::string_view key, std::string_view text, Integer low, Integer high) {
  const auto value = integer<Integer>(text);
  if (!value || *value < low || *value > high) {
    throw InputError(fmt::format("spec: {}: expected a whole number from {} to {}, found '{}'", key,
                                 low, high, text));
  }
  return *value;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '%') {
      out += fmt::format("%{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view key, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) {
      throw InputError(fmt::format(
          "spec: {}: expected two hexadecimal digits after '%', found '{}'", key, digits));
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

std::vector<std::int64_t> parse_keep(std::string_view text) {
  std::vector<std::int64_t> keep;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = integer<std::int64_t>(item.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : integer<std::int64_t>(item.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= SpecLimits::k ||
        (!keep.empty() && *first <= keep.back())) {
      throw InputError(fmt::format(
          "spec: keep: expected ascending indices and ranges such as 0-15,40 below {}, found '{}'",
          SpecLimits::k, item));
    }
    for (std::int64_t k = *first; k <= *last; ++k) keep.push_back(k);
    if (comma == std::string_view::npos) return keep;
    rest.remove_prefix(comma + 1);
  }
}

std::string print_keep(std::span<const std::int64_t> keep) {
  std::string text;
  for (std::size_t i = 0; i < keep.size();) {
    std::size_t end = i + 1;
    while (end < keep.size() && keep[end] == keep[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text +=
        end - i == 1 ? fmt::format("{}", keep[i]) : fmt::format("{}-{}", keep[i], keep[end - 1]);
    i = end;
  }
  return text;
}

/// One row a key, in canonical order: parsing, printing and help read the same table.
struct Key {
  std::string_view name;
  bool always;  ///< printed though it is the default
  std::string allowed;
  std::string fallback;
  std::string meaning;
  void (*parse)(Spec&, std::string_view key, std::string_view text);
  std::string (*print)(const Spec&);
};

const std::vector<Key>& keys() {
  static const std::vector<Key> table{
      {"m", true, "0…", "16", "rows of A and C",
       [](Spec& s, auto key, auto text) {
         s.m = number<std::int64_t>(key, text, 0, SpecLimits::m);
       },
       [](const Spec& s) { return fmt::to_string(s.m); }},
      {"k", true, "0…", "1024", "columns of A, rows of W",
       [](Spec& s, auto key, auto text) {
         s.k = number<std::int64_t>(key, text, 0, SpecLimits::k);
       },
       [](const Spec& s) { return fmt::to_string(s.k); }},
      {"n", true, "0…", "256", "columns of W and C",
       [](Spec& s, auto key, auto text) {
         s.n = number<std::int64_t>(key, text, 0, SpecLimits::n);
       },
       [](const Spec& s) { return fmt::to_string(s.n); }},
      {"group", true, "a divisor of k, or -1", "128", "rows of W that share a scale; -1: all",
       [](Spec& s, auto key, auto text) {
         s.group = number<std::int64_t>(key, text, -1, SpecLimits::k);
       },
       [](const Spec& s) { return fmt::to_string(s.group); }},
      {"type", true, choices(kTypes), "f16", "of activations, scales and outputs",
       [](Spec& s, auto key, auto text) { s.type = choose(kTypes, key, text); },
       [](const Spec& s) { return std::string(name_in(kTypes, s.type)); }},
      {"zero", true, choices(kZeros), "gptq_v1", "how zero points are stored",
       [](Spec& s, auto key, auto text) {
         if (text == "float")
           throw Unsupported("spec: zero=float: float zero points are not served");
         s.zero = choose(kZeros, key, text);
       },
       [](const Spec& s) { return std::string(name(s.zero)); }},
      {"order", false, choices(kOrders), "none", "act-order, and the kind of permutation",
       [](Spec& s, auto key, auto text) { s.order = choose(kOrders, key, text); },
       [](const Spec& s) { return std::string(name(s.order)); }},
      {"sms", false, "1…", "the device's", "multiprocessors planned for",
       [](Spec& s, auto key, auto text) { s.sms = number<std::uint32_t>(key, text, 1, 1U << 16); },
       [](const Spec& s) { return s.sms == 0 ? std::string() : fmt::to_string(s.sms); }},
      {"lda", false, "k…", "k", "elements between rows of A",
       [](Spec& s, auto key, auto text) {
         s.lda = number<std::int64_t>(key, text, 1, SpecLimits::span);
       },
       [](const Spec& s) { return s.lda == 0 ? std::string() : fmt::to_string(s.lda); }},
      {"ldc", false, "n…", "n", "elements between rows of C",
       [](Spec& s, auto key, auto text) {
         s.ldc = number<std::int64_t>(key, text, 1, SpecLimits::span);
       },
       [](const Spec& s) { return s.ldc == 0 ? std::string() : fmt::to_string(s.ldc); }},
      {"align", false, "0 2 … 254", "0",
       "bytes that the bases of A and C are off a multiple of 256",
       [](Spec& s, auto key, auto text) { s.align = number<std::uint32_t>(key, text, 0, 254); },
       [](const Spec& s) { return s.align == 0 ? std::string() : fmt::to_string(s.align); }},
      {"fill", true, choices(kFills), "exact", "what the buffers hold",
       [](Spec& s, auto key, auto text) { s.fill = choose(kFills, key, text); },
       [](const Spec& s) { return std::string(name(s.fill)); }},
      {"checkpoint", false, "a folder", "none", "fill=checkpoint: where the weights are",
       [](Spec& s, auto key, auto text) { s.checkpoint = unescaped(key, text); },
       [](const Spec& s) { return escaped(s.checkpoint); }},
      {"layer", false, "a tensor's name", "none", "fill=checkpoint: without .qweight",
       [](Spec& s, auto key, auto text) { s.layer = unescaped(key, text); },
       [](const Spec& s) { return escaped(s.layer); }},
      {"seed", true, "0…", "1", "of everything random in the fill",
       [](Spec& s, auto key, auto text) {
         s.seed = number<std::uint64_t>(key, text, 0, std::numeric_limits<std::uint64_t>::max());
       },
       [](const Spec& s) { return fmt::to_string(s.seed); }},
      {"residency", false, "1…", "the policy's", "machine: blocks that are live together",
       [](Spec& s, auto key, auto text) {
         s.residency = number<std::uint32_t>(key, text, 1, 1U << 20);
       },
       [](const Spec& s) {
         return s.residency == 0 ? std::string() : fmt::to_string(s.residency);
       }},
      {"schedule", false, "0…", "0", "machine: seed of the schedule; 0: ascending, round robin",
       [](Spec& s, auto key, auto text) {
         s.schedule =
             number<std::uint64_t>(key, text, 0, std::numeric_limits<std::uint64_t>::max());
       },
       [](const Spec& s) { return s.schedule == 0 ? std::string() : fmt::to_string(s.schedule); }},
      {"keep", false, "such as 0-15,40", "all", "k indices whose activations are not zeroed",
       [](Spec& s, auto, auto text) { s.keep = parse_keep(text); },
       [](const Spec& s) { return print_keep(s.keep); }},
  };
  return table;
}

/// Keys of later issues. What they would say here by default is accepted, everything else refused.
struct LaterKey {
  std::string_view name;
  std::array<std::string_view, 2> accepted;
  std::string_view what;
};
constexpr std::array kLater{
    LaterKey{"split", {"auto", "1"}, "split-K"},
    LaterKey{"plan", {"fast", "fast"}, "the invariant plan"},
    LaterKey{"frame", {"loader", "loader"}, "zero points in a Marlin frame"},
    LaterKey{"geometry", {"", ""}, "geometries compiled on the spot"}};

/// True when the key is one of them and its value changes nothing.
bool is_later_key(std::string_view key, std::string_view text) {
  const auto later = std::ranges::find(kLater, key, &LaterKey::name);
  if (later == kLater.end()) return false;
  if (!text.empty() && std::ranges::find(later->accepted, text) != later->accepted.end()) {
    return true;
  }
  throw Unsupported(fmt::format("spec: {}={}: {} is not served yet", key, text, later->what));
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  constexpr std::string_view kSpace = " \t\r\n";
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return found;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// A hostile line is quoted in a message no longer than a line.
std::string_view shortened(std::string_view text) { return text.substr(0, 80); }

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("spec: " + message);
}

bool at_most(std::int64_t a, std::int64_t b, std::int64_t limit) {
  return a == 0 || b <= limit / a;
}

}  // namespace

std::string_view name(ZeroKey zero) { return name_in(kZeros, zero); }
std::string_view name(Order order) { return name_in(kOrders, order); }
std::string_view name(Fill fill) { return name_in(kFills, fill); }

Spec parse_spec(std::string_view line) {
  const std::vector<std::string_view> tokens = words(line);
  if (tokens.empty() || tokens.front() != kFamily) {
    throw InputError(fmt::format("spec: expected '{} key=value ...', found family '{}'", kFamily,
                                 tokens.empty() ? "" : shortened(tokens.front())));
  }
  Spec spec;
  std::vector<std::string_view> seen;
  for (const std::string_view token : std::span(tokens).subspan(1)) {
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == token.size()) {
      throw InputError(fmt::format("spec: expected key=value, found '{}'", shortened(token)));
    }
    const std::string_view key = token.substr(0, equals);
    const std::string_view text = token.substr(equals + 1);
    if (std::ranges::find(seen, key) != seen.end()) {
      throw InputError(fmt::format("spec: {}: given twice", shortened(key)));
    }
    seen.push_back(key);
    if (is_later_key(key, shortened(text))) continue;
    const auto row = std::ranges::find(keys(), key, &Key::name);
    if (row == keys().end()) {
      std::string known;
      for (const Key& k : keys()) known += (known.empty() ? "" : ", ") + std::string(k.name);
      throw InputError(fmt::format("spec: unknown key '{}'; known are {}", shortened(key), known));
    }
    row->parse(spec, key,
               row->name == "checkpoint" || row->name == "layer" || row->name == "keep"
                   ? text
                   : shortened(text));
  }
  validate(spec);
  return spec;
}

void validate(const Spec& s) {
  require(s.m >= 0 && s.m <= SpecLimits::m && s.k >= 0 && s.k <= SpecLimits::k && s.n >= 0 &&
              s.n <= SpecLimits::n,
          fmt::format("m, k, n: expected from 0 to {}, {}, {}, found {}, {}, {}", SpecLimits::m,
                      SpecLimits::k, SpecLimits::n, s.m, s.k, s.n));
  require(at_most(s.m, s.k, SpecLimits::elements) && at_most(s.k, s.n, SpecLimits::elements) &&
              at_most(s.m, s.n, SpecLimits::elements),
          fmt::format("m*k, k*n, m*n: expected at most {} elements each, found m={} k={} n={}",
                      SpecLimits::elements, s.m, s.k, s.n));
  require(s.group == -1 || s.group > 0,
          fmt::format("group: expected a divisor of k={}, or -1, found {}", s.k, s.group));
  require(s.group == -1 || s.k % s.group == 0,
          fmt::format("group: expected a divisor of k={}, or -1, found {}", s.k, s.group));
  require(s.lda == 0 || s.lda >= s.k,
          fmt::format("lda: expected at least k={}, found {}", s.k, s.lda));
  require(s.ldc == 0 || s.ldc >= s.n,
          fmt::format("ldc: expected at least n={}, found {}", s.n, s.ldc));
  require(at_most(s.m, s.lda, SpecLimits::span) && at_most(s.m, s.ldc, SpecLimits::span),
          fmt::format("lda, ldc: expected m*lda and m*ldc at most {}, found m={} lda={} ldc={}",
                      SpecLimits::span, s.m, s.lda, s.ldc));
  require(s.align % 2 == 0 && s.align < 256,
          fmt::format("align: expected an even number of bytes below 256, found {}", s.align));
  require(s.zero != ZeroKey::awq || s.order == Order::none,
          fmt::format("order: expected none with zero=awq, which has no g_idx, found {}",
                      name(s.order)));
  require((s.fill == Fill::checkpoint) == !s.checkpoint.empty() &&
              (s.fill == Fill::checkpoint) == !s.layer.empty(),
          "checkpoint, layer: expected both with fill=checkpoint and neither without");
  require(std::ranges::adjacent_find(s.keep, std::greater_equal<>{}) == s.keep.end(),
          "keep: expected ascending indices");
  require(s.keep.empty() || (s.keep.front() >= 0 && s.keep.back() < s.k),
          fmt::format("keep: expected indices below k={}, found {}", s.k,
                      s.keep.empty() ? 0 : s.keep.back()));
}

std::string to_string(const Spec& spec) {
  static const Spec defaults;
  std::string line(kFamily);
  for (const Key& key : keys()) {
    const std::string text = key.print(spec);
    if (text.empty() || (!key.always && text == key.print(defaults))) continue;
    line += fmt::format(" {}={}", key.name, text);
  }
  return line;
}

std::string spec_help() {
  std::string text = fmt::format("SPEC is '{} key=value ...', keys in any order:\n", kFamily);
  for (const Key& key : keys()) {
    text += fmt::format("  {:<11}{} [{}]\n             {}\n", key.name, key.meaning, key.fallback,
                        key.allowed);
  }
  return text;
}

std::int64_t resolved_group(const Spec& spec) {
  if (spec.k == 0) return 1;
  return spec.group == -1 ? spec.k : spec.group;
}

kernels::Zeros zeros_of(const Spec& spec) {
  return spec.zero == ZeroKey::sym ? kernels::Zeros::sym : kernels::Zeros::integer;
}

kernels::w4a16::Shape shape_of(const Spec& spec) {
  return {.m = spec.m,
          .n = spec.n,
          .k = spec.k,
          .group = resolved_group(spec),
          .type = spec.type,
          .zeros = zeros_of(spec),
          .act_order = spec.order != Order::none,
          .lda = spec.lda == 0 ? spec.k : spec.lda,
          .ldc = spec.ldc == 0 ? spec.n : spec.ldc,
          .base_offset = spec.align % 16};
}

}  // namespace bitgate::conformance
