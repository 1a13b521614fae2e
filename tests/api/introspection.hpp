// introspection.hpp — queries of tests about a runtime and its workers, and a body that does nothing.
#pragma once
#include "api/harness.hpp"

namespace consort_test {

inline consort_status nothing(const consort_call *) { return CONSORT_OK; }

inline consort_info info(consort_runtime *rt) {
  consort_info i{};
  i.size = sizeof i;
  need(consort_get_info(rt, &i), "info");
  return i;
}
inline consort_worker_info worker(consort_runtime *rt, uint32_t id) {
  consort_worker_info i{};
  i.size = sizeof i;
  need(consort_get_worker(rt, id, &i), "worker");
  return i;
}

}  // namespace consort_test
