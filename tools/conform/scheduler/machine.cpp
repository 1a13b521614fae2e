#include "conform/scheduler/machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

namespace conform {

std::vector<uint32_t> workers_of(const std::vector<uint32_t> &each) {
  std::vector<uint32_t> klass;
  for (uint32_t c = 0; c < each.size(); ++c) klass.insert(klass.end(), each[c], c);
  return klass;
}

Machine::Machine(Host &host, std::vector<uint32_t> klass) : klass_(std::move(klass)) {
  host.user = this;
  host.serve(CONSORT_SCHED_ID, services());
  describe();
}

void Machine::resize(std::vector<uint32_t> klass) {
  klass_ = std::move(klass);
  describe();
}

void Machine::set_load(uint32_t worker, float ns) {
  if (worker >= load_.size()) load_.resize(worker + 1, 0);
  load_[worker] = ns;
}

bool Machine::forget_older() {
  bool any = false;
  for (size_t k = 0; k + 1 < snapshots_.size(); ++k) any = snapshots_[k].forget() || any;
  return any;
}

void Machine::describe() {
  snapshots_.emplace_back(klass_, static_cast<uint32_t>(snapshots_.size() + 1));
  now_.store(snapshots_.back().table(), std::memory_order_release);  // pairs with the table's topology()
}

Machine::Snapshot::Snapshot(const std::vector<uint32_t> &klass, uint32_t generation) {
  static const std::vector<std::string> names = [] {  // one for each bit of `where`
    std::vector<std::string> all;
    for (int c = 0; c < 64; ++c) all.push_back("class" + std::to_string(c));
    return all;
  }();
  const uint32_t nclasses = *std::max_element(klass.begin(), klass.end()) + 1, nworkers = static_cast<uint32_t>(klass.size());
  bytes_ = sizeof(consort_topology) + nworkers * sizeof(consort_worker) + nclasses * nclasses * sizeof(consort_hop) +
           nclasses * sizeof(const char *);
  pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages_ == MAP_FAILED) throw std::bad_alloc();
  auto *const t = new (pages_) consort_topology{};
  auto *const classes = reinterpret_cast<const char **>(t + 1);
  auto *const hops = reinterpret_cast<consort_hop *>(classes + nclasses);
  auto *const workers = reinterpret_cast<consort_worker *>(hops + nclasses * nclasses);
  for (uint32_t w = 0; w < nworkers; ++w) workers[w] = {w, klass[w], klass[w], 0, 1, static_cast<int32_t>(w / 2)};
  for (uint32_t c = 0; c < nclasses; ++c) classes[c] = names[c].c_str();
  for (uint32_t from = 0; from < nclasses; ++from)
    for (uint32_t to = 0; to < nclasses; ++to) hops[from * nclasses + to] = {10'000'000'000u, from == to ? 0 : 1000u, 1};
  t->size = sizeof *t;
  t->generation = generation;
  t->nworkers = nworkers;
  t->nspaces = nclasses;
  t->nclasses = nclasses;
  t->workers = workers;
  t->hops = hops;
  t->classes = classes;
}

Machine::Snapshot::~Snapshot() { munmap(pages_, bytes_); }

bool Machine::Snapshot::forget() {
  if (is_forgotten_) return false;
  return is_forgotten_ = mprotect(pages_, bytes_, PROT_NONE) == 0;
}

uint64_t Machine::run_ns(const consort_task &t, uint32_t klass) {  // higher classes are faster
  return (1 + t.codelet) * 20'000u / (1 + 3 * klass);
}

const consort_sched_host *Machine::services() {
  static const consort_sched_host table = {
      .size = sizeof(consort_sched_host),
      .reserved = 0,
      .topology = [](const consort_host *h) { return of(h).now_.load(std::memory_order_acquire); },
      .can_execute =
          [](const consort_host *h, const consort_task *const *tasks, uint32_t nt, const uint32_t *workers, uint32_t nw,
             uint64_t *out) {
            const Machine &m = of(h);
            for (uint32_t t = 0; t < nt; ++t)
              for (uint32_t w = 0; w < nw; ++w) out[t * nw + w] = m.suits(workers[w], tasks[t]->where) ? 1 : 0;
          },
      .expected_ns =
          [](const consort_host *h, const consort_task *const *tasks, uint32_t nt, const uint32_t *workers, uint32_t nw, uint32_t,
             float *out) {
            const Machine &m = of(h);
            for (uint32_t t = 0; t < nt; ++t)
              for (uint32_t w = 0; w < nw; ++w)
                out[t * nw + w] = m.suits(workers[w], tasks[t]->where)
                                      ? static_cast<float>(run_ns(*tasks[t], m.klass_[workers[w]]))
                                      : NAN;
          },
      .energy_uj =
          [](const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *, uint32_t nw, uint32_t, float *out) {
            std::fill_n(out, uint64_t{nt} * nw, NAN);
          },
      .transfer_ns =
          [](const consort_host *, const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns, float *out) {
            for (uint32_t t = 0; t < nt; ++t)
              for (uint32_t s = 0; s < ns; ++s) {  // all data are in space 0
                uint64_t bytes = 0;
                for (uint32_t a = 0; a < tasks[t]->naccess; ++a) bytes += tasks[t]->access[a].datum->bytes;
                out[t * ns + s] = spaces[s] == 0 || bytes == 0 ? 0 : 1000 + static_cast<float>(bytes) / 10;
              }
          },
      .resident =
          [](const consort_host *, const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns, uint64_t *out) {
            for (uint32_t t = 0; t < nt; ++t)
              for (uint32_t s = 0; s < ns; ++s) {
                out[t * ns + s] = 0;
                for (uint32_t a = 0; spaces[s] == 0 && a < tasks[t]->naccess; ++a)
                  out[t * ns + s] += tasks[t]->access[a].datum->bytes;
              }
          },
      .load_ns =
          [](const consort_host *h, const uint32_t *workers, uint32_t nw, float *out) {
            const std::vector<float> &load = of(h).load_;
            for (uint32_t w = 0; w < nw; ++w) out[w] = workers[w] < load.size() ? load[workers[w]] : 0;
          },
      .room =
          [](const consort_host *, const uint32_t *, uint32_t ns, consort_room *out) {
            std::fill_n(out, ns, consort_room{uint64_t{1} << 40, 0, 0});
          },
      .successors = [](const consort_host *, const consort_task *, const consort_task **, uint32_t) -> uint32_t { return 0; },
      .prefetch = [](const consort_host *, const consort_task *, uint32_t, int32_t) {},
      .unneeded = [](const consort_host *, uint64_t, uint32_t) {},
      .decided = [](const consort_host *h, const consort_task *, uint32_t, float, uint64_t) { ++of(h).decisions_; },
      .codelet_name = [](const consort_host *, const consort_task *) { return "task"; },
      .lacking =
          [](const consort_host *, const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns, uint64_t *out) {
            for (uint32_t t = 0; t < nt; ++t)
              for (uint32_t s = 0; s < ns; ++s)
                out[t * ns + s] = spaces[s] == 0 ? 0 : (uint64_t{1} << std::min<uint32_t>(tasks[t]->naccess, 63)) - 1;
          },
      .ranked = [](const consort_host *, const consort_task *, float) {},
  };
  return &table;
}

}  // namespace conform
