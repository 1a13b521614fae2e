// Access of the application to data, in the order of the tasks. A thread that waits for it runs none.
#include <cerrno>
#include <cstdio>

#include "handle.hpp"

namespace starpu_layer {
namespace {

// An access that was asked for.
struct Request {
  starpu_data_handle_t handle = nullptr;
  void (*callback)(void *) = nullptr;  // else a thread waits
  void *arg = nullptr;
  std::mutex lock;
  std::condition_variable answered;
  bool done = false;
  consort_status status = CONSORT_OK;
};

void keep(starpu_data_handle_t handle, const consort_hold &hold) {
  std::lock_guard lock(handle->lock);
  handle->holds.push_back(hold);
}

void granted(void *arg, consort_status status, const consort_hold *hold) {
  auto *request = static_cast<Request *>(arg);
  if (status >= 0) keep(request->handle, *hold);
  if (request->callback) {
    const InCallback in_callback;
    request->callback(request->arg);
    delete request;
    instance.unfinished.remove();
    return;
  }
  std::lock_guard lock(request->lock);
  request->status = status;
  request->done = true;
  request->answered.notify_one();
}

// The mode of an access by the application: it is exclusive or it reads.
uint32_t access_mode(unsigned mode) {
  if (mode & STARPU_REDUX) return CONSORT_M_RW;
  const unsigned plain = mode & STARPU_RW;
  return plain ? plain : unsigned{CONSORT_M_W};
}

consort_status ask(starpu_data_handle_t handle, unsigned mode, bool ordered, Request *request) {
  const uint32_t asked = access_mode(mode);
  if (!handle->written.load(std::memory_order_relaxed)) initialise_if_needed(handle, asked);
  if (asked & STARPU_W) note_written(handle);
  const bool aside = !ordered && handle->ordered;
  if (aside) consort_data_set_ordered(instance.rt, handle->id, 0);
  const consort_status s = consort_acquire_later(instance.rt, handle->id, asked, granted, request);
  if (aside) consort_data_set_ordered(instance.rt, handle->id, 1);
  return s;
}

}  // namespace

int acquire(starpu_data_handle_t handle, unsigned mode, bool ordered) {
  if (must_not_wait()) return -EDEADLK;
  Request request;
  request.handle = handle;
  if (const consort_status s = ask(handle, mode, ordered, &request); s < 0) {
    std::fprintf(stderr, "[starpu] starpu_data_acquire: %s\n", consort_error());
    return errno_of(s);
  }
  std::unique_lock lock(request.lock);
  request.answered.wait(lock, [&] { return request.done; });
  return errno_of(request.status);
}

int acquire_later(starpu_data_handle_t handle, unsigned mode, void (*callback)(void *), void *arg, bool ordered) {
  auto request = std::make_unique<Request>();
  request->handle = handle;
  request->callback = callback;
  request->arg = arg;
  instance.unfinished.add();
  if (const consort_status s = ask(handle, mode, ordered, request.get()); s < 0) {
    instance.unfinished.remove();
    std::fprintf(stderr, "[starpu] starpu_data_acquire_cb: %s\n", consort_error());
    return errno_of(s);
  }
  (void)request.release();
  return 0;
}

void release(starpu_data_handle_t handle) {
  consort_hold hold;
  {
    std::lock_guard lock(handle->lock);
    STARPU_ASSERT_MSG(!handle->holds.empty(), "starpu_data_release() of data that is not acquired");
    hold = handle->holds.back();
    handle->holds.pop_back();
  }
  must(consort_release(instance.rt, hold), "starpu_data_release");
}

}  // namespace starpu_layer

using namespace starpu_layer;

int starpu_data_acquire(starpu_data_handle_t handle, enum starpu_data_access_mode mode) { return acquire(handle, mode); }

int starpu_data_acquire_on_node(starpu_data_handle_t handle, int, enum starpu_data_access_mode mode) {
  return acquire(handle, mode);
}

int starpu_data_acquire_cb(starpu_data_handle_t handle, enum starpu_data_access_mode mode, void (*callback)(void *),
                           void *arg) {
  return acquire_later(handle, mode, callback, arg, true);
}

int starpu_data_acquire_on_node_cb(starpu_data_handle_t handle, int, enum starpu_data_access_mode mode,
                                   void (*callback)(void *), void *arg) {
  return acquire_later(handle, mode, callback, arg, true);
}

int starpu_data_acquire_cb_sequential_consistency(starpu_data_handle_t handle, enum starpu_data_access_mode mode,
                                                  void (*callback)(void *), void *arg, int sequential_consistency) {
  return acquire_later(handle, mode, callback, arg, sequential_consistency != 0);
}

int starpu_data_acquire_on_node_cb_sequential_consistency(starpu_data_handle_t handle, int,
                                                          enum starpu_data_access_mode mode, void (*callback)(void *),
                                                          void *arg, int sequential_consistency) {
  return acquire_later(handle, mode, callback, arg, sequential_consistency != 0);
}

int starpu_data_acquire_try(starpu_data_handle_t handle, enum starpu_data_access_mode mode) {
  if (must_not_wait()) return -EDEADLK;
  consort_hold hold;
  const consort_status s = consort_acquire(instance.rt, handle->id, access_mode(mode), 0, &hold);
  if (s == CONSORT_E_TIMEOUT) return -EAGAIN;
  if (s < 0) return errno_of(s);
  if (access_mode(mode) & STARPU_W) note_written(handle);
  keep(handle, hold);
  return 0;
}

int starpu_data_acquire_on_node_try(starpu_data_handle_t handle, int, enum starpu_data_access_mode mode) {
  return starpu_data_acquire_try(handle, mode);
}

void starpu_data_release(starpu_data_handle_t handle) { release(handle); }
void starpu_data_release_on_node(starpu_data_handle_t handle, int) { release(handle); }
