// node.cpp — the tasks of a recording: the end of a node, the begin and end of a replay, and the carrier.
//
// Called by the thread that ends a predecessor. A node is prepared for the next replay before another thread can see
// its end.
#include <algorithm>

#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "replay/replay.hpp"
#include "replay/replaying.hpp"

namespace consort {
namespace {

// Nodes lie in memory in the order of submission and mostly run in it: prefetches the next nodes and what they will
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

// Prepares the node for the next replay, which may begin as soon as the last edge is released.
[[gnu::always_inline]] inline void prepare_next_run(Replaying &rt, Task *t, uint64_t w, ReadyBatch &batch) noexcept {
  if (static_cast<uint32_t>(w)) [[unlikely]] {
    if (w & word::kWaited) {
      fence::light(rt.asymmetric);  // pairs with the heavy fence of WaitCondition::announce()
      rt.waiters.wake();
    }
    release_edges(rt, word::link(w), pending::kBoth, batch);
  }
  t->pub.id += uint64_t{1} << 32;
  t->bits &= static_cast<uint16_t>(~(kOdd | kTokensHeld | kOver));
  t->pending.store(node::predecessors(*t), std::memory_order_relaxed);  // published by the decrements below
}

void hand_on_node(Core &core, Task *t, uint64_t w, ReadyBatch &batch) noexcept {
  Replaying &rt = static_cast<Replaying &>(core);
  prepare_next_run(rt, t, w, batch);
  fetch_ahead(t);
  const uint32_t *const edges = node::edges(*t);
  const uint32_t n = node::successors(*t);
  if (n > node::kInlineEdges)
    for (uint32_t i = 0; i < n; ++i) {  // interleaved: the decrements below wait for each other's memory
      const Task *s = rt.tasks.at(edges[i]);
      __builtin_prefetch(s->link, 1);
      __builtin_prefetch(s->payload);
      __builtin_prefetch(s);
    }
  for (uint32_t i = n; i-- > 0;) {  // in descending order: the earliest successor comes last
    Task *s = rt.tasks.at(edges[i]);
    // As in release_edges(). The node is not accessed after its last edge.
    if (s->pending.load(std::memory_order_acquire) != 1 && s->pending.fetch_sub(1, std::memory_order_acq_rel) != 1)
      continue;
    __builtin_prefetch(s->payload);
    __builtin_prefetch(node::edges(*s));
    now_ready(rt, s, batch);
  }
}

// The last node, or the carrier: all nodes have ended, so the replay itself ends.
void hand_on_last(Core &core, Task *t, uint64_t w, ReadyBatch &batch) noexcept {
  Replaying &rt = static_cast<Replaying &>(core);
  prepare_next_run(rt, t, w, batch);
  Task *const whole = recording_of(*t).whole;
  whole->pub.sched[0] = batch.specials;
  batch.specials = whole;
}

KindTable::Turn node_ready(Core &core, ThreadState &, Task *t, ReadyBatch &) noexcept {
  Replaying &rt = static_cast<Replaying &>(core);
  return {true, fail_if_doomed(rt, t)};
}

void begin_roots(Replaying &rt, const Recording &r, ReadyBatch &batch) noexcept {
  const uint32_t *const roots = r.roots.data();
  const auto n = static_cast<uint32_t>(r.roots.size());
  push_batch(rt, batch);
  for (uint32_t i = 0; i < n;) {  // releasing the last one may end the recording: it is not accessed afterwards
    const uint32_t end = std::min(n, i + ReadyBatch::kMost);
    if (i) push_batch(rt, batch);
    for (; i < end; ++i) now_ready(rt, rt.tasks.at(roots[i]), batch);
  }
  std::reverse(batch.task, batch.task + batch.n);  // the earliest comes last
}

KindTable::Turn replay_ready(Core &core, ThreadState &, Task *whole, ReadyBatch &batch) noexcept {
  Replaying &rt = static_cast<Replaying &>(core);
  const Recording &r = begin_replay(rt, whole);
  if (Task *carrier = r.carrier.load(std::memory_order_relaxed)) [[unlikely]] r.captured->worker().post(carrier);
  else begin_roots(rt, r, batch);
  return {false};
}

KindTable::Turn replay_over(Core &core, ThreadState &, Task *whole, ReadyBatch &) noexcept {
  Replaying &rt = static_cast<Replaying &>(core);
  return {true, end_replay(rt, whole)};
}

void note_failure(Core &core, const Task &t, const std::shared_ptr<const Failure> &f) noexcept {
  Replaying &rt = static_cast<Replaying &>(core);
  rt.recordings.note_failure(t, f);
}

const Task *whole_of(const Core &core, const Task &t) noexcept {
  const Replaying &rt = static_cast<const Replaying &>(core);
  const Recording *r = rt.recordings.of(t);
  return r ? r->whole : nullptr;
}

}  // namespace

void release_roots(Replaying &rt, ThreadState &thread, const Recording &r) noexcept {
  ReadyBatch batch = batch_of(thread);
  begin_roots(rt, r, batch);
  send_ready(rt, thread, batch);
}

void set_replay_kinds(Kinds &kinds) noexcept {
  static constexpr auto label = [](const Task &) noexcept { return "replay"; };
  static constexpr auto empty = [](const Task &) noexcept { return "empty task"; };
  static constexpr KindTable replay{.label = label, .ready = replay_ready};
  static constexpr KindTable begun{.label = label, .ready = replay_over};
  static constexpr KindTable node{.label = empty, .ready = node_ready, .hand_on = hand_on_node,
                                  .failed = note_failure, .submitted_as = whole_of};
  static constexpr KindTable last{.label = empty, .ready = node_ready, .hand_on = hand_on_last,
                                  .failed = note_failure, .submitted_as = whole_of};
  kinds.set(TaskKind::kReplay, replay);
  kinds.set(TaskKind::kReplayBegun, begun);
  kinds.set(TaskKind::kNode, node);
  kinds.set(TaskKind::kLastNode, last);
  kinds.set(TaskKind::kCarrier, last);
}

}  // namespace consort
