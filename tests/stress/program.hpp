// program.hpp — a random program over data and tasks, together with its expected result. The oracle runs it step by
// step while it is made. So each step knows the values that it sees and leaves, and its end.
//
// A program belongs to one submitting thread. Several run side by side on one runtime, each on data of its own, and
// meet on a pair of shared counters. Tasks read the plan, and write only their own marks in it.
#pragma once
#include <array>
#include <deque>
#include <random>

#include "api/harness.hpp"

namespace stress {

using namespace consort_test;

inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Shape {
  int steps = 400, data = 12;
  int fail_per_mille = 0, nest_percent = 10, wait_percent = 0, pause_percent = 10;
  uint32_t workers = 2;
};

struct Use {
  int datum;
  uint32_t mode;
};

struct Step {
  enum Kind { kTask, kEnter, kWait, kRenew, kShared } kind = kTask;
  std::vector<Use> uses;
  std::vector<int> after, children;
  int32_t priority = 0;
  uint32_t worker = CONSORT_NONE;
  int group = 0;
  bool fails = false, waits_for_children = false;
  uint32_t pause = 0;
  uint64_t left_by_entering = 0;
  bool poisoned = false;  // the datum, when it is unregistered
  // the oracle's predictions
  uint64_t sees = 0;
  bool runs = true;
  consort_status ends = CONSORT_OK;
  // observed values
  std::atomic<int> ran{0};
  std::atomic<bool> over{false};
  consort_task_id id{0};
  std::array<uint64_t, 2> shared{};  // kShared: the values of the counters
};

class Program {
 public:
  static constexpr int kGroups = 3;

  Program(uint64_t seed, const Shape &shape) : shape_(shape), random_(seed) {
    // The second half of the data are shadows: written by the children of tasks that write their original.
    for (int d = 0; d < 2 * shape.data; ++d) {
      auto &x = data_.emplace_back();
      x.n = d % 3 == 0 ? 1 : 1 + random_() % 40;
      x.homeless = d < shape.data && random_() % 4 == 0;
      x.written = !x.homeless;
      if (!x.homeless) x.home.assign(x.n, x.value = mix(seed + static_cast<uint64_t>(d)));
    }
    for (int s = 0; s < shape.steps; ++s) plan();
  }

  // Submits it all from the calling thread; errors go to the test.
  void run(consort_runtime *rt, const std::array<consort_data_id, 2> &shared) {
    rt_ = rt;
    shared_ = shared;
    codelet_ = codelet(rt, "step", body, CONSORT_NONE, this);
    const consort_vector_args pad{nullptr, 64, 8};
    const consort_data_desc d{sizeof d, 0, "vector", &pad, sizeof pad, "pad"};
    need(consort_register(rt, &d, &pad_), "register");
    for (int g = 1; g < kGroups; ++g) need(consort_group_create(rt, nullptr, &groups_[g]), "group");
    for (auto &x : data_) enroll(x);
    for (size_t s = 0; s < steps_.size(); ++s)
      if (!nested_[s]) perform(static_cast<int>(s));
  }

  // After everything has ended: compares the run with the oracle.
  void check(consort_runtime *rt) {
    for (size_t s = 0; s < steps_.size(); ++s) {
      Step &step = steps_[s];
      if (step.kind != Step::kTask && step.kind != Step::kShared) continue;
      if (step.ran != (step.runs ? 1 : 0))
        complain(s, "ran " + std::to_string(step.ran) + " times, should " + std::to_string(step.runs));
      if (step.id.v && (s % 7 == 0 || step.ends < 0)) {
        const Answer a(consort_task_wait(rt, step.id, 0, 0));
        if (a.status != step.ends)
          complain(s, std::string("ended with ") + consort_status_name(a.status) + " (" + a.text + "), should " +
                          consort_status_name(step.ends));
      }
    }
    uint64_t last[2] = {0, 0};
    bool first = true;
    for (const Step &step : steps_) {
      if (step.kind != Step::kShared) continue;
      for (int k = 0; k < 2; ++k) {
        if (!first && step.shared[k] <= last[k])
          complain(0, "the order of one thread's writes to a shared datum was not kept");
        last[k] = step.shared[k];
      }
      if (step.shared[0] != step.shared[1])
        complain(0, "a task came in another order on one shared datum than on the other");
      first = false;
    }
    for (size_t d = 0; d < data_.size(); ++d) {
      Datum &x = data_[d];
      const consort_status s = consort_unregister(rt, x.id);  // of a poisoned datum: the failure
      if ((s < 0) != x.poisoned) complain(0, "unregister answered " + std::to_string(s) + ": " + consort_error());
      if (x.homeless || !x.written || x.poisoned || x.home.empty()) continue;
      for (const uint64_t v : x.home)
        if (v != x.value) {
          complain(0, "datum " + std::to_string(d) + " is left with another value than it should have");
          break;
        }
    }
    need(consort_unregister(rt, pad_), "unregister");
    for (int g = 1; g < kGroups; ++g) {
      (void)consort_group_wait(rt, groups_[g], kLong, 0);
      need(consort_group_destroy(rt, groups_[g]), "destroy");
    }
    need(consort_codelet_remove(rt, codelet_), "remove");
  }
  int shared_steps() const {
    int n = 0;
    for (const Step &s : steps_) n += s.kind == Step::kShared;
    return n;
  }
  int complaints() const { return complaints_; }
  std::string first_complaint() const {
    std::lock_guard lock(mutex_);
    return first_complaint_;
  }

 private:
  struct Datum {
    uint64_t n = 1, value = 0;
    bool homeless = false, written = true, poisoned = false;
    std::vector<uint64_t> home;
    consort_data_id id{0};
    std::atomic<int> inside{0};  // readers; a writer: kWriter
  };
  static constexpr int kWriter = 1 << 20;

  // -- the oracle ---------------------------------------------------------------------------------------------------

  uint32_t chance(uint32_t percent) { return random_() % 100 < percent; }
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void plan() {
    const int dice = pick(100);
    Step &step = steps_.emplace_back();
    nested_.push_back(false);
    const auto self = static_cast<int>(steps_.size()) - 1;
    if (dice < 3) plan_enter(step, self);
    else if (dice < 4) step.kind = Step::kWait;
    else if (dice < 6) plan_renewal(step);
    else if (dice < 12) step.kind = Step::kShared;
    else plan_task(step, self);
  }

  void plan_task(Step &step, int self) {
    step.priority = pick(4) ? 0 : pick(7) - 3;
    if (chance(5)) step.worker = static_cast<uint32_t>(pick(static_cast<int>(shape_.workers)));
    step.group = pick(kGroups);
    step.pause = chance(static_cast<uint32_t>(shape_.pause_percent)) ? static_cast<uint32_t>(pick(2000)) : 0;
    const int n = chance(3) ? 5 + pick(shape_.data - 5) : pick(5);
    std::vector<int> order(static_cast<size_t>(shape_.data));
    for (int i = 0; i < shape_.data; ++i) order[static_cast<size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (int i = 0; i < n && i < shape_.data; ++i) {
      const int d = order[static_cast<size_t>(i)];
      uint32_t mode = chance(45) ? CONSORT_M_R : chance(70) ? CONSORT_M_RW : CONSORT_M_W;
      if (!data_[static_cast<size_t>(d)].written) mode = CONSORT_M_W;
      step.uses.push_back({d, mode});
      if (mode == CONSORT_M_R && chance(5)) step.uses.push_back({d, CONSORT_M_R});
    }
    if (chance(10))
      step.uses.insert(step.uses.begin() + pick(static_cast<int>(step.uses.size()) + 1), {-1, CONSORT_M_SCRATCH});
    for (int k = chance(15) ? 1 + pick(3) : 0; k > 0 && self > 0; --k) {
      const int p = self - 1 - pick(std::min(self, 40));
      if (steps_[static_cast<size_t>(p)].kind == Step::kTask && !nested_[static_cast<size_t>(p)])
        step.after.push_back(p);
    }
    step.fails = pick(1000) < shape_.fail_per_mille;
    judge(step, self);
    if (step.runs && !step.fails && chance(static_cast<uint32_t>(shape_.nest_percent))) plan_children(self);
  }

  // The values that it sees, whether it runs, the values that it leaves.
  void judge(Step &step, int self) {
    bool doomed = false;
    for (const int p : step.after) doomed |= steps_[static_cast<size_t>(p)].ends < 0;
    for (const Use &u : step.uses)
      if (u.datum >= 0 && u.mode & CONSORT_M_R) doomed |= at(u).poisoned;
    step.runs = !doomed;
    step.ends = doomed ? CONSORT_E_POISONED : step.fails ? CONSORT_E_IO : CONSORT_OK;
    uint64_t seen = mix(static_cast<uint64_t>(self));
    for (const Use &u : step.uses)
      if (u.datum >= 0 && u.mode & CONSORT_M_R) seen = mix(seen ^ at(u).value);
    step.sees = seen;
    for (size_t k = 0; k < step.uses.size(); ++k) {
      const Use &u = step.uses[k];
      if (u.datum < 0 || !(u.mode & CONSORT_M_W)) continue;
      at(u).poisoned = step.ends < 0;
      at(u).value = mix(seen + k);
      at(u).written = true;
    }
  }

  void plan_children(int parent) {
    std::vector<int> shadows;
    for (const Use &u : steps_[static_cast<size_t>(parent)].uses)
      if (u.datum >= 0 && u.mode & CONSORT_M_W) shadows.push_back(u.datum + shape_.data);
    const int n = 1 + pick(3);
    for (int i = 0; i < n; ++i) {
      Step &child = steps_.emplace_back();
      nested_.push_back(true);
      const auto self = static_cast<int>(steps_.size()) - 1;
      for (const int s : shadows)
        if (chance(60)) child.uses.push_back({s, chance(30) ? CONSORT_M_R : CONSORT_M_RW});
      child.priority = pick(3);
      judge(child, self);
      steps_[static_cast<size_t>(parent)].children.push_back(self);
    }
    steps_[static_cast<size_t>(parent)].waits_for_children = chance(static_cast<uint32_t>(shape_.wait_percent));
  }

  void plan_enter(Step &step, int self) {
    step.kind = Step::kEnter;
    const int d = pick(shape_.data);
    Datum &x = data_[static_cast<size_t>(d)];
    const uint32_t mode = !x.written ? CONSORT_M_W : chance(60) ? CONSORT_M_R : CONSORT_M_RW;
    step.uses.push_back({d, mode});
    step.ends = mode & CONSORT_M_R && x.poisoned ? CONSORT_E_POISONED : CONSORT_OK;
    step.sees = x.value;
    if (step.ends < 0 || !(mode & CONSORT_M_W)) return;
    step.left_by_entering = x.value = mix(static_cast<uint64_t>(self) + 77);
    x.written = true;
    x.poisoned = false;
  }

  void plan_renewal(Step &step) {
    step.kind = Step::kRenew;
    const int d = pick(shape_.data);
    Datum &x = data_[static_cast<size_t>(d)];
    step.poisoned = x.poisoned;
    step.uses.push_back({d, chance(50) ? uint32_t{CONSORT_M_RW}
                                       : uint32_t{CONSORT_M_W}});  // RW: unregister and register; W: invalidate
    if (step.uses[0].mode == CONSORT_M_W) {
      x.written = false;
      x.poisoned = false;
    } else if (x.homeless) {
      x.written = false;
      x.poisoned = false;
    } else {
      // After another registration the memory's contents are arbitrary: the step itself sets them.
      step.left_by_entering = x.value = mix(x.value + 5);
      x.written = true;
      x.poisoned = false;
    }
  }

  // -- the runtime --------------------------------------------------------------------------------------------------

  Datum &at(const Use &u) { return data_[static_cast<size_t>(u.datum)]; }

  void enroll(Datum &x) { x.id = vector_of(rt_, x.homeless ? nullptr : x.home.data(), x.n, sizeof(uint64_t)); }

  consort_status send(int s) {
    Step &step = steps_[static_cast<size_t>(s)];
    Desc d(codelet_);
    for (const Use &u : step.uses) d.use(u.datum < 0 ? pad_ : at(u).id, u.mode);
    if (step.kind == Step::kShared)
      d.rw(shared_[static_cast<size_t>(s) % 2]).rw(shared_[1 - static_cast<size_t>(s) % 2]);
    for (const int p : step.after) d.then(steps_[static_cast<size_t>(p)].id);
    d.arg(s).priority(step.priority).on(step.worker).in(groups_[step.group]);
    if (nested_[static_cast<size_t>(s)]) d.in({0});
    return d.to(rt_, &step.id);
  }

  void perform(int s) {
    Step &step = steps_[static_cast<size_t>(s)];
    switch (step.kind) {
      case Step::kTask:
      case Step::kShared:
        need(send(s), "submit");
        break;
      case Step::kWait:
        (void)consort_group_wait(rt_, groups_[1 + s % (kGroups - 1)], kLong, s & 1);
        break;
      case Step::kEnter: {
        Datum &x = at(step.uses[0]);
        consort_hold hold{};
        const Answer a(consort_acquire(rt_, x.id, step.uses[0].mode, kLong, &hold));
        if (a.status != step.ends)
          complain(static_cast<size_t>(s),
                   std::string("acquire answered ") + consort_status_name(a.status) + ": " + a.text);
        if (a.status < 0) break;
        auto *v = static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
        for (uint64_t i = 0; i < x.n; ++i) {
          if (step.uses[0].mode & CONSORT_M_R && v[i] != step.sees) {
            complain(static_cast<size_t>(s), "acquire saw another value than it should have");
            break;
          }
        }
        if (step.uses[0].mode & CONSORT_M_W) std::fill(v, v + x.n, step.left_by_entering);
        need(consort_release(rt_, hold), "release");
        break;
      }
      case Step::kRenew: {
        Datum &x = at(step.uses[0]);
        if (step.uses[0].mode == CONSORT_M_W) {
          need(consort_invalidate(rt_, x.id), "invalidate");
        } else {
          if ((consort_unregister(rt_, x.id) < 0) != step.poisoned)
            complain(0, std::string("unregister did not tell whether the datum was poisoned: ") + consort_error());
          if (!x.homeless) x.home.assign(x.n, step.left_by_entering);
          enroll(x);
        }
        break;
      }
    }
  }

  static consort_status body(const consort_call *call) {
    auto *self = static_cast<Program *>(call->user);
    return self->enact(*call, value<int>(*call, 0));
  }

  consort_status enact(const consort_call &call, int s) {
    Step &step = steps_[static_cast<size_t>(s)];
    const auto at_step = static_cast<size_t>(s);
    if (++step.ran != 1) complain(at_step, "ran twice");
    if (step.worker != CONSORT_NONE && call.worker != step.worker)
      complain(at_step, "ran on another worker than it was bound to");
    for (const int p : step.after)
      if (!steps_[static_cast<size_t>(p)].over)
        complain(at_step, "ran before step " + std::to_string(p) + ", which it comes after");
    if (step.kind == Step::kShared) {
      auto *a = pointer<uint64_t>(call, 0), *b = pointer<uint64_t>(call, 1);
      step.shared = {++*a, ++*b};
      step.over = true;
      return CONSORT_OK;
    }
    for (const Use &u : step.uses) enter(u, at_step);
    uint64_t seen = mix(at_step);
    for (size_t k = 0; k < step.uses.size(); ++k) {
      const Use &u = step.uses[k];
      auto *v = pointer<uint64_t>(call, static_cast<uint32_t>(k));
      if (u.datum < 0) std::fill(v, v + 64, mix(at_step));
      if (u.datum < 0 || !(u.mode & CONSORT_M_R)) continue;
      for (uint64_t i = 1; i < at(u).n; ++i)
        if (v[i] != v[0]) {
          complain(at_step, "saw a half-written datum");
          break;
        }
      seen = mix(seen ^ v[0]);
    }
    if (seen != step.sees) complain(at_step, "saw other values than it should have");
    for (uint32_t i = 0; i < step.pause; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    for (size_t k = 0; k < step.uses.size(); ++k) {
      const Use &u = step.uses[k];
      auto *v = pointer<uint64_t>(call, static_cast<uint32_t>(k));
      if (u.datum < 0) {
        for (int i = 0; i < 64; ++i)
          if (v[i] != mix(at_step)) {
            complain(at_step, "another task wrote to its scratch memory");
            break;
          }
      } else if (u.mode & CONSORT_M_W) {
        std::fill(v, v + at(u).n, mix(seen + k));
      }
    }
    for (const int c : step.children) need(send(c), "submit inside a task");
    if (step.waits_for_children)
      for (const int c : step.children) {
        need(consort_task_wait(rt_, steps_[static_cast<size_t>(c)].id, kLong, 0), "wait inside a task");
        if (!steps_[static_cast<size_t>(c)].over) complain(at_step, "its wait for a child ended before the child");
      }
    for (const Use &u : step.uses) leave(u);
    step.over = true;
    return step.fails ? consort_fail(CONSORT_E_IO, "planned") : CONSORT_OK;
  }

  void enter(const Use &u, size_t s) {
    if (u.datum < 0) return;
    const int before = at(u).inside.fetch_add(u.mode & CONSORT_M_W ? kWriter : 1);
    if (u.mode & CONSORT_M_W ? before != 0 : before >= kWriter) complain(s, "was not alone with its written data");
  }
  void leave(const Use &u) {
    if (u.datum >= 0) at(u).inside.fetch_sub(u.mode & CONSORT_M_W ? kWriter : 1);
  }

  void complain(size_t step, const std::string &what) {
    ++complaints_;
    std::lock_guard lock(mutex_);
    if (first_complaint_.empty()) first_complaint_ = "step " + std::to_string(step) + ": " + what;
  }

  const Shape shape_;
  std::mt19937_64 random_;
  std::deque<Step> steps_;
  std::vector<bool> nested_;
  std::deque<Datum> data_;
  consort_runtime *rt_ = nullptr;
  consort_codelet_id codelet_{0};
  consort_data_id pad_{0};
  std::array<consort_data_id, 2> shared_{};
  consort_group_id groups_[kGroups] = {};
  std::atomic<int> complaints_{0};
  mutable std::mutex mutex_;
  std::string first_complaint_;
};

}  // namespace stress
