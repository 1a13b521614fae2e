// What the memory benchmarks share: a runtime on a machine of their choice, the driver's own copies, rows of results.
// Owned by main(), on the main thread. It looks into the kernel for one thing alone: the table of the driver behind a
// link, whose bare copies are what the kernel's are compared with.
#pragma once
#include <consort/consort.h>
#include <consort/memory.h>
#include <kernel/api/entry.hpp>
#include <kernel/machine/topology.hpp>

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline constexpr int kReps = 7;

struct Options {
  bool smoke = false;            // small and quick: that it works, not how well
  std::string disk = "/var/tmp";
  int tiles = 0, tile = 0, reps = kReps;
};

inline double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

// Where others work on the machine too: what they take away is never given.
inline double most(const std::vector<double> &v) { return v.empty() ? 0 : *std::max_element(v.begin(), v.end()); }

// One line of JSON. reference 0: the value stands for itself. goal: of the ratio, or of the value where there is none.
inline void row(const std::string &name, double value, const char *unit, double reference, const char *goal) {
  std::printf("{\"case\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"reference\": %.6g, \"ratio\": %.4f, \"goal\": \"%s\"}\n",
              name.c_str(), value, unit, reference, reference > 0 ? value / reference : 0.0, goal);
  std::fflush(stdout);
}

inline void must(consort_status s, const char *what) {
  if (s >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

class Machine {
public:
  using Settings = std::vector<std::pair<std::string, std::string>>;
  explicit Machine(Settings settings) {
    settings.insert(settings.begin(), {"plugin_path", CONSORT_BENCH_PLUGINS});
    std::vector<consort_setting> set;
    for (const auto &[key, value] : settings) set.push_back({key.c_str(), value.c_str()});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = set.data();
    s.nset = static_cast<uint32_t>(set.size());
    if (consort_start(&s, &rt_) < 0) why_ = consort_error();
  }
  Machine(const Machine &) = delete;
  ~Machine() {
    if (rt_) consort_stop(rt_);
  }
  explicit operator bool() const { return rt_; }
  const std::string &why() const { return why_; }
  operator consort_runtime *() const { return rt_; }
  consort::Runtime &kernel() const { return *consort_runtime::runtime(rt_->state.load(std::memory_order_acquire)); }

  // The first space whose name begins so; CONSORT_NONE: there is none.
  uint32_t space(const std::string &name) const {
    for (const consort::Space &s : kernel().topology->spaces())
      if (std::string(s.desc.name).starts_with(name)) return s.desc.id;
    return CONSORT_NONE;
  }
  uint32_t home() const { return kernel().topology->home(); }
  double now() const { return kernel().virtual_time ? static_cast<double>(kernel().clock.now()) : now_ns(); }

  consort_codelet_id codelet(const char *name, const char *klass, consort_call_fn *fn, const char *second = nullptr) const {
    const consort_impl impls[] = {{klass, fn, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                  {second, fn, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name;
    d.impls = impls;
    d.nimpls = second ? 2 : 1;
    consort_codelet_id id{0};
    must(consort_codelet_add(rt_, &d, &id), "codelet");
    return id;
  }
  consort_task_id submit(consort_codelet_id codelet, const std::vector<consort_use> &uses, int32_t priority = 0) const {
    consort_task_desc t = CONSORT_TASK_INIT;
    t.codelet = codelet;
    t.uses = uses.data();
    t.nuses = static_cast<uint32_t>(uses.size());
    t.priority = priority;
    consort_task_id id{0};
    must(consort_submit(rt_, &t, &id), "submit");
    return id;
  }
  void wait(consort_task_id task) const { must(consort_task_wait(rt_, task, CONSORT_FOREVER, 0), "wait"); }
  void wait() const { must(consort_wait_all(rt_, CONSORT_FOREVER, 0), "wait"); }

private:
  consort_runtime *rt_ = nullptr;
  std::string why_;
};

// What a space has taken in and lost so far. saved_bytes: only ones, copied elsewhere before they went.
struct Traffic { double in, saved, evictions, needed_evictions; };
inline Traffic traffic(const Machine &m, uint32_t space) {
  consort_space_use s = CONSORT_SPACE_USE_INIT;
  must(consort_get_space_use(m, space, &s), "space use");
  Traffic t{0, static_cast<double>(s.saved_bytes), static_cast<double>(s.evictions), static_cast<double>(s.needed_evictions)};
  for (uint32_t from = 0; from < m.kernel().topology->spaces().size(); ++from) {
    consort_link_use l = CONSORT_LINK_USE_INIT;
    if (from != space && consort_get_link_use(m, from, space, &l) == CONSORT_OK) t.in += static_cast<double>(l.bytes);
  }
  return t;
}

inline consort_status nothing(const consort_call *) { return CONSORT_OK; }

// Memory of a space, from its driver.
class Block {
public:
  Block(const Machine &m, uint32_t space, uint64_t bytes) : space_(m.kernel().topology->spaces()[space]), bytes_(bytes) {
    must(space_.device->ops->alloc(space_.device->dev, space, bytes, std::max<uint64_t>(space_.desc.align, 64), 0, &addr_), "alloc");
  }
  Block(const Block &) = delete;
  ~Block() { space_.device->ops->free(space_.device->dev, space_.desc.id, addr_, bytes_); }
  consort_addr addr() const { return addr_; }

private:
  const consort::Space &space_;
  uint64_t bytes_;
  consort_addr addr_{};
};

// The driver's own copies: on a queue of its own, all handed over as fast as it takes them.
class Raw {
public:
  Raw(const Machine &m, uint32_t from, uint32_t to) : m_(m), device_(*m.kernel().topology->link(from, to).device) {
    consort_queue_desc d{};
    d.size = sizeof d;
    must(device_.ops->queue_open(device_.dev, CONSORT_NONE, UINT64_MAX - 1, &d, &q_), "queue");
  }
  Raw(const Raw &) = delete;
  ~Raw() { device_.ops->queue_close(q_); }

  // ns until all are over. more(): called each time one is, with room for another copy to follow it; false: none does.
  double run(const std::vector<consort_copy> &copies, const std::function<bool(consort_copy *)> &more = nullptr) {
    std::vector<consort_op> ops;
    const auto op = [](const consort_copy &c) {
      consort_op o{};
      o.kind = CONSORT_OP_COPY;
      o.codelet = o.impl = CONSORT_NONE;
      o.u.copy = c;
      return o;
    };
    for (const consort_copy &c : copies) ops.push_back(op(c));
    consort::Runtime &rt = m_.kernel();
    const double start = m_.now();
    for (size_t sent = 0, over = 0; over < ops.size();) {
      if (sent < ops.size())
        sent += device_.ops->submit(q_, ops.data() + sent, static_cast<uint32_t>(std::min<size_t>(ops.size() - sent, 16)));
      consort_done done[16];
      const uint32_t n = device_.ops->poll(q_, done, 16);
      for (uint32_t i = 0; i < n; ++i) {
        must(done[i].status, "copy");
        consort_copy next;
        if (more && more(&next)) ops.push_back(op(next));
      }
      over += n;
      if (!n && rt.virtual_time) {
        if (const uint64_t next = device_.ops->next_event(q_); next != CONSORT_NEVER) rt.clock.advance_to(next);
      } else if (!n) rest();
    }
    return m_.now() - start;
  }

private:
  // Until something is over, as the driver would have it.
  void rest() {
    if (!(device_.ops->flags & CONSORT_DRV_FD) || !device_.ops->arm) return void(sched_yield());
    if (device_.ops->arm(q_) != CONSORT_OK) return;
    pollfd p{device_.ops->event_fd(q_), POLLIN, 0};
    ::poll(&p, 1, -1);
  }

  const Machine &m_;
  const consort::Device &device_;
  void *q_ = nullptr;
};

// The cases. Each prints its rows; what this machine lacks is said on stderr, and left out.
void copies(const Options &);
void checksum(const Options &);
void chain(const Options &);
void overlap(const Options &);
void replacement(const Options &);
void out_of_core(const Options &);

} // namespace bench
