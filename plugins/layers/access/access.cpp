// access.cpp — the layer that names tasks which use data otherwise than they declared.
//
// It watches the functions of tasks (watch.hpp), and wraps drivers of devices: what tasks change there (device.hpp).
#include <consort/layer.h>

#include <cstdlib>

#include "../wrap.hpp"
#include "device.hpp"
#include "watch.hpp"

namespace access_check {
namespace {

using namespace layers;
using D = consort_driver_ops;

constexpr consort_param params[] = {
    {"fatal", "bool", "false", nullptr, "a task with a finding fails with E_INTERNAL"},
    {"twice", "bool", "false", nullptr,
     "each body runs twice, with two patterns in what it must write first; for bodies without other effects"},
    {"homes", "string", "auto", "auto|on|off",
     "data that no running task declared are inaccessible; auto: unless devices or other ranks use the same memory"},
    {"place", "string", "alternate", "alternate|end|begin",
     "the border of a copy that stands at an inaccessible page, as far as its alignment allows"},
    {"arena_mb", "u64", "65536", "64..1048576",
     "address space for copies in MiB, used in turn: how long ended ones stay known"},
    {"devices", "bool", "true", nullptr, "read back what tasks on devices may not change; a unit runs one task at a time"},
    {"device_mb", "u64", "256", "0..1048576", "most that is read back before and after a task on a device, in MiB"},
};

Settings read(const consort_host *h) {
  const auto text = [&](const char *key) { return std::string_view(text_param(h, key)); };
  Settings s;
  s.fatal = text("fatal") == "true";
  s.twice = text("twice") == "true";
  s.homes = text("homes") != "off";
  s.homes_anyway = text("homes") == "on";
  s.place = text("place") == "end" ? 1 : text("place") == "begin" ? 2 : 0;
  s.arena = std::strtoull(text_param(h, "arena_mb"), nullptr, 10) << 20;
  return s;
}

class Access {
 public:
  static constexpr bool kRemembersClosed = false;
  struct Object {
    DeviceMemory memory;                                       // of a device
    std::map<uint64_t, std::unique_ptr<DeviceTask>> in_flight;  // of a queue, by cookie
  };
  using N = Node<Access>;
  using W = Wrapped<Access>;

  explicit Access(const consort_host *h)
      : host_(h), watch_(h, read(h)), devices_(text_param(h, "devices") == std::string_view("true")),
        most_(std::strtoull(text_param(h, "device_mb"), nullptr, 10) << 20),
        bodies_(static_cast<const consort_bodies *>(h->get(h, CONSORT_BODIES_ID))) {}
  consort_status open() { return watch_.open(); }
  void end() noexcept { watch_.close(); }
  bool wants(const consort_plugin &p) {
    const bool device = p.kind == CONSORT_KIND_DRIVER && (p.flags & CONSORT_PF_PROBED);
    if (device || p.kind == CONSORT_KIND_TRANSPORT) watch_.share_homes();
    return device && devices_;
  }

  template <auto kFn, class Next, class... A>
  static auto call(N &n, const char *, Next &&next, A... a) {
    if constexpr (same<kFn, &D::unit>) {
      return one_at_a_time(next, a...);
    } else if constexpr (same<kFn, &D::queue_open>) {
      return without_tickets(next, a...);
    } else if constexpr (same<kFn, &D::link>) {
      return linked(n, next, a...);
    } else if constexpr (same<kFn, &D::free>) {
      n.state.memory.forget(a...);
      return next(a...);
    } else if constexpr (same<kFn, &D::submit>) {
      return submitted(n, next, a...);
    } else if constexpr (same<kFn, &D::poll>) {
      return polled(n, next, a...);
    } else {
      if constexpr (same<kFn, &D::close>) n.state.memory.close(n.of.table<D>());
      return next(a...);
    }
  }
  template <auto kFn, class Next, class... A>
  static auto hosted(W &, Next &&next, A... a) { return next(a...); }
  template <auto kFn, class... A>
  static void opened(N &, A...) {}

 private:
  template <class Next>
  static consort_status one_at_a_time(Next &next, uint32_t i, consort_unit_desc *out) {
    const consort_status s = next(i, out);
    if (s >= 0) out->depth = 1;
    return s;
  }
  // The kernel then issues an operation only when those before it have completed.
  template <class Next>
  static consort_status without_tickets(Next &next, uint32_t unit, uint64_t token, consort_queue_desc *desc) {
    const consort_status s = next(unit, token, desc);
    if (s >= 0) desc->flags &= ~uint32_t{CONSORT_Q_WAITS}, desc->sync = 0;
    return s;
  }
  template <class Next>
  static consort_status linked(N &n, Next &next, const consort_space_desc *src, const consort_space_desc *dst,
                               consort_link_desc *out) {
    const consort_status s = next(src, dst, out);
    if (s >= 0) n.state.memory.note_link(*src, *dst, *out);
    return s;
  }

  template <class Next>
  static uint32_t submitted(N &n, Next &next, const consort_op *ops, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      before(n, ops[i]);
      if (next(ops + i, 1u) == 1) continue;
      n.state.in_flight.erase(ops[i].cookie);
      return i;
    }
    return count;
  }
  static void before(N &n, const consort_op &op) noexcept try {
    Access &layer = n.of.layer;
    DeviceMemory &memory = n.parent->state.memory;
    if (op.kind == CONSORT_OP_COPY) {
      uint64_t reach = op.u.copy.run;
      for (int i = 0; i < 2; ++i) reach += (op.u.copy.n[i] - 1) * static_cast<uint64_t>(std::abs(op.u.copy.dst_step[i]));
      return memory.forget(op.u.copy.dst_space, op.u.copy.dst, reach);
    }
    if (op.kind == CONSORT_OP_FILL) return memory.forget(op.u.fill.space, op.u.fill.dst, op.u.fill.run);
    if (op.kind == CONSORT_OP_FREE) return memory.forget(op.u.alloc.space, *op.u.alloc.addr, op.u.alloc.bytes);
    if (op.codelet == CONSORT_NONE || !layer.bodies_) return;
    auto task = std::make_unique<DeviceTask>();
    layer.bodies_->describe(layer.host_, &op, described, task.get());
    memory.begin(n.of.table<D>(), n.parent->inner, *task, layer.most_);
    n.state.in_flight[op.cookie] = std::move(task);
  } catch (const std::bad_alloc &) {  // this task is not checked
  }
  static void described(void *user, const consort_body *b) {
    auto &t = *static_cast<DeviceTask *>(user);
    TaskLabel &label = t.owner->label;
    label.task = b->task;
    set(label.name, sizeof label.name, b->name), set(label.codelet, sizeof label.codelet, b->codelet);
    set(label.unit, sizeof label.unit, b->unit);
    if (!(b->space->flags & CONSORT_SP_CPU))
      for (uint32_t i = 0; i < b->ndata; ++i) t.data.emplace_back(b->data[i], b->space->id);
  }
  template <class Next>
  static uint32_t polled(N &n, Next &next, consort_done *out, uint32_t max) {
    const uint32_t r = next(out, max);
    for (uint32_t i = 0; i < r && i < max; ++i) after(n, out[i]);
    return r;
  }
  static void after(N &n, consort_done &done) noexcept try {
    const auto it = n.state.in_flight.find(done.cookie);
    if (it == n.state.in_flight.end()) return;
    const std::unique_ptr<DeviceTask> task = std::move(it->second);
    n.state.in_flight.erase(it);
    Access &layer = n.of.layer;
    n.parent->state.memory.end(n.of.table<D>(), n.parent->inner, *task,
                               [&](const DeviceReplica &d, uint32_t block, int64_t offset, bool declared) {
                                 layer.watch_.found_on_device(*task->owner, d.what, offset, block, declared);
                               });
    if (layer.watch_.tell(*task->owner) && done.status >= 0)
      done.status = layer.host_->fail(layer.host_, CONSORT_E_INTERNAL, kFatal);
  } catch (const std::bad_alloc &) {  // this task is not checked
  }

  const consort_host *const host_;
  Watch watch_;
  const bool devices_;
  const uint64_t most_;
  const consort_bodies *const bodies_;
};

constexpr consort_plugin plugin =
    Plugin<Access>::table("access", "names tasks that use data otherwise than they declared", params);

}  // namespace
}  // namespace access_check

CONSORT_MODULE(access, LAYER, 0, "access", "0.1.0", access_check::plugin);
