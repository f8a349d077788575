#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/kernel_domain.h"

namespace bitgate::fuzz {

/// A named property of a case that a defect may hide in: `tail_n`, `k_above_pipeline`,
/// `order_skewed`.
///
/// To add one: a row in classes.cpp with its name, when it holds, and an example of it. A kernel
/// *admits* a class when the example lies in the kernel's domain; the gate runs the examples, and a
/// class admitted and never hit is `untrusted`.
struct CaseClass {
  std::string_view name;
  bool (*holds)(const Kernel& kernel, const Spec& spec);
  /// Turns the kernel's plain case into one of this class.
  void (*example)(const Kernel& kernel, Spec& spec);
  /// A class of cases that compute nothing. Such a case belongs to no other class: M = 0 with a
  /// skewed order has shown nothing of skewed orders.
  bool empty = false;
};

std::span<const CaseClass> case_classes();

/// The classes that a case of a kernel belongs to, in table order.
std::vector<std::string_view> classes_of(const Kernel& kernel, const Spec& spec);

/// The classes that the kernel's domain leaves room for.
std::vector<std::string_view> admitted_classes(const Kernel& kernel);

/// A short fixed list of cases that hits every admitted class.
std::vector<Spec> edge_cases(const Kernel& kernel);

/// Counts what was hit, for each kernel.
class ClassCount {
 public:
  void add(const Kernel& kernel, const Spec& spec);
  /// Over all kernels, by name.
  std::map<std::string, std::uint64_t> total() const;
  std::uint64_t of(const Kernel& kernel, std::string_view name) const;
  /// Admitted by the kernel and never hit, in table order.
  std::vector<std::string_view> missed(const Kernel& kernel) const;

 private:
  std::map<std::string, std::map<std::string, std::uint64_t, std::less<>>, std::less<>> hits_;
};

}  // namespace bitgate::fuzz
