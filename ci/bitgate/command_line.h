#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace bitgate::command_line {

enum ExitCode : int {
  kProven = 0,     ///< everything asked was proven
  kFailed = 1,     ///< a kernel failed
  kBadInput = 2,   ///< bad usage or input, found before anything ran
  kNoVerdict = 3,  ///< nothing ran, no such device, untrusted, unsupported
};

/// The whole program: documents and tables go to `out`, everything else to `err`. `arguments` are
/// without the program's name. Never throws.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

/// The same on the standard streams, with SIGINT ending a run early.
int run(int argc, char** argv);

}  // namespace bitgate::command_line
