// Optional extensions of drivers: ops recorded once and launched as a graph; libraries for functions of codelets.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include <consort/handles.h>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

constexpr uint64_t kBytes = 4096;

const void *extension(const Plugin &p, const char *id) {
  const Inside inside(Tag::kControl, "get");
  return p.manifest().get(p.self(), id);
}

consort_op fill_of(const Store &to, uint64_t off, uint64_t run, uint32_t pattern) {
  consort_op op = op_of(CONSORT_OP_FILL);
  op.u.fill = {to.at(off), run, to.space(), pattern};
  return op;
}
void apply_fill(const consort_op &op, Store &to) {
  const consort_fill &f = op.u.fill;
  for (uint64_t i = 0; i < f.run; ++i)
    to.model[f.dst.off - to.at().off + i] = reinterpret_cast<const uint8_t *>(&f.pattern)[i % 4];
}

// An in-order queue of a unit, and a block in memory of that device.
struct Recorder {
  Recorder(Trial &trial, Plugin &plugin) : t(trial), p(plugin), devices(trial, plugin) {
    const void *table = extension(p, CONSORT_CAPTURE_ID);
    if (!table) t.skip("it has no consort.capture/1");
    uint32_t size = 0;
    std::memcpy(&size, table, sizeof size);
    std::memcpy(static_cast<void *>(&ext), table, std::min<size_t>(size, sizeof ext));
    t.need(ext.begin && ext.end && ext.launch && ext.update && ext.release, "a function of its consort.capture/1 is NULL");
    const auto own = devices.own_spaces();
    for (const Devices::Unit &u : devices.units()) {
      const auto there = std::find_if(own.begin(), own.end(), [&](uint32_t s) { return devices.spaces()[s].device == u.device; });
      if (u.desc.flags & CONSORT_UNIT_INLINE || there == own.end()) continue;
      q = std::make_unique<DeviceQueue>(devices, u.device, u.index);
      if (!q->is_in_order()) continue;
      unit = &u;
      block = std::make_unique<Store>(devices, *there, kBytes);
      return;
    }
    t.skip("no unit has a queue in order and memory of its own device");
  }
  // Passes the ops between begin and end. The caller releases the graph.
  consort_status record(const std::vector<consort_op> &ops, uint64_t *graph) {
    t.doing("a capture of %zu ops", ops.size());
    p.host().forget_failure();
    const Inside inside(Tag::kQueue, "begin, submit, end of a capture");
    const consort_status begun = ext.begin(q->raw());
    t.need(begun >= 0, "begin of a capture answers %d: %s", begun, p.host().failure().c_str());
    for (const consort_op &given : ops) {
      consort_op op = given;                     // invalid after submit, as the kernel's is
      t.check(devices.ops().submit(q->raw(), &op, 1) == 1, "submit accepts no op while it records");
      std::memset(static_cast<void *>(&op), 0xA5, sizeof op);
    }
    return ext.end(q->raw(), graph);
  }
  uint64_t must_record(const std::vector<consort_op> &ops) {
    uint64_t graph = 0;
    const consort_status s = record(ops, &graph);
    if (s == CONSORT_E_UNSUPPORTED) t.skip("fills and marks cannot be captured: %s", p.host().failure().c_str());
    t.need(s >= 0, "end of a capture answers %d: %s", s, p.host().failure().c_str());
    return graph;
  }
  void launch(uint64_t graph) {
    t.doing("launch of a graph");
    const consort_op mark = op_of(CONSORT_OP_MARK);
    const size_t entry = q->send_by(mark, [&](const consort_op *op) { return ext.launch(q->raw(), graph, op); });
    q->wait();
    t.need((*q)[entry].done.status == CONSORT_OK, "a launch ends with %d: %s", (*q)[entry].done.status, p.host().failure().c_str());
  }
  void release(uint64_t graph) {
    t.doing("release of a graph");
    const Inside inside(Tag::kControl, "release");
    ext.release(graph);
  }

  Trial &t;
  Plugin &p;
  Devices devices;
  consort_capture_ops ext{};
  const Devices::Unit *unit = nullptr;
  std::unique_ptr<DeviceQueue> q;
  std::unique_ptr<Store> block;
};

// Overlapping fills: the contents show which one came last.
std::vector<consort_op> overlapping(Trial &t, const Store &to, size_t n) {
  std::vector<consort_op> ops;
  for (size_t k = 0; k < n; ++k) {
    const uint64_t off = t.random().below(kBytes / 8) * 4, run = 4 * (1 + t.random().below((kBytes - off) / 4));
    ops.push_back(fill_of(to, off, run, static_cast<uint32_t>(t.random().next())));
    if (k % 3 == 1) ops.push_back(op_of(CONSORT_OP_MARK));
  }
  return ops;
}
void apply_all(const std::vector<consort_op> &ops, Store &to) {
  for (const consort_op &op : ops)
    if (op.kind == CONSORT_OP_FILL) apply_fill(op, to);
}

using Questions = std::function<void(const consort_call &)>;
consort_status ask(const consort_call *c) {
  (*static_cast<Questions *>(c->user))(*c);
  return CONSORT_OK;
}

}  // namespace

CONFORM_CASE(D, 80, behaviour, runs_what_it_captured_at_each_launch) {
  Plugin p(t);
  Recorder r(t, p);
  for (uint64_t round = 0; round < t.scaled(4, 40) && t.has_time() && !t.failed(); ++round) {
    const auto ops = overlapping(t, *r.block, 3 + t.random().below(9));
    const uint64_t graph = r.must_record(ops);
    if (!r.block->holds("a capture, before the first launch")) break;
    for (int again = 0; again < 3 && !t.failed(); ++again) {
      r.launch(graph);
      apply_all(ops, *r.block);
      if (!r.block->holds(again ? "a later launch" : "the first launch")) break;
      r.block->fill(t.random());
      r.block->write();
    }
    r.release(graph);
  }
}

CONFORM_CASE(D, 81, behaviour, counts_a_launch_as_one_op) {
  Plugin p(t);
  Recorder r(t, p);
  const auto ops = overlapping(t, *r.block, 5);
  const uint64_t graph = r.must_record(ops);
  t.need(r.q->poll() == 0, "something is reported after a capture, and nothing was submitted");
  r.q->run(op_of(CONSORT_OP_MARK));
  const auto launch = [&](const consort_op *op) { return r.ext.launch(r.q->raw(), graph, op); };
  const consort_op mark = op_of(CONSORT_OP_MARK);
  for (uint64_t k = 0; k < t.scaled(60, 500) && !t.failed(); ++k) {
    t.doing("launches among marks, the %llu-th op", static_cast<unsigned long long>(k));
    if (t.random().one_in(3)) r.q->send(mark);
    else r.q->send_by(mark, launch);
  }
  r.q->wait();
  // A ticket of the last launch. If the driver counts otherwise, it never completes, or too early.
  const size_t last = r.q->send_by(mark, launch);
  const consort_ticket ticket = r.q->ticket(last);
  DeviceQueue copies(r.devices, r.unit->device);
  DeviceQueue &other = copies.waits_for(*r.q) ? copies : *r.q;
  consort_op behind = fill_of(*r.block, 0, kBytes, 0x5a5a5a5a);
  behind.wait = &ticket;
  behind.nwait = 1;
  const size_t entry = other.send(behind);
  other.wait();
  r.q->wait();
  apply_all(ops, *r.block);
  if (other[entry].done.status == CONSORT_OK) apply_fill(behind, *r.block);
  else t.check(other[entry].done.status == CONSORT_E_UNSUPPORTED, "a fill behind a launch ends with %d", other[entry].done.status);
  r.block->holds("a fill behind a launch");
  r.release(graph);
}

CONFORM_CASE(D, 82, behaviour, says_what_it_cannot_capture) {
  Plugin p(t);
  Recorder r(t, p);
  for (uint64_t round = 0; round < t.scaled(4, 40) && !t.failed(); ++round) {
    const auto good = overlapping(t, *r.block, 4);
    auto bad = good;
    bad.insert(bad.begin() + static_cast<ptrdiff_t>(t.random().below(bad.size() + 1)), op_of(0x6fff));  // an unknown kind
    uint64_t graph = 0;
    const consort_status s = r.record(bad, &graph);
    t.check(s == CONSORT_E_UNSUPPORTED, "an op of an unknown kind is captured, and end answers %d", s);
    t.check(s >= 0 || !p.host().failure().empty(), "end answers %d without a word", s);
    if (s >= 0) r.release(graph);
    t.check(r.q->poll() == 0, "an op is reported after a capture that was refused");
    const consort_op alone = fill_of(*r.block, 0, kBytes, static_cast<uint32_t>(t.random().next()));
    t.check(r.q->run(alone) == CONSORT_OK, "a fill after a capture that was refused ends with an error");
    apply_fill(alone, *r.block);
    r.block->holds("a fill after a capture that was refused");
    graph = r.must_record(good);
    r.launch(graph);
    apply_all(good, *r.block);
    r.block->holds("a launch after a capture that was refused");
    r.release(graph);
  }
}

CONFORM_CASE(D, 83, behaviour, updates_one_op_or_refuses) {
  Plugin p(t);
  Recorder r(t, p);
  for (uint64_t round = 0; round < t.scaled(6, 60) && !t.failed(); ++round) {
    std::vector<consort_op> ops;
    for (uint64_t k = 0; k < 6; ++k) ops.push_back(fill_of(*r.block, k * 512, 512, static_cast<uint32_t>(t.random().next())));
    const uint64_t graph = r.must_record(ops);
    r.launch(graph);
    apply_all(ops, *r.block);
    r.block->holds("a launch");
    const auto i = static_cast<uint32_t>(t.random().below(ops.size()));
    const consort_op now = fill_of(*r.block, i * 512, 512, static_cast<uint32_t>(t.random().next()));
    t.doing("update of op %u", i);
    consort_status s;
    {
      const Inside inside(Tag::kControl, "update");
      consort_op given = now;
      p.host().forget_failure();
      s = r.ext.update(graph, i, &given);
      std::memset(static_cast<void *>(&given), 0xA5, sizeof given);
    }
    t.check(s >= 0 || s == CONSORT_E_UNSUPPORTED, "update answers %d: %s", s, p.host().failure().c_str());
    if (s >= 0) ops[i] = now;
    r.launch(graph);
    apply_all(ops, *r.block);
    r.block->holds(s >= 0 ? "a launch after an update" : "a launch after an update that was refused");
    {
      const Inside inside(Tag::kControl, "update");
      t.check(r.ext.update(graph, static_cast<uint32_t>(ops.size()), &now) < 0, "an op is updated that the graph does not have");
    }
    r.release(graph);
  }
}

CONFORM_CASE(D, 84, life, releases_its_graphs) {
  Plugin p(t);
  Recorder r(t, p);
  constexpr uint32_t kRounds = 16;
  const auto good = overlapping(t, *r.block, 6);
  auto bad = good;
  bad.push_back(op_of(0x6fff));
  MemoryMarks memory(kRounds * 8, kRounds);
  while (memory.is_undecided()) {
    for (uint32_t k = 0; k < kRounds; ++k) {
      const uint64_t graph = r.must_record(good);
      r.launch(graph);
      r.release(graph);
      uint64_t none = 0;
      if (r.record(bad, &none) >= 0) r.release(none);
    }
    memory.mark();
  }
  t.check(!memory.leaks(), "%zu bytes are added by each %u captures", memory.growth(), 2 * kRounds);
}

CONFORM_CASE(D, 85, behaviour, refuses_unknown_libraries) {
  Plugin p(t);
  Devices devices(t, p);
  const void *table = extension(p, CONSORT_HANDLES_ID);
  if (!table) t.skip("it has no consort.handles/1");
  consort_handles ext{};
  uint32_t size = 0;
  std::memcpy(&size, table, sizeof size);
  std::memcpy(static_cast<void *>(&ext), table, std::min<size_t>(size, sizeof ext));
  t.need(ext.handle && ext.symbol && ext.check, "a function of its consort.handles/1 is NULL");
  const auto refused = [&](const char *what, consort_status s) {
    t.check(s < 0, "%s is accepted", what);
    t.check(s >= 0 || !p.host().failure().empty(), "%s is refused with %d, without a word", what, s);
    p.host().forget_failure();
  };
  unsigned asked = 0;
  for (const Devices::Unit &u : devices.units()) {
    if (u.desc.flags & CONSORT_UNIT_INLINE || asked >= 4) continue;
    ++asked;
    void *dev = devices.all()[u.device].handle;
    Questions body = [&](const consort_call &c) {
      void *out = nullptr;
      refused("a handle of the library \"conform_nothing\"", ext.handle(dev, &c, "conform_nothing", &out));
      refused("a handle of the library \"\"", ext.handle(dev, &c, "", &out));
      refused("a function of the library \"conform_nothing\"", ext.symbol(dev, &c, "conform_nothing", "f", &out));
      refused("an answer of the library \"conform_nothing\"", ext.check(dev, &c, "conform_nothing", "f", 1));
    };
    consort_call call{};
    call.size = sizeof call;
    call.unit = u.desc.id;
    call.team = 1;
    call.team_id = CONSORT_NONE;
    call.user = &body;
    call.host = p.table();
    DeviceQueue q(devices, u.device, u.index);
    consort_op op = op_of(CONSORT_OP_CALL);
    op.u.call = {ask, &call};
    t.doing("questions for libraries inside a call of unit %u of class %s", u.index, u.klass.c_str());
    t.check(q.run(op) == CONSORT_OK, "an op that asks for libraries ends with an error");
  }
  if (!asked) t.skip("it has no units, or the kernel calls what runs there itself (CONSORT_UNIT_INLINE)");
}

}  // namespace conform
