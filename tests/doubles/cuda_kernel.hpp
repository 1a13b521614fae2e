// A kernel with its launch, from the forms in which the header has them; launches beyond the device's limits are
// refused.
#pragma once
#include "cuda_front.hpp"

namespace gpu {

Kernel kernel_of(const std::shared_ptr<Context> &context, CUfunction function, const consort_double_launch &launch,
                 void **params, void **extra);
std::shared_ptr<Function> function_of(CUfunction function);
Copy copy_of(const CUDA_MEMCPY3D &box);

}  // namespace gpu
