// peager.cpp — eager with teams: first come, first served, and whoever comes for a task that a team may run takes those along
// who have nothing else to do.
//
// Who has nothing to do is what this policy knows by itself: a worker is busy from the pop that gave it a task until it pops
// again; those of its team are busy with it, and free when the first of them pops, for the team is through then. All
// under the container's lock.
#include "../central.hpp"
#include "../fifo.hpp"
#include "../table.hpp"

namespace peager {
namespace {

using Base = policies::Central<policies::FifoQueue>;

struct Instance : Base {
  struct Seat {
    bool busy = false;
    uint64_t turn = 0;                     // of what it was given last: those of one team have the same
    std::vector<const consort_team *> in;  // teams that it is of, the largest first
  };
  std::vector<Seat> seats;                 // by worker; guarded by the lock, as all of this
  uint64_t turns = 0;

  Instance(const consort_host *h, const consort_topology &t, uint64_t e) : Base(h, t, e) { look(t); }

  static Instance &of(void *s) noexcept { return static_cast<Instance &>(Base::of(s)); }

  void look(const consort_topology &t) {  // may throw; nothing has changed then
    std::vector<Seat> next(members.serves.size());
    for (uint32_t i = 0; i < t.nteams; ++i) {
      const consort_team &team = t.teams[i];
      const bool all = std::all_of(team.members, team.members + team.nmembers, [&](uint32_t m) { return members.has(m); });
      for (uint32_t k = 0; all && k < team.nmembers; ++k) next[team.members[k]].in.push_back(&team);
    }
    for (Seat &s : next)  // the largest first, of equal ones the first of the topology, whose array they point into
      std::sort(s.in.begin(), s.in.end(), [](auto *a, auto *b) { return a->nmembers != b->nmembers ? a->nmembers > b->nmembers : a < b; });
    for (uint32_t w = 0; w < next.size() && w < seats.size(); ++w)
      next[w].busy = seats[w].busy, next[w].turn = seats[w].turn;
    seats.swap(next);
  }

  void came_back(uint32_t worker) noexcept {
    Seat &s = seats[worker];
    if (!s.busy) return;
    for (const consort_team *t : s.in)
      for (uint32_t k = 0; k < t->nmembers; ++k)
        if (Seat &mate = seats[t->members[k]]; mate.turn == s.turn) mate.busy = false;
    s.busy = false;
  }

  // The largest team of idle ones that leaves each task that waits its share of these; nullptr: the worker alone.
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
    const policies::Visit visit(i.visitors);
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
      Seat &seat = i.seats[team ? team->members[k] : worker];
      seat.busy = true;
      seat.turn = i.turns;
    }
    return 1;
  }

  // Another life begins: what was handed out is not told any more.
  static uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
    const uint32_t n = Base::drain(s, epoch, out, max);
    if (n) return n;
    Instance &i = of(s);
    const std::lock_guard guard(i.lock);
    for (Seat &seat : i.seats) seat.busy = false;
    return 0;
  }
};

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_NO_BYPASS);

#define PEAGER_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = PEAGER_FLAGS, .name = "peager", .version = "0.1.0",
    .summary = "one queue, first come, first served, by teams of those that are idle", .license = "Apache-2.0",
    .params = nullptr, .nparams = 0, .reserved = 0, .ops = &ops, .init = policies::init_nothing,
    .quiesce = policies::quiet_already, .fini = policies::fini_nothing, .get = nullptr,
};

}  // namespace
}  // namespace peager

CONSORT_MODULE(peager, SCHEDULER, PEAGER_FLAGS, "peager", "0.1.0", peager::plugin);
