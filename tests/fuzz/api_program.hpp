// api_program.hpp — a program of calls of the C API, read from bytes. The runtime has the manual pump, virtual time and
// no real device. Handles are live, dead, or were never given.
//
// The first byte chooses the kind of program. A calm one waits without a limit, and does nothing that could keep a task
// from ending. A wild one uses tags, holds, repetition and contexts, and never waits for long. Such a program may block
// itself for ever, which is no fault. Both end with consort_stop(), which must return. One thread.
#pragma once
#include <consort/consort.h>
#include <consort/memory.h>

#include <array>
#include <source_location>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace fuzz {

consort_entry_fn *const *api_modules(uint32_t *n);  // api.cpp

class ApiProgram {
 public:
  ApiProgram(const uint8_t *data, size_t size) : in_(data, size) {}
  void run();

 private:
  static constexpr uint32_t kMostCalls = 250, kCodelets = 5, kFloats = 64;
  enum Body : uint32_t { kAdd, kFails, kThrows, kSubmits, kWaits };

  // The parts of the program that a body uses.
  struct Use {
    ApiProgram *program;
    Body body;
  };

  static consort_status call(const consort_call *c);
  static void log(void *, int32_t, const char *) {}
  bool start();
  void codelets();
  void end();

  template <class Id>
  Id any(const std::vector<Id> &all) {
    const uint8_t i = in_.byte();
    if (i == 255) return {in_.take<uint64_t>()};  // that never was
    if (i == 254 || all.empty()) return {0};
    return all[i % all.size()];
  }
  int64_t timeout() { return calm_ ? CONSORT_FOREVER : in_.flag() ? 0 : 1000; }
  uint32_t some_worker() { return in_.below(4) ? CONSORT_NONE : in_.below(8); }
  const char *scheduler();
  uint64_t tag() { return in_.below(6); }
  void check(consort_status s, std::source_location at = std::source_location::current());

  void submit(bool repeat);
  void data_call();
  void partition_call();
  void task_call();
  void group_call();
  void tag_call();
  void replay_call();
  void context_call();
  void memory_call();
  void wait_call();
  void look_call();

  Bytes in_;
  bool calm_ = true, nested_ = true, recording_ = false;
  consort_runtime *rt_ = nullptr;
  std::array<Use, kCodelets> uses_{};
  std::vector<consort_codelet_id> codelets_;
  std::vector<consort_data_id> data_;
  std::vector<consort_task_id> tasks_;
  std::vector<consort_group_id> groups_;
  std::vector<consort_plan_id> plans_;
  std::vector<consort_bundle_id> bundles_;
  std::vector<consort_recording_id> recordings_;
  std::vector<consort_context_id> contexts_;
  std::vector<consort_prefetch_id> wishes_;
  std::vector<consort_hold> holds_;
  std::vector<consort_task_id> held_;  // once for each end_hold
  std::vector<std::unique_ptr<float[]>> memory_;
};

}  // namespace fuzz
