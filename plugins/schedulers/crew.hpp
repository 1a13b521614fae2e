// crew.hpp — the workers that an instance serves, in groups: those of one class at one space are alike, so a task is
// estimated once for all of them.
//
// Immutable; the instance makes a new one when workers come or go, and keeps the old ones as long as it lives, so
// nobody needs a lock to read one.
#pragma once
#include "members.hpp"

namespace policies {

struct Group {
  uint32_t klass, space;
  uint32_t first, count;  // of Crew::order
};

struct Crew {
  Members members;
  std::vector<Group> groups;
  std::vector<uint32_t> order;     // worker ids, group by group
  std::vector<uint32_t> spaces;    // by group
  std::vector<uint32_t> asked;     // by group: the worker that is asked about for all
  std::vector<uint32_t> group_of;  // by worker; CONSORT_NONE: does not serve
  std::vector<uint32_t> depth;     // by worker
  std::vector<uint32_t> of_class;  // how many workers, by class

  Crew(Members m, const consort_topology &t) : members(std::move(m)) {
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
  }
  bool serves(uint32_t worker) const noexcept { return worker < group_of.size() && group_of[worker] != CONSORT_NONE; }
  bool can(const consort_task *t, uint32_t g) const noexcept {
    return members.nclasses == 1 || (t->where >> groups[g].klass & 1);
  }
};

}  // namespace policies
