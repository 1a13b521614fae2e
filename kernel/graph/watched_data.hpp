// watched_data.hpp — tells the watch of bodies, if there is one, which data have a home and which are acquired.
//
// Any thread. Each function costs a load and a branch without a watch.
#pragma once
#include "graph/task_graph.hpp"
#include "task/run_observer.hpp"

namespace consort {

void tell_watch_added(const Core &, const consort_body_watch &, const Datum &) noexcept;
void tell_watch_acquired(const Core &, const consort_body_watch &, const Datum &, const void *view, uint32_t mode,
                         bool on) noexcept;

// A registered datum. Only those at home in host memory are told.
inline void tell_added(const Core &rt, const Datum &d) noexcept {
  if (const consort_body_watch *watch = bodies_of(rt.run_observer)) [[unlikely]] tell_watch_added(rt, *watch, d);
}
// Its memory is about to be freed, or to be the application's alone.
inline void tell_removed(const Core &rt, const Datum &d) noexcept {
  const consort_body_watch *watch = bodies_of(rt.run_observer);
  if (watch && watch->removed) [[unlikely]] watch->removed(watch->user, d.pub.id);
}
// The application has the view, or gives it back.
inline void tell_acquired(const Core &rt, const Datum &d, const void *view, uint32_t mode, bool on) noexcept {
  if (const consort_body_watch *watch = bodies_of(rt.run_observer)) [[unlikely]]
    tell_watch_acquired(rt, *watch, d, view, mode, on);
}

}  // namespace consort
