// peager.cpp — eager with teams: first come, first served. A worker that takes a task for teams adds idle workers
// to its team.
//
// The policy tracks idle workers itself: a worker is busy from the pop that returned a task until its next
// pop. Members of its team are busy with it, and free when the first of them pops, because the team's task has ended then. All
// state is guarded by the container's lock.
#include "../central.hpp"
#include "../fifo.hpp"
#include "../table.hpp"

namespace peager {
namespace {

using Base = policies::Central<policies::FifoQueue>;

struct Instance : Base {
  struct WorkerState {
    bool busy = false;
    uint64_t turn = 0;                     // number of its last task: equal for all members of one team
    std::vector<const consort_team *> in;  // teams that it belongs to, largest first
  };
  std::vector<WorkerState> seats;                 // by worker; guarded by the lock
  uint64_t turns = 0;

  Instance(const consort_host *h, const consort_topology &t, uint64_t e) : Base(h, t, e) { look(t); }

  static Instance &of(void *s) noexcept { return static_cast<Instance &>(Base::of(s)); }

  void look(const consort_topology &t) {  // strong exception guarantee
    std::vector<WorkerState> next(members.serves.size());
    for (uint32_t i = 0; i < t.nteams; ++i) {
      const consort_team &team = t.teams[i];
      const bool all = std::all_of(team.members, team.members + team.nmembers, [&](uint32_t m) { return members.has(m); });
      for (uint32_t k = 0; all && k < team.nmembers; ++k) next[team.members[k]].in.push_back(&team);
    }
    for (WorkerState &s : next)  // largest first; equal ones in topology order, by address
      std::sort(s.in.begin(), s.in.end(), [](auto *a, auto *b) { return a->nmembers != b->nmembers ? a->nmembers > b->nmembers : a < b; });
    for (uint32_t w = 0; w < next.size() && w < seats.size(); ++w)
      next[w].busy = seats[w].busy, next[w].turn = seats[w].turn;
    seats.swap(next);
  }

  void came_back(uint32_t worker) noexcept {
    WorkerState &s = seats[worker];
    if (!s.busy) return;
    for (const consort_team *t : s.in)
      for (uint32_t k = 0; k < t->nmembers; ++k)
        if (WorkerState &mate = seats[t->members[k]]; mate.turn == s.turn) mate.busy = false;
    s.busy = false;
  }

  // The largest idle team that leaves each waiting task its share of the workers; nullptr: the worker alone.
  const consort_team *team_for(const consort_task &t, uint32_t worker, uint64_t waiting) const noexcept {
    if (!(t.flags & CONSORT_TK_TEAM)) return nullptr;
    uint64_t idle = 0;
    for (uint32_t w = 0; w < seats.size(); ++w)
      idle += members.has(w) && members.klass[w] == members.klass[worker] && !seats[w].busy;
    const uint64_t share = std::max<uint64_t>(t.team_min, idle / std::max<uint64_t>(waiting, 1));
    for (const consort_team *team : seats[worker].in)
      if (team->nmembers <= t.team_max && team->nmembers <= share &&
          std::none_of(team->members, team->members + team->nmembers,
                       [&](uint32_t m) { return m != worker && seats[m].busy; }))
        return team;
    return nullptr;
  }

  static consort_status create(void *, const consort_host *host, const consort_topology *t, uint64_t epoch,
                               void **out) noexcept {
    try {
      *out = static_cast<Base *>(new Instance(host, *t, epoch));
      return CONSORT_OK;
    } catch (...) {
      return consort::plugin::caught(host, "out of memory for the instance");
    }
  }
  static void destroy(void *s) noexcept { delete &of(s); }

  static consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na,
                                const uint32_t *del, uint32_t nd) noexcept {
    if (const consort_status done = Base::workers(s, t, add, na, del, nd); done < 0) return done;
    Instance &i = of(s);
    try {
      const std::lock_guard guard(i.lock);
      i.look(*t);
      return CONSORT_OK;
    } catch (...) {
      return consort::plugin::caught(i.host, "out of memory for the teams");
    }
  }

  static uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
    Instance &i = of(s);
    const policies::Visit visit(i.visitors.door(__builtin_frame_address(0)));
    const std::lock_guard guard(i.lock);
    if (max == 0 || !i.members.has(worker)) return 0;
    i.came_back(worker);
    const uint64_t waiting = i.waiting.load(std::memory_order_relaxed);
    consort_task *task = waiting ? i.store.take(i.members.classes_of(worker)) : nullptr;
    if (!task) return 0;
    i.add_waiting(~uint64_t{0});
    const consort_team *team = i.team_for(*task, worker, waiting);
    out[0] = {task, CONSORT_NONE, team ? team->id : CONSORT_NONE};
    ++i.turns;
    for (uint32_t k = 0; k < (team ? team->nmembers : 1); ++k) {
      WorkerState &seat = i.seats[team ? team->members[k] : worker];
      seat.busy = true;
      seat.turn = i.turns;
    }
    return 1;
  }

  // A new epoch: ends of popped tasks are not reported any more.
  static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
    const uint32_t n = Base::drain(s, epoch, out, max);
    if (n) return n;
    Instance &i = of(s);
    const std::lock_guard guard(i.lock);
    for (WorkerState &seat : i.seats) seat.busy = false;
    return 0;
  }
};

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_NO_BYPASS);

constexpr consort_plugin plugin =
    policies::record("peager", "one queue, first come, first served, by teams of idle workers",
                     ops);

}  // namespace
}  // namespace peager

CONSORT_MODULE(peager, SCHEDULER, POLICY_FLAGS, "peager", "0.1.0", peager::plugin);
