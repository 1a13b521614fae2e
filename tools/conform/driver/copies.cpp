// Compares copies with memcpy, on every link.
#include <algorithm>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

uint64_t size_for(const Devices &devices, const Devices::Link &l, uint64_t wanted) {
  for (const uint32_t s : {l.src, l.dst}) wanted = std::min(wanted, devices.spaces()[s].desc.capacity / 8);
  return std::max<uint64_t>(wanted, 4096);
}

// Random copies, one after the other. All bytes of the target are compared each time.
void copy_and_look(Trial &t, bool plain) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(t.scaled(8, 40))) {
    DeviceQueue queue(devices, l.device);
    const uint64_t size = size_for(devices, l, t.scaled(plain ? 300'000 : 60'000, plain ? 3'000'000 : 400'000));
    Store src(devices, l.src, size), dst(devices, l.dst, size);
    for (uint64_t k = t.scaled(plain ? 12 : 25, plain ? 60 : 200); k > 0 && t.has_time() && !t.failed(); --k) {
      const consort_copy c = random_copy(t.random(), l, src, dst, plain);
      const std::string what = text_of(c) + " from " + devices.spaces()[l.src].name + " to " + devices.spaces()[l.dst].name;
      t.doing("%s", what.c_str());
      apply(c, src, dst);
      const size_t entry = queue.send(copy_op(c));
      queue.wait();
      const consort_done &done = queue[entry].done;
      t.need(done.status == CONSORT_OK, "%s ends with %d: %s", what.c_str(), done.status, p.host().failure().c_str());
      dst.holds(what.c_str());
    }
    src.holds("copies from it");
  }
}

}  // namespace

CONFORM_CASE(D, 8, behaviour, one_run) { copy_and_look(t, true); }

CONFORM_CASE(D, 9, behaviour, rows_and_slices) {
  {
    Plugin p(t);
    Devices devices(t, p);
    const auto &links = devices.links();
    if (std::none_of(links.begin(), links.end(), [](const auto &l) { return l.desc.flags & (CONSORT_LK_2D | CONSORT_LK_3D); }))
      t.skip("none of its links says CONSORT_LK_2D or CONSORT_LK_3D");
  }
  copy_and_look(t, false);
}

CONFORM_CASE(D, 10, behaviour, tells_how_much_was_moved) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(t.scaled(8, 40))) {
    DeviceQueue queue(devices, l.device);
    Store src(devices, l.src, size_for(devices, l, 40'000)), dst(devices, l.dst, src.bytes());
    for (int k = 0; k < 12 && !t.failed(); ++k) {
      const consort_copy c = random_copy(t.random(), l, src, dst, k % 2);
      const size_t entry = queue.send(copy_op(c));
      queue.wait();
      const consort_done &done = queue[entry].done;
      t.check(done.status == CONSORT_OK && done.bytes == bytes_of(c), "%s is reported with status %d and %llu bytes", text_of(c).c_str(),
              done.status, static_cast<unsigned long long>(done.bytes));
    }
  }
}

// Each copy has its own place in the target, so their order does not matter. Each is looked at in the poll that reports
// it. Rounds go on until eight polls found some copies over and others still in flight: then the device was at work, and
// a driver that reports too early has a copy that is reported and not yet done.
CONFORM_CASE(D, 24, behaviour, many_in_flight) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(t.scaled(6, 20))) {
    DeviceQueue queue(devices, l.device);
    const uint64_t most = size_for(devices, l, t.scaled(64, 200) * 4096);
    uint64_t each = 4096;
    unsigned amid = 0;
    const uint64_t rounds = t.scaled(3, 12);
    for (uint64_t round = 0; (round < rounds || (amid < 8 && round < 2 * rounds + 18)) && t.has_time() && !t.failed(); ++round) {
      if (round >= rounds && each * 32 <= most) each *= 2;  // larger copies take longer
      const uint64_t places = std::max<uint64_t>(most / each, 1);
      Store src(devices, l.src, places * each), dst(devices, l.dst, places * each);
      std::vector<consort_op> list;
      for (uint64_t k = 0; k < places; ++k) {
        const uint64_t n = std::min(l.longest(), (1 + t.random().below(each / l.grain())) * l.grain());
        const consort_copy c{l.src, l.dst, src.at(t.random().below(places) * each), dst.at(k * each), n, {1, 1}, {0, 0}, {0, 0}};
        list.push_back(copy_op(c));
        apply(c, src, dst);
      }
      t.doing("%zu copies in flight at once", list.size());
      const size_t first = queue.accepted();
      size_t seen = queue.order().size();
      uint64_t idle = 0;
      const auto poll = [&](uint32_t max) {
        const uint32_t n = queue.poll(max);
        if (n && n < max && queue.in_flight()) ++amid;
        for (; seen < queue.order().size(); ++seen) {
          const size_t k = queue.order()[seen];
          const consort_copy &c = list[k - first].u.copy;
          t.check(queue[k].done.status == CONSORT_OK, "copy %zu of many ends with %d", k, queue[k].done.status);
          t.check(dst.has_arrived(c), "%s is reported before its bytes are there, with %zu others in flight", text_of(c).c_str(),
                  queue.in_flight());
        }
        if (n) idle = 0;
        else queue.rest(&idle);
      };
      for (size_t sent = 0; sent < list.size() || queue.in_flight();) {
        const size_t n = std::min<size_t>(1 + t.random().below(9), list.size() - sent);
        const size_t took = n ? queue.submit(&list[sent], static_cast<uint32_t>(n)) : 0;
        sent += took;
        if (!n) poll(16);
        else if (took < n) poll(1 + static_cast<uint32_t>(t.random().below(20)));
      }
      if (t.failed()) return;
      dst.holds("many copies that were in flight at once");
    }
  }
}

}  // namespace conform
