// Repeated opening; failing allocations; virtual time; message latency.
#include <algorithm>
#include <cstring>
#include <ctime>

#include "conform/calls.hpp"
#include "conform/transport/ranks.hpp"

namespace conform {
namespace {

double computed_ns() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Opens and closes one rank by the table alone. Returns the status of open().
consort_status open_once(Trial &t, Plugin &p, const consort_transport_ops &ops, bool closes = true) {
  static const uint8_t secret[16] = {1, 2, 3};
  static const std::string job = fresh_job();
  const consort_boot boot = {.size = sizeof boot,
                             .rank = 0,
                             .nranks = 1,
                             .nsecret = 16,
                             .job = job.c_str(),
                             .host_id = 1,
                             .sim_domain = 0,
                             .secret = secret,
                             .put = nullptr,
                             .get = nullptr,
                             .fence = nullptr,
                             .abort = nullptr};
  consort_tcaps caps{};
  caps.size = sizeof caps;
  void *opened = nullptr;
  t.doing("open");
  const consort_status s = ops.open(p.self(), p.table(), &boot, 1, &opened, &caps);
  if (s >= 0 && closes) t.doing("close"), ops.close(opened);
  return s;
}

uint64_t mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x100000001b3u; }

// A random run in virtual time, as one hash.
uint64_t trace_of(Trial &t, uint64_t seed, uint64_t n) {
  World w(t, 2, 5);
  Random random(seed);
  Block from(4000, 1), to(4000, 0);
  uint64_t h = 0xcbf29ce484222325u;
  std::vector<uint64_t> at_a, at_b;
  for (uint64_t i = 0; i < n; ++i) {
    if (random.one_in(2)) w.a().try_post(send_of(w.b().number(), from.addr(), random.below(4000), random.below(3)));
    if (random.one_in(2))
      w.b().try_post(receive_of(random.one_in(2) ? CONSORT_NONE : w.a().number(), to.addr(), 4000, random.below(3)));
    if (random.one_in(3)) w.pump();
  }
  for (int i = 0; i < 100; ++i) w.pump();
  for (Rank *r : {&w.a(), &w.b()}) {
    for (const uint64_t cookie : r->order) {
      const consort_done &d = *r->end_of(cookie);
      for (const uint64_t x : {cookie, static_cast<uint64_t>(d.status), d.bytes, d.tag, d.t0, d.t1}) h = mix(h, x);
    }
    h = mix(h, r->host().now());
    if (w.is_alone()) break;
  }
  return h;
}

}  // namespace

CONFORM_CASE(T, 60, fault, open_without_memory) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  const auto ops = p.ops<consort_transport_ops>();
  if (open_once(t, p, ops) == CONSORT_E_UNSUPPORTED) t.skip("opens no rank here");
  // Returns whether the k-th allocation was requested.
  const auto try_without = [&](uint64_t k) {
    p.host().forget_failure();
    Calls::fail_allocation(k);
    t.doing("open, where allocation %llu fails", static_cast<unsigned long long>(k));
    const consort_status s = open_once(t, p, ops);
    const bool reached = Calls::has_failed();
    Calls::fail_allocation(0);
    t.check(s >= 0 || !p.host().failure().empty(), "open answers %d without a word where allocation %llu fails", s,
            static_cast<unsigned long long>(k));
    return reached;
  };
  const double began = computed_ns();
  if (!try_without(1)) t.skip("open allocates nothing from the plugin's own file");
  uint64_t n = 1;
  while (n < t.scaled(300, 3000) && try_without(n + 1)) ++n;
  // If they take long, a part has each second one. Of four parts two then have a lost block, which is at least 32 bytes.
  const uint64_t step = computed_ns() - began > 5e8 && t.level() < 10 ? 2 : 1;
  MemoryMarks memory(16, 1);
  uint64_t part = 0;
  do {
    for (uint64_t k = 1 + part++ % step; k <= n; k += step) try_without(k);
    memory.mark();
  } while (memory.is_undecided() && !t.failed());
  t.check(!memory.leaks(), "%zu bytes are lost where each of %llu allocations fails once", memory.growth(),
          static_cast<unsigned long long>(n));
  t.need(open_once(t, p, ops) >= 0, "open fails after it had once no memory: %s", p.host().failure().c_str());
}

CONFORM_CASE(T, 61, fault, open_with_a_host_that_fails) {
  Plugin p(t);
  const auto ops = p.ops<consort_transport_ops>();
  for (uint64_t k = 1; k < 200; ++k) {
    p.host().forget_failure();
    p.host().fail_at(k);
    const consort_status s = open_once(t, p, ops);
    const bool reached = p.host().has_failed();
    p.host().fail_at(0);
    t.check(s >= 0 || !p.host().failure().empty(), "open answers %d without a word where call %llu of the host fails",
            s, static_cast<unsigned long long>(k));
    if (!reached) return;
  }
}

CONFORM_CASE(T, 70, life, opened_again_and_again) {
  Plugin p(t);
  const auto ops = p.ops<consort_transport_ops>();
  const consort_status first = open_once(t, p, ops);
  if (first == CONSORT_E_UNSUPPORTED) t.skip("it does not open here: %s", p.host().failure().c_str());
  const double began = computed_ns();
  open_once(t, p, ops);                     // the first one loads libraries
  const bool is_slow = computed_ns() - began > 5e6 && t.level() < 10;
  const uint32_t rounds = is_slow ? 24 : static_cast<uint32_t>(t.scaled(200, 1000)), part = is_slow ? 4 : 25;
  size_t threads = 0, descriptors = 0, blocks = 0;
  MemoryMarks memory(8 * part, part);
  for (uint32_t round = 0; (round < rounds && t.has_time()) || memory.is_undecided(); ++round) {
    if (round == 8) threads = count_threads(), descriptors = count_descriptors(), blocks = p.host().live_blocks();
    if (round % part == 0) memory.mark();
    t.need(open_once(t, p, ops) >= 0, "open fails in round %u: %s", round, p.host().failure().c_str());
  }
  t.check(count_threads() <= threads, "%zu threads more after %u times", count_threads() - threads, rounds);
  t.check(count_descriptors() <= descriptors, "%zu descriptors more after %u times", count_descriptors() - descriptors,
          rounds);
  t.check(p.host().live_blocks() <= blocks, "%zu blocks of alloc more after %u times", p.host().live_blocks() - blocks,
          rounds);
  t.check(!memory.leaks(), "%zu bytes more after each %u times", memory.growth(), part);
}

CONFORM_CASE(T, 71, life, closes_with_everything_under_way) {
  size_t threads = 0, descriptors = 0;
  constexpr uint32_t kPart = 4;
  MemoryMarks memory(64 * kPart, kPart);
  for (uint32_t round = 0; round < 12 || memory.is_undecided(); ++round) {
    if (round % kPart == 0) memory.mark();
    if (round == 3) threads = count_threads(), descriptors = count_descriptors();
    World w(t);
    Block memory(4096), from(100'000, 1), to(100'000, 0);
    consort_mr mr{};
    if (w.a().can(CONSORT_TC_RMA)) w.a().reg(memory, 0, 4096, &mr);
    if (w.a().can(CONSORT_TC_FD)) w.a().ops().event_fd(w.a().raw());
    for (int k = 0; w.a().can(CONSORT_TC_TAGGED) && k < 4; ++k) {
      w.a().try_post(send_of(w.b().number(), from.addr(), k % 2 ? 100'000 : 10, 1));
      w.b().try_post(receive_of(w.a().number(), to.addr(), 100'000, 2));
    }
    if (w.a().can(CONSORT_TC_TAGGED)) w.a().try_post(receive_of(CONSORT_NONE, to.addr(), 100, 3));
    w.a().close();
    if (!w.is_alone() && w.b().is_open()) w.b().poll();
    w.b().close();
  }
  t.check(count_threads() <= threads, "%zu threads more after nine closes", count_threads() - threads);
  t.check(count_descriptors() <= descriptors, "%zu descriptors more after nine closes",
          count_descriptors() - descriptors);
  t.check(!memory.leaks(), "%zu bytes more after each %u closes", memory.growth(), kPart);
}

CONFORM_CASE(T, 80, virtual, one_seed_one_trace) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
  for (uint64_t round = t.scaled(3, 12); round > 0 && t.has_time(); --round) {
    const uint64_t seed = t.random().next(), n = t.scaled(500, 3000);
    t.doing("the first run");
    const uint64_t first = trace_of(t, seed, n);
    t.doing("the second run");
    t.check(trace_of(t, seed, n) == first, "two runs of one seed differ");
  }
}

CONFORM_CASE(T, 81, virtual, knows_one_time_alone) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
  const Plugin loaded(t, false);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Calls::forget();
  trace_of(t, 1, 500);
  for (const Calls::Seen &s : Calls::seen())
    if (s.kind == Calls::kClock || s.kind == Calls::kThread || s.kind == Calls::kChance)
      t.check(false, "it says CONSORT_PF_VIRTUAL and calls %s (%llu times, last from %s)", s.name.c_str(),
              static_cast<unsigned long long>(s.count), s.function.empty() ? "a control call" : s.function.c_str());
}

CONFORM_CASE(T, 82, virtual, next_event_is_not_late) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
  World w(t, 2, 5);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  const auto next = [&](Rank &r) {
    const Inside inside(Tag::kQueue, "next_event");
    return r.ops().next_event(r.raw());
  };
  w.idle();
  t.check(next(w.b()) == CONSORT_NEVER || next(w.b()) > w.b().host().now(),
          "next_event() of a rank with nothing to tell is now, or over");
  Block from(50'000, 1), to(50'000, 0);
  for (uint64_t n : {8u, 50'000u}) {
    const uint64_t r = w.post(w.b(), receive_of(w.a().number(), to.addr(), n, 1));
    const uint64_t s = w.post(w.a(), send_of(w.b().number(), from.addr(), n, 1));
    bool said = true;
    uint64_t steps = 0;
    for (; !w.b().end_of(r) && steps < 10'000; ++steps) {  // the waiting rank advances by next_event() alone
      const uint64_t a = next(w.a()), b = next(w.b()), at = std::min(a, b);
      said = at != CONSORT_NEVER;
      if (!t.check(said, "a message is under way, and neither rank's next_event() says when it comes")) return;
      for (Rank *rank : {&w.a(), &w.b()})
        if (rank->host().now() < at) rank->host().set_virtual(at);
      w.a().poll();
      if (!w.is_alone()) w.b().poll();
    }
    t.need(w.b().end_of(r), "a message has not come at the time that next_event() says");
    w.end(w.a(), s);
  }
}

CONFORM_CASE(T, 90, perf, a_message_costs_little) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  Block from(1 << 20, 1), to(1 << 20, 0);
  for (const uint64_t n : {uint64_t{8}, uint64_t{1} << 20}) {
    double best = 1e18;
    for (int tries = 0; tries < 4; ++tries) {
      const uint64_t rounds = n == 8 ? t.scaled(500, 5000) : t.scaled(5, 50);
      const double began = computed_ns();
      for (uint64_t i = 0; i < rounds; ++i) {
        const uint64_t r = w.post(w.b(), receive_of(w.a().number(), to.addr(), n, 1));
        const uint64_t s = w.post(w.a(), send_of(w.b().number(), from.addr(), n, 1));
        w.end(w.b(), r), w.end(w.a(), s);
      }
      best = std::min(best, (computed_ns() - began) / static_cast<double>(rounds));
    }
    t.figure("a message of %llu bytes, posted, received and told: %.0f ns", static_cast<unsigned long long>(n), best);
    if (n == 8) t.check(best < (CONSORT_SAN ? 4e6 : 200e3), "a message of 8 bytes takes %.0f ns of computing", best);
  }
}

}  // namespace conform
