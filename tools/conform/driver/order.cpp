// Acceptance, completion and order of ops on a queue.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

// A link and its reverse link on one device.
struct Loop {
  Devices::Link there, back;
};
std::vector<Loop> loops_of(Trial &t, Devices &devices, size_t most) {
  std::vector<Loop> found;
  for (const Devices::Link &l : devices.links())
    for (const Devices::Link &m : devices.links())
      if (l.src != l.dst && m.src == l.dst && m.dst == l.src && l.device == m.device && found.size() < most &&
          devices.is_within_reach(l.src) && devices.is_within_reach(l.dst) && !devices.spaces()[l.src].is_own())
        found.push_back({l, m});
  if (found.empty()) t.skip("no device of it has a path from the host's memory to somewhere and back");
  return found;
}

// Bytes move forth and back through one place repeatedly, without waits in between: each step depends on the one
// before. Queues alternate; each op names the one before if necessary.
void chase(Trial &t, Devices &devices, const Loop &loop, const std::vector<DeviceQueue *> &queues, bool by_ticket) {
  const uint64_t grain = std::max(loop.there.grain(), loop.back.grain());
  const uint64_t n = std::min({loop.there.longest(), loop.back.longest(), uint64_t{50'000}}) / grain * grain;
  const uint64_t steps = t.scaled(6, 30);
  std::vector<std::unique_ptr<Store>> sent, got;
  Store place(devices, loop.there.dst, n);
  for (uint64_t k = 0; k < steps; ++k) {
    sent.push_back(std::make_unique<Store>(devices, loop.there.src, n));
    got.push_back(std::make_unique<Store>(devices, loop.there.src, n));
  }
  std::vector<consort_ticket> tickets(2 * steps);
  std::vector<consort_op> list;
  DeviceQueue &first = *queues[0];
  for (uint64_t k = 0; k < 2 * steps; ++k) {
    const bool out = k % 2 == 0;
    const Devices::Link &l = out ? loop.there : loop.back;
    const consort_addr here = out ? sent[k / 2]->at() : got[k / 2]->at();
    consort_op op = copy_op({l.src, l.dst, out ? here : place.at(), out ? place.at() : here, n, {1, 1}, {0, 0}, {0, 0}});
    if (by_ticket && k > 0) op.wait = &tickets[k - 1], op.nwait = 1;
    t.doing("copy %llu of %llu, each of which needs the one before", static_cast<unsigned long long>(k + 1),
            static_cast<unsigned long long>(2 * steps));
    if (queues.size() == 1) {                    // all that fit in one call: tickets may name ops of the same batch
      tickets[k] = first.ticket(first.accepted() + list.size());
      list.push_back(op);
      if (k + 1 < 2 * steps) continue;
      for (size_t sent = 0; sent < list.size() && !t.failed();) {
        sent += first.submit(&list[sent], static_cast<uint32_t>(list.size() - sent));
        if (sent < list.size()) first.poll();
      }
    } else {
      DeviceQueue &q = *queues[k % queues.size()];
      tickets[k] = q.ticket(q.send(op));
    }
  }
  for (DeviceQueue *q : queues) q->wait();
  for (DeviceQueue *q : queues)
    for (size_t k = 0; k < q->accepted(); ++k)
      t.need((*q)[k].done.status == CONSORT_OK, "a copy ends with %d", (*q)[k].done.status);
  for (uint64_t k = 0; k < steps && !t.failed(); ++k) {
    got[k]->model = sent[k]->model;
    got[k]->holds(by_ticket ? "copies that named their predecessors by tickets" : "copies on a queue that is in order");
  }
}

// Some queues for copies, of all devices and of units that support copies.
std::vector<std::unique_ptr<DeviceQueue>> some_queues(Devices &devices) {
  std::vector<std::unique_ptr<DeviceQueue>> all;
  for (uint32_t d = 0; d < devices.all().size() && d < 4; ++d) all.push_back(std::make_unique<DeviceQueue>(devices, d));
  unsigned units = 0;
  for (const Devices::Unit &u : devices.units())
    if (!(u.desc.flags & CONSORT_UNIT_INLINE) && ++units <= 4) all.push_back(std::make_unique<DeviceQueue>(devices, u.device, u.index));
  return all;
}

}  // namespace

CONFORM_CASE(D, 11, behaviour, reports_each_once) {
  Plugin p(t);
  Devices devices(t, p);
  for (const auto &q : some_queues(devices)) {
    for (uint64_t left = t.scaled(300, 5000); left > 0 && t.has_time() && !t.failed();) {
      const std::vector<consort_op> marks(std::min<uint64_t>(left, 1 + t.random().below(7)), op_of(CONSORT_OP_MARK));
      t.doing("submit of %zu marks, %zu ops are in flight", marks.size(), q->in_flight());
      left -= q->submit(marks.data(), static_cast<uint32_t>(marks.size()));
      if (t.random().one_in(2) || q->in_flight() > q->desc().depth / 2) q->poll(1 + static_cast<uint32_t>(t.random().below(5)));
      if (p.host().is_virtual()) devices.step_clock();
    }
    q->wait();
    t.doing("poll of a queue with nothing in flight");
    for (int k = 0; k < 20; ++k) t.check(q->poll() == 0, "poll reports something though nothing is in flight");
    for (size_t k = 0; k < q->accepted(); ++k)
      t.need((*q)[k].done.status == CONSORT_OK, "mark %zu ends with %d", k, (*q)[k].done.status);
  }
}

CONFORM_CASE(D, 12, behaviour, reports_no_more_than_asked) {
  Plugin p(t);
  Devices devices(t, p);
  for (const auto &q : some_queues(devices))
    for (uint32_t most = 0; most <= 5; ++most) {
      const std::vector<consort_op> marks(8, op_of(CONSORT_OP_MARK));
      for (uint32_t sent = 0; sent < 8;) {
        sent += q->submit(&marks[sent], 8 - sent);
        if (sent < 8) q->poll();
      }
      t.doing("poll for at most %u while 8 marks are in flight", most);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the driver may do more than it is asked for
      for (int k = 0; k < 12 && !t.failed(); ++k) q->poll(most);
      q->wait();
    }
}

CONFORM_CASE(D, 13, behaviour, accepts_a_prefix) {
  Plugin p(t);
  Devices devices(t, p);
  for (const auto &q : some_queues(devices)) {
    const uint32_t depth = q->desc().depth, tried = std::min<uint32_t>(depth, 3000);
    t.need(depth > 0, "a queue of depth 0");
    for (int round = 0; round < 3 && !t.failed(); ++round) {
      const std::vector<consort_op> marks(2 * tried + 3, op_of(CONSORT_OP_MARK));
      t.doing("submit of %zu marks to a queue of depth %u", marks.size(), depth);
      uint32_t sent = q->submit(marks.data(), static_cast<uint32_t>(marks.size()));
      t.check(sent >= tried, "a queue of depth %u, with nothing in flight, accepts %u of %zu ops", depth, sent, marks.size());
      for (uint64_t idle = 0; sent < marks.size() && !t.failed();) {
        const uint32_t took = q->submit(&marks[sent], static_cast<uint32_t>(marks.size()) - sent);
        sent += took;
        t.need(took || q->in_flight(), "with nothing in flight, after %zu ops, submit accepts none", q->accepted());
        if (q->poll(3)) idle = 0;
        else if (!took) q->rest(&idle);
      }
      q->wait();
      t.check(q->submit(marks.data(), 0) == 0, "submit of nothing answers something");
    }
  }
}

CONFORM_CASE(D, 14, behaviour, each_sees_the_one_before) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Loop &loop : loops_of(t, devices, t.scaled(3, 10))) {
    DeviceQueue q(devices, loop.there.device);
    if (!q.is_in_order()) continue;
    for (++tried; q.accepted() < t.scaled(50, 300) && !t.failed();) chase(t, devices, loop, {&q}, false);
  }
  if (!tried) t.skip("none of its queues for copies says CONSORT_Q_IN_ORDER");
}

CONFORM_CASE(D, 15, behaviour, tickets_are_waited_for) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Loop &loop : loops_of(t, devices, t.scaled(3, 10))) {
    DeviceQueue a(devices, loop.there.device), b(devices, loop.there.device);
    if (!a.waits_for(b)) continue;
    ++tried;
    for (uint64_t k = t.scaled(4, 10); k > 0 && !t.failed(); --k) chase(t, devices, loop, {&a}, true);
    for (uint64_t k = t.scaled(2, 10); k > 0 && !t.failed(); --k) chase(t, devices, loop, {&a, &b}, true);
  }
  if (!tried) t.skip("none of its queues for copies says CONSORT_Q_WAITS and has a sync");
}

CONFORM_CASE(D, 15, behaviour, tickets_of_the_past_are_complete) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (uint32_t d = 0; d < devices.all().size() && d < 4; ++d) {
    DeviceQueue a(devices, d);
    auto b = std::make_unique<DeviceQueue>(devices, d);
    if (!a.waits_for(*b)) continue;
    ++tried;
    for (int k = 0; k < 5; ++k) b->send(op_of(CONSORT_OP_MARK));
    b->wait();
    const consort_ticket past[] = {b->ticket(0), b->ticket(4), b->ticket(2)};
    b.reset();
    for (const uint32_t n : {1u, 3u}) {
      consort_op op = op_of(CONSORT_OP_MARK);
      op.wait = past, op.nwait = n;
      t.doing("a mark that waits for %u tickets of a queue that is closed", n);
      t.check(a.run(op) == CONSORT_OK, "a mark that waits for tickets of a closed queue fails");
    }
  }
  if (!tried) t.skip("none of its queues for copies says CONSORT_Q_WAITS and has a sync");
}

CONFORM_CASE(D, 16, behaviour, marks_come_after) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Loop &loop : loops_of(t, devices, t.scaled(3, 10))) {
    const Devices::Link &l = loop.back;          // to a place that can be read at once
    const uint64_t n = std::min(l.longest(), uint64_t{1} << 20) / l.grain() * l.grain();
    Store src(devices, l.src, n), dst(devices, l.dst, n), before(devices, l.dst, n);
    for (int round = 0; round < 16 && !t.failed(); ++round) {
      DeviceQueue a(devices, l.device), b(devices, l.device);
      const bool other = round % 2;
      if (other ? !a.waits_for(b) : !a.is_in_order() && !a.waits_for(a)) continue;
      ++tried;
      src.fill(t.random());
      src.write();
      const consort_copy c{l.src, l.dst, src.at(), dst.at(), n, {1, 1}, {0, 0}, {0, 0}};
      apply(c, src, dst);
      apply(c, src, before);
      consort_op copy = copy_op(c);
      consort_ticket last{};
      for (uint32_t k = 0; k < std::min<uint32_t>(a.desc().depth / 2, 7); ++k) {  // the copy has to wait for others
        consort_op one = copy_op({l.src, l.dst, src.at(), before.at(), n, {1, 1}, {0, 0}, {0, 0}});
        if (k && a.waits_for(a)) one.wait = &last, one.nwait = 1;  // all write one place
        last = a.ticket(a.send(one));
        if (a.waits_for(a)) copy.wait = &last, copy.nwait = 1;
      }
      const consort_ticket copied = a.ticket(a.send(copy));
      consort_op mark = op_of(CONSORT_OP_MARK);
      if (a.waits_for(b)) mark.wait = &copied, mark.nwait = 1;
      DeviceQueue &q = other ? b : a;
      const size_t entry = q.send(mark);
      t.doing("poll for a mark behind a copy");
      for (uint64_t idle = 0; !q[entry].is_over && !t.failed();)
        if (!q.poll(1)) q.rest(&idle);
      if (devices.spaces()[l.dst].is_plain()) dst.holds("a mark behind the copy was reported");
      a.wait();
    }
    if (!t.failed()) dst.holds("copies with marks behind them");
  }
  if (!tried) t.skip("its queues for copies are neither in order nor do they wait for tickets: marks have nothing to come after");
}

CONFORM_CASE(D, 18, behaviour, refuses_what_it_does_not_know) {
  Plugin p(t);
  Devices devices(t, p);
  for (const auto &q : some_queues(devices)) {
    constexpr uint16_t kUnknown[] = {200, 0x100 | CONSORT_OP_MARK, 0x8000 | CONSORT_OP_MARK, 0};
    consort_op ops[9];
    for (int k = 0; k < 9; ++k) ops[k] = op_of(k % 2 ? kUnknown[k / 2] : uint16_t{CONSORT_OP_MARK});
    std::vector<size_t> entries;
    t.doing("ops of unknown kinds, between marks");
    for (const consort_op &op : ops) entries.push_back(q->send(op));
    q->wait();
    for (int k = 0; k < 9; ++k) {
      const consort_status status = (*q)[entries[static_cast<size_t>(k)]].done.status;
      if (k % 2) t.check(status < 0, "an op of the unknown kind %u ends with %d", ops[k].kind, status);
      else t.check(status == CONSORT_OK, "a mark beside an op that is refused ends with %d", status);
    }
  }
}

CONFORM_CASE(D, 18, behaviour, copies_beside_it_are_made) {
  Plugin p(t);
  Devices devices(t, p);
  for (const Devices::Link &l : devices.some_links(t.scaled(3, 8))) {
    DeviceQueue q(devices, l.device);
    const uint64_t n = std::min(l.longest(), uint64_t{1024}) / l.grain() * l.grain();
    Store src(devices, l.src, n), dst(devices, l.dst, n);
    t.doing("a copy behind an op of the unknown kind 200");
    q.send(op_of(200));
    const consort_copy c{l.src, l.dst, src.at(), dst.at(), n, {1, 1}, {0, 0}, {0, 0}};
    const size_t copied = q.send(copy_op(c));
    q.wait();
    t.need(q[copied].done.status == CONSORT_OK, "a copy behind an op of kind 200 ends with %d", q[copied].done.status);
    apply(c, src, dst);
    dst.holds("a copy behind an op of the unknown kind 200");
  }
}

CONFORM_CASE(D, 14, behaviour, fills_keep_their_place) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Loop &loop : loops_of(t, devices, t.scaled(3, 10)))
    for (const auto &q : some_queues(devices)) {
      const uint64_t grain = std::max(loop.there.grain(), loop.back.grain()), n = std::max<uint64_t>(4096, grain);
      if (!q->is_in_order() || loop.there.longest() < n || loop.back.longest() < n) continue;
      Store src(devices, loop.there.src, n), place(devices, loop.there.dst, n), got(devices, loop.there.src, n);
      for (int round = 0; round < 20 && !t.failed(); ++round) {
        consort_op fill = op_of(CONSORT_OP_FILL);
        fill.u.fill = {place.at(), n / 2, place.space(), 0x01020304u * static_cast<uint32_t>(round + 1)};
        const consort_copy there{loop.there.src, loop.there.dst, src.at(), place.at(), n, {1, 1}, {0, 0}, {0, 0}};
        const consort_copy back{loop.back.src, loop.back.dst, place.at(), got.at(), n, {1, 1}, {0, 0}, {0, 0}};
        t.doing("a copy, a fill of its target, and a copy of that, on a queue that is in order");
        const size_t first = q->accepted();
        for (const consort_op &op : {copy_op(there), fill, copy_op(back)}) q->send(op);
        q->wait();
        if ((*q)[first].done.status < 0 || (*q)[first + 1].done.status < 0 || (*q)[first + 2].done.status < 0) break;
        ++tried;
        got.model = src.model;
        for (uint64_t i = 0; i < n / 2; ++i) got.model[i] = reinterpret_cast<const uint8_t *>(&fill.u.fill.pattern)[i % 4];
        got.holds("a copy, a fill and a copy on a queue that is in order");
      }
    }
  if (!tried) t.skip("none of its queues is in order and takes copies and fills");
}

// Only the last of many tickets is pending: that of an op behind a long one.
CONFORM_CASE(D, 15, behaviour, every_ticket_counts) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Loop &loop : loops_of(t, devices, t.scaled(2, 6))) {
    const uint64_t grain = std::max(loop.there.grain(), loop.back.grain());
    const uint64_t n = std::min({loop.there.longest(), loop.back.longest(), uint64_t{2048}}) / grain * grain;
    uint64_t much = std::min({loop.there.longest(), uint64_t{1} << 20, devices.spaces()[loop.there.dst].desc.capacity / 8}) / grain * grain;
    Store large(devices, loop.there.src, much), there(devices, loop.there.dst, much), place(devices, loop.there.dst, n);
    Store src(devices, loop.there.src, n), got(devices, loop.there.src, n);
    for (const bool waits_first : {true, false})
      for (const size_t tickets : {2u, 9u, 16u}) {
        DeviceQueue one(devices, loop.there.device), two(devices, loop.there.device);
        DeviceQueue &a = waits_first ? one : two, &b = waits_first ? two : one;
        if (!a.waits_for(b)) continue;
        ++tried;
        const size_t past = a.send(op_of(CONSORT_OP_MARK));
        a.wait();
        size_t ahead = 1;  // large copies: more of them if the last ticket had completed too early
        for (int open = 0, round = 0; open < 6 && round < 12 && !t.failed(); ++round) {
          src.fill(t.random());
          src.write();
          const Devices::Link &l = loop.there, &m = loop.back;
          t.doing("a copy that waits for %zu tickets, the last of which is open", tickets);
          for (size_t i = 0; i < ahead; ++i) {
            consort_op long_one = copy_op({l.src, l.dst, large.at(), there.at(), much, {1, 1}, {0, 0}, {0, 0}});
            const consort_ticket previous = b.ticket(i ? b.accepted() - 1 : 0);
            if (i) long_one.wait = &previous, long_one.nwait = 1;  // all write to one place
            b.send(long_one);
          }
          consort_op before = copy_op({l.src, l.dst, src.at(), place.at(), n, {1, 1}, {0, 0}, {0, 0}});
          const consort_ticket behind = b.ticket(b.accepted() - 1);
          before.wait = &behind, before.nwait = 1;
          std::vector<consort_ticket> list(tickets - 1, a.ticket(past));
          const size_t last = b.send(before);
          list.push_back(b.ticket(last));
          consort_op after = copy_op({m.src, m.dst, place.at(), got.at(), n, {1, 1}, {0, 0}, {0, 0}});
          after.wait = list.data(), after.nwait = static_cast<uint32_t>(tickets);
          a.send(after);
          while (!b[last].is_over && b.poll()) continue;
          if (!b[last].is_over) ++open;
          else ahead = std::min<size_t>(ahead * 4, 64);
          a.wait();
          b.wait();
          got.model = src.model;
          got.holds("a copy that names many tickets, the last one open");
        }
      }
  }
  if (!tried) t.skip("none of its queues for copies says CONSORT_Q_WAITS and has a sync");
}

CONFORM_CASE(D, 15, behaviour, what_failed_is_complete) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (uint32_t d = 0; d < devices.all().size() && d < 4; ++d) {
    DeviceQueue q(devices, d);
    if (!q.waits_for(q)) continue;
    ++tried;
    const consort_ticket failed = q.ticket(q.send(op_of(200)));
    consort_op mark = op_of(CONSORT_OP_MARK);
    mark.wait = &failed, mark.nwait = 1;
    t.doing("a mark that waits for an op of an unknown kind");
    const consort_status s = q.run(mark);
    t.check(s == CONSORT_OK || s == CONSORT_E_CANCELLED, "a mark behind an op that failed ends with %d; it is OK or %d (E_CANCELLED)", s,
            CONSORT_E_CANCELLED);
  }
  if (!tried) t.skip("none of its queues for copies says CONSORT_Q_WAITS and has a sync");
}

}  // namespace conform
