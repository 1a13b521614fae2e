// A device is lost at each point. A driver that can simulate a loss has a parameter: `lost_after`, the number of the
// op, counted over the device, at which it is lost; or `faults` with lost@N.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

// Sets the k-th op to be the device's last one; skips if the driver cannot.
void lose_at(Trial &t, Plugin &p, uint64_t k) {
  const consort_plugin &m = p.manifest();
  for (uint32_t i = 0; m.params && i < m.nparams; ++i) {
    const std::string key = m.params[i].key, help = m.params[i].help ? m.params[i].help : "";
    if (key == "lost_after") return p.host().set_param(key, std::to_string(k));
    if (key == "faults" && help.find("lost@") != help.npos) return p.host().set_param(key, "lost@" + std::to_string(k));
  }
  t.skip("it has no parameter lost_after, which would lose the device with the k-th op");
}

// A driver whose first device is lost at the k-th op, and work that reaches it.
struct Loss {
  Loss(Trial &trial, uint64_t k) : t(trial), p(trial, host, false) {
    lose_at(t, p, k);
    p.must_start();
    devices.emplace(t, p);
    if (!devices->units().empty() && !(devices->units()[0].desc.flags & CONSORT_UNIT_INLINE) && devices->units()[0].device == 0)
      queues.push_back(std::make_unique<DeviceQueue>(*devices, 0, devices->units()[0].index));
    queues.push_back(std::make_unique<DeviceQueue>(*devices, 0));
    for (const Devices::Link &l : devices->links())
      if (l.device == 0 && l.src == Devices::kHost && l.dst != l.src && devices->is_within_reach(l.dst)) way = l;
    if (!way) return;
    src = std::make_unique<Store>(*devices, way->src, 4096);
    dst = std::make_unique<Store>(*devices, way->dst, 4096, 0, false);
  }
  // Submits more ops than it survives, concurrently as far as there is room.
  void work(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      DeviceQueue &q = *queues[i % queues.size()];
      t.doing("op %llu of %llu, on a device that is about to be lost", static_cast<unsigned long long>(i + 1),
              static_cast<unsigned long long>(n));
      const bool copies = way && &q == queues.back().get() && i % 3;
      consort_op op = copies ? copy_op({way->src, way->dst, src->at(), dst->at(), 4096, {1, 1}, {0, 0}, {0, 0}}) : op_of(CONSORT_OP_MARK);
      const consort_ticket before = q.ticket(q.accepted() - 1);
      if (q.accepted() && i % 4 > 1 && q.waits_for(q)) op.wait = &before, op.nwait = 1;
      q.send(op);
    }
    for (const auto &q : queues) q->wait();
  }
  std::vector<Host::Event> told() const {
    std::vector<Host::Event> found;
    for (const Host::Event &e : host.events())
      if (e.what == CONSORT_EV_DEVICE_LOST) found.push_back(e);
    return found;
  }

  Trial &t;
  Host host;
  Plugin p;
  std::optional<Devices> devices;
  std::vector<std::unique_ptr<DeviceQueue>> queues;
  std::optional<Devices::Link> way;
  std::unique_ptr<Store> src, dst;
};

}  // namespace

CONFORM_CASE(D, 43, fault, gives_all_back_when_lost) {
  for (uint64_t k = 1; k <= t.scaled(8, 40) && t.has_time() && !t.failed(); ++k) {
    Loss loss(t, k);
    loss.work(k + 12);
    size_t lost = 0;
    for (const auto &q : loss.queues) {
      bool gone = false;
      for (size_t i = 0; i < q->accepted(); ++i) {
        const consort_status s = (*q)[i].done.status;
        t.check(s == CONSORT_OK || s == CONSORT_E_DEVICE_LOST, "an op on a device that was lost ends with %d; it is OK or %d (E_DEVICE_LOST)",
                s, CONSORT_E_DEVICE_LOST);
        t.check(!gone || !q->is_in_order() || s == CONSORT_E_DEVICE_LOST, "after an op that ended with E_DEVICE_LOST a later one ends with %d", s);
        gone |= s == CONSORT_E_DEVICE_LOST;
        lost += s == CONSORT_E_DEVICE_LOST;
      }
    }
    t.check(lost >= 12, "the device was to be lost with op %llu of %llu, and %zu end with E_DEVICE_LOST", static_cast<unsigned long long>(k),
            static_cast<unsigned long long>(k + 12), lost);
  }
}

CONFORM_CASE(D, 44, fault, tells_once_that_it_is_lost) {
  for (uint64_t k = 1; k <= t.scaled(4, 12) && t.has_time() && !t.failed(); ++k) {
    Loss loss(t, k);
    loss.work(k + 5);
    t.doing("wait for CONSORT_EV_DEVICE_LOST");
    for (int turn = 0; turn < 5000 && loss.told().empty(); ++turn) {
      for (const auto &q : loss.queues) q->poll();
      usleep(1000);
    }
    usleep(5000);
    const auto told = loss.told();
    t.check(told.size() == 1, "a device was lost, and CONSORT_EV_DEVICE_LOST came %zu times", told.size());
    if (!told.empty())
      t.check(told[0].object == loss.devices->all()[0].token, "CONSORT_EV_DEVICE_LOST names 0x%llx, open() was given 0x%llx",
              static_cast<unsigned long long>(told[0].object), static_cast<unsigned long long>(loss.devices->all()[0].token));
    loss.work(4);
    usleep(2000);
    t.check(loss.told().size() <= 1, "CONSORT_EV_DEVICE_LOST comes again with later ops");
  }
}

CONFORM_CASE(D, 46, fault, stays_lost_and_closes) {
  for (uint64_t k = 1; k <= t.scaled(3, 10) && t.has_time() && !t.failed(); ++k) {
    Loss loss(t, k);
    loss.work(k + 5);
    for (const auto &q : loss.queues) {
      const size_t before = q->accepted();
      for (int i = 0; i < 5; ++i) q->send(op_of(CONSORT_OP_MARK));
      q->wait();
      for (size_t i = before; i < q->accepted(); ++i)
        t.check((*q)[i].done.status == CONSORT_E_DEVICE_LOST, "an op that was submitted after the loss ends with %d, not %d (E_DEVICE_LOST)",
                (*q)[i].done.status, CONSORT_E_DEVICE_LOST);
    }
    const consort_driver_ops &ops = loss.devices->ops();
    void *const dev = loss.devices->all()[0].handle;
    const auto refused = [&](const char *function, consort_status s) {
      t.check(s == CONSORT_E_DEVICE_LOST, "%s answers %d after the loss, not %d (E_DEVICE_LOST)", function, s, CONSORT_E_DEVICE_LOST);
    };
    consort_addr a{}, ram{reinterpret_cast<uint64_t>(&loss), 0};
    for (const Devices::Space &s : loss.devices->spaces())
      if (s.device == 0) refused("alloc", ops.alloc(dev, s.desc.id, 4096, s.desc.align, 0, &a));
    refused("attach", ops.attach(dev, Devices::kHost, ram, 64, &a));
    uint64_t code = 0;
    refused("load_impl", ops.load_impl(dev, "cl", "x", 1, "x", &code));
  }
}

}  // namespace conform
