// recordings.hpp — shared by tests of replay.h: to record, to replay and to wait, and a runtime with two integers.
#pragma once
#include "api/harness.hpp"

namespace consort_test {

// Records the submissions of `body`.
template <class F>
consort_recording_id record(consort_runtime *rt, F body, uint32_t flags = CONSORT_RECORD_ONLY) {
  need(consort_record_begin(rt, flags), "record_begin");
  body();
  consort_recording_id r{0};
  need(consort_record_end(rt, &r), "record_end");
  return r;
}
inline consort_task_id replay(consort_runtime *rt, consort_recording_id r, consort_group_id g = {0}) {
  consort_task_id t{0};
  need(consort_replay(rt, r, g, &t), "replay");
  return t;
}
inline void wait(consort_runtime *rt, consort_task_id t) { need(consort_task_wait(rt, t, kLong, 0), "wait"); }
inline consort_recording_info info(consort_runtime *rt, consort_recording_id r) {
  consort_recording_info i{};
  i.size = sizeof i;
  need(consort_recording_get_info(rt, r, &i), "recording_get_info");
  return i;
}

struct Replay : ::testing::Test {
  Rt rt;
  Bodies bodies;
  std::atomic<int> ran{0};
  int64_t x = 0, y = 0;
  consort_data_id dx = variable_of(rt, &x, "x"), dy = variable_of(rt, &y, "y");
  consort_codelet_id add = bodies(rt, "add", [this](const consort_call &c) {  // x = x * 2 + k
    int64_t &v = *pointer<int64_t>(c, 0);
    v = static_cast<int64_t>(static_cast<uint64_t>(v) * 2 + static_cast<uint64_t>(c.nargs ? value<int64_t>(c, 0) : 1));  // may wrap
    ++ran;
    return CONSORT_OK;
  });
  consort_codelet_id copy = bodies(rt, "copy", [](const consort_call &c) {  // y = x
    *pointer<int64_t>(c, 1) = *pointer<int64_t>(c, 0);
    return CONSORT_OK;
  });
  consort_codelet_id fails = bodies(rt, "fails", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); });
};

}  // namespace consort_test
