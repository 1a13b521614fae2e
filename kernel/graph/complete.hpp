// complete.hpp — how a task leaves: its data settled, its name retired, its successors released.
//
// Called by whoever ran it, or made it ready if it has no body. Iterative: an empty task that becomes ready
// here is finished here, without recursion.
#pragma once
#include "graph/task_graph.hpp"  // first: it brings consort.h

#include "sched/policy_push.hpp"
#include "task/callback.hpp"
#include "task/edges.hpp"
#include "task/kinds.hpp"

namespace consort {

// The task's end. Returns a successor to run in place, if `bypass_for` is a worker that may; else nullptr.
// After this the record belongs to somebody else.
Task *complete(TaskGraph &, ThreadState &, Task *, consort_status, Worker *bypass_for) noexcept;

// -- tasks that have become ready ------------------------------------------------------------------------------

// Hands the batch to the policy. What has no body or a hook stays.
inline void push_batch(TaskGraph &rt, ReadyBatch &batch) noexcept {
  if (!batch.n) return;
  rt.policy.push(rt, batch.from, batch.task, batch.n, batch.flags);
  batch.n = 0;
  batch.flags = CONSORT_PUSH_NEW;
}

// A task has lost its last predecessor: to the batch, to its worker's mailbox, or to the specials.
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

// Hands each edge of a closed list on. `edge`: what each took from Task::pending.
[[gnu::always_inline]] inline void release_edges(TaskGraph &rt, uint32_t link, uint64_t edge, ReadyBatch &batch) noexcept {
  walk_links(rt.tasks, link, [&](Task *s) noexcept {
    // Alone with this edge: nobody else touches the count any more, it need not be written. Not so where this task was
    // issued: whoever has just linked `s` behind it may be about to claim it (claim_follower()), and one of the two must
    // see the other. acquire pairs with the release of the predecessors that were counted down before, and of the
    // submitter.
    if ((edge == pending::kComplete || s->pending.load(std::memory_order_acquire) != edge) &&
        s->pending.fetch_sub(edge, std::memory_order_acq_rel) != edge)
      return;
    now_ready(rt, s, batch);
  });
}

// All of the batch: specials have their turn, the rest goes to the policy.
void send_ready(TaskGraph &, ThreadState &, ReadyBatch &) noexcept;
// The worker that a batch of this thread is pushed by.
inline ReadyBatch batch_of(const ThreadState &thread) noexcept {
  return ReadyBatch(number_of(thread.seat));
}

// What complete() does once the name is dead: `word` is what the exchange took. Successors, record, counts. heir: a
// task that has become ready beside them.
Task *hand_on(TaskGraph &, ThreadState &, Task *, uint64_t word, Worker *bypass_for, Task *heir = nullptr) noexcept;

// Of what an exchange took from a word: a list of one edge, whose task is released by the policy alone? It is; else
// nullptr.
inline Task *only_successor(const TaskGraph &rt, uint64_t w) noexcept {
  const uint32_t link = word::link(w), slot = link & ((1u << word::kSlotBits) - 1);
  Task *s = rt.tasks.at(link >> word::kSlotBits);
  // While its edge is not handed on, a successor waits: its record is its own, and does not change.
  if ((w & word::kFlags) || slot >= 4 || s->link[slot] || (s->bits & (kSpecial | kBound | kMore))) return nullptr;
  return s;
}

// A chain of successors has run in place for as long as it may: `next` goes to the policy if somebody else is to be run
// here first, and that one is the answer. Where nobody is, the chain goes on: pushed, it would be taken by an idle
// worker, to another core than its data. nullptr: back to who steps.
Task *give_way(TaskGraph &, ThreadState &, Task *next, Worker &) noexcept;

// complete() of the plainest tasks, inline: nothing to settle, nobody to tell, nobody to release or one. For a thread
// that sits at w, which runs what it is given.
[[gnu::always_inline]] inline Task *complete_plain(TaskGraph &rt, ThreadState &thread, Task *t, Worker *w) noexcept {
  if ((t->bits & ~(kBound | kAfter)) || (t->extra && !t->extra->is_idle_at_end())) [[unlikely]]
    return complete(rt, thread, t, CONSORT_OK, w);
  Group &group = *t->group;
  // As in complete(): releases all that the task did; whoever finds the name dead acquires it.
  const uint64_t word =
      t->word.exchange((t->pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32), std::memory_order_acq_rel);
  Task *next = nullptr;
  if (static_cast<uint32_t>(word)) {
    if (!(next = only_successor(rt, word))) return hand_on(rt, thread, t, word, w);
    // As in release_edges(): acquire pairs with the release of those who were counted down before.
    if (next->pending.load(std::memory_order_acquire) != pending::kBoth &&
        next->pending.fetch_sub(pending::kBoth, std::memory_order_acq_rel) != pending::kBoth) next = nullptr;
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

// A submitted task that no policy is to see has no unfinished predecessor left: to a mailbox, or to its end. The
// caller holds no submission right: callbacks may run.
void release_ready(TaskGraph &, ThreadState &, Task *) noexcept;

// A task without a body is ready: does what it is for. It ends, unless it is a hold that somebody waits for.
void end_special(TaskGraph &, ThreadState &, Task *) noexcept;
// The same task goes on, once the data that end_special() sent for have come, or can not.
void resume_special(TaskGraph &, ThreadState &, Task *) noexcept;

// Records why; poisons what the task would have written. `datum`: the one it failed on, may be nullptr.
void record_failure(TaskGraph &, Task *, consort_status, std::string_view text, Datum *datum, uint32_t worker,
                    std::shared_ptr<const Failure> cause) noexcept;
// That task's failure was recorded while one before it was still on its way, which may have written since.
void poison_again(TaskGraph &, const Task *) noexcept;
// Records the failure of a task that is cancelled or comes after a failed one. Returns its status; OK: the task may run.
consort_status fail_if_doomed(TaskGraph &, Task *) noexcept;
// A failure of the group's, not of the task that has just ended well. error_text() says why.
void fail_group(TaskGraph &, Task *, consort_status, const char *what) noexcept;

// The ends that the application asks for (Callback::end() says when they are made). May throw bad_alloc.
std::unique_ptr<PutOffEnds> make_put_off_ends();

// A task without a body that is not counted and that nobody can know yet: over, where it was linked. Calls nobody.
void end_uncounted(TaskGraph &, ThreadState &, Task *) noexcept;

// The records and memory that a task has beside its own record.
void free_lent(TaskGraph &, ThreadState &, Task *) noexcept;

// A thread that has nothing to do gives back what it holds for others, and tells those who wait.
void settle_down(TaskGraph &, ThreadState &) noexcept;


// The tables of kEmpty, kHold, kInvalidate, kRetire, kGate, kDropCopies, kStep.
void set_graph_kinds(Kinds &) noexcept;

}  // namespace consort
