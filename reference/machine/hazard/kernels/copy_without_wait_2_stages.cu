#define STAGES 2
#define PENDING STAGES  // the groups that are left to be pending: all of them
#define KERNEL copy_without_wait_2_stages
#include "reference/machine/hazard/kernels/copy_pipeline.cuh"
