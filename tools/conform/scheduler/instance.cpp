#include "conform/scheduler/instance.hpp"

#include <unistd.h>

#include <cstring>

namespace conform {
namespace {

std::atomic<uint32_t> instances{0};

void *const kMark = reinterpret_cast<void *>(uintptr_t{0x5A5A5A50});

unsigned long long number_of(const consort_task *t) { return t->id; }

// Returns whether everything except sched[] is unchanged.
bool is_untouched(const consort_task &a, const consort_task &b) {
  constexpr size_t kBegin = offsetof(consort_task, id);
  return !std::memcmp(reinterpret_cast<const char *>(&a) + kBegin, reinterpret_cast<const char *>(&b) + kBegin,
                      sizeof a - kBegin);
}

}  // namespace

Tasks::Tasks(size_t n)
    : n_(n), tasks_(new consort_task[n]()), as_made_(new consort_task[n]()), where_(new std::atomic<uint32_t>[n]()),
      marked_(new char[n]()) {
  for (size_t i = 0; i < n; ++i) {
    tasks_[i].id = i;
    tasks_[i].where = 1;
    tasks_[i].team_min = tasks_[i].team_max = 1;
    tasks_[i].footprint = 1;
    as_made_[i] = tasks_[i];
  }
}

std::vector<consort_task *> Tasks::range(size_t begin, size_t end) {
  std::vector<consort_task *> out;
  for (size_t i = begin; i < end && i < n_; ++i) out.push_back(&tasks_[i]);
  return out;
}

size_t Tasks::count_in() const {
  size_t n = 0;
  for (size_t i = 0; i < n_; ++i) n += is_in(i);
  return n;
}

namespace {
// Few levels, so that many tasks share one; sometimes extreme values, and values that would overflow by one.
int32_t some_priority(Random &random) {
  if (!random.one_in(12)) return static_cast<int32_t>(random.below(9)) - 4;
  constexpr int32_t kFar[] = {INT32_MIN, INT32_MIN + 1, -(1 << 16), 1 << 16, INT32_MAX - 1, INT32_MAX};
  return kFar[random.below(std::size(kFar))];
}
}  // namespace

void Tasks::vary(Random &random, uint64_t classes, bool priorities) {
  constexpr size_t kData = 16;
  data_.resize(kData);
  for (size_t d = 0; d < kData; ++d) data_[d] = {d, 1 + random.below(1 << 16)};
  uses_.resize(2 * n_);
  for (size_t i = 0; i < n_; ++i) {
    consort_task &t = tasks_[i];
    t.where = classes > 1 ? 1 + random.below((uint64_t{1} << classes) - 1) : 1;
    t.codelet = static_cast<uint32_t>(random.below(3));
    t.footprint = random.below(4);
    t.priority = priorities && random.one_in(3) ? some_priority(random) : 0;
    t.naccess = static_cast<uint16_t>(random.below(3));
    for (uint32_t k = 0; k < t.naccess; ++k)
      uses_[2 * i + k] = {&data_[random.below(kData / 2) + k * kData / 2], random.one_in(2) ? CONSORT_M_R : CONSORT_M_RW, 0};
    t.access = t.naccess ? &uses_[2 * i] : nullptr;
    as_made_[i] = t;
  }
}

std::vector<uint32_t> all_of(const Machine &m) {
  std::vector<uint32_t> all(m.nworkers());
  for (uint32_t w = 0; w < all.size(); ++w) all[w] = w;
  return all;
}

Instance::Instance(Trial &t, Plugin &plugin, Machine &machine, Tasks &tasks, uint64_t epoch, const std::vector<uint32_t> *members)
    : t_(t), plugin_(plugin), machine_(machine), tasks_(tasks), ops_(plugin.ops<consort_scheduler_ops>()), epoch_(epoch),
      number_(++instances) {
  t_.need(ops_.create && ops_.destroy && ops_.workers && ops_.push && ops_.pop && ops_.drain, "functions are missing in the table");
  t_.doing("create");
  plugin.host().forget_failure();
  const consort_status made = ops_.create(plugin.self(), plugin.table(), machine.topology(), epoch, &s_);
  t_.need(made >= 0, "create failed: %s", plugin.host().failure().c_str());
  const consort_status told = workers(members ? *members : all_of(machine), {});
  t_.need(told >= 0, "workers failed: %s", plugin.host().failure().c_str());
}

Instance::~Instance() {
  t_.doing("destroy");
  ops_.destroy(s_);
}

consort_status Instance::workers(const std::vector<uint32_t> &add, const std::vector<uint32_t> &del) {
  t_.doing("workers: %zu more, %zu less", add.size(), del.size());
  const consort_status s = ops_.workers(s_, machine_.topology(), add.empty() ? nullptr : add.data(), static_cast<uint32_t>(add.size()),
                                        del.empty() ? nullptr : del.data(), static_cast<uint32_t>(del.size()));
  if (s < 0) return s;
  serves_.resize(std::max<size_t>(serves_.size(), machine_.nworkers()));
  for (const uint32_t w : add) serves_[w] = 1;
  for (const uint32_t w : del) serves_[w] = 0;
  if (machine_.forget_older()) t_.doing("a call after workers() has returned: since then an older topology cannot be read");
  return s;
}

consort_status Instance::quiesce(uint64_t deadline) {
  t_.doing("quiesce of the instance");
  return ops_.quiesce ? ops_.quiesce(s_, deadline) : CONSORT_OK;
}

void Instance::submitted(const std::vector<consort_task *> &tasks) {
  if (!ops_.submitted || tasks.empty()) return;
  const Inside inside(Tag::kAny, "submitted");
  ops_.submitted(s_, tasks.data(), static_cast<uint32_t>(tasks.size()));
}

bool Instance::push(uint32_t from, const std::vector<consort_task *> &tasks, Woken *woken, uint32_t flags) {
  return push_as(epoch_, from, tasks, woken, flags);
}

bool Instance::push_as(uint64_t epoch, uint32_t from, const std::vector<consort_task *> &tasks, Woken *woken, uint32_t flags) {
  constexpr uint64_t kGuard = 0xA5A5A5A5A5A5A5A5u;
  const uint32_t words = (machine_.nworkers() + 63) / 64;
  std::vector<uint64_t> bits(words + 1, 0);
  bits[words] = kGuard;
  consort_wake wake{words, 0, bits.data()};
  const consort_push p{epoch, from, flags, tasks.data(), static_cast<uint32_t>(tasks.size()), 0, &wake};
  for (consort_task *task : tasks) {
    look_at_mark(task);
    tasks_.marked_[task->id] = 0;
    tasks_.where_[task->id].store(number_, std::memory_order_relaxed);
  }
  const std::vector<consort_task *> given = tasks;
  uint32_t n;
  {
    const Inside inside(Tag::kAny, "push");
    n = ops_.push(s_, &p);
  }
  t_.check(given == tasks, "push changed the array of tasks that it was given");
  t_.check(bits[words] == kGuard, "push wrote behind the %u words of the wake set", words);
  for (uint32_t w = machine_.nworkers(); w < 64 * words; ++w)
    t_.check(!(bits[w / 64] >> w % 64 & 1), "push wants to wake worker %u; there are %u", w, machine_.nworkers());
  bits.pop_back();
  if (n == 0 && !tasks.empty())
    for (consort_task *task : tasks) tasks_.where_[task->id].store(Tasks::kOut, std::memory_order_relaxed);
  t_.check(n == 0 || n == tasks.size(), "push of %zu tasks answers %u; it takes all or, of another epoch, none", tasks.size(), n);
  if (woken) *woken = {std::move(bits), wake.k};
  return n != 0;
}

bool Instance::is_mine(const consort_task *t) const {
  const consort_task *first = tasks_.tasks_.get();
  return t >= first && t < first + tasks_.n_;
}

bool Instance::came_out(consort_task *task, const char *by) {
  if (!task || !is_mine(task)) {
    t_.check(false, "%s answers %p, which is no task that was ever pushed", by, static_cast<void *>(task));
    return false;
  }
  const uint32_t before = tasks_.where_[task->id].exchange(Tasks::kOut, std::memory_order_relaxed);
  if (before == Tasks::kOut) t_.check(false, "task %llu came out again, by %s, without having been pushed again", number_of(task), by);
  else t_.check(before == number_, "task %llu came out of another instance than it was pushed to, by %s", number_of(task), by);
  t_.check(is_untouched(*task, tasks_.as_made_[task->id]),
           "something of task %llu other than sched[] was written while it was queued", number_of(task));
  task->sched[0] = task->sched[1] = kMark;
  tasks_.marked_[task->id] = 1;
  return before == number_;
}

void Instance::look_at_mark(const consort_task *task) {
  t_.check(!tasks_.marked_[task->id] || (task->sched[0] == kMark && task->sched[1] == kMark),
           "sched[] of task %llu was written after it had come out", number_of(task));
}

uint32_t Instance::pop(uint32_t worker, consort_task **out, uint32_t max) {
  constexpr uint32_t kMost = 64;
  consort_pick picks[kMost + 1];
  consort_task *const guard = reinterpret_cast<consort_task *>(uintptr_t{0x5A5A5A58});
  if (max > kMost) max = kMost;
  picks[max] = {guard, 1, 2};
  uint32_t n;
  {
    const Inside inside(Tag::kWorker, "pop");
    n = ops_.pop(s_, worker, picks, max);
  }
  t_.check(picks[max].task == guard && picks[max].impl == 1 && picks[max].team == 2, "pop wrote behind the %u picks that it was given",
           max);
  if (!t_.check(n <= max, "pop answers %u where at most %u were asked for", n, max)) n = max;
  uint32_t good = 0;
  for (uint32_t i = 0; i < n; ++i) {
    consort_task *task = picks[i].task;
    if (!came_out(task, "pop")) continue;
    t_.check(machine_.suits(worker, task->where), "task %llu (where 0x%llx) was given to worker %u, which is of class %u",
             number_of(task), static_cast<unsigned long long>(task->where), worker, machine_.classes()[worker]);
    t_.check(serves(worker), "worker %u, which is not served any more, was given task %llu", worker, number_of(task));
    t_.check(picks[i].impl == CONSORT_NONE || picks[i].impl == 0, "task %llu was given with implementation %u; it has one, number 0",
             number_of(task), picks[i].impl);
    t_.check(picks[i].team == CONSORT_NONE, "task %llu, which is no team's, was given to team %u", number_of(task), picks[i].team);
    out[good++] = task;
  }
  if (then == Then::kParks || then == Then::kFails) return good;
  if (good && ops_.started) {
    const Inside inside(Tag::kWorker, "started");
    ops_.started(s_, worker, out, good);
  }
  for (uint32_t i = 0; good && ops_.finished && i < good; ++i) {
    const Inside inside(Tag::kWorker, "finished");
    const uint64_t now = plugin_.host().now();
    const uint64_t took = then == Then::kWaits ? 0 : Machine::run_ns(*out[i], machine_.classes()[worker]);
    const consort_done done{out[i]->id, CONSORT_OK, 0, now, now + took, 0, 0};
    ops_.finished(s_, worker, &done, 1);
  }
  return good;
}

consort_task *Instance::pop(uint32_t worker) {
  consort_task *task = nullptr;
  return pop(worker, &task, 1) ? task : nullptr;
}

std::vector<consort_task *> Instance::drain(uint64_t epoch, uint32_t at_once) {
  t_.doing("drain");
  std::vector<consort_task *> all, some(at_once + 1);
  consort_task *const guard = reinterpret_cast<consort_task *>(uintptr_t{0x5A5A5A58});
  for (size_t given = 0; given <= tasks_.size();) {  // there are no more: a cyclic list is reported below
    some[at_once] = guard;
    uint32_t n;
    {
      const Inside inside(Tag::kControl, "drain");
      n = ops_.drain(s_, epoch, some.data(), at_once);
    }
    t_.check(some[at_once] == guard, "drain wrote behind the %u places that it was given", at_once);
    if (!t_.check(n <= at_once, "drain answers %u where at most %u were asked for", n, at_once)) n = at_once;
    if (n == 0) break;
    given += n;
    for (uint32_t i = 0; i < n; ++i)
      if (came_out(some[i], "drain")) all.push_back(some[i]);
  }
  epoch_ = epoch;
  return all;
}

std::vector<consort_task *> Instance::drop(const std::vector<consort_task *> &tasks) {
  std::vector<consort_task *> held(tasks.size() + 1, nullptr);
  uint32_t n;
  {
    const Inside inside(Tag::kAny, "dropped");
    n = ops_.dropped(s_, tasks.data(), static_cast<uint32_t>(tasks.size()), held.data());
  }
  if (!t_.check(n <= tasks.size(), "dropped hands back %u of %zu tasks", n, tasks.size())) n = static_cast<uint32_t>(tasks.size());
  held.resize(n);
  for (consort_task *task : held) came_out(task, "dropped");
  for (const consort_task *task : tasks)
    if (!tasks_.is_in(task->id)) look_at_mark(task);
  return held;
}

size_t Instance::pop_all() { return pop_all(all_of(machine_)); }

size_t Instance::pop_all(const std::vector<uint32_t> &workers) {
  size_t all = 0;
  uint64_t at = plugin_.host().now();
  for (int idle = 0; idle < 8;) {
    bool any = false;
    for (const uint32_t w : workers)
      while (pop(w)) any = true, ++all;
    if (t_.failed() && all > 2 * tasks_.size()) break;
    idle = any ? 0 : idle + 1;
    if (any) continue;
    if (ops_.flush) {
      const Inside inside(Tag::kAny, "flush");
      ops_.flush(s_);
    }
    const uint64_t next = ops_.next_event ? ops_.next_event(s_) : CONSORT_NEVER;
    at = std::max(at + 1'000'000, next == CONSORT_NEVER ? 0 : next);
    if (plugin_.host().is_virtual()) plugin_.host().set_virtual(at);
    else if (next != CONSORT_NEVER) usleep(1000);
  }
  return all;
}

}  // namespace conform
