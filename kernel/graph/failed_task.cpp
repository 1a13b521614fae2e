#include "graph/failed_task.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/last_error.hpp"
#include "base/status_name.hpp"
#include "task/kinds.hpp"

namespace consort {

const char *task_label(const TaskGraph &rt, const Task &t) noexcept {
  if (t.extra && t.extra->name) return t.extra->name;
  return t.codelet ? t.codelet->name.c_str() : rt.kinds.of(t).label(t);
}

// A queue may refuse a followed task while its predecessors run. These still use the data that it would have written,
// so the queue poisons them when the task ends (poison_again()).
static bool is_its_turn(const Task &t) noexcept { return !(t.bits & kFollowed) || predecessors_ended(t); }

// Poisons what a failed task would have written. Allocates nothing.
static void poison(TaskGraph &rt, const Task &t, const std::shared_ptr<const Failure> &cause) noexcept {
  if (!is_its_turn(t)) return;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    if (!changes(t.pub.access[i].mode)) continue;
    Datum *d = Datum::of(t.pub.access[i].datum);
    d->state.fetch_or(data_state::kPoisoned, std::memory_order_relaxed);
    rt.data.blame(*d, cause);
  }
}

void fail_group(TaskGraph &rt, Task *t, consort_status status, const char *what) noexcept {
  try {
    auto f = std::make_shared<Failure>();
    f->status = status;
    f->task = t->pub.id;
    f->worker = CONSORT_NONE;
    f->task_name = task_label(rt, *t);
    f->text = std::string(what) + ": " + error_text();
    rt.groups.fail(*t->group, f);
    rt.failures.add_unnamed(std::move(f));
  } catch (const std::bad_alloc &) {
    rt.groups.fail(*t->group, rt.failures.lost());
  }
}

void record_failure(TaskGraph &rt, Task *t, consort_status status, std::string_view text, Datum *datum, uint32_t worker,
                    std::shared_ptr<const Failure> cause) noexcept {
  try {
    auto f = std::make_shared<Failure>();
    const bool known = status >= CONSORT_E_STOPPED;  // else a number that is no CONSORT_E_ value
    f->status = known ? status : CONSORT_E_INTERNAL;
    f->task = t->pub.id;
    f->worker = worker;
    f->task_name = task_label(rt, *t);
    if (worker < rt.workers.size()) f->worker_name = rt.workers[worker]->unit.name;
    if (datum) f->data_name = rt.data.name(*datum);
    const std::string answer = known ? status_name(status) : std::to_string(status) + ", which is no CONSORT_E_ value,";
    f->text = text.empty() ? "it answered " + answer + " and gave no reason" : std::string(text);
    f->cause = Failure::next_cause(cause);
    f->depth = f->cause ? f->cause->depth + 1 : 0;
    set_error(f->status, f->chain());
    std::lock_guard lock(rt.data.blame_mutex);
    const uint32_t poisoned = is_its_turn(*t) ? t->pub.naccess : 0;
    for (uint32_t i = 0; i < poisoned; ++i) {
      const consort_access &a = t->pub.access[i];
      if (!changes(a.mode)) continue;
      Datum *d = Datum::of(a.datum);
      d->state.fetch_or(data_state::kPoisoned, std::memory_order_relaxed);
      if (DatumExtra *e = rt.data.extra(*d)) e->blame = f;
    }
    rt.groups.fail(*t->group, f);
    if (t->recorded()) rt.kinds.of(*t).failed(rt, *t, f);
    rt.failures.add(std::move(f));
  } catch (const std::bad_alloc &) {
    // Out of memory: the data are poisoned nevertheless, and group and name get the shared record.
    const auto &lost = rt.failures.add_lost(t->pub.id);
    poison(rt, *t, lost);
    rt.groups.fail(*t->group, lost);
    if (t->recorded()) {
      std::lock_guard lock(rt.data.blame_mutex);
      rt.kinds.of(*t).failed(rt, *t, lost);
    }
    set_error(status, "a task failed, and there was no memory to record why");
  }
}

consort_status fail_if_doomed(TaskGraph &rt, Task *t) noexcept {
  if (t->pub.flags & CONSORT_TK_INTERNAL) return CONSORT_OK;  // tasks outside the cancelled group may need it
  const uint64_t w = t->word.load(std::memory_order_relaxed);
  if (t->epoch != t->group->epoch.load(std::memory_order_relaxed) || (w & word::kCancelled)) {
    record_failure(rt, t, CONSORT_E_CANCELLED, "cancelled before it started", nullptr, CONSORT_NONE, nullptr);
    return CONSORT_E_CANCELLED;
  }
  if (!(t->bits & kAfter)) return CONSORT_OK;
  for (uint32_t i = 0; i < t->extra->nafter; ++i)
    if (auto cause = rt.failures.find(t->recorded() ? rt.name_before(t->extra->after[i]) : t->extra->after[i])) {
      const consort_status s = cause->tag_given_up ? CONSORT_E_CANCELLED : CONSORT_E_POISONED;
      record_failure(
          rt, t, s,
          cause->tag_given_up ? "cancelled: it waited for a tag" : "not run: it comes after a task that failed", nullptr,
          CONSORT_NONE, cause);
      return s;
    }
  return CONSORT_OK;
}

void poison_again(TaskGraph &rt, const Task *t) noexcept { poison(rt, *t, rt.failures.find(t->pub.id)); }

}  // namespace consort
