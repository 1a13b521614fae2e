#include <algorithm>

#include "goal.hpp"
#include "queue.hpp"
#include "submit.hpp"
#include "thread_tags.hpp"

namespace consort {

bool pump_one(Runtime &rt, Hand &h, uint32_t worker) noexcept {
  Worker &w = *rt.workers[worker];
  Worker *const outer = h.seat;
  // A worker further down on this stack, in a body that waits, goes on too: what is waited for may be its to run.
  const bool nested = w.pumped_by.load(std::memory_order_relaxed) == &h;
  if (!nested && !w.try_take()) return false;
  if (!nested) w.pumped_by.store(&h, std::memory_order_relaxed);
  const uint32_t outer_worker = current_worker();
  set_current_worker(w.id);
  h.seat = &w;
  bool did;
  if (w.queue) {  // it has its own frames, one for each task in flight
    did = w.queue->step(h);
  } else {
    Frame frame(w);
    did = w.step(h, frame);
  }
  // In virtual time most workers have nothing to do at most moments: then nor have the movers, unless they say so.
  if (rt.manual && (did || !rt.virtual_time || rt.memory.stirred())) did |= rt.memory.step(h);
  if (did) rt.policy.review(rt, h);
  settle_down(rt, h);
  h.seat = outer;
  set_current_worker(outer_worker);
  if (!nested) {
    w.pumped_by.store(nullptr, std::memory_order_relaxed);
    w.token.store(token::kFree, std::memory_order_release);
  }
  return did;
}

bool pump_all(Runtime &rt, Hand &h, uint64_t latest) noexcept {
  const PumpTurn turn(rt, h);
  bool did = false;
  for (uint32_t i = 0; i < rt.workers.size(); ++i) did |= pump_one(rt, h, i);
  if (did || !rt.virtual_time || latest <= rt.clock.now()) return did;
  uint64_t next = std::min({latest, rt.policy.next_event(), rt.memory.next_event()});
  for (const Queue *q : rt.queues) next = std::min(next, q->next_event());
  if (next == CONSORT_NEVER) return false;
  rt.clock.advance_to(std::max(next, rt.clock.now() + 1));  // who says "now" and yields nothing is asked again later
  return true;
}

void charge_submissions(Runtime &rt) noexcept {
  if (!rt.submit_ns) return;
  const uint64_t all = rt.submitted(), before = rt.charged.exchange(all, std::memory_order_relaxed);
  if (all > before) rt.clock.advance((all - before) * rt.submit_ns);
}

void step_for_polls(Runtime &rt) noexcept {
  constexpr uint32_t kPolls = 1000;
  Hand *const h = rt.this_hand();
  if (!h || h->task || h->in_callback || ++h->polls <= kPolls) return;
  settle_down(rt, *h);
  push_kept(rt, *h);
  charge_submissions(rt);
  pump_all(rt, *h, CONSORT_NEVER);
}

static consort_status wait_by_events(Hand &h, const Goal &goal, const Deadline &deadline) noexcept {
  while (!goal.reached()) {
    const bool late = deadline.passed();  // what happens at that very moment still counts
    if (pump_all(goal.rt, h, deadline.at())) continue;
    if (late) return CONSORT_E_TIMEOUT;
    sleep_until(h, goal, Deadline(goal.rt.clock, -1), 50'000);  // only another thread can help now
  }
  h.polls = 0;
  return CONSORT_OK;
}

consort_status wait_by_pumping(Hand &h, const Goal &goal, const Deadline &deadline) noexcept {
  if (goal.rt.virtual_time) return wait_by_events(h, goal, deadline);
  Runtime &rt = goal.rt;
  uint32_t fruitless = 0;
  while (!goal.reached()) {
    if (deadline.passed()) return CONSORT_E_TIMEOUT;
    PumpTurn turn(rt, h);
    const auto n = static_cast<uint32_t>(rt.workers.size());
    if (pump_one(rt, h, static_cast<uint32_t>(rt.clock.chance() % n))) {
      fruitless = 0;
      continue;
    }
    rt.clock.advance(1000);
    if (++fruitless < 16 * n) continue;
    fruitless = 0;
    turn.give_up();
    sleep_until(h, goal, Deadline(rt.clock, -1), 50'000);  // only another thread can help now
  }
  return CONSORT_OK;
}

// With a manual pump: chance picks, until it has found nothing often enough; then each worker in turn, for it may have
// missed one.
bool pump_for_records(Hand &h) noexcept {
  Runtime &rt = h.rt;
  const auto n = static_cast<uint32_t>(rt.workers.size());
  const auto at_work = [](const Queue *q) { return q->at_work(); };
  for (uint32_t fruitless = h.gave_way ? 4 * n : 0; !RecordWait::enough(h);) {
    PumpTurn turn(rt, h);
    charge_submissions(rt);
    if (fruitless < 4 * n && !rt.virtual_time) {
      fruitless = pump_one(rt, h, static_cast<uint32_t>(rt.clock.chance() % n)) ? 0 : fruitless + 1;
    } else if (pump_all(rt, h, CONSORT_NEVER)) {
      fruitless = 0;
    } else {
      const bool by_itself = rt.memory.busy() || std::any_of(rt.queues.begin(), rt.queues.end(), at_work);
      if (rt.virtual_time || !by_itself) return h.drain_returned() && h.nfree > h.floor;
      rt.clock.advance(1000);
      turn.give_up();
      h.parker.wait(20'000);  // a device is at work, which keeps to its own time
    }
    h.drain_returned();
  }
  return true;
}

}  // namespace consort
