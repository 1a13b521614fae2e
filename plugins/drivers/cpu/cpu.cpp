// cpu.cpp — the driver of the host's own cores: a unit per core, a space per NUMA node, copies by memcpy.
//
// Its units are inline: the kernel's worker threads call the functions of tasks themselves, so no task passes
// through a queue of this driver. Queues serve copies, fills and calls; they do the work inside
// submit() and report it from poll(), in order. The driver starts and binds no thread.
#include <consort/driver.h>
#include <consort/nearby.h>
#include <consort/plugin/host.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "machine.hpp"

namespace cpu {
namespace {

constexpr uint32_t kDepth = 64;
constexpr uint64_t kMapped = 128 << 10;  // larger blocks are mapped, smaller ones come from malloc

struct Driver {
  const consort_host *host;
  Settings settings;
};

struct Device {
  Driver *driver;
  Machine machine;
};

struct Queue {
  const consort_host *host;
  consort_done done[kDepth];
  uint32_t first = 0, count = 0;
};

Device &device(void *d) noexcept { return *static_cast<Device *>(d); }

// For functions that throw only std::bad_alloc.
template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (...) {
    return consort::plugin::caught(host, "cpu: out of memory while reading the machine's topology");
  }
}

// -- life -----------------------------------------------------------------------------------------------------

consort_status init(const consort_host *host, void **self) noexcept {
  return guarded(host, [&] {
    auto d = std::make_unique<Driver>();
    d->host = host;
    const auto text = [&](const char *key, const char *fallback) -> std::string {
      const char *v = host->param ? host->param(host, key) : nullptr;
      return v ? v : fallback;
    };
    const auto yes = [&](const char *key, const char *fallback) {
      const std::string v = text(key, fallback);
      return v == "true" || v == "1" || v == "yes" || v == "on";
    };
    d->settings.workers = static_cast<uint32_t>(std::strtoul(text("workers", "0").c_str(), nullptr, 10));
    d->settings.units = yes("units", "true");
    d->settings.smt = yes("smt", "false");
    d->settings.numa = yes("numa", "true");
    d->settings.cores = text("cores", "");
    d->settings.topology = text("topology", "");
    d->settings.root = text("root", "");
    if (!d->settings.root.empty() && d->settings.root.back() == '/') d->settings.root.pop_back();
    *self = d.release();
    return CONSORT_OK;
  });
}

consort_status quiesce(void *, uint64_t) noexcept { return CONSORT_OK; }
void fini(void *self) noexcept { delete static_cast<Driver *>(self); }

uint32_t count(void *) noexcept { return 1; }

consort_status open(void *self, uint32_t index, uint64_t, void **out) noexcept {
  auto *driver = static_cast<Driver *>(self);
  if (index != 0) return driver->host->fail(driver->host, CONSORT_E_INVAL, "cpu: there is one device, number 0");
  return guarded(driver->host, [&] {
    auto d = std::make_unique<Device>();
    d->driver = driver;
    const consort_status status = d->machine.open(driver->settings, driver->host);
    if (status < 0) return status;
    *out = d.release();
    return status;
  });
}

void close(void *dev) noexcept { delete &device(dev); }

// -- description -----------------------------------------------------------------------------------------------

consort_status space(void *dev, uint32_t i, consort_space_desc *out) noexcept {
  auto &nodes = device(dev).machine.nodes();
  if (i >= nodes.size()) return CONSORT_E_INVAL;
  Node &n = nodes[i];
  n.id = out->id;
  consort_space_desc d = *out;
  d.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  d.numa = n.numa;
  d.name = n.name.c_str();
  d.domain = "host";
  d.domain_key = i;
  d.capacity = n.capacity ? n.capacity : UINT64_MAX;
  d.granule = d.align = 64;
  std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
  return CONSORT_OK;
}

consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) noexcept {
  Machine &m = device(dev).machine;
  if (!device(dev).driver->settings.units || i >= m.cores().size()) return CONSORT_E_INVAL;
  const Core &core = m.cores()[i];
  consort_unit_desc d = *out;
  d.flags = CONSORT_UNIT_INLINE;
  d.space = m.nodes()[core.node].id;
  d.depth = 1;
  d.numa = m.nodes()[core.node].numa;
  d.klass = "cpu";
  d.arch = m.arch().c_str();
  d.cpuset = core.cpuset.empty() ? nullptr : core.cpuset.data();
  d.cpuset_words = static_cast<uint32_t>(core.cpuset.size());
  d.reserved = 0;
  std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
  return CONSORT_OK;
}

// Links exist to all host memory, also of other drivers: the cores load and store it in place, and memcpy copies it.
consort_status link(void *, const consort_space_desc *src, const consort_space_desc *dst,
                    consort_link_desc *out) noexcept {
  const auto host_memory = [](const consort_space_desc *s) {
    constexpr uint32_t need = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
    return (s->flags & need) == need && !(s->flags & CONSORT_SP_OPAQUE) && s->domain &&
           std::strcmp(s->domain, "host") == 0;
  };
  if (!host_memory(src) || !host_memory(dst)) return CONSORT_E_UNSUPPORTED;
  consort_link_desc d{};
  d.size = out->size;
  d.flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_LOADSTORE;
  d.bytes_per_s = src->id == dst->id ? 12'000'000'000 : 8'000'000'000;  // default until it is measured
  d.latency_ns = src->id == dst->id ? 100 : 200;
  d.engines = 1;
  d.max_run = UINT64_MAX;
  d.min_align = 1;
  d.bounce_space = CONSORT_NONE;
  std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
  return CONSORT_OK;
}

// -- memory ---------------------------------------------------------------------------------------------------

uint64_t page() noexcept { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }
uint64_t mapped_bytes(uint64_t bytes) noexcept { return (bytes + page() - 1) / page() * page(); }

void *map(Device &d, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags) noexcept {
  const uint64_t whole = mapped_bytes(bytes), slack = align > page() ? align - page() : 0;
  if (whole < bytes || whole + slack < whole) return nullptr;
  void *got = mmap(nullptr, whole + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  const uint64_t at = reinterpret_cast<uint64_t>(got), start = (at + align - 1) / align * align;
  if (start > at) munmap(got, start - at);
  if (at + slack > start) munmap(reinterpret_cast<void *>(start + whole), at + slack - start);
  void *p = reinterpret_cast<void *>(start);
  if (flags & CONSORT_AL_HUGE) madvise(p, whole, MADV_HUGEPAGE);
  if (d.machine.is_here() && d.machine.nodes().size() > 1)
    for (const Node &n : d.machine.nodes())
      if (n.id == space && n.object)
        hwloc_set_area_membind(d.machine.topology(), p, whole, n.object->nodeset, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_BYNODESET);  // a preference: memory of another node is better than none
  return p;
}

consort_status alloc(void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags,
                     consort_addr *out) noexcept {
  Device &d = device(dev);
  const consort_host *host = d.driver->host;
  char text[160];
  bool known = false;
  for (const Node &n : d.machine.nodes()) known |= n.id == space;
  if (align == 0) align = 64;
  if (!known || bytes == 0 || (align & (align - 1)) != 0) {
    std::snprintf(text, sizeof text,
                  "cpu: cannot allocate %llu bytes aligned to %llu in space %u; bytes must not be 0, the "
                  "alignment a power of two, the space of this driver",
                  (unsigned long long)bytes, (unsigned long long)align, space);
    return host->fail(host, CONSORT_E_INVAL, text);
  }
  constexpr uint32_t can = CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT;
  if (flags & ~can) {
    std::snprintf(text, sizeof text,
                  "cpu: allocation flags 0x%x: this driver has no pinned or exported memory; use the "
                  "device's driver",
                  flags & ~can);
    return host->fail(host, CONSORT_E_UNSUPPORTED, text);
  }
  void *p = nullptr;
  if (bytes >= kMapped) {
    p = map(d, space, bytes, align, flags);
  } else if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, bytes) != 0) {
    p = nullptr;
  } else if (flags & CONSORT_AL_ZERO) {
    std::memset(p, 0, bytes);
  }
  if (!p) {
    std::snprintf(text, sizeof text, "cpu: out of memory: %llu bytes in space %u", (unsigned long long)bytes, space);
    return host->fail(host, CONSORT_E_NOMEM, text);
  }
  *out = {reinterpret_cast<uint64_t>(p), 0};
  return CONSORT_OK;
}

void free(void *, uint32_t, consort_addr addr, uint64_t bytes) noexcept {
  void *p = reinterpret_cast<void *>(addr.base + addr.off);
  if (bytes >= kMapped) munmap(p, mapped_bytes(bytes));
  else std::free(p);
}

// Host memory is accessible in place: no pinning, no mapping.
consort_status attach(void *, uint32_t, consort_addr addr, uint64_t, consort_addr *local) noexcept {
  *local = addr;
  return CONSORT_OK;
}
void detach(void *, uint32_t, consort_addr) noexcept {}

consort_status load_impl(void *dev, const char *format, const void *, uint64_t, const char *entry,
                         uint64_t *) noexcept {
  char text[200];
  std::snprintf(text, sizeof text, "cpu: \"%s\" in format \"%s\" cannot be loaded: cores run host functions; give the "
                "implementation for \"cpu\" as fn", entry ? entry : "", format ? format : "");
  const consort_host *host = device(dev).driver->host;
  return host->fail(host, CONSORT_E_UNSUPPORTED, text);
}

// -- queues ---------------------------------------------------------------------------------------------------

consort_status queue_open(void *dev, uint32_t, uint64_t, consort_queue_desc *out, void **q) noexcept {
  auto *queue = new (std::nothrow) Queue;
  const consort_host *host = device(dev).driver->host;
  if (!queue) return host->fail(host, CONSORT_E_NOMEM, "cpu: out of memory for a queue");
  queue->host = host;
  const consort_queue_desc d{out->size, CONSORT_Q_IN_ORDER, 0, kDepth, 0};
  std::memcpy(out, &d, out->size < sizeof d ? out->size : sizeof d);
  *q = queue;
  return CONSORT_OK;
}

void queue_close(void *q) noexcept { delete static_cast<Queue *>(q); }

char *at(consort_addr a) noexcept { return reinterpret_cast<char *>(a.base + a.off); }

uint64_t copy(const consort_copy &c) noexcept {
  for (uint64_t z = 0; z < c.n[1]; ++z)
    for (uint64_t y = 0; y < c.n[0]; ++y)
      std::memcpy(at(c.dst) + static_cast<int64_t>(z) * c.dst_step[1] + static_cast<int64_t>(y) * c.dst_step[0],
                  at(c.src) + static_cast<int64_t>(z) * c.src_step[1] + static_cast<int64_t>(y) * c.src_step[0], c.run);
  return c.run * c.n[0] * c.n[1];
}

// Repeats the pattern's four bytes, in memory order; the last copy may be cut.
uint64_t fill(const consort_fill &f) noexcept {
  char *p = at(f.dst);
  for (uint64_t i = 0; i < f.run; i += 4) std::memcpy(p + i, &f.pattern, f.run - i < 4 ? f.run - i : 4);
  return f.run;
}

consort_status execute(const consort_op &op, uint64_t *bytes) noexcept {
  switch (op.kind) {
    case CONSORT_OP_COPY: *bytes = copy(op.u.copy); return CONSORT_OK;
    case CONSORT_OP_FILL: *bytes = fill(op.u.fill); return CONSORT_OK;
    case CONSORT_OP_CALL:
      op.u.call.call->native_queue = op.u.call.call->native_context = nullptr;
      return op.u.call.fn(op.u.call.call);
    case CONSORT_OP_MARK: return CONSORT_OK;
    default: return CONSORT_E_UNSUPPORTED;  // LAUNCH: there is no code; ALLOC, FREE: not by queue
  }
}

// Tickets are not checked: they can only name ops of this queue, which are complete.
uint32_t submit(void *q, const consort_op *ops, uint32_t n) noexcept {
  auto &queue = *static_cast<Queue *>(q);
  uint32_t i = 0;
  for (; i < n && queue.count < kDepth; ++i) {
    const bool time = ops[i].flags & CONSORT_OPF_TIME;
    consort_done d{};
    d.cookie = ops[i].cookie;
    d.source = CONSORT_NONE;
    if (time) d.t0 = queue.host->now(queue.host);
    d.status = execute(ops[i], &d.bytes);
    if (time) d.t1 = queue.host->now(queue.host);
    queue.done[(queue.first + queue.count++) % kDepth] = d;
  }
  return i;
}

uint32_t poll(void *q, consort_done *out, uint32_t max) noexcept {
  auto &queue = *static_cast<Queue *>(q);
  uint32_t n = 0;
  for (; n < max && queue.count; ++n, --queue.count) {
    out[n] = queue.done[queue.first];
    queue.first = (queue.first + 1) % kDepth;
  }
  return n;
}

uint32_t nearby_set(void *dev, uint32_t i, uint32_t *units, uint32_t max) noexcept {
  const Device &d = device(dev);
  const auto &sets = d.machine.nearby();
  if (!d.driver->settings.units || i >= sets.size()) return 0;
  const auto n = static_cast<uint32_t>(sets[i].size());
  std::memcpy(units, sets[i].data(), sizeof(uint32_t) * (n < max ? n : max));
  return n;
}

constexpr consort_nearby nearby = {sizeof(consort_nearby), 0, nearby_set};
const void *get(void *, const char *id) noexcept { return std::strcmp(id, CONSORT_NEARBY_ID) == 0 ? &nearby : nullptr; }

constexpr consort_param params[] = {
    {"workers", "u32", "0", "0..65536",
     "units to offer; 0: one per core that cores, affinity and the cgroup's quota leave"},
    {"units", "bool", "true", nullptr, "false: only the host's memory, for programs whose tasks all run on devices"},
    {"cores", "string", "", nullptr, "cores to use, by their logical numbers in hwloc, as \"0-3,8\"; empty: all"},
    {"smt", "bool", "false", nullptr, "a unit per hardware thread instead of one per core"},
    {"numa", "bool", "true", nullptr, "a memory space per NUMA node instead of one for all"},
    {"topology", "string", "", nullptr,
     "a synthetic machine: hwloc's synthetic description or XML file; units are then not bound"},
    {"root", "string", "", nullptr, "folder below which /proc and /sys are looked up; for tests"},
};

constexpr consort_driver_ops ops = {
    .size = sizeof(consort_driver_ops), .flags = 0,
    .count = count, .open = open, .close = close, .space = space, .unit = unit, .link = link, .alloc = alloc,
    .free = free, .attach = attach, .detach = detach, .load_impl = load_impl, .queue_open = queue_open,
    .queue_close = queue_close, .submit = submit, .poll = poll, .event_fd = nullptr, .arm = nullptr,
    .next_event = nullptr, .codelet = nullptr,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_SWAPPABLE, .name = "cpu", .version = "0.1.0",
    .summary = "the host's cores: a unit per core, a space per NUMA node", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &ops, .init = init, .quiesce = quiesce, .fini = fini, .get = get,
};

}  // namespace
}  // namespace cpu

CONSORT_MODULE(cpu, DRIVER, CONSORT_PF_SWAPPABLE, "cpu", "0.1.0", cpu::plugin);
