// Whole-warp integer reductions, by all lanes and by the lanes of one side of a branch.

extern "C" __global__ void redux(const unsigned* x, unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned a = x[t];
  unsigned* o = out + t * 9;
  o[0] = __reduce_add_sync(0xffffffffu, a);
  o[1] = __reduce_min_sync(0xffffffffu, a);
  o[2] = __reduce_max_sync(0xffffffffu, a);
  o[3] = __reduce_and_sync(0xffffffffu, a | 0x0f0f);
  o[4] = __reduce_or_sync(0xffffffffu, a & 0x1111);
  o[5] = __reduce_xor_sync(0xffffffffu, a);
  o[6] = static_cast<unsigned>(__reduce_min_sync(0xffffffffu, static_cast<int>(a)));
  o[7] = static_cast<unsigned>(__reduce_max_sync(0xffffffffu, static_cast<int>(a)));
  if (t % 4 == 1) {
    o[8] = __reduce_add_sync(0x22222222u, a);
  } else {
    o[8] = __reduce_xor_sync(0xddddddddu, a);
  }
}
