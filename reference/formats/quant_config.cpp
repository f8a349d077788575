#include "reference/formats/quant_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "reference/formats/printable.h"
#include "reference/formats/strict_json.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::formats {
namespace {

using nlohmann::json;

constexpr int kConfigDepth = 64;

/// Keys of one config; null counts as absent, as the packages write it for both.
class Fields {
 public:
  Fields(const json& config, std::string_view where) : config_(config), where_(where) {
    if (!config.is_object()) throw InputError(where_ + ": the quantization config is no object");
  }

  std::optional<std::string> text(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) fail(key, "a string");
    std::string lower = value->get<std::string>();
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
  }
  std::optional<bool> flag(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) fail(key, "true or false");
    return value->get<bool>();
  }
  bool required_flag(std::string_view key) const {
    const std::optional<bool> value = flag(key);
    if (!value) fail(key, "true or false: the convention is never guessed");
    return *value;
  }
  /// Under one of two names that packages use for the same number.
  std::int64_t required_integer(std::string_view key, std::string_view other) const {
    std::optional<std::int64_t> found;
    for (const std::string_view name : {key, other}) {
      const json* const value = find(name);
      if (value == nullptr) continue;
      if (!value->is_number_integer()) fail(name, "an integer");
      if (value->is_number_unsigned() &&
          value->get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
        fail(name, "an integer below 2^31");
      }
      const auto number = value->get<std::int64_t>();
      if (found && *found != number) {
        throw InputError(fmt::format("{}: {} and {} disagree", where_, key, other));
      }
      found = number;
    }
    if (!found) fail(key, "an integer");
    return *found;
  }
  bool non_empty(std::string_view key) const {
    const json* const value = find(key);
    return value != nullptr && !value->empty();
  }
  [[noreturn]] void refuse(std::string_view what) const {
    throw Unsupported(fmt::format("{}: {}", where_, what));
  }
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const {
    throw InputError(fmt::format("{}: expected {} to be {}", where_, key, expected));
  }
  const std::string& where() const { return where_; }

 private:
  const json* find(std::string_view key) const {
    const auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  const json& config_;
  std::string where_;
};

void read_width_and_group(const Fields& fields, QuantConfig& config) {
  const std::int64_t bits = fields.required_integer("bits", "w_bit");
  if (bits != 4) fields.refuse(fmt::format("{}-bit weights: only 4-bit ones are read", bits));
  config.group_size = fields.required_integer("group_size", "q_group_size");
  if (config.group_size != -1 && config.group_size <= 0) {
    fields.fail("group_size", "positive, or -1 for the whole of K");
  }
}

QuantConfig parse_gptq(const Fields& fields) {
  if (fields.flag("is_marlin_format").value_or(false)) {
    fields.refuse("is_marlin_format: Marlin checkpoints are not read");
  }
  const std::optional<std::string> checkpoint_format = fields.text("checkpoint_format");
  const std::optional<std::string> format = fields.text("format");
  if (checkpoint_format && format && *checkpoint_format != *format) {
    throw InputError(fmt::format("{}: checkpoint_format {} and format {} disagree", fields.where(),
                                 printable(*checkpoint_format), printable(*format)));
  }
  const std::string stated = checkpoint_format.value_or(format.value_or("gptq"));
  if (stated != "gptq" && stated != "gptq_v2") {
    fields.refuse(
        fmt::format("checkpoint_format {}: gptq (v1) and gptq_v2 are read", printable(stated)));
  }
  QuantConfig config;
  read_width_and_group(fields, config);
  config.act_order = fields.required_flag("desc_act");
  config.symmetric = fields.required_flag("sym");
  const ZeroPoints version = stated == "gptq" ? ZeroPoints::gptq_v1 : ZeroPoints::gptq_v2;
  config.zero_points = config.symmetric ? ZeroPoints::sym : version;
  if (config.symmetric) config.symmetric_placeholder = version;
  return config;
}

QuantConfig parse_awq(const Fields& fields) {
  const std::optional<std::string> version = fields.text("version");
  if (!version) fields.fail("version", "stated (gemm), because AWQ's layouts differ");
  if (*version != "gemm") {
    fields.refuse(fmt::format("AWQ version {}: only the GEMM layout is read", printable(*version)));
  }
  if (fields.flag("desc_act").value_or(false)) {
    fields.refuse("AWQ with desc_act: AWQ has no g_idx to store act-order in");
  }
  QuantConfig config;
  read_width_and_group(fields, config);
  config.awq_layout = true;
  config.symmetric = !fields.required_flag("zero_point");
  config.zero_points = config.symmetric ? ZeroPoints::sym : ZeroPoints::awq;
  return config;
}

}  // namespace

QuantConfig parse_quant_config(const json& config, ConfigFile file, std::string_view where) {
  const Fields fields(config, where);
  std::optional<std::string> method = fields.text("quant_method");
  if (!method) method = fields.text("method");
  if (!method && file == ConfigFile::quantize_json) method = "gptq";
  if (!method && file == ConfigFile::quant_json) method = "awq";
  if (!method) fields.fail("quant_method", "stated (gptq or awq)");
  if (*method != "gptq" && *method != "awq") {
    fields.refuse(fmt::format("quant_method {}: gptq and awq are read", printable(*method)));
  }
  if (fields.non_empty("dynamic")) fields.refuse("dynamic: per-module overrides are not read");
  if (fields.text("pack_dtype").value_or("int32") != "int32") {
    fields.refuse("pack_dtype: only words of int32 are read");
  }
  return *method == "gptq" ? parse_gptq(fields) : parse_awq(fields);
}

QuantConfig read_quant_config(const std::filesystem::path& folder) {
  std::optional<std::pair<std::string, QuantConfig>> found;
  const auto consider = [&](const char* name, ConfigFile kind) {
    const std::filesystem::path path = folder / name;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return;
    const std::string where = path.string();
    json text = parse_strict_json(read_text_file(path), where, kConfigDepth);
    if (kind == ConfigFile::config_json) {
      if (!text.is_object()) throw InputError(where + ": expected a JSON object");
      if (!text.contains("quantization_config")) return;
      text = json(text["quantization_config"]);
    }
    const QuantConfig config = parse_quant_config(text, kind, where);
    if (found && found->second != config) {
      throw InputError(
          fmt::format("{} and {} state different conventions: remove the one that does "
                      "not belong to the tensors",
                      found->first, where));
    }
    if (!found) found.emplace(where, config);
  };
  consider("config.json", ConfigFile::config_json);
  consider("quantize_config.json", ConfigFile::quantize_json);
  consider("quant_config.json", ConfigFile::quant_json);
  if (!found) {
    throw InputError(
        fmt::format("{}: expected a config.json with a quantization_config, a "
                    "quantize_config.json or a quant_config.json: a convention is never "
                    "guessed from tensors",
                    folder.string()));
  }
  return found->second;
}

json public_quant_config(const QuantConfig& config) {
  if (config.awq_layout) {
    // zero_point also where every zero is 8: the public loaders read the tensor in any case, and
    // refuse or misread an AWQ checkpoint that claims to have none.
    return {{"quant_method", "awq"}, {"bits", config.bits}, {"group_size", config.group_size},
            {"zero_point", true},    {"version", "gemm"},   {"modules_to_not_convert", nullptr}};
  }
  const ZeroPoints version = config.symmetric ? config.symmetric_placeholder : config.zero_points;
  const char* const format = version == ZeroPoints::gptq_v2 ? "gptq_v2" : "gptq";
  return {{"quant_method", "gptq"},
          {"bits", config.bits},
          {"group_size", config.group_size},
          {"desc_act", config.act_order},
          {"sym", config.symmetric},
          {"checkpoint_format", format},
          {"format", format},
          {"lm_head", false},
          {"pack_dtype", "int32"}};
}

}  // namespace bitgate::formats
