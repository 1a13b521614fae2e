#include "exec/watched_body.hpp"

#include <string>
#include <vector>

#include "base/last_error.hpp"
#include "graph/failed_task.hpp"
#include "graph/reduction.hpp"

namespace consort {
namespace {

// What a watch is shown of one call; owns the names.
struct Described {
  std::vector<std::string> names;
  std::vector<consort_body_datum> data;
  consort_body body{};
};

// May throw bad_alloc. Precondition: the call has the task's views.
void describe(TaskGraph &rt, const Worker &w, const Task &t, const consort_call &call, Described &out) {
  out.names.reserve(call.nviews);
  for (uint32_t i = 0; i < call.nviews; ++i) {
    const consort_access &a = t.pub.access[i];
    const Datum &d = *datum_for(a);
    out.names.push_back(rt.data.name(d));
    out.data.push_back({d.pub.id, out.names.back().c_str(), d.layout->name.c_str(), d.layout->ops, d.shape(),
                        call.views[i], a.mode, 0});
  }
  out.body = {.size = sizeof(consort_body),
              .flags = t.codelet->flags & CONSORT_CL_ASYNC ? uint32_t{CONSORT_BODY_ASYNC} : 0,
              .task = t.pub.id,
              .name = task_label(rt, t),
              .codelet = t.codelet->name.c_str(),
              .data = out.data.data(),
              .ndata = call.nviews,
              .worker = w.id,
              .space = &rt.topology->spaces()[w.unit.desc.space].desc,
              .unit = w.unit.name.c_str(),
              .function = nullptr,
              .run = nullptr};
}

consort_status run(const consort_body *body, const consort_call *call) {
  return guarded_call(reinterpret_cast<consort_call_fn *>(body->function), call);
}

// Functions of the kernel have no views.
bool has_views(const Task &t, const consort_call &call) noexcept { return t.codelet && call.nviews == t.pub.naccess; }

}  // namespace

consort_status watched_body(TaskGraph &rt, const consort_body_watch &watch, const Worker &w, const Task &t,
                            consort_call_fn *fn, consort_call *call, bool shared) noexcept {
  Described d;
  try {
    if (has_views(t, *call)) describe(rt, w, t, *call, d);
    else d.body = {.size = sizeof(consort_body), .flags = CONSORT_BODY_INTERNAL, .task = t.pub.id, .name = task_label(rt, t),
                   .codelet = "", .data = nullptr, .ndata = 0, .worker = w.id,
                   .space = &rt.topology->spaces()[w.unit.desc.space].desc, .unit = w.unit.name.c_str(),
                   .function = nullptr, .run = nullptr};
  } catch (const std::bad_alloc &) {
    return set_error(CONSORT_E_NOMEM, "no memory to describe the task to the layer that watches bodies");
  }
  if (shared) d.body.flags |= CONSORT_BODY_SHARED;
  d.body.function = reinterpret_cast<void *>(fn);
  d.body.run = run;
  return watch.body(watch.user, &d.body, call);
}

bool describe_body(TaskGraph &rt, const Worker &w, const Task &t, const consort_call &call,
                   void (*to)(void *user, const consort_body *), void *user) noexcept try {
  if (!has_views(t, call)) return true;
  Described d;
  describe(rt, w, t, call, d);
  return to(user, &d.body), true;
} catch (const std::bad_alloc &) {
  return false;
}

}  // namespace consort
