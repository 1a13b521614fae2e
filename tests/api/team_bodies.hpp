// team_bodies.hpp — codelets that teams run, and a machine of eight workers that has teams of two, four and eight.
#pragma once
#include <deque>
#include <utility>

#include "api/harness.hpp"

namespace consort_test {

inline const Pairs kEight = {{"workers", "8"}, {"cpu.topology", "pack:2 core:4 pu:1"}, {"keep_models", "no"}};

// Of function objects; they live as long as their test. max: members of a team at most; 0: as many as there are
class TeamBodies {
 public:
  consort_codelet_id operator()(consort_runtime *rt, const char *name, uint32_t flags, Body body, uint32_t max = 0,
                                uint32_t nmodes = CONSORT_NONE) {
    all_.push_back(std::move(body));
    const consort_impl impl = {"cpu", run_body, &all_.back(), nullptr, nullptr, nullptr, nullptr, 0};
    consort_codelet d = CONSORT_CODELET_INIT;
    d.flags = flags;
    d.name = name;
    d.impls = &impl;
    d.nimpls = 1;
    d.nmodes = nmodes;
    d.max_team = max;
    consort_codelet_id id{0};
    need(consort_codelet_add(rt, &d, &id), "codelet");
    return id;
  }

 private:
  std::deque<Body> all_;
};

}  // namespace consort_test
