// The host's calls fail, one after another.
#include "conform/calls.hpp"
#include "conform/case.hpp"
#include "conform/plugin.hpp"

namespace conform {

CONFORM_CASE(P, 60, fault, lives_with_each_failing_call) {
  Host host;
  Plugin p(t, host);
  p.stop();
  const uint64_t most = t.scaled(200, 2000);
  for (uint64_t k = 1; k <= most; ++k) {
    const size_t blocks = host.live_blocks(), threads = count_threads(), descriptors = count_descriptors();
    host.forget_failure();
    host.fail_at(k);
    t.doing("init, where call %llu of get, param or alloc fails", static_cast<unsigned long long>(k));
    const consort_status s = p.start(true);
    const bool reached = host.has_failed();
    host.fail_at(0);
    if (s >= 0) p.stop();
    t.check(host.live_blocks() <= blocks, "%zu blocks of alloc are lost where call %llu fails", host.live_blocks() - blocks,
            static_cast<unsigned long long>(k));
    t.check(count_threads() <= threads, "a thread is left where call %llu fails", static_cast<unsigned long long>(k));
    t.check(count_descriptors() <= descriptors, "a descriptor is left open where call %llu fails", static_cast<unsigned long long>(k));
    if (!reached) {
      if (k == 1) t.skip("init asks the host for nothing");
      return;
    }
  }
}

CONFORM_CASE(P, 61, fault, says_what_is_wrong) {
  Host host;
  Plugin p(t, host);
  p.stop();
  unsigned refused = 0;
  for (uint64_t k = 1; k <= 200; ++k) {
    host.forget_failure();
    host.fail_at(k);
    t.doing("init, where call %llu of get, param or alloc fails", static_cast<unsigned long long>(k));
    const consort_status s = p.start(true);
    const bool reached = host.has_failed();
    host.fail_at(0);
    if (s >= 0) p.stop();
    refused += s < 0;
    t.check(s >= 0 || !host.failure().empty(), "init answers %d without a word where call %llu fails", s,
            static_cast<unsigned long long>(k));
    t.check(s >= 0 || host.failure().empty() || host.failure_code() < 0, "init fails, but fail() was told status %d",
            host.failure_code());
    if (!reached) break;
  }
  if (!refused) t.skip("init does without what fails");
}

CONFORM_CASE(P, 62, fault, starts_without_memory) {
  Host host;
  Plugin p(t, host);
  p.stop();
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  // Returns whether the k-th allocation was requested.
  const auto try_without = [&](uint64_t k) {
    host.forget_failure();
    Calls::fail_allocation(k);
    t.doing("init, where allocation %llu fails", static_cast<unsigned long long>(k));
    const consort_status s = p.start(true);
    const bool reached = Calls::has_failed();
    Calls::fail_allocation(0);
    if (s >= 0) p.stop();
    t.check(s >= 0 || !host.failure().empty(), "init answers %d without a word where allocation %llu fails", s,
            static_cast<unsigned long long>(k));
    return reached;
  };
  if (!try_without(1)) t.skip("init allocates nothing from the plugin's own file");
  uint64_t n = 1;
  while (n < t.scaled(200, 3000) && try_without(n + 1)) ++n;
  MemoryMarks memory(16, 1);
  do {
    for (uint64_t k = 1; k <= n; ++k) try_without(k);
    memory.mark();
  } while (memory.is_undecided() && !t.failed());
  t.check(!memory.leaks(), "%zu bytes are lost where each of %llu allocations fails once", memory.growth(),
          static_cast<unsigned long long>(n));
}

}  // namespace conform
