// Failures of services that a driver uses: the host's calls, memory.
#include <algorithm>
#include <memory>

#include "conform/calls.hpp"
#include "conform/driver/store.hpp"

namespace conform {
namespace {

// All [control] calls on the first device. A failing call must set an error text; what was opened is closed again.
class Session {
 public:
  Session(Trial &t, Plugin &p, const char *what, uint64_t k)
      : t_(t), p_(p), ops_(p.ops<consort_driver_ops>()), what_(what), k_(k) {}

  void live() {
    step("open");
    void *dev = nullptr;
    if (!went_well("open", ops_.open(p_.self(), 0, 77, &dev))) return;
    with(dev);
    ops_.close(dev);
  }

 private:
  void step(const char *function) {
    p_.host().forget_failure();
    t_.doing("%s, where %s %llu fails", function, what_, static_cast<unsigned long long>(k_));
  }
  bool went_well(const char *function, consort_status s) {
    t_.check(s >= 0 || !p_.host().failure().empty(), "%s answers %d without a word where %s %llu fails", function, s, what_,
             static_cast<unsigned long long>(k_));
    return s >= 0;
  }

  void with(void *dev) {
    consort_space_desc own{}, ram{};
    own.size = ram.size = sizeof own;
    ram.name = "ram", ram.domain = "host", ram.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
    own.id = 1;
    step("space");
    const bool has_space = ops_.space(dev, 0, &own) >= 0;
    own.id = 1;
    if (has_space) {
      if (!own.name || !own.domain) own.name = own.domain = "";
      for (const bool in : {true, false}) {
        consort_link_desc link{};
        link.size = sizeof link;
        step("link");
        ops_.link(dev, in ? &ram : &own, in ? &own : &ram, &link);
      }
    }
    consort_unit_desc unit{};
    unit.size = sizeof unit;
    step("unit");
    ops_.unit(dev, 0, &unit);
    consort_addr a{};
    const uint64_t bytes = std::max<uint64_t>(4096, own.granule);
    if (has_space) step("alloc");
    const bool has_memory = has_space && went_well("alloc", ops_.alloc(dev, 1, bytes, own.align ? own.align : 1, 0, &a));
    consort_queue_desc desc{};
    desc.size = sizeof desc;
    void *q = nullptr;
    step("queue_open");
    if (went_well("queue_open", ops_.queue_open(dev, CONSORT_NONE, 78, &desc, &q))) {
      step("queue_close");
      ops_.queue_close(q);
    }
    step("free");
    if (has_memory) ops_.free(dev, 1, a, bytes);
    step("close");
  }

  Trial &t_;
  Plugin &p_;
  const consort_driver_ops ops_;
  const char *what_;
  uint64_t k_;
};

void need_device(Trial &t, Plugin &p) {
  if (p.ops<consort_driver_ops>().count(p.self()) == 0) t.skip("there is no device here: %s", p.host().failure().c_str());
}

}  // namespace

CONFORM_CASE(D, 40, fault, lives_with_each_failing_call) {
  Host host;
  Plugin p(t, host);
  need_device(t, p);
  Session(t, p, "no call", 0).live();
  for (uint64_t k = 1; k <= t.scaled(200, 2000) && t.has_time(); ++k) {
    const size_t blocks = host.live_blocks(), threads = count_threads(), descriptors = count_descriptors();
    host.fail_at(k);
    Session(t, p, "get, param or alloc", k).live();
    const bool reached = host.has_failed();
    host.fail_at(0);
    const auto times = static_cast<unsigned long long>(k);
    t.check(host.live_blocks() <= blocks, "blocks of alloc are lost where call %llu of the host fails", times);
    t.check(threads_come_down_to(threads), "a thread is left where call %llu of the host fails", times);
    t.check(count_descriptors() <= descriptors, "a descriptor is left open where call %llu of the host fails", times);
    if (!reached) {
      if (k == 1) t.skip("open, alloc and queue_open ask the host for nothing");
      return;
    }
  }
}

CONFORM_CASE(D, 41, fault, lives_without_memory) {
  Host host;
  Plugin p(t, host);
  need_device(t, p);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Session(t, p, "no allocation", 0).live();
  // Returns whether the k-th allocation was requested.
  const auto try_without = [&](uint64_t k) {
    const size_t threads = count_threads(), descriptors = count_descriptors();
    Calls::fail_allocation(k);
    Session(t, p, "allocation", k).live();
    const bool reached = Calls::has_failed();
    Calls::fail_allocation(0);
    const auto times = static_cast<unsigned long long>(k);
    t.check(threads_come_down_to(threads), "a thread is left where allocation %llu fails", times);
    t.check(count_descriptors() <= descriptors, "a descriptor is left open where allocation %llu fails", times);
    return reached;
  };
  if (!try_without(1)) t.skip("it allocates nothing from the plugin's own file");
  uint64_t n = 1;
  while (n < t.scaled(300, 3000) && try_without(n + 1)) ++n;
  MemoryMarks memory(16, 1, 3);
  do {
    for (uint64_t k = 1; k <= n; ++k) try_without(k);
    memory.mark();
  } while (memory.is_undecided() && !t.failed());
  t.check(!memory.leaks(), "%zu bytes are lost where each of %llu allocations fails once", memory.growth(),
          static_cast<unsigned long long>(n));
}

CONFORM_CASE(D, 42, fault, loses_no_op_without_memory) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Devices devices(t, p);
  const Devices::Link l = devices.some_links(1)[0];
  DeviceQueue q(devices, l.device);
  Store src(devices, l.src, std::min(devices.spaces()[l.src].desc.capacity / 32, uint64_t{100'000})), dst(devices, l.dst, src.bytes());
  for (int warm = 0; warm < 3; ++warm) q.run(copy_op(random_copy(t.random(), l, src, dst, true)));
  dst.model = dst.read();
  for (uint64_t k = 1; k <= t.scaled(60, 500) && t.has_time() && !t.failed(); ++k) {
    const auto times = static_cast<unsigned long long>(k);
    const size_t first = q.accepted();
    const consort_copy c = random_copy(t.random(), l, src, dst, false);
    Calls::fail_allocation(k);
    t.doing("a copy and a mark, where allocation %llu fails", times);
    const size_t copied = q.send(copy_op(c));
    consort_op mark = op_of(CONSORT_OP_MARK);
    const consort_ticket behind = q.ticket(copied);
    if (q.waits_for(q)) mark.wait = &behind, mark.nwait = 1;
    q.send(mark);
    q.wait();
    const bool reached = Calls::has_failed();
    Calls::fail_allocation(0);
    for (size_t i = first; i < q.accepted(); ++i) {
      const consort_status s = q[i].done.status;
      t.check(s == CONSORT_OK || s == CONSORT_E_NOMEM || (i > copied && s == CONSORT_E_CANCELLED),
              "an op ends with %d where allocation %llu fails; it is OK or %d (E_NOMEM)", s, times, CONSORT_E_NOMEM);
    }
    if (q[copied].done.status == CONSORT_OK) {
      apply(c, src, dst);
      dst.holds("a copy during which an allocation failed");
    } else {
      dst.model = dst.read();
    }
    if (!reached) {
      if (k == 1) t.skip("copies and marks allocate nothing from the plugin's own file");
      return;
    }
  }
}

CONFORM_CASE(D, 45, fault, memory_comes_back) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Devices::Space &s : devices.spaces()) {
    if (!s.is_own() || s.desc.capacity > (uint64_t{1} << 32)) continue;
    const uint64_t part = s.desc.capacity / 4 / s.desc.granule * s.desc.granule;
    if (part == 0) continue;
    ++tried;
    for (int k = 0; k < 12; ++k) {
      consort_addr a{};
      p.host().forget_failure();
      t.doing("alloc %d of a quarter of %s, each of which is freed", k + 1, s.name.c_str());
      const consort_status status = devices.ops().alloc(devices.all()[s.device].handle, s.desc.id, part, s.desc.align, 0, &a);
      t.need(status >= 0 || k > 0, "a quarter of %s, which says that it has %llu bytes, is refused by %d: %s", s.name.c_str(),
             static_cast<unsigned long long>(s.desc.capacity), status, p.host().failure().c_str());
      t.need(status >= 0, "alloc of a quarter of %s, freed each time, works %d times and then answers %d: %s", s.name.c_str(), k, status,
             p.host().failure().c_str());
      devices.ops().free(devices.all()[s.device].handle, s.desc.id, a, part);
    }
  }
  if (!tried) t.skip("it has no memory of its own, or more than is used up here");
}

}  // namespace conform
