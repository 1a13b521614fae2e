// sim_machine.hpp — shared by the tests of driver sim: a machine that it simulates, functions as ops, its files, the
// model's clock.
//
// Header only, for test programs of one source file; included by nothing else.
#pragma once
#include <consort/layouts.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "drivers/driver_harness.hpp"
#include "drivers/ram.hpp"
#include "support/text_file.hpp"

namespace consort_test {

using Params = PluginHost::Params;

// All devices of one machine, opened in the order that driver.h lays down; the host's memory is the last space.
struct Machine {
  static constexpr uint64_t kToken = 100;  // of device 0
  PluginHost plugin;
  const consort_driver_ops *ops = nullptr;
  std::vector<void *> devices;
  std::vector<consort_space_desc> spaces;
  std::map<std::pair<uint32_t, uint32_t>, consort_link_desc> links;
  std::vector<std::vector<consort_unit_desc>> units;
  std::vector<void *> queues;
  std::vector<std::tuple<uint32_t, consort_addr, uint64_t>> blocks;
  consort_queue_desc desc{};
  uint32_t host_space = 0;
  bool foreign;

  explicit Machine(Params params = {}, bool with_host = true) : plugin("sim", with_one(std::move(params))), foreign(with_host) {
    if (!plugin.ready()) {
      ADD_FAILURE() << plugin.failure();
      return;
    }
    ops = plugin.ops<consort_driver_ops>();
    for (uint32_t i = 0; i < ops->count(plugin.self()); ++i) {
      void *d = nullptr;
      EXPECT_EQ(ops->open(plugin.self(), i, kToken + i, &d), CONSORT_OK) << plugin.failure();
      devices.push_back(d);
    }
    for (void *d : devices) add_space([&](consort_space_desc *s) { return ops->space(d, 0, s); });
    if (with_host) add_space([&](consort_space_desc *s) { const uint32_t id = s->id; *s = ram(); s->size = sizeof *s; s->id = id; return CONSORT_OK; });
    host_space = spaces.back().id;
    for (const auto &s : spaces)
      for (const auto &t : spaces)
        for (void *d : devices) {
          consort_link_desc l{};
          l.size = sizeof l;
          if (ops->link(d, &s, &t, &l) == CONSORT_OK) links.emplace(std::pair{s.id, t.id}, l);
        }
    for (void *d : devices) {
      units.emplace_back();
      for (uint32_t i = 0;; ++i) {
        consort_unit_desc u{};
        u.size = sizeof u;
        if (ops->unit(d, i, &u) != CONSORT_OK) break;
        units.back().push_back(u);
      }
    }
  }
  ~Machine() {
    close();
  }
  void close() {
    for (void *q : queues) ops->queue_close(q);
    queues.clear();
    for (auto &[d, a, n] : blocks) ops->free(devices[d], space(d), a, n);
    blocks.clear();
    for (void *d : devices) ops->close(d);
    devices.clear();
  }
  static Params with_one(Params p) {
    p.emplace("devices", "1");
    return p;
  }
  template <class F>
  void add_space(F ask) {
    consort_space_desc s{};
    s.size = sizeof s;
    s.id = 5 + static_cast<uint32_t>(spaces.size());
    EXPECT_EQ(ask(&s), CONSORT_OK);
    spaces.push_back(s);
  }
  uint32_t space(uint32_t device) const { return spaces[device].id; }
  void *open_queue(uint32_t device = 0, uint32_t unit = 0) {
    void *q = nullptr;
    desc = {};
    desc.size = sizeof desc;
    EXPECT_EQ(ops->queue_open(devices[device], unit, 1 + queues.size(), &desc, &q), CONSORT_OK) << plugin.failure();
    queues.push_back(q);
    return q;
  }
  consort_addr alloc(uint64_t bytes, uint32_t device = 0, uint32_t flags = 0) {
    consort_addr a{};
    EXPECT_EQ(ops->alloc(devices[device], space(device), bytes, 0, flags, &a), CONSORT_OK) << plugin.failure();
    blocks.emplace_back(device, a, bytes);
    return a;
  }
  static consort_addr addr(const void *p) { return {reinterpret_cast<uint64_t>(p), 0}; }
  static consort_op copy(uint32_t from, consort_addr src, uint32_t to, consort_addr dst, uint64_t run, uint64_t rows = 1,
                         int64_t src_step = 0, int64_t dst_step = 0, uint64_t slices = 1, int64_t src_slice = 0, int64_t dst_slice = 0) {
    consort_op o = op_of(CONSORT_OP_COPY, 0);
    o.flags = CONSORT_OPF_TIME;
    o.u.copy = {from, to, src, dst, run, {rows, slices}, {src_step, src_slice}, {dst_step, dst_slice}};
    return o;
  }
  consort_op to_device(const void *p, consort_addr dst, uint64_t n, uint32_t device = 0) { return copy(host_space, addr(p), space(device), dst, n); }
  consort_op from_device(consort_addr src, void *p, uint64_t n, uint32_t device = 0) { return copy(space(device), src, host_space, addr(p), n); }
  std::vector<consort_done> collect(void *q, size_t n) {
    std::vector<consort_done> all;
    consort_done some[8];
    while (all.size() < n) {
      const uint32_t k = ops->poll(q, some, 8);
      all.insert(all.end(), some, some + k);
      if (!k) std::this_thread::yield();
    }
    return all;
  }
  std::vector<consort_done> run(void *q, std::vector<consort_op> list) {
    std::vector<consort_done> out;
    for (size_t i = 0; i < list.size(); ++i) list[i].cookie = i;
    for (size_t given = 0; out.size() < list.size();) {
      given += ops->submit(q, list.data() + given, static_cast<uint32_t>(list.size() - given));
      consort_done some[8];
      const uint32_t k = ops->poll(q, some, 8);
      out.insert(out.end(), some, some + k);
      if (!k) std::this_thread::yield();
    }
    return out;
  }
  consort_status status_of(void *q, const consort_op &op) { return run(q, {op})[0].status; }
};

// A function as a task's op.
struct Body {
  consort_call call{};
  std::function<consort_status()> work;
  explicit Body(std::function<consort_status()> w) : work(std::move(w)) { call.size = sizeof call; }
  consort_op op(uint32_t codelet = 0) {
    call.user = this;
    consort_op o = op_of(CONSORT_OP_CALL, 0);
    o.flags = CONSORT_OPF_TIME;
    o.codelet = codelet;
    o.u.call = {[](const consort_call *c) { return static_cast<Body *>(c->user)->work(); }, &call};
    return o;
  }
};

inline double seconds(const consort_done &d) { return static_cast<double>(d.t1 - d.t0) * 1e-9; }

inline constexpr bool kTimely = CONSORT_SAN == 0;  // watched by a sanitizer, moving bytes is no faster than the links

struct Clocked {
  static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
};

// Other programs use this machine's cores, too: a test repeats until the expected speed was seen, or for so long.
struct Patience {
  const double end = Clocked::now() + (kTimely ? 20 : 0);
  bool lasts() const { return Clocked::now() < end; }
};

// The model's clock, without the world's: exact.
struct Virtual : Machine {
  explicit Virtual(Params p = {}) : Machine(with(std::move(p))) { at(1'000'000); }
  static Params with(Params p) {
    p.emplace("time", "virtual");
    return p;
  }
  void at(uint64_t t) { plugin.set_clock(clock = t); }
  // As the kernel's loop: all polls, then to the next event.
  std::map<void *, std::vector<consort_done>> play() {
    std::map<void *, std::vector<consort_done>> all;
    for (;;) {
      bool did = false;
      for (void *q : queues) {
        consort_done some[8];
        const uint32_t k = ops->poll(q, some, 8);
        all[q].insert(all[q].end(), some, some + k);
        did |= k > 0;
      }
      if (did) continue;
      uint64_t next = CONSORT_NEVER;
      for (void *q : queues) next = std::min(next, ops->next_event(q));
      if (next == CONSORT_NEVER) return all;
      EXPECT_GT(next, clock) << "else a poll would have told";
      at(next);
    }
  }
  uint64_t clock = 0;
};

}  // namespace consort_test
