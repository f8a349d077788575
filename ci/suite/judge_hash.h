#pragma once

#include <string_view>

namespace bitgate::suite {

/// SHA-256 over the sources that a verdict depends on besides the kernel's own code: reference/,
/// conformance/, the host side of kernels/, and the compiler with its flags. Made by the build
/// (judge_hash.cmake), so that a verdict is never taken from a cache that another judge filled.
std::string_view judge_hash();

}  // namespace bitgate::suite
