// division.hpp — data divided by a filter, for tests: the plan, and the names of its parts.
#pragma once
#include <consort/layouts.h>
#include <consort/partition.h>

#include <vector>

#include "harness.hpp"

namespace consort_test {

inline std::vector<consort_data_id> divide(consort_runtime *rt, consort_data_id x, const char *filter, const void *params,
                                           uint64_t bytes, consort_plan_id *plan) {
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = filter;
  d.params = params;
  d.params_bytes = bytes;
  need(consort_plan_create(rt, x, &d, plan), "plan");
  std::vector<consort_data_id> part(static_cast<size_t>(consort_plan_parts(rt, *plan, nullptr, 0)));
  consort_plan_parts(rt, *plan, part.data(), static_cast<uint32_t>(part.size()));
  return part;
}

// Into so many parts, by a filter that asks for no more than their number.
inline std::vector<consort_data_id> split(consort_runtime *rt, consort_data_id x, const char *filter, uint32_t n,
                                          consort_plan_id *plan) {
  const consort_split s{n, 0};
  return divide(rt, x, filter, &s, sizeof s, plan);
}

}  // namespace consort_test
