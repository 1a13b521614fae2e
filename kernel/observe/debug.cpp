// debug.cpp — data for debuggers that read a stopped process or its core dump: the address of the shells, and the
// offsets of the fields that tools/gdb/consort.py reads. No debug information is needed.
//
// Constant data, exported as consort_debug. The kernel itself does not use it.
#include "observe/debug.hpp"

#include <cstddef>

#include "base/process.hpp"
#include "observe/observation.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/group.hpp"
#include "task/task.hpp"
#include "task/thread_state.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // no virtual bases here: the offsets are what they seem

namespace consort {

struct Debug {
  static constexpr size_t kArena = offsetof(Observation, tasks), kThreads = offsetof(Observation, threads);
  static constexpr DebugWord words[] = {
      {"shell.size", sizeof(consort_runtime)},
      {"shell.state", offsetof(consort_runtime, state)},
      {"shell.phase", consort_runtime::kPhase},
      {"runtime.number", offsetof(Observation, number)},
      {"runtime.tasks", kArena + offsetof(Arena<Task>, base_)},
      {"runtime.carved", kArena + offsetof(Arena<Task>, next_)},
      {"runtime.threads", kThreads + offsetof(ThreadStates, all_)},
      {"runtime.nthreads", kThreads + offsetof(ThreadStates, n_)},
      {"thread.task", offsetof(ThreadState, task)},
      {"task.size", sizeof(Task)},
      {"task.id", offsetof(Task, pub) + offsetof(consort_task, id)},
      {"task.priority", offsetof(Task, pub) + offsetof(consort_task, priority)},
      {"task.naccess", offsetof(Task, pub) + offsetof(consort_task, naccess)},
      {"task.access", offsetof(Task, pub) + offsetof(consort_task, access)},
      {"task.codelet", offsetof(Task, codelet)},
      {"task.group", offsetof(Task, group)},
      {"task.extra", offsetof(Task, extra)},
      {"task.pending", offsetof(Task, pending)},
      {"task.word", offsetof(Task, word)},
      {"task.kind", offsetof(Task, kind)},
      {"kind.hold", static_cast<uint64_t>(TaskKind::kHold)},
      {"kind.gate", static_cast<uint64_t>(TaskKind::kGate)},
      {"extra.name", offsetof(Extra, name)},
      {"codelet.name", offsetof(Codelet, name)},
      {"group.name", offsetof(Group, name)},
      {"datum.pub", offsetof(Datum, pub)},
      {"datum.extra", offsetof(Datum, rare)},
      {"datum.layout", offsetof(Datum, layout)},
      {"datum_extra.name", offsetof(DatumExtra, name)},
      {"layout.name", offsetof(Layout, name)},
      {"", 0},
  };
};

}  // namespace consort

extern "C" constinit const consort_debug_table consort_debug = {
    2, 0, &consort::process::all_shells, consort::process::kShells, consort::Debug::words};
