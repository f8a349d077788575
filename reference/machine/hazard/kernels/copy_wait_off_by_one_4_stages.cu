#define STAGES 4
#define PENDING (STAGES - 1)
#define KERNEL copy_wait_off_by_one_4_stages
#include "reference/machine/hazard/kernels/copy_pipeline.cuh"
