// A dense switch (brx.idx): an interpreter of a small byte code.

extern "C" __global__ void switch_table(const unsigned char* code, unsigned* out, int length) {
  const unsigned t = threadIdx.x;
  unsigned a = t, b = 1, steps = 0;
  for (int pc = 0; pc < length && steps < 200; ++steps) {
    const unsigned char op = code[(pc + t * 5) % length];
    switch (op % 12) {
      case 0: a += b; break;
      case 1: a -= b * 3; break;
      case 2: a *= b | 1; break;
      case 3: a ^= b << 5; break;
      case 4: b = a >> 3; break;
      case 5: b += op; break;
      case 6: a = __brev(a); break;
      case 7: b = __popc(a); break;
      case 8: pc += a & 3; break;
      case 9: a = b; break;
      case 10: b ^= 0x55aa; break;
      case 11: a = (a << 7) | (a >> 25); break;
    }
    ++pc;
  }
  out[3 * t] = a;
  out[3 * t + 1] = b;
  out[3 * t + 2] = steps;
}
