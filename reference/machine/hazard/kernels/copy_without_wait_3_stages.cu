#define STAGES 3
#define PENDING STAGES
#define KERNEL copy_without_wait_3_stages
#include "reference/machine/hazard/kernels/copy_pipeline.cuh"
