#include "exec/gang.hpp"

#include <pthread.h>

#include <cstring>
#include <thread>

#include "base/last_error.hpp"
#include "exec/execution.hpp"
#include "exec/prepare.hpp"
#include "exec/watched_body.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "model/models.hpp"
#include "task/eligibility.hpp"
#include "task/run_observer.hpp"
#include "task/trace_categories.hpp"

namespace consort {

// A reusable barrier of all members. An arriving member stores that, then checks whether a member has left. A leaving
// member stores that, then checks whether one has arrived. All four are seq_cst, so one of the two sees the other.
class Barrier {
 public:
  enum class Met { kAll, kBroken, kMemberLeft };
  void reset() noexcept {
    arrived_.store(0, std::memory_order_relaxed);
    gone_.store(0, std::memory_order_relaxed);
    turn_.store(0, std::memory_order_relaxed);
  }
  Met wait(uint32_t all) noexcept {
    const uint32_t turn = turn_.load(std::memory_order_acquire);
    if (turn & kBroken) return Met::kBroken;
    if (arrived_.fetch_add(1, std::memory_order_seq_cst) + 1 == all) {
      arrived_.store(0, std::memory_order_relaxed);  // published by turn_
      // release: stores of all members; pairs with the acquire of the waiting ones. The barrier may have been broken
      // meanwhile.
      turn_.fetch_add(kTurn, std::memory_order_acq_rel);
      turn_.notify_all();
      return Met::kAll;
    }
    if (gone_.load(std::memory_order_seq_cst)) {
      break_up();
      return Met::kMemberLeft;
    }
    uint32_t now = turn_.load(std::memory_order_acquire);
    for (uint32_t i = 0; now == turn && i < 2000; ++i, now = turn_.load(std::memory_order_acquire)) pause();
    for (; now == turn; now = turn_.load(std::memory_order_acquire)) turn_.wait(turn, std::memory_order_acquire);
    return (now & ~kBroken) != (turn & ~kBroken) ? Met::kAll : Met::kBroken;
  }
  void break_up() noexcept {
    turn_.fetch_or(kBroken, std::memory_order_acq_rel);
    turn_.notify_all();
  }
  // Its function has returned. Returns true if other members wait.
  bool leave() noexcept {
    gone_.fetch_add(1, std::memory_order_seq_cst);
    return arrived_.load(std::memory_order_seq_cst) > 0;
  }

 private:
  static constexpr uint32_t kBroken = 1, kTurn = 2;
  std::atomic<uint32_t> arrived_{0}, gone_{0}, turn_{0};  // seq_cst, see above; turn_ releases earlier stores
};

struct Gang {
  explicit Gang(const Executor &w) : frame(w) {}
  Frame frame;
  Task *task = nullptr;
  TaskName name = 0;
  const Team *team = nullptr;
  bool spmd = false;
  bool threads = false;                // SPMD with a manual pump: the leader's step runs all members, each on a thread
  bool doomed = false;                 // its task ends without a body; the failure is recorded
  uint32_t joined = 0;                 // under Gangs' mutex
  uint32_t others = 0;                 // members for which the leader waits
  // Set when all members have joined: the release in start() publishes the prepared call, and pairs with the acquire of
  // members with a part.
  std::atomic<bool> running{false};
  bool led = false;                    // the leader's own part has ended; used by the leader
  std::atomic<uint32_t> left{0};  // of the others; the release publishes `said` and their stores, which the leader acquires
  std::atomic<consort_status> status{CONSORT_OK};  // of the first to fail: acq_rel, it writes the next two; `left` acquires
  std::string said;
  uint32_t blamed = CONSORT_NONE;
  Barrier barrier;
  bool bound = false;                  // the leader's thread is bound to the team's cores; previous affinity:
  cpu_set_t before;
  bool told = false;
  bool traced = false;                 // in the trace, too
  Models::Run run;
  ReportedInstance watcher;
  uint64_t t0 = 0;
  Gang *next = nullptr;                // in the free list

  void fail(consort_status s, const char *text, uint32_t worker) noexcept {
    consort_status none = CONSORT_OK;
    if (!status.compare_exchange_strong(none, s, std::memory_order_acq_rel)) return;
    blamed = worker;
    try {
      said = text;
    } catch (const std::bad_alloc &) {  // out of memory: no text
    }
  }
};

namespace {

// The argument of a team's function; the gang is found through it.
struct TeamCall {
  consort_call call;
  Gang *gang;
};

Gang &gang_of(const consort_call *call) noexcept { return *reinterpret_cast<const TeamCall *>(call)->gang; }

consort_status no_barrier(const consort_call *) { return CONSORT_OK; }

consort_status meet(const consort_call *call) {
  Gang &g = gang_of(call);
  switch (g.barrier.wait(call->team)) {
    case Barrier::Met::kAll: return CONSORT_OK;
    case Barrier::Met::kMemberLeft:
      g.fail(CONSORT_E_INVAL, "a member of the team waits at a barrier that another has left, whose function has returned: "
             "all members call barrier() equally often", call->worker);
      break;
    case Barrier::Met::kBroken: break;
  }
  return set_error(CONSORT_E_CANCELLED, "another member of the team has failed, or has left: this one returns, too");
}

void leave_barrier(Gang &g, consort_status own, uint32_t worker) noexcept {
  const bool awaited = g.barrier.leave();
  if (awaited && own >= 0)
    g.fail(CONSORT_E_INVAL, "a member of the team was through while others wait at a barrier: all members call barrier() "
           "equally often", worker);
  if (awaited || own < 0) g.barrier.break_up();
}

void give_cores_back(Gang &g) noexcept {
  if (g.bound) pthread_setaffinity_np(pthread_self(), sizeof g.before, &g.before);
  g.bound = false;
}

}  // namespace

bool bind_this_thread(const uint64_t *cpuset, uint32_t words, void *before) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t i = 0; i < words * 64 && i < CPU_SETSIZE; ++i)
    if (cpuset[i / 64] >> (i % 64) & 1) CPU_SET(i, &set);
  const pthread_t self = pthread_self();
  if (before && pthread_getaffinity_np(self, sizeof(cpu_set_t), static_cast<cpu_set_t *>(before)) != 0) return false;
  return pthread_setaffinity_np(self, sizeof set, &set) == 0;
}

Gangs::Gangs(Execution &rt) : rt_(rt) {}
Gangs::~Gangs() = default;

void Gangs::open(bool one_at_a_time) {
  bind_ = rt_.config->flag("bind");
  const auto &teams = rt_.topology->teams();
  if (one_at_a_time && !teams.empty()) rt_.only_worker = teams.front().members.front();
  forming_.reserve(2 * rt_.executors.size());  // upper bound of gangs at a time: see take()
}

// -- coming together ---------------------------------------------------------------------------------------------

// Each gang in use has a member of its own: the worker that formed it, until it joins it (and it forms no other
// before), or a member with a part in it. So there are at most two for each worker.
Gang *Gangs::take(Executor &w) noexcept try {
  std::lock_guard lock(mutex_);
  if (Gang *g = free_) {
    free_ = g->next;
    return g;
  }
  if (forming_.capacity() <= all_.size()) return nullptr;
  all_.push_back(std::make_unique<Gang>(w));
  return all_.back().get();
} catch (const std::bad_alloc &) {
  return nullptr;
}

void Gangs::put(Gang *g) noexcept {
  std::lock_guard lock(mutex_);
  g->next = free_;
  free_ = g;
}

Gangs::Formed Gangs::form(Executor &w, ThreadState &thread, Task *t, uint32_t impl, const Team &team) noexcept {
  const Codelet *c = t->codelet;
  if (!c || !t->extra || !may_run(t->pub, team) || team.rank(w.id) == CONSORT_NONE)
    return Formed::kAlone;
  Gang *const g = take(w);
  if (!g) return Formed::kAlone;
  Executor &leader = *rt_.executors[team.members.front()];
  consort_call &call = g->frame.call;
  t->extra->team = team.id;  // if its data must be fetched first, it returns for the same team
  if (!thread.out.counts_for(t->group->number)) turn_out(rt_, thread, *t->group);
  const consort_status s = prepare(rt_, leader, g->frame, t, impl);
  if (s > 0) return put(g), Formed::kGone;  // the task now belongs to another thread
  if (s < 0) {
    put(g);
    w.ran.store(w.ran.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    complete(rt_, thread, t, s, nullptr);
    return Formed::kGone;
  }
  g->task = t;
  g->name = t->pub.id;
  g->team = &team;
  g->spmd = c->flags & CONSORT_CL_SPMD;
  g->threads = g->spmd && (rt_.manual || leader.queue);
  g->doomed = g->led = g->bound = g->told = false;
  g->joined = 0;
  g->others = g->spmd && !g->threads ? team.size() - 1 : 0;
  g->running.store(false, std::memory_order_relaxed);
  g->left.store(0, std::memory_order_relaxed);
  g->status.store(CONSORT_OK, std::memory_order_relaxed);
  g->said.clear();
  g->barrier.reset();
  if (rt_.models->in_use()) rt_.models->settle_impl(leader, g->frame, *t);
  g->frame.picked = true;  // the implementation is fixed once members run it
  call.flags = g->spmd ? CONSORT_CALL_SPMD : 0;
  call.worker = leader.id;
  call.unit = leader.unit.desc.id;
  call.rank = 0;
  call.team = team.size();
  call.team_id = team.id;
  call.cpuset = bind_ && !team.cpuset.empty() ? team.cpuset.data() : nullptr;
  call.cpuset_words = call.cpuset ? static_cast<uint32_t>(team.cpuset.size()) : 0;
  call.barrier = g->spmd ? meet : no_barrier;
  {
    std::lock_guard lock(mutex_);
    forming_.push_back(g);  // capacity is reserved
    for (const uint32_t m : team.members) {
      Executor &member = *rt_.executors[m];
      if (member.joined == g) member.joined = nullptr;  // the record was reused; that gang has ended
      member.called.fetch_add(1, std::memory_order_release);
    }
  }
  for (const uint32_t m : team.members)  // the gang may have ended by now, but a team's list is constant
    if (m != w.id) rt_.executors[m]->rouse();
  return Formed::kFormed;
}

Gang *Gangs::join(Executor &w, bool *last) noexcept {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < forming_.size(); ++i) {
    Gang &g = *forming_[i];
    const uint32_t rank = g.team->rank(w.id);
    if (rank == CONSORT_NONE) continue;
    if (rank == 0 || (g.spmd && !g.threads)) {
      w.part = &g;
      w.part_rank = rank;
    } else {
      w.lent.store(true, std::memory_order_relaxed);  // accessed by the token holder alone until the body has begun
    }
    w.joined = &g;
    *last = ++g.joined == g.team->size();
    if (*last) forming_.erase(forming_.begin() + static_cast<ptrdiff_t>(i));
    return &g;
  }
  return nullptr;
}

// Called by the last member to join. After the store below, only members with a part access the gang.
void Gangs::start(Gang &g) noexcept {
  const Team &team = *g.team;
  const bool all = g.others > 0;
  if (const consort_status s = fail_if_doomed(rt_, g.task); s < 0) {
    g.doomed = true;
    g.status.store(s, std::memory_order_relaxed);
  }
  g.running.store(true, std::memory_order_release);
  for (uint32_t i = 0; i < (all ? team.size() : 1); ++i) rt_.executors[team.members[i]]->rouse();
}

Gangs::Turn Gangs::turn(Executor &w, ThreadState &thread, Frame &f) noexcept {
  if (Gang *g = w.part) {
    if (w.part_rank != 0 || !g->led) {
      if (!g->running.load(std::memory_order_acquire)) return Turn::kIdle;  // pairs with start()
      run_part(w, thread, *g);
      if (w.part != g || (g->others && g->left.load(std::memory_order_relaxed) < g->others)) return Turn::kDid;
    }
    if (g->left.load(std::memory_order_acquire) < g->others) return Turn::kIdle;  // pairs with end_part()
    thread.chain = {0, rt_.bypass, 0};
    if (Task *next = finish(w, thread, *g)) w.run(thread, f, next, CONSORT_NONE);
    return Turn::kDid;
  }
  if (w.lent.load(std::memory_order_acquire)) return Turn::kIdle;  // pairs with finish()
  bool last = false;
  Gang *g = join(w, &last);
  if (!g) return Turn::kNone;  // released just now, and still counted in `called`
  if (last) start(*g);
  return Turn::kDid;
}

Gangs::Turn Gangs::turn(Executor &w, ThreadState &thread, Gang **due) noexcept {
  if (Gang *g = w.part) {
    if (!g->running.load(std::memory_order_acquire)) return Turn::kIdle;  // pairs with start()
    if (!thread.out.counts_for(g->task->group->number)) turn_out(rt_, thread, *g->task->group);
    if (g->doomed) finish(w, thread, *g);
    else *due = g;
    return Turn::kDid;
  }
  if (w.lent.load(std::memory_order_acquire)) return Turn::kIdle;  // pairs with finish()
  bool last = false;
  Gang *g = join(w, &last);
  if (!g) return Turn::kNone;
  if (last) start(*g);
  return Turn::kDid;
}

Frame &Gangs::frame_of(Gang &g) noexcept { return g.frame; }
Task *Gangs::task_of(const Gang &g) noexcept { return g.task; }
void Gangs::begin(Executor &w, ThreadState &, Gang &g) noexcept { begin_told(w, g); }

void Gangs::end(Executor &w, ThreadState &thread, Gang &g, consort_status s, const char *text) noexcept {
  if (s < 0) g.fail(s, text, w.id);
  finish(w, thread, g);
}

consort_status Gangs::call(Gang &g) noexcept {
  if (g.threads) return run_threads(g);
  TeamCall own{g.frame.call, &g};
  return run_body(rt_, *rt_.executors[own.call.worker], *g.task, g.frame.fn, &own.call);
}

// -- the body ----------------------------------------------------------------------------------------------------

void Gangs::run_part(Executor &w, ThreadState &thread, Gang &g) noexcept {
  Task *const t = g.task;
  const uint32_t rank = w.part_rank;
  if (!thread.out.counts_for(t->group->number)) turn_out(rt_, thread, *t->group);  // before a body that may take long
  if (rank == 0) begin_told(w, g);
  consort_status s = CONSORT_OK;
  if (!g.doomed) {
    TeamCall own{g.frame.call, &g};
    own.call.rank = rank;
    own.call.worker = w.id;
    own.call.unit = w.unit.desc.id;
    Task *const outer = std::exchange(thread.task, t);
    const bool timed = rank && rt_.traces(traced::kTasks);
    const uint64_t t0 = timed ? rt_.clock.now() : 0;
    if (g.threads) {
      s = run_threads(g);
    } else {
      const bool binds = !g.spmd && own.call.cpuset;
      if (binds) g.bound = bind_this_thread(own.call.cpuset, own.call.cpuset_words, &g.before);
      s = run_body(rt_, w, *t, g.frame.fn, &own.call, g.spmd);
      if (binds) give_cores_back(g);
    }
    thread.task = outer;
    if (s < 0) g.fail(s, error_text(), w.id);
    if (timed) rt_.run_observer->ran(w.id, *t, g.name, g.frame.call.impl, -1, t0, rt_.clock.now(), s, Stamps::kNs);
  }
  if (g.spmd && !g.threads) leave_barrier(g, s, w.id);
  end_part(w, g);
}

void Gangs::end_part(Executor &w, Gang &g) noexcept {
  if (w.part_rank == 0) {
    g.led = true;
    return;
  }
  Executor &leader = *rt_.executors[g.team->members.front()];
  const uint32_t others = g.others;
  w.part = nullptr;
  w.called.fetch_sub(1, std::memory_order_release);
  // release: this member's stores; afterwards the gang may end and be reused
  if (g.left.fetch_add(1, std::memory_order_acq_rel) + 1 == others) leader.rouse();
}

// With a manual pump there is one thread, and members may wait for one another. Each gets a thread of its own for the
// duration of the body.
consort_status Gangs::run_threads(Gang &g) noexcept {
  std::vector<std::thread> threads;
  std::atomic<uint32_t> go{0};  // release below pairs with the acquire in body: the threads see the prepared frame
  constexpr uint32_t kRun = 1, kGiveUp = 2;
  const auto body = [&](uint32_t rank) {
    go.wait(0, std::memory_order_acquire);
    if (go.load(std::memory_order_acquire) == kGiveUp) return;
    const Executor &w = *rt_.executors[g.team->members[rank]];
    consort_status s = CONSORT_E_NOMEM;
    if (ThreadState *own = rt_.this_thread()) {
      TeamCall call{g.frame.call, &g};
      call.call.rank = rank;
      call.call.worker = w.id;
      call.call.unit = w.unit.desc.id;
      own->task = g.task;
      s = run_body(rt_, w, *g.task, g.frame.fn, &call.call, true);
      if (s < 0) g.fail(s, error_text(), w.id);
      own->task = nullptr;
      settle_down(rt_, *own);
    } else {
      g.fail(s, error_text(), w.id);
    }
    leave_barrier(g, s, w.id);
  };
  consort_status s = CONSORT_OK;
  try {
    threads.reserve(g.team->size());
    for (uint32_t i = 0; i < g.team->size(); ++i) threads.emplace_back(body, i);
  } catch (const std::exception &e) {
    s = set_errorf(CONSORT_E_NOMEM, "no threads for the %u members of its team: %s", g.team->size(), e.what());
  }
  go.store(s < 0 ? kGiveUp : kRun, std::memory_order_release);
  go.notify_all();
  for (std::thread &one : threads) one.join();
  return s;
}

void Gangs::left_by_jump(Executor &w) noexcept {
  Gang &g = *w.part;
  if (!g.spmd) give_cores_back(g);
  g.fail(CONSORT_E_INTERNAL, "its function was left by longjmp", w.id);
  if (g.spmd && !g.threads) leave_barrier(g, CONSORT_E_INTERNAL, w.id);
  end_part(w, g);
}

// -- the end -----------------------------------------------------------------------------------------------------

// Called by the leader when its own part and those of all others have ended.
Task *Gangs::finish(Executor &w, ThreadState &thread, Gang &g) noexcept {
  Task *const t = g.task;
  const Team &team = *g.team;
  const consort_status s = g.status.load(std::memory_order_relaxed);  // its store is acquired through `left`
  end_told(w, g, s);
  if (g.doomed) {  // the failure is recorded; its text belongs to another thread
    const auto failure = rt_.failures.find(g.name);
    set_error(s, failure ? failure->text.c_str() : "cancelled before it started");
  }
  if (s < 0 && !g.doomed) record_failure(rt_, t, s, g.said, nullptr, g.blamed, nullptr);
  w.ran.store(w.ran.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  w.part = nullptr;
  w.called.fetch_sub(1, std::memory_order_release);
  const bool lent = !g.others;
  put(&g);
  for (uint32_t i = 1; lent && i < team.size(); ++i) {
    Executor &m = *rt_.executors[team.members[i]];
    // first, since the worker may be called again and join as soon as the count falls
    m.lent.store(false, std::memory_order_release);
    m.called.fetch_sub(1, std::memory_order_release);
    m.rouse();
  }
  return complete(rt_, thread, t, s, &w);
}

void Gangs::begin_told(Executor &w, Gang &g) noexcept {
  Task &t = *g.task;
  g.t0 = 0;
  g.run = {};
  g.traced = false;
  g.told = rt_.observed.load(std::memory_order_relaxed) && !g.doomed;
  if (!g.told) return;
  const bool watched = rt_.policy.observes();
  if (rt_.models->in_use()) g.run = rt_.models->begin(w, g.frame, t, g.team);
  g.traced = rt_.traces(traced::kTasks);
  if (rt_.profile || g.traced || watched || g.run.cell || g.run.counted) g.t0 = rt_.clock.now();
  trace(rt_, t, g.name, w.id, 0, g.t0);
  g.watcher = watched ? rt_.policy.tell_started(w, &t) : ReportedInstance{};
}

void Gangs::end_told(Executor &w, Gang &g, consort_status s) noexcept {
  if (!g.told) return;
  const uint64_t t1 = g.t0 || g.traced ? rt_.clock.now() : 0;
  if (g.traced) {
    rt_.run_observer->ran(w.id, *g.task, g.name, g.frame.call.impl, g.run.expected, g.t0, t1, s, Stamps::kNs);
    // Members that lend their cores are reported as busy, too.
    for (uint32_t i = 1; !g.others && i < g.team->size(); ++i)
      rt_.run_observer->ran(g.team->members[i], *g.task, g.name, g.frame.call.impl, -1, g.t0, t1, s, Stamps::kNs);
  }
  if (g.run.model) rt_.models->end(w, g.run, g.t0, t1, s >= 0, g.team);
  if (g.watcher.instance) rt_.policy.tell_finished(g.watcher, w, {g.name, s, 0, g.t0, t1, 0, 0});
  if (rt_.profile && g.t0)
    for (const uint32_t m : g.team->members) rt_.executors[m]->count_busy(g.t0, t1);
  trace(rt_, *g.task, g.name, w.id, 1, t1);
}

// -- descriptions ------------------------------------------------------------------------------------------------

namespace {

std::string missing_members(const Execution &rt, const Gang &g) {
  std::string s = std::to_string(g.joined) + " of the " + std::to_string(g.team->size()) + " workers of team " +
                  g.team->name + " have come; not yet:";
  for (const uint32_t m : g.team->members)
    if (const Executor &w = *rt.executors[m]; w.joined != &g) s += " " + w.unit.name;
  return s;
}

}  // namespace

std::string Gangs::describe() {
  std::lock_guard lock(mutex_);
  std::string s;
  for (const Gang *g : forming_)
    s += std::string("\ntask '") + task_label(rt_, *g->task) + "' waits for its team: " + missing_members(rt_, *g);
  return s;
}

std::string Gangs::describe(TaskName name) {
  std::lock_guard lock(mutex_);
  for (const Gang *g : forming_)
    if (g->name == name) return "the task waits for its team: " + missing_members(rt_, *g);
  return {};
}

}  // namespace consort
