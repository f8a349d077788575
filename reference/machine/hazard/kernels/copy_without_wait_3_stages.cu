#define STAGES 3
#define PENDING STAGES
#define KERNEL copy_without_wait_3_stages
#include "copy_pipeline.cuh"
