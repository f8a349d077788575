#include "conformance/check/verdict.h"

namespace bitgate::conformance {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::untrusted:
      return "untrusted";
    case Verdict::unsupported:
      return "unsupported";
  }
  return "?";
}

Verdict worse(Verdict a, Verdict b) {
  const auto rank = [](Verdict v) {
    switch (v) {
      case Verdict::pass:
        return 0;
      case Verdict::untrusted:
        return 1;
      case Verdict::unsupported:
        return 2;
      case Verdict::fail:
        break;
    }
    return 3;
  };
  return rank(a) >= rank(b) ? a : b;
}

}  // namespace bitgate::conformance
