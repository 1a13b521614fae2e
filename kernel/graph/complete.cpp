#include "graph/complete.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/last_error.hpp"
#include "graph/acquired_data.hpp"
#include "graph/commute.hpp"
#include "graph/partition_order.hpp"
#include "graph/reduction.hpp"
#include "graph/task_options.hpp"
#include "replay/replay.hpp"
#include "sched/context.hpp"
#include "task/callback.hpp"
#include "task/edges.hpp"

namespace consort {
namespace {

// Tasks that have become ready, earliest submitted last; handed on in batches.
struct ReadyBatch {
  static constexpr uint32_t kMost = 64;
  Task *task[kMost];
  uint32_t n = 0, flags = CONSORT_PUSH_NEW;
};

void call_done(Runtime &rt, ThreadState &thread, Task *t, consort_status status, Worker *w) noexcept {
  Extra *e = t->extra;
  const consort_outcome outcome{
      {t->pub.id}, status, w ? w->id : CONSORT_NONE, task_label(*t), status < 0 ? error_text() : ""};
  if (status < 0) [[unlikely]]
    if (const auto f = rt.failures.find(t->pub.id)) f->tell();
  in_callback(thread, t, [&] { e->done(e->done_arg, &outcome); });
}

// After the body: what was written is valid now.
void settle_data(Runtime &rt, Task *t) noexcept {
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

void drop_contents(Runtime &rt, Task *t) noexcept {
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    Datum *d = Datum::of(t->pub.access[i].datum);
    rt.data.blame(*d, nullptr);
    if (data_state::space(d->state.load(std::memory_order_relaxed)) == data_state::kMany) rt.memory.invalidate(*d);
    if (d->pub.bytes) d->state.fetch_and(~data_state::kPlain, std::memory_order_relaxed);
  }
}

// The unregistration of a poisoned datum is answered with the failure that poisoned it: recorded under its name.
void pass_blame(Runtime &rt, const Task &t) noexcept {
  const Datum &d = *Datum::of(t.pub.access[0].datum);
  if (!(d.state.load(std::memory_order_relaxed) & data_state::kPoisoned)) return;
  auto blame = rt.data.blame(d);
  rt.failures.add_as(t.pub.id, blame ? std::move(blame) : rt.failures.lost());
}

// Brings the data of a ready task that has no body to where it needs them. kDone: settle_special() follows at once;
// kPending: by resume_special().
Outcome bring_data(Runtime &rt, Task *t) noexcept {
  if (!rt.memory.in_use()) return Outcome::kDone;
  if (t->bits & (kHold | kRetire)) return rt.memory.stage_home(t);
  return t->role == kStep ? stage_step(rt, t) : Outcome::kDone;
}

// What a task without a body is for, once its data are there. True: it is over (a hold that was granted is not).
// *held: a task whose end was held and is to be made now.
bool settle_special(Runtime &rt, ThreadState &thread, Task *t, consort_status *status, Task **held) noexcept {
  *status = CONSORT_OK;
  if (t->bits & kRetire) {
    std::string_view why;
    *status = Memory::outcome(*t, &why);
    if (*status < 0) [[unlikely]]
      record_failure(rt, t, *status, why, Datum::of(t->pub.access[0].datum), CONSORT_NONE, nullptr);
    else
      pass_blame(rt, *t);
  }
  if (t->bits & kHold) {
    uint8_t waiting = hold::kWaiting;
    const bool told = t->bits & kMore;  // before it is granted: who waits may release it at once, and it is another
    // release pairs with the acquire of the waiter: it sees what the predecessors wrote
    if (t->follow.compare_exchange_strong(waiting, hold::kGranted, std::memory_order_acq_rel)) {
      if (told) return grant(rt, thread, t);
      rt.waiters.wake();
      return false;
    }
    return true;  // nobody waits for it any more
  }
  if (t->bits & kGate) {
    TaskName guards;
    std::memcpy(&guards, t->payload, sizeof guards);
    if (guards) *held = rt.ends.guard_is_over(guards);
    return true;
  }
  if (t->role == kStep) take_step(rt, t);
  if (t->bits & kUnite) {
    Datum &d = *Datum::of(t->pub.access[0].datum);
    drop_copies(d);
    end_union(d);
  }
  if (t->bits & kEmpty) *status = fail_if_doomed(rt, t);
  if (t->bits & kInvalidate) drop_contents(rt, t);
  return true;
}

// A task that was given what it waited for by the one that ends.
void take_heir(Runtime &rt, Task *heir, ReadyBatch &batch) noexcept {
  if (heir->bits & kBound) rt.workers[heir->extra->worker]->post(heir);
  else batch.task[batch.n++] = heir, batch.flags |= CONSORT_PUSH_RETRIED;  // the policy has had it once
}

void push_batch(Runtime &rt, ReadyBatch &batch, uint32_t from) noexcept {
  if (!batch.n) return;
  rt.policy.push(rt, from, batch.task, batch.n, batch.flags);
  batch.n = 0;
  batch.flags = CONSORT_PUSH_NEW;
}

// Hands each edge of a closed list on; what becomes ready goes to `batch`, or to `specials` if it has no body or has
// somebody who wants to be told first.
// `edge`: what each took from Task::pending.
[[gnu::always_inline]] inline void release_edges(Runtime &rt, uint32_t link, uint64_t edge, uint32_t from,
                                                 ReadyBatch &batch, Task *&specials) noexcept {
  walk_links(rt.tasks, link, [&](Task *s) noexcept {
    // Alone with this edge: nobody else touches the count any more, it need not be written. Not so where this task was
    // issued: whoever has just linked `s` behind it may be about to claim it (claim_follower()), and one of the two must
    // see the other. acquire pairs with the release of the predecessors that were counted down before, and of the
    // submitter.
    if ((edge == pending::kComplete || s->pending.load(std::memory_order_acquire) != edge) &&
        s->pending.fetch_sub(edge, std::memory_order_acq_rel) != edge)
      return;
    if (s->bits & (kSpecial | kBound | kMore)) [[unlikely]] {
      if (s->bits & (kSpecial | kMore)) {
        s->pub.sched[0] = specials;
        specials = s;
      } else {
        rt.workers[s->extra->worker]->post(s);
      }
      return;
    }
    if (batch.n == ReadyBatch::kMost) [[unlikely]] push_batch(rt, batch, from);
    batch.task[batch.n++] = s;
  });
}

// A task that brought copies together, or could not: the next phase begins without them then, and without their poison.
[[gnu::noinline]] void leave_union(const Task &t, consort_status status) noexcept {
  Datum &d = *Datum::of(t.pub.access[0].datum);
  // settle_special() did it; or it is not the last: one of copies alone, or what comes before the tree
  if ((t.bits & kEmpty) || !discipline_if_any(d)->reduction || begins(t)) return;
  if (status < 0 || !unites_by_itself(t)) drop_copies(d);
  end_union(d);
}

// The plan or the datum that ends with this task, while its name lives: whoever waited for that finds the thing gone,
// and a datum's end counted. Nobody else uses it any more, and nobody hangs on the end of a datum: its name died when
// that was submitted.
[[gnu::noinline]] void clear_up(Runtime &rt, ThreadState &thread, const Task &t) noexcept {
  if (t.role == kStep) {
    if (PartitionPlan *plan = ended_by(t)) rt.plans.remove(plan);
  } else if (t.bits & kRetire) {
    rt.data.remove(*Datum::of(t.pub.access[0].datum));
    count_out(rt, thread, *t.group);
  }
}

// As release_edges() does with one: it has lost its last predecessor.
[[gnu::always_inline]] inline void now_ready(Runtime &rt, Task *s, uint32_t from, ReadyBatch &batch,
                                             Task *&specials) noexcept {
  if (s->bits & (kSpecial | kBound)) [[unlikely]] {
    if (s->bits & kSpecial) {
      s->pub.sched[0] = specials;
      specials = s;
    } else {
      rt.workers[s->extra->worker]->post(s);
    }
    return;
  }
  if (batch.n == ReadyBatch::kMost) [[unlikely]] push_batch(rt, batch, from);
  batch.task[batch.n++] = s;
}

// Nodes stand in memory as they were submitted, and mostly run so: asks for those that come soon, and what they will
// touch.
[[gnu::always_inline]] inline void fetch_ahead(const Task *t) noexcept {
  constexpr uint32_t kFar = 12, kNear = 6;
  if (t->thread < kFar) return;
  const Task *far = t + kFar, *near = t + kNear;
  __builtin_prefetch(far, 0);
  __builtin_prefetch(far->payload, 0);
  __builtin_prefetch(far->link, 1);
  const uint32_t n = near->pub.naccess;
  const consort_access *a = near->pub.access;
  if (n) __builtin_prefetch(a[n - 1].datum);
}

// A recorded task once its name is dead. It is set up for the next replay before anybody hears of its end: that may be
// under way as soon as the last edge is handed on.
[[gnu::always_inline]] inline void hand_on_node(Runtime &rt, Task *t, uint64_t w, uint32_t from, ReadyBatch &batch,
                                                Task *&specials) noexcept {
  if (static_cast<uint32_t>(w)) [[unlikely]] {
    if (w & word::kWaited) rt.waiters.wake();
    release_edges(rt, word::link(w), pending::kBoth, from, batch, specials);
  }
  t->pub.id += uint64_t{1} << 32;
  t->bits &= static_cast<uint16_t>(~(kOdd | kTokensHeld | kOver));
  t->pending.store(node::predecessors(*t), std::memory_order_relaxed);  // shown by the counts below
  if (t->role == kFinal) [[unlikely]] {
    Task *whole = recording_of(*t).whole;
    whole->pub.sched[0] = specials;
    specials = whole;
    return;
  }
  fetch_ahead(t);
  const uint32_t *const edges = node::edges(*t);
  const uint32_t n = node::successors(*t);
  if (n > node::kInlineEdges)
    for (uint32_t i = 0; i < n; ++i) {  // side by side: the counts below wait for each
      const Task *s = rt.tasks.at(edges[i]);
      __builtin_prefetch(s->link, 1);
      __builtin_prefetch(s->payload);
      __builtin_prefetch(s);
    }
  for (uint32_t i = n; i-- > 0;) {  // the earliest last
    Task *s = rt.tasks.at(edges[i]);
    // As in release_edges(); nothing of this node is looked at after its last edge.
    if (s->pending.load(std::memory_order_acquire) != 1 && s->pending.fetch_sub(1, std::memory_order_acq_rel) != 1)
      continue;
    __builtin_prefetch(s->payload);
    __builtin_prefetch(node::edges(*s));
    now_ready(rt, s, from, batch, specials);
  }
}

// Once the name is dead: `w` is what the exchange took from the word.
[[gnu::always_inline]] inline void hand_on_one(Runtime &rt, ThreadState &thread, Task *t, uint64_t w, uint32_t from,
                                               ReadyBatch &batch, Task *&specials) noexcept {
  uint32_t link = word::link(w);
  if (w & word::kFlags) [[unlikely]] {
    if (w & word::kIssued) {
      release_edges(rt, t->pub.codelet, pending::kComplete, from, batch, specials);
      release_edges(rt, std::exchange(link, 0), pending::kComplete, from, batch, specials);
    }
    if (w & word::kWaited) rt.waiters.wake();
  }
  release_edges(rt, link, pending::kBoth, from, batch, specials);
  Group &group = *t->group;
  const uint16_t bits = t->bits;
  if (t->extra) [[unlikely]] {
    if (Task *gate = bits & kMore ? t->extra->more->gate : nullptr) {
      gate->pub.sched[0] = specials;
      specials = gate;
    }
    free_lent(rt, thread, t);
  }
  std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_release);  // pairs with the remover's look
  thread.give_record(t);
  if (bits & (kRetire | kGate)) [[unlikely]] return;  // counted before; counted nowhere
  count_out(rt, thread, group);
}

// What is to be done while the name lives, and its death.
uint64_t end_name(Runtime &rt, ThreadState &thread, Task *t, consort_status status, Worker *worker,
                  Task **heir) noexcept {
  if ((t->bits & kOdd) && status >= 0) settle_data(rt, t);
  if (t->bits & kUnite) [[unlikely]] leave_union(*t, status);
  if (t->bits & kScratch)
    for (uint32_t i = 0; i < t->pub.naccess; ++i) {
      consort_access &a = t->accesses()[i];
      if (a.mode & CONSORT_M_SCRATCH) rt.data.give_scratch(*Datum::of(a.datum), t->pub.id);
      if (a.mode & CONSORT_M_REDUX) give_copy(a);
    }
  if (t->extra && t->extra->staging) rt.memory.end(thread, t);
  if (t->bits & kTokens) *heir = give_tokens(rt, thread, t);  // while the name lives: the data do too
  if (t->extra) t->bits |= kOver;
  if (t->extra && t->extra->done) call_done(rt, thread, t, status, worker);
  if (t->bits & kMore) end_more(rt, thread, t, status);
  if (t->bits & (kRetire | kEmpty)) clear_up(rt, thread, *t);
  // Releases all that the task did; whoever hangs a link or finds the name dead acquires it. From here on no link
  // can be added.
  return t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
}

void end_one(Runtime &rt, ThreadState &thread, Task *t, consort_status status, Worker *worker, uint32_t from,
             ReadyBatch &batch, Task *&specials) noexcept {
  Task *heir = nullptr;
  const uint64_t word = end_name(rt, thread, t, status, worker, &heir);
  if (heir) {
    if (batch.n == ReadyBatch::kMost) push_batch(rt, batch, from);
    take_heir(rt, heir, batch);
  }
  hand_on_one(rt, thread, t, word, from, batch, specials);
}

// Of one that was held: how it ended, and its words again.
consort_status remember_end(Runtime &rt, Task *t, Worker **worker) noexcept {
  const TaskOptions &m = *t->extra->more;
  *worker = m.worker == CONSORT_NONE ? nullptr : rt.workers[m.worker].get();
  if (m.status >= 0) return m.status;
  try {
    const auto f = rt.failures.find(t->pub.id);
    return set_error(m.status, f ? f->chain() : std::string());
  } catch (const std::bad_alloc &) {
    return set_error(m.status, "no memory to say why");
  }
}

void begin_roots(Runtime &rt, const Recording &r, uint32_t from, ReadyBatch &batch, Task *&specials) noexcept {
  const uint32_t *const roots = r.roots.data();
  const auto n = static_cast<uint32_t>(r.roots.size());
  push_batch(rt, batch, from);
  for (uint32_t i = 0; i < n;) {  // the last of them may end it all: nothing of the recording is looked at then
    const uint32_t end = std::min(n, i + ReadyBatch::kMost);
    if (i) push_batch(rt, batch, from);
    for (; i < end; ++i) now_ready(rt, rt.tasks.at(roots[i]), from, batch, specials);
  }
  std::reverse(batch.task, batch.task + batch.n);  // the earliest last
}

void begin_all(Runtime &rt, Task *whole, uint32_t from, ReadyBatch &batch, Task *&specials) noexcept {
  const Recording &r = begin_replay(rt, whole);
  if (Task *carrier = r.carrier.load(std::memory_order_relaxed)) [[unlikely]]
    return r.captured->worker().post(carrier);
  begin_roots(rt, r, from, batch, specials);
}

// A replay, or a recorded task without a body, that has become ready, or a replay whose nodes have all ended.
void settle_replayed(Runtime &rt, ThreadState &thread, Task *s, Worker *worker, uint32_t from, ReadyBatch &batch,
                     Task *&specials) noexcept {
  if (s->role == kWhole) return begin_all(rt, s, from, batch, specials);
  if (s->role == kWholeBegun) {
    const consort_status status = end_replay(rt, s);
    return hand_on_one(rt, thread, s, end_name(rt, thread, s, status, worker, nullptr), from, batch, specials);
  }
  const consort_status status = fail_if_doomed(rt, s);
  hand_on_node(rt, s, end_name(rt, thread, s, status, worker, nullptr), from, batch, specials);
}

[[gnu::noinline]] void finish_specials(Runtime &rt, ThreadState &thread, Worker *worker, uint32_t from,
                                       ReadyBatch &batch, Task *&specials) noexcept {
  while (specials) {
    Task *s = specials;
    specials = static_cast<Task *>(s->pub.sched[0]);
    if (s->bits & kMore) call_ready(thread, s);
    if (!(s->bits & kSpecial)) {
      if (s->bits & kBound) {
        rt.workers[s->extra->worker]->post(s);
      } else if (Worker *w = bundle_worker(rt, thread, s)) {
        w->post(s, true);
      } else {
        if (batch.n == ReadyBatch::kMost) push_batch(rt, batch, from);
        batch.task[batch.n++] = s;
      }
      continue;
    }
    if (s->replayed()) {
      settle_replayed(rt, thread, s, worker, from, batch, specials);
      continue;
    }
    consort_status status;
    Task *held = nullptr;
    const bool more = s->bits & kMore;  // looked at before: one that was granted may be gone
    if (bring_data(rt, s) == Outcome::kPending) continue;
    if (settle_special(rt, thread, s, &status, &held) && (!more || rt.ends.may_end(s, status, CONSORT_NONE)))
      end_one(rt, thread, s, status, worker, from, batch, specials);
    if (held) {
      Worker *ran;
      status = remember_end(rt, held, &ran);
      end_one(rt, thread, held, status, ran, from, batch, specials);
    }
  }
}

}  // namespace

Task *give_way(Runtime &rt, ThreadState &thread, Task *next, Worker &w) noexcept {
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
inline Task *pick_successor(Runtime &rt, ThreadState &thread, ReadyBatch &batch, Worker &w) noexcept {
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

const char *task_label(const Task &t) noexcept {
  if (t.extra && t.extra->name) return t.extra->name;
  if (t.codelet) return t.codelet->name.c_str();
  if (t.role == kStep) return step_label(t);
  if (t.role >= kWhole) return "replay";
  return t.bits & kHold         ? "acquire"
         : t.bits & kInvalidate ? "invalidate"
         : t.bits & kRetire     ? "unregister"
                                : "empty task";
}

void free_lent(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  Extra *e = t->extra;
  for (uint32_t chunk = e->chunks; chunk;) {
    Task *record = rt.tasks.at(chunk);
    chunk = reinterpret_cast<LinkChunk *>(record)->next;
    thread.give_record(record);
  }
  if (e->context) [[unlikely]] rt.policy.contexts().leave(e->context);
  std::free(e->name);
  std::free(e->after);
  std::free(e->spill);
  std::free(e->tickets);
  std::free(e->tokens);
  delete e->more;
  if (e->reserved) Memory::unreserve(e->reserved);
  thread.give_record(reinterpret_cast<Task *>(e));
}

// The rest of an end, when all edges are handed on: what has become ready is pushed, one may run in place.
[[gnu::always_inline]] inline Task *go_on(Runtime &rt, ThreadState &thread, Worker *w, uint32_t from, ReadyBatch &batch,
                                          Task *&specials) noexcept {
  if (specials) [[unlikely]] finish_specials(rt, thread, w, from, batch, specials);
  if (!batch.n) return nullptr;
  Task *next = w && w == thread.seat && !w->queue ? pick_successor(rt, thread, batch, *w) : nullptr;
  if (batch.n > 1) std::reverse(batch.task, batch.task + batch.n);  // the order of submission
  push_batch(rt, batch, from);
  return next;
}

// The body of a task is over, and its end waits for other tasks: these may need the room that its data take. Its data
// stay its own, but their memory is free to be saved and reused. Where the application holds the end, something may
// still write there.
[[gnu::noinline]] static void leave_room(Runtime &rt, ThreadState &thread, Task *t, consort_status status) noexcept {
  if (!t->extra->staging || !rt.ends.waits_for_tasks(t)) return;
  if ((t->bits & kOdd) && status >= 0) settle_data(rt, t);
  t->bits &= static_cast<uint16_t>(~kOdd);  // done; end_name() does not repeat it
  rt.memory.end(thread, t);
}

Task *complete(Runtime &rt, ThreadState &thread, Task *t, consort_status status, Worker *w) noexcept {
  if (t->bits & kMore) [[unlikely]] {
    leave_room(rt, thread, t, status);
    if (!rt.ends.may_end(t, status, w ? w->id : CONSORT_NONE)) return nullptr;
  }
  Task *heir = nullptr;
  const uint64_t word = end_name(rt, thread, t, status, w, &heir);
  if (!t->replayed()) return hand_on(rt, thread, t, word, w, heir);
  ReadyBatch batch;
  if (heir) [[unlikely]] take_heir(rt, heir, batch);
  Task *specials = nullptr;
  const uint32_t from = thread.seat ? thread.seat->id : CONSORT_NONE;
  hand_on_node(rt, t, word, from, batch, specials);
  return go_on(rt, thread, w, from, batch, specials);
}

Task *hand_on(Runtime &rt, ThreadState &thread, Task *t, uint64_t word, Worker *w, Task *heir) noexcept {
  ReadyBatch batch;
  if (heir) [[unlikely]] take_heir(rt, heir, batch);
  Task *specials = nullptr;
  const uint32_t from = thread.seat ? thread.seat->id : CONSORT_NONE;
  hand_on_one(rt, thread, t, word, from, batch, specials);
  return go_on(rt, thread, w, from, batch, specials);
}

void release_roots(Runtime &rt, ThreadState &thread, const Recording &r) noexcept {
  ReadyBatch batch;
  Task *specials = nullptr;
  const uint32_t from = thread.seat ? thread.seat->id : CONSORT_NONE;
  begin_roots(rt, r, from, batch, specials);
  (void)go_on(rt, thread, nullptr, from, batch, specials);
}

static void end_by_word(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  if (!(t->bits & kMore) || !t->extra->more->over) return (void)complete(rt, thread, t, CONSORT_OK, nullptr);
  Worker *ran;
  const consort_status status = remember_end(rt, t, &ran);
  Task *heir = nullptr;
  const uint64_t word = end_name(rt, thread, t, status, ran, &heir);
  (void)hand_on(rt, thread, t, word, nullptr, heir);
}

void end_special(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  if (bring_data(rt, t) == Outcome::kDone) resume_special(rt, thread, t);
}

void resume_special(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  consort_status status;
  Task *held = nullptr;
  if (settle_special(rt, thread, t, &status, &held)) (void)complete(rt, thread, t, status, nullptr);
  if (held) end_by_word(rt, thread, held);
}

void release_ready(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  if (t->bits & kMore) call_ready(thread, t);
  if (!(t->bits & kSpecial)) {
    Worker *bundled = t->bits & kMore ? bundle_worker(rt, thread, t) : nullptr;
    if (t->bits & kBound) rt.workers[t->extra->worker]->post(t);
    else if (bundled) bundled->post(t, true);
    else rt.policy.push(rt, thread.seat ? thread.seat->id : CONSORT_NONE, &t, 1, CONSORT_PUSH_NEW);
    return;
  }
  if (t->replayed()) {
    ReadyBatch batch;
    Task *specials = nullptr;
    const uint32_t from = thread.seat ? thread.seat->id : CONSORT_NONE;
    begin_all(rt, t, from, batch, specials);
    (void)go_on(rt, thread, nullptr, from, batch, specials);
  } else {
    end_special(rt, thread, t);
  }
  if (!thread.seat) settle_down(rt, thread);
}

void end_uncounted(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  consort_status status;
  Task *held = nullptr;  // of a gate alone
  if (bring_data(rt, t) == Outcome::kDone) settle_special(rt, thread, t, &status, &held);
  clear_up(rt, thread, *t);
  // release: as in end_name(); whoever finds the name dead acquires it
  t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
  if (t->extra) free_lent(rt, thread, t);
  thread.give_record(t);
}

std::unique_ptr<PutOffEnds> make_put_off_ends() {
  struct Ends final : PutOffEnds {
    void end(ThreadState &thread, Task *t) noexcept override { end_by_word(thread.rt, thread, t); }
  };
  return std::make_unique<Ends>();
}

void settle_down(Runtime &rt, ThreadState &thread) noexcept {
  thread.flush_records();
  fence::light(rt.asymmetric);  // pairs with the heavy fence of whoever began to watch the group
  rt.groups.tell_if_idle(
      *rt.groups.at(static_cast<uint32_t>(thread.out.turn.load(std::memory_order_relaxed) >> Tally::kGroupShift)));
  fence::light(rt.asymmetric);  // pairs with the heavy fence of whoever is about to wait for everything
  if (rt.waiters.any() && rt.groups.all_idle()) rt.waiters.wake();
}

}  // namespace consort
