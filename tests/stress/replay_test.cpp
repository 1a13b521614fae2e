// replay_test.cpp — random recorded programs, replayed and changed among ordinary tasks on the same data. The oracle
// does each step at once, in the order of submission. Under each policy, with one to four workers.
//
// Several threads may submit side by side, each with data, recordings and an oracle of its own.
#include <random>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

constexpr uint32_t kCommute = CONSORT_M_RW | CONSORT_M_COMMUTE;

struct Use { uint32_t datum, mode; };
struct Step {
  std::vector<Use> uses;
  uint64_t value = 0;
  int32_t priority = 0;
  uint32_t worker = CONSORT_NONE;
  std::vector<uint32_t> after;
  bool empty = false;
};

// The effect of a task on its data; commutative data are added to, and their values are not checked.
template <class Get, class Set>
void perform(uint64_t seed, size_t n, const uint32_t *modes, Get get, Set set) {
  uint64_t seen = seed;
  for (size_t i = 0; i < n; ++i)
    if (modes[i] == CONSORT_M_R || modes[i] == CONSORT_M_RW) seen = mix(seen ^ get(i));
  for (size_t i = 0; i < n; ++i) {
    if (modes[i] == kCommute) set(i, get(i) + mix(seed + i));
    else if (modes[i] & CONSORT_M_W) set(i, mix(seen + i));
  }
}

class Program {
 public:
  Program(consort_runtime *rt, uint64_t seed, uint32_t workers) : rt_(rt), random_(seed), workers_(workers) {
    const auto n = static_cast<uint32_t>(2 + random_() % 12);
    cells_.resize(2 * n);
    for (uint32_t i = 0; i < 2 * n; ++i) {
      cells_[i] = mix(seed + i);
      data_.push_back(variable_of(rt, &cells_[i]));
    }
    oracle_ = cells_;
    for (uint32_t i = 0; i < n; ++i) used_.push_back(i);  // the rest stand ready to take a place
    for (uint32_t i = n; i < 2 * n; ++i) spare_.push_back(i);
    body_ = codelet(rt, "step", [](const consort_call *c) {
      uint32_t modes[8];
      for (uint32_t i = 0; i < c->nviews; ++i) modes[i] = static_cast<uint32_t>(c->args[1].scalar >> (8 * i) & 0xff) == 0xff ? kCommute : static_cast<uint32_t>(c->args[1].scalar >> (8 * i) & 0xff);
      if (c->args[0].scalar % 16 == 0) std::this_thread::yield();
      perform(c->args[0].scalar, c->nviews, modes, [&](size_t i) { return *pointer<uint64_t>(*c, static_cast<uint32_t>(i)); },
              [&](size_t i, uint64_t v) { *pointer<uint64_t>(*c, static_cast<uint32_t>(i)) = v; });
      return consort_status{CONSORT_OK};
    });
  }
  void run(int actions) {
    for (int a = 0; a < actions; ++a) act();
    for (auto &r : recordings_)
      if (random_() % 2 || full()) need(consort_recording_destroy(rt_, r.id), "destroy");
    for (size_t i = 0; i < data_.size(); ++i) need(consort_unregister(rt_, data_[i]), "unregister");
    for (size_t i = 0; i < cells_.size(); ++i) EXPECT_EQ(cells_[i], oracle_[i]) << "datum " << i;
  }

 private:
  struct Recorded {
    consort_recording_id id;
    std::vector<Step> steps;
    bool waits = false;  // its last replay may be under way
    consort_task_id last{0};
  };

  Step plan(size_t before) {
    Step s;
    s.value = random_();
    s.empty = random_() % 20 == 0;
    const size_t n = random_() % 5;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t d = used_[random_() % used_.size()];
      bool fresh = true;
      for (const Use &u : s.uses) fresh &= u.datum != d;
      const uint32_t modes[] = {CONSORT_M_R, CONSORT_M_R, CONSORT_M_RW, CONSORT_M_W, kCommute};
      if (fresh) s.uses.push_back({d, modes[random_() % 5]});
    }
    if (random_() % 4 == 0) s.priority = static_cast<int32_t>(random_() % 7) - 3;
    if (random_() % 8 == 0) s.worker = static_cast<uint32_t>(random_() % workers_);
    if (before && random_() % 5 == 0) s.after.push_back(static_cast<uint32_t>(random_() % before));
    return s;
  }
  consort_task_id submit(const Step &s, const std::vector<consort_task_id> &ids) {
    Desc d(s.empty ? consort_codelet_id{0} : body_);
    uint64_t modes = 0;
    for (size_t i = 0; i < s.uses.size(); ++i) {
      d.use(data_[s.uses[i].datum], s.uses[i].mode);
      modes |= uint64_t{s.uses[i].mode == kCommute ? 0xff : s.uses[i].mode} << (8 * i);
    }
    d.arg(s.value).arg(modes).priority(s.priority).on(s.worker);
    for (const uint32_t a : s.after) d.then(ids[a]);
    return d.must(rt_);
  }
  void follow(const Step &s) {  // the oracle
    if (s.empty) return;
    uint32_t modes[8];
    for (size_t i = 0; i < s.uses.size(); ++i) modes[i] = s.uses[i].mode;
    perform(s.value, s.uses.size(), modes, [&](size_t i) { return oracle_[s.uses[i].datum]; },
            [&](size_t i, uint64_t v) { oracle_[s.uses[i].datum] = v; });
  }

  void act() {
    switch (random_() % 12) {
      case 0:
        if (recordings_.size() < 5) return record();
        [[fallthrough]];
      case 1: case 2: case 3: case 4: case 5: {
        if (recordings_.empty()) return record();
        Recorded &r = recordings_[random_() % recordings_.size()];
        for (uint64_t k = 1 + (random_() % 4 ? 0 : random_() % 20); k-- > 0;) {
          need(consort_replay(rt_, r.id, {0}, &r.last), "replay");
          r.waits = true;
          for (const Step &s : r.steps) follow(s);
        }
        return;
      }
      case 6: case 7: case 8:
        for (uint64_t k = random_() % 6; k-- > 0;) {
          const Step s = plan(0);
          submit(s, {});
          follow(s);
        }
        return;
      case 9: {
        const uint32_t d = used_[random_() % used_.size()];
        consort_hold h{};
        need(consort_acquire(rt_, data_[d], CONSORT_M_RW, CONSORT_FOREVER, &h), "acquire");
        EXPECT_EQ(cells_[d], oracle_[d]) << "acquired datum " << d;
        cells_[d] = oracle_[d] = random_();
        need(consort_release(rt_, h), "release");
        return;
      }
      case 10: return change();
      default: return destroy();
    }
  }
  void record() {
    Recorded r;
    const bool only = random_() % 2;
    need(consort_record_begin(rt_, only ? CONSORT_RECORD_ONLY : 0), "record_begin");
    std::vector<consort_task_id> ids;
    for (uint64_t n = random_() % 40; n-- > 0;) {
      r.steps.push_back(plan(r.steps.size()));
      ids.push_back(submit(r.steps.back(), ids));
      if (!only) follow(r.steps.back());
    }
    need(consort_record_end(rt_, &r.id), "record_end");
    recordings_.push_back(std::move(r));
  }
  void change() {
    if (recordings_.empty()) return;
    Recorded &r = recordings_[random_() % recordings_.size()];
    if (r.steps.empty()) return;
    if (r.waits) need(consort_task_wait(rt_, r.last, CONSORT_FOREVER, 0), "task_wait");
    r.waits = false;
    const auto t = static_cast<uint32_t>(random_() % r.steps.size());
    Step &s = r.steps[t];
    if (random_() % 2) {
      s.value = random_();
      const consort_arg a = scalar(s.value);
      need(consort_recording_set_arg(rt_, r.id, t, 0, &a), "set_arg");
      need(consort_recording_set_priority(rt_, r.id, t, static_cast<int32_t>(random_() % 5)), "set_priority");
    } else if (!s.uses.empty()) {
      const uint32_t old = s.uses[0].datum;
      const auto at = random_() % spare_.size();
      const uint32_t now = spare_[at];
      for (const Step &other : r.steps)
        for (const Use &u : other.uses)
          if (u.datum == now) return;  // it is used already
      need(consort_recording_set_data(rt_, r.id, data_[old], data_[now]), "set_data");
      for (Step &other : r.steps)
        for (Use &u : other.uses)
          if (u.datum == old) u.datum = now;
    }
  }
  void destroy() {
    if (recordings_.empty() || random_() % 3) return;
    const auto at = static_cast<ptrdiff_t>(random_() % recordings_.size());
    need(consort_recording_destroy(rt_, recordings_[static_cast<size_t>(at)].id), "destroy");
    recordings_.erase(recordings_.begin() + at);
  }

  consort_runtime *rt_;
  std::mt19937_64 random_;
  uint32_t workers_;
  consort_codelet_id body_{0};
  std::vector<uint64_t> cells_, oracle_;
  std::vector<consort_data_id> data_;
  std::vector<uint32_t> used_, spare_;
  std::vector<Recorded> recordings_;
};

struct Mix { const char *scheduler; const char *workers; int submitters; };

class RandomReplays : public ::testing::TestWithParam<Mix> {};

TEST_P(RandomReplays, GiveTheOraclesValues) {
  const Mix &setup = GetParam();
  Rt rt({{"workers", setup.workers}, {"scheduler", setup.scheduler}, {"cpu.topology", kFourCores}});
  const int programs = full() ? 2000 : std::getenv("CONSORT_PROGRAMS") ? std::atoi(std::getenv("CONSORT_PROGRAMS")) : 30 / (brief() ? 3 : kSlow);
  const auto workers = static_cast<uint32_t>(std::atoi(setup.workers));
  for (int p = 0; p < programs && !HasFailure(); ++p) {
    std::vector<std::thread> others;
    const auto one = [&, p](int s) {
      const uint64_t seed = static_cast<uint64_t>(p) * 8 + static_cast<uint64_t>(s) + 1;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Program(rt, seed, workers).run(60);
    };
    for (int s = 1; s < setup.submitters; ++s) others.emplace_back(one, s);
    one(0);
    for (auto &t : others) t.join();
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

INSTANTIATE_TEST_SUITE_P(All, RandomReplays, ::testing::Values(
    Mix{"lws", "1", 1}, Mix{"lws", "2", 1}, Mix{"lws", "3", 2}, Mix{"lws", "4", 3}, Mix{"eager", "1", 1}, Mix{"eager", "2", 2},
    Mix{"prio", "1", 2}, Mix{"prio", "4", 1}),
    [](const auto &i) { return std::string(i.param.scheduler) + i.param.workers + "workers" + std::to_string(i.param.submitters) + "submitters"; });

}  // namespace
