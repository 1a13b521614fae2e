// worker_groups.hpp — the workers that an instance serves, in groups: workers of one class at one space are alike, so a task is
// estimated once for a whole group.
//
// Immutable. The instance creates a new one when workers change, and keeps the old ones for its lifetime, so
// readers need no lock.
#pragma once
#include "members.hpp"

namespace policies {

struct Group {
  uint32_t klass, space;
  uint32_t first, count;  // range of WorkerGroups::order
};

// Teams of one class, space and size: also alike.
struct TeamGroup {
  struct One {
    uint32_t id;
    std::vector<uint32_t> members;  // the first one leads
  };
  uint32_t klass, space, size;
  std::vector<One> teams;
};

struct WorkerGroups {
  Members members;
  std::vector<Group> groups;
  std::vector<uint32_t> order;     // worker ids, group by group
  std::vector<TeamGroup> teams;    // only with teams; they are numbered as groups after those of workers
  std::vector<uint32_t> spaces;    // by group
  std::vector<uint32_t> asked;     // by group: the worker or team that represents it in queries
  std::vector<uint32_t> group_of;  // by worker; CONSORT_NONE: not served
  std::vector<uint32_t> depth;     // by worker
  std::vector<uint32_t> of_class;  // how many workers, by class
  std::vector<uint64_t> masks;     // bit set of workers by group, `words` words each
  uint32_t words = 0;

  WorkerGroups(Members m, const consort_topology &t, bool for_teams = false) : members(std::move(m)) {
    group_of.assign(members.serves.size(), CONSORT_NONE);
    depth.assign(members.serves.size(), 1);
    of_class.assign(members.nclasses, 0);
    for (uint32_t w = 0; w < t.nworkers && w < depth.size(); ++w) {
      depth[w] = std::max(1u, t.workers[w].depth);
      if (!members.has(w) || members.klass[w] >= members.nclasses) continue;
      uint32_t g = 0;
      while (g < groups.size() && (groups[g].klass != members.klass[w] || groups[g].space != t.workers[w].space)) ++g;
      if (g == groups.size()) groups.push_back({members.klass[w], t.workers[w].space, 0, 0});
      group_of[w] = g;
      ++groups[g].count;
      ++of_class[members.klass[w]];
    }
    uint32_t first = 0;
    for (Group &g : groups) {
      g.first = first;
      first += g.count;
      for (uint32_t w = 0; w < group_of.size(); ++w)
        if (group_of[w] == &g - groups.data()) order.push_back(w);
      spaces.push_back(g.space);
      asked.push_back(order[g.first]);
    }
    words = static_cast<uint32_t>(group_of.size() + 63) / 64;
    masks.assign(groups.size() * words, 0);
    for (const uint32_t w : order) masks[group_of[w] * words + w / 64] |= uint64_t{1} << w % 64;
    for (uint32_t i = 0; for_teams && i < t.nteams; ++i) add_team(t.teams[i]);
    for (const TeamGroup &g : teams) {
      spaces.push_back(g.space);
      asked.push_back(g.teams.front().id);
    }
  }
  bool serves(uint32_t worker) const noexcept { return worker < group_of.size() && group_of[worker] != CONSORT_NONE; }
  uint32_t klass(uint32_t g) const noexcept { return g < groups.size() ? groups[g].klass : teams[g - groups.size()].klass; }
  bool can(const consort_task *t, uint32_t g) const noexcept {
    if (g >= groups.size()) return false;  // a host without models has no teams
    return members.nclasses == 1 || (t->where >> groups[g].klass & 1);
  }

 private:
  void add_team(const consort_team &t) {
    if (!std::all_of(t.members, t.members + t.nmembers, [&](uint32_t m) { return members.has(m); })) return;
    const auto alike = [&](const TeamGroup &g) { return g.klass == t.klass && g.space == t.space && g.size == t.nmembers; };
    auto g = std::find_if(teams.begin(), teams.end(), alike);
    if (g == teams.end()) g = teams.insert(g, {t.klass, t.space, t.nmembers, {}});
    g->teams.push_back({t.id, {t.members, t.members + t.nmembers}});
  }
};

}  // namespace policies
