#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ci/suite/exec_launch.h"
#include "ci/suite/launch_file.h"
#include "reference/machine/machine.h"
#include "reference/machine/schedule/schedule.h"
#include "reference/support/file.h"

// Every hazard kernel is reported for what reference/machine/hazard/kernels/expected.txt says, and
// for nothing else; every correct twin is clean.

namespace bitgate::suite {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kFolder =
    std::filesystem::path(BITGATE_SOURCE_DIR) / "reference/machine/hazard/kernels";

/// The plain schedule, and some of each kind. A hazard need not show in all of them.
constexpr std::uint64_t kSeeds[] = {0, 1, 13, 32, 44, 70};

struct PlacePattern {
  std::string access;  ///< empty: any
  std::string mark;    ///< empty: any place, or none
};

struct Expectation {
  std::string text;  ///< as the file has it
  std::string kind;
  bool same_value = false;
  std::string space;
  PlacePattern first;
  std::optional<PlacePattern> second;  ///< none: the report names no second place
};

struct HazardKernel {
  std::vector<Expectation> hazards;
  std::vector<Expectation> consequences;  ///< that some schedules may show besides
  std::vector<std::string> taint;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

PlacePattern place_of(const std::string& word) {
  if (word == "-") return {};
  const std::size_t at = word.find('@');
  return {word.substr(0, at), word.substr(at)};
}

Expectation expectation_of(const std::string& text) {
  Expectation result;
  result.text = text;
  std::vector<std::string> words = words_of(text);
  const auto take = [&] {
    std::string word = words.empty() ? "" : words.front();
    if (!words.empty()) words.erase(words.begin());
    return word;
  };
  result.kind = take();
  if (!words.empty() && words.front() == "same_value") {
    result.same_value = true;
    take();
  }
  if (!words.empty() && words.front() != "-" && words.front().find('@') == std::string::npos) {
    result.space = take();
  }
  EXPECT_FALSE(words.empty()) << text;
  result.first = place_of(take());
  if (!words.empty()) result.second = place_of(take());
  EXPECT_TRUE(words.empty()) << text;
  return result;
}

std::map<std::string, HazardKernel> read_expectations() {
  std::map<std::string, HazardKernel> result;
  std::ifstream in(kFolder / "expected.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    EXPECT_NE(colon, std::string::npos) << line;
    HazardKernel& kernel = result[line.substr(0, colon)];
    const std::string text = line.substr(colon + 2);
    const std::string also = "consequence: ";
    if (text.starts_with("taint: ")) {
      kernel.taint.push_back(text.substr(7));
    } else if (text.starts_with(also)) {
      kernel.consequences.push_back(expectation_of(text.substr(also.size())));
    } else {
      kernel.hazards.push_back(expectation_of(text));
    }
  }
  return result;
}

std::string source_line(const std::string& file, std::uint32_t number) {
  static std::map<std::string, std::vector<std::string>> sources;
  auto [source, is_new] = sources.try_emplace(file);
  if (is_new) {
    std::ifstream in(kFolder / file);
    for (std::string line; std::getline(in, line);) source->second.push_back(line);
  }
  return number >= 1 && number <= source->second.size() ? source->second[number - 1] : "";
}

bool at_mark(const Json& place, const std::string& mark) {
  const std::string line =
      source_line(place.at("file").get<std::string>(), place.at("line").get<std::uint32_t>());
  const std::size_t at = line.find("// " + mark);
  if (at == std::string::npos) return false;
  const std::size_t end = at + 3 + mark.size();
  return end == line.size() || (std::isalnum(line[end]) == 0 && line[end] != '_');
}

bool matches(const PlacePattern& pattern, const Json& place) {
  if (pattern.mark.empty()) return true;
  if (place.is_null() || !at_mark(place, pattern.mark)) return false;
  return pattern.access.empty() || place.value("access", "") == pattern.access;
}

bool matches(const Expectation& expected, const Json& hazard) {
  if (hazard.at("kind") != expected.kind) return false;
  if (hazard.value("same_value", false) != expected.same_value) return false;
  const Json& space = hazard.at("space");
  if ((space.is_null() ? "" : space.get<std::string>()) != expected.space) return false;
  const Json& first = hazard.at("first");
  const Json& second = hazard.at("second");
  if (!expected.second) return second.is_null() && matches(expected.first, first);
  if (matches(expected.first, first) && matches(*expected.second, second)) return true;
  return (expected.kind == "race" || expected.kind == "barrier") &&
         matches(expected.first, second) && matches(*expected.second, first);
}

std::string describe(const Json& hazard) {
  const auto place = [](const Json& p) {
    if (p.is_null()) return std::string("none");
    const std::string file = p.at("file");
    const std::uint32_t line = p.at("line");
    return fmt::format("{} {}:{} \"{}\"", p.value("access", "-"), file, line,
                       source_line(file, line));
  };
  return fmt::format("{}{} {}: {} | {}", hazard.at("kind").get<std::string>(),
                     hazard.value("same_value", false) ? " same_value" : "",
                     hazard.at("space").dump(), place(hazard.at("first")),
                     place(hazard.at("second")));
}

/// What all schedules together report.
std::vector<Json> hazards_of(const std::filesystem::path& launch,
                             const std::filesystem::path& module, bool ends) {
  std::vector<Json> result;
  for (const std::uint64_t seed : kSeeds) {
    const auto device = kernels::make_machine_device(numeric::tensor_model("hopper"));
    ExecOptions options;
    options.ptx = module;
    options.launch.schedule_seed = seed;
    options.launch.time_limit = std::chrono::milliseconds(ends ? 20000 : 100);
    options.launch.hazards = machine::hazard::Options::all();
    const ExecResult run = exec_launch_file(launch, *device, options);
    const auto& hazards = run.document.at("hazards");
    result.insert(result.end(), hazards.begin(), hazards.end());
    EXPECT_EQ(run.document.at("verdict"), hazards.empty() ? "pass" : "fail")
        << machine::describe(machine::Schedule::of(seed)) << ": " << run.text;
  }
  return result;
}

/// Empty: as expected. Else a line for each difference.
std::string compare(const HazardKernel& expected, const std::vector<Json>& found) {
  std::string result;
  for (const Expectation& one : expected.hazards) {
    if (std::ranges::none_of(found, [&](const Json& h) { return matches(one, h); })) {
      result += "  missed: " + one.text + "\n";
    }
  }
  std::set<std::string> wrong;
  for (const Json& hazard : found) {
    const auto is_it = [&](const Expectation& e) { return matches(e, hazard); };
    if (std::ranges::none_of(expected.hazards, is_it) &&
        std::ranges::none_of(expected.consequences, is_it)) {
      wrong.insert(describe(hazard));
    }
  }
  for (const std::string& text : wrong) result += "  not expected: " + text + "\n";
  return result;
}

std::filesystem::path or_else(const std::filesystem::path& first,
                              const std::filesystem::path& otherwise) {
  return std::filesystem::exists(first) ? first : otherwise;
}

TEST(HazardKernels, EachIsReportedForItsDefectAndTwinsAreClean) {
  const std::map<std::string, HazardKernel> kernels = read_expectations();
  int defects = 0;
  int found = 0;
  int twins = 0;
  int clean = 0;
  for (const auto& [name, kernel] : kernels) {
    if (name.ends_with(".right")) continue;
    const std::filesystem::path launch = kFolder / (name + ".json");
    const std::filesystem::path module = kFolder / (name + ".ptx");
    const bool ends = std::ranges::none_of(
        kernel.hazards, [](const Expectation& e) { return e.kind == "timeout"; });
    const std::string defect = compare(kernel, hazards_of(launch, module, ends));
    EXPECT_EQ(defect, "") << name;
    if (!kernel.hazards.empty()) {
      ++defects;
      found += defect.empty() ? 1 : 0;
    } else {
      ++twins;
      clean += defect.empty() ? 1 : 0;
    }
    const std::filesystem::path right_launch = or_else(kFolder / (name + ".right.json"), launch);
    const std::filesystem::path right_module = or_else(kFolder / (name + ".right.ptx"), module);
    if (right_launch == launch && right_module == module) continue;
    ++twins;
    const std::string right = compare({}, hazards_of(right_launch, right_module, true));
    EXPECT_EQ(right, "") << name << ".right";
    clean += right.empty() ? 1 : 0;
  }
  std::printf("%d of %d defects found as expected; %d of %d correct kernels clean\n", found,
              defects, clean, twins);
  EXPECT_GE(defects, 60);
  EXPECT_GE(twins, 60);
}

/// Where labels reach in the kernel's one launch.
machine::hazard::Taint taint_of(const std::filesystem::path& launch_file,
                                const std::filesystem::path& module) {
  const LaunchFile file = read_launch_file(launch_file);
  const auto program = machine::Program::load(read_text_file(module), module.filename().string());
  machine::GlobalMemory memory;
  std::vector<std::uint64_t> addresses;
  for (const LaunchFile::Buffer& buffer : file.buffers) {
    addresses.push_back(memory.allocate(buffer.bytes, buffer.name));
    std::vector<std::byte> bytes(buffer.bytes, buffer.fill.value_or(std::byte{0}));
    if (buffer.random) RandomStream(*buffer.random).next(bytes);
    memory.write(addresses.back(), bytes);
    memory.set_read_only(addresses.back(), buffer.read_only);
  }
  EXPECT_EQ(file.launches.size(), 1U);
  const LaunchFile::Launch& one = file.launches.front();
  machine::Launch launch{.entry = program.entries().front(),
                         .grid = one.grid,
                         .block = one.block,
                         .dynamic_shared_bytes = one.shared,
                         .parameters = {}};
  const auto slots = program.parameters(launch.entry);
  launch.parameters.resize(slots.back().offset + slots.back().bytes);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const LaunchFile::Argument& argument = one.arguments.at(i);
    const std::uint64_t address = argument.buffer ? addresses[*argument.buffer] : 0;
    const void* from = argument.buffer ? static_cast<const void*>(&address) : argument.bytes.data();
    std::memcpy(launch.parameters.data() + slots[i].offset, from, slots[i].bytes);
  }
  machine::Options options;
  options.hazards.taint = true;
  const machine::Outcome outcome = machine::run(program, launch, memory, options);
  EXPECT_FALSE(outcome.fault) << outcome.fault->message;
  return outcome.taint;
}

/// "LABEL SINK@" and the source line, of all that a certificate would not admit.
std::vector<std::pair<std::string, std::string>> reaches_of(const machine::hazard::Taint& taint) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& reach : taint.reaches) {
    if (reach.own_wait_loop || reach.only_unwritten) continue;
    result.emplace_back(fmt::format("{} {}@", machine::hazard::name(reach.label),
                                    machine::hazard::name(reach.sink)),
                        source_line(reach.site.file, reach.site.line));
  }
  for (const auto& atomic : taint.atomics) {
    if (atomic.commutes) continue;
    result.emplace_back("schedule atomic@", source_line(atomic.site.file, atomic.site.line));
  }
  return result;
}

/// Empty: of the labels that `expected` names, what it says is reached and nothing else.
std::string compare_taint(const std::vector<std::string>& expected,
                          const std::set<std::string>& labels,
                          const machine::hazard::Taint& taint) {
  const auto reaches = reaches_of(taint);
  const auto is_at = [](const std::string& text, const auto& reach) {
    const std::size_t at = text.find('@') + 1;
    return text.substr(0, at) == reach.first && reach.second.ends_with("// @" + text.substr(at));
  };
  std::string result;
  for (const std::string& text : expected) {
    if (std::ranges::none_of(reaches, [&](const auto& r) { return is_at(text, r); })) {
      result += "  missed: " + text + "\n";
    }
  }
  for (const auto& reach : reaches) {
    if (!labels.contains(reach.first.substr(0, reach.first.find(' ')))) continue;
    if (std::ranges::none_of(expected, [&](const auto& text) { return is_at(text, reach); })) {
      result += fmt::format("  not expected: {} {}\n", reach.first, reach.second);
    }
  }
  return result;
}

TEST(HazardKernels, DataAndTheScheduleReachThePlantedSinks) {
  const std::map<std::string, HazardKernel> kernels = read_expectations();
  std::set<std::string> sinks;
  for (const auto& [name, kernel] : kernels) {
    if (kernel.taint.empty() || name.ends_with(".right")) continue;
    std::set<std::string> labels;
    for (const std::string& text : kernel.taint) {
      labels.insert(text.substr(0, text.find(' ')));
      sinks.insert(text.substr(0, text.find('@')));
    }
    const std::filesystem::path launch = kFolder / (name + ".json");
    EXPECT_EQ(compare_taint(kernel.taint, labels, taint_of(launch, kFolder / (name + ".ptx"))), "")
        << name;
    const std::filesystem::path right = kFolder / (name + ".right.ptx");
    if (!std::filesystem::exists(right)) continue;
    const auto own = kernels.find(name + ".right");
    EXPECT_EQ(compare_taint(own != kernels.end() ? own->second.taint : std::vector<std::string>(),
                            labels, taint_of(launch, right)),
              "")
        << name << ".right";
  }
  EXPECT_EQ(sinks.size(), 13U) << "every sink that a certificate asks about has a kernel";
}

TEST(HazardKernels, EachSourceIsExpectedOf) {
  const std::map<std::string, HazardKernel> kernels = read_expectations();
  std::set<std::string> sources;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".cu") sources.insert(entry.path().stem());
  }
  for (const std::string& source : sources) EXPECT_TRUE(kernels.contains(source)) << source;
  for (const auto& [name, kernel] : kernels) {
    const std::string source = name.ends_with(".right") ? name.substr(0, name.size() - 6) : name;
    EXPECT_TRUE(sources.contains(source)) << name;
  }
}

}  // namespace
}  // namespace bitgate::suite
