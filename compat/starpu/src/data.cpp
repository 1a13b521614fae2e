// The life of a handle, its order and its contents.
#include <consort/memory.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "codelet.hpp"
#include "handle.hpp"
#include "layouts.hpp"

namespace starpu_layer {
namespace {

constexpr uint32_t kQuietWait = CONSORT_WAIT_NO_HELP;

void end(starpu_data_handle_t handle) {
  forget(handle);
  drop_plans(handle);
  delete handle;
}

void unregister(starpu_data_handle_t handle) {
  STARPU_ASSERT_MSG(!must_not_wait(), "starpu_data_unregister() in a task or a callback: use starpu_data_unregister_submit()");
  const consort_status s = consort_unregister_wait(instance.rt, handle->id, kQuietWait);
  if (s == CONSORT_E_BUSY || s == CONSORT_E_STALE) must(s, "starpu_data_unregister");
  end(handle);
}

int prefetch(starpu_data_handle_t handle, unsigned node, unsigned async, int priority) {
  if (!async) {  // wait for the contents; in main memory they are there when nothing writes them
    if (const int rc = acquire(handle, STARPU_R)) return rc;
    release(handle);
    return 0;
  }
  consort_prefetch(instance.rt, handle->id, node, priority, 0, nullptr);
  return 0;
}

uint32_t state_in(starpu_data_handle_t handle, unsigned node) {
  uint32_t bits = 0;
  consort_data_in(instance.rt, handle->id, node, &bits);
  return bits;
}

}  // namespace

void initialise_if_needed(starpu_data_handle_t handle, unsigned mode) {
  if (!(mode & STARPU_R) || !handle->init_cl || handle->written.exchange(true)) return;
  consort_task_desc desc = CONSORT_TASK_INIT;
  const consort_use use = {handle->id, CONSORT_M_W, 0};
  desc.codelet = plain_codelet(handle->init_cl);
  desc.uses = &use;
  desc.nuses = 1;
  must(consort_submit(instance.rt, &desc, nullptr), "starpu_task_submit");
}

uint32_t mode_of(unsigned mode) {
  uint32_t out = mode & STARPU_RW;
  if (mode & STARPU_SCRATCH) out = CONSORT_M_SCRATCH;
  if (mode & STARPU_REDUX) out = CONSORT_M_REDUX;
  if (mode & STARPU_COMMUTE && out & CONSORT_M_W) out = CONSORT_M_RW | CONSORT_M_COMMUTE;
  if (mode & STARPU_LOCALITY) out |= CONSORT_M_LOCALITY;
  return out;
}

const AnyLayout &local(starpu_data_handle_t handle) {
  std::lock_guard lock(handle->lock);
  if (handle->holds.empty()) return handle->home;
  return *static_cast<const AnyLayout *>(handle->holds.back().view);
}

}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_data_unregister(starpu_data_handle_t handle) { unregister(handle); }
void starpu_data_unregister_no_coherency(starpu_data_handle_t handle) { unregister(handle); }

void starpu_data_unregister_submit(starpu_data_handle_t handle) {
  must(consort_unregister_later(instance.rt, handle->id), "starpu_data_unregister_submit");
  end(handle);
}

void starpu_data_invalidate_submit(starpu_data_handle_t handle) {
  must(consort_invalidate(instance.rt, handle->id), "starpu_data_invalidate_submit");
  handle->written = false;
}

void starpu_data_invalidate(starpu_data_handle_t handle) {
  if (!must_not_wait() && acquire(handle, STARPU_W) == 0) release(handle);
  starpu_data_invalidate_submit(handle);
}

void starpu_data_set_sequential_consistency_flag(starpu_data_handle_t handle, unsigned flag) {
  must(consort_data_set_ordered(instance.rt, handle->id, flag != 0), "starpu_data_set_sequential_consistency_flag");
  handle->ordered = flag != 0;
}
unsigned starpu_data_get_sequential_consistency_flag(starpu_data_handle_t handle) { return handle->ordered; }

void starpu_data_set_reduction_methods(starpu_data_handle_t handle, struct starpu_codelet *redux_cl,
                                       struct starpu_codelet *init_cl) {
  handle->init_cl = init_cl;
  if (!redux_cl || !init_cl) return;
  must(consort_data_set_reduction(instance.rt, handle->id, plain_codelet(init_cl), plain_codelet(redux_cl)),
       "starpu_data_set_reduction_methods");
}

void starpu_data_set_name(starpu_data_handle_t, const char *) {}

void starpu_data_set_coordinates_array(starpu_data_handle_t handle, unsigned dimensions, int dims[]) {
  handle->coordinates.assign(dims, dims + dimensions);
}

void starpu_data_set_coordinates(starpu_data_handle_t handle, unsigned dimensions, ...) {
  va_list args;
  va_start(args, dimensions);
  handle->coordinates.resize(dimensions);
  for (int &c : handle->coordinates) c = va_arg(args, int);
  va_end(args);
}

unsigned starpu_data_get_coordinates_array(starpu_data_handle_t handle, unsigned dimensions, int dims[]) {
  for (unsigned i = 0; i < dimensions && i < handle->coordinates.size(); ++i) dims[i] = handle->coordinates[i];
  return static_cast<unsigned>(handle->coordinates.size());
}

void starpu_data_set_user_data(starpu_data_handle_t handle, void *user_data) { handle->user_data = user_data; }
void *starpu_data_get_user_data(starpu_data_handle_t handle) { return handle->user_data; }
void starpu_data_set_ooc_flag(starpu_data_handle_t handle, unsigned flag) { handle->ooc = flag != 0; }
unsigned starpu_data_get_ooc_flag(starpu_data_handle_t handle) { return handle->ooc; }
void starpu_data_advise_as_important(starpu_data_handle_t, unsigned) {}
void starpu_memchunk_tidy(unsigned) {}

int starpu_data_request_allocation(starpu_data_handle_t handle, unsigned node) {
  consort_prefetch(instance.rt, handle->id, node, 0, CONSORT_PREFETCH_ROOM, nullptr);
  return 0;
}
int starpu_data_fetch_on_node(starpu_data_handle_t handle, unsigned node, unsigned async) {
  return prefetch(handle, node, async, 0);
}
int starpu_data_prefetch_on_node(starpu_data_handle_t handle, unsigned node, unsigned async) {
  return prefetch(handle, node, async, 0);
}
int starpu_data_prefetch_on_node_prio(starpu_data_handle_t handle, unsigned node, unsigned async, int prio) {
  return prefetch(handle, node, async, prio);
}
int starpu_data_idle_prefetch_on_node(starpu_data_handle_t handle, unsigned node, unsigned async) {
  return prefetch(handle, node, async, 0);
}
int starpu_data_idle_prefetch_on_node_prio(starpu_data_handle_t handle, unsigned node, unsigned async, int prio) {
  return prefetch(handle, node, async, prio);
}

unsigned starpu_data_is_on_node(starpu_data_handle_t handle, unsigned node) {
  return (state_in(handle, node) & (CONSORT_IN_VALID | CONSORT_IN_COMING)) != 0;
}
unsigned starpu_data_test_if_allocated_on_node(starpu_data_handle_t handle, unsigned memory_node) {
  return (state_in(handle, memory_node) & CONSORT_IN_ROOM) != 0;
}

void starpu_data_query_status(starpu_data_handle_t handle, int memory_node, int *is_allocated, int *is_valid,
                              int *is_requested) {
  const uint32_t bits = state_in(handle, static_cast<unsigned>(memory_node));
  if (is_allocated) *is_allocated = (bits & CONSORT_IN_ROOM) != 0;
  if (is_valid) *is_valid = (bits & CONSORT_IN_VALID) != 0;
  if (is_requested) *is_requested = (bits & CONSORT_IN_COMING) != 0;
}

void starpu_data_wont_use(starpu_data_handle_t handle) { consort_wont_use(instance.rt, handle->id); }
void starpu_data_set_wt_mask(starpu_data_handle_t handle, uint32_t wt_mask) {
  consort_data_set_write_through(instance.rt, handle->id, wt_mask);
}

enum starpu_data_interface_id starpu_data_get_interface_id(starpu_data_handle_t handle) { return handle->kind; }
int starpu_data_get_home_node(starpu_data_handle_t handle) { return handle->home_node; }
size_t starpu_data_get_size(starpu_data_handle_t handle) { return bytes_of(handle->home); }

size_t starpu_data_get_alloc_size(starpu_data_handle_t handle) {
  if (handle->kind == STARPU_VECTOR_INTERFACE_ID) return handle->home.vector.allocsize;
  if (handle->kind == STARPU_MATRIX_INTERFACE_ID) return handle->home.matrix.allocsize;
  return bytes_of(handle->home);
}

void *starpu_data_get_local_ptr(starpu_data_handle_t handle) { return pointer_of(local(handle)); }
void *starpu_data_handle_to_pointer(starpu_data_handle_t handle, unsigned node) {
  return node == STARPU_MAIN_RAM ? pointer_of(local(handle)) : nullptr;
}
void *starpu_data_get_interface_on_node(starpu_data_handle_t handle, unsigned memory_node) {
  STARPU_ASSERT_MSG(memory_node == STARPU_MAIN_RAM, "only the main memory has an interface outside of tasks");
  return const_cast<AnyLayout *>(&local(handle));
}

int starpu_data_pointer_is_inside(starpu_data_handle_t handle, unsigned node, void *ptr) {
  if (node != STARPU_MAIN_RAM) return 0;
  Array arrays[3];
  const uint32_t n = arrays_of(local(handle), arrays);
  const auto p = reinterpret_cast<uint64_t>(ptr);
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t begin = arrays[i].at.base + arrays[i].at.off;
    if (begin && p >= begin && p < begin + arrays[i].bytes) return 1;
  }
  return 0;
}

int starpu_data_cpy(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle, int asynchronous,
                    void (*callback_func)(void *), void *callback_arg) {
  if (!asynchronous && must_not_wait()) return -EDEADLK;
  consort_task_id copy{0};
  if (!src_handle->written.load(std::memory_order_relaxed)) initialise_if_needed(src_handle, STARPU_R);
  if (const consort_status s = consort_data_copy(instance.rt, dst_handle->id, src_handle->id, {0}, &copy); s < 0)
    return errno_of(s);
  note_written(dst_handle);
  starpu_task *task = starpu_task_create();  // it ends with the copy
  task->callback_func = callback_func;
  task->callback_arg = callback_arg;
  task->synchronous = !asynchronous;
  job_of(task).more().after.push_back(copy);
  return submit(task);
}
