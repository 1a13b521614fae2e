// tags.hpp — tags, which are Consort's, and the tasks that carry them.
#pragma once
#include <starpu.h>

namespace starpu_layer {

// Called before a task that carries the tag is submitted: a tag that was reached before is armed again.
void prepare_tag(starpu_tag_t tag, starpu_task *task);
void forget_tags();

}  // namespace starpu_layer
