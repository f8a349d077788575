#define STAGES 4
#define PENDING STAGES
#define KERNEL copy_without_wait_4_stages
#include "reference/machine/hazard/kernels/copy_pipeline.cuh"
