#include "task/group.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/last_error.hpp"
#include "task/callback.hpp"
#include "task/core.hpp"
#include "task/idle_stepper.hpp"

namespace consort {

Groups::Groups(Core &rt) : rt_(rt) {
  (void)create(nullptr);  // the default group, number 0
}

Groups::~Groups() {
  for (auto &block : blocks_) {
    Group *groups = block.load(std::memory_order_relaxed);
    if (!groups) continue;
    for (uint32_t i = 0; i < kBlock; ++i)
      if (groups[i].fd >= 0) close(groups[i].fd);
    delete[] groups;
  }
}

Result<Group *> Groups::create(const consort_group_desc *desc) {
  std::lock_guard lock(mutex_);
  uint32_t number;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else {
    number = n_.load(std::memory_order_relaxed);
    if (number == kBlock * kBlocks) return error(CONSORT_E_NOMEM, "65536 groups are alive: destroy some");
    if (number % kBlock == 0) {
      Group *groups = new (std::nothrow) Group[kBlock];
      if (!groups) return error(CONSORT_E_NOMEM, "no memory for another group");
      for (uint32_t i = 0; i < kBlock; ++i) groups[i].number = number + i;
      blocks_[number / kBlock].store(groups, std::memory_order_release);
    }
    free_.reserve(number + 1);  // so that destroy() allocates nothing
    n_.store(number + 1, std::memory_order_release);
  }
  Group *g = at(number);
  std::lock_guard inner(g->mutex);
  g->name = desc && desc->name ? desc->name : number ? "group#" + std::to_string(number) : "default";
  g->done = desc ? desc->done : nullptr;
  g->done_arg = desc ? desc->done_arg : nullptr;
  g->reports.store(g->done, std::memory_order_relaxed);
  ThreadState *thread = rt_.this_thread_if_any();
  Group *const parent = thread && thread->task ? thread->task->group : nullptr;
  g->parent.store(parent, std::memory_order_relaxed);
  if (parent) ++parent->children;
  if (g->done && rt_.virtual_time) rt_.idle_stepper->begin();
  if (busy(*g, &g->told)) g->told = submitted(*g);  // counts that its earlier use left in the thread states
  return g;
}

Group *Groups::find(consort_group_id id) const noexcept {
  if (!id.v) return &standard();
  const auto number = static_cast<uint32_t>(id.v);
  if (!live(number)) return nullptr;
  Group *g = at(number);
  return g->generation.load(std::memory_order_acquire) == id.v >> 32 ? g : nullptr;
}

Result<void> Groups::destroy(Group &g) {
  if (g.number == 0)
    return error(CONSORT_E_INVAL, "the default group lives as long as the runtime: it is not destroyed");
  if (busy(g)) return error(CONSORT_E_BUSY, "group '" + g.name + "' has tasks pending: wait for it first");
  // The caller may free the argument of `done`, so no thread may be inside it.
  for (const ThreadState *thread = rt_.this_thread_if_any();; std::this_thread::yield()) {
    std::lock_guard inner(g.mutex);
    if (!g.calling) break;
    if (thread && thread->in_callback)
      return error(CONSORT_E_BUSY, "group '" + g.name + "' is inside its callback: destroy it from elsewhere");
  }
  std::lock_guard lock(mutex_);
  std::lock_guard inner(g.mutex);
  g.generation.fetch_add(1, std::memory_order_release);
  g.done = nullptr;
  g.reports.store(false, std::memory_order_relaxed);  // `watchers` stays: each thread that waits withdraws itself
  Group *const parent = g.parent.exchange(nullptr, std::memory_order_relaxed);
  if (parent) --parent->children;
  for (uint32_t i = 0; g.children; ++i) {  // children that outlive it
    Group &child = *at(i);
    if (child.parent.load(std::memory_order_relaxed) != &g) continue;
    child.parent.store(parent, std::memory_order_relaxed);
    --g.children;
    if (parent) ++parent->children;
  }
  g.first = g.collected = nullptr;
  g.nfailed = g.ncollected = 0;
  g.batch = nullptr;  // failures that no wait has collected stay in the log for consort_stop()
  if (g.fd >= 0) close(g.fd);
  g.fd = -1;
  free_.push_back(g.number);
  fence::light(rt_.asymmetric);  // pairs with the heavy fence of WaitCondition::announce()
  rt_.waiters.wake(&g);          // its record may be busy again before a thread that waits has looked
  return {};
}

Result<int> Groups::fd(Group &g) {
  int fd;
  {
    std::lock_guard lock(g.mutex);
    if (g.fd < 0) {
      g.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      if (g.fd < 0)
        return error(CONSORT_E_IO, std::string("no eventfd for group '") + g.name + "': " + std::strerror(errno));
      g.told_fd = ~uint64_t{0};  // differs from any count, so the next one is reported
      g.reports.store(true, std::memory_order_relaxed);
    }
    fd = g.fd;
  }
  if (rt_.virtual_time) rt_.idle_stepper->begin();
  fence::heavy();  // from here on a finishing thread state sees the watcher, or its count is seen here
  tell_if_idle(g);
  return fd;
}

// Each thread's turn first, then the moved counts: a moving count is seen at least once.
uint64_t Groups::submitted(const Group &g) const noexcept {
  uint64_t sum = 0;
  rt_.for_each_thread([&](const ThreadState &thread) {
    const uint64_t turn = thread.in.turn.load(std::memory_order_acquire);
    if (turn >> Tally::kGroupShift == g.number) sum += turn & Tally::kCount;
  });
  return sum + g.in.load(std::memory_order_acquire);
}

bool Groups::idle(const Group &g, uint64_t *count) const noexcept {
  uint64_t finished = g.out.load(std::memory_order_acquire);  // read first: a moving count is seen at most once
  rt_.for_each_thread([&](const ThreadState &thread) {
    const uint64_t turn = thread.out.turn.load(std::memory_order_acquire);
    if (turn >> Tally::kGroupShift == g.number) finished += turn & Tally::kCount;
  });
  if (finished != submitted(g)) return false;
  if (count) *count = finished;  // exact: one sum is never too large, the other never too small
  return true;
}

// A moving count hides that a group is idle. The answer is reliable if no count moved during the check. A group from
// which counts move all the time counts as busy.
bool Groups::busy(const Group &g, uint64_t *count) const noexcept {
  constexpr uint32_t kLooks = 1000;
  for (uint32_t look = 0; look < kLooks; ++look) {
    const uint32_t arrived = g.arrived.load(std::memory_order_acquire);  // pairs with arrive()
    if (idle(g, count)) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    // pairs with depart(), through the counts just read
    if (g.departed.load(std::memory_order_relaxed) == arrived) return true;
    std::this_thread::yield();
  }
  return true;
}

bool Groups::all_idle() const noexcept {
  const uint64_t finished = rt_.finished();  // first, as above
  return finished == rt_.submitted();
}

void Groups::tell_if_idle(Group &g) noexcept {
  if (!g.watched()) return;
  // Two threads may finish the group's last two tasks concurrently. This fence pairs with itself in the other thread,
  // and at least one of them sees both counts.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // the reliable check: no other thread would wake the watchers for a count that moves to another group
  if (busy(g)) return;
  rt_.waiters.wake(&g);
  void (*done)(void *, consort_group_id) = nullptr;
  void *arg = nullptr;
  {
    std::lock_guard lock(g.mutex);
    uint64_t now;
    if (busy(g, &now)) return;
    if (g.fd >= 0 && g.told_fd != now) {
      g.told_fd = now;
      const uint64_t one = 1;
      (void)!write(g.fd, &one, sizeof one);
    }
    if (g.done && g.told != now) {
      g.told = now;
      done = g.done;
      arg = g.done_arg;
      ++g.calling;
    }
  }
  if (!done) return;
  ThreadState *thread = rt_.this_thread_if_any();
  if (thread) in_callback(*thread, nullptr, [&] { done(arg, g.id()); });
  else done(arg, g.id());
  std::lock_guard lock(g.mutex);
  --g.calling;
}

void Groups::fail(Group &g, std::shared_ptr<const Failure> f) noexcept {
  std::lock_guard lock(g.mutex);
  ++g.nfailed;
  if (!g.batch) try {
      g.batch = std::make_shared<std::atomic<bool>>(false);
    } catch (const std::bad_alloc &) {
    }
  if (f->task) f->collected = g.batch;  // a record that stands for several tasks belongs to no group
  if (!g.first) g.first = std::move(f);
}

consort_status Groups::collect(Group &g, uint32_t generation, bool keep) {
  std::shared_ptr<const Failure> f;
  {
    std::lock_guard lock(g.mutex);
    if (!g.is_of(generation)) return set_error(CONSORT_E_STALE, "the group was destroyed while it was waited for");
    if (keep) {
      f = g.first;
      return f ? set_error(f->status, f->chain()) : CONSORT_OK;
    }
    g.collected = f = std::move(g.first);
    g.first = nullptr;
    g.ncollected = g.nfailed;
    g.nfailed = 0;
    if (g.batch) g.batch->store(true, std::memory_order_relaxed);  // read only at the stop
    g.batch = nullptr;
  }
  if (!f) return CONSORT_OK;
  f->tell();
  return set_error(f->status, f->chain());
}

consort_status Groups::collect_all(bool keep) {
  std::shared_ptr<const Failure> first;
  const uint32_t n = n_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; ++i) {
    Group &g = *at(i);
    if (collect(g, g.generation.load(std::memory_order_relaxed), keep) >= 0 || first) continue;
    std::lock_guard lock(g.mutex);
    first = keep ? g.first : g.collected;
  }
  return first ? set_error(first->status, first->chain()) : CONSORT_OK;
}

void turn_in(ThreadState &thread, Group &g) noexcept {
  const uint64_t turn = thread.in.turn.load(std::memory_order_relaxed), n = turn & Tally::kCount;
  Group &old = *thread.rt.groups.at(static_cast<uint32_t>(turn >> Tally::kGroupShift));
  old.depart();
  old.in.fetch_add(n, std::memory_order_release);
  thread.in.before.fetch_add(n, std::memory_order_release);
  thread.in.turn.store(uint64_t{g.number} << Tally::kGroupShift, std::memory_order_release);
  old.arrive();
}

void turn_out(Core &rt, ThreadState &thread, Group &g) noexcept {
  const uint64_t turn = thread.out.turn.load(std::memory_order_relaxed), n = turn & Tally::kCount;
  Group &old = *rt.groups.at(static_cast<uint32_t>(turn >> Tally::kGroupShift));
  old.depart();
  thread.out.turn.store(uint64_t{g.number} << Tally::kGroupShift, std::memory_order_release);
  thread.out.before.fetch_add(n, std::memory_order_release);
  old.out.fetch_add(n, std::memory_order_release);
  old.arrive();
  fence::light(rt.asymmetric);
  rt.groups.tell_if_idle(old);
}

}  // namespace consort
