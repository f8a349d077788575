// Shuffles, votes, matches and lane masks by clang's builtins.
#include "reference/machine/corpus/clang/device.h"

extern "C" __global__ void warp_builtins(const int* x, int* out) {
  const int t = index();
  int v = x[t];
  const unsigned all = 0xffffffffu;
  for (int d = 16; d > 0; d /= 2) v += __nvvm_shfl_sync_bfly_i32(all, v, d, 31);
  const float f = __nvvm_shfl_sync_down_f32(all, static_cast<float>(x[t]), 3, 31);
  const int up = __nvvm_shfl_sync_up_i32(all, x[t], 1, 0);
  const int ballot = static_cast<int>(__nvvm_vote_ballot_sync(all, x[t] > 0));
  const unsigned same = __nvvm_match_any_sync_i32(all, x[t] & 3);
  const int any = __nvvm_vote_any_sync(all, x[t] == 5);
  const int least = __nvvm_redux_sync_min(x[t], all);
  int* o = out + 7 * t;
  o[0] = v;
  o[1] = static_cast<int>(f * 2.0f);
  o[2] = up;
  o[3] = ballot;
  o[4] = static_cast<int>(same);
  o[5] = any * 2 + __nvvm_vote_all_sync(all, x[t] < 99);
  o[6] = least + __builtin_popcount(ballot) + __builtin_clz(same);
}
