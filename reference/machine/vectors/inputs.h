#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

namespace bitgate::machine::vectors {

/// The inputs of a form's threads, made from a seed and never stored: source k of thread i is word
/// k·threads + i, in the low bits of 64. Forms with the same sources draw the same inputs, so that
/// their outputs can be compared and are stored as differences.
///
/// Floats are drawn from: any bits, NaN with payloads, infinities, zeros, subnormals, the ends of
/// the range, small integers and halves, the limits of integer types and of narrower floats, values
/// half-way between two narrower ones, values near one; related to each other (equal, opposite,
/// near in size, a product and its operand) in a third of the vectors. Integers: any bits, small,
/// powers of two and their neighbours, bytes and halves at their ends, equal, opposite, multiples.
std::vector<std::uint64_t> inputs(const Form& form, std::uint64_t seed, std::uint32_t threads);

/// One input of that kind, unrelated to any other.
class Drawer {
 public:
  explicit Drawer(std::uint64_t seed, const std::string& purpose);
  ~Drawer();
  Drawer(const Drawer&) = delete;
  Drawer& operator=(const Drawer&) = delete;
  std::uint64_t draw(Value value);

 private:
  struct Impl;
  Impl* impl_;
};

/// What forms have in common that draw the same inputs.
std::string signature(const Form& form);

}  // namespace bitgate::machine::vectors
