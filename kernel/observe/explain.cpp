// explain.cpp — consort_explain(): what a task waits for, in words. Reads without stopping other threads, so the answer
// describes a past moment.
#include "observe/explain.hpp"

#include <algorithm>

#include "exec/queue.hpp"
#include "graph/failed_task.hpp"
#include "graph/partition_order.hpp"
#include "observe/observation.hpp"
#include "sched/context.hpp"
#include "task/edges.hpp"

namespace consort {

std::string describe_held(Observation &rt) {
  std::string s;
  rt.for_each_thread([&](ThreadState &thread) {
    std::lock_guard lock(thread.held_lock);
    for (const auto &held : thread.held)
      s += "\ndatum '" + rt.data.name(*held.datum) + "' is acquired by a thread of the application (" +
           (held.mode & CONSORT_M_W ? "to write)" : "to read)");
  });
  if (const uint64_t n = rt.ends.held())
    s += "\nends of tasks are held by the application, " + std::to_string(n) + " times: consort_task_end_release()";
  return s;
}

std::string describe_runtime(Observation &rt) {
  const uint64_t finished = rt.finished(), submitted = rt.submitted();
  std::string s = std::to_string(submitted) + " tasks submitted, " + std::to_string(submitted - finished) +
                  " pending, scheduler " + rt.policies.name();
  if (rt.policy.current_name() != rt.policies.name()) s += " (" + rt.policy.current_name() + " at present)";
  if (const std::string why = rt.policies.reason(); !why.empty()) s += ": " + why;
  for (const auto &w : rt.executors) {
    const uint32_t t = w->token.load(std::memory_order_relaxed);
    s += "\nworker " + w->unit.name + ": " +
         std::to_string(w->ran.load(std::memory_order_relaxed) + w->extra_ran.load(std::memory_order_relaxed)) +
         " tasks, ";
    if (t == token::kHeld) s += "at work or looking for it";
    else if (token::is_lease(t)) s += "leased to a submitting thread";
    else s += "asleep";
  }
  s += rt.gangs.describe();
  s += rt.policy.contexts().describe();
  if (const std::string memory = rt.execution_memory->describe(); !memory.empty()) s += "\n" + memory;
  for (const auto &w : rt.workers)
    if (const uint32_t n = w->staging.load(std::memory_order_relaxed))
      s += "\nworker " + w->unit.name + " has " + std::to_string(n) + " tasks whose data are on their way";
  return s + describe_held(rt);
}

namespace {

// Returns the label of the kernel's own step, or nullptr if the task is none or its record was reused.
const char *step_if_any(const Task &t, uint64_t w) {
  if (t.kind != TaskKind::kStep) return nullptr;
  const char *what = step_label(t);
  std::atomic_thread_fence(std::memory_order_acquire);  // acquire: reads above come before the word below
  return word::generation(t.word.load(std::memory_order_relaxed)) == word::generation(w) ? what : nullptr;
}

// The tasks that are over, keep room which this one waits for, and end only by a call of the application: that call may
// wait for this task.
std::string describe_kept_room(Observation &rt, TaskName name) {
  std::vector<TaskName> over;
  rt.ends.list_over(over);
  std::string s;
  for (const TaskName o : over)
    if (rt.execution_memory->keeps_from(o, name))
      s += "; task #" + std::to_string(o) + " is over and keeps room there: its end is held, consort_task_end_release()";
  return s;
}

std::string describe_live(Observation &rt, TaskName name) {
  const uint64_t left = rt.task_at(name)->pending.load(std::memory_order_relaxed);
  const auto n = static_cast<uint32_t>(left);
  const auto released = [&]() -> std::string {
    if (const uint32_t holds = rt.ends.holds(name))
      return "the task is ready, running or over; its end is held " + std::to_string(holds) +
             " times: consort_task_end_release()";
    return "the task is ready or running: it waits for nothing but a worker";
  };
  if (left & pending::kClaimed)
    return "the task is issued behind " + std::to_string(n) + " unfinished predecessors on a queue of its device";
  if (n == 0 || n >= pending::kGuard) {
    if (std::string team = rt.gangs.describe(name); !team.empty()) return team;
    if (std::string message = rt.job ? rt.job->describe(name) : std::string(); !message.empty()) return message;
    const std::string memory = rt.execution_memory->describe(name);
    return memory.empty() ? released() : memory + describe_kept_room(rt, name);
  }
  // Predecessors are not listed in the task; search the successor lists of other tasks.
  std::string s = "the task waits for ";
  uint32_t named = 0;
  bool cut = false;
  for (uint32_t i = 1; i < rt.tasks.carved() && named < 8; ++i) {
    const Task *p = rt.tasks.at(i);
    const uint64_t w = p->word.load(std::memory_order_acquire);
    const consort_task *successors[64];
    if (!word::link(w)) continue;
    const uint32_t found = consort::successors(rt.tasks, *p, successors, 64);
    cut |= found > 64;
    for (uint32_t k = 0; k < found && k < 64; ++k)
      if (successors[k]->id == name) {
        const TaskName predecessor = (w & ~uint64_t{0xffffffff}) | i;
        const std::string tag = rt.tags.of_gate(predecessor);
        s += (named++ ? ", " : "") + (tag.empty() ? "task #" + std::to_string(predecessor) : tag);
        if (const char *what = step_if_any(*p, w)) s += std::string(" (") + what + ")";
        break;
      }
  }
  if (named) return s;
  // The last predecessor does not decrement the count; if none was found, the task was released.
  return cut ? s + std::to_string(n) + " predecessors" : released();
}

}  // namespace

std::string describe_task(Observation &rt, TaskName name) {
  if (!(name >> 32) || !rt.tasks.holds(static_cast<uint32_t>(name))) return "no task of this runtime";
  if (rt.is_live(name)) return describe_live(rt, name) + rt.policy.contexts().describe(name);
  const auto f = rt.failures.find(name);
  return f ? f->chain() : "the task is finished";
}

std::string describe_standstill(Observation &rt) {
  constexpr uint32_t kMostNamed = 8;
  std::string s = describe_runtime(rt);
  uint32_t named = 0, more = 0;
  for (uint32_t i = 1; i < rt.tasks.carved(); ++i) {
    const Task *t = rt.tasks.at(i);
    const uint64_t w = t->word.load(std::memory_order_acquire);  // acquire: the count below belongs to this task or a later one
    const auto waits = static_cast<uint32_t>(t->pending.load(std::memory_order_relaxed));
    if (!waits || waits >= pending::kGuard || !word::generation(w)) continue;
    if (named == kMostNamed) {
      ++more;
      continue;
    }
    const TaskName name = uint64_t{word::generation(w)} << 32 | i;
    s += "\ntask #" + std::to_string(name) + ": " + describe_task(rt, name);
    ++named;
  }
  if (more) s += "\nand " + std::to_string(more) + " more tasks wait for others";
  return s;
}

}  // namespace consort
