// replay.cpp — replay.h: recording, replay, changes, and detection of repeats.
#include <algorithm>
#include <cstring>

#include "api/entry.hpp"
#include "exec/wait.hpp"
#include "graph/access_order.hpp"
#include "graph/submit.hpp"
#include "replay/recorder.hpp"
#include "replay/replay.hpp"
#include "task/packed_args.hpp"

using namespace consort;

namespace {

consort_status stale(consort_recording_id id) noexcept {
  return id.v ? set_error(CONSORT_E_STALE,
                          "the recording was destroyed, or is none of this runtime: its handle is stale")
              : set_error(CONSORT_E_INVAL, "the null handle names no recording: consort_record_end() gives one");
}

// Runs f(runtime, recording) while no other thread replays or changes the recording.
template <class F>
consort_status with_recording(consort_runtime *shell, consort_recording_id id, F f,
                              ApiCall::Kind kind = ApiCall::kBegins) {
  const ApiCall rt(shell, kind);
  if (!rt) return refuse_shell(shell);
  return guarded([&]() -> consort_status {
    Recording *r = rt->recordings.find(id);
    if (!r) return stale(id);
    std::lock_guard lock(r->control);
    if (!r->live || r->id().v != id.v) return stale(id);
    return f(*rt, *r);
  });
}

// The same for a change: the recording must not run or wait to run.
template <class F>
consort_status change(consort_runtime *shell, consort_recording_id id, F f) {
  return with_recording(shell, id, [&](Runtime &rt, Recording &r) -> consort_status {
    if (!r.dead.empty()) return set_errorf(CONSORT_E_STALE, "the recording is dead: %s", r.dead.c_str());
    // acquire pairs with the release in end_replay(): no thread uses its nodes
    if (const uint32_t n = r.pending.load(std::memory_order_acquire))
      return set_errorf(CONSORT_E_BUSY,
                        "%u replays are pending or running: wait for the last one before the recording changes", n);
    return f(rt, r);
  });
}

consort_status no_such_task(const Recording &r, uint32_t task) noexcept {
  return set_errorf(CONSORT_E_INVAL, "task %u was not recorded: there are %u, numbered from 0", task, r.ntasks);
}

// Replaces the datum in each node. The order of tokens, by address, is kept.
void replace_datum(const Runtime &rt, Recording &r, const Datum &old, Datum &now) noexcept {
  for (uint32_t i = 0; i < r.ntasks; ++i) {
    Task *t = rt.tasks.at(r.first + i);
    bool found = false;
    for (uint32_t k = 0; k < t->pub.naccess; ++k)
      if (consort_access &a = t->accesses()[k]; a.datum == &old.pub) {
        a.datum = &now.pub;
        found = true;
      }
    if (!found || !t->extra || !t->extra->tokens) continue;
    CommuteTokenList &list = *t->extra->tokens;
    std::replace(list.datum(), list.datum() + list.n, const_cast<Datum *>(&old), &now);
    std::sort(list.datum(), list.datum() + list.n);
  }
}

}  // namespace

extern "C" {

consort_status consort_record_begin(consort_runtime *shell, uint32_t flags) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (flags & ~uint32_t{CONSORT_RECORD_ONLY})
    return set_errorf(CONSORT_E_INVAL, "flags has 0x%x, which this runtime does not know",
                      flags & ~uint32_t{CONSORT_RECORD_ONLY});
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  mend_if_left(*rt, *thread, __builtin_frame_address(0));
  if (thread->in_callback)
    return set_error(CONSORT_E_BUSY, "a callback cannot record: record where the tasks are submitted");
  if (thread->recorder) return set_error(CONSORT_E_BUSY, "this thread records already: consort_record_end() first");
  return guarded([&]() -> consort_status {
    thread->recorder =
        rt->recordings.keep(std::make_unique<Recorder>(*rt, rt->recordings.next_serial(), flags, thread->task));
    thread->watched |= ThreadState::kWatchedByRecorder;
    return CONSORT_OK;
  });
}

consort_status consort_record_end(consort_runtime *shell, consort_recording_id *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  mend_if_left(*rt, *thread, __builtin_frame_address(0));
  Recorder *recorder = recorder_of(*thread);
  if (!recorder) return set_error(CONSORT_E_INVAL, "this thread records nothing: consort_record_begin() first");
  if (!recorder->wants(*thread))
    return set_error(CONSORT_E_BUSY, "the recording was begun outside of this task: it is ended there");
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  thread->recorder = nullptr;
  thread->watched &= static_cast<uint8_t>(~ThreadState::kWatchedByRecorder);
  struct Over {
    Recordings &all;
    Recorder *recorder;
    ~Over() { all.drop(recorder); }
  } over{rt->recordings, recorder};
  return guarded([&]() -> consort_status {
    if (recorder->refused < 0)
      return set_error(CONSORT_E_INVAL, std::string("there is no recording: a task was refused meanwhile (") +
                                            consort_status_name(recorder->refused) + ": " + recorder->why + ")");
    auto added = rt->recordings.add();
    if (!added) return set_error(added.error());
    Recording &r = **added;
    const std::lock_guard lock(r.control);
    consort_status s = CONSORT_E_NOMEM;
    try {
      s = recorder->build(r);
    } catch (const std::bad_alloc &) {
      set_errorf(s, "no memory for a recording of %zu tasks", recorder->items.size());
    }
    if (s < 0) {
      rt->recordings.give_back(r);
      return s;
    }
    r.captured = CapturedGraph::of(*rt, r, recorder->is_loose());
    r.live = true;
    *out = r.id();
    return CONSORT_OK;
  });
}

consort_status consort_recording_get_info(consort_runtime *shell, consort_recording_id id,
                                          consort_recording_info *out) {
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_recording_info)");
  return with_recording(shell, id, [&](Runtime &, Recording &r) {
    *out = {out->size, r.ntasks, static_cast<uint32_t>(r.uses.size()), 0, r.nedges, r.replays, r.bytes};
    return CONSORT_OK;
  }, ApiCall::kEnds);
}

consort_status consort_replay(consort_runtime *shell, consort_recording_id id, consort_group_id group,
                              consort_task_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    if (Recorder *recorder = recorder_of(*thread); recorder && recorder->wants(*thread))
      return recorder->refuse(
          set_error(CONSORT_E_UNSUPPORTED, "a replay cannot be recorded: end this recording first"), error_text());
    Group *g = group.v ? rt->groups.find(group) : thread->task ? thread->task->group : &rt->groups.standard();
    if (!g)
      return set_error(CONSORT_E_STALE, "the group was destroyed, or is none of this runtime: its handle is stale");
    return submit_replay(*rt, *thread, id, *g, out);
  });
}

consort_status consort_recording_set_data(consort_runtime *shell, consort_recording_id id, consort_data_id old,
                                          consort_data_id now) {
  return change(shell, id, [&](Runtime &rt, Recording &r) -> consort_status {
    ThreadState *thread = rt.this_thread();
    if (!thread) return CONSORT_E_NOMEM;
    Datum *const to = rt.data.find(now);
    if (!to || !DataTable::is(*to, now))
      return set_error(now.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                       now.v ? "the new datum is not registered (any more): its handle is stale"
                             : "the new datum is the null handle");
    const auto it = r.place.find(rt.data.find(old));
    if (it == r.place.end() || r.uses[it->second].id != old.v)
      return set_errorf(CONSORT_E_INVAL, "the recording does not use datum %llu: give one that it uses",
                        static_cast<unsigned long long>(old.v & 0xffffffff));
    if (old.v == now.v) return CONSORT_OK;
    if (is_part(*to))
      return set_errorf(CONSORT_E_UNSUPPORTED, "'%s' is a part of a datum: parts cannot be recorded yet",
                        rt.data.name(*to).c_str());
    const uint32_t place = it->second;
    Recording::Use &use = r.uses[place];
    Datum *const from = use.datum;
    if (r.place.count(to))
      return set_errorf(CONSORT_E_INVAL, "the recording uses datum '%s' already: two of its data cannot become one",
                        rt.data.name(*to).c_str());
    const bool known = DataTable::is(*from, old);
    if (known && from->layout != to->layout)
      return set_errorf(CONSORT_E_INVAL, "datum '%s' has interface '%s', '%s' in its place has '%s'",
                        rt.data.name(*from).c_str(), from->layout->name.c_str(), rt.data.name(*to).c_str(),
                        to->layout->name.c_str());
    std::string name = to->extra() ? to->extra()->name : std::string();
    if (known) {
      Claim claim{from, CONSORT_M_RW};
      const SubmissionRight right(rt, *thread, &claim, 1);
      if (from->keeper == r.number + 1 && !rt.recordings.let_go(*from))
        return set_error(CONSORT_E_NOMEM, "no memory to change a recording");
    }
    {
      const std::lock_guard lock(r.lock);
      auto entry = r.place.extract(from);  // the number of entries stays: no allocation
      entry.key() = to;
      r.place.insert(std::move(entry));
    }
    replace_datum(rt, r, *from, *to);
    if (r.captured) r.captured->replace(*from, *to);
    use.datum = to;  // the next replay claims it: its index is in `loose`
    use.id = now.v;
    if (name.empty()) r.names.erase(place);
    else r.names[place] = std::move(name);
    return CONSORT_OK;
  });
}

consort_status consort_recording_set_arg(consort_runtime *shell, consort_recording_id id, uint32_t task, uint32_t arg,
                                         const consort_arg *value) {
  if (!value) return set_error(CONSORT_E_INVAL, "value is NULL");
  return change(shell, id, [&](Runtime &rt, Recording &r) -> consort_status {
    if (task >= r.ntasks) return no_such_task(r, task);
    Task &t = *rt.tasks.at(r.first + task);
    if (arg >= t.nargs)
      return set_errorf(CONSORT_E_INVAL, "task %u has %u values, numbered from 0: there is no number %u", task, t.nargs,
                        arg);
    auto *const all = reinterpret_cast<std::byte *>(t.accesses() + t.pub.naccess);
    PackedArg &a = reinterpret_cast<PackedArg *>(all)[arg];
    if (value->kind != a.kind)
      return set_errorf(CONSORT_E_INVAL, "value %u of task %u was recorded as kind %u, this one has kind %u", arg, task,
                        a.kind, value->kind);
    const bool by_address = a.kind == CONSORT_ARG_BYTES;
    const auto shrunk = r.shrunk.find(uint64_t{task} << 8 | arg);
    const uint32_t room = shrunk != r.shrunk.end() ? shrunk->second : a.bytes;
    if (value->bytes > room)
      return set_errorf(CONSORT_E_INVAL, "value %u of task %u was recorded with %u bytes, this one has %u: no more fit",
                        arg, task, room, value->bytes);
    if (by_address && value->bytes && !value->scalar)
      return set_errorf(CONSORT_E_INVAL, "value %u of task %u is %u bytes at address NULL", arg, task, value->bytes);
    if (value->bytes < a.bytes) r.shrunk.emplace(uint64_t{task} << 8 | arg, a.bytes);
    if (!by_address) a.value = value->scalar;
    else if (value->bytes) std::memcpy(all + a.value, reinterpret_cast<const void *>(value->scalar), value->bytes);
    a.bytes = value->bytes;
    if (r.captured) r.captured->changed();
    return CONSORT_OK;
  });
}

consort_status consort_recording_set_priority(consort_runtime *shell, consort_recording_id id, uint32_t task,
                                              int32_t priority) {
  return change(shell, id, [&](Runtime &rt, Recording &r) -> consort_status {
    if (task >= r.ntasks) return no_such_task(r, task);
    int32_t &now = rt.tasks.at(r.first + task)->pub.priority;
    // one task must precede another now, which a graph cannot express
    if (r.captured && now != priority) r.captured->give_up();
    now = priority;
    return CONSORT_OK;
  });
}

consort_status consort_recording_destroy(consort_runtime *shell, consort_recording_id id) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  mend_if_left(*rt, *thread, __builtin_frame_address(0));
  if (thread->in_callback)
    return set_error(CONSORT_E_BUSY, "a callback must not wait for a recording to end: destroy it elsewhere");
  return guarded([&]() -> consort_status {
    Recording *r = rt->recordings.find(id);
    if (!r) return stale(id);
    if (thread->task && thread->task->replayed() && rt->recordings.of(*thread->task) == r)
      return set_errorf(CONSORT_E_BUSY, "task '%s' belongs to the recording and would wait for itself to destroy it",
                        thread->task->codelet->name.c_str());
    TaskName last;
    std::vector<Claim> claims;
    {
      std::lock_guard lock(r->control);
      if (!r->live || r->id().v != id.v) return stale(id);
      claims.reserve(r->uses.size());  // nothing fails from here on: the name is invalid
      r->live = false;  // no thread can replay or destroy it any more
      last = r->last;
    }
    if (last) (void)wait_task(*rt, last, CONSORT_FOREVER, 0, "consort_recording_destroy()");
    std::lock_guard lock(r->control);
    release_all_data(*rt, *thread, *r, claims);
    rt->recordings.give_back(*r);
    return CONSORT_OK;
  });
}

consort_status consort_get_repeats(consort_runtime *shell, consort_repeats *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_repeats)");
  if (!rt->detect_repeats)
    return set_error(CONSORT_E_UNSUPPORTED, "repetition is not detected: set detect_repeats = true");
  const ThreadState *thread = rt->this_thread_if_any();
  *out = {out->size, 0, thread && thread->watch ? thread->watch->last_times : 0,
          thread && thread->watch ? thread->watch->last_ntasks : 0};
  return CONSORT_OK;
}

}  // extern "C"
