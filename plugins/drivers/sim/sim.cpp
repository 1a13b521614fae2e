// sim.cpp — the driver of simulated accelerators: table, memory, queues.
//
// The parameters describe the machine (machine); one engine simulates all devices. A device's memory is separate host
// memory: only copies and the functions of its own tasks get its addresses.
#include <consort/nearby.h>
#include <consort/plugin/host.hpp>
#include <consort/times.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "engine.hpp"

namespace sim {
namespace {

constexpr uint64_t kGranule = 256;
constexpr uint32_t kCopies = 64;  // in flight on a copy queue

Engine &engine(void *self) noexcept { return *static_cast<Engine *>(self); }
Device &device(void *d) noexcept { return *static_cast<Device *>(d); }
Queue &queue(void *q) noexcept { return *static_cast<Queue *>(q); }
Engine &engine_of(const Queue &q) noexcept { return *q.device->engine; }

template <class T>
void give(T *out, const T &d) noexcept {  // an older host has a shorter struct
  std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
}

template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (const Bad &b) {
    return host->fail(host, CONSORT_E_INVAL, b.text.c_str());
  } catch (...) {
    return consort::plugin::caught(host, "sim: out of memory");
  }
}

// -- life -------------------------------------------------------------------------------------------------------------

consort_status init(const consort_host *host, void **self) noexcept {
  return guarded(host, [&]() -> consort_status {
    Machine m = Machine::read(host);
    if (m.devices.empty())
      return host->fail(host, CONSORT_E_UNSUPPORTED, "sim: no device: set sim.devices to a number above 0");
    *self = new Engine(host, std::move(m));
    return CONSORT_OK;
  });
}

consort_status quiesce(void *self, uint64_t) noexcept {
  Engine &e = engine(self);
  const std::lock_guard lock(e.mutex);
  return e.idle() ? CONSORT_OK : e.host->fail(e.host, CONSORT_E_BUSY, "sim: a queue is still open");
}

void fini(void *self) noexcept { delete &engine(self); }

uint32_t count(void *self) noexcept { return static_cast<uint32_t>(engine(self).machine.devices.size()); }

consort_status open(void *self, uint32_t index, uint64_t token, void **out) noexcept {
  Engine &e = engine(self);
  if (index >= e.machine.devices.size()) return CONSORT_E_INVAL;
  return guarded(e.host, [&] {
    auto d = std::make_unique<Device>();
    d->engine = &e;
    d->index = index;
    d->token = token;
    d->spec = &e.machine.devices[index];
    d->space_name = d->spec->host ? "ram" : d->spec->name + ":ram";
    d->chance.state = e.machine.seed * 0x9e3779b97f4a7c15u + index + 1;
    d->opened = e.now();
    const std::lock_guard lock(e.mutex);
    e.add(*d);
    *out = d.release();
    return CONSORT_OK;
  });
}

void close(void *dev) noexcept {
  const std::unique_ptr<Device> d(&device(dev));
  Engine &e = *d->engine;
  {
    const std::lock_guard lock(e.mutex);
    e.remove(*d);
  }
  uint64_t bytes = 0;
  for (auto *blocks : {&d->blocks, &d->pinned})
    for (const auto &[at, n] : *blocks) {
      bytes += n;
      std::free(reinterpret_cast<void *>(at));
    }
  if (bytes)
    e.host->log(e.host, 2,
                ("sim: " + d->spec->name + " is closed with " + std::to_string(bytes) + " bytes in " +
                 std::to_string(d->blocks.size() + d->pinned.size()) + " blocks that were not freed")
                    .c_str());
}

// -- description -------------------------------------------------------------------------------------------------------

consort_status space(void *dev, uint32_t i, consort_space_desc *out) noexcept {
  Device &d = device(dev);
  Engine &e = *d.engine;
  if (i > 0) return CONSORT_E_INVAL;
  return guarded(e.host, [&] {
    const std::lock_guard lock(e.mutex);
    d.space = out->id;
    e.spaces[out->id] = e.machine.endpoint(d.index);
    consort_space_desc s = *out;
    s.flags = d.spec->host ? CONSORT_SP_CPU | CONSORT_SP_COHERENT : 0;
    s.numa = -1;
    s.name = d.space_name.c_str();
    s.domain = d.spec->host ? "host" : "sim";
    s.domain_key = d.index + 1;
    s.capacity = d.spec->memory;
    s.granule = kGranule;
    s.align = 1;  // host functions accept any address
    give(out, s);
    return CONSORT_OK;
  });
}

consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) noexcept {
  const Device &d = device(dev);
  if (i >= d.spec->units) return CONSORT_E_INVAL;
  consort_unit_desc u{};
  std::memcpy(&u, out, std::min<size_t>(out->size, sizeof u));
  const bool others = !d.spec->runs.empty() && d.spec->runs != d.spec->klass;
  u.flags = others || d.engine->machine.virtual_time ? CONSORT_UNIT_SIMULATED : 0;
  if ((d.spec->host || d.spec->sockets) && d.engine->machine.virtual_time) u.flags |= CONSORT_UNIT_TEAMS;
  u.space = d.space;
  u.depth = d.spec->depth;
  u.numa = -1;
  u.klass = d.spec->klass.c_str();
  u.arch = d.spec->arch.c_str();
  u.cpuset = nullptr;
  u.cpuset_words = 0;
  u.runs = others ? d.spec->runs.c_str() : nullptr;
  give(out, u);
  return CONSORT_OK;
}

consort_status link(void *dev, const consort_space_desc *src, const consort_space_desc *dst,
                    consort_link_desc *out) noexcept {
  const Device &d = device(dev);
  Engine &e = *d.engine;
  return guarded(e.host, [&]() -> consort_status {
    const std::lock_guard lock(e.mutex);
    for (const consort_space_desc *s : {src, dst})
      if ((s->flags & CONSORT_SP_CPU) && (s->flags & CONSORT_SP_COHERENT) && s->domain &&
          std::strcmp(s->domain, "host") == 0)
        e.spaces.emplace(s->id, kHost);
    const int from = e.end_of(src->id), to = e.end_of(dst->id);
    // Between two devices the source has the link.
    const bool mine = src->id == d.space || (dst->id == d.space && from == kHost);
    const Path *path = mine && from != -2 && to != -2 ? e.machine.path(from, to) : nullptr;
    if (!path) return CONSORT_E_UNSUPPORTED;
    consort_link_desc l{};
    l.size = out->size;
    l.flags =
        CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC | (from == kHost && to == kHost ? CONSORT_LK_LOADSTORE : 0);
    l.bytes_per_s = static_cast<uint64_t>(path->bytes_per_s);
    l.latency_ns = static_cast<uint32_t>(std::min<uint64_t>(path->latency_ns, UINT32_MAX));
    l.engines = 1;
    l.max_run = UINT64_MAX;
    l.min_align = 1;
    l.bounce_space = CONSORT_NONE;
    if (const int wire = e.machine.bus_of(*path); wire >= 0) {
      l.bus = static_cast<uint64_t>(wire) + 1;
      l.bus_bytes_per_s = static_cast<uint64_t>(e.machine.wires[static_cast<size_t>(wire)] * 1e9);
    }
    give(out, l);
    return CONSORT_OK;
  });
}

void codelet(void *dev, uint32_t id, const char *name, const char *const *, uint32_t) noexcept {
  Device &d = device(dev);
  guarded(d.engine->host, [&] {
    const std::lock_guard lock(d.engine->mutex);
    d.names[id] = name ? name : "";
    return CONSORT_OK;
  });
}

// -- memory -----------------------------------------------------------------------------------------------------------

consort_status alloc(void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags,
                     consort_addr *out) noexcept {
  Device &d = device(dev);
  Engine &e = *d.engine;
  return guarded(e.host, [&]() -> consort_status {
    std::unique_lock lock(e.mutex);
    const bool own = space == d.space;
    const bool pinned = !own && (flags & CONSORT_AL_PINNED) && e.end_of(space) == kHost;
    const std::string what = std::to_string(bytes) + " bytes in space " + std::to_string(space);
    if (align == 0) align = kGranule;
    if (bytes == 0 || (align & (align - 1)) != 0 || (!own && !pinned))
      return e.fail(
          d, CONSORT_E_INVAL,
          "cannot allocate " + what + " aligned to " + std::to_string(align) +
              "; bytes must not be 0, the alignment a power of two, the space this device's, or the host's with AL_PINNED");
    uint32_t can = CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT;
    if (pinned || d.spec->host) can |= CONSORT_AL_PINNED;
    if (flags & ~can)
      return e.fail(d, CONSORT_E_UNSUPPORTED,
                    "allocation flags " + std::to_string(flags & ~can) + " are not supported");
    if (d.lost) return e.fail(d, CONSORT_E_DEVICE_LOST, "no memory: the device is lost");
    if (e.strikes(d, Fault::kMemory))
      return e.fail(d, CONSORT_E_NOMEM, "out of memory: " + what + ", as set by faults");
    if (bytes > UINT64_MAX - kGranule) return e.fail(d, CONSORT_E_NOMEM, "out of memory: " + what);
    const uint64_t whole = (bytes + kGranule - 1) / kGranule * kGranule;
    if (own && whole > d.spec->memory - d.used)
      return e.fail(d, CONSORT_E_NOMEM,
                    "out of memory: " + what + ", " + std::to_string(d.used) + " of " + std::to_string(d.spec->memory) +
                        " are in use");
    void *p = nullptr;
    if (posix_memalign(&p, std::max<uint64_t>(align, kGranule), whole) != 0)
      return e.fail(d, CONSORT_E_NOMEM, "out of memory: " + what + ", the host has no memory left");
    try {
      (own ? d.blocks : d.pinned)[reinterpret_cast<uint64_t>(p)] = whole;
    } catch (...) {
      std::free(p);
      throw;
    }
    if (own) d.used += whole;
    if (own && !d.spec->host && !d.has_slab) {
      d.has_slab = true;
      d.busy = std::max(d.busy, e.now()) + e.machine.overheads.alloc;
    }
    if (own && !d.spec->host && e.machine.overheads.block) d.busy = std::max(d.busy, e.now()) + e.machine.overheads.block;
    lock.unlock();
    if ((flags & CONSORT_AL_ZERO) && (e.machine.move || !own)) std::memset(p, 0, whole);
    *out = {reinterpret_cast<uint64_t>(p), 0};
    return CONSORT_OK;
  });
}

void free(void *dev, uint32_t space, consort_addr addr, uint64_t) noexcept {
  Device &d = device(dev);
  Engine &e = *d.engine;
  const uint64_t at = addr.base + addr.off;
  {
    const std::lock_guard lock(e.mutex);
    auto &blocks = space == d.space ? d.blocks : d.pinned;
    const auto it = blocks.find(at);
    if (it == blocks.end()) {
      e.host->log(
          e.host, 1,
          ("sim: " + d.spec->name + ": cannot free an address in space " + std::to_string(space) + ": it is not allocated")
              .c_str());
      return;
    }
    if (e.is_in_use(at, it->second))
      e.host->log(e.host, 0, ("sim: " + d.spec->name + ": memory is freed while a copy uses it").c_str());
    if (space == d.space) d.used -= it->second;
    if (space == d.space && !d.spec->host && e.machine.overheads.free)
      d.busy = std::max(d.busy, e.now()) + e.machine.overheads.free;
    blocks.erase(it);
  }
  std::free(reinterpret_cast<void *>(at));
}

bool meets(const std::map<uint64_t, uint64_t> &blocks, uint64_t at, uint64_t bytes) noexcept {
  const auto after = blocks.lower_bound(at + bytes);
  if (after == blocks.begin()) return false;
  const auto last = std::prev(after);
  return last->first + last->second > at;
}

// Host memory needs no pinning and is accessible in place. In the device's own space: memory that the application declares to be
// on the device.
consort_status attach(void *dev, uint32_t space, consort_addr addr, uint64_t bytes, consort_addr *local) noexcept {
  Device &d = device(dev);
  Engine &e = *d.engine;
  return guarded(e.host, [&]() -> consort_status {
    const std::lock_guard lock(e.mutex);
    if (d.lost) return e.fail(d, CONSORT_E_DEVICE_LOST, "cannot attach: the device is lost");
    if (space == d.space && !d.spec->host) {
      const uint64_t at = addr.base + addr.off;
      const std::string what = std::to_string(bytes) + " bytes at " + std::to_string(at);
      if (!at || !bytes || at > UINT64_MAX - bytes)
        return e.fail(d, CONSORT_E_INVAL, what + " are not memory: pass its address and size");
      if (meets(d.blocks, at, bytes)) return e.fail(d, CONSORT_E_INVAL, what + " overlap memory that the driver allocated");
      if (meets(d.lent, at, bytes))
        return e.fail(d, CONSORT_E_INVAL, what + " are in use: unregister the datum there");
      d.lent[at] = bytes;
    }
    *local = addr;
    return CONSORT_OK;
  });
}
void detach(void *dev, uint32_t space, consort_addr local) noexcept {
  Device &d = device(dev);
  const std::lock_guard lock(d.engine->mutex);
  if (space == d.space) d.lent.erase(local.base + local.off);
}

consort_status load_impl(void *dev, const char *format, const void *, uint64_t, const char *entry,
                         uint64_t *) noexcept {
  const Device &d = device(dev);
  const std::lock_guard lock(d.engine->mutex);
  if (d.lost) return d.engine->fail(d, CONSORT_E_DEVICE_LOST, "cannot load a kernel: the device is lost");
  return d.engine->fail(d, CONSORT_E_UNSUPPORTED,
                        std::string("\"") + (entry ? entry : "") + "\" in format \"" + (format ? format : "") +
                            "\" cannot be loaded: sim runs host functions; give one for class \"" +
                            (d.spec->runs.empty() ? d.spec->klass : d.spec->runs) + "\"");
}

// -- queues -----------------------------------------------------------------------------------------------------------

consort_status queue_open(void *dev, uint32_t unit, uint64_t token, consort_queue_desc *out, void **result) noexcept {
  Device &d = device(dev);
  Engine &e = *d.engine;
  return guarded(e.host, [&]() -> consort_status {
    auto q = std::make_unique<Queue>();
    q->device = &d;
    q->token = token;
    q->in_order = unit != CONSORT_NONE;
    q->depth = q->in_order ? d.spec->depth : kCopies;
    if (!e.machine.virtual_time && (q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
      return e.fail(d, CONSORT_E_NOMEM, "no event fd for a queue: raise the limit of open files");
    try {
      std::unique_lock lock(e.mutex);
      if (d.lost) {
        if (q->fd >= 0) ::close(q->fd);
        return e.fail(d, CONSORT_E_DEVICE_LOST, "cannot open a queue: the device is lost");
      }
      e.add(*q, lock);
    } catch (...) {
      if (q->fd >= 0) ::close(q->fd);
      return e.fail(d, CONSORT_E_NOMEM, "cannot start a thread for a queue");
    }
    const consort_queue_desc desc{out->size, CONSORT_Q_WAITS | (q->in_order ? uint32_t{CONSORT_Q_IN_ORDER} : 0), 1,
                                  q->depth, 0};
    give(out, desc);
    *result = q.release();
    return CONSORT_OK;
  });
}

void queue_close(void *handle) noexcept {
  const std::unique_ptr<Queue> q(&queue(handle));
  Engine &e = engine_of(*q);
  std::unique_lock lock(e.mutex);
  e.remove(*q, lock);
  lock.unlock();
  if (q->fd >= 0) ::close(q->fd);
}

uint32_t submit(void *handle, const consort_op *ops, uint32_t n) noexcept {
  Queue &q = queue(handle);
  Engine &e = engine_of(q);
  std::unique_lock lock(e.mutex);
  e.advance(e.now());
  uint32_t i = 0;
  try {
    while (i < n && q.ops.size() + q.done.size() < q.depth) e.accept(q, ops[i]), ++i;
  } catch (...) {
    // no memory: accepts a shorter prefix, as if the queue were full
  }
  return i;
}

uint32_t poll(void *handle, consort_done *out, uint32_t max) noexcept {
  Queue &q = queue(handle);
  Engine &e = engine_of(q);
  std::unique_lock lock(e.mutex);
  e.advance(e.now());
  e.play_effects(lock);
  const auto n = static_cast<uint32_t>(std::min<size_t>(max, q.done.size()));
  std::copy_n(q.done.begin(), n, out);
  q.done.erase(q.done.begin(), q.done.begin() + n);
  e.tell_losses(lock);
  return n;
}

int32_t event_fd(void *q) noexcept { return queue(q).fd; }

consort_status arm(void *handle) noexcept {
  Queue &q = queue(handle);
  Engine &e = engine_of(q);
  const std::lock_guard lock(e.mutex);
  e.advance(e.now());
  if (!q.done.empty() || e.has_effects()) return CONSORT_E_BUSY;
  if (q.fd < 0) return CONSORT_OK;
  eventfd_t old;
  eventfd_read(q.fd, &old);
  q.armed = true;
  return CONSORT_OK;
}

uint64_t next_event(void *handle) noexcept {
  const Queue &q = queue(handle);
  Engine &e = engine_of(q);
  const std::lock_guard lock(e.mutex);
  if (!q.done.empty() || e.has_effects()) return e.now();
  return q.ops.empty() ? CONSORT_NEVER : e.next_event();
}

// -- kernel times for performance models ------------------------------------------------------------------------------

double kernel_ns(void *dev, const consort_times_query *q) noexcept {
  const Device &d = device(dev);
  return d.engine->known_ns(d, q->codelet, q->bytes, q->work) + static_cast<double>(d.spec->delay_ns);
}

double team_ns(void *dev, const consort_times_query *q, uint32_t members) noexcept {
  const Device &d = device(dev);
  return d.engine->known_ns(d, q->codelet, q->bytes, q->work, members) + static_cast<double>(d.spec->delay_ns);
}

// The sockets, then all units. Teams are for virtual time.
uint32_t nearby_set(void *dev, uint32_t i, uint32_t *units, uint32_t max) noexcept {
  const DeviceSpec &d = *device(dev).spec;
  if (!d.sockets || !device(dev).engine->machine.virtual_time || i > d.sockets) return 0;
  const uint32_t n = i < d.sockets ? d.units / d.sockets : d.units, first = i < d.sockets ? i * n : 0;
  for (uint32_t k = 0; k < std::min(n, max); ++k) units[k] = first + k;
  return n;
}

uint64_t submit_ns(void *self) noexcept { return engine(self).machine.overheads.submit; }

uint64_t drop_ns(void *self) noexcept { return engine(self).machine.overheads.drop; }

const void *get(void *, const char *id) noexcept {
  static constexpr consort_times times = {
      .size = sizeof(consort_times), .reserved = 0, .kernel_ns = kernel_ns, .submit_ns = submit_ns, .team_ns = team_ns,
      .drop_ns = drop_ns};
  static constexpr consort_nearby nearby = {sizeof(consort_nearby), 0, nearby_set};
  if (std::strcmp(id, CONSORT_NEARBY_ID) == 0) return &nearby;
  return std::strcmp(id, CONSORT_TIMES_ID) == 0 ? &times : nullptr;
}

constexpr consort_param params[] = {
    {"devices", "u32", "1", "0..64", "number of identical devices"},
    {"machine", "string", "", nullptr, "file that describes devices and links instead, see the README"},
    {"class", "string", "gpu", nullptr, "class of their units"},
    {"runs", "string", "cpu", nullptr,
     "class whose functions run in place of kernels; empty: those of their own class, with device addresses"},
    {"units", "u32", "1", "0..64", "units per device"},
    {"depth", "u32", "4", "1..65536", "ops in flight on a unit; on a core: 1"},
    {"memory", "string", "1G", nullptr, "of each device: bytes, 512M, 2G"},
    {"bandwidth", "string", "12G", nullptr, "of the link between the host and a device, bytes per second each way"},
    {"latency", "string", "10us", nullptr, "of a copy, before its first byte moves"},
    {"duplex", "bool", "true", nullptr, "each direction of a link has its bandwidth; false: they share it"},
    {"bus", "string", "0", nullptr, "bandwidth of a bus shared by all those links; 0: no bus"},
    {"peer", "string", "0", nullptr, "bandwidth from device to device; 0: bytes go over the host"},
    {"inner", "string", "200G", nullptr, "bandwidth within one memory"},
    {"speed", "f64", "1", nullptr, "of kernels: 0.5 takes twice as long as the function"},
    {"delay", "string", "0", nullptr, "of each kernel, before it starts"},
    {"times", "list", "", nullptr, "kernel times by codelet: gemm=200us,potrf=1ms"},
    {"rate", "string", "0", nullptr, "units of a codelet's work per second; 0: not used"},
    {"usual", "string", "100us", nullptr, "time of an unknown kernel in virtual time"},
    {"execute", "bool", "true", nullptr, "call functions; false: kernels only take time, and values are wrong"},
    {"move", "bool", "true", nullptr, "false: copies and fills only take time, and device memory is not touched"},
    {"kernels", "string", "", nullptr, "the set of the file's [[kernel]] tables; empty: the first one of a codelet"},
    {"noise", "f64", "0", "0..1", "random variation of kernel times, up to this share more or less"},
    {"link_noise", "f64", "0", "0..1", "random variation of copy times, up to this share more"},
    {"faults", "list", "", nullptr,
     "faults to inject: oom@3 (the 3rd allocation), copy%0.01 (one in a hundred), kernel@5/1 (on device 1), lost@100, "
     "lost@20ms, slow@8/0"},
    {"seed", "u64", "1", nullptr, "seed of all random numbers"},
    {"time", "string", "real", "real|virtual", "real time, or the runtime's stepped clock"},
    {"cores", "u32", "0", "0..4096", "units of class cpu in the host's memory, for a machine without the driver cpu"},
    {"host_memory", "string", "16G", nullptr, "memory of that simulated host"},
    {"trace", "string", "", nullptr,
     "file with one line per op as this driver completed it; the setting `trace` has the run as `consort trace show` reads it"},
    {"report", "string", "", nullptr, "file to which totals are appended at the end: time, kernels by device, bytes by link"},
};

constexpr uint32_t kFlags = CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL | CONSORT_PF_BY_NAME;

constexpr consort_driver_ops ops = {
    .size = sizeof(consort_driver_ops), .flags = CONSORT_DRV_FD,
    .count = count, .open = open, .close = close, .space = space, .unit = unit, .link = link, .alloc = alloc,
    .free = free, .attach = attach, .detach = detach, .load_impl = load_impl, .queue_open = queue_open,
    .queue_close = queue_close, .submit = submit, .poll = poll, .event_fd = event_fd, .arm = arm,
    .next_event = next_event, .codelet = codelet,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = kFlags, .name = "sim", .version = "0.1.0",
    .summary = "accelerators that do not exist: memory, links, kernels and faults as told", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &ops, .init = init, .quiesce = quiesce, .fini = fini, .get = get,
};

}  // namespace
}  // namespace sim

CONSORT_MODULE(sim, DRIVER, CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL | CONSORT_PF_BY_NAME, "sim", "0.1.0", sim::plugin);
