// stream.cpp — a driver for tests: a device whose queues are streams. Each has a thread that runs its ops in order,
// each after a latency, so that issuing and completing are separate.
//
// Shows the promises of the driver ABI for asynchronous devices: in-order queues, tickets between queues that the
// device waits for, back-pressure. Also event fds, failing ops and a lost device. The device's one mutex guards
// everything, except the running of an op. Not for speed.
#include "stream.h"

#include <consort/driver.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace stream {
namespace {

struct Driver {
  const consort_host *host;
  uint32_t units, depth;
  uint64_t latency_ns, fail_op, lost_after, bandwidth, room;
  bool waits;
  std::string space;
  uint64_t *counters;

  void count(int which, uint64_t n = 1) const {
    if (counters) __atomic_fetch_add(&counters[which], n, __ATOMIC_RELAXED);
  }
};

struct Queue;

struct Device {
  Driver *driver;
  uint64_t token;
  uint32_t own = CONSORT_NONE, host = CONSORT_NONE;  // spaces, by kernel id
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Queue *> queues;
  uint64_t executed = 0, taken = 0;  // taken: bytes of its memory
  bool lost = false, told = false;
};

struct Op {
  consort_op op;
  std::vector<consort_ticket> wait;
  consort_status status = CONSORT_OK;  // of a function that has run inside submit()
  bool ran = false;
  void (*fn)(void *) = nullptr;        // enqueued by such a function: no op of the kernel's
  void *arg = nullptr;
};

struct Queue {
  stream_native native;  // first: the target of call->native_queue
  Device *dev;
  uint64_t token;
  std::list<Op> pending;           // the first one may be running
  std::vector<consort_done> done;  // with room for all that is in flight
  uint64_t accepted = 0, completed = 0;
  int fd = -1;
  bool armed = false, stop = false, flushed = false;
  std::thread thread;
};

Device &device(void *d) { return *static_cast<Device *>(d); }
Queue &queue(void *q) { return *static_cast<Queue *>(q); }
char *at(consort_addr a) { return reinterpret_cast<char *>(a.base + a.off); }

// -- the stream's thread ------------------------------------------------------------------------------------------

consort_status execute(Queue &q, Op &o, uint64_t *bytes) {
  if (o.fn) return o.fn(o.arg), CONSORT_OK;
  switch (o.op.kind) {
    case CONSORT_OP_COPY: {
      const consort_copy &c = o.op.u.copy;
      for (uint64_t z = 0; z < c.n[1]; ++z)
        for (uint64_t y = 0; y < c.n[0]; ++y)
          std::memcpy(at(c.dst) + int64_t(z) * c.dst_step[1] + int64_t(y) * c.dst_step[0],
                      at(c.src) + int64_t(z) * c.src_step[1] + int64_t(y) * c.src_step[0], c.run);
      *bytes = c.run * c.n[0] * c.n[1];
      return CONSORT_OK;
    }
    case CONSORT_OP_FILL: {
      const consort_fill &f = o.op.u.fill;
      for (uint64_t i = 0; i < f.run; i += 4) std::memcpy(at(f.dst) + i, &f.pattern, std::min<uint64_t>(4, f.run - i));
      *bytes = f.run;
      return CONSORT_OK;
    }
    case CONSORT_OP_CALL:
      if (o.ran) return o.status;
      o.op.u.call.call->native_queue = &q.native;
      o.op.u.call.call->native_context = q.dev;
      return o.op.u.call.fn(o.op.u.call.call);
    case CONSORT_OP_LAUNCH: return reinterpret_cast<stream_kernel *>(o.op.u.launch.code)(&o.op.u.launch);
    case CONSORT_OP_MARK: return CONSORT_OK;
    default: return CONSORT_E_UNSUPPORTED;
  }
}

bool ticket_open(const Device &d, const consort_ticket &t) {  // a closed queue's are complete
  for (const Queue *q : d.queues)
    if (q->token == t.queue) return q->completed < t.seq;
  return false;
}

void finish(Queue &q, const consort_done &d, bool of_kernel) {
  q.pending.pop_front();
  if (of_kernel) {
    q.done.push_back(d);
    ++q.completed;
    q.dev->driver->count(STREAM_COMPLETED);
    if (q.armed) {
      q.armed = false;
      eventfd_write(q.fd, 1);
    }
  }
  q.dev->changed.notify_all();
}

void run(Queue &q) {
  Device &d = *q.dev;
  const Driver &driver = *d.driver;
  std::unique_lock lock(d.mutex);
  for (;;) {
    if (d.lost) {
      while (!q.pending.empty()) {
        consort_done done{};
        done.cookie = q.pending.front().op.cookie;
        done.status = CONSORT_E_DEVICE_LOST;
        done.source = CONSORT_NONE;
        finish(q, done, !q.pending.front().fn);
      }
      q.flushed = true;
      // The last stream to have given everything back tells the kernel, once.
      if (!d.told && std::all_of(d.queues.begin(), d.queues.end(), [](Queue *x) { return x->flushed; })) {
        d.told = true;
        lock.unlock();
        driver.host->event(driver.host, CONSORT_EV_DEVICE_LOST, d.token, 0);
        lock.lock();
      }
    }
    if (q.stop) return;
    if (q.pending.empty()) {
      d.changed.wait(lock);
      continue;
    }
    Op &o = q.pending.front();  // stays where it is while others are added
    for (const consort_ticket &t : o.wait) {
      if (ticket_open(d, t)) driver.count(STREAM_WAITS);
      while (ticket_open(d, t) && !d.lost) d.changed.wait(lock);
    }
    if (d.lost) continue;
    consort_done done{};
    done.cookie = o.op.cookie;
    done.source = CONSORT_NONE;
    const bool time = !o.fn && o.op.flags & CONSORT_OPF_TIME;
    lock.unlock();
    if (driver.latency_ns && !o.fn) std::this_thread::sleep_for(std::chrono::nanoseconds(driver.latency_ns));  // nap: the latency that a test has set
    if (time) done.t0 = driver.host->now(driver.host);
    done.status = execute(q, o, &done.bytes);
    if (time) done.t1 = driver.host->now(driver.host);
    lock.lock();
    if (!o.fn) {
      ++d.executed;
      if (driver.fail_op && d.executed == driver.fail_op) done.status = CONSORT_E_IO;
      if (driver.lost_after && d.executed == driver.lost_after) d.lost = true;
      if (d.lost) done.status = CONSORT_E_DEVICE_LOST;  // it is unknown whether the op took effect
    }
    finish(q, done, !o.fn);
  }
}

void enqueue(stream_native *native, void (*fn)(void *), void *arg) {
  Queue &q = *reinterpret_cast<Queue *>(native);
  Op o{};
  o.fn = fn;
  o.arg = arg;
  std::lock_guard lock(q.dev->mutex);
  q.pending.push_back(std::move(o));
  q.dev->changed.notify_all();
}

// -- the table ----------------------------------------------------------------------------------------------------

consort_status init(const consort_host *host, void **self) noexcept {
  auto *d = new (std::nothrow) Driver;
  if (!d) return host->fail(host, CONSORT_E_NOMEM, "stream: out of memory");
  bool known = true;
  const auto text = [&](const char *key) {
    const char *value = host->param(host, key);
    known &= value != nullptr;
    return std::string(value ? value : "");
  };
  const auto number = [&](const char *key) { return std::strtoull(text(key).c_str(), nullptr, 0); };
  d->host = host;
  d->units = static_cast<uint32_t>(number("units"));
  d->depth = static_cast<uint32_t>(number("depth"));
  d->latency_ns = number("latency_ns");
  d->fail_op = number("fail_op");
  d->lost_after = number("lost_after");
  d->waits = text("waits") == "true";
  d->bandwidth = number("bandwidth");
  d->room = number("room");
  d->space = text("space");
  d->counters = reinterpret_cast<uint64_t *>(number("counters"));
  if (!known) {
    delete d;
    return host->fail(host, CONSORT_E_ABI, "stream: the host knows none of its parameters");
  }
  *self = d;
  return CONSORT_OK;
}
void fini(void *self) noexcept { delete static_cast<Driver *>(self); }

uint32_t count(void *) noexcept { return 1; }

consort_status open(void *self, uint32_t, uint64_t token, void **dev) noexcept {
  auto *driver = static_cast<Driver *>(self);
  auto *d = new (std::nothrow) Device;
  if (!d) return driver->host->fail(driver->host, CONSORT_E_NOMEM, "stream: out of memory");
  d->driver = driver;
  d->token = token;
  *dev = d;
  return CONSORT_OK;
}
void close(void *dev) noexcept { delete &device(dev); }

consort_status space(void *dev, uint32_t i, consort_space_desc *out) noexcept {
  Device &d = device(dev);
  if (i > 0 || d.driver->space == "host") return CONSORT_E_INVAL;
  d.own = out->id;
  out->flags = d.driver->space == "own" ? CONSORT_SP_CPU | CONSORT_SP_COHERENT : 0;
  out->numa = -1;
  out->name = "stream0:ram";
  out->domain = "stream";
  out->domain_key = d.token;
  out->capacity = uint64_t{1} << 30;
  out->granule = out->align = 64;
  return CONSORT_OK;
}

consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) noexcept {
  const Device &d = device(dev);
  if (i >= d.driver->units) return CONSORT_E_INVAL;
  out->flags = 0;
  // Without a space of its own: that of the host. Where no pair of spaces exists, no link() named it, and the
  // kernel's proposal stands.
  if (const uint32_t home = d.own != CONSORT_NONE ? d.own : d.host; home != CONSORT_NONE) out->space = home;
  out->depth = d.driver->depth;
  out->numa = -1;
  out->klass = "stream";
  out->arch = "stream/double";
  out->cpuset = nullptr;
  out->cpuset_words = 0;
  return CONSORT_OK;
}

consort_status link(void *dev, const consort_space_desc *src, const consort_space_desc *dst,
                    consort_link_desc *out) noexcept {
  Device &d = device(dev);
  const auto is_host = [](const consort_space_desc *s) {
    return (s->flags & CONSORT_SP_CPU) && (s->flags & CONSORT_SP_COHERENT) && std::strcmp(s->domain, "host") == 0;
  };
  for (const consort_space_desc *s : {src, dst})
    if (is_host(s)) d.host = std::min(d.host, s->id);
  const bool ours = src->id == d.own || dst->id == d.own;
  if (!ours || !(is_host(src) || src->id == d.own) || !(is_host(dst) || dst->id == d.own)) return CONSORT_E_UNSUPPORTED;
  out->flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC | (d.driver->space == "own" ? CONSORT_LK_LOADSTORE : 0);
  out->bytes_per_s = d.driver->bandwidth;
  out->latency_ns = 1000;
  out->engines = 1;
  out->max_run = UINT64_MAX;
  out->min_align = 1;
  out->bounce_bytes = 0;
  out->bounce_space = CONSORT_NONE;
  return CONSORT_OK;
}

bool is_lost(Device &d) {
  std::lock_guard lock(d.mutex);
  return d.lost;
}
consort_status alloc(void *dev, uint32_t, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) noexcept {
  Device &d = device(dev);
  const consort_host *host = d.driver->host;
  if (is_lost(d)) return host->fail(host, CONSORT_E_DEVICE_LOST, "stream: the device is lost");
  if (flags & ~uint32_t{CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT})
    return host->fail(host, CONSORT_E_UNSUPPORTED, "stream: its memory is neither pinned nor exported");
  d.driver->count(STREAM_ALLOCS);
  void *p = nullptr;
  const uint64_t room = d.driver->room;
  if ((room && d.taken + bytes > room) || posix_memalign(&p, align < 64 ? 64 : align, bytes) != 0)
    return host->fail(host, CONSORT_E_NOMEM, "stream: out of memory");
  d.taken += bytes;
  if (flags & CONSORT_AL_ZERO) std::memset(p, 0, bytes);
  *out = {reinterpret_cast<uint64_t>(p), 0};
  return CONSORT_OK;
}
void free(void *dev, uint32_t, consort_addr addr, uint64_t bytes) noexcept {
  device(dev).taken -= bytes;
  std::free(at(addr));
}
consort_status attach(void *dev, uint32_t, consort_addr addr, uint64_t, consort_addr *local) noexcept {
  const consort_host *host = device(dev).driver->host;
  if (is_lost(device(dev))) return host->fail(host, CONSORT_E_DEVICE_LOST, "stream: the device is lost");
  *local = addr;
  return CONSORT_OK;
}
void detach(void *, uint32_t, consort_addr) noexcept {}
consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) noexcept {
  const Driver &driver = *device(dev).driver;
  const consort_host *host = driver.host;
  if (is_lost(device(dev))) return host->fail(host, CONSORT_E_DEVICE_LOST, "stream: the device is lost");
  driver.count(STREAM_LOADS);
  if (std::strcmp(format, "slow") == 0) {
    auto &slow = *reinterpret_cast<stream_slow *>(
        std::strtoull(std::string(static_cast<const char *>(text), n).c_str(), nullptr, 0));
    __atomic_fetch_add(&slow.begun, 1, __ATOMIC_RELEASE);
    for (int i = 0; !__atomic_load_n(&slow.go, __ATOMIC_ACQUIRE); ++i) {
      if (i == 600'000) return host->fail(host, CONSORT_E_TIMEOUT, "stream: it was not allowed to load");
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // nap: between two looks
    }
    *code = reinterpret_cast<uint64_t>(slow.kernel);
    return CONSORT_OK;
  }
  if (std::strcmp(format, "address") != 0)
    return host->fail(host, CONSORT_E_UNSUPPORTED, "stream: a kernel is the address of a stream_kernel, as text of format \"address\"");
  const std::string address(static_cast<const char *>(text), n);
  *code = std::strtoull(address.c_str(), nullptr, 0);
  if (*code == 0 || !entry) return host->fail(host, CONSORT_E_INVAL, ("stream: \"" + address + "\" does not compile").c_str());
  return CONSORT_OK;
}

consort_status queue_open(void *dev, uint32_t, uint64_t token, consort_queue_desc *out, void **result) noexcept {
  Device &d = device(dev);
  auto *q = new (std::nothrow) Queue;
  if (!q || (q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
    delete q;
    return d.driver->host->fail(d.driver->host, CONSORT_E_NOMEM, "stream: no memory or no eventfd for a queue");
  }
  q->native.enqueue = enqueue;
  q->dev = &d;
  q->token = token;
  out->flags = CONSORT_Q_IN_ORDER | (d.driver->waits ? CONSORT_Q_WAITS : 0);
  out->sync = d.driver->waits ? d.token + 1 : 0;
  out->depth = d.driver->depth;
  try {
    {
      std::lock_guard lock(d.mutex);
      d.queues.push_back(q);
    }
    q->thread = std::thread([q] { run(*q); });
  } catch (...) {
    {
      std::lock_guard lock(d.mutex);
      std::erase(d.queues, q);
    }
    ::close(q->fd);
    delete q;
    return d.driver->host->fail(d.driver->host, CONSORT_E_NOMEM, "stream: no memory or no thread for a queue");
  }
  *result = q;
  return CONSORT_OK;
}

void queue_close(void *handle) noexcept {
  Queue *q = &queue(handle);
  Device &d = *q->dev;
  {
    std::lock_guard lock(d.mutex);
    q->stop = true;
    d.changed.notify_all();
  }
  q->thread.join();
  {
    std::lock_guard lock(d.mutex);
    std::erase(d.queues, q);
    d.changed.notify_all();
  }
  ::close(q->fd);
  delete q;
}

uint32_t submit(void *handle, const consort_op *ops, uint32_t n) noexcept {
  Queue &q = queue(handle);
  const Driver &driver = *q.dev->driver;
  uint32_t i = 0;
  std::unique_lock lock(q.dev->mutex);
  const bool idle = q.accepted == q.completed;
  for (; i < n && q.accepted - q.completed < driver.depth; ++i) {
    std::list<Op> made(0), mark(0);
    try {
      made.resize(1);
      made.front().op = ops[i];
      made.front().wait.assign(ops[i].wait, ops[i].wait + ops[i].nwait);
      if (ops[i].flags & CONSORT_OPF_ENQUEUE) mark.resize(1);
      const size_t most = q.done.size() + (q.accepted - q.completed) + 1;
      if (q.done.capacity() < most) q.done.reserve(2 * most);
    } catch (const std::bad_alloc &) {
      break;  // no room, as it seems
    }
    Op &o = made.front();
    if (o.op.kind == CONSORT_OP_CALL && (o.op.flags & CONSORT_OPF_ENQUEUE) && !q.dev->lost) {
      consort_call *call = o.op.u.call.call;
      call->native_queue = &q.native;
      call->native_context = q.dev;
      if (!o.wait.empty()) {  // enqueued work has to wait as well: a mark without a completion goes ahead
        mark.front().wait.swap(o.wait);
        mark.front().fn = [](void *) {};
        q.pending.splice(q.pending.end(), mark);
      }
      lock.unlock();
      o.status = o.op.u.call.fn(call);
      lock.lock();
      o.ran = true;
    }
    q.pending.splice(q.pending.end(), made);
    ++q.accepted;
  }
  if (i) {
    driver.count(STREAM_SUBMITS);
    driver.count(STREAM_OPS, i);
    if (idle) driver.count(STREAM_ROUND_TRIPS);
    if (uint64_t *most = driver.counters ? &driver.counters[STREAM_IN_FLIGHT] : nullptr)
      __atomic_store_n(most, std::max(*most, q.accepted - q.completed), __ATOMIC_RELAXED);
  }
  q.dev->changed.notify_all();
  return i;
}

uint32_t poll(void *handle, consort_done *out, uint32_t max) noexcept {
  Queue &q = queue(handle);
  q.dev->driver->count(STREAM_POLLS);
  std::lock_guard lock(q.dev->mutex);
  const uint32_t n = static_cast<uint32_t>(std::min<size_t>(max, q.done.size()));
  std::copy_n(q.done.begin(), n, out);
  q.done.erase(q.done.begin(), q.done.begin() + n);
  return n;
}

int32_t event_fd(void *handle) noexcept { return queue(handle).fd; }

consort_status arm(void *handle) noexcept {
  Queue &q = queue(handle);
  q.dev->driver->count(STREAM_ARMS);
  std::lock_guard lock(q.dev->mutex);
  if (!q.done.empty()) return CONSORT_E_BUSY;
  eventfd_t old;
  eventfd_read(q.fd, &old);
  q.armed = true;
  return CONSORT_OK;
}

constexpr consort_param params[] = {
    {"units", "u32", "1", "0..64", "units to offer"},
    {"space", "string", "host", "host|own|apart",
     "where units work: the host's memory, an own space that all can load and store, one that needs copies"},
    {"depth", "u32", "64", "1..65536", "ops in flight per queue"},
    {"latency_ns", "u64", "0", nullptr, "latency of each op before it has any effect"},
    {"waits", "bool", "false", nullptr, "queues wait for each other's tickets"},
    {"bandwidth", "u64", "4000000000", nullptr, "bytes per second that it says its links have"},
    {"room", "u64", "0", nullptr, "bytes of memory, a size that it does not report; 0: as much as the host has"},
    {"counters", "string", "0", nullptr, "address of the test's counters, see stream.h"},
    {"fail_op", "u64", "0", nullptr, "the op, counted from 1 over the device, that fails; 0: none"},
    {"lost_after", "u64", "0", nullptr, "the op with which the device is lost; 0: none"},
};

constexpr consort_driver_ops ops = {
    .size = sizeof(consort_driver_ops), .flags = CONSORT_DRV_FD,
    .count = count, .open = open, .close = close, .space = space, .unit = unit, .link = link, .alloc = alloc,
    .free = free, .attach = attach, .detach = detach, .load_impl = load_impl, .queue_open = queue_open,
    .queue_close = queue_close, .submit = submit, .poll = poll, .event_fd = event_fd, .arm = arm,
    .next_event = nullptr, .codelet = nullptr,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = 0, .name = "stream", .version = "0.1.0",
    .summary = "a test double: in-order streams on threads", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &ops, .init = init, .quiesce = nullptr, .fini = fini, .get = nullptr,
};

}  // namespace
}  // namespace stream

CONSORT_MODULE(stream, DRIVER, 0, "stream", "0.1.0", stream::plugin);
