#include "graph/acquired_data.hpp"

#include "base/last_error.hpp"
#include "graph/task_options.hpp"
#include "graph/watched_data.hpp"
#include "task/callback.hpp"

namespace consort {

consort_status check_held(TaskGraph &rt, const Task &hold, Datum &d, uint32_t mode) noexcept try {
  const uint32_t state = d.state.load(std::memory_order_acquire);
  if (mode & CONSORT_M_R) {
    if (state & data_state::kPoisoned) {
      const auto blame = rt.data.blame(d);
      if (blame) blame->tell();
      return set_errorf(CONSORT_E_POISONED, "datum '%s' cannot be read: %s", rt.data.name(d).c_str(),
                        blame ? blame->chain().c_str() : "the task that should have written it failed");
    }
    if (!(state & data_state::kValid))
      return set_errorf(CONSORT_E_INVAL, "datum '%s' cannot be read: it was never written", rt.data.name(d).c_str());
  }
  std::string_view why;
  if (const consort_status s = rt.graph_memory->outcome(hold, &why); s < 0)
    return set_errorf(s, "datum '%s' cannot be brought home: %.*s", rt.data.name(d).c_str(), static_cast<int>(why.size()),
                      why.data());
  if (data_state::space(state) == data_state::kMany) {
    // Contents at home were copied to the home chosen at the staging; the host cannot access any other.
    const uint32_t home = hold.extra && hold.extra->staging ? CONSORT_NONE : rt.graph_memory->home_of(d);
    return home == CONSORT_NONE || home == rt.topology->home()
               ? CONSORT_OK
               : set_errorf(CONSORT_E_NOMEM, "no memory for the record that brings datum '%s' to the host",
                            rt.data.name(d).c_str());
  }
  if (d.pub.bytes && data_state::space(state) == data_state::kNowhere)
    return rt.data.give_memory(d, rt.topology->home());
  if (d.pub.bytes && !(rt.topology->spaces()[data_state::space(state)].desc.flags & CONSORT_SP_CPU))
    return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' lives in a space that the host does not reach",
                      rt.data.name(d).c_str());
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "the datum was not acquired, and there was no memory for the reason");
}

void expect_held(ThreadState &thread) {
  std::lock_guard lock(thread.held_lock);
  if (thread.held.capacity() <= thread.held.size() + thread.expected)
    thread.held.reserve((thread.held.size() + thread.expected) * 2 + 8);
  ++thread.expected;
}

void stop_expecting_held(ThreadState &thread) noexcept {
  std::lock_guard lock(thread.held_lock);
  --thread.expected;
}

void note_held(ThreadState &thread, TaskName name, Datum &d, uint32_t mode, bool later) noexcept {
  std::lock_guard lock(thread.held_lock);
  --thread.expected;
  thread.held.push_back({name, &d, mode, later});  // capacity is reserved
  if (!later) thread.nholds.fetch_add(1, std::memory_order_relaxed);
}

uint32_t let_go_held(ThreadState &thread, TaskName name) noexcept {
  std::lock_guard lock(thread.held_lock);
  for (size_t i = thread.held.size(); i-- > 0;)
    if (thread.held[i].name == name) {
      const uint32_t mode = thread.held[i].mode;
      if (!thread.held[i].later) thread.nholds.fetch_sub(1, std::memory_order_relaxed);
      thread.held[i] = thread.held.back();
      thread.held.pop_back();
      return mode;
    }
  return 0;
}

bool grant(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  Datum &d = *Datum::of(t->pub.access[0].datum);
  ThreadState &holder = *rt.threads.at(t->thread);
  const TaskOptions &m = *t->extra->more;
  const auto fn = m.granted;
  void *const arg = m.granted_arg;
  if (const consort_status s = check_held(rt, *t, d, t->pub.access[0].mode); s < 0) {
    stop_expecting_held(holder);
    in_callback(thread, nullptr, [&] { fn(arg, s, nullptr); });
    return true;
  }
  const consort_hold hold{{t->pub.id}, rt.graph_memory->held_view(*t, d)};
  tell_acquired(rt, d, hold.view, t->pub.access[0].mode, true);
  note_held(holder, t->pub.id, d, t->pub.access[0].mode, true);
  in_callback(thread, nullptr, [&] { fn(arg, CONSORT_OK, &hold); });
  return false;
}

}  // namespace consort
