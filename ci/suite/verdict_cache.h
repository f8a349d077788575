#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "ci/suite/devices.h"
#include "conformance/check/verdict.h"
#include "conformance/problem/spec.h"

namespace bitgate::suite {

/// Passes of earlier runs, by everything a verdict depends on: the kernel's code hash, the spec,
/// the contents of its checkpoint, the device, the tensor model, and the sources that judge
/// (judge_hash.h). Only passes are kept: what failed is judged again.
///
/// A file a verdict, named by the hash of its key. One that cannot be read, or whose key is not the
/// one asked for, is as if it were not there.
class VerdictCache {
 public:
  /// Made when the first verdict is kept.
  explicit VerdictCache(std::filesystem::path folder);

  std::string key(const std::string& code_hash, const conformance::Spec& spec,
                  const std::string& kernel, const DeviceKind& device);
  std::optional<conformance::CaseResult> find(const std::string& key) const;
  /// Quietly nothing when the folder cannot be written: the next run judges again.
  void keep(const std::string& key, const conformance::CaseResult& result) const;

 private:
  const std::string& contents_of(const std::string& checkpoint);

  std::filesystem::path folder_;
  std::map<std::string, std::string> checkpoints_;  ///< folder → hash of its files
};

}  // namespace bitgate::suite
