#include "ci/suite/exec_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "ci/suite/launch_file.h"
#include "conformance/report/hazards.h"
#include "reference/machine/ptx/lint.h"
#include "reference/machine/ptx/parser.h"
#include "reference/machine/ptx/types.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {

namespace {

namespace ptx = machine::ptx;
using Json = nlohmann::ordered_json;
using Status = kernels::LaunchOutcome::Status;

constexpr std::byte kPoison{0xff};
constexpr std::uint64_t kMostPoisoned = std::uint64_t{64} << 20;
constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
constexpr std::uint64_t kPointerBytes = 8;

const ptx::Function& entry_of(const ptx::Module& module, const LaunchFile::Launch& launch,
                              const std::string& place) {
  const ptx::Function* found = nullptr;
  std::string names;
  std::size_t count = 0;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    ++count;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", function.name);
    if (!launch.entry || *launch.entry == function.name) found = &function;
  }
  if (found == nullptr) {
    throw InputError(fmt::format("{}.entry: expected one of {}, found '{}'", place,
                                 count == 0 ? "no entries at all" : names,
                                 launch.entry.value_or("none")));
  }
  if (!launch.entry && count > 1) {
    throw InputError(fmt::format("{}: expected \"entry\", one of {}", place, names));
  }
  return *found;
}

void check_arguments(const ptx::Function& entry, const LaunchFile::Launch& launch,
                     const std::string& place) {
  if (launch.arguments.size() != entry.parameters.size()) {
    throw InputError(fmt::format("{}.args: expected {} arguments for '{}', found {}", place,
                                 entry.parameters.size(), entry.name, launch.arguments.size()));
  }
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const LaunchFile::Argument& argument = launch.arguments[i];
    const std::uint64_t want = ptx::variable_bytes(entry.parameters[i]);
    const std::uint64_t have = argument.kind == "ptr" ? kPointerBytes : argument.bytes.size();
    if (want == have) continue;
    throw InputError(fmt::format(
        "{}.args[{}]: expected {} bytes for parameter '{}' (.{}), found {} bytes of "
        "\"{}\"",
        place, i, want, entry.parameters[i].name, entry.parameters[i].type, have, argument.kind));
  }
}

/// The launch file's buffers on a device, released at the end.
class Buffers {
 public:
  Buffers(kernels::Device& device, const std::vector<LaunchFile::Buffer>& list)
      : device_(device), list_(list) {
    addresses_.reserve(list.size());
    try {
      for (const LaunchFile::Buffer& buffer : list) {
        addresses_.push_back(device.allocate(buffer.bytes, buffer.name, 0, 0, buffer.read_only));
        initialise(buffer, addresses_.back());
        if (!buffer.file && !buffer.fill && !buffer.random) {
          device.mark_undefined(addresses_.back(), buffer.bytes);
        }
        if (buffer.output) device.mark_output(addresses_.back());
      }
    } catch (const std::bad_alloc&) {
      release();
      throw Unsupported(fmt::format("the device has no room for buffer '{}' of {} bytes",
                                    list[addresses_.size()].name, list[addresses_.size()].bytes));
    } catch (...) {
      release();
      throw;
    }
  }
  ~Buffers() { release(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::uint64_t address(std::size_t i) const { return addresses_[i]; }

  std::vector<std::byte> download(std::size_t i) {
    std::vector<std::byte> bytes(list_[i].bytes);
    device_.read(addresses_[i], bytes);
    return bytes;
  }

 private:
  void release() {
    for (const std::uint64_t address : addresses_) device_.release(address);
    addresses_.clear();
  }

  void initialise(const LaunchFile::Buffer& buffer, std::uint64_t address) {
    if (buffer.file) {
      upload(*buffer.file, buffer.bytes, address);
      return;
    }
    if (buffer.random) {
      generate(*buffer.random, buffer.bytes, address);
      return;
    }
    if (!buffer.fill && buffer.bytes > kMostPoisoned) return;
    const std::byte value = buffer.fill.value_or(kPoison);
    // The machine's memory starts as zero bytes.
    if (value == std::byte{0} && device_.properties().kind == "machine") return;
    const std::vector<std::byte> chunk(std::min(buffer.bytes, kChunk), value);
    for (std::uint64_t at = 0; at < buffer.bytes; at += kChunk) {
      device_.write(address + at, std::span(chunk).first(std::min(kChunk, buffer.bytes - at)));
    }
  }

  void upload(const std::filesystem::path& path, std::uint64_t bytes, std::uint64_t address) {
    std::ifstream in(path, std::ios::binary);
    std::vector<std::byte> chunk(std::min(bytes, kChunk));
    for (std::uint64_t at = 0; at < bytes; at += kChunk) {
      const auto part = std::span(chunk).first(std::min(kChunk, bytes - at));
      if (!in.read(reinterpret_cast<char*>(part.data()),
                   static_cast<std::streamsize>(part.size()))) {
        throw InputError(fmt::format("{}: reading stopped before {} bytes", path.string(), bytes));
      }
      device_.write(address + at, part);
    }
  }

  void generate(const RandomContents& contents, std::uint64_t bytes, std::uint64_t address) {
    RandomStream stream(contents);
    std::vector<std::byte> chunk(std::min(bytes, kChunk));
    for (std::uint64_t at = 0; at < bytes; at += kChunk) {
      const auto part = std::span(chunk).first(std::min(kChunk, bytes - at));
      stream.next(part);
      device_.write(address + at, part);
    }
  }

  kernels::Device& device_;
  const std::vector<LaunchFile::Buffer>& list_;
  std::vector<std::uint64_t> addresses_;
};

kernels::Launch device_launch(const LaunchFile::Launch& launch, const std::string& entry,
                              const Buffers& buffers) {
  kernels::Launch ready;
  ready.entry = entry;
  ready.grid = launch.grid;
  ready.block = launch.block;
  ready.dynamic_shared_bytes = launch.shared;
  for (const LaunchFile::Argument& argument : launch.arguments) {
    if (argument.kind != "ptr") {
      ready.arguments.push_back(argument.bytes);
      continue;
    }
    const std::uint64_t address =
        argument.buffer ? buffers.address(*argument.buffer) + argument.offset : 0;
    std::vector<std::byte> bytes(kPointerBytes);
    for (std::size_t i = 0; i < kPointerBytes; ++i)
      bytes[i] = static_cast<std::byte>(address >> (8 * i));
    ready.arguments.push_back(std::move(bytes));
  }
  return ready;
}

Json unsupported_of(const kernels::LaunchOutcome& outcome) {
  Json unsupported;
  const machine::Site site = outcome.fault ? outcome.fault->site : machine::Site{};
  unsupported["instruction"] = site.instruction;
  unsupported["file"] = site.file;
  unsupported["line"] = site.line;
  unsupported["ptx_line"] = site.ptx_line;
  unsupported["reason"] = outcome.message;
  return unsupported;
}

/// Runs the launches and keeps what is to be reported.
class Exec {
 public:
  Exec(const std::filesystem::path& path, kernels::Device& device, const ExecOptions& options)
      : path_(path), device_(device), options_(options), file_(read_launch_file(path)) {
    const std::filesystem::path module_path = options.ptx.value_or(file_.module);
    text_ = read_text_file(module_path);
    module_ = ptx::parse(text_, module_path.string());
    code_.name = module_path.filename().string();
    code_.ptx = text_;
    for (std::size_t i = 0; i < file_.launches.size(); ++i) {
      const std::string place = fmt::format("{}: launches[{}]", path.string(), i);
      const ptx::Function& entry = entry_of(module_, file_.launches[i], place);
      check_arguments(entry, file_.launches[i], place);
      entries_.push_back(entry.name);
    }
    if (options.out_folder) prepare_out_folder();
  }

  ExecResult run() {
    Buffers buffers(device_, file_.buffers);
    bool readable = true;
    try {
      for (std::size_t i = 0; i < file_.launches.size() && !ended_; ++i) {
        launch(i, buffers);
      }
    } catch (const kernels::DeviceLost& lost) {
      give_up(lost.what());
    }
    if (!ended_ && options_.launch.hazards.validity) check_outputs();
    Json outputs = Json::object();
    try {
      for (std::size_t i = 0; i < file_.buffers.size(); ++i) {
        if (file_.buffers[i].output) outputs[file_.buffers[i].name] = output(buffers, i);
      }
    } catch (const kernels::DeviceLost& lost) {
      readable = false;
      if (verdict_ == "pass") give_up(lost.what());
    }
    return result(readable ? std::move(outputs) : Json::object());
  }

 private:
  void prepare_out_folder() const {
    std::error_code error;
    std::filesystem::create_directories(*options_.out_folder, error);
    if (error || !std::filesystem::is_directory(*options_.out_folder)) {
      throw InputError(fmt::format("{}: expected a folder that can be written: {}",
                                   options_.out_folder->string(),
                                   error ? error.message() : "something else is there"));
    }
    // Found before anything runs: a launch may take long.
    const std::filesystem::path trial = *options_.out_folder / ".bitgate-trial";
    write_file(trial, std::string_view());
    std::filesystem::remove(trial, error);
  }

  void launch(std::size_t i, const Buffers& buffers) {
    const kernels::LaunchOutcome outcome = device_.launch(
        code_, device_launch(file_.launches[i], entries_[i], buffers), options_.launch);
    printed_ += outcome.printed;
    for (const machine::hazard::Report& report : outcome.hazards) hazards_.add(report);
    hazard_bytes_ = std::max(hazard_bytes_, outcome.hazard_bytes);
    const auto fail = [&] {
      ended_ = true;
      verdict_ = "fail";
      message_ = fmt::format("launches[{}] ({}): {}", i, entries_[i], outcome.message);
    };
    switch (outcome.status) {
      case Status::completed:
        if (outcome.hazards.empty()) break;
        verdict_ = "fail";
        message_ = fmt::format("launches[{}] ({}): it ran to its end with {} hazards", i,
                               entries_[i], outcome.hazards.size());
        break;
      case Status::fault:
      case Status::timeout:
        fail();
        break;
      case Status::unsupported:
        ended_ = true;
        if (verdict_ == "pass") verdict_ = "unsupported";
        message_ = fmt::format("launches[{}] ({}): {}", i, entries_[i], outcome.message);
        unsupported_ = unsupported_of(outcome);
        break;
      case Status::refused:
        // Only the first is found before anything ran; a later one is a launch that failed.
        if (i == 0) {
          throw InputError(fmt::format("{}: launches[0]: {}", path_.string(), outcome.message));
        }
        fail();
        break;
      case Status::lost:
        give_up(outcome.message);
        break;
    }
  }

  /// All of an output has to be written by now.
  void check_outputs() {
    const auto found = device_.undefined_outputs();
    if (found.empty()) return;
    for (const machine::hazard::Report& report : found) hazards_.add(report);
    verdict_ = "fail";
    if (message_.empty()) message_ = "outputs hold uninitialised data after the last launch";
  }

  void give_up(std::string_view why) {
    ended_ = true;
    if (verdict_ == "pass") verdict_ = "untrusted";
    message_ = fmt::format("ended early: {}", why);
  }

  Json output(Buffers& buffers, std::size_t i) const {
    const std::vector<std::byte> bytes = buffers.download(i);
    if (options_.out_folder) {
      write_file(*options_.out_folder / (file_.buffers[i].name + ".bin"), bytes);
    }
    if (options_.save_outputs != nullptr) (*options_.save_outputs)[file_.buffers[i].name] = bytes;
    return {{"bytes", bytes.size()}, {"sha256", sha256(bytes)}};
  }

  ExecResult result(Json outputs) const {
    std::uint32_t contractible = 0;
    std::uint32_t approximate = 0;
    std::vector<std::string> entries = entries_;
    std::ranges::sort(entries);
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    for (const std::string& entry : entries) {
      const ptx::LintCounts counts = ptx::lint_counts(module_, entry);
      contractible += counts.contractible;
      approximate += counts.approximate;
    }
    ExecResult result;
    result.document["schema"] = "bitgate.exec/1";
    result.document["device"] = device_.properties().kind;
    result.document["verdict"] = verdict_;
    result.text =
        fmt::format("{}: {} on {}\n", path_.string(), verdict_, device_.properties().description);
    if (!message_.empty()) {
      result.document["message"] = message_;
      result.text += fmt::format("  {}\n", message_);
    }
    for (const auto& [name, output] : outputs.items()) {
      result.text +=
          fmt::format("  {}: {} bytes, sha256 {}\n", name, output.at("bytes").get<std::uint64_t>(),
                      output.at("sha256").get<std::string>());
    }
    result.document["outputs"] = std::move(outputs);
    const std::vector<machine::hazard::Report>& hazards = hazards_.all();
    for (const machine::hazard::Report& report : hazards) {
      result.text += conformance::hazard_text(report, "  ");
    }
    result.document["hazards"] = conformance::hazards_json(hazards);
    if (options_.launch.hazards.any()) result.document["hazard_bytes"] = hazard_bytes_;
    result.document["contractible"] = contractible;
    result.document["approximate"] = approximate;
    result.document["unsupported"] = unsupported_;
    if (!printed_.empty()) result.document["printed"] = printed_;
    result.printed = printed_;
    result.exit_code = verdict_ == "pass" ? 0 : verdict_ == "fail" ? 1 : 3;
    return result;
  }

  const std::filesystem::path& path_;
  kernels::Device& device_;
  const ExecOptions& options_;
  LaunchFile file_;
  std::string text_;
  ptx::Module module_;
  kernels::Code code_;
  std::vector<std::string> entries_;
  std::string verdict_ = "pass";
  bool ended_ = false;  ///< by a launch that did not complete; hazards alone end nothing
  std::string message_;
  std::string printed_;
  machine::hazard::ReportList hazards_;  ///< of all launches, equal ones merged
  std::uint64_t hazard_bytes_ = 0;
  Json unsupported_ = nullptr;
};

}  // namespace

ExecResult exec_launch_file(const std::filesystem::path& path, kernels::Device& device,
                            const ExecOptions& options) {
  return Exec(path, device, options).run();
}

}  // namespace bitgate::suite
