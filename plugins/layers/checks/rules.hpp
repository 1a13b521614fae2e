// rules.hpp — the checks of each function. Included once, by checks.cpp.
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

// -- by function ---------------------------------------------------------------------------------------------

inline std::pair<uint64_t, uint64_t> memory_key(uint32_t space, consort_addr a) {
  return {a.base, a.off ^ uint64_t{space} << 48};
}

template <auto kFn, class Next, class... A>
auto Checks::Now::checked(Next &next, A... a) {
  [[maybe_unused]] Object &o = n.state;
  if constexpr (same<kFn, &D::submit>) {
    return [&](const consort_op *ops, uint32_t k) {
      for (uint32_t i = 0; i < k; ++i) o.flight.add(ops[i].cookie);
      const uint32_t r = at_most("CONSORT-D-13", next(ops, k), k);
      for (uint32_t i = k; i-- > r;) o.flight.retract(ops[i].cookie);
      return r;
    }(a...);
  } else if constexpr (same<kFn, &T::post>) {
    return [&](const consort_msg *m, uint32_t k) {
      for (uint32_t i = 0; i < k; ++i)
        if (m[i].kind != CONSORT_MSG_CANCEL) o.flight.add(m[i].cookie);
      const uint32_t r = at_most("CONSORT-T-17", next(m, k), k);
      for (uint32_t i = k; i-- > r;)
        if (m[i].kind != CONSORT_MSG_CANCEL) o.flight.retract(m[i].cookie);
      return r;
    }(a...);
  } else if constexpr (same<kFn, &D::poll> || same<kFn, &T::poll>) {
    return [&](consort_done *out, uint32_t max) {
      const uint32_t r = at_most(same<kFn, &D::poll> ? "CONSORT-D-12" : "CONSORT-T-17", next(out, max), max);
      uint32_t kept = 0;
      for (uint32_t i = 0; i < r; ++i)
        if (done(n, out[i])) out[kept++] = out[i];
      return kept;
    }(a...);
  } else if constexpr (same<kFn, &D::space> || same<kFn, &D::unit>) {
    return [&](uint32_t i, auto *out) {
      const uint32_t room = out->size;
      const consort_status s = next(i, out);
      if (s >= 0) grown("a description", room, out->size);
      return s;
    }(a...);
  } else if constexpr (same<kFn, &D::link> || same<kFn, &D::queue_open>) {
    return [&](auto one, auto two, auto *out) {
      const uint32_t room = out->size;
      const consort_status s = next(one, two, out);
      if (s >= 0) grown("a description", room, out->size);
      return s;
    }(a...);
  } else if constexpr (same<kFn, &D::alloc>) {
    return [&](uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
      const consort_status s = next(space, bytes, align, flags, out);
      if (s >= 0) o.memory.take(memory_key(space, *out));
      return s;
    }(a...);
  } else if constexpr (same<kFn, &D::free>) {
    [&](uint32_t space, consort_addr addr, uint64_t bytes) {  // allocations by ops are not recorded
      if (!o.memory.give_back(memory_key(space, addr)) && !(n.of.table<D>().flags & CONSORT_DRV_QALLOC))
        tell("memory-freed", Text() << "frees memory of space " << space << " that alloc() did not return, or twice");
      next(space, addr, bytes);
    }(a...);
  } else if constexpr (same<kFn, &T::reg>) {
    return [&](const consort_space_desc *space, consort_addr addr, uint64_t bytes, consort_mr *out) {
      const consort_status s = next(space, addr, bytes, out);
      if (s >= 0) o.memory.take({out->lkey, 0});
      return s;
    }(a...);
  } else if constexpr (same<kFn, &T::dereg>) {
    [&](const consort_mr *mr) {
      if (!o.memory.give_back({mr->lkey, 0}))
        tell("memory-freed", Text() << "removes a registration that reg() did not return, or twice");
      next(mr);
    }(a...);
  } else if constexpr (same<kFn, &D::queue_close>) {
    if (const size_t left = o.flight.left()) tell("queue-idle", Text() << "closed with " << left << " ops in flight");
    next();
    o.flight.forget();
  } else if constexpr (same<kFn, &D::close>) {
    close_device();
    next();
  } else if constexpr (same<kFn, &T::close>) {
    close_endpoint();
    next();
    o.flight.forget();
  } else if constexpr (same<kFn, &S::workers>) {
    [&](const consort_topology *t, auto...) { o.tasks.know(*t); }(a...);
    return next(a...);
  } else if constexpr (same<kFn, &S::push>) {
    return push(next, a...);
  } else if constexpr (same<kFn, &S::pop>) {
    return [&](uint32_t worker, consort_pick *out, uint32_t max) {
      const Tasks::Inside inside(o.tasks);
      const auto to = [&](consort_pick *room, uint32_t m) { return next(worker, room, m); };
      const uint32_t r = taken(to, out, max);
      uint32_t kept = 0;
      for (uint32_t i = 0; i < r; ++i) {
        if (!came_out(out[i].task, "CONSORT-S-1")) continue;
        if (!o.tasks.suits(worker, *out[i].task))
          tell("CONSORT-S-2", Text() << "returns to worker " << worker << " a task of another class");
        out[kept++] = out[i];
      }
      return kept;
    }(a...);
  } else if constexpr (same<kFn, &S::drain>) {
    return [&](uint64_t epoch, consort_task **out, uint32_t max) {
      o.tasks.draining(epoch);
      const auto to = [&](consort_task **room, uint32_t m) { return next(epoch, room, m); };
      const uint32_t r = taken(to, out, max);
      uint32_t kept = 0;
      for (uint32_t i = 0; i < r; ++i)
        if (came_out(out[i], "CONSORT-S-1")) out[kept++] = out[i];
      if (const size_t left = o.tasks.drained(epoch, r == 0))
        tell("CONSORT-S-6", Text() << "returns 0, but " << left << " pushed tasks were not returned");
      return kept;
    }(a...);
  } else if constexpr (same<kFn, &S::dropped>) {
    return [&](consort_task *const *tasks, uint32_t k, consort_task **held) {
      const Tasks::Inside inside(o.tasks);
      const uint32_t r = at_most("CONSORT-S-15", next(tasks, k, held), k);
      uint32_t kept = 0;
      for (uint32_t i = 0; i < r; ++i)
        if (came_out(held[i], "CONSORT-S-15")) held[kept++] = held[i];
      return kept;
    }(a...);
  } else if constexpr (same<kFn, &S::victim>) {
    return [&](uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t k, uint32_t *order) {
      const auto to = [&](uint32_t *room) { return next(space, bytes, replicas, k, room); };
      return victims(to, k, order);
    }(a...);
  } else if constexpr (same<kFn, &S::destroy>) {
    if (const size_t left = o.tasks.left())
      tell("CONSORT-S-1", Text() << "destroyed with " << left << " tasks that were not returned");
    next();
    o.tasks.forget();
  } else if constexpr (same<kFn, &I::shape>) {
    return [&](const void *user, uint64_t bytes, void *shape, void *view) {
      const auto inside = [&](void *s) {
        const auto to = [&](void *v) { return next(user, bytes, s, v); };
        return boxed(to, view, n.of.table<I>().view_size);
      };
      return boxed(inside, shape, n.of.table<I>().shape_size);
    }(a...);
  } else if constexpr (same<kFn, &I::view>) {
    return [&](const void *shape, const consort_space_desc *space, const consort_addr *blocks, uint32_t k, void *view) {
      const auto to = [&](void *v) { return next(shape, space, blocks, k, v); };
      return boxed(to, view, n.of.table<I>().view_size);
    }(a...);
  } else if constexpr (same<kFn, &I::decode> || same<kFn, &I::reshape>) {
    return [&](const void *one, auto two, void *shape) {
      const auto to = [&](void *s) { return next(one, two, s); };
      return boxed(to, shape, n.of.table<I>().shape_size);
    }(a...);
  } else if constexpr (same<kFn, &I::blocks> || same<kFn, &I::extents> || same<kFn, &I::args>) {
    return [&](const void *shape, auto with, auto *out, uint32_t max) {
      const auto to = [&](auto *room, uint32_t m) { return next(shape, with, room, m); };
      return filled(to, out, max, site.function);
    }(a...);
  } else if constexpr (same<kFn, &I::runs>) {
    return [&](const void *shape, const void *from, const void *into, consort_run *out, uint32_t max) {
      const auto to = [&](consort_run *room, uint32_t m) { return next(shape, from, into, room, m); };
      return filled(to, out, max, "runs");
    }(a...);
  } else if constexpr (same<kFn, &I::encode> || same<kFn, &I::describe> || same<kFn, &I::sizes>) {
    return [&](const void *shape, auto *out, uint32_t max) {
      if constexpr (same<kFn, &I::encode>) {
        const auto to = [&](char *room, uint32_t m) { return next(shape, room, m); };
        return filled(to, static_cast<char *>(out), max, "bytes");
      } else {
        const auto to = [&](auto *room, uint32_t m) { return next(shape, room, m); };
        return filled(to, out, max, "entries");
      }
    }(a...);
  } else if constexpr (same<kFn, &consort_plugin::init>) {
    init();
    return next(a...);
  } else if constexpr (same<kFn, &consort_plugin::fini>) {
    fini();
    next(a...);
  } else {
    return next(a...);
  }
}

}  // namespace checks
