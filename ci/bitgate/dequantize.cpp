#include "reference/formats/dequantize.h"

#include <fmt/format.h>

#include "ci/bitgate/command.h"

namespace bitgate::command_line {

using nlohmann::ordered_json;

namespace {

int dequantize_to(const Session& session, const std::string& in, const std::string& out) {
  require_writable_file(out);
  const auto result = formats::dequantize_file(in, out);
  for (const auto& left : result.left_out) {
    session.err << fmt::format("bitgate: left out {}: {} is not decoded\n", left.tensor, left.type);
  }
  if (session.json) {
    ordered_json document = {{"schema", "bitgate.dequantize/1"},
                             {"out", out},
                             {"written", result.written},
                             {"left_out", ordered_json::array()}};
    for (const auto& left : result.left_out) {
      document["left_out"].push_back({{"tensor", left.tensor}, {"type", left.type}});
    }
    session.print(document);
  } else {
    session.out << fmt::format("{}: {} tensors, {} left out\n", out, result.written.size(),
                               result.left_out.size());
  }
  return result.left_out.empty() ? kProven : kNoVerdict;
}

}  // namespace

void add_dequantize(CLI::App& program, Session& session) {
  const auto in = std::make_shared<std::string>();
  const auto out = std::make_shared<std::string>();
  Command command =
      add_command(program, session, "dequantize", "read a checkpoint or a GGUF back as f32",
                  [&session, in, out] { return dequantize_to(session, *in, *out); });
  command.required("IN", *in, "a checkpoint folder, or a GGUF");
  command.required("OUT.safetensors", *out, "NAME.weight f32 [N, K] for each layer");
}

}  // namespace bitgate::command_line
