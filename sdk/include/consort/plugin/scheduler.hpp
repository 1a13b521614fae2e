// plugin/scheduler.hpp — a scheduler as a class: one object for each instance, its functions those of the table.
//
//   class Mine : public consort::plugin::Scheduler {
//    public:
//     Mine(Host, const consort_topology &, uint64_t epoch);                       // [control] may throw
//     void workers(const consort_topology &, Workers add, Workers del);           // [control] may throw, answer a status
//     uint32_t push(const consort_push &) noexcept;                               // [any]
//     uint32_t pop(uint32_t worker, std::span<consort_pick>) noexcept;            // [worker]
//     uint32_t drain(uint64_t epoch, std::span<consort_task *>) noexcept;         // [control]
//     consort_status quiesce(uint64_t deadline_ns);                               // [control] may throw
//   };
//   CONSORT_PLUGIN(mine, SCHEDULER, CONSORT_PF_SWAPPABLE, "mine", "1.0.0", Mine);
//
// With a `Settings` in the class (made from the Host, once for each runtime) the constructor gets a const Settings &
// first. Optional, and NULL in the table without: submitted, adopt, dropped, started, finished, flush, urgency, victim,
// next_event, direct, directed; all noexcept. `static constexpr uint32_t scheduler_flags` are CONSORT_SF_*. The contract of each
// function stands in scheduler.h. A call costs what the C table costs: the trampolines are inlined into the functions.
#pragma once
#include "../scheduler.h"
#include "table.hpp"

namespace consort::plugin {

using Workers = std::span<const uint32_t>;  // ids
using Tasks = std::span<const consort_task *const>;

namespace scheduling {

template <class C>
C &at(void *s) noexcept {
  return *static_cast<C *>(s);
}

template <class C>
constexpr consort_scheduler_ops table() {
  static_assert(Makes<C, C, Host, const consort_topology &, uint64_t>,
                "a scheduler is made of ([const Settings &,] Host, const consort_topology &, uint64_t epoch)");
  CONSORT_NEEDS_CALL(workers, (some<const consort_topology>(), Workers(), Workers()),
                     "void workers(const consort_topology &, Workers add, Workers del)");
  CONSORT_NEEDS_NOEXCEPT(push, (some<const consort_push>()), "uint32_t push(const consort_push &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(pop, (0u, std::span<consort_pick>()),
                         "uint32_t pop(uint32_t worker, std::span<consort_pick>) noexcept");
  CONSORT_NEEDS_NOEXCEPT(drain, (uint64_t{}, std::span<consort_task *>()),
                         "uint32_t drain(uint64_t epoch, std::span<consort_task *>) noexcept");
  CONSORT_NEEDS_CALL(quiesce, (uint64_t{}), "consort_status quiesce(uint64_t deadline_ns)");

  consort_scheduler_ops o{};
  o.size = sizeof o;
  if constexpr (requires { C::scheduler_flags; }) o.flags = C::scheduler_flags;
  o.create = [](void *self, const consort_host *h, const consort_topology *t, uint64_t epoch,
                void **out) noexcept -> consort_status {
    return guarded(h, [&] { *out = make<C>(self, Host(h), *t, epoch); });
  };
  o.destroy = [](void *s) noexcept { delete &at<C>(s); };
  o.workers = [](void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del,
                 uint32_t nd) noexcept -> consort_status {
    return guarded(at<C>(s).host(), [&] { return at<C>(s).workers(*t, Workers(add, na), Workers(del, nd)); });
  };
  o.push = [](void *s, const consort_push *p) noexcept -> uint32_t { return at<C>(s).push(*p); };
  o.pop = [](void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept -> uint32_t {
    return at<C>(s).pop(worker, std::span(out, max));
  };
  o.drain = [](void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept -> uint32_t {
    return at<C>(s).drain(epoch, std::span(out, max));
  };
  o.quiesce = [](void *s, uint64_t deadline) noexcept -> consort_status {
    return guarded(at<C>(s).host(), [&] { return at<C>(s).quiesce(deadline); });
  };

  CONSORT_IF_NOEXCEPT(submitted, (Tasks()), "void submitted(Tasks) noexcept")
  o.submitted = [](void *s, const consort_task *const *t, uint32_t n) noexcept { at<C>(s).submitted(Tasks(t, n)); };
  CONSORT_IF_NOEXCEPT(adopt, (Tasks()), "void adopt(Tasks) noexcept")
  o.adopt = [](void *s, const consort_task *const *t, uint32_t n) noexcept { at<C>(s).adopt(Tasks(t, n)); };
  CONSORT_IF_NOEXCEPT(dropped, (std::span<consort_task *const>(), nullptr),
                      "uint32_t dropped(std::span<consort_task *const>, consort_task **held) noexcept")
  o.dropped = [](void *s, consort_task *const *t, uint32_t n, consort_task **held) noexcept -> uint32_t {
    return at<C>(s).dropped(std::span(t, n), held);
  };
  CONSORT_IF_NOEXCEPT(started, (0u, Tasks()), "void started(uint32_t worker, Tasks) noexcept")
  o.started = [](void *s, uint32_t w, const consort_task *const *t, uint32_t n) noexcept {
    at<C>(s).started(w, Tasks(t, n));
  };
  CONSORT_IF_NOEXCEPT(finished, (0u, std::span<const consort_done>()),
                      "void finished(uint32_t worker, std::span<const consort_done>) noexcept")
  o.finished = [](void *s, uint32_t w, const consort_done *d, uint32_t n) noexcept {
    at<C>(s).finished(w, std::span(d, n));
  };
  CONSORT_IF_NOEXCEPT(flush, (), "void flush() noexcept")
  o.flush = [](void *s) noexcept { at<C>(s).flush(); };
  CONSORT_IF_NOEXCEPT(urgency, (0u), "const int32_t *urgency(uint32_t worker) noexcept")
  o.urgency = [](void *s, uint32_t w) noexcept -> const int32_t * { return at<C>(s).urgency(w); };
  CONSORT_IF_NOEXCEPT(victim, (0u, uint64_t{}, std::span<const consort_replica>(), std::span<uint32_t>()),
                      "uint32_t victim(uint32_t space, uint64_t bytes, std::span<const consort_replica>, "
                      "std::span<uint32_t> order) noexcept")
  o.victim = [](void *s, uint32_t space, uint64_t bytes, const consort_replica *r, uint32_t n,
                uint32_t *order) noexcept -> uint32_t {
    return at<C>(s).victim(space, bytes, std::span(r, n), std::span(order, n));
  };
  CONSORT_IF_NOEXCEPT(next_event, (), "uint64_t next_event() noexcept")
  o.next_event = [](void *s) noexcept -> uint64_t { return at<C>(s).next_event(); };
  CONSORT_IF_NOEXCEPT(direct, (some<const consort_overview>()), "const char *direct(const consort_overview &) noexcept")
  o.direct = [](void *s, const consort_overview *v) noexcept -> const char * { return at<C>(s).direct(*v); };
  CONSORT_IF_NOEXCEPT(directed, (some<consort_direction>()), "void directed(consort_direction &) noexcept")
  o.directed = [](void *s, consort_direction *out) noexcept { at<C>(s).directed(*out); };
  return o;
}

}  // namespace scheduling

// Base of a scheduler: one object for each instance.
class Scheduler : public Object {
 public:
  static constexpr uint32_t kind = CONSORT_KIND_SCHEDULER;
  static constexpr uint16_t abi_major = CONSORT_SCHEDULER_MAJOR, abi_minor = CONSORT_SCHEDULER_MINOR;
  static constexpr bool is_self = false;
  template <class C>
  static constexpr consort_scheduler_ops table = scheduling::table<C>();

  using Object::Object;

  // [control] Estimates, residence, prefetch; nullptr: this host has none. Lives as long as the instance.
  const consort_sched_host *services() const noexcept { return host().service<consort_sched_host>(CONSORT_SCHED_ID); }
};

}  // namespace consort::plugin
