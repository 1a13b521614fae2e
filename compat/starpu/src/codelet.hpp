// codelet.hpp — a codelet of StarPU as one or more codelets of Consort.
//
// StarPU's codelets are structs that the program may change between two submissions. What was registered is found again by the
// content that matters: the functions, the kinds of units, the restriction to some workers.
#pragma once
#include <starpu.h>

#include <vector>

#include "instance.hpp"

namespace starpu_layer {

// Which workers may run which implementation: bit i of a worker's entry stands for implementation i. Empty: all may.
using Permits = std::vector<uint8_t>;

struct Variant {
  const starpu_codelet *of = nullptr;
  uint32_t where = 0;
  starpu_cpu_func_t funcs[STARPU_MAXIMPLEMENTATIONS] = {};
  starpu_codelet_type type = STARPU_SEQ;
  int max_parallelism = 0;
  const char *name = nullptr;
  const starpu_perfmodel *model = nullptr;
  Permits permits;
  consort_codelet_id id{0};  // null: it runs nowhere, and only its data are ordered
  Variant *next = nullptr;   // of the same codelet
};

// The registered codelet for a task; null where no worker can run it (*error: -ENODEV).
const Variant *variant_for(starpu_task *task, int *error);
// A codelet that initialises (one buffer) or combines (two) data, called without a task.
consort_codelet_id plain_codelet(const starpu_codelet *cl);
// The implementations of a codelet for cores; those of StarPU 1.0's single field included.
unsigned cpu_functions(const starpu_codelet *cl, starpu_cpu_func_t *out);
// Whether this worker may run this implementation of the task, by all that task and codelet say.
bool may_run(starpu_task *task, unsigned worker, unsigned impl);
// Forgets all that was registered: the runtime has stopped.
void forget_codelets();

}  // namespace starpu_layer
