// model_asking.hpp — a policy that queries each pushed task and records the answers, and a runtime for tests that uses
// it.
#pragma once
#define CONSORT_STATIC_PLUGIN
#include <consort/model.h>
#include <consort/scheduler.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "api/harness.hpp"
#include "support/policy_plugin.hpp"

namespace {

using namespace consort_test;

struct Notes {
  std::mutex mutex;
  std::deque<consort_task *> waiting;
  const consort_host *host = nullptr;
  const consort_sched_host *sched = nullptr;
  uint64_t epoch = 0;
  uint32_t nworkers = 0, ask_impl = CONSORT_NONE;
  bool ask = true;
  std::vector<std::vector<float>> times, energies;  // by push, by worker
  std::vector<float> loads;                         // when it was last asked
  std::set<uint64_t> popped;                        // tasks
  int again = 0, unsaid = 0;                        // pushed though they were popped before; and that was not said
} notes;

using Lock = std::lock_guard<std::mutex>;

void ask_all(const consort_task *const *tasks, uint32_t n) {
  std::vector<uint32_t> w(notes.nworkers);
  for (uint32_t i = 0; i < w.size(); ++i) w[i] = i;
  std::vector<float> times(size_t{n} * w.size()), energies(times.size());
  notes.loads.assign(w.size(), 0);
  notes.sched->expected_ns(notes.host, tasks, n, w.data(), notes.nworkers, notes.ask_impl, times.data());
  notes.sched->energy_uj(notes.host, tasks, n, w.data(), notes.nworkers, notes.ask_impl, energies.data());
  notes.sched->load_ns(notes.host, w.data(), notes.nworkers, notes.loads.data());
  for (uint32_t t = 0; t < n; ++t) {
    notes.times.emplace_back(times.begin() + t * w.size(), times.begin() + (t + 1) * w.size());
    notes.energies.emplace_back(energies.begin() + t * w.size(), energies.begin() + (t + 1) * w.size());
  }
}

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops),
    .flags = CONSORT_SF_NO_BYPASS,
    .create = [](void *, const consort_host *host, const consort_topology *t, uint64_t epoch,
                 void **out) -> consort_status {
      const Lock lock(notes.mutex);
      notes.host = host;
      notes.sched = static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID));
      notes.nworkers = t->nworkers;
      notes.epoch = epoch;
      *out = &notes;
      return CONSORT_OK;
    },
    .destroy = [](void *) {},
    .workers = [](void *, const consort_topology *, const uint32_t *, uint32_t, const uint32_t *,
                  uint32_t) -> consort_status { return CONSORT_OK; },
    .push = [](void *, const consort_push *p) -> uint32_t {
      const Lock lock(notes.mutex);
      if (p->epoch != notes.epoch) return 0;
      if (notes.ask) ask_all(p->ready, p->n);
      for (uint32_t i = 0; i < p->n; ++i) {
        const bool again = notes.popped.count(p->ready[i]->id);
        notes.again += again;
        notes.unsaid += again && !(p->flags & CONSORT_PUSH_RETRIED);
        notes.waiting.push_back(p->ready[i]);
        for (uint32_t w = 0; p->wake && w < notes.nworkers; ++w) p->wake->bits[0] |= uint64_t{1} << w, ++p->wake->k;
      }
      return p->n;
    },
    .pop = [](void *, uint32_t worker, consort_pick *out, uint32_t) -> uint32_t {
      const Lock lock(notes.mutex);
      for (auto i = notes.waiting.begin(); i != notes.waiting.end(); ++i) {
        uint64_t can = 0;
        notes.sched->can_execute(notes.host, &*i, 1, &worker, 1, &can);
        if (!can) continue;
        *out = {*i, CONSORT_NONE, CONSORT_NONE};
        notes.popped.insert((*i)->id);
        notes.waiting.erase(i);
        return 1;
      }
      return 0;
    },
    .drain = [](void *, uint64_t epoch, consort_task **out, uint32_t max) -> uint32_t {
      const Lock lock(notes.mutex);
      notes.epoch = epoch;
      uint32_t n = 0;
      for (; n < max && !notes.waiting.empty(); notes.waiting.pop_front()) out[n++] = notes.waiting.front();
      return n;
    },
    .quiesce = [](void *, uint64_t) -> consort_status { return CONSORT_OK; },
    .submitted = nullptr,
    .adopt = nullptr,
    .dropped = nullptr,
    .started = nullptr,
    .finished = nullptr,
    .flush = nullptr,
    .urgency = nullptr,
    .victim = nullptr,
    .next_event = nullptr,
    .direct = nullptr,
};

constexpr uint32_t kFlags = CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL;
constexpr consort_plugin plugin = consort_test::policy_plugin("asks", "asks what tasks take", ops, kFlags);
CONSORT_MODULE(asks, SCHEDULER, kFlags, "asks", "1.0", plugin);

struct Rows {
  struct One {
    std::string name, klass, impl, arch;
    consort_model_row row;
  };
  std::vector<One> all;
  explicit Rows(consort_runtime *rt, consort_codelet_id c = {0}) {
    EXPECT_OK(consort_model_rows(rt, c, [](void *user, const consort_model_row *r) {
      static_cast<Rows *>(user)->all.push_back({r->name, r->klass, r->impl, r->arch, *r});
    }, this));
  }
};

class Models : public ::testing::Test {
 protected:
  void begin(const Pairs &more, bool ask = true) {
    {
      const Lock lock(notes.mutex);
      notes.waiting.clear();
      notes.popped.clear();
      notes.again = notes.unsaid = 0;
      notes.times.clear(), notes.energies.clear(), notes.loads.clear();
      notes.ask = ask;
      notes.ask_impl = CONSORT_NONE;
    }
    Pairs pairs = {{"scheduler", "asks"}, {"keep_models", "no"}};
    if (std::none_of(more.begin(), more.end(), [](const auto &s) { return std::string(s.key) == "drivers"; })) {
      pairs.push_back({"cpu.topology", kFourCores});
      pairs.push_back({"workers", "1"});
    }
    pairs.insert(pairs.end(), more.begin(), more.end());
    static consort_entry_fn *const entries[] = {CONSORT_ENTRY_NAME(asks)};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.modules = entries;
    s.nmodules = 1;
    need(consort_start(&s, &rt_), "start");
  }
  void TearDown() override { stop(); }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  void run(Desc d, int times = 1) {
    for (int i = 0; i < times; ++i) d.must(rt_);
    EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  }
  consort_status expected(Desc &d, double *out, uint32_t worker = 0, uint32_t impl = CONSORT_NONE,
                          uint32_t what = CONSORT_MODEL_TIME) {
    return consort_expected(rt_, d.desc(), worker, impl, what, out);
  }
  consort_status feed(Desc &d, double x, uint32_t worker = 0, uint32_t impl = CONSORT_NONE,
                      uint32_t what = CONSORT_MODEL_TIME) {
    return consort_model_feed(rt_, d.desc(), worker, impl, what, x);
  }
  static std::vector<float> last_times() {
    const Lock lock(notes.mutex);
    return notes.times.empty() ? std::vector<float>() : notes.times.back();
  }

  Bodies body_;
  consort_runtime *rt_ = nullptr;
};

Body nap(std::chrono::microseconds time) {
  return [time](const consort_call &) { return std::this_thread::sleep_for(time), CONSORT_OK; };
}

}  // namespace
