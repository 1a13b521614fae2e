// CONSORT-S-23: a worker whose popped task failed before its start leaves tasks to a slow one, and that one to it
#include "in_flight.h"

// Higher classes are faster. A fast worker with a task in flight leaves what comes to an idle slow one. A slow worker
// leaves it to a fast one with less than four tasks, which ends it sooner.
static int leaves(Policy *p, uint32_t worker, const consort_task *t) {
  const uint32_t *in_flight = flights(p)->of, klass = p->topology->workers[worker].klass;
  for (uint32_t w = 0; w < p->topology->nworkers; ++w) {
    const uint32_t other = p->topology->workers[w].klass;
    if (!p->serving[w] || !(t->where >> other & 1)) continue;
    if (other > klass && in_flight[w] < 4) return 1;
    if (other < klass && in_flight[w] == 0 && in_flight[worker]) return 1;
  }
  return 0;
}
