// alloc_fail.hpp — every allocation that a call of the C API makes fails in turn. The call answers E_NOMEM or does
// without, the runtime goes on working, nothing is lost.
//
// One source file of a program includes it. Each thread arms faults for itself. The runtime is pumped manually or
// simulated, so that allocations of tasks fail on this thread, too. Under sanitizers only the unarmed paths run.
// Allocations of hwloc are left alone: hwloc ends the process with an assertion when memory runs out.
#pragma once
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include "api/harness.hpp"
#include "support/replace_malloc.hpp"

namespace {
thread_local long countdown = -1;  // -1: not armed; the allocation that finds 0 fails
thread_local long in_a_row = 1;     // so many fail, those after them do not
thread_local bool fired = false;

uintptr_t spared_from = 0, spared_to = 0;  // hwloc's code

// hwloc comes with the plugin that looks at the machine: after a first start it is there.
[[maybe_unused]] bool find_hwloc() {
  void *warm[1];
  (void)backtrace(warm, 1);  // its first call allocates
  dl_iterate_phdr([](dl_phdr_info *info, size_t, void *) {
    if (!std::strstr(info->dlpi_name, "hwloc")) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
      spared_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      spared_to = spared_from + info->dlpi_phdr[i].p_memsz;
    }
    return 0;
  }, nullptr);
  return spared_to != 0;
}

bool spared() {
  void *frames[24];
  const long armed = std::exchange(countdown, -1);
  const int n = backtrace(frames, 24);
  countdown = armed;
  for (int i = 0; i < n; ++i)
    if (reinterpret_cast<uintptr_t>(frames[i]) - spared_from < spared_to - spared_from) return true;
  return false;
}
}  // namespace

bool consort_test::allocation_fails(const void *) {
  if (countdown < 0 || spared()) return false;
  if (countdown > 0) return --countdown, false;
  fired = true;
  if (--in_a_row <= 0) countdown = -1;
  return true;
}

namespace consort_test {

// Runs f with its k-th allocation failing, k = 0, 1, …, until a run had fewer.
struct Fault {
  long k, n = 1;  // n: so many fail in a row
  void arm() const {
    fired = false;
    in_a_row = n;
    countdown = kMallocReplaced ? k : -1;
  }
  void disarm() const { countdown = -1; }
};
template <class F>
void for_every_allocation(const char *what, F f, long in_a_row = 1) {
  SCOPED_TRACE(what);
  for (long k = 0;; ++k) {
    SCOPED_TRACE(k);
    const Fault fault{k, in_a_row};
    fired = false;
    f(fault);
    fault.disarm();
    if (!fired) break;
    ASSERT_LT(k, 20000) << "no end of allocations";
    if (::testing::Test::HasFatalFailure()) return;
  }
}
// One call under a fault; its answer, taken after the arming ended.
template <class F>
Answer faulty(const Fault &fault, F call) {
  fault.arm();
  const consort_status s = call();
  fault.disarm();
  return Answer(s);
}
inline void good_or_no_memory(const Answer &a) {
  EXPECT_TRUE(a.status >= 0 || a.status == CONSORT_E_NOMEM) << consort_status_name(a.status) << ": " << a.text;
  if (a.status < 0) {
    EXPECT_FALSE(a.text.empty());
  }
  if (!fired) {
    EXPECT_GE(a.status, 0) << a.text;
  }
}

inline consort_status inc(const consort_call *c) { return ++*pointer<long>(*c, 0), CONSORT_OK; }

inline const Pairs kByHand = {{"workers", "2"}, {"cpu.topology", kFourCores}, {"pump", "manual"}, {"scheduler", "prio"}};

struct AllocFail : ::testing::Test {
  std::unique_ptr<Rt> own = std::make_unique<Rt>(kByHand);
  consort_runtime *rt = *own;
  long v = 0;
  consort_data_id x = variable_of(rt, &v, "steady");
  consort_codelet_id c = codelet(rt, "inc", inc);

  // Earlier failures leave no trace.
  void works() {
    const long before = v;
    for (int i = 0; i < 3; ++i) ASSERT_OK(Desc(c).rw(x).to(rt));
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    ASSERT_EQ(v, before + 3);
  }
  void TearDown() override {
    if (own) works();
  }
};

}  // namespace consort_test
