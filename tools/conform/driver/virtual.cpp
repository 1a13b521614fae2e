// Simulated time: the next event, a reproducible trace, and no other clock. A driver that supports both times has a
// parameter `time`.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "conform/calls.hpp"
#include "conform/driver/store.hpp"

namespace conform {
namespace {

void begin(Trial &t, Host &host, Plugin &p) {
  const consort_plugin &m = p.manifest();
  for (uint32_t i = 0; m.params && i < m.nparams; ++i)
    if (!std::strcmp(m.params[i].key, "time")) host.set_param("time", "virtual");
  host.set_virtual(1'000'000);
  p.must_start();
  t.need(p.ops<consort_driver_ops>().next_event, "it says CONSORT_PF_VIRTUAL and has no next_event: the clock would not know where to go");
}

// The events, a line for each op. They must not depend on addresses or on real time.
std::vector<std::string> trace_of(Trial &t, Plugin &p, uint64_t seed) {
  Devices devices(t, p);
  Random random(seed);
  const Devices::Link l = devices.some_links(1)[0];
  Store src(devices, l.src, 4096 * 8), dst(devices, l.dst, 4096 * 8);
  std::vector<std::unique_ptr<DeviceQueue>> queues;
  queues.push_back(std::make_unique<DeviceQueue>(devices, l.device));
  queues.push_back(std::make_unique<DeviceQueue>(devices, l.device));
  std::vector<std::string> lines;
  for (uint64_t round = 0; round < t.scaled(40, 400); ++round) {
    t.doing("ops in simulated time, round %llu", static_cast<unsigned long long>(round));
    for (const auto &q : queues)
      for (uint64_t k = random.below(4); k > 0; --k) {
        consort_op op = random.one_in(3) ? op_of(CONSORT_OP_MARK) : copy_op(random_copy(random, l, src, dst, false));
        op.flags = CONSORT_OPF_TIME;
        q->send(op);
      }
    for (const auto &q : queues) q->poll(2);
    devices.step_clock();
  }
  for (const auto &q : queues) q->wait();
  for (size_t k = 0; k < queues.size(); ++k)
    for (const size_t entry : queues[k]->order()) {
      const DeviceQueue::Entry &e = (*queues[k])[entry];
      char line[160];
      std::snprintf(line, sizeof line, "queue %zu op %zu: status %d, from %llu to %llu, reported at %llu", k, entry, e.done.status,
                    static_cast<unsigned long long>(e.done.t0), static_cast<unsigned long long>(e.done.t1),
                    static_cast<unsigned long long>(e.told_ns));
      lines.push_back(line);
    }
  return lines;
}

void need_virtual(Trial &t) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
}

}  // namespace

CONFORM_CASE(D, 50, virtual, next_event_leads_to_the_end) {
  need_virtual(t);
  Host host;
  Plugin p(t, host, false);
  begin(t, host, p);
  Devices devices(t, p);
  for (uint32_t d = 0; d < devices.all().size() && d < 3; ++d) {
    DeviceQueue q(devices, d);
    t.check(q.next_event() == CONSORT_NEVER || q.next_event() > host.now(), "with nothing in flight next_event answers a time that is over");
  }
  for (const Devices::Link &l : devices.some_links(4)) {
    DeviceQueue q(devices, l.device);
    Store src(devices, l.src, 100'000), dst(devices, l.dst, 100'000);
    for (int k = 0; k < 20 && !t.failed(); ++k) {
      const consort_copy c = random_copy(t.random(), l, src, dst, false);
      apply(c, src, dst);
      t.check(q.run(copy_op(c)) == CONSORT_OK, "a copy in simulated time ends with an error");
    }
    dst.holds("copies in simulated time");
  }
}

CONFORM_CASE(D, 51, virtual, does_the_same_again) {
  need_virtual(t);
  const uint64_t seed = t.random().next();
  std::vector<std::string> traces[2];
  for (auto &trace : traces) {
    Host host;
    Plugin p(t, host, false);
    begin(t, host, p);
    trace = trace_of(t, p, seed);
  }
  t.check(traces[0].size() == traces[1].size(), "%zu completions, and %zu when all is done again", traces[0].size(), traces[1].size());
  for (size_t k = 0; k < std::min(traces[0].size(), traces[1].size()); ++k)
    t.need(traces[0][k] == traces[1][k], "%s; when all is done again: %s", traces[0][k].c_str(), traces[1][k].c_str());
}

CONFORM_CASE(D, 52, virtual, knows_one_time_alone) {
  need_virtual(t);
  Host host;
  Plugin p(t, host, false);
  begin(t, host, p);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Calls::forget();
  trace_of(t, p, 1);
  for (const Calls::Seen &s : Calls::seen())
    if (s.kind == Calls::kClock || s.kind == Calls::kThread || s.kind == Calls::kChance)
      t.check(false, "it says CONSORT_PF_VIRTUAL and calls %s (%llu times, last from %s)", s.name.c_str(),
              static_cast<unsigned long long>(s.count), s.function.empty() ? "a control call" : s.function.c_str());
}

}  // namespace conform
