// The table of registered codelets, and the functions that workers call.
#include "codelet.hpp"

#include <consort/model.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "job.hpp"
#include "profiling.hpp"

namespace starpu_layer {
namespace {

constexpr int kIndexed = 1 << 14;         // variants that a codelet finds by its own number; further ones are searched
std::atomic<Variant *> indexed[kIndexed];
std::mutex table_lock;                    // all below
std::vector<std::unique_ptr<Variant>> variants;
std::unordered_map<const starpu_codelet *, Variant *> first_of;
std::unordered_map<const starpu_codelet *, consort_codelet_id> plain;

const char *name_of(const starpu_codelet *cl) {
  if (cl->name) return cl->name;
  if (cl->cpu_funcs_name[0]) return cl->cpu_funcs_name[0];
  if (cl->model && cl->model->symbol) return cl->model->symbol;
  return "codelet";
}

void run_function(const consort_call *call, starpu_task *task, unsigned slot, void **buffers) {
  starpu_codelet *cl = task->cl;
  starpu_cpu_func_t funcs[STARPU_MAXIMPLEMENTATIONS];
  cpu_functions(cl, funcs);
  WorkerCounts &counts = instance.counts[call->worker];
  starpu_profiling_task_info *info = profiling_on.load(std::memory_order_relaxed) ? task->profiling_info : nullptr;
  uint64_t begin = 0;
  if (profiling_on.load(std::memory_order_relaxed)) begin = now_ns();
  if (info) {
    stamp(info->pop_end_time);
    info->acquire_data_start_time = info->acquire_data_end_time = info->start_time = info->pop_end_time;
    info->workerid = static_cast<int>(call->worker);
  }
  funcs[slot](buffers, task->cl_arg);
  if (info) {
    stamp(info->end_time);
    info->release_data_start_time = info->release_data_end_time = info->end_time;
  }
  if (begin) counts.busy_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  if (call->rank) return;
  counts.tasks.fetch_add(1, std::memory_order_relaxed);
  if (call->worker < STARPU_NMAXWORKERS) ++cl->per_worker_stats[call->worker];
}

consort_status run_task(const consort_call *call) {
  Job &job = *reinterpret_cast<Job *>(call->args[0].scalar);
  starpu_task *task = job.task;
  const auto slot = static_cast<unsigned>(reinterpret_cast<uintptr_t>(call->user));
  wait_while_paused();
  void **buffers = const_cast<void **>(reinterpret_cast<const void *const *>(call->views));
  void *merged[STARPU_NMAXBUFS];
  std::vector<void *> many;
  if (!job.views.empty()) [[unlikely]] {
    void **out = merged;
    if (job.views.size() > STARPU_NMAXBUFS) {
      many.resize(job.views.size());
      out = many.data();
    }
    for (size_t i = 0; i < job.views.size(); ++i) out[i] = const_cast<void *>(call->views[job.views[i]]);
    buffers = out;
  }
  const size_t n = STARPU_TASK_GET_NBUFFERS(task);
  void **shown = task->dyn_interfaces ? task->dyn_interfaces : n <= STARPU_NMAXBUFS ? task->interfaces : nullptr;
  if (shown && n && !call->rank) std::memcpy(shown, buffers, n * sizeof *buffers);
  const Running before = std::exchange(running, Running{task, slot, call->rank, call->team});
  if (!call->rank) {
    job.implementation = slot;
    if (task->prologue_callback_pop_func) {
      const InCallback in_callback;
      task->prologue_callback_pop_func(task->prologue_callback_pop_arg);
    }
    task->status = STARPU_TASK_RUNNING;
    task->workerid = task->execute_on_a_specific_worker ? task->workerid : call->worker;
  }
  run_function(call, task, slot, buffers);
  running = before;
  if (job.short_run) end_of_short_run(job);
  return CONSORT_OK;
}

consort_status run_plain(const consort_call *call) {
  const auto *cl = static_cast<const starpu_codelet *>(call->user);
  starpu_cpu_func_t funcs[STARPU_MAXIMPLEMENTATIONS];
  cpu_functions(cl, funcs);
  wait_while_paused();
  funcs[0](const_cast<void **>(reinterpret_cast<const void *const *>(call->views)), nullptr);
  return CONSORT_OK;
}

int32_t permitted(void *user, uint32_t worker, uint32_t impl, consort_task_id) {
  const auto *v = static_cast<const Variant *>(user);
  if (worker >= v->permits.size()) return 0;
  // impl counts the functions that there are
  for (unsigned slot = 0; slot < STARPU_MAXIMPLEMENTATIONS; ++slot)
    if (v->funcs[slot] && impl-- == 0) return v->permits[worker] >> slot & 1;
  return 0;
}

void give_model(const Variant &v) {
  if (!v.model || v.model->type == STARPU_PERFMODEL_INVALID || !v.model->symbol) return;
  consort_model model = CONSORT_MODEL_INIT;
  model.name = v.model->symbol;
  if (v.model->type == STARPU_REGRESSION_BASED) model.kind = CONSORT_MODEL_POWER;
  if (v.model->type == STARPU_NL_REGRESSION_BASED) model.kind = CONSORT_MODEL_POWER_OFFSET;
  must(consort_codelet_set_model(instance.rt, v.id, CONSORT_MODEL_TIME, &model), "starpu_task_submit");
}

// Registers what the variant describes.
void enter(Variant &v) {
  consort_impl impls[STARPU_MAXIMPLEMENTATIONS] = {};
  uint32_t n = 0;
  for (unsigned slot = 0; slot < STARPU_MAXIMPLEMENTATIONS; ++slot) {
    if (!v.funcs[slot]) continue;
    impls[n].klass = "cpu";
    impls[n].fn = run_task;
    impls[n++].user = reinterpret_cast<void *>(static_cast<uintptr_t>(slot));
  }
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = name_of(v.of);
  desc.impls = impls;
  desc.nimpls = n;
  if (!v.permits.empty()) {
    desc.can_execute = permitted;
    desc.can_execute_user = &v;
  }
  if (v.type == STARPU_SPMD) desc.flags |= CONSORT_CL_SPMD;
  if (v.type == STARPU_FORKJOIN) desc.flags |= CONSORT_CL_FORKJOIN;
  if (v.type != STARPU_SEQ && v.max_parallelism > 0) desc.max_team = static_cast<uint32_t>(v.max_parallelism);
  must(consort_codelet_add(instance.rt, &desc, &v.id), "starpu_task_submit");
  give_model(v);
}

bool same_content(const Variant &v, const starpu_codelet *cl, const starpu_cpu_func_t *funcs, uint32_t where) {
  return v.of == cl && v.where == where && !std::memcmp(v.funcs, funcs, sizeof v.funcs) && v.type == cl->type &&
         v.max_parallelism == cl->max_parallelism && v.name == cl->name && v.model == cl->model;
}

// What task and codelet permit, worker by worker; false: nothing.
bool permits_of(starpu_task *task, Permits &out) {
  bool any = false;
  out.assign(instance.workers.size(), 0);
  for (unsigned w = 0; w < out.size(); ++w)
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; ++i)
      if (may_run(task, w, i)) {
        out[w] |= static_cast<uint8_t>(1 << i);
        any = true;
      }
  return any;
}

const Variant *known(const starpu_codelet *cl, const starpu_cpu_func_t *funcs, uint32_t where, const Permits &permits) {
  std::lock_guard lock(table_lock);
  const auto first = first_of.find(cl);
  for (Variant *v = first == first_of.end() ? nullptr : first->second; v; v = v->next)
    if (v->permits == permits && same_content(*v, cl, funcs, where)) return v;
  return nullptr;
}

// Two threads may register one content at once: both stay, and either serves.
const Variant *keep(std::unique_ptr<Variant> made, bool restricted) {
  std::lock_guard lock(table_lock);
  Variant *v = made.get();
  Variant *&first = first_of[v->of];
  v->next = first;
  first = v;
  variants.push_back(std::move(made));
  if (const size_t index = variants.size(); !restricted && index < kIndexed) {
    indexed[index].store(v, std::memory_order_release);
    __atomic_store_n(&const_cast<starpu_codelet *>(v->of)->checked, static_cast<int>(index), __ATOMIC_RELAXED);
  }
  return v;
}

}  // namespace

unsigned cpu_functions(const starpu_codelet *cl, starpu_cpu_func_t *out) {
  unsigned n = 0;
  for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; ++i) n += (out[i] = cl->cpu_funcs[i]) != nullptr;
  if (!n && cl->cpu_func && cl->cpu_func != STARPU_MULTIPLE_CPU_IMPLEMENTATIONS) {
    out[0] = cl->cpu_func;
    n = 1;
  }
  return n;
}

bool may_run(starpu_task *task, unsigned worker, unsigned impl) {
  const starpu_codelet *cl = task->cl;
  const WorkerFacts &w = instance.workers[worker];
  starpu_cpu_func_t funcs[STARPU_MAXIMPLEMENTATIONS];
  cpu_functions(cl, funcs);
  if (!funcs[impl] || (cl->where && !(cl->where & w.mask))) return false;
  if (task->where != -1 && !(static_cast<uint32_t>(task->where) & w.mask)) return false;
  if (task->workerids_len && !task->execute_on_a_specific_worker) {
    if (worker / 32 >= task->workerids_len || !(task->workerids[worker / 32] >> worker % 32 & 1)) return false;
  }
  return !cl->can_execute || cl->can_execute(worker, task, impl);
}

const Variant *variant_for(starpu_task *task, int *error) {
  starpu_codelet *cl = task->cl;
  starpu_cpu_func_t funcs[STARPU_MAXIMPLEMENTATIONS];
  const unsigned nfuncs = cpu_functions(cl, funcs);
  uint32_t where = cl->where ? cl->where : nfuncs ? uint32_t{STARPU_CPU} : 0;
  if (task->where != -1) where = cl->where ? where & static_cast<uint32_t>(task->where) : static_cast<uint32_t>(task->where);
  if (task->where == static_cast<int32_t>(STARPU_NOWHERE)) where = STARPU_NOWHERE;
  const bool restricted = cl->can_execute || (task->workerids_len && !task->execute_on_a_specific_worker);
  if (!restricted) {
    const int index = __atomic_load_n(&cl->checked, __ATOMIC_RELAXED);
    if (index > 0 && index < kIndexed) {
      const Variant *v = indexed[index].load(std::memory_order_acquire);
      if (v && same_content(*v, cl, funcs, where)) return v;
    }
  }
  Permits permits;
  if (where != STARPU_NOWHERE) {
    if (!nfuncs || !(where & instance.kinds)) return *error = -ENODEV, nullptr;
    if (restricted && !permits_of(task, permits)) return *error = -ENODEV, nullptr;
  }
  if (const Variant *found = known(cl, funcs, where, permits)) return found;
  auto made = std::make_unique<Variant>();
  made->of = cl;
  made->where = where;
  std::memcpy(made->funcs, funcs, sizeof made->funcs);
  made->type = cl->type;
  made->max_parallelism = cl->max_parallelism;
  made->name = cl->name;
  made->model = cl->model;
  made->permits = std::move(permits);
  if (where != STARPU_NOWHERE) enter(*made);
  return keep(std::move(made), restricted);
}

consort_codelet_id plain_codelet(const starpu_codelet *cl) {
  {
    std::lock_guard lock(table_lock);
    if (const auto found = plain.find(cl); found != plain.end()) return found->second;
  }
  consort_impl impl = {};
  impl.klass = "cpu";
  impl.fn = run_plain;
  impl.user = const_cast<starpu_codelet *>(cl);
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = name_of(cl);
  desc.impls = &impl;
  desc.nimpls = 1;
  consort_codelet_id id{0};
  must(consort_codelet_add(instance.rt, &desc, &id), "starpu_data_set_reduction_methods");
  std::lock_guard lock(table_lock);
  return plain.emplace(cl, id).first->second;
}

void forget_codelets() {
  std::lock_guard lock(table_lock);
  for (auto &slot : indexed) slot.store(nullptr, std::memory_order_relaxed);
  first_of.clear();
  plain.clear();
  variants.clear();
}

}  // namespace starpu_layer
