#include "reference/formats/quantize.h"

#include <fmt/format.h>

#include <charconv>

#include "ci/bitgate/command.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

using formats::QuantizeOptions;
using nlohmann::ordered_json;

namespace {

struct Arguments {
  std::string model;
  std::string out;
  std::string scheme = "gptq_v1";
  std::string layers;
  QuantizeOptions options;
};

formats::ZeroPoints scheme_of(const std::string& text) {
  if (text == "gptq_v1") return formats::ZeroPoints::gptq_v1;
  if (text == "gptq_v2") return formats::ZeroPoints::gptq_v2;
  if (text == "awq") return formats::ZeroPoints::awq;
  throw InputError(fmt::format("--scheme: expected gptq_v1, gptq_v2 or awq, found \"{}\"", text));
}

formats::LayerRange layers_of(const std::string& text) {
  const auto dots = text.find("..");
  const auto number = [&](std::string_view digits) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0) {
      throw InputError(fmt::format("--layers: expected A..B, found \"{}\"", text));
    }
    return value;
  };
  if (dots == std::string::npos) {
    throw InputError(fmt::format("--layers: expected A..B, found \"{}\"", text));
  }
  const formats::LayerRange range{number(std::string_view(text).substr(0, dots)),
                                  number(std::string_view(text).substr(dots + 2))};
  if (range.last < range.first) {
    throw InputError(fmt::format("--layers: expected A <= B, found \"{}\"", text));
  }
  return range;
}

int quantize_model(const Session& session, const Arguments& arguments) {
  QuantizeOptions options = arguments.options;
  options.scheme = scheme_of(arguments.scheme);
  if (!arguments.layers.empty()) options.layers = layers_of(arguments.layers);
  formats::quantize_config(options);
  require_writable_file(arguments.out);
  const auto result = formats::quantize(arguments.model, arguments.out, options);

  for (const auto& left : result.indivisible) {
    session.err << fmt::format("bitgate: left out {}: {}\n", left.tensor, left.reason);
  }
  for (const auto& left : result.not_public) {
    session.err << fmt::format("bitgate: left out {}: {}\n", left.tensor, left.reason);
  }
  if (session.json) {
    ordered_json document = {{"schema", "bitgate.quantize/1"}, {"out", arguments.out},
                             {"scheme", arguments.scheme},     {"quantized", ordered_json::array()},
                             {"copied", result.copied},        {"left_out", ordered_json::array()}};
    for (const auto& layer : result.quantized) {
      document["quantized"].push_back(
          {{"name", layer.name}, {"k", layer.k}, {"n", layer.n}, {"group", layer.group}});
    }
    for (const auto* lists : {&result.indivisible, &result.not_public}) {
      for (const auto& left : *lists) {
        document["left_out"].push_back({{"tensor", left.tensor}, {"reason", left.reason}});
      }
    }
    session.print(document);
  } else {
    session.out << fmt::format("{}: {} layers quantised, {} tensors copied, {} left out\n",
                               arguments.out, result.quantized.size(), result.copied.size(),
                               result.indivisible.size() + result.not_public.size());
  }
  return kProven;
}

}  // namespace

void add_quantize(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command =
      add_command(program, session, "quantize", "make a 4-bit checkpoint, round to nearest",
                  [&session, arguments] { return quantize_model(session, *arguments); });
  QuantizeOptions& options = arguments->options;
  command.required("MODEL.gguf", arguments->model, "a llama-architecture GGUF");
  command.required("OUT.safetensors", arguments->out, "written with config.json beside it");
  command.option("--scheme", arguments->scheme, "gptq_v1 (default), gptq_v2 or awq");
  command.option("--group", options.group_size, "32, 64 (default), 128, or -1: the whole of K");
  command.either("--symmetric", "--asymmetric", options.symmetric, "the zero point is 8");
  command.flag("--act-order", options.act_order, "sort k by falling norm of its weights");
  command.option("--layers", arguments->layers, "A..B: the projections of these layers alone");
  command.flag("--skip-indivisible", options.skip_indivisible,
               "leave out tensors whose K the group does not divide");
}

}  // namespace bitgate::command_line
