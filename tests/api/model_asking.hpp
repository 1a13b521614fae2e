// model_asking.hpp — a policy that queries each pushed task and records the answers, and a runtime for tests that uses
// it.
#pragma once
#define CONSORT_STATIC_PLUGIN
#include <consort/model.h>
#include <consort/scheduler.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

struct Notes : Fifo {
  const consort_sched_host *sched = nullptr;
  uint32_t ask_impl = CONSORT_NONE;
  bool ask = true;
  std::vector<std::vector<float>> times, energies;  // by push, by worker
  std::vector<float> loads;                         // when it was last asked
  std::set<uint64_t> popped;                        // tasks
  int again = 0, unsaid = 0;                        // pushed though they were popped before; and that was not said
} notes;

using Lock = std::lock_guard<std::mutex>;

void ask_all(const consort_task *const *tasks, uint32_t n) {
  std::vector<uint32_t> w(notes.topology->nworkers);
  for (uint32_t i = 0; i < w.size(); ++i) w[i] = i;
  std::vector<float> times(size_t{n} * w.size()), energies(times.size());
  notes.loads.assign(w.size(), 0);
  notes.sched->expected_ns(notes.host, tasks, n, w.data(), notes.topology->nworkers, notes.ask_impl, times.data());
  notes.sched->energy_uj(notes.host, tasks, n, w.data(), notes.topology->nworkers, notes.ask_impl, energies.data());
  notes.sched->load_ns(notes.host, w.data(), notes.topology->nworkers, notes.loads.data());
  for (uint32_t t = 0; t < n; ++t) {
    notes.times.emplace_back(times.begin() + t * w.size(), times.begin() + (t + 1) * w.size());
    notes.energies.emplace_back(energies.begin() + t * w.size(), energies.begin() + (t + 1) * w.size());
  }
}

constexpr consort_scheduler_ops base = fifo_policy<notes>();
constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = base;
  o.flags = CONSORT_SF_NO_BYPASS;
  o.create = [](void *user, const consort_host *host, const consort_topology *t, uint64_t epoch, void **out) -> consort_status {
    notes.sched = static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID));
    return base.create(user, host, t, epoch, out);
  };
  o.push = [](void *, const consort_push *p) -> uint32_t {
    const Lock lock(notes.mutex);
    if (p->epoch != notes.epoch) return 0;
    if (notes.ask) ask_all(p->ready, p->n);
    for (uint32_t i = 0; i < p->n; ++i) {
      const bool again = notes.popped.count(p->ready[i]->id);
      notes.again += again;
      notes.unsaid += again && !(p->flags & CONSORT_PUSH_RETRIED);
    }
    return notes.accept(p);
  };
  o.pop = [](void *, uint32_t worker, consort_pick *out, uint32_t) -> uint32_t {
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
  };
  return o;
}();

constexpr uint32_t kFlags = CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL;
constexpr consort_plugin plugin = consort_test::policy_plugin("asks", "queries times of tasks", ops, kFlags);
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
    static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(asks);
    const consort_settings s = settings_with(pairs, entry);
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
  // nap: a time that is measured
  return [time](const consort_call &) { return std::this_thread::sleep_for(time), CONSORT_OK; };
}

}  // namespace
