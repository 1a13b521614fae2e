// policy_push.hpp — Policy::push of one new task, inline: the path of each submission that is ready at once.
#pragma once
#include "sched/policy.hpp"
#include "sched/scheduling.hpp"

namespace consort {

[[gnu::always_inline]] inline void Policy::push_one(Scheduling &rt, ThreadState &thread, uint32_t from, Task *t) noexcept {
  if (rt.sleeper_words != 1) [[unlikely]] return push(rt, from, &t, 1, CONSORT_PUSH_NEW);
  thread.candidates = 0;
  thread.wake.k = 0;
  thread.ready = &t->pub;
  const Instance &i = current();
  thread.push.epoch = i.epoch.load(std::memory_order_relaxed);
  thread.push.from = from;
  if (!i.push(i.s, &thread.push)) [[unlikely]] return push(rt, from, &t, 1, CONSORT_PUSH_NEW);
  fence::light(rt.asymmetric);  // pairs with the heavy fence of Executor::show_asleep()
  if (rt.sleepers[0].load(std::memory_order_relaxed) & thread.candidates) [[unlikely]] rt.wake(thread.wake);
}

}  // namespace consort
