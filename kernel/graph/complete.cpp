#include "graph/complete.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/last_error.hpp"
#include "graph/commute.hpp"
#include "graph/failed_task.hpp"
#include "graph/reduction.hpp"
#include "graph/task_hooks.hpp"
#include "graph/task_options.hpp"
#include "sched/context.hpp"
#include "task/callback.hpp"
#include "task/edges.hpp"

namespace consort {
namespace {

void call_done(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status, Worker *w) noexcept {
  Extra *e = t->extra;
  const consort_outcome outcome{
      {t->pub.id}, status, number_of(w), task_label(rt, *t), status < 0 ? error_text() : ""};
  if (status < 0) [[unlikely]]
    if (const auto f = rt.failures.find(t->pub.id)) f->tell();
  in_callback(thread, t, [&] { e->done(e->done_arg, &outcome); });
}

// After the body: marks the written data valid.
void settle_data(TaskGraph &rt, Task *t) noexcept {
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const consort_access &a = t->pub.access[i];
    if (!(a.mode & CONSORT_M_W)) continue;  // reduced data become valid when they are united
    Datum *d = Datum::of(a.datum);
    const uint32_t s = d->state.load(std::memory_order_relaxed);
    if ((s & data_state::kPlain) == data_state::kValid) continue;
    d->state.fetch_or(data_state::kValid, std::memory_order_relaxed);
    if (a.mode & CONSORT_M_R) continue;  // a concurrent task may have poisoned it, which must not be undone
    d->state.fetch_and(~data_state::kPoisoned, std::memory_order_relaxed);
    rt.data.blame(*d, nullptr);
  }
}

// Pushes a task that received its token or completion from the ending task.
void take_heir(TaskGraph &rt, Task *heir, ReadyBatch &batch) noexcept {
  if (heir->bits & kBound) rt.workers[heir->extra->worker]->post(heir);
  else batch.task[batch.n++] = heir, batch.flags |= CONSORT_PUSH_RETRIED;  // the policy has had it once
}

// The end of a uniting task. If it failed, the next phase begins without its copies and without their poison.
[[gnu::noinline]] void leave_union(const Task &t, consort_status status) noexcept {
  Datum &d = *Datum::of(t.pub.access[0].datum);
  // Not the last one of the phase: it unites copies alone, or is before the tree.
  if (!discipline_if_any(d)->reduction || begins(t)) return;
  if (status < 0 || !unites_by_itself(t)) drop_copies(d);
  end_union(d);
}

// The name is invalid; `w` is the value that the exchange took.
[[gnu::always_inline]] inline void hand_on_one(TaskGraph &rt, ThreadState &thread, Task *t, uint64_t w,
                                               ReadyBatch &batch) noexcept {
  uint32_t link = word::link(w);
  if (w & word::kFlags) [[unlikely]] {
    if (w & word::kIssued) {
      release_edges(rt, t->pub.codelet, pending::kComplete, batch);
      release_edges(rt, std::exchange(link, 0), pending::kComplete, batch);
    }
    if (w & word::kWaited) {
      fence::light(rt.asymmetric);  // pairs with the heavy fence of WaitCondition::announce()
      rt.waiters.wake();
    }
  }
  release_edges(rt, link, pending::kBoth, batch);
  Group &group = *t->group;
  const uint16_t bits = t->bits;
  if (t->extra) [[unlikely]] {
    if (Task *gate = bits & kMore ? t->extra->more->gate : nullptr) {
      gate->pub.sched[0] = batch.specials;
      batch.specials = gate;
    }
    free_lent(rt, thread, t);
  }
  std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_release);  // pairs with the remover's look
  thread.give_record(t);
  if (bits & kUncounted) [[unlikely]] return;
  count_out(rt, thread, group);
}

// Frees the plan or the datum that ends with this task, while its name is valid: a thread that waited finds it gone.
void leave_kind(TaskGraph &rt, ThreadState &thread, const Task &t) noexcept {
  if (const auto end = rt.kinds.of(t).end) end(rt, thread, t);
}

// Releases all stores of the task; a thread that adds a link or finds the name invalid acquires them. No link can be
// added from here on.
inline uint64_t end_name_now(Task *t) noexcept {
  return t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
}

// The actions while the name is valid, and its invalidation.
uint64_t end_name(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status, Worker *worker,
                  Task **heir) noexcept {
  if ((t->bits & kOdd) && status >= 0) settle_data(rt, t);
  const Extra *const e = t->extra;
  // No further action, as for most recorded tasks, which all have an Extra.
  if (!(t->bits & ~(kBound | kAfter | kOdd)) && (!e || !(e->staging || e->done))) return end_name_now(t);
  if (t->bits & kUnite) [[unlikely]] leave_union(*t, status);
  if (t->bits & kScratch)
    for (uint32_t i = 0; i < t->pub.naccess; ++i) {
      consort_access &a = t->accesses()[i];
      if (a.mode & CONSORT_M_SCRATCH) rt.data.give_scratch(*Datum::of(a.datum), t->pub.id);
      if (a.mode & CONSORT_M_REDUX) give_copy(a);
    }
  if (t->extra && t->extra->staging) rt.graph_memory->end(thread, t);
  if (t->bits & kTokens) *heir = give_tokens(rt, thread, t);  // while the name is valid, and so the data exist
  if (t->extra) t->bits |= kOver;
  if (t->extra && t->extra->done) call_done(rt, thread, t, status, worker);
  if (t->bits & kMore) end_more(rt, thread, t, status);
  if (t->bits & kSpecial) leave_kind(rt, thread, *t);
  return end_name_now(t);
}

void end_one(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status, Worker *worker,
             ReadyBatch &batch) noexcept {
  Task *heir = nullptr;
  const uint64_t word = end_name(rt, thread, t, status, worker, &heir);
  if (heir) {
    if (batch.n == ReadyBatch::kMost) push_batch(rt, batch);
    take_heir(rt, heir, batch);
  }
  if (t->recorded()) rt.kinds.of(*t).hand_on(rt, t, word, batch);
  else hand_on_one(rt, thread, t, word, batch);
}

// Returns the status and worker of a task whose completion was held, and sets its error text again.
consort_status remember_end(TaskGraph &rt, Task *t, Worker **worker) noexcept {
  const TaskOptions &m = *t->extra->more;
  *worker = m.worker == CONSORT_NONE ? nullptr : rt.workers[m.worker];
  if (m.status >= 0) return m.status;
  try {
    const auto f = rt.failures.find(t->pub.id);
    return set_error(m.status, f ? f->chain() : std::string());
  } catch (const std::bad_alloc &) {
    return set_error(m.status, "no memory to say why");
  }
}

bool bring_data(TaskGraph &rt, Task *t) noexcept {
  const auto bring = rt.kinds.of(*t).bring;
  return bring && bring(rt, t);
}

// The turn of a task without a body, whose data are there.
void take_turn(TaskGraph &rt, ThreadState &thread, Task *t, Worker *worker, ReadyBatch &batch) noexcept {
  const bool more = t->bits & kMore;  // read before: a granted task may be gone
  const KindTable::Turn turn = rt.kinds.of(*t).ready(rt, thread, t, batch);
  if (turn.over && (!more || rt.ends.may_end(t, turn.status, CONSORT_NONE)))
    end_one(rt, thread, t, turn.status, worker, batch);
  if (turn.freed) {
    Worker *ran;
    const consort_status status = remember_end(rt, turn.freed, &ran);
    end_one(rt, thread, turn.freed, status, ran, batch);
  }
}

[[gnu::noinline]] void finish_specials(TaskGraph &rt, ThreadState &thread, Worker *worker, ReadyBatch &batch) noexcept {
  while (Task *const s = batch.specials) {
    batch.specials = static_cast<Task *>(s->pub.sched[0]);
    if (s->bits & kMore) call_ready(thread, s);
    if (s->bits & kSpecial) {
      if (!bring_data(rt, s)) take_turn(rt, thread, s, worker, batch);
    } else if (s->bits & kBound) {
      rt.workers[s->extra->worker]->post(s);
    } else if (Worker *w = bundle_worker(rt, thread, s)) {
      w->post(s, true);
    } else {
      if (batch.n == ReadyBatch::kMost) push_batch(rt, batch);
      batch.task[batch.n++] = s;
    }
  }
}

}  // namespace

Task *give_way(TaskGraph &rt, ThreadState &thread, Task *next, Worker &w) noexcept {
  // Afterwards the stepping loop checks for a stop, a time limit, or a request for the lease.
  constexpr uint32_t kTurns = 1024;
  constexpr uint64_t kLong = 500'000;  // ns
  const uint64_t now = rt.clock.now();
  if (thread.chain.turn_end == rt.bypass) thread.chain.since = now;
  const bool stays = thread.chain.run < kTurns * rt.bypass && now - thread.chain.since < kLong && !w.bound &&
                     !w.mailbox.load(std::memory_order_relaxed);
  consort_pick pick;
  if (stays && !rt.policy.pop(w.id, &pick)) {
    thread.chain.turn_end = thread.chain.run + rt.bypass;
    return next;
  }
  if (next->bits & kTokensHeld) [[unlikely]] rt.policy.push(rt, w.id, &next, 1, CONSORT_PUSH_RETRIED);
  else rt.policy.push_one(rt, thread, w.id, next);
  if (!stays) return nullptr;
  Task *t = reinterpret_cast<Task *>(pick.task);
  if (pick.impl == CONSORT_NONE && !rt.topology->team(pick.team)) {
    thread.chain.turn_end = thread.chain.run + rt.bypass;
    return t;
  }
  rt.policy.push(rt, w.id, &t, 1, CONSORT_PUSH_RETRIED);  // the chosen implementation or team cannot be passed on
  return nullptr;
}

namespace {

// Chooses the successor to run in place: the most urgent, the earliest among equals. Removes it from the batch.
inline Task *pick_successor(TaskGraph &rt, ThreadState &thread, ReadyBatch &batch, Worker &w) noexcept {
  uint32_t best = batch.n - 1;
  for (uint32_t i = batch.n - 1; i-- > 0;)
    if (batch.task[i]->pub.priority > batch.task[best]->pub.priority) best = i;
  Task *t = batch.task[best];
  if (!(t->pub.where >> w.klass & 1) || !rt.policy.may_bypass(w.id, *t)) return nullptr;
  const bool gives_way = thread.chain.run >= thread.chain.turn_end;
  if (gives_way && batch.n > 1) return nullptr;
  --batch.n;
  for (uint32_t i = best; i < batch.n; ++i) batch.task[i] = batch.task[i + 1];
  return gives_way ? give_way(rt, thread, t, w) : t;
}

}  // namespace

void free_lent(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  Extra *e = t->extra;
  for (uint32_t chunk = e->chunks; chunk;) {
    Task *record = rt.tasks.at(chunk);
    chunk = rt.tasks.links(chunk).next;
    thread.give_record(record);
  }
  if (e->context) [[unlikely]] rt.policy.contexts().router().leave(e->context);
  std::free(e->long_name);
  std::free(e->long_after);
  std::free(e->spill);
  std::free(e->tickets);
  std::free(e->tokens);
  if (e->more && e->more->turns) rt.repeats.forget(e->more->turns);
  delete e->more;
  if (e->reserved) rt.graph_memory->unreserve(e->reserved);
}

// The rest of an end, after all edges are released: pushes ready tasks; one may run in place.
[[gnu::always_inline]] inline Task *go_on(TaskGraph &rt, ThreadState &thread, Worker *w, ReadyBatch &batch) noexcept {
  if (batch.specials) [[unlikely]] finish_specials(rt, thread, w, batch);
  if (!batch.n) return nullptr;
  Task *next = w && w == thread.seat && !w->has_queue ? pick_successor(rt, thread, batch, *w) : nullptr;
  if (batch.n > 1) std::reverse(batch.task, batch.task + batch.n);  // the order of submission
  push_batch(rt, batch);
  return next;
}

void send_ready(TaskGraph &rt, ThreadState &thread, ReadyBatch &batch) noexcept {
  (void)go_on(rt, thread, nullptr, batch);
}

// The body has ended, and the completion waits for other tasks alone, which may need the memory of its data. The data
// stay its own, but their memory may be saved and reused. Not if the application holds the completion: the memory may
// still be written.
Task *leave_memory(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  const TaskName name = t->pub.id;
  if ((t->bits & kOdd) && t->extra->more->status >= 0) settle_data(rt, t);
  t->bits &= static_cast<uint16_t>(~kOdd);  // done here, not again in end_name()
  rt.graph_memory->end(thread, t);
  return rt.ends.left(name);
}

// Returns false if another thread will end it later.
[[gnu::noinline]] static bool may_end_now(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status,
                                          Worker *w) noexcept {
  bool leaves = false;
  if (rt.ends.may_end(t, status, number_of(w), t->extra->staging ? &leaves : nullptr)) return true;
  return leaves && leave_memory(rt, thread, t);
}

Task *complete(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status, Worker *w) noexcept {
  if ((t->bits & kMore) && !may_end_now(rt, thread, t, status, w)) [[unlikely]] return nullptr;
  Task *heir = nullptr;
  const uint64_t word = end_name(rt, thread, t, status, w, &heir);
  if (!t->recorded()) return hand_on(rt, thread, t, word, w, heir);
  ReadyBatch batch = batch_of(thread);
  if (heir) [[unlikely]] take_heir(rt, heir, batch);
  rt.kinds.of(*t).hand_on(rt, t, word, batch);
  return go_on(rt, thread, w, batch);
}

Task *hand_on(TaskGraph &rt, ThreadState &thread, Task *t, uint64_t word, Worker *w, Task *heir) noexcept {
  ReadyBatch batch = batch_of(thread);
  if (heir) [[unlikely]] take_heir(rt, heir, batch);
  hand_on_one(rt, thread, t, word, batch);
  return go_on(rt, thread, w, batch);
}

Task *hand_on_rest(TaskGraph &rt, ThreadState &thread, Task *t, uint32_t link, Worker *w, Task *ready,
                   Task *also_ready) noexcept {
  ReadyBatch batch = batch_of(thread);
  if (ready) batch.task[batch.n++] = ready;
  if (also_ready) batch.task[batch.n++] = also_ready;
  hand_on_one(rt, thread, t, word::with_link(0, link), batch);
  return go_on(rt, thread, w, batch);
}

static void end_by_word(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (!(t->bits & kMore) || !t->extra->more->over) return (void)complete(rt, thread, t, CONSORT_OK, nullptr);
  Worker *ran;
  const consort_status status = remember_end(rt, t, &ran);
  Task *heir = nullptr;
  const uint64_t word = end_name(rt, thread, t, status, ran, &heir);
  (void)hand_on(rt, thread, t, word, nullptr, heir);
}

void end_special(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (!bring_data(rt, t)) resume_special(rt, thread, t);
}

void resume_special(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  ReadyBatch batch = batch_of(thread);
  take_turn(rt, thread, t, nullptr, batch);
  send_ready(rt, thread, batch);
}

void release_ready(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (t->bits & kMore) call_ready(thread, t);
  if (!(t->bits & kSpecial)) {
    Worker *bundled = t->bits & kMore ? bundle_worker(rt, thread, t) : nullptr;
    if (t->bits & kBound) rt.workers[t->extra->worker]->post(t);
    else if (bundled) bundled->post(t, true);
    else rt.policy.push(rt, number_of(thread.seat), &t, 1, CONSORT_PUSH_NEW);
    return;
  }
  end_special(rt, thread, t);
  if (!thread.seat) settle_down(rt, thread);
}

void end_uncounted(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  ReadyBatch none(CONSORT_NONE);  // it has no links, and nothing begins with it
  if (!bring_data(rt, t)) (void)rt.kinds.of(*t).ready(rt, thread, t, none);
  leave_kind(rt, thread, *t);
  // release: as in end_name(); a thread that finds the name invalid acquires it
  t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
  if (t->extra) free_lent(rt, thread, t);
  thread.give_record(t);
}

std::unique_ptr<PutOffEnds> make_put_off_ends() {
  struct Ends final : PutOffEnds {
    void end(ThreadState &thread, Task *t) noexcept override { end_by_word(static_cast<TaskGraph &>(thread.rt), thread, t); }
  };
  return std::make_unique<Ends>();
}

void settle_down(TaskGraph &rt, ThreadState &thread) noexcept {
  thread.flush_records();
  fence::light(rt.asymmetric);  // pairs with the heavy fence of a thread that begins to watch the group
  rt.groups.tell_if_idle(
      *rt.groups.at(static_cast<uint32_t>(thread.out.turn.load(std::memory_order_relaxed) >> Tally::kGroupShift)));
  fence::light(rt.asymmetric);  // pairs with the heavy fence of a thread that is about to wait for everything
  if (rt.waiters.any() && rt.groups.all_idle()) rt.waiters.wake();
}

}  // namespace consort
