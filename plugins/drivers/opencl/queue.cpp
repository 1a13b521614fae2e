#include "commands.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

namespace opencl {

// Outlives the queue until the last callback has come.
struct Queue::Bell {
  int fd;
  std::atomic<int> holders{1};  // the queue, each callback to come; the last one's acq_rel drop sees all others done
  void ring() const noexcept { eventfd_write(fd, 1); }
  void drop() noexcept {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ::close(fd);
    delete this;
  }
};

// -- life -------------------------------------------------------------------------------------------------------------

consort_status Queue::open(Device &d, uint32_t unit, uint64_t token, consort_queue_desc *out, Queue **result) {
  if (d.lost.load(std::memory_order_acquire)) return d.fail(CONSORT_E_DEVICE_LOST, "the device is lost");
  std::unique_ptr<Queue> q(new Queue(d));
  q->token_ = token;
  q->ring_.resize(d.driver.settings.depth);
  cl_int e = CL_SUCCESS;
  const auto can = value_of<cl_command_queue_properties>(d.api.clGetDeviceInfo, d.id, CL_DEVICE_QUEUE_PROPERTIES);
  q->in_order_ = unit != CONSORT_NONE || !d.driver.settings.any_order || !(can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_command_queue_properties want = (d.driver.settings.profiling ? CL_QUEUE_PROFILING_ENABLE : 0) |
                                           (q->in_order_ ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  q->cq_ = d.api.clCreateCommandQueue(d.context, d.id, want, &e);
  if (e != CL_SUCCESS) return d.fail(status_of(e), std::string("no command queue: ") + name(e));
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return d.fail(CONSORT_E_NOMEM, "no event fd for a queue: raise the limit of open files");
  q->bell_ = new (std::nothrow) Bell{fd};
  if (!q->bell_) {
    ::close(fd);
    throw std::bad_alloc();
  }
  const uint32_t flags = CONSORT_Q_WAITS | (q->in_order_ ? uint32_t{CONSORT_Q_IN_ORDER} : 0u);
  const consort_queue_desc desc{out->size, flags, d.token + 1, d.driver.settings.depth, 0};
  std::memcpy(out, &desc, out->size < sizeof desc ? out->size : sizeof desc);
  const std::lock_guard lock(d.mutex);
  d.queues.push_back(q.get());
  *result = q.release();
  return CONSORT_OK;
}

Queue::~Queue() {
  {
    const std::lock_guard lock(dev_.mutex);
    stop_ = true;
    dev_.changed.notify_all();
  }
  if (helper_.joinable()) helper_.join();
  {
    const std::lock_guard lock(dev_.mutex);
    std::erase(dev_.queues, this);
    dev_.changed.notify_all();
    for (; first_ < next_; ++first_) drop_events(slot(first_));
  }
  if (bell_) {
    // Callbacks are on their way for what is over: they are let through, unless the device is past answering.
    for (int i = 0; i < 1000 && bell_->holders.load(std::memory_order_acquire) > 1 && !dev_.lost.load(std::memory_order_relaxed); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    bell_->drop();
  }
  for (cl_kernel k : kernels_)
    if (k) api_.clReleaseKernel(k);
  if (cq_) api_.clReleaseCommandQueue(cq_);
}

int Queue::fd() const noexcept { return bell_->fd; }

// -- in ---------------------------------------------------------------------------------------------------------------

Queue::Place Queue::place_of(uint64_t seq, cl_event *out) const noexcept {
  if (seq < first_) return Place::complete;
  const Slot &s = slot(seq);
  if (!s.issued) return Place::not_yet;
  if (!s.last) return Place::complete;
  api_.clRetainEvent(s.last);
  *out = s.last;
  return Place::issued;
}

Queue::Place Queue::find(const consort_ticket &t, cl_event *out) const noexcept {
  if (t.queue == token_ && in_order_) return Place::complete;
  for (const Queue *q : dev_.queues)
    if (q->token_ == t.queue) return t.seq < q->next_ ? q->place_of(t.seq, out) : Place::complete;
  return Place::complete;  // closed
}

// A function that may block; or something that waits for what another queue's helper has not issued.
bool Queue::must_be_helped(const consort_op &op) const noexcept {
  if (op.kind == CONSORT_OP_CALL && !(op.flags & CONSORT_OPF_ENQUEUE)) return true;
  for (uint32_t i = 0; i < op.nwait; ++i) {
    cl_event e = nullptr;
    const Place p = find(op.wait[i], &e);
    if (e) api_.clReleaseEvent(e);
    if (p == Place::not_yet) return true;
  }
  return false;
}

uint32_t Queue::submit(const consort_op *ops, uint32_t n) noexcept {
  uint32_t i = 0;
  bool flush = false;
  std::unique_lock lock(dev_.mutex);
  for (; i < n && next_ - first_ < ring_.size(); ++i) {
    const consort_op &op = ops[i];
    const uint64_t seq = next_;
    Slot &s = slot(seq);
    s = {};
    s.cookie = op.cookie;
    s.kind = op.kind;
    s.flags = op.flags;
    ++next_;
    if (dev_.lost.load(std::memory_order_relaxed)) {
      s.status = CONSORT_E_DEVICE_LOST;
      s.issued = true;
      continue;
    }
    std::vector<cl_event> wait;
    consort_status trouble = CONSORT_OK;
    try {
      if (!later_.empty() || in_helper_ || must_be_helped(op)) {
        later_.push_back({op, {op.wait, op.wait + op.nwait}, seq});
        if (start_helper()) {
          dev_.changed.notify_all();
          continue;
        }
        later_.pop_back();
        trouble = CONSORT_E_NOMEM;
      } else {
        wait.reserve(op.nwait);
        for (uint32_t k = 0; k < op.nwait; ++k) {
          cl_event e = nullptr;
          if (find(op.wait[k], &e) == Place::issued) wait.push_back(e);
        }
      }
    } catch (const std::bad_alloc &) {
      trouble = CONSORT_E_NOMEM;
    }
    if (trouble < 0) {
      s.status = trouble;
      s.issued = true;
      continue;
    }
    // Nobody else issues here now: the helper has nothing to do until something is put there.
    issuing_ = true;
    lock.unlock();
    issue(op, seq, wait);
    lock.lock();
    issuing_ = false;
    flush = true;
  }
  lock.unlock();
  if (flush) api_.clFlush(cq_);
  if (dev_.lost.load(std::memory_order_relaxed)) dev_.tell_if_lost();
  return i;
}

// Makes commands of an op. Its slot changes under the mutex only when all is said.
void Queue::issue(const consort_op &op, uint64_t seq, std::vector<cl_event> &wait) noexcept {
  Commands c(api_, wait);
  const bool time = (op.flags & CONSORT_OPF_TIME) && dev_.driver.settings.profiling;
  const uint64_t now = time ? dev_.driver.host->now(dev_.driver.host) : 0;
  c.keep_first = time;
  c.chained = !in_order_;
  const auto marker = [&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueMarkerWithWaitList(cq_, n, w, e); };
  switch (op.kind) {
    case CONSORT_OP_COPY: copy(op.u.copy, c); break;
    case CONSORT_OP_FILL: fill(op.u.fill, slot(seq), c); break;
    case CONSORT_OP_LAUNCH: launch(op.u.launch, c); break;
    case CONSORT_OP_MARK: c.add(marker); break;
    case CONSORT_OP_CALL: {
      bool good = true;
      if (!wait.empty())
        good = c.add([&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueBarrierWithWaitList(cq_, n, w, e); });
      if (good && time && !c.first) good = c.add(marker);
      if (!good) break;
      consort_call *call = op.u.call.call;
      call->native_queue = cq_;
      call->native_context = dev_.context;
      c.status = op.u.call.fn(call);
      c.add(marker);
      break;
    }
    default: c.status = dev_.fail(CONSORT_E_UNSUPPORTED, "op " + std::to_string(op.kind) + " is none of its kinds");
  }
  c.took_waits();
  if (c.error != CL_SUCCESS) {
    if (c.status == CONSORT_OK) c.status = status_of(c.error);
    if (op.kind == CONSORT_OP_COPY || op.kind == CONSORT_OP_FILL || op.kind == CONSORT_OP_MARK) {
      c.why = std::string(op.kind == CONSORT_OP_COPY ? "a copy" : op.kind == CONSORT_OP_FILL ? "a fill" : "a marker") +
              " was not taken: " + name(c.error);
    }
  }
  const std::lock_guard lock(dev_.mutex);
  Slot &s = slot(seq);
  if (c.first == c.last) c.first = nullptr;
  if (dev_.lost.load(std::memory_order_relaxed)) c.status = CONSORT_E_DEVICE_LOST;
  s.first = c.first;
  s.last = c.last;
  s.bytes = c.bytes;
  s.seen = now;
  s.status = c.status;
  if (c.status < 0) std::snprintf(s.why, sizeof s.why, "%s", c.why.c_str());
  s.issued = true;
  if (unbelled_) {  // somebody sleeps who could not be told by this op's event
    unbelled_ = false;
    bell_->ring();
  }
  dev_.changed.notify_all();
  if (means_lost(c.error) && !dev_.lost.load(std::memory_order_relaxed)) dev_.lose();
}

// -- the helper -------------------------------------------------------------------------------------------------------

bool Queue::start_helper() noexcept {
  if (helper_.joinable()) return true;
  try {
    helper_ = std::thread([this] { help(); });
    return true;
  } catch (...) {
    return false;
  }
}

void Queue::help() noexcept {
  std::unique_lock lock(dev_.mutex);
  for (;;) {
    dev_.changed.wait(lock, [&] { return stop_ || !later_.empty(); });
    if (later_.empty()) return;  // to be closed, and nothing is left
    Later l = std::move(later_.front());
    later_.pop_front();
    in_helper_ = true;
    std::vector<cl_event> wait;
    consort_status trouble = CONSORT_OK;
    for (const consort_ticket &t : l.wait) {
      cl_event e = nullptr;
      Place p;
      dev_.changed.wait(lock, [&] { return (p = find(t, &e)) != Place::not_yet || dev_.lost.load(std::memory_order_relaxed); });
      try {
        if (p == Place::issued) wait.push_back(e);
      } catch (const std::bad_alloc &) {
        api_.clReleaseEvent(e);
        trouble = CONSORT_E_NOMEM;
      }
    }
    if (dev_.lost.load(std::memory_order_relaxed)) trouble = CONSORT_E_DEVICE_LOST;
    lock.unlock();
    if (trouble == CONSORT_OK) {
      issue(l.op, l.seq, wait);
      api_.clFlush(cq_);
    } else {
      for (cl_event e : wait) api_.clReleaseEvent(e);
    }
    lock.lock();
    in_helper_ = false;
    if (trouble < 0) {
      Slot &s = slot(l.seq);
      s.status = trouble;
      s.issued = true;
      bell_->ring();
      dev_.changed.notify_all();
    }
    if (dev_.lost.load(std::memory_order_relaxed)) {
      bell_->ring();
      lock.unlock();
      dev_.tell_if_lost();
      lock.lock();
    }
  }
}

// -- out --------------------------------------------------------------------------------------------------------------

void Queue::drop_events(Slot &s) noexcept {
  if (s.first) api_.clReleaseEvent(s.first);
  if (s.last) api_.clReleaseEvent(s.last);
  s.first = s.last = nullptr;
}

bool Queue::over(Slot &s) noexcept {
  if (!s.issued) return false;
  if (!s.last || s.status == CONSORT_E_DEVICE_LOST) return true;
  cl_int state = CL_QUEUED;
  const cl_int e = api_.clGetEventInfo(s.last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  if (e != CL_SUCCESS) state = e;
  if (state > CL_COMPLETE) return false;
  if (state < 0) {
    // What goes wrong while it runs and is no lack of memory is the kernel's or the device's fault.
    const consort_status st = status_of(state);
    if (s.status == CONSORT_OK) s.status = st == CONSORT_E_INVAL || st == CONSORT_E_INTERNAL ? CONSORT_E_IO : st;
    if (!*s.why) std::snprintf(s.why, sizeof s.why, "it failed while it ran: %s (%d)", name(state), static_cast<int>(state));
    if (means_lost(state) || !value_of<cl_bool>(api_.clGetDeviceInfo, dev_.id, CL_DEVICE_AVAILABLE)) dev_.lose();
  }
  return true;
}

void Queue::report(Slot &s, consort_done *out) noexcept {
  *out = {};
  out->cookie = s.cookie;
  out->status = s.status;
  out->source = CONSORT_NONE;
  out->bytes = s.status < 0 ? 0 : s.bytes;
  if (s.seen && s.last) {
    // The device's clock against the host's: both were read when the first command was given.
    const cl_event first = s.first ? s.first : s.last;
    cl_ulong queued = 0, start = 0, end = 0;
    const auto at = [&](cl_event e, cl_profiling_info what, cl_ulong *t) {
      return api_.clGetEventProfilingInfo(e, what, sizeof *t, t, nullptr) == CL_SUCCESS;
    };
    if (at(first, CL_PROFILING_COMMAND_QUEUED, &queued) && at(first, CL_PROFILING_COMMAND_START, &start) &&
        at(s.last, CL_PROFILING_COMMAND_END, &end) && start >= queued && end >= start) {
      out->t0 = s.seen + (start - queued);
      out->t1 = s.seen + (end - queued);
    }
  }
  drop_events(s);
}

uint32_t Queue::poll(consort_done *out, uint32_t max) noexcept {
  uint32_t n = 0;
  char why[sizeof Slot::why] = "";
  {
    const std::lock_guard lock(dev_.mutex);
    for (uint64_t seq = first_; n < max && seq < next_ && !*why; ++seq) {
      Slot &s = slot(seq);
      if (s.told) continue;
      if (!over(s)) {
        if (in_order_) break;
        continue;
      }
      if (s.status < 0) std::memcpy(why, s.why, sizeof why);  // words are of the last that is reported: no more this time
      report(s, &out[n++]);
      s.told = true;
    }
    while (first_ < next_ && slot(first_).told) ++first_;
  }
  if (*why) dev_.fail(out[n - 1].status, why);
  if (n && dev_.lost.load(std::memory_order_relaxed)) dev_.tell_if_lost();
  return n;
}

consort_status Queue::arm() noexcept {
  eventfd_t old;
  eventfd_read(bell_->fd, &old);  // before the look: what is over from here on rings again
  const std::lock_guard lock(dev_.mutex);
  for (uint64_t seq = first_; seq < next_; ++seq) {
    Slot &s = slot(seq);
    if (s.told) continue;
    if (!s.issued) unbelled_ = true;
    else if (over(s) || !ring_for(s)) return CONSORT_E_BUSY;
    if (in_order_) break;
  }
  return CONSORT_OK;
}

bool Queue::ring_for(Slot &s) noexcept {
  if (s.belled) return true;
  bell_->holders.fetch_add(1, std::memory_order_relaxed);
  const cl_int e = api_.clSetEventCallback(s.last, CL_COMPLETE, [](cl_event, cl_int, void *bell) {
    static_cast<Bell *>(bell)->ring();
    static_cast<Bell *>(bell)->drop();
  }, bell_);
  if (e != CL_SUCCESS) {
    bell_->drop();
    return false;
  }
  return s.belled = true;
}

void Queue::give_all_back() noexcept {
  for (uint64_t seq = first_; seq < next_; ++seq) {
    Slot &s = slot(seq);
    if (s.told) continue;
    const bool waits = std::any_of(later_.begin(), later_.end(), [&](const Later &l) { return l.seq == seq; });
    if (!s.issued && !waits) continue;  // in somebody's hands just now: it is given back when it comes out of them
    s.status = CONSORT_E_DEVICE_LOST;
    s.issued = true;
  }
  later_.clear();
  bell_->ring();
}

}  // namespace opencl
