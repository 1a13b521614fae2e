// Tasks in one call: the tags of starpu_task_insert() and what follows each.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "job.hpp"
#include "pack.hpp"

namespace starpu_layer {
namespace {

// Where the data of a task go while its arguments are read.
struct Buffers {
  starpu_codelet *cl;
  starpu_task *task;
  int allocated = 0, current = 0;
};

// Whether modes are the task's own.
bool own_modes(const starpu_codelet *cl) { return cl->nbuffers == STARPU_VARIABLE_NBUFFERS; }

template <class T>
T *grown(T *old, const T *fixed, int have, int room) {
  const bool first = !old;
  old = static_cast<T *>(std::realloc(old, static_cast<size_t>(room) * sizeof(T)));
  STARPU_ASSERT_MSG(old, "no memory for the data of a task");
  if (first && have) std::memcpy(old, fixed, static_cast<size_t>(std::min(have, STARPU_NMAXBUFS)) * sizeof(T));
  return old;
}

void add(Buffers &to, starpu_data_handle_t handle, unsigned mode, bool with_mode) {
  starpu_task_insert_data_make_room(to.cl, to.task, &to.allocated, to.current, 1);
  STARPU_TASK_SET_HANDLE(to.task, handle, to.current);
  if (with_mode && own_modes(to.cl)) {
    STARPU_TASK_SET_MODE(to.task, static_cast<starpu_data_access_mode>(mode), to.current);
  } else if (with_mode && !STARPU_CODELET_GET_MODE(to.cl, to.current)) {
    STARPU_CODELET_SET_MODE(to.cl, static_cast<starpu_data_access_mode>(mode), to.current);
  }
  ++to.current;
}

using Callback = void (*)(void *);

// Tags that concern data or arguments; true: it was one.
bool read_data(int tag, va_list *args, Buffers &to, starpu_codelet_pack_arg_data &values) {
  switch (tag) {
    case STARPU_VALUE: {
      const void *ptr = va_arg(*args, void *);
      const size_t size = va_arg(*args, size_t);
      starpu_codelet_pack_arg(&values, ptr, size);
      return true;
    }
    case STARPU_DATA_ARRAY: {
      auto *handles = va_arg(*args, starpu_data_handle_t *);
      const int n = va_arg(*args, int);
      starpu_task_insert_data_process_array_arg(to.cl, to.task, &to.allocated, &to.current, n, handles);
      return true;
    }
    case STARPU_DATA_MODE_ARRAY: {
      auto *descrs = va_arg(*args, starpu_data_descr *);
      const int n = va_arg(*args, int);
      starpu_task_insert_data_process_mode_array_arg(to.cl, to.task, &to.allocated, &to.current, n, descrs);
      return true;
    }
    case STARPU_CL_ARGS:
    case STARPU_CL_ARGS_NFREE:
      to.task->cl_arg = va_arg(*args, void *);
      to.task->cl_arg_size = va_arg(*args, size_t);
      to.task->cl_arg_free = tag == STARPU_CL_ARGS;
      return true;
    default:
      if (tag & ((1 << STARPU_MODE_SHIFT) - 1)) {
        add(to, va_arg(*args, starpu_data_handle_t), static_cast<unsigned>(tag), true);
        return true;
      }
      return false;
  }
}

bool read_callbacks(int tag, va_list *args, starpu_task *task) {
  switch (tag) {
    case STARPU_CALLBACK: task->callback_func = va_arg(*args, Callback); return true;
    case STARPU_CALLBACK_WITH_ARG:
    case STARPU_CALLBACK_WITH_ARG_NFREE:
      task->callback_func = va_arg(*args, Callback);
      task->callback_arg = va_arg(*args, void *);
      task->callback_arg_free = tag == STARPU_CALLBACK_WITH_ARG;
      return true;
    case STARPU_CALLBACK_ARG:
    case STARPU_CALLBACK_ARG_NFREE:
      task->callback_arg = va_arg(*args, void *);
      task->callback_arg_free = tag == STARPU_CALLBACK_ARG;
      return true;
    case STARPU_PROLOGUE_CALLBACK: task->prologue_callback_func = va_arg(*args, Callback); return true;
    case STARPU_PROLOGUE_CALLBACK_ARG:
    case STARPU_PROLOGUE_CALLBACK_ARG_NFREE:
      task->prologue_callback_arg = va_arg(*args, void *);
      task->prologue_callback_arg_free = tag == STARPU_PROLOGUE_CALLBACK_ARG;
      return true;
    case STARPU_PROLOGUE_CALLBACK_POP: task->prologue_callback_pop_func = va_arg(*args, Callback); return true;
    case STARPU_PROLOGUE_CALLBACK_POP_ARG:
    case STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE:
      task->prologue_callback_pop_arg = va_arg(*args, void *);
      task->prologue_callback_pop_arg_free = tag == STARPU_PROLOGUE_CALLBACK_POP_ARG;
      return true;
    default: return false;
  }
}

bool read_relations(int tag, va_list *args, starpu_task *task) {
  switch (tag) {
    case STARPU_TAG:
    case STARPU_TAG_ONLY:
      task->tag_id = va_arg(*args, starpu_tag_t);
      task->use_tag = tag == STARPU_TAG;
      return true;
    case STARPU_TASK_DEPS_ARRAY: {
      const auto n = va_arg(*args, unsigned);
      starpu_task_declare_deps_array(task, n, va_arg(*args, starpu_task **));
      return true;
    }
    case STARPU_TASK_END_DEPS_ARRAY: {
      const auto n = va_arg(*args, unsigned);
      starpu_task_declare_end_deps_array(task, n, va_arg(*args, starpu_task **));
      return true;
    }
    case STARPU_TASK_END_DEP: starpu_task_end_dep_add(task, va_arg(*args, int)); return true;
    default: return false;
  }
}

bool read_places(int tag, va_list *args, starpu_task *task) {
  switch (tag) {
    case STARPU_EXECUTE_ON_WORKER: {
      const int worker = va_arg(*args, int);
      if (worker != -1) {
        task->workerid = static_cast<unsigned>(worker);
        task->execute_on_a_specific_worker = 1;
      }
      return true;
    }
    case STARPU_WORKER_ORDER: task->workerorder = va_arg(*args, unsigned); return true;
    case STARPU_EXECUTE_WHERE: task->where = static_cast<int32_t>(va_arg(*args, unsigned long long)); return true;
    case STARPU_TASK_WORKERIDS:
      task->workerids_len = va_arg(*args, unsigned);
      task->workerids = va_arg(*args, uint32_t *);
      return true;
    case STARPU_SCHED_CTX: task->sched_ctx = va_arg(*args, unsigned); return true;
    case STARPU_EXECUTE_ON_NODE:
    case STARPU_NODE_SELECTION_POLICY: (void)va_arg(*args, int); return true;
    case STARPU_EXECUTE_ON_DATA: (void)va_arg(*args, starpu_data_handle_t); return true;
    default: return false;
  }
}

bool read_other(int tag, va_list *args, starpu_task *task) {
  switch (tag) {
    case STARPU_PRIORITY: task->priority = va_arg(*args, int); return true;
    case STARPU_FLOPS: task->flops = va_arg(*args, double); return true;
    case STARPU_NAME: task->name = va_arg(*args, const char *); return true;
    case STARPU_TASK_COLOR: task->color = static_cast<unsigned>(va_arg(*args, int)); return true;
    case STARPU_HYPERVISOR_TAG: task->hypervisor_tag = va_arg(*args, int); return true;
    case STARPU_POSSIBLY_PARALLEL: task->possibly_parallel = va_arg(*args, unsigned); return true;
    case STARPU_HANDLES_SEQUENTIAL_CONSISTENCY:
      task->handles_sequential_consistency = va_arg(*args, unsigned char *);
      return true;
    case STARPU_TASK_SYNCHRONOUS: task->synchronous = va_arg(*args, int) != 0; return true;
    case STARPU_SEQUENTIAL_CONSISTENCY: task->sequential_consistency = va_arg(*args, unsigned) != 0; return true;
    case STARPU_TASK_PROFILING_INFO: task->profiling_info = va_arg(*args, starpu_profiling_task_info *); return true;
    case STARPU_TASK_NO_SUBMITORDER: task->no_submitorder = va_arg(*args, unsigned) != 0; return true;
    case STARPU_TASK_SCHED_DATA: task->sched_data = va_arg(*args, void *); return true;
    default: return false;
  }
}

int fill(starpu_task *task, starpu_codelet *cl, va_list *args) {
  task->cl = cl;
  Buffers to{cl, task};
  starpu_codelet_pack_arg_data values;
  starpu_codelet_pack_arg_init(&values);
  while (const int tag = va_arg(*args, int)) {
    if (read_data(tag, args, to, values) || read_callbacks(tag, args, task) || read_relations(tag, args, task) ||
        read_places(tag, args, task) || read_other(tag, args, task))
      continue;
    std::fprintf(stderr, "[starpu] starpu_task_insert: no such argument tag: %d\n", tag);
    std::abort();
  }
  if (cl) {
    if (own_modes(cl)) task->nbuffers = to.current;
    STARPU_ASSERT_MSG(own_modes(cl) || to.current == cl->nbuffers, "%d data for a codelet of %d", to.current, cl->nbuffers);
  }
  if (values.nargs) {
    STARPU_ASSERT_MSG(!task->cl_arg, "STARPU_VALUE and STARPU_CL_ARGS exclude one another");
    starpu_codelet_pack_arg_fini(&values, &task->cl_arg, &task->cl_arg_size);
    task->cl_arg_free = 1;
  }
  return 0;
}

int insert(starpu_codelet *cl, va_list *args) {
  starpu_task *task = starpu_task_create();
  if (int rc = fill(task, cl, args)) return rc;
  const int rc = submit(task);
  if (rc < 0) {
    task->destroy = 0;
    starpu_task_destroy(task);
  }
  return rc;
}

}  // namespace
}  // namespace starpu_layer

using namespace starpu_layer;

int starpu_task_set(struct starpu_task *task, struct starpu_codelet *cl, ...) {
  va_list args;
  va_start(args, cl);
  const int rc = fill(task, cl, &args);
  va_end(args);
  return rc;
}

struct starpu_task *starpu_task_build(struct starpu_codelet *cl, ...) {
  starpu_task *task = starpu_task_create();
  va_list args;
  va_start(args, cl);
  fill(task, cl, &args);
  va_end(args);
  return task;
}

int starpu_task_insert(struct starpu_codelet *cl, ...) {
  va_list args;
  va_start(args, cl);
  const int rc = insert(cl, &args);
  va_end(args);
  return rc;
}

int(starpu_insert_task)(struct starpu_codelet *cl, ...) {
  va_list args;
  va_start(args, cl);
  const int rc = insert(cl, &args);
  va_end(args);
  return rc;
}

void starpu_task_insert_data_make_room(struct starpu_codelet *cl, struct starpu_task *task, int *allocated_buffers,
                                       int current_buffer, int room) {
  const int wanted = current_buffer + room;
  if (wanted <= STARPU_NMAXBUFS && !*allocated_buffers && cl->nbuffers <= STARPU_NMAXBUFS) return;
  if (wanted <= *allocated_buffers) return;
  const int n = std::max(2 * wanted, 2 * STARPU_NMAXBUFS);
  const int have = *allocated_buffers ? 0 : current_buffer;
  task->dyn_handles = grown(task->dyn_handles, task->handles, have, n);
  if (own_modes(cl)) task->dyn_modes = grown(task->dyn_modes, task->modes, have, n);
  *allocated_buffers = n;
}

void starpu_task_insert_data_process_arg(struct starpu_codelet *cl, struct starpu_task *task, int *allocated_buffers,
                                         int *current_buffer, int arg_type, starpu_data_handle_t handle) {
  Buffers to{cl, task, *allocated_buffers, *current_buffer};
  add(to, handle, static_cast<unsigned>(arg_type), true);
  *allocated_buffers = to.allocated;
  *current_buffer = to.current;
}

void starpu_task_insert_data_process_array_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                               int *allocated_buffers, int *current_buffer, int nb_handles,
                                               starpu_data_handle_t *handles) {
  Buffers to{cl, task, *allocated_buffers, *current_buffer};
  for (int i = 0; i < nb_handles; ++i) add(to, handles[i], 0, false);
  *allocated_buffers = to.allocated;
  *current_buffer = to.current;
}

void starpu_task_insert_data_process_mode_array_arg(struct starpu_codelet *cl, struct starpu_task *task,
                                                    int *allocated_buffers, int *current_buffer, int nb_descrs,
                                                    struct starpu_data_descr *descrs) {
  Buffers to{cl, task, *allocated_buffers, *current_buffer};
  for (int i = 0; i < nb_descrs; ++i) add(to, descrs[i].handle, descrs[i].mode, true);
  *allocated_buffers = to.allocated;
  *current_buffer = to.current;
}
