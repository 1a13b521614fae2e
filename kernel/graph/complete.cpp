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

// After the body: what was written is valid now.
void settle_data(TaskGraph &rt, Task *t) noexcept {
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const consort_access &a = t->pub.access[i];
    if (!(a.mode & CONSORT_M_W)) continue;  // what is reduced becomes valid when it is united
    Datum *d = Datum::of(a.datum);
    const uint32_t s = d->state.load(std::memory_order_relaxed);
    if ((s & data_state::kPlain) == data_state::kValid) continue;
    d->state.fetch_or(data_state::kValid, std::memory_order_relaxed);
    if (a.mode & CONSORT_M_R) continue;  // what poisons it now came beside this task, and is not overwritten
    d->state.fetch_and(~data_state::kPoisoned, std::memory_order_relaxed);
    rt.data.blame(*d, nullptr);
  }
}

// A task that was given what it waited for by the one that ends.
void take_heir(TaskGraph &rt, Task *heir, ReadyBatch &batch) noexcept {
  if (heir->bits & kBound) rt.workers[heir->extra->worker]->post(heir);
  else batch.task[batch.n++] = heir, batch.flags |= CONSORT_PUSH_RETRIED;  // the policy has had it once
}

// A task that brought copies together, or could not: the next phase begins without them then, and without their poison.
[[gnu::noinline]] void leave_union(const Task &t, consort_status status) noexcept {
  Datum &d = *Datum::of(t.pub.access[0].datum);
  // It is not the last: one of copies alone, or what comes before the tree.
  if (!discipline_if_any(d)->reduction || begins(t)) return;
  if (status < 0 || !unites_by_itself(t)) drop_copies(d);
  end_union(d);
}

// Once the name is dead: `w` is what the exchange took from the word.
[[gnu::always_inline]] inline void hand_on_one(TaskGraph &rt, ThreadState &thread, Task *t, uint64_t w,
                                               ReadyBatch &batch) noexcept {
  uint32_t link = word::link(w);
  if (w & word::kFlags) [[unlikely]] {
    if (w & word::kIssued) {
      release_edges(rt, t->pub.codelet, pending::kComplete, batch);
      release_edges(rt, std::exchange(link, 0), pending::kComplete, batch);
    }
    if (w & word::kWaited) rt.waiters.wake();
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

// The plan or the datum that ends with this task, while its name lives: whoever waits for that finds the thing gone.
void leave_kind(TaskGraph &rt, ThreadState &thread, const Task &t) noexcept {
  if (const auto end = rt.kinds.of(t).end) end(rt, thread, t);
}

// What is to be done while the name lives, and its death.
uint64_t end_name(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status, Worker *worker,
                  Task **heir) noexcept {
  if ((t->bits & kOdd) && status >= 0) settle_data(rt, t);
  if (t->bits & kUnite) [[unlikely]] leave_union(*t, status);
  if (t->bits & kScratch)
    for (uint32_t i = 0; i < t->pub.naccess; ++i) {
      consort_access &a = t->accesses()[i];
      if (a.mode & CONSORT_M_SCRATCH) rt.data.give_scratch(*Datum::of(a.datum), t->pub.id);
      if (a.mode & CONSORT_M_REDUX) give_copy(a);
    }
  if (t->extra && t->extra->staging) rt.graph_memory->end(thread, t);
  if (t->bits & kTokens) *heir = give_tokens(rt, thread, t);  // while the name lives: the data do too
  if (t->extra) t->bits |= kOver;
  if (t->extra && t->extra->done) call_done(rt, thread, t, status, worker);
  if (t->bits & kMore) end_more(rt, thread, t, status);
  if (t->bits & kSpecial) leave_kind(rt, thread, *t);
  // Releases all that the task did; whoever hangs a link or finds the name dead acquires it. From here on no link
  // can be added.
  return t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
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

// Of one that was held: how it ended, and its words again.
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
  const bool more = t->bits & kMore;  // looked at before: one that was granted may be gone
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
  // Then whoever steps is to look around: at a stop, a time limit, who asks for the lease.
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
  rt.policy.push(rt, w.id, &t, 1, CONSORT_PUSH_RETRIED);  // which implementation or team it chose is not ours to pass on
  return nullptr;
}

namespace {

// The successor to run in place: the most urgent, the earliest among equals. It leaves the batch.
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
  if (e->context) [[unlikely]] rt.policy.contexts().leave(e->context);
  std::free(e->long_name);
  std::free(e->long_after);
  std::free(e->spill);
  std::free(e->tickets);
  std::free(e->tokens);
  delete e->more;
  if (e->reserved) rt.graph_memory->unreserve(e->reserved);
}

// The rest of an end, when all edges are handed on: what has become ready is pushed, one may run in place.
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

// The body of a task is over, and its end waits for other tasks: these may need the room that its data take. Its data
// stay its own, but their memory is free to be saved and reused. Where the application holds the end, something may
// still write there.
[[gnu::noinline]] static void leave_room(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status) noexcept {
  if (!t->extra->staging || !rt.ends.waits_for_tasks(t)) return;
  if ((t->bits & kOdd) && status >= 0) settle_data(rt, t);
  t->bits &= static_cast<uint16_t>(~kOdd);  // done; end_name() does not repeat it
  rt.graph_memory->end(thread, t);
}

Task *complete(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status, Worker *w) noexcept {
  if (t->bits & kMore) [[unlikely]] {
    leave_room(rt, thread, t, status);
    if (!rt.ends.may_end(t, status, number_of(w))) return nullptr;
  }
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
  ReadyBatch none(CONSORT_NONE);  // nothing hangs on it, and it begins nothing
  if (!bring_data(rt, t)) (void)rt.kinds.of(*t).ready(rt, thread, t, none);
  leave_kind(rt, thread, *t);
  // release: as in end_name(); whoever finds the name dead acquires it
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
  fence::light(rt.asymmetric);  // pairs with the heavy fence of whoever began to watch the group
  rt.groups.tell_if_idle(
      *rt.groups.at(static_cast<uint32_t>(thread.out.turn.load(std::memory_order_relaxed) >> Tally::kGroupShift)));
  fence::light(rt.asymmetric);  // pairs with the heavy fence of whoever is about to wait for everything
  if (rt.waiters.any() && rt.groups.all_idle()) rt.waiters.wake();
}

}  // namespace consort
