// complete.hpp — the end of a task: settles its data, invalidates its name, releases its successors.
//
// Called by the thread that ran it, or that made it ready if it has no body. Iterative: a task without a body that
// becomes ready here is also ended here, without recursion.
#pragma once
#include "graph/task_graph.hpp"  // first: it brings consort.h

#include "sched/policy_push.hpp"
#include "task/callback.hpp"
#include "task/edges.hpp"
#include "task/kinds.hpp"

namespace consort {

// Ends the task. Returns a successor to run in place if the worker `bypass_for` may do so, else nullptr. Afterwards the
// record no longer belongs to the caller.
Task *complete(TaskGraph &, ThreadState &, Task *, consort_status, Worker *bypass_for) noexcept;

// -- tasks that have become ready ------------------------------------------------------------------------------

// Pushes the batch to the policy. Tasks without a body or with a hook stay in `specials`.
inline void push_batch(TaskGraph &rt, ReadyBatch &batch) noexcept {
  if (!batch.n) return;
  rt.policy.push(rt, batch.from, batch.task, batch.n, batch.flags);
  batch.n = 0;
  batch.flags = CONSORT_PUSH_NEW;
}

// A task has lost its last predecessor: adds it to the batch, to its worker's mailbox, or to the specials.
[[gnu::always_inline]] inline void now_ready(TaskGraph &rt, Task *s, ReadyBatch &batch) noexcept {
  if (s->bits & (kSpecial | kBound | kMore)) [[unlikely]] {
    if (s->bits & (kSpecial | kMore)) {
      s->pub.sched[0] = batch.specials;
      batch.specials = s;
    } else {
      rt.workers[s->extra->worker]->post(s);
    }
    return;
  }
  if (batch.n == ReadyBatch::kMost) [[unlikely]] push_batch(rt, batch);
  batch.task[batch.n++] = s;
}

// Releases each edge of a closed list. `edge`: the value that each added to Task::pending.
[[gnu::always_inline]] inline void release_edges(TaskGraph &rt, uint32_t link, uint64_t edge, ReadyBatch &batch) noexcept {
  walk_links(rt.tasks, link, [&](Task *s) noexcept {
    // If this is the only edge left, no other thread changes the count, and it need not be written. Not so if this task
    // was issued. A thread that has just linked `s` behind it may be about to claim it (claim_follower()), and one of
    // the two must see the other. acquire pairs with the release of the predecessors that decremented before, and of
    // the submitter.
    if ((edge == pending::kComplete || s->pending.load(std::memory_order_acquire) != edge) &&
        s->pending.fetch_sub(edge, std::memory_order_acq_rel) != edge)
      return;
    now_ready(rt, s, batch);
  });
}

// Handles the whole batch: specials get their turn, the rest is pushed to the policy.
void send_ready(TaskGraph &, ThreadState &, ReadyBatch &) noexcept;
// The batch of this thread's worker.
inline ReadyBatch batch_of(const ThreadState &thread) noexcept {
  return ReadyBatch(number_of(thread.seat));
}

// The part of complete() after the name is invalid: successors, record, counts. `word` is the value that the exchange
// took. heir: a further task that has become ready.
Task *hand_on(TaskGraph &, ThreadState &, Task *, uint64_t word, Worker *bypass_for, Task *heir = nullptr) noexcept;

// The same after a part of the list: the edges before `link` are released, and these tasks are ready (nullptr: none).
Task *hand_on_rest(TaskGraph &, ThreadState &, Task *, uint32_t link, Worker *bypass_for, Task *ready,
                   Task *also_ready = nullptr) noexcept;

// A chain of successors has reached its limit in place. If another task should run here first, pushes `next` and
// returns that task. Otherwise the chain continues: if pushed, an idle worker would move it to another core, away from
// its data. nullptr: return to the stepping loop.
Task *give_way(TaskGraph &, ThreadState &, Task *next, Worker &) noexcept;

// complete() of the simplest tasks, inline: nothing to settle or report, and at most one successor becomes ready, which
// only needs a push. For a thread that holds w's seat and runs the returned task.
[[gnu::always_inline]] inline Task *complete_plain(TaskGraph &rt, ThreadState &thread, Task *t, Worker *w) noexcept {
  if ((t->bits & ~(kBound | kAfter)) || (t->extra && !t->extra->is_idle_at_end())) [[unlikely]]
    return complete(rt, thread, t, CONSORT_OK, w);
  Group &group = *t->group;
  // As in complete(): releases all stores of the task; a thread that finds the name invalid acquires them.
  const uint64_t word =
      t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
  Task *next = nullptr;
  if (static_cast<uint32_t>(word)) {
    if (word & word::kFlags) [[unlikely]] return hand_on(rt, thread, t, word, w);
    uint32_t link = word::link(word);
    do {
      const uint32_t slot = link & ((1u << word::kSlotBits) - 1);
      Task *const s = rt.tasks.at(link >> word::kSlotBits);
      // While its edge is not released the successor waits: its record is valid and does not change.
      if (slot >= 4 || (s->bits & (kSpecial | kBound | kMore))) [[unlikely]]
        return hand_on_rest(rt, thread, t, link, w, next);
      if ((link = s->link[slot])) __builtin_prefetch(rt.tasks.at(link >> word::kSlotBits)->link, 1);
      // As in release_edges(): acquire pairs with the release of the predecessors that decremented before, and of the
      // submitter.
      if (s->pending.load(std::memory_order_acquire) != pending::kBoth &&
          s->pending.fetch_sub(pending::kBoth, std::memory_order_acq_rel) != pending::kBoth) continue;
      if (next) return hand_on_rest(rt, thread, t, link, w, next, s);
      next = s;
    } while (link);
  }
  std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_release);  // pairs with the remover's look
  thread.give_record(t);
  count_out(rt, thread, group);
  if (!next) return nullptr;
  if ((next->pub.where >> w->klass & 1) && rt.policy.may_bypass(w->id, *next)) [[likely]]
    return thread.chain.run < thread.chain.turn_end ? next : give_way(rt, thread, next, *w);
  rt.policy.push_one(rt, thread, w->id, next);
  return nullptr;
}

// A submitted task that bypasses the policy has no unfinished predecessor left: posts it to a mailbox, or ends it.
// Precondition: the caller holds no submission right, since callbacks may run.
void release_ready(TaskGraph &, ThreadState &, Task *) noexcept;

// A task without a body is ready: acts by its kind and ends it, unless it is a hold with a waiting thread.
void end_special(TaskGraph &, ThreadState &, Task *) noexcept;
// Continues that task once the data that end_special() requested have arrived or failed.
void resume_special(TaskGraph &, ThreadState &, Task *) noexcept;

// The ends that the application requests; Callback::end() decides when they are made. May throw bad_alloc.
std::unique_ptr<PutOffEnds> make_put_off_ends();

// Ends an uncounted task without a body that no other thread knows, at its linking. Makes no callbacks.
void end_uncounted(TaskGraph &, ThreadState &, Task *) noexcept;

// Frees the device memory of a task whose body has ended, before its completion (CompletionHolds::may_end()). Returns the
// task if nothing else is awaited: the caller then ends it.
Task *leave_memory(TaskGraph &, ThreadState &, Task *) noexcept;

// Frees the records and memory that a task has beside its own record.
void free_lent(TaskGraph &, ThreadState &, Task *) noexcept;

// For an idle thread: returns what it holds for other threads, and wakes waiting ones.
void settle_down(TaskGraph &, ThreadState &) noexcept;


// The tables of kEmpty, kHold, kInvalidate, kRetire, kGate, kDropCopies, kStep.
void set_graph_kinds(Kinds &) noexcept;

}  // namespace consort
