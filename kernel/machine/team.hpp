// team.hpp — teams: sets of workers that may run one task together.
//
// Computed once at the start, from the neighbourhoods that drivers report (consort/nearby.h) and from the settings
// `teams` and `team_arity`. Constant afterwards, so any thread may read it. Members are units whose functions the
// kernel calls itself, and units of one device that takes ops for teams (CONSORT_UNIT_TEAMS).
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
  uint32_t id = 0;                     // team numbers follow those of the workers
  uint32_t klass = 0, space = 0;       // space: the first member's
  std::vector<uint32_t> members;       // ascending; the first member leads
  std::vector<uint64_t> cpuset;        // of all members; empty: some are not bound
  std::string name;                    // class and numbers: "x0-3"

  uint32_t size() const noexcept { return static_cast<uint32_t>(members.size()); }
  uint32_t rank(uint32_t worker) const noexcept;  // index of the worker in members, or CONSORT_NONE
};

struct TeamList {
  std::vector<Team> teams;             // smaller ones first
  bool one_at_a_time = false;          // all teams contain the first worker, which alone runs tasks of team codelets
};

Result<TeamList> find_teams(const Config &, const Topology &);

// Input: ascending sets of workers, nested or disjoint. Adds intermediate sets so that each set consists of at most
// `arity` smaller ones of nearly equal size. Returns them sorted by size, without duplicates and without sets of one
// worker.
std::vector<std::vector<uint32_t>> with_between(std::vector<std::vector<uint32_t>> sets, uint32_t arity);

}  // namespace consort
