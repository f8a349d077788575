// A state machine by a switch, selects on all widths, and doubles compared with NaN.
#include "reference/machine/corpus/clang/device.h"

extern "C" __global__ void switch_and_select(const unsigned char* x, unsigned short* out, double* d) {
  const int t = index();
  int state = 0;
  unsigned short tokens = 0;
  for (int i = 0; i < 24; ++i) {
    const unsigned char c = x[t * 24 + i] & 7;
    switch (state * 8 + c) {
      case 0: case 1: state = 1; break;
      case 2: state = 2; ++tokens; break;
      case 3: case 9: state = 3; break;
      case 8: state = 1; tokens += 2; break;
      case 10: case 11: case 12: state = 0; tokens += 16; break;
      case 16: state = 3; break;
      case 17: case 18: state = 0; tokens ^= 5; break;
      case 24: case 25: case 26: state = 2; break;
      case 31: state = 0; tokens += 256; break;
      default: tokens += state; break;
    }
  }
  out[t] = tokens;
  const double a = d[2 * t], b = d[2 * t + 1];
  double r = a < b ? a : b;
  r = a == a ? r : 1.0;
  r = !(a >= b) ? r + 1.0 : r;
  d[2 * t] = __builtin_copysign(r, b);
  d[2 * t + 1] = __builtin_fmin(a, __builtin_trunc(b));
}
