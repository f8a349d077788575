#pragma once

#include "conformance/check/verdict.h"
#include "conformance/problem/spec.h"
#include "kernels/device/device.h"
#include "kernels/w4a16/w4a16.h"

namespace bitgate::conformance {

struct CaseOptions {
  kernels::LaunchOptions launch;
  kernels::w4a16::Adapter adapter;      ///< tests plant defects here
  const kernels::Code* code = nullptr;  ///< in place of the kernel's own (--ptx)
  bool rerun = true;                    ///< launch twice and compare
  bool diagnose = true;
  bool strict_model = false;  ///< a difference from a published tensor model fails
  std::vector<std::uint16_t>* save_output = nullptr;  ///< the kernel's bits [m][n], if wanted
};

/// One case through the house: problem → launch → output → checks → verdict. Never throws for what
/// the kernel does; InputError for a bad spec (unreadable checkpoint), std::bad_alloc when memory
/// runs out, DeviceLost when the device no longer answers. Outside the kernel's domain:
/// `unsupported`.
CaseResult run_case(const Spec& spec, const kernels::Kernel& kernel, kernels::Device& device,
                    const CaseOptions& options = {});

/// `bitgate run 'SPEC' --kernel NAME --device KIND`
std::string replay_command(const Spec& spec, std::string_view kernel, std::string_view device);

}  // namespace bitgate::conformance
