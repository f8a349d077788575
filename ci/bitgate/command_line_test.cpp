#include "ci/bitgate/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz/classes.h"
#include "kernels/kernel.h"
#include "reference/formats/safetensors.h"
#include "reference/support/file.h"

namespace bitgate::command_line {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Output {
  int code = -1;
  std::string out;
  std::string err;
};

Output call(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(arguments, out, err);
  return {code, out.str(), err.str()};
}

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / "bitgate_command_line";
  fs::create_directories(folder);
  return folder / name;
}

const char* const kSpec = "w4a16 m=3 k=128 n=40 group=64 zero=gptq_v2 seed=5";

std::string a_kernel() { return kernels::match_kernels("*gemm*f16.int").front()->name; }

/// One message on stderr, nothing on stdout.
void expect_bad_input(const std::vector<std::string>& arguments, const std::string& says) {
  for (const bool with_json : {false, true}) {
    std::vector<std::string> line = arguments;
    if (with_json) line.push_back("--json");
    const Output output = call(line);
    EXPECT_EQ(output.code, kBadInput) << says << ": " << output.err;
    EXPECT_EQ(output.out, "") << says;
    EXPECT_EQ(output.err.substr(0, 9), "bitgate: ") << says;
    EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << output.err;
    EXPECT_NE(output.err.find(says), std::string::npos) << output.err;
  }
}

/// Named as unsupported; one document with --json.
void expect_unsupported(std::vector<std::string> arguments, const std::string& says) {
  const Output prose = call(arguments);
  EXPECT_EQ(prose.code, kNoVerdict) << says;
  EXPECT_EQ(prose.out, "") << says;
  EXPECT_NE(prose.err.find(says), std::string::npos) << prose.err;
  arguments.push_back("--json");
  const Output output = call(arguments);
  EXPECT_EQ(output.code, kNoVerdict) << says;
  EXPECT_NE(json::parse(output.out).at("unsupported").get<std::string>().find(says),
            std::string::npos);
}

TEST(CommandLine, BadUsageIsFoundBeforeAnythingRuns) {
  const std::string file = scratch("bad.txt").string();
  write_file(file, std::string_view("no PTX at all\n"));
  EXPECT_EQ(call({}).code, kBadInput);
  expect_bad_input({"gat"}, "unknown command \"gat\"");
  expect_bad_input({"list", "--colour"}, "--colour");
  expect_bad_input({"list", "--kernel", "w5*"}, "w5*");
  expect_bad_input({"ptx"}, "NAME");
  expect_bad_input({"ptx", "w4a16.gemm.nothing"}, "w4a16.gemm.nothing");
  expect_bad_input({"gate", "--device", "abacus"}, "abacus");
  expect_bad_input({"gate", "--kernel", "nothing*"}, "nothing*");
  expect_bad_input({"gate", "--budget", "-1"}, "--budget");
  expect_bad_input({"gate", "--budget", "soon"}, "--budget");
  expect_bad_input({"gate", "--ptx", file}, "bad.txt");
  expect_bad_input({"gate", "--ptx", file + ".missing"}, ".missing");
  expect_bad_input({"gate", "--tensor-model", "abacus"}, "abacus");
  expect_bad_input({"gate", "--report", file}, "bad.txt");
  expect_bad_input({"gate", "--device", "machine", "--checkpoint", file + ".missing"}, ".missing");
  expect_bad_input({"run"}, "SPEC");
  expect_bad_input({"run", "w4a16 m=three"}, "three");
  expect_bad_input({"run", "w4a16 colour=red"}, "colour");
  expect_bad_input({"run", "w4a16 m=1 m=2"}, "m");
  expect_bad_input({"run", kSpec, "--kernel", "w4a16.nothing"}, "w4a16.nothing");
  expect_bad_input({"run", kSpec, "--save", scratch("none").string() + "/x.safetensors"}, "none");
  expect_bad_input({"run", kSpec, "--timeout", "0"}, "--timeout");
  expect_bad_input({"exec", file}, "bad.txt");
  expect_bad_input({"fuzz", "--cases", "1", "--seconds", "1"}, "--cases");
  expect_bad_input({"fuzz", "--cases", "few"}, "--cases");
  expect_bad_input({"fidelity", "--cases", "0"}, "--cases");
  expect_bad_input({"lint", file}, "bad.txt");
  expect_bad_input({"quantize", file, scratch("q.safetensors").string()}, "bad.txt");
  expect_bad_input({"quantize", file, scratch("q.safetensors").string(), "--scheme", "hqq"}, "hqq");
  expect_bad_input({"quantize", file, scratch("q.safetensors").string(), "--layers", "3"}, "A..B");
  expect_bad_input(
      {"quantize", file, scratch("q.safetensors").string(), "--scheme", "awq", "--act-order"},
      "act");
  expect_bad_input(
      {"quantize", file, scratch("q.safetensors").string(), "--symmetric", "--asymmetric"},
      "symmetric");
  expect_bad_input({"dequantize", file, scratch("d.safetensors").string()}, "bad.txt");
  expect_bad_input({"bench", "w4a16 m=x"}, "x");
  EXPECT_FALSE(fs::exists(scratch("q.safetensors")));
  EXPECT_FALSE(fs::exists(scratch("d.safetensors")));
}

TEST(CommandLine, WhatLaterVersionsBringIsUnsupportedByName) {
  for (const char* name : {"inspect", "codegen", "plan", "certify", "mutate", "merge", "diagnose",
                           "masks", "golden", "compare"}) {
    expect_unsupported({name, "anything", "--flag", "3"}, name);
  }
  expect_unsupported({"run", "w4a16 split=3"}, "split");
  expect_unsupported({"run", "w4a16 zero=float"}, "float");
}

TEST(CommandLine, HazardsOfAGpuAreNotClaimed) {
  expect_unsupported({"run", "w4a16 m=1 k=64 n=8 group=32", "--device", "cuda", "--hazards"},
                     "--hazards");
  expect_unsupported({"exec", "launch.json", "--device", "cuda", "--hazards"}, "--hazards");
}

TEST(CommandLine, HelpIsThereForEveryCommand) {
  EXPECT_EQ(call({"--help"}).code, kProven);
  for (const char* name : {"list", "ptx", "gate", "run", "exec", "fuzz", "fidelity", "lint",
                           "quantize", "dequantize", "bench"}) {
    EXPECT_NE(call({"--help"}).out.find(name), std::string::npos) << name;
    const Output output = call({name, "--help"});
    EXPECT_EQ(output.code, kProven) << name;
    EXPECT_NE(output.out.find("--json"), std::string::npos) << name;
  }
  EXPECT_NE(call({"run", "--help"}).out.find("group"), std::string::npos);
  EXPECT_EQ(call({"--help"}).out.find("golden"), std::string::npos);
}

TEST(CommandLine, ListNamesEveryKernelWithItsDomain) {
  const Output output = call({"list", "--json"});
  ASSERT_EQ(output.code, kProven) << output.err;
  const json document = json::parse(output.out);
  EXPECT_EQ(document.at("schema"), "bitgate.kernels/1");
  ASSERT_EQ(document.at("kernels").size(), kernels::kernels().size());
  for (std::size_t i = 0; i < kernels::kernels().size(); ++i) {
    const kernels::Kernel& kernel = kernels::kernels()[i];
    const json& row = document.at("kernels").at(i);
    EXPECT_EQ(row.at("name"), kernel.name);
    EXPECT_EQ(row.at("entry"), kernel.entry);
    EXPECT_EQ(row.at("code_hash").get<std::string>().size(), 64U);
    for (const json& group : row.at("domain").at("group")) {
      conformance::Spec spec = fuzz::plain_case(kernel);
      spec.k = 256;
      spec.group = group.get<std::int64_t>();
      for (const json& zero : row.at("domain").at("zero")) {
        spec.zero = conformance::parse_spec("w4a16 zero=" + zero.get<std::string>()).zero;
        EXPECT_TRUE(fuzz::in_domain(kernel, spec)) << to_string(spec);
      }
    }
  }
}

TEST(CommandLine, PtxIsASliceWithOneEntry) {
  const Output output = call({"ptx", a_kernel()});
  ASSERT_EQ(output.code, kProven) << output.err;
  EXPECT_NE(output.out.find(".entry " + kernels::kernel_named(a_kernel()).entry),
            std::string::npos);
  EXPECT_EQ(output.out.find(".entry", output.out.find(".entry") + 1), std::string::npos);
  const std::string file = scratch("slice.ptx").string();
  write_file(file, output.out);
  EXPECT_EQ(call({"lint", file}).code, kProven);
  const Output replaced = call({"run", kSpec, "--kernel", a_kernel(), "--ptx", file, "--json"});
  EXPECT_EQ(replaced.code, kProven) << replaced.out << replaced.err;
}

TEST(CommandLine, RunJudgesOneCase) {
  const Output output = call({"run", kSpec, "--kernel", a_kernel(), "--json"});
  ASSERT_EQ(output.code, kProven) << output.out << output.err;
  const json document = json::parse(output.out);
  EXPECT_EQ(document.at("schema"), "bitgate.cases/1");
  EXPECT_EQ(document.at("device"), "machine");
  EXPECT_EQ(document.at("counts").at("pass"), 1);
  const json& result = document.at("cases").at(0);
  EXPECT_EQ(result.at("kernel"), a_kernel());
  EXPECT_EQ(result.at("verdict"), "pass");
  EXPECT_EQ(result.at("out_sha256").get<std::string>().size(), 64U);
  EXPECT_EQ(result.at("replay"), "bitgate run '" + result.at("spec").get<std::string>() +
                                     "' --kernel " + a_kernel() + " --device machine");
}

TEST(CommandLine, RunWithoutAKernelTakesThePlans) {
  const Output output = call({"run", kSpec, "--json"});
  ASSERT_EQ(output.code, kProven) << output.out << output.err;
  const auto spec = conformance::parse_spec(kSpec);
  EXPECT_EQ(json::parse(output.out).at("cases").at(0).at("kernel"),
            kernels::w4a16::plan(conformance::shape_of(spec), 132).name);
}

TEST(CommandLine, RunOutsideTheDomainIsUnsupported) {
  const Output output =
      call({"run", "w4a16 m=3 k=128 n=40 group=64 zero=sym", "--kernel", a_kernel(), "--json"});
  EXPECT_EQ(output.code, kNoVerdict);
  EXPECT_EQ(json::parse(output.out).at("counts").at("unsupported"), 1);
}

TEST(CommandLine, SaveHoldsWhatAnOutsiderNeeds) {
  const std::string file = scratch("case.safetensors").string();
  const std::string spec =
      "w4a16 m=3 k=128 n=40 group=64 zero=gptq_v1 order=random fill=real seed=9";
  const Output output = call({"run", spec, "--kernel", a_kernel(), "--save", file});
  ASSERT_EQ(output.code, kProven) << output.out << output.err;
  const auto saved = formats::Safetensors::open(file);
  EXPECT_EQ(saved.names(), (std::vector<std::string>{"a", "bound", "g_idx", "out", "qweight",
                                                     "qzeros", "reference", "scales"}));
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(saved.layout("a").shape, (Shape{3, 128}));
  EXPECT_EQ(saved.layout("out").shape, (Shape{3, 40}));
  EXPECT_EQ(saved.layout("qweight").shape, (Shape{16, 40}));
  EXPECT_EQ(saved.layout("qzeros").shape, (Shape{2, 5}));
  EXPECT_EQ(saved.layout("scales").shape, (Shape{2, 40}));
  EXPECT_EQ(saved.layout("g_idx").shape, (Shape{128}));
  EXPECT_EQ(saved.metadata().at("spec"), to_string(conformance::parse_spec(spec)));
}

TEST(CommandLine, WithoutAGpuThereIsNoVerdict) {
  std::string reason;
  if (kernels::make_cuda_device(reason) != nullptr) GTEST_SKIP() << "there is a GPU";
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"run", kSpec, "--device", "cuda", "--json"},
        {"fidelity", "--cases", "1", "--json"},
        {"bench", kSpec, "--json"},
        {"gate", "--device", "both", "--json"}}) {
    const Output output = call(line);
    EXPECT_EQ(output.code, kNoVerdict) << line.front();
    EXPECT_TRUE(json::parse(output.out).contains("no_device")) << output.out;
  }
}

TEST(CommandLine, FuzzPrintsWhatItTried) {
  const Output output = call({"fuzz", "--kernel", a_kernel(), "--cases", "6", "--json"});
  ASSERT_EQ(output.code, kProven) << output.out << output.err;
  const json document = json::parse(output.out);
  EXPECT_EQ(document.at("counts").at("pass"), 6);
  EXPECT_EQ(document.at("suites").at("generated"), 6);
  EXPECT_FALSE(document.at("classes").empty());
}

}  // namespace
}  // namespace bitgate::command_line
