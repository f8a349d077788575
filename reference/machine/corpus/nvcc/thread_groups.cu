// Cooperative groups: tiles of a block, reductions, partitions by a predicate.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void thread_groups(const int* x, int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const int i = block.thread_rank(), v = x[i];
  int sum = v;
  for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
  sum = tile.shfl(sum, 0);
  const unsigned votes = tile.ballot(v > 0);
  int rank = -1;
  if (v & 1) {
    const auto odd = cg::coalesced_threads();
    rank = odd.thread_rank() * 100 + odd.size();
  }
  block.sync();
  out[3 * i] = sum + tile.meta_group_rank();
  out[3 * i + 1] = static_cast<int>(votes);
  out[3 * i + 2] = rank;
}
