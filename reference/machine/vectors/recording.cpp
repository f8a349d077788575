#include "reference/machine/vectors/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "reference/machine/vectors/inputs.h"
#include "reference/support/error.h"
#include "reference/support/sha256.h"

namespace bitgate::machine::vectors {

namespace {

constexpr std::string_view kMagic = "bitgate hardware vectors 1\n";
constexpr std::size_t kGroup = 8;

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

std::vector<std::byte> encode(std::span<const std::byte> bytes) {
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < bytes.size(); at += kGroup) {
    const auto group = bytes.subspan(at, std::min(kGroup, bytes.size() - at));
    const std::size_t mask_at = out.size();
    out.push_back(std::byte{0});
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i] == std::byte{0}) continue;
      out[mask_at] |= static_cast<std::byte>(1U << i);
      out.push_back(group[i]);
    }
  }
  return out;
}

[[noreturn]] void malformed(std::string_view what) {
  throw InputError(fmt::format("the hardware vectors are malformed: {}", what));
}

std::vector<std::byte> decode(std::span<const std::byte> encoded, std::size_t bytes) {
  std::vector<std::byte> out;
  std::size_t at = 0;
  while (out.size() < bytes) {
    if (at == encoded.size()) malformed("a form's bits end early");
    const auto mask = static_cast<unsigned>(encoded[at++]);
    for (std::size_t i = 0; i < kGroup && out.size() < bytes; ++i) {
      if ((mask >> i & 1U) == 0) {
        out.push_back(std::byte{0});
        continue;
      }
      if (at == encoded.size()) malformed("a form's bits end early");
      out.push_back(encoded[at++]);
    }
  }
  if (at != encoded.size()) malformed("a form has more bits than outputs");
  return out;
}

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
  std::vector<std::byte> payload;
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < recording.forms.size(); ++i) {
    const Recorded& each = recording.forms[i];
    auto& relatives = families[family(form(each.form))];
    std::vector<std::byte> best = encode(each.bits);
    std::optional<std::size_t> base;
    for (const std::size_t relative : relatives) {
      auto encoded = encode(difference(each.bits, recording.forms[relative].bits));
      if (encoded.size() >= best.size()) continue;
      best = std::move(encoded);
      base = relative;
    }
    relatives.push_back(i);
    index += fmt::format("{}\t{}\t{}\t{}\t{}\n", each.form, each.threads,
                         base ? std::to_string(*base) : "-", best.size(), each.hashes.size());
    payload.insert(payload.end(), best.begin(), best.end());
    for (const Digest& hash : each.hashes) payload.insert(payload.end(), hash.begin(), hash.end());
  }
  const std::string head =
      fmt::format("{}device {}\nseed {}\nforms {}\n{}\n", kMagic, recording.device, recording.seed,
                  recording.forms.size(), index);
  std::vector<std::byte> file;
  const auto bytes = std::as_bytes(std::span(head));
  file.insert(file.end(), bytes.begin(), bytes.end());
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

Recording parse_recording(std::span<const std::byte> file) {
  Lines lines(file);
  if (std::string(lines.next()) + '\n' != kMagic) malformed("another first line");
  Recording recording;
  recording.device = lines.after("device ");
  recording.seed = number(lines.after("seed "));
  const std::uint64_t count = number(lines.after("forms "));
  struct Place {
    std::optional<std::size_t> base;
    std::size_t encoded = 0;
    std::size_t hashes = 0;
  };
  std::vector<Place> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto parts = fields(lines.next());
    if (parts.size() != 5) malformed("a form's line has not five parts");
    Place place;
    if (parts[2] != "-") {
      place.base = number(parts[2]);
      if (*place.base >= i) malformed("a base form does not come earlier");
    }
    place.encoded = number(parts[3]);
    place.hashes = number(parts[4]);
    places.push_back(place);
    recording.forms.push_back({.form = std::string(parts[0]),
                               .threads = static_cast<std::uint32_t>(number(parts[1])),
                               .bits = {},
                               .hashes = {}});
  }
  if (!lines.next().empty()) malformed("no empty line after the forms");
  std::size_t at = lines.at();
  const auto take = [&](std::size_t bytes) {
    if (bytes > file.size() - at) malformed("the file ends early");
    at += bytes;
    return file.subspan(at - bytes, bytes);
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    Recorded& each = recording.forms[i];
    const Form& of = form(each.form);
    if (each.threads != of.threads) malformed(each.form + " has another number of threads");
    if (places[i].hashes != hash_count(of)) malformed(each.form + " has another number of hashes");
    each.bits = decode(take(places[i].encoded), stored_bytes(of));
    if (places[i].base) each.bits = difference(each.bits, recording.forms[*places[i].base].bits);
    for (std::size_t h = 0; h < places[i].hashes; ++h) {
      const auto bytes = take(sizeof(Digest));
      std::ranges::copy(bytes, each.hashes.emplace_back().begin());
    }
  }
  if (at != file.size()) malformed("more bytes than forms");
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
