#include "ci/suite/launch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::suite {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostBufferBytes = std::uint64_t{1} << 40;
constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostShown = 60;

/// A value with the place it came from.
class Reader {
 public:
  Reader(const Json& value, std::string file, std::string place)
      : value_(value), file_(std::move(file)), place_(std::move(place)) {}

  [[noreturn]] void fail(std::string_view expected) const {
    fail_with(fmt::format("expected {}, found {}", expected, shown()));
  }
  [[noreturn]] void fail_with(std::string_view message) const {
    throw InputError(fmt::format("{}: {}{}{}", file_, place_, place_.empty() ? "" : ": ", message));
  }

  bool has(const std::string& key) const { return value_.contains(key); }
  Reader at(const std::string& key) const {
    return {value_.at(key), file_, place_.empty() ? key : fmt::format("{}.{}", place_, key)};
  }
  Reader need(const std::string& key) const {
    if (!has(key)) fail_with(fmt::format("expected the key \"{}\"", key));
    return at(key);
  }
  Reader element(std::size_t i) const {
    return {value_.at(i), file_, fmt::format("{}[{}]", place_, i)};
  }

  const Json& json() const { return value_; }
  std::size_t size() const { return value_.size(); }

  /// An object whose keys are among these.
  const Reader& object(std::initializer_list<std::string_view> keys) const {
    if (!value_.is_object()) fail("an object");
    for (const auto& [key, ignored] : value_.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      std::string known;
      for (const std::string_view k : keys)
        known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", k);
      fail_with(
          fmt::format("expected the keys {}, found {}", known, Json(key).dump(-1, ' ', true)));
    }
    return *this;
  }
  const Reader& array() const {
    if (!value_.is_array()) fail("an array");
    return *this;
  }
  std::string text() const {
    if (!value_.is_string()) fail("a string");
    return value_.get<std::string>();
  }
  bool boolean() const {
    if (!value_.is_boolean()) fail("true or false");
    return value_.get<bool>();
  }
  std::uint64_t natural(std::uint64_t low, std::uint64_t high) const {
    if (value_.is_number_unsigned()) {
      const auto number = value_.get<std::uint64_t>();
      if (number >= low && number <= high) return number;
    }
    fail(fmt::format("an integer from {} to {}", low, high));
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    const bool fits =
        value_.is_number_integer() &&
        !(value_.is_number_unsigned() &&
          value_.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (fits) {
      const auto number = value_.get<std::int64_t>();
      if (number >= low && number <= high) return number;
    }
    fail(fmt::format("an integer from {} to {}", low, high));
  }
  double real() const {
    if (!value_.is_number()) fail("a number");
    return value_.get<double>();
  }

 private:
  std::string shown() const {
    if (value_.is_object()) return "an object";
    if (value_.is_array()) return "an array";
    std::string text = value_.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
    return text;
  }

  const Json& value_;
  std::string file_;
  std::string place_;
};

/// JSON whose objects repeat no key and nest within reason.
Json parse_json(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> keys;
  const Json::parser_callback_t check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > static_cast<int>(kDeepest)) {
      throw InputError(fmt::format("{}: expected at most {} levels of nesting", name, kDeepest));
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      throw InputError(fmt::format("{}: expected each key once, found {} twice in one object", name,
                                   parsed.dump(-1, ' ', true, Json::error_handler_t::replace)));
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: expected JSON: {}", name, error.what()));
  }
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  return {raw.begin(), raw.end()};
}

std::vector<std::byte> hex(const Reader& reader) {
  const std::string text = reader.text();
  const auto digit = [&](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    reader.fail("hexadecimal digits");
  };
  if (text.empty() || text.size() % 2 != 0) reader.fail("two hexadecimal digits a byte");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

std::byte fill_byte(const Reader& reader) {
  const std::string text = reader.text();
  if (text == "zero") return std::byte{0};
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  const bool is_byte = text.size() == 4 && text.starts_with("0x") &&
                       text.find_first_not_of(kDigits, 2) == std::string::npos;
  if (!is_byte) reader.fail("\"zero\" or a byte such as \"0xff\"");
  return static_cast<std::byte>(std::stoul(text, nullptr, 16));
}

std::filesystem::path path_in(const std::filesystem::path& folder, const Reader& reader) {
  const std::string text = reader.text();
  if (text.empty() || text.find('\0') != std::string::npos) reader.fail("the path of a file");
  return folder / text;
}

RandomContents parse_random(const Reader& reader) {
  constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();
  RandomContents contents;
  if (!reader.json().is_object()) {
    contents.seed = reader.natural(0, kMostSeed);
    return contents;
  }
  reader.object({"seed", "type", "low", "high"});
  contents.seed = reader.need("seed").natural(0, kMostSeed);
  contents.type = reader.need("type").text();
  const RandomType* type = random_type(contents.type);
  if (type == nullptr) {
    reader.at("type").fail(
        "one of \"bits\", \"u8\", \"s8\", \"u16\", \"s16\", \"u32\", \"s32\", \"u64\", \"s64\", "
        "\"f16\", \"bf16\", \"f32\", \"f64\"");
  }
  if (type->name == "bits" && (reader.has("low") || reader.has("high"))) {
    reader.fail_with("expected no \"low\" and no \"high\" of \"bits\"");
  }
  if (type->is_float) {
    const auto within = [&](const std::string& key) {
      const double value = reader.at(key).real();
      if (!(std::abs(value) <= type->greatest)) {
        reader.at(key).fail(fmt::format("a number that {} holds", type->name));
      }
      return value;
    };
    if (reader.has("low")) contents.low = within("low");
    if (reader.has("high")) contents.high = within("high");
    if (!(contents.low <= contents.high)) reader.fail_with("expected \"low\" up to \"high\"");
  } else {
    contents.least =
        reader.has("low") ? reader.at("low").integer(type->least, type->most) : type->least;
    contents.most =
        reader.has("high") ? reader.at("high").integer(type->least, type->most) : type->most;
    if (contents.least > contents.most) reader.fail_with("expected \"low\" up to \"high\"");
  }
  return contents;
}

LaunchFile::Buffer parse_buffer(const std::string& name, const Reader& reader,
                                const std::filesystem::path& folder) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  constexpr std::size_t kLongest = 100;
  if (name.empty() || name.size() > kLongest || name[0] == '.' ||
      name.find_first_not_of(kSafe) != std::string::npos) {
    reader.fail_with("expected a buffer's name of letters, digits, '_', '-' and '.'");
  }
  reader.object({"bytes", "file", "fill", "random", "output", "read_only"});
  LaunchFile::Buffer buffer;
  buffer.name = name;
  buffer.bytes = reader.need("bytes").natural(1, kMostBufferBytes);
  if (reader.has("file") + reader.has("fill") + reader.has("random") > 1) {
    reader.fail_with("expected one of \"file\", \"fill\" and \"random\", found several");
  }
  if (reader.has("file")) buffer.file = path_in(folder, reader.at("file"));
  if (reader.has("fill")) buffer.fill = fill_byte(reader.at("fill"));
  if (reader.has("random")) buffer.random = parse_random(reader.at("random"));
  if (reader.has("output")) buffer.output = reader.at("output").boolean();
  if (reader.has("read_only")) buffer.read_only = reader.at("read_only").boolean();
  return buffer;
}

void parse_pointer(const Reader& reader, const std::vector<LaunchFile::Buffer>& buffers,
                   LaunchFile::Argument& argument) {
  const Reader target = reader.at("ptr");
  if (reader.has("offset") && target.json().is_null()) {
    reader.fail_with("expected no \"offset\" from a null pointer");
  }
  if (target.json().is_null()) return;
  const std::string name = target.text();
  const auto found = std::ranges::find(buffers, name, &LaunchFile::Buffer::name);
  if (found == buffers.end()) target.fail("null or the name of a buffer");
  argument.buffer = static_cast<std::size_t>(found - buffers.begin());
  if (reader.has("offset")) argument.offset = reader.at("offset").natural(0, found->bytes);
}

LaunchFile::Argument parse_argument(const Reader& reader,
                                    const std::vector<LaunchFile::Buffer>& buffers) {
  constexpr std::string_view kKinds =
      "one of \"ptr\", \"u32\", \"s32\", \"u64\", \"f32\", \"f64\", \"bytes\"";
  if (!reader.json().is_object() || reader.size() == 0) reader.fail(kKinds);
  LaunchFile::Argument argument;
  if (reader.has("ptr")) {
    reader.object({"ptr", "offset"});
    argument.kind = "ptr";
    parse_pointer(reader, buffers, argument);
    return argument;
  }
  reader.object({"u32", "s32", "u64", "f32", "f64", "bytes"});
  if (reader.size() != 1) reader.fail_with(fmt::format("expected {}, found several", kKinds));
  argument.kind = reader.json().begin().key();
  const Reader value = reader.at(argument.kind);
  if (argument.kind == "u32") {
    argument.bytes = bytes_of(
        static_cast<std::uint32_t>(value.natural(0, std::numeric_limits<std::uint32_t>::max())));
  } else if (argument.kind == "s32") {
    argument.bytes = bytes_of(static_cast<std::int32_t>(value.integer(
        std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max())));
  } else if (argument.kind == "u64") {
    argument.bytes = bytes_of(value.natural(0, std::numeric_limits<std::uint64_t>::max()));
  } else if (argument.kind == "f32") {
    const double number = value.real();
    if (std::abs(number) > double{std::numeric_limits<float>::max()})
      value.fail("a number that f32 holds");
    argument.bytes = bytes_of(static_cast<float>(number));
  } else if (argument.kind == "f64") {
    argument.bytes = bytes_of(value.real());
  } else {
    argument.bytes = hex(value);
  }
  return argument;
}

kernels::Dim3 parse_extent(const Reader& reader, std::uint64_t most_x, std::uint64_t most_y,
                           std::uint64_t most_z) {
  reader.array();
  if (reader.size() < 1 || reader.size() > 3) reader.fail_with("expected 1 to 3 numbers");
  const auto extent = [&](std::size_t i, std::uint64_t most) {
    return reader.size() > i ? static_cast<std::uint32_t>(reader.element(i).natural(1, most)) : 1u;
  };
  return {extent(0, most_x), extent(1, most_y), extent(2, most_z)};
}

LaunchFile::Launch parse_launch(const Reader& reader,
                                const std::vector<LaunchFile::Buffer>& buffers) {
  // CUDA programming guide, "Compute Capabilities": limits that all architectures share.
  constexpr std::uint64_t kMostGridX = 0x7fffffff;
  constexpr std::uint64_t kMostGridYZ = 65535;
  constexpr std::uint64_t kMostThreads = 1024;
  constexpr std::uint64_t kMostBlockZ = 64;
  constexpr std::uint64_t kMostShared = 227 * 1024;
  reader.object({"entry", "grid", "block", "shared", "args"});
  LaunchFile::Launch launch;
  if (reader.has("entry")) launch.entry = reader.at("entry").text();
  launch.grid = parse_extent(reader.need("grid"), kMostGridX, kMostGridYZ, kMostGridYZ);
  launch.block = parse_extent(reader.need("block"), kMostThreads, kMostThreads, kMostBlockZ);
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (threads > kMostThreads) {
    reader.at("block").fail_with(
        fmt::format("expected at most {} threads, found {}", kMostThreads, threads));
  }
  if (reader.has("shared")) {
    launch.shared = static_cast<std::uint32_t>(reader.at("shared").natural(0, kMostShared));
  }
  if (reader.has("args")) {
    const Reader arguments = reader.at("args");
    arguments.array();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      launch.arguments.push_back(parse_argument(arguments.element(i), buffers));
    }
  }
  return launch;
}

}  // namespace

std::string launch_file_help() {
  return R"(A launch file:

  { "module": "saxpy.ptx",
    "buffers": { "x":   {"bytes": 4096, "file": "x.bin"},
                 "y":   {"bytes": 4096, "fill": "zero"},
                 "r":   {"bytes": 4096, "random": {"seed": 7, "type": "f32", "low": -1, "high": 1}},
                 "out": {"bytes": 4096, "output": true},
                 "lut": {"bytes": 64, "random": 7, "read_only": true} },
    "launches": [ { "entry": "saxpy", "grid": [4,1,1], "block": [256,1,1], "shared": 0,
                    "args": [ {"ptr": "x"}, {"ptr": "y", "offset": 64}, {"ptr": null},
                              {"u32": 1024}, {"s32": -1}, {"u64": 7}, {"f32": 1.5}, {"f64": 0.5},
                              {"bytes": "00ff10"} ] } ] }

Paths are relative to the launch file. "fill" is "zero" or a byte such as "0xff". "random" is a seed
of raw bytes, or a seed and a type, uniform from low to high: bits, u8, s8, u16, s16, u32, s32, u64,
s64, f16, bf16, f32, f64. A buffer with none of these is uninitialised. "shared" is dynamic shared
memory in bytes, "bytes" of an argument a struct by value. Launches run in order on the same
buffers. "entry" may be left out where the module has one.)";
}

LaunchFile parse_launch_file(std::string_view text, const std::string& name,
                             const std::filesystem::path& folder) {
  const Json json = parse_json(text, name);
  const Reader root(json, name, "");
  root.object({"module", "buffers", "launches"});
  LaunchFile file;
  file.module = path_in(folder, root.need("module"));
  if (root.has("buffers")) {
    const Reader buffers = root.at("buffers");
    if (!buffers.json().is_object()) buffers.fail("an object");
    for (const auto& [key, ignored] : buffers.json().items()) {
      file.buffers.push_back(parse_buffer(key, buffers.at(key), folder));
    }
  }
  const Reader launches = root.need("launches");
  launches.array();
  if (launches.size() == 0) launches.fail_with("expected at least one launch");
  for (std::size_t i = 0; i < launches.size(); ++i) {
    file.launches.push_back(parse_launch(launches.element(i), file.buffers));
  }
  return file;
}

LaunchFile read_launch_file(const std::filesystem::path& path) {
  LaunchFile file = parse_launch_file(read_text_file(path), path.string(), path.parent_path());
  for (const LaunchFile::Buffer& buffer : file.buffers) {
    if (!buffer.file) continue;
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(*buffer.file, error);
    const std::string place = fmt::format("{}: buffers.{}.file", path.string(), buffer.name);
    if (error) {
      throw InputError(fmt::format("{}: expected a readable file '{}': {}", place,
                                   buffer.file->string(), error.message()));
    }
    if (size != buffer.bytes) {
      throw InputError(fmt::format("{}: expected {} bytes in '{}', found {}", place, buffer.bytes,
                                   buffer.file->string(), size));
    }
  }
  return file;
}

}  // namespace bitgate::suite
