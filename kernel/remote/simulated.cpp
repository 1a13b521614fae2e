// simulated.cpp — virtual time: the ranks of a simulated job share one clock, and go on one at a time.
//
// The thread that pumps asks the transport how far this rank may go. A deadlock of the job is found there: no rank can go
// on by itself, and no message is on its way.
#include <consort/distributed.h>

#include <algorithm>

#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {

uint64_t Job::advance(uint64_t until) noexcept {
  const uint64_t then = connection_->advance(until);  // without the lock: other ranks go on meanwhile
  if (then != CONSORT_NEVER) return std::max(then, rt_.clock.now());
  return fail_what_waits() ? rt_.clock.now() : CONSORT_NEVER;
}

// The job hangs. Ends what waits here for another rank, so that a wait returns with a reason. Returns whether there was
// anything. Offers are left alone as long as a receive waits: another rank may still take them.
bool Job::fail_what_waits() noexcept try {
  const std::lock_guard guard(mutex_);
  std::vector<Message *> receives, sends;
  for (const auto &[id, m] : messages_)
    if (m->state == Message::State::kWaiting && m->status >= 0) (m->kind == Message::Kind::kSend ? sends : receives).push_back(m.get());
  std::vector<Message *> &stuck = receives.empty() ? sends : receives;
  std::sort(stuck.begin(), stuck.end(), [](const Message *a, const Message *b) { return a->id < b->id; });
  for (Message *m : stuck) {
    const std::string what = "no rank of the job can go on, and no message is on its way: ";
    if (m->kind == Message::Kind::kBarrier) {
      fail_barrier(*m, what + "not all ranks have called the barrier");
      continue;
    }
    if (m->kind == Message::Kind::kReceive) matching_.forget(m->key);
    fail_at_end(*m, CONSORT_E_TIMEOUT,
                what + (m->kind == Message::Kind::kReceive ? "nothing comes from rank " : "nothing is received by rank ") +
                    std::to_string(m->key.peer) + ", tag " + std::to_string(m->key.tag));
  }
  if (stuck.empty() && !std::exchange(said_stuck_, true)) rt_.log(kLogError, "no rank of the job can go on, and no message is on its way; rank " + std::to_string(rank()) +
                                            " waits for something else than a message");
  return !stuck.empty();
} catch (const std::bad_alloc &) {
  return false;
}

// All that was sent arrives, and the others learn of the end by their transport: of 1,024 ranks, kBye would be a million
// messages.
void Job::leave_simulated() noexcept {
  do {
    const std::lock_guard guard(mutex_);
    is_leaving_ = true;
    connection_->flush();
    if (connection_->is_idle()) return;
  } while (pass_time());
}

// While it leaves: lets the others go on until the last messages are taken. False: nothing comes any more.
bool Job::pass_time() noexcept {
  const uint64_t then = connection_->advance(CONSORT_NEVER);
  if (then == CONSORT_NEVER) return false;
  rt_.clock.advance_to(then);
  const std::lock_guard guard(mutex_);
  try {
    connection_->step();
  } catch (const std::bad_alloc &) {
    return false;
  }
  return true;
}

}  // namespace consort
