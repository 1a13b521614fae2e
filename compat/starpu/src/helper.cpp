// The environment, the clock, and functions that run on workers.
#include <cstdlib>
#include <cstring>

#include "codelet.hpp"
#include "instance.hpp"

namespace starpu_layer {
namespace {

struct Called {
  void (*func)(void *);
  void *arg;
  uint32_t where;
};

consort_status call_here(const consort_call *call) {
  const auto *c = static_cast<const Called *>(call->user);
  if (c->where & instance.workers[call->worker].mask) c->func(c->arg);
  return CONSORT_OK;
}

void call_func(void **, void *arg) {
  const auto *c = static_cast<const Called *>(arg);
  c->func(c->arg);
}

}  // namespace
}  // namespace starpu_layer

using namespace starpu_layer;

char *starpu_getenv(const char *str) { return std::getenv(str); }

int starpu_get_env_string_var_default(const char *str, const char *strings[], int defvalue) {
  const char *text = std::getenv(str);
  if (!text) return defvalue;
  for (int i = 0; strings[i]; ++i)
    if (!strcasecmp(text, strings[i])) return i;
  STARPU_ABORT_MSG("%s has no such value: %s", str, text);
}

int starpu_get_env_size_default(const char *str, int defval) {
  const char *text = std::getenv(str);
  if (!text || !*text) return defval;
  char *end;
  long value = std::strtol(text, &end, 10);
  switch (*end) {
    case 'b': case 'B': break;
    case '\0': case 'k': case 'K': value <<= 10; break;
    case 'm': case 'M': value <<= 20; break;
    case 'g': case 'G': value <<= 30; break;
    default: STARPU_ABORT_MSG("%s must be a size: %s", str, text);
  }
  return static_cast<int>(value);
}

double starpu_timing_now(void) { return static_cast<double>(now_ns()) * 1e-3; }

void starpu_execute_on_each_worker(void (*func)(void *), void *arg, uint32_t where) {
  starpu_execute_on_each_worker_ex(func, arg, where, "execute_on_each_worker");
}

void starpu_execute_on_each_worker_ex(void (*func)(void *), void *arg, uint32_t where, const char *) {
  Called called{func, arg, where};
  must(consort_run_on_each(instance.rt, nullptr, call_here, &called), "starpu_execute_on_each_worker");
}

void starpu_execute_on_specific_workers(void (*func)(void *), void *arg, unsigned num_workers, unsigned *workers,
                                        const char *name) {
  static starpu_codelet codelet = [] {
    starpu_codelet cl;
    starpu_codelet_init(&cl);
    cl.cpu_funcs[0] = call_func;
    cl.name = "execute_on_specific_workers";
    return cl;
  }();
  Called called{func, arg, 0};
  std::vector<starpu_task *> tasks;
  for (unsigned i = 0; i < num_workers; ++i) {
    starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &called;
    task->name = name;
    task->detach = 0;
    task->execute_on_a_specific_worker = 1;
    task->workerid = workers[i];
    STARPU_CHECK_RETURN_VALUE(starpu_task_submit(task), "starpu_execute_on_specific_workers");
    tasks.push_back(task);
  }
  STARPU_CHECK_RETURN_VALUE(starpu_task_wait_array(tasks.data(), num_workers), "starpu_execute_on_specific_workers");
}
