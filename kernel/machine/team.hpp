// team.hpp — workers that may work on one task together, and the list of all that there are.
//
// Made once at the start, of what drivers say lies close together (consort/nearby.h) and of the settings `teams` and
// `team_arity`; constant from then on, so any thread may read it. In teams are units that the kernel calls itself, and units of one device
// that takes ops for teams (CONSORT_UNIT_TEAMS).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace consort {

class Topology;
class Config;

struct Team {
  uint32_t id = 0;                     // follows those of the workers
  uint32_t klass = 0, space = 0;       // space: the first one's
  std::vector<uint32_t> members;       // ascending; the first one leads
  std::vector<uint64_t> cpuset;        // of all; empty: some are not bound
  std::string name;                    // class and numbers: "x0-3"

  uint32_t size() const noexcept { return static_cast<uint32_t>(members.size()); }
  uint32_t rank(uint32_t worker) const noexcept;  // CONSORT_NONE: none of its
};

struct TeamList {
  std::vector<Team> teams;             // smaller ones first
  bool one_at_a_time = false;          // all have the first worker, which alone runs tasks of codelets for teams
};

Result<TeamList> find_teams(const Config &, const Topology &);

// Sets of workers, nested or apart, ascending each: with those between a set and its parts, so that each is made of
// `arity` smaller ones at most, as equal as can be. Sorted by size, each once, none of less than two.
std::vector<std::vector<uint32_t>> with_between(std::vector<std::vector<uint32_t>> sets, uint32_t arity);

}  // namespace consort
