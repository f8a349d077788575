#define STAGES 2
#define PENDING (STAGES - 1)  // one more than may be
#define KERNEL copy_wait_off_by_one_2_stages
#include "reference/machine/hazard/kernels/copy_pipeline.cuh"
