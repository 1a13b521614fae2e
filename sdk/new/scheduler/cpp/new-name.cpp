// new-name: a scheduler. Tasks start in the order in which they became ready, on the first worker that can run them.
//
// One list under one lock. push comes from any thread, pop from the thread that holds the worker; neither allocates.
#include <consort/plugin/members.hpp>
#include <consort/plugin/scheduler.hpp>

#include <mutex>
#include <utility>

namespace {

using namespace consort::plugin;

class NewNameScheduler : public Scheduler {
 public:
  static constexpr const char *summary = "first come, first served", *license = "Apache-2.0";
  // Every task goes through pop(): without this flag a worker may run one that it has just released at once.
  static constexpr uint32_t scheduler_flags = CONSORT_SF_NO_BYPASS;

  // What the user may set; read once for each runtime, constant after.
  static constexpr Param<uint32_t> batch{"batch", "4", "1..64", "most tasks that a worker takes at a time"};
  static constexpr auto params = parameters(batch);
  struct Settings {
    explicit Settings(Host host) : most(host.value(batch)) {}
    uint32_t most;
  };

  NewNameScheduler(const Settings &settings, Host host, const consort_topology &topology, uint64_t epoch)
      : Scheduler(host), most_(settings.most), epoch_(epoch), members_(topology) {}

  void workers(const consort_topology &topology, Workers add, Workers del) {
    Members next = members_;          // changed here alone, by one call at a time
    next.change(topology, add, del);  // allocates: not under the lock
    const std::lock_guard guard(lock_);
    std::swap(members_, next);
  }

  uint32_t push(const consort_push &p) noexcept {
    const Visit visit(visitors_);
    const std::lock_guard guard(lock_);
    if (p.epoch != epoch_) return 0;  // drained meanwhile: the kernel gives them to the heir
    for (consort_task *t : std::span(p.ready, p.n)) {
      append(t);
      members_.announce(p.wake, t->where, p.from);
    }
    return p.n;
  }

  uint32_t pop(uint32_t worker, std::span<consort_pick> out) noexcept {
    const Visit visit(visitors_);
    const std::lock_guard guard(lock_);
    if (!members_.has(worker)) return 0;
    // No other worker starts what is taken here, so a worker takes its share of the waiting tasks.
    const uint64_t share = (waiting_ + members_.count() - 1) / members_.count();
    uint32_t n = 0;
    while (n < out.size() && n < most_ && n < share) {
      consort_task *t = take(members_.classes_of(worker));
      if (!t) break;
      out[n++] = {t, CONSORT_NONE, CONSORT_NONE};  // the kernel chooses the implementation; no team
    }
    return n;
  }

  uint32_t drain(uint64_t epoch, std::span<consort_task *> out) noexcept {
    const std::lock_guard guard(lock_);
    epoch_ = epoch;
    uint32_t n = 0;
    while (n < out.size() && first_) out[n++] = take(~uint64_t{0});
    return n;
  }

  consort_status quiesce(uint64_t deadline_ns) { return visitors_.wait(host(), deadline_ns); }

  // Cancelled: what waits here is handed back. Any task may be asked about, also one that never came here.
  uint32_t dropped(std::span<consort_task *const> tasks, consort_task **held) noexcept {
    const Visit visit(visitors_);
    const std::lock_guard guard(lock_);
    uint32_t n = 0;
    for (consort_task *t : tasks)
      if (remove(t)) held[n++] = t;
    return n;
  }

 private:
  // sched[0] of a task is ours while it waits: the next one.
  static consort_task *next(const consort_task *t) noexcept { return static_cast<consort_task *>(t->sched[0]); }

  void append(consort_task *t) noexcept {
    t->sched[0] = nullptr;
    if (first_)
      last_->sched[0] = t;
    else
      first_ = t;
    last_ = t;
    ++waiting_;
  }
  void unlink(consort_task *t, consort_task *before) noexcept {
    if (before)
      before->sched[0] = t->sched[0];
    else
      first_ = next(t);
    if (last_ == t) last_ = before;
    --waiting_;
  }
  // The earliest that one of these unit classes can run.
  consort_task *take(uint64_t classes) noexcept {
    for (consort_task *before = nullptr, *t = first_; t; before = t, t = next(t))
      if (t->where & classes) return unlink(t, before), t;
    return nullptr;
  }
  bool remove(const consort_task *task) noexcept {
    for (consort_task *before = nullptr, *t = first_; t; before = t, t = next(t))
      if (t == task) return unlink(t, before), true;
    return false;
  }

  const uint32_t most_;
  Visitors visitors_;
  SpinLock lock_;  // guards all below
  uint64_t epoch_;
  Members members_;
  consort_task *first_ = nullptr, *last_ = nullptr;
  uint64_t waiting_ = 0;
};

}  // namespace

// SWAPPABLE: another scheduler can take over while tasks run. VIRTUAL: no thread, no sleep, no clock of its own.
CONSORT_PLUGIN(new_name, SCHEDULER, CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL, "new-name", "0.1.0", NewNameScheduler);
