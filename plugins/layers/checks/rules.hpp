// rules.hpp — the checks that several functions share; function_rules.hpp says which function has which. Included once,
// by checks.cpp.
//
// Rules with a number are those of docs/rules; the others are named after the header's contract.
#pragma once
#include "checks.hpp"

namespace checks {

constexpr unsigned char kMark = 0xA5;  // written behind the memory that a plugin may write
inline bool marked(const void *p, size_t n) {
  const auto *b = static_cast<const unsigned char *>(p);
  return std::all_of(b, b + n, [](unsigned char c) { return c == kMark; });
}

// Whether a completion is passed on. Unknown cookies are not: the host would match them with an operation of its own.
inline bool Checks::Now::done(N &of, const consort_done &d) {
  const bool driver = of.of.inner->kind == CONSORT_KIND_DRIVER;
  if (!driver && d.cookie == CONSORT_NOTIFIED) return true;  // it has no post
  if (d.status < kLastStatus || d.status > CONSORT_AGAIN)
    tell("known-status", Text() << "a completion has status " << d.status << ", which is not a status");
  switch (of.state.flight.complete(d.cookie)) {
    case Flight::Found::kNo:
      tell(driver ? "CONSORT-D-11" : "CONSORT-T-17",
           Text() << "cookie " << d.cookie << " completes but is not in flight: it was never accepted here, or has "
                  << "completed already");
      return false;
    case Flight::Found::kOutOfTurn:
      tell("CONSORT-D-14", Text() << "cookie " << d.cookie << " completes before older ones of an in-order queue");
      return true;
    case Flight::Found::kYes: break;
  }
  return true;
}

// -- lifetimes -----------------------------------------------------------------------------------------------

inline void Checks::Now::init() {
  if (n.of.inner->kind != CONSORT_KIND_INTERFACE) return;
  const I &t = n.of.table<I>();
  if (t.shape_size - 1 > 255 || t.view_size - 1 > 255)
    tell("CONSORT-I-1",
         Text() << "shapes have " << t.shape_size << " bytes, views " << t.view_size << "; 1 to 256 are allowed");
}
inline void Checks::Now::fini() {
  uint32_t open = 0;
  n.of.each([&](N &node) { open += !node.closed.load(std::memory_order_relaxed); });
  if (open) tell("handles-closed", Text() << open << " handles were not closed");
}
inline void Checks::Now::close_device() {
  uint32_t open = 0;
  n.of.each([&](N &node) { open += node.parent == &n && !node.closed.load(std::memory_order_relaxed); });
  if (open) tell("handles-closed", Text() << open << " queues of this device are open");
  if (const size_t left = n.state.memory.left()) tell("memory-freed", Text() << left << " allocations were not freed");
}
inline void Checks::Now::close_endpoint() {
  if (const size_t left = n.state.memory.left())
    tell("memory-freed", Text() << left << " registrations were not removed");
}

// -- schedulers ----------------------------------------------------------------------------------------------

template <class Next>
uint32_t Checks::Now::push(Next &next, const consort_push *p) {
  constexpr uint32_t kWords = 64;
  Tasks &tasks = n.state.tasks;
  const Tasks::Inside inside(tasks);
  if (!tasks.push(*p)) tell("pushed-once", Text() << "a task is pushed that is queued here already");
  const uint64_t settled = tasks.settled();
  uint64_t bits[kWords + 1];
  consort_push mine = *p;
  consort_wake wake{};
  const bool watched = p->wake && p->wake->nwords <= kWords;
  if (watched) {
    std::copy_n(p->wake->bits, p->wake->nwords, bits);
    bits[p->wake->nwords] = 0;
    wake = {p->wake->nwords, p->wake->k, bits};
    mine.wake = &wake;
  }
  uint32_t r = next(watched ? &mine : p);
  if (watched) {
    bool beyond = bits[wake.nwords] != 0;
    for (size_t w = tasks.workers(); w < size_t{wake.nwords} * 64 && !beyond; ++w) beyond = bits[w / 64] >> w % 64 & 1;
    if (beyond) tell("CONSORT-S-4", Text() << "wakes a worker that does not exist: " << tasks.workers() << " exist");
    std::copy_n(bits, wake.nwords, p->wake->bits);
    p->wake->k = wake.k;
  }
  if (r != 0 && r != p->n)
    tell("CONSORT-S-1", Text() << "accepted " << r << " of " << p->n << " tasks: all or none"), r = p->n;
  if (r == 0) return tasks.refuse(*p), 0;
  tasks.accept(*p);
  if (settled != Tasks::kUnsettled && settled != p->epoch && settled == tasks.settled())
    tell("CONSORT-S-7", Text() << "accepts tasks of epoch " << p->epoch << "; drain() has set " << settled);
  return r;
}

// Passes a task on if it was queued: a task returned twice would run twice.
inline bool Checks::Now::came_out(consort_task *t, const char *rule) {
  if (t && n.state.tasks.out(t)) return true;
  if (!t)
    tell(rule, Text() << "returns a null task");
  else
    tell(rule, (Text() << "returns task ").hex(t)
                   << ", which is not queued here: it was returned already, or pushed elsewhere");
  return false;
}
// Picks or tasks, into an array of the layer with a mark behind it.
template <class Next, class E>
uint32_t Checks::Now::taken(Next &next, E *out, uint32_t max) {
  constexpr uint32_t kMost = 64;
  if (max > kMost) return at_most("CONSORT-S-4", next(out, max), max);
  alignas(16) unsigned char room[(kMost + 1) * sizeof(E)];
  std::memset(room, kMark, sizeof room);
  const uint32_t r = at_most("CONSORT-S-4", next(reinterpret_cast<E *>(room), max), max);
  if (!marked(room + max * sizeof(E), sizeof(E)))
    tell("CONSORT-S-4", Text() << "writes beyond " << max << " elements");
  std::memcpy(static_cast<void *>(out), room, r * sizeof(E));
  return r;
}

template <class Next>
uint32_t Checks::Now::victims(Next &next, uint32_t n_replicas, uint32_t *order) {
  const uint32_t r = at_most("CONSORT-S-18", next(order), n_replicas);
  for (uint32_t i = 0; i < r; ++i) {
    const bool twice = std::find(order, order + i, order[i]) != order + i;
    if (order[i] < n_replicas && !twice) continue;
    tell("CONSORT-S-18", Text() << "names replica " << order[i] << " of " << n_replicas << (twice ? " twice" : ""));
    return i;
  }
  return r;
}

// -- arrays of interfaces ------------------------------------------------------------------------------------

// An array of max elements or bytes: into an array of the layer first, with a mark behind it.
template <class Next, class E>
uint32_t Checks::Now::filled(Next &next, E *out, uint32_t max, const char *what) {
  constexpr uint32_t kMost = 256 / sizeof(E) + 24;
  if (!out || max > kMost) return next(out, max);
  alignas(16) unsigned char room[(kMost + 1) * sizeof(E) + 16];
  E *mine = reinterpret_cast<E *>(room);
  std::memcpy(room, out, max * sizeof(E));
  std::memset(room + max * sizeof(E), kMark, sizeof(E));
  const uint32_t r = next(mine, max);
  std::memcpy(static_cast<void *>(out), room, max * sizeof(E));
  if (!marked(room + max * sizeof(E), sizeof(E)))
    tell("CONSORT-I-10", Text() << "writes more " << what << " than " << max);
  return r;
}
// A shape or a view.
template <class Next>
consort_status Checks::Now::boxed(Next &next, void *out, uint32_t size) {
  constexpr uint32_t kMost = 256, kBehind = 32;
  if (!out || size > kMost) return next(out);
  alignas(16) unsigned char room[kMost + kBehind];
  std::memcpy(room, out, size);
  std::memset(room + size, kMark, kBehind);
  const consort_status s = next(room);
  std::memcpy(out, room, size);
  if (!marked(room + size, kBehind))
    tell("CONSORT-I-11", Text() << "writes beyond the " << size << " bytes of its output");
  return s;
}

}  // namespace checks
