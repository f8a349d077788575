#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace bitgate::suite {

/// The code that kernels run: their own, or a PTX file's in place of it (--ptx).
class CodeSource {
 public:
  /// Every kernel's own.
  CodeSource() = default;
  /// InputError when the file is not PTX or holds no entry that a kernel has.
  explicit CodeSource(const std::filesystem::path& ptx);

  bool replaces() const { return code_ != nullptr; }
  /// The kernels whose entry the file holds; all of them without a file.
  std::vector<const kernels::Kernel*> among(const std::vector<const kernels::Kernel*>& all) const;
  /// For CaseOptions::code: null for a kernel's own.
  const kernels::Code* code() const { return code_.get(); }
  const std::string& hash_of(const kernels::Kernel& kernel) const;
  /// " --ptx FILE" for replay lines; empty without a file.
  std::string replay_flag() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const kernels::Code> code_;
  std::map<std::string, std::string, std::less<>> hashes_;  ///< by entry
};

}  // namespace bitgate::suite
