// virtual_machine.hpp — a machine with a table of times, on which a policy schedules a graph in virtual time. It is a
// double of consort.sched/1, without a kernel.
//
// Owned by one test, one thread. Links are shared fairly, and memory is unlimited. One datum at a time goes to a space;
// data that a popped task waits for go first. A worker holds eight tasks more than it has in flight, as the kernel's
// queues do. It runs them in the order in which their data arrive.
#pragma once
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "schedulers/policy_harness.hpp"

namespace consort_test {

struct MachineShape {
  struct Link { double bytes_per_ns; };
  struct Unit { uint32_t klass, space, depth; };
  std::vector<Unit> units;
  uint32_t nspaces = 1;
  std::vector<Link> links;
  std::vector<std::vector<std::vector<uint32_t>>> routes;  // [from][to]: links
  std::vector<std::vector<double>> latency;                // [from][to], ns
  std::vector<std::vector<double>> ns;                     // [kind][unit]; 0: it cannot
  double overhead = 0;                                     // ns of each task on a unit that is not of class 0
  bool tells_ways = false;                                 // the topology lists the speeds of links

  // The units of class 0 are in space 0, each unit of class 1 in a space of its own. One link to space 0 per unit.
  static MachineShape simple(uint32_t slow, uint32_t fast, double bytes_per_ns, double latency_ns) {
    MachineShape m;
    for (uint32_t i = 0; i < slow; ++i) m.units.push_back({0, 0, 1});
    for (uint32_t i = 0; i < fast; ++i) m.units.push_back({1, 1 + i, 2});
    m.nspaces = 1 + fast;
    m.links.assign(2 * fast, {bytes_per_ns});
    m.routes.assign(m.nspaces, std::vector<std::vector<uint32_t>>(m.nspaces));
    m.latency.assign(m.nspaces, std::vector<double>(m.nspaces, latency_ns));
    for (uint32_t a = 0; a < m.nspaces; ++a)
      for (uint32_t b = 0; b < m.nspaces; ++b) {
        if (a == b) continue;
        if (a) m.routes[a][b].push_back(2 * (a - 1));
        if (b) m.routes[a][b].push_back(2 * (b - 1) + 1);
      }
    return m;
  }
};

struct Graph {
  struct Use { uint32_t datum, mode; };
  struct Item {
    uint32_t kind;
    std::vector<Use> uses;
    int32_t priority = 0;
    std::vector<uint32_t> next;
    uint32_t before = 0;
  };
  std::vector<Item> items;
  uint32_t ndata = 0;
  uint64_t bytes = 0;

  void add(uint32_t kind, std::vector<Use> uses, int32_t priority = 0) {
    const auto me = static_cast<uint32_t>(items.size());
    items.push_back({kind, uses, priority, {}, 0});
    std::set<uint32_t> before;
    for (const Use &u : uses) {
      ndata = std::max(ndata, u.datum + 1);
      if (writer_.contains(u.datum)) before.insert(writer_[u.datum]);
      if (u.mode & CONSORT_M_W) {
        for (uint32_t r : readers_[u.datum]) before.insert(r);
        readers_[u.datum].clear();
        writer_[u.datum] = me;
      } else {
        readers_[u.datum].push_back(me);
      }
    }
    before.erase(me);
    for (uint32_t b : before) items[b].next.push_back(me);
    items[me].before = static_cast<uint32_t>(before.size());
  }

  // kinds: 0 potrf, 1 trsm, 2 syrk, 3 gemm
  static Graph cholesky(uint32_t n, uint64_t bytes) {
    Graph g;
    g.bytes = bytes;
    const auto at = [&](uint32_t i, uint32_t j) { return i * (i + 1) / 2 + j; };
    for (uint32_t k = 0; k < n; ++k) {
      g.add(0, {{at(k, k), CONSORT_M_RW}});
      for (uint32_t i = k + 1; i < n; ++i) g.add(1, {{at(k, k), CONSORT_M_R}, {at(i, k), CONSORT_M_RW}});
      for (uint32_t i = k + 1; i < n; ++i) {
        g.add(2, {{at(i, k), CONSORT_M_R}, {at(i, i), CONSORT_M_RW}});
        for (uint32_t j = k + 1; j < i; ++j)
          g.add(3, {{at(i, k), CONSORT_M_R}, {at(j, k), CONSORT_M_R}, {at(i, j), CONSORT_M_RW}});
      }
    }
    return g;
  }
  // kinds: 0 getrf, 1 trsm of a row, 2 trsm of a column, 3 gemm
  static Graph lu(uint32_t n, uint64_t bytes) {
    Graph g;
    g.bytes = bytes;
    const auto at = [&](uint32_t i, uint32_t j) { return i * n + j; };
    for (uint32_t k = 0; k < n; ++k) {
      g.add(0, {{at(k, k), CONSORT_M_RW}});
      for (uint32_t j = k + 1; j < n; ++j) g.add(1, {{at(k, k), CONSORT_M_R}, {at(k, j), CONSORT_M_RW}});
      for (uint32_t i = k + 1; i < n; ++i) g.add(2, {{at(k, k), CONSORT_M_R}, {at(i, k), CONSORT_M_RW}});
      for (uint32_t i = k + 1; i < n; ++i)
        for (uint32_t j = k + 1; j < n; ++j)
          g.add(3, {{at(i, k), CONSORT_M_R}, {at(k, j), CONSORT_M_R}, {at(i, j), CONSORT_M_RW}});
    }
    return g;
  }
  // kind 0
  static Graph gemm(uint32_t n, uint64_t bytes) {
    Graph g;
    g.bytes = bytes;
    for (uint32_t k = 0; k < n; ++k)
      for (uint32_t i = 0; i < n; ++i)
        for (uint32_t j = 0; j < n; ++j)
          g.add(0, {{i * n + k, CONSORT_M_R}, {n * n + k * n + j, CONSORT_M_R}, {2 * n * n + i * n + j, CONSORT_M_RW}});
    return g;
  }

 private:
  std::map<uint32_t, uint32_t> writer_;
  std::map<uint32_t, std::vector<uint32_t>> readers_;
};

class VirtualMachine {
 public:
  struct Run { uint32_t task, worker, impl; double begin, end; };

  VirtualMachine(const std::string &policy, MachineShape machine, PluginHost::Params params = {})
      : plugin(policy, std::move(params)), m(std::move(machine)) {
    if (!plugin.ready()) {
      ADD_FAILURE() << plugin.failure();
      return;
    }
    plugin.serve(this, services());
    plugin.set_clock(1);
    ops = plugin.ops<consort_scheduler_ops>();
    for (uint32_t w = 0; w < m.units.size(); ++w) {
      workers_.push_back({w, m.units[w].klass, m.units[w].space, 0, m.units[w].depth, 0});
      nclasses_ = std::max(nclasses_, m.units[w].klass + 1);
    }
    for (uint32_t c = 0; c < nclasses_; ++c) names_.push_back(c == 0 ? "slow" : c == 1 ? "fast" : "other");
    topology.size = sizeof topology;
    topology.generation = 1;
    topology.nworkers = static_cast<uint32_t>(workers_.size());
    topology.nspaces = m.nspaces;
    topology.nclasses = nclasses_;
    topology.workers = workers_.data();
    topology.classes = names_.data();
    for (uint32_t i = 0; m.tells_ways && i < m.nspaces * m.nspaces; ++i) {
      double ns = 0;  // of a byte, over all links of the way
      for (const uint32_t l : m.routes[i / m.nspaces][i % m.nspaces]) ns += 1 / m.links[l].bytes_per_ns;
      hops_.push_back({ns > 0 ? static_cast<uint64_t>(1e9 / ns) : 0, 0, ns > 0});
    }
    if (m.tells_ways) topology.hops = hops_.data();
    EXPECT_EQ(ops->create(plugin.self(), plugin.host(), &topology, kEpoch, &instance), CONSORT_OK) << plugin.failure();
    std::vector<uint32_t> all(workers_.size());
    for (uint32_t w = 0; w < all.size(); ++w) all[w] = w;
    EXPECT_EQ(ops->workers(instance, &topology, all.data(), topology.nworkers, nullptr, 0), CONSORT_OK);
    seats_.resize(workers_.size());
    arriving_.resize(m.nspaces);
  }
  ~VirtualMachine() {
    if (instance) ops->destroy(instance);
  }

  // All is submitted at once, at 0. ns until the last task has ended; NaN: it stood still. Also `runs`.
  double run(const Graph &graph, double noise = 0, uint64_t seed = 1) {
    load(graph);
    std::mt19937_64 random(seed);
    std::vector<double> factor(graph.items.size(), 1);
    for (double &f : factor) f = 1 + noise * (2 * static_cast<double>(random() % 100001) / 1e5 - 1);
    factor_ = factor;
    for (uint32_t t = 0; t < tasks.size(); ++t)
      if (ops->submitted) {
        const consort_task *one = &tasks[t];
        ops->submitted(instance, &one, 1);
      }
    for (uint32_t t = 0; t < tasks.size(); ++t)
      if (g->items[t].before == 0) push(CONSORT_NONE, {t});
    if (ops->flush) ops->flush(instance);
    uint32_t done = 0;
    for (;;) {
      while (poll()) {}
      double next = std::numeric_limits<double>::max();
      for (const Seat &s : seats_)
        if (s.running != CONSORT_NONE) next = std::min(next, s.end);
      rates();
      for (const auto &a : arriving_)
        if (!a.empty()) {
          const Flow &f = a.front();
          next = std::min(next, now + (f.wait > 0 ? f.wait : f.left / f.rate));
        }
      if (next == std::numeric_limits<double>::max()) break;
      next = std::max(next, now);
      for (auto &a : arriving_)
        if (!a.empty()) {
          Flow &f = a.front();
          if (f.wait > 0) f.wait -= next - now;
          else f.left -= f.rate * (next - now);
          if (f.wait < 1e-3) f.wait = 0;
        }
      now = next;
      plugin.set_clock(1 + static_cast<uint64_t>(now));
      for (uint32_t s = 0; s < arriving_.size(); ++s)
        if (!arriving_[s].empty() && arriving_[s].front().wait <= 0 && arriving_[s].front().left < 1) {
          const Flow f = arriving_[s].front();
          arriving_[s].pop_front();
          valid_[f.datum] |= uint64_t{1} << s;
          ++transfers;
        }
      for (uint32_t w = 0; w < seats_.size(); ++w)
        if (seats_[w].running != CONSORT_NONE && seats_[w].end <= now) finish(w), ++done;
    }
    return done == tasks.size() ? now : NAN;
  }

  PluginHost plugin;
  MachineShape m;
  const consort_scheduler_ops *ops = nullptr;
  void *instance = nullptr;
  consort_topology topology{};
  std::vector<consort_task> tasks;
  std::vector<Run> runs;
  std::vector<std::pair<uint32_t, uint32_t>> prefetched;  // task, space
  double now = 0;
  uint64_t transfers = 0;
  uint64_t capacity = uint64_t{1} << 40;                  // of each space, as the policy is told; nothing is evicted
  bool calibrated = true;                                 // else a kind is known on a class after its first run there

  // -- for tests that ask single decisions --
  void load(const Graph &graph) {
    g = &graph;
    tasks.assign(graph.items.size(), {});
    accesses_.resize(graph.items.size());
    data_.resize(graph.ndata);
    valid_.assign(graph.ndata, 1);
    for (uint32_t d = 0; d < graph.ndata; ++d) data_[d] = {d + 1, graph.bytes};
    left_.clear();
    for (uint32_t t = 0; t < tasks.size(); ++t) {
      const auto &item = graph.items[t];
      for (const auto &u : item.uses) accesses_[t].push_back({&data_[u.datum], u.mode, 0});
      tasks[t].id = t + 1;
      for (uint32_t w = 0; w < m.units.size(); ++w)
        if (m.ns[item.kind][w] > 0) tasks[t].where |= uint64_t{1} << m.units[w].klass;
      tasks[t].footprint = 77;
      tasks[t].codelet = item.kind;
      tasks[t].priority = item.priority;
      tasks[t].team_min = tasks[t].team_max = 1;
      tasks[t].naccess = static_cast<uint16_t>(accesses_[t].size());
      tasks[t].access = accesses_[t].data();
      left_.push_back(item.before);
    }
    factor_.assign(tasks.size(), 1);
  }
  void push(uint32_t from, const std::vector<uint32_t> &which) {
    std::vector<consort_task *> ready;
    for (uint32_t t : which) ready.push_back(&tasks[t]);
    std::vector<uint64_t> bits(workers_.size() / 64 + 1);
    consort_wake wake{static_cast<uint32_t>(bits.size()), 0, bits.data()};
    const consort_push p{kEpoch, from, CONSORT_PUSH_NEW, ready.data(), static_cast<uint32_t>(ready.size()), 0, &wake};
    EXPECT_EQ(ops->push(instance, &p), ready.size());
    woken = bits[0];
  }
  uint32_t pop(uint32_t w) {  // index of the task; CONSORT_NONE: nothing
    consort_pick pick{};
    if (!ops->pop(instance, w, &pick, 1)) return CONSORT_NONE;
    impl = pick.impl;
    return static_cast<uint32_t>(pick.task - tasks.data());
  }
  void tell_started(uint32_t w, uint32_t t) {
    const consort_task *one = &tasks[t];
    if (ops->started) ops->started(instance, w, &one, 1);
  }
  void set_valid(uint32_t datum, uint64_t spaces) { valid_[datum] = spaces; }
  uint64_t woken = 0;
  uint32_t impl = CONSORT_NONE;
  double ranked = 0;                                       // the rank in the last pop's answer
  uint64_t impls = 1;                                      // that each unit has
  std::map<uint32_t, double> impl_factor;                  // of a kind's time; NaN: not known

 private:
  struct Flow { uint32_t datum, from, to; double left, wait, rate; bool demand; };
  struct Held { uint32_t task; };
  struct Seat {
    std::vector<uint32_t> held;  // popped, not begun
    uint32_t running = CONSORT_NONE;
    double begin = 0, end = 0;
  };

  static VirtualMachine &of(const consort_host *h) {
    return *static_cast<VirtualMachine *>(static_cast<PluginHost *>(h->ctx)->served());
  }
  uint32_t index(const consort_task *t) const { return static_cast<uint32_t>(t - tasks.data()); }
  double known_ns(uint32_t t, uint32_t w) const {
    const uint32_t kind = g->items[t].kind;
    if (!calibrated && !learned_.contains({kind, m.units[w].klass})) return NAN;
    return m.ns[kind][w] > 0 ? m.ns[kind][w] : NAN;
  }
  uint32_t nearest(uint32_t d, uint32_t to) const {
    uint32_t best = CONSORT_NONE;
    for (uint32_t s = 0; s < m.nspaces; ++s)
      if ((valid_[d] >> s & 1) && (best == CONSORT_NONE || way(s, to, 1e6) < way(best, to, 1e6))) best = s;
    return best;
  }
  double way(uint32_t from, uint32_t to, double bytes) const {
    double least = std::numeric_limits<double>::max();
    for (uint32_t l : m.routes[from][to]) least = std::min(least, m.links[l].bytes_per_ns);
    return m.latency[from][to] + bytes / least;
  }

  const consort_sched_host *services() {
    table_ = {};
    table_.size = sizeof table_;
    table_.topology = [](const consort_host *h) -> const consort_topology * { return &of(h).topology; };
    table_.can_execute = [](const consort_host *h, const consort_task *const *t, uint32_t nt, const uint32_t *w,
                            uint32_t nw, uint64_t *out) {
      VirtualMachine &v = of(h);
      for (uint32_t i = 0; i < nt; ++i)
        for (uint32_t k = 0; k < nw; ++k)
          *out++ = v.m.ns[v.g->items[v.index(t[i])].kind][w[k]] > 0 ? v.impls : 0;
    };
    table_.expected_ns = [](const consort_host *h, const consort_task *const *t, uint32_t nt, const uint32_t *w,
                            uint32_t nw, uint32_t impl, float *out) {
      VirtualMachine &v = of(h);
      for (uint32_t i = 0; i < nt; ++i)
        for (uint32_t k = 0; k < nw; ++k) {
          double ns = v.known_ns(v.index(t[i]), w[k]);
          if (impl != CONSORT_NONE && v.impl_factor.contains(impl)) ns *= v.impl_factor[impl];
          *out++ = static_cast<float>(ns);
        }
    };
    table_.energy_uj = [](const consort_host *h, const consort_task *const *t, uint32_t nt, const uint32_t *w,
                          uint32_t nw, uint32_t, float *out) {  // 10 W of class 0, 200 W of others
      VirtualMachine &v = of(h);
      for (uint32_t i = 0; i < nt; ++i)
        for (uint32_t k = 0; k < nw; ++k)
          *out++ = static_cast<float>(v.known_ns(v.index(t[i]), w[k]) * (v.m.units[w[k]].klass ? 200 : 10) * 1e-3);
    };
    table_.transfer_ns = [](const consort_host *h, const consort_task *const *t, uint32_t nt, const uint32_t *s,
                            uint32_t ns, float *out) {
      VirtualMachine &v = of(h);
      for (uint32_t i = 0; i < nt; ++i)
        for (uint32_t k = 0; k < ns; ++k) {
          double all = 0;
          for (const auto &u : v.g->items[v.index(t[i])].uses) {
            if (v.valid_[u.datum] >> s[k] & 1) continue;
            const auto &a = v.arriving_[s[k]];
            if (std::any_of(a.begin(), a.end(), [&](const Flow &f) { return f.datum == u.datum; })) continue;
            all += v.way(v.nearest(u.datum, s[k]), s[k], static_cast<double>(v.g->bytes));
          }
          for (const Flow &f : v.arriving_[s[k]]) all += v.way(f.from, f.to, f.left);
          *out++ = static_cast<float>(all);
        }
    };
    table_.resident = [](const consort_host *h, const consort_task *const *t, uint32_t nt, const uint32_t *s,
                         uint32_t ns, uint64_t *out) {
      VirtualMachine &v = of(h);
      for (uint32_t i = 0; i < nt; ++i)
        for (uint32_t k = 0; k < ns; ++k) {
          *out = 0;
          for (const auto &u : v.g->items[v.index(t[i])].uses) *out += v.valid_[u.datum] >> s[k] & 1 ? v.g->bytes : 0;
          ++out;
        }
    };
    table_.load_ns = [](const consort_host *h, const uint32_t *w, uint32_t nw, float *out) {
      VirtualMachine &v = of(h);
      for (uint32_t k = 0; k < nw; ++k) {
        const Seat &s = v.seats_[w[k]];
        double all = s.running != CONSORT_NONE ? s.end - v.now : 0;
        for (uint32_t t : s.held) all += v.known_ns(t, w[k]);
        out[k] = static_cast<float>(all);
      }
    };
    table_.room = [](const consort_host *h, const uint32_t *, uint32_t ns, consort_room *out) {
      for (uint32_t i = 0; i < ns; ++i) out[i] = {of(h).capacity, 0, 0};
    };
    table_.codelet_name = [](const consort_host *h, const consort_task *t) -> const char * {
      static constexpr const char *kNames[] = {"zero", "one", "two", "three", "four"};
      const uint32_t kind = of(h).g->items[of(h).index(t)].kind;
      return kind < 5 ? kNames[kind] : nullptr;
    };
    table_.lacking = [](const consort_host *h, const consort_task *const *t, uint32_t nt, const uint32_t *s,
                        uint32_t ns, uint64_t *out) {
      VirtualMachine &v = of(h);
      for (uint32_t i = 0; i < nt; ++i)
        for (uint32_t k = 0; k < ns; ++k, ++out) {
          *out = 0;
          const auto &uses = v.g->items[v.index(t[i])].uses;
          for (uint32_t a = 0; a < uses.size(); ++a) {
            const auto &coming = v.arriving_[s[k]];
            const bool comes = std::any_of(coming.begin(), coming.end(),
                                           [&](const Flow &f) { return f.datum == uses[a].datum; });
            if (!(v.valid_[uses[a].datum] >> s[k] & 1) && !comes) *out |= uint64_t{1} << a;
          }
        }
    };
    table_.successors = [](const consort_host *h, const consort_task *t, const consort_task **out,
                           uint32_t max) -> uint32_t {
      VirtualMachine &v = of(h);
      const auto &next = v.g->items[v.index(t)].next;
      for (uint32_t i = 0; i < max && i < next.size(); ++i) out[i] = &v.tasks[next[i]];
      return static_cast<uint32_t>(next.size());
    };
    table_.prefetch = [](const consort_host *h, const consort_task *t, uint32_t space, int32_t) {
      VirtualMachine &v = of(h);
      if (space == CONSORT_NONE) return;  // records are kept in any case
      v.prefetched.push_back({v.index(t), space});
      v.fetch(v.index(t), space, false);
    };
    table_.unneeded = [](const consort_host *, uint64_t, uint32_t) {};
    table_.ranked = [](const consort_host *h, const consort_task *, float ns) { of(h).ranked = ns; };
    return &table_;
  }

  void fetch(uint32_t t, uint32_t space, bool demand) {
    for (const auto &u : g->items[t].uses) {
      if (valid_[u.datum] >> space & 1) continue;
      auto &a = arriving_[space];
      const auto there = std::find_if(a.begin(), a.end(), [&](const Flow &f) { return f.datum == u.datum; });
      if (there != a.end()) {
        if (!demand || there->demand || there == a.begin()) continue;
        const Flow f = *there;
        a.erase(there);
        insert(f, true);
        continue;
      }
      const uint32_t from = nearest(u.datum, space);
      insert({u.datum, from, space, static_cast<double>(g->bytes), m.latency[from][space], 1, demand}, demand);
    }
  }
  void insert(Flow f, bool demand) {
    auto &a = arriving_[f.to];
    f.demand = demand;
    auto at = a.end();
    if (demand) at = std::find_if(a.begin() + !a.empty(), a.end(), [](const Flow &o) { return !o.demand; });
    a.insert(at, f);
  }
  // A written datum is valid with its writer alone; a copy in flight of the old contents is useless.
  bool has_data(uint32_t t, uint32_t space) const {
    for (const auto &u : g->items[t].uses)
      if (!(valid_[u.datum] >> space & 1)) return false;
    return true;
  }

  void rates() {  // max-min fair
    std::vector<double> room;
    for (const auto &l : m.links) room.push_back(l.bytes_per_ns);
    std::vector<Flow *> open;
    for (auto &a : arriving_)
      if (!a.empty() && a.front().wait <= 0) open.push_back(&a.front());
    while (!open.empty()) {
      std::vector<double> users(room.size());
      for (const Flow *f : open)
        for (uint32_t l : m.routes[f->from][f->to]) users[l] += 1;
      double least = std::numeric_limits<double>::max();
      uint32_t tight = 0;
      for (uint32_t l = 0; l < room.size(); ++l)
        if (users[l] > 0 && room[l] / users[l] < least) least = room[l] / users[l], tight = l;
      std::vector<Flow *> rest;
      for (Flow *f : open) {
        const auto &r = m.routes[f->from][f->to];
        if (std::find(r.begin(), r.end(), tight) == r.end()) {
          rest.push_back(f);
          continue;
        }
        f->rate = std::max(least, 1e-9);
        for (uint32_t l : r) room[l] = std::max(0.0, room[l] - least);
      }
      open.swap(rest);
    }
  }

  bool poll() {
    bool did = false;
    for (uint32_t w = 0; w < seats_.size(); ++w) {
      Seat &s = seats_[w];
      const uint32_t space = m.units[w].space;
      const std::size_t most = m.units[w].klass ? m.units[w].depth + 8 : 1;
      while (s.held.size() + (s.running != CONSORT_NONE) < most) {
        const uint32_t t = pop(w);
        if (t == CONSORT_NONE) break;
        EXPECT_TRUE(tasks[t].where >> m.units[w].klass & 1);
        s.held.push_back(t);
        fetch(t, space, true);
        did = true;
      }
      if (s.running != CONSORT_NONE) continue;
      for (uint32_t i = 0; i < s.held.size(); ++i) {
        const uint32_t t = s.held[i];
        if (!has_data(t, space)) continue;
        s.held.erase(s.held.begin() + i);
        s.running = t;
        s.begin = now;
        s.end = now + m.ns[g->items[t].kind][w] * factor_[t] + (m.units[w].klass ? m.overhead : 0);
        tell_started(w, t);
        did = true;
        break;
      }
    }
    return did;
  }

  void finish(uint32_t w) {
    Seat &s = seats_[w];
    const uint32_t t = s.running;
    s.running = CONSORT_NONE;
    runs.push_back({t, w, 0, s.begin, s.end});
    learned_.insert({g->items[t].kind, m.units[w].klass});
    for (const auto &u : g->items[t].uses)
      if (u.mode & CONSORT_M_W) valid_[u.datum] = uint64_t{1} << m.units[w].space;
    const consort_done d{tasks[t].id, 0, 0, 1 + static_cast<uint64_t>(s.begin), 1 + static_cast<uint64_t>(s.end), 0, 0};
    if (ops->finished) ops->finished(instance, w, &d, 1);
    std::vector<uint32_t> ready;
    for (uint32_t n : g->items[t].next)
      if (--left_[n] == 0) ready.push_back(n);
    if (!ready.empty()) push(w, ready);
  }

  const Graph *g = nullptr;
  consort_sched_host table_{};
  uint32_t nclasses_ = 1;
  std::vector<consort_hop> hops_;
  std::vector<consort_worker> workers_;
  std::vector<const char *> names_;
  std::vector<Seat> seats_;
  std::vector<std::deque<Flow>> arriving_;
  std::vector<std::vector<consort_access>> accesses_;
  std::vector<consort_datum> data_;
  std::vector<uint64_t> valid_;
  std::vector<uint32_t> left_;
  std::vector<double> factor_;
  std::set<std::pair<uint32_t, uint32_t>> learned_;
};

// For tests of single decisions: the whole graph is submitted, and tasks without predecessors are pushed at once.
inline void submit_and_push(VirtualMachine &v, const Graph &g) {
  v.load(g);
  std::vector<uint32_t> ready;
  for (uint32_t t = 0; t < v.tasks.size(); ++t) {
    const consort_task *one = &v.tasks[t];
    v.ops->submitted(v.instance, &one, 1);
    if (g.items[t].before == 0) ready.push_back(t);
  }
  v.push(CONSORT_NONE, ready);
}

}  // namespace consort_test
