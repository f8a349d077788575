#pragma once

#include <stdexcept>
#include <string>

namespace bitgate {

/// Bad usage or bad input, found before anything runs (exit code 2). The message says what was
/// expected, what was found, where, and what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something that was asked for by name and that bitgate does not do, with the reason (exit code
/// 3).
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace bitgate
