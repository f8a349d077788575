// A three-dimensional grid of three-dimensional blocks, with every index and extent read.

extern "C" __global__ void grid_3d(unsigned* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  unsigned lane, total;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%ntid.z;" : "=r"(total));
  out[(z * ny + y) * nx + x] = lane + 100 * threadIdx.z + 1000 * blockIdx.z + 10000 * gridDim.y +
                               100000 * gridDim.z + 1000000 * total;
}
