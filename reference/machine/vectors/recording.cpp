#include "reference/machine/vectors/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <optional>

#include "reference/machine/vectors/inputs.h"
#include "reference/machine/vectors/range_coder.h"
#include "reference/support/error.h"
#include "reference/support/sha256.h"

namespace bitgate::machine::vectors {

namespace {

constexpr std::string_view kMagic = "bitgate hardware vectors 1\n";

unsigned register_bits(Value value) { return shape(value).register_bits; }

Digest digest(std::span<const std::byte> bytes) {
  const std::string text = sha256(bytes);
  Digest result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    unsigned value = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
    result[i] = static_cast<std::byte>(value);
  }
  return result;
}

std::vector<std::byte> difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  std::vector<std::byte> result(a.begin(), a.end());
  for (std::size_t i = 0; i < result.size() && i < b.size(); ++i) result[i] ^= b[i];
  return result;
}

[[noreturn]] void malformed(std::string_view what) {
  throw InputError(fmt::format("the hardware vectors are malformed: {}", what));
}

/// Probabilities by the byte's place in its word, what is above it there, and whether the bits are
/// a difference.
class Models {
 public:
  /// Calls code(model, byte) for each byte of a form's bits.
  template <class Bytes, class Code>
  void for_each(const Form& form, bool difference, Bytes& bytes, const Code& code) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < form.results.size() && at < bytes.size(); ++k) {
      const unsigned bits = register_bits(form.results[k]);
      const std::size_t width = std::max(1U, bits / 8);
      const std::size_t end = std::min(bytes.size(), at + std::size_t{form.threads} * bits / 8);
      bool before = false;
      for (; at < end; at += width) {
        bool above = before;
        before = false;
        for (std::size_t i = width; i-- > 0;) {
          auto& byte = bytes[at + i];
          code(models_[difference ? 1 : 0][std::countr_zero(width)][i][above ? 1 : 0], byte);
          above = byte != std::byte{0};
          before = before || above;
        }
      }
    }
  }

 private:
  ByteModel models_[2][4][8][2];
};

/// Words are stored of the first results, in the value of each.
std::size_t stored_bytes(const Form& form) {
  std::size_t bits = 0;
  std::size_t words = 0;
  for (const Value result : form.results) {
    const std::size_t count = std::min<std::size_t>(form.threads, kStoredWords - words);
    bits += count * register_bits(result);
    words += count;
  }
  return bits / 8;
}

std::size_t hash_count(const Form& form) {
  const std::size_t words = form.results.size() * form.threads;
  return words > kStoredWords ? (words - kStoredWords) / kHashedWords : 0;
}

/// Forms whose bits can be combined: the same inputs, the same widths.
std::string family(const Form& form) {
  std::string text = signature(form);
  for (const Value result : form.results) text += fmt::format(" {}", register_bits(result));
  return text + fmt::format(" {}", form.threads);
}

class Lines {
 public:
  explicit Lines(std::span<const std::byte> file)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()) {}

  std::string_view next() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) malformed("the header ends early");
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  std::string_view after(std::string_view key) {
    std::string_view line = next();
    if (!line.starts_with(key)) malformed(fmt::format("expected \"{}\"", key));
    return line.substr(key.size());
  }
  std::size_t at() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    malformed(fmt::format("\"{}\" is no number", text));
  }
  return value;
}

std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t tab = line.find('\t');
    parts.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return parts;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

std::vector<std::byte> pack(Value value, std::span<const std::uint64_t> words) {
  std::vector<std::byte> bytes;
  if (register_bits(value) == 1) {
    for (std::size_t i = 0; i < words.size(); i += 8) {
      unsigned byte = 0;
      for (std::size_t j = 0; j < 8 && i + j < words.size(); ++j) {
        byte |= static_cast<unsigned>(words[i + j] & 1U) << j;
      }
      bytes.push_back(static_cast<std::byte>(byte));
    }
    return bytes;
  }
  const unsigned width = register_bits(value) / 8;
  for (const std::uint64_t word : words) {
    for (unsigned j = 0; j < width; ++j) bytes.push_back(static_cast<std::byte>(word >> (8 * j)));
  }
  return bytes;
}

Recorded record(const Form& form, std::span<const std::uint64_t> words, std::uint32_t threads) {
  Recorded recorded{.form = form.name, .threads = threads, .bits = {}, .hashes = {}};
  std::size_t stored = 0;
  for (std::size_t k = 0; k < form.results.size(); ++k) {
    auto rest = words.subspan(k * threads, threads);
    const std::size_t count = std::min(rest.size(), kStoredWords - stored);
    const auto bits = pack(form.results[k], rest.first(count));
    recorded.bits.insert(recorded.bits.end(), bits.begin(), bits.end());
    stored += count;
    for (rest = rest.subspan(count); !rest.empty(); rest = rest.subspan(kHashedWords)) {
      recorded.hashes.push_back(digest(pack(form.results[k], rest.first(kHashedWords))));
    }
  }
  return recorded;
}

std::vector<std::byte> serialise(const Recording& recording) {
  std::string index;
  std::vector<std::byte> hashes;
  RangeEncoder encoder;
  Models models;
  std::map<std::string, std::vector<std::size_t>> families;
  const auto set_bytes = [](std::span<const std::byte> bytes) {
    return std::ranges::count_if(bytes, [](std::byte byte) { return byte != std::byte{0}; });
  };
  for (std::size_t i = 0; i < recording.forms.size(); ++i) {
    const Recorded& each = recording.forms[i];
    const Form& of = form(each.form);
    auto& relatives = families[family(of)];
    std::vector<std::byte> best = each.bits;
    std::optional<std::size_t> base;
    for (const std::size_t relative : relatives) {
      auto rest = difference(each.bits, recording.forms[relative].bits);
      if (set_bytes(rest) >= set_bytes(best)) continue;
      best = std::move(rest);
      base = relative;
    }
    relatives.push_back(i);
    index += fmt::format("{}\t{}\t{}\t{}\n", each.form, each.threads,
                         base ? std::to_string(*base) : "-", each.hashes.size());
    for (const Digest& hash : each.hashes) hashes.insert(hashes.end(), hash.begin(), hash.end());
    models.for_each(of, base.has_value(), best,
                    [&](ByteModel& model, std::byte byte) { encoder.encode(model, byte); });
  }
  const std::string head =
      fmt::format("{}device {}\nseed {}\nforms {}\n{}\n", kMagic, recording.device, recording.seed,
                  recording.forms.size(), index);
  std::vector<std::byte> file;
  const auto append = [&](std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  append(std::as_bytes(std::span(head)));
  append(hashes);
  append(encoder.finish());
  return file;
}

Recording parse_recording(std::span<const std::byte> file) {
  Lines lines(file);
  if (std::string(lines.next()) + '\n' != kMagic) malformed("another first line");
  Recording recording;
  recording.device = lines.after("device ");
  recording.seed = number(lines.after("seed "));
  const std::uint64_t count = number(lines.after("forms "));
  std::vector<std::optional<std::size_t>> bases;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto parts = fields(lines.next());
    if (parts.size() != 4) malformed("a form's line has not four parts");
    const Form& of = form(parts[0]);
    if (number(parts[1]) != of.threads) malformed(of.name + " has another number of threads");
    if (number(parts[3]) != hash_count(of)) malformed(of.name + " has another number of hashes");
    std::optional<std::size_t>& base = bases.emplace_back();
    if (parts[2] != "-") {
      base = number(parts[2]);
      if (*base >= i) malformed("a base form does not come earlier");
    }
    recording.forms.push_back({.form = of.name, .threads = of.threads, .bits = {}, .hashes = {}});
  }
  if (!lines.next().empty()) malformed("no empty line after the forms");
  std::size_t at = lines.at();
  for (Recorded& each : recording.forms) {
    each.hashes.resize(hash_count(form(each.form)));
    for (Digest& hash : each.hashes) {
      if (hash.size() > file.size() - at) malformed("the file ends early");
      std::ranges::copy(file.subspan(at, hash.size()), hash.begin());
      at += hash.size();
    }
  }
  RangeDecoder decoder(file.subspan(at));
  Models models;
  for (std::size_t i = 0; i < recording.forms.size(); ++i) {
    Recorded& each = recording.forms[i];
    const Form& of = form(each.form);
    each.bits.resize(stored_bytes(of));
    models.for_each(of, bases[i].has_value(), each.bits,
                    [&](ByteModel& model, std::byte& byte) { byte = decoder.decode(model); });
    if (bases[i]) each.bits = difference(each.bits, recording.forms[*bases[i]].bits);
  }
  if (!decoder.ended_well()) malformed("the coded bits end early or late");
  return recording;
}

std::uint64_t stored_word(const Form& form, const Recorded& recorded, std::size_t index) {
  std::size_t at = 0;
  for (const Value result : form.results) {
    const unsigned bits = register_bits(result);
    if (index >= form.threads) {
      at += form.threads * bits / 8;
      index -= form.threads;
      continue;
    }
    if (bits == 1) {
      return static_cast<std::uint64_t>(recorded.bits[at + index / 8]) >> (index % 8) & 1U;
    }
    std::uint64_t word = 0;
    for (std::size_t j = 0; j < bits / 8; ++j) {
      word |= static_cast<std::uint64_t>(recorded.bits[at + index * bits / 8 + j]) << (8 * j);
    }
    return word;
  }
  return 0;
}

Difference compare(const Form& form, const Recorded& expected, const Recorded& found) {
  Difference difference;
  const std::size_t stored =
      std::min(kStoredWords, form.results.size() * std::size_t{form.threads});
  for (std::size_t i = 0; i < stored && expected.bits != found.bits; ++i) {
    if (stored_word(form, expected, i) != stored_word(form, found, i)) {
      difference.words.push_back(i);
    }
  }
  for (std::size_t i = 0; i < expected.hashes.size(); ++i) {
    if (i >= found.hashes.size() || expected.hashes[i] != found.hashes[i]) {
      difference.hashes.push_back(i);
    }
  }
  return difference;
}

}  // namespace bitgate::machine::vectors
