// bundle.hpp — bundles, which are Consort's.
#pragma once
#include <consort/consort.h>
#include <starpu.h>

namespace starpu_layer {

consort_bundle_id bundle_id(starpu_task_bundle_t bundle);
// One of its tasks has been submitted.
void bundle_submitted(starpu_task_bundle_t bundle);

}  // namespace starpu_layer
