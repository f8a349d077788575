#include "conformance/problem/fill.h"
#include "reference/support/error.h"

namespace bitgate::conformance {

void fill_checkpoint(Problem&) { throw Unsupported("fill=checkpoint"); }

}  // namespace bitgate::conformance
