// function_rules.hpp — what is checked of each function of a plugin: a Rule for each, by family. Included once, by
// checks.cpp.
//
// Rule<kFn>::apply() stands for one call: it calls `next` with the arguments and answers what the caller is told. Thread
// tags, closed handles and statuses are checked for all functions, in Checks::call().
#pragma once
#include "rules.hpp"

namespace checks {

// Of a function without a rule of its own.
template <auto kFn>
struct Rule {
  template <class Now, class Next, class... A>
  static auto apply(Now &, Next &next, A... a) {
    return next(a...);
  }
};

template <auto kFn, class Next, class... A>
auto Checks::Now::checked(Next &next, A... a) {
  return Rule<kFn>::apply(*this, next, a...);
}

// -- every plugin --------------------------------------------------------------------------------------------

template <>
struct Rule<&consort_plugin::init> {
  template <class Now, class Next, class... A>
  static auto apply(Now &now, Next &next, A... a) {
    now.init();
    return next(a...);
  }
};
template <>
struct Rule<&consort_plugin::fini> {
  template <class Now, class Next, class... A>
  static void apply(Now &now, Next &next, A... a) {
    now.fini();
    next(a...);
  }
};

// -- drivers -------------------------------------------------------------------------------------------------

inline std::pair<uint64_t, uint64_t> memory_key(uint32_t space, consort_addr a) {
  return {a.base, a.off ^ uint64_t{space} << 48};
}

template <>
struct Rule<&D::submit> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, const consort_op *ops, uint32_t n) {
    Flight &flight = now.n.state.flight;
    for (uint32_t i = 0; i < n; ++i) flight.add(ops[i].cookie);
    const uint32_t r = now.at_most("CONSORT-D-13", next(ops, n), n);
    for (uint32_t i = n; i-- > r;) flight.retract(ops[i].cookie);
    return r;
  }
};

// Completions into an array: those with unknown cookies are taken out.
struct PollRule {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, consort_done *out, uint32_t max) {
    const bool driver = now.n.of.inner->kind == CONSORT_KIND_DRIVER;
    const uint32_t r = now.at_most(driver ? "CONSORT-D-12" : "CONSORT-T-17", next(out, max), max);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r; ++i)
      if (now.done(now.n, out[i])) out[kept++] = out[i];
    return kept;
  }
};
template <>
struct Rule<&D::poll> : PollRule {};

// A description, the last argument: it is not written beyond its size.
struct DescriptionRule {
  template <class Now, class Next, class... A>
  static consort_status apply(Now &now, Next &next, A... a) {
    auto *const out = std::get<sizeof...(A) - 1>(std::tuple{a...});
    const uint32_t room = out->size;
    const consort_status s = next(a...);
    if (s >= 0) now.grown("a description", room, out->size);
    return s;
  }
};
template <>
struct Rule<&D::space> : DescriptionRule {};
template <>
struct Rule<&D::unit> : DescriptionRule {};
template <>
struct Rule<&D::link> : DescriptionRule {};
template <>
struct Rule<&D::queue_open> : DescriptionRule {};

template <>
struct Rule<&D::alloc> {
  template <class Now, class Next>
  static consort_status apply(Now &now, Next &next, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags,
                              consort_addr *out) {
    const consort_status s = next(space, bytes, align, flags, out);
    if (s >= 0) now.n.state.memory.take(memory_key(space, *out));
    return s;
  }
};
template <>
struct Rule<&D::free> {  // allocations by ops are not recorded
  template <class Now, class Next>
  static void apply(Now &now, Next &next, uint32_t space, consort_addr addr, uint64_t bytes) {
    if (!now.n.state.memory.give_back(memory_key(space, addr)) &&
        !(now.n.of.template table<D>().flags & CONSORT_DRV_QALLOC))
      now.tell("memory-freed", Text() << "frees memory of space " << space << " that alloc() did not return, or twice");
    next(space, addr, bytes);
  }
};
template <>
struct Rule<&D::queue_close> {
  template <class Now, class Next>
  static void apply(Now &now, Next &next) {
    Flight &flight = now.n.state.flight;
    if (const size_t left = flight.left()) now.tell("queue-idle", Text() << "closed with " << left << " ops in flight");
    next();
    flight.forget();
  }
};
template <>
struct Rule<&D::close> {
  template <class Now, class Next>
  static void apply(Now &now, Next &next) {
    now.close_device();
    next();
  }
};

// -- transports ----------------------------------------------------------------------------------------------

template <>
struct Rule<&T::post> {  // a cancellation has no completion of its own
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, const consort_msg *m, uint32_t n) {
    Flight &flight = now.n.state.flight;
    for (uint32_t i = 0; i < n; ++i)
      if (m[i].kind != CONSORT_MSG_CANCEL) flight.add(m[i].cookie);
    const uint32_t r = now.at_most("CONSORT-T-17", next(m, n), n);
    for (uint32_t i = n; i-- > r;)
      if (m[i].kind != CONSORT_MSG_CANCEL) flight.retract(m[i].cookie);
    return r;
  }
};
template <>
struct Rule<&T::poll> : PollRule {};
template <>
struct Rule<&T::reg> {
  template <class Now, class Next>
  static consort_status apply(Now &now, Next &next, const consort_space_desc *space, consort_addr addr, uint64_t bytes,
                              consort_mr *out) {
    const consort_status s = next(space, addr, bytes, out);
    if (s >= 0) now.n.state.memory.take({out->lkey, 0});
    return s;
  }
};
template <>
struct Rule<&T::dereg> {
  template <class Now, class Next>
  static void apply(Now &now, Next &next, const consort_mr *mr) {
    if (!now.n.state.memory.give_back({mr->lkey, 0}))
      now.tell("memory-freed", Text() << "removes a registration that reg() did not return, or twice");
    next(mr);
  }
};
template <>
struct Rule<&T::close> {
  template <class Now, class Next>
  static void apply(Now &now, Next &next) {
    now.close_endpoint();
    next();
    now.n.state.flight.forget();
  }
};

// -- schedulers ----------------------------------------------------------------------------------------------

template <>
struct Rule<&S::workers> {
  template <class Now, class Next, class... A>
  static consort_status apply(Now &now, Next &next, const consort_topology *t, A... a) {
    now.n.state.tasks.know(*t);
    return next(t, a...);
  }
};
template <>
struct Rule<&S::push> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, const consort_push *p) {
    return now.push(next, p);
  }
};
template <>
struct Rule<&S::pop> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, uint32_t worker, consort_pick *out, uint32_t max) {
    Tasks &tasks = now.n.state.tasks;
    const Tasks::Inside inside(tasks);
    const auto to = [&](consort_pick *room, uint32_t m) { return next(worker, room, m); };
    const uint32_t r = now.taken(to, out, max);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r; ++i) {
      if (!now.came_out(out[i].task, "CONSORT-S-1")) continue;
      if (!tasks.suits(worker, *out[i].task))
        now.tell("CONSORT-S-2", Text() << "returns to worker " << worker << " a task of another class");
      out[kept++] = out[i];
    }
    return kept;
  }
};
template <>
struct Rule<&S::drain> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, uint64_t epoch, consort_task **out, uint32_t max) {
    Tasks &tasks = now.n.state.tasks;
    tasks.draining(epoch);
    const auto to = [&](consort_task **room, uint32_t m) { return next(epoch, room, m); };
    const uint32_t r = now.taken(to, out, max);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r; ++i)
      if (now.came_out(out[i], "CONSORT-S-1")) out[kept++] = out[i];
    if (const size_t left = tasks.drained(epoch, r == 0))
      now.tell("CONSORT-S-6", Text() << "returns 0, but " << left << " pushed tasks were not returned");
    return kept;
  }
};
template <>
struct Rule<&S::dropped> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, consort_task *const *tasks, uint32_t n, consort_task **held) {
    const Tasks::Inside inside(now.n.state.tasks);
    const uint32_t r = now.at_most("CONSORT-S-15", next(tasks, n, held), n);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r; ++i)
      if (now.came_out(held[i], "CONSORT-S-15")) held[kept++] = held[i];
    return kept;
  }
};
template <>
struct Rule<&S::victim> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t n,
                        uint32_t *order) {
    const auto to = [&](uint32_t *room) { return next(space, bytes, replicas, n, room); };
    return now.victims(to, n, order);
  }
};
template <>
struct Rule<&S::destroy> {
  template <class Now, class Next>
  static void apply(Now &now, Next &next) {
    Tasks &tasks = now.n.state.tasks;
    if (const size_t left = tasks.left())
      now.tell("CONSORT-S-1", Text() << "destroyed with " << left << " tasks that were not returned");
    next();
    tasks.forget();
  }
};

// -- interfaces ----------------------------------------------------------------------------------------------

template <>
struct Rule<&I::shape> {
  template <class Now, class Next>
  static consort_status apply(Now &now, Next &next, const void *user, uint64_t bytes, void *shape, void *view) {
    const I &table = now.n.of.template table<I>();
    const auto inside = [&](void *s) {
      const auto to = [&](void *v) { return next(user, bytes, s, v); };
      return now.boxed(to, view, table.view_size);
    };
    return now.boxed(inside, shape, table.shape_size);
  }
};
template <>
struct Rule<&I::view> {
  template <class Now, class Next>
  static consort_status apply(Now &now, Next &next, const void *shape, const consort_space_desc *space,
                              const consort_addr *blocks, uint32_t n, void *view) {
    const auto to = [&](void *v) { return next(shape, space, blocks, n, v); };
    return now.boxed(to, view, now.n.of.template table<I>().view_size);
  }
};

// A shape, the last of three arguments.
struct ShapeRule {
  template <class Now, class Next, class A>
  static consort_status apply(Now &now, Next &next, const void *one, A two, void *shape) {
    const auto to = [&](void *s) { return next(one, two, s); };
    return now.boxed(to, shape, now.n.of.template table<I>().shape_size);
  }
};
template <>
struct Rule<&I::decode> : ShapeRule {};
template <>
struct Rule<&I::reshape> : ShapeRule {};

// An array that is named as the function, the last two of four arguments.
struct ArrayRule {
  template <class Now, class Next, class A, class E>
  static uint32_t apply(Now &now, Next &next, const void *shape, A with, E *out, uint32_t max) {
    const auto to = [&](E *room, uint32_t m) { return next(shape, with, room, m); };
    return now.filled(to, out, max, now.site.function);
  }
};
template <>
struct Rule<&I::blocks> : ArrayRule {};
template <>
struct Rule<&I::extents> : ArrayRule {};
template <>
struct Rule<&I::args> : ArrayRule {};

template <>
struct Rule<&I::runs> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, const void *shape, const void *from, const void *into, consort_run *out,
                        uint32_t max) {
    const auto to = [&](consort_run *room, uint32_t m) { return next(shape, from, into, room, m); };
    return now.filled(to, out, max, "runs");
  }
};
template <>
struct Rule<&I::encode> {
  template <class Now, class Next>
  static uint32_t apply(Now &now, Next &next, const void *shape, void *out, uint32_t max) {
    const auto to = [&](char *room, uint32_t m) { return next(shape, room, m); };
    return now.filled(to, static_cast<char *>(out), max, "bytes");
  }
};

// What stands in a shape, as characters or numbers.
struct EntriesRule {
  template <class Now, class Next, class E>
  static uint32_t apply(Now &now, Next &next, const void *shape, E *out, uint32_t max) {
    const auto to = [&](E *room, uint32_t m) { return next(shape, room, m); };
    return now.filled(to, out, max, "entries");
  }
};
template <>
struct Rule<&I::describe> : EntriesRule {};
template <>
struct Rule<&I::sizes> : EntriesRule {};

}  // namespace checks
