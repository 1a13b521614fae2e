// sums.hpp — integers to which tasks add, by reduction or exclusively, and checks shared by tests of accesses.
#pragma once
#include "api/harness.hpp"

namespace consort_test {

constexpr uint32_t kCommute = CONSORT_M_RW | CONSORT_M_COMMUTE;

inline Pairs workers(const char *n, const char *scheduler = "lws") {
  return {{"workers", n}, {"cpu.topology", kFourCores}, {"scheduler", scheduler}};
}

// The sum of int64_t by reduction.
struct Sum {
  Bodies bodies;
  consort_codelet_id init, combine, add;
  std::atomic<int> inits{0}, combines{0};
  explicit Sum(consort_runtime *rt) {
    init = bodies(rt, "zero", [this](const consort_call &c) {
      inits.fetch_add(1);
      *pointer<int64_t>(c, 0) = 0;
      return CONSORT_OK;
    }, 1);
    combine = bodies(rt, "plus", [this](const consort_call &c) {
      combines.fetch_add(1);
      *pointer<int64_t>(c, 0) += *pointer<int64_t>(c, 1);
      return CONSORT_OK;
    }, 2);
    add = bodies(rt, "add", [](const consort_call &c) {
      *pointer<int64_t>(c, 0) += value<int64_t>(c, 0);
      return CONSORT_OK;
    });
  }
};

inline int64_t read(consort_runtime *rt, consort_data_id x) {
  consort_hold hold;
  need(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold), "acquire");
  const auto *view = static_cast<const consort_variable_view *>(hold.view);
  const int64_t v = *static_cast<int64_t *>(consort_ptr(view->addr));
  need(consort_release(rt, hold), "release");
  return v;
}

}  // namespace consort_test
