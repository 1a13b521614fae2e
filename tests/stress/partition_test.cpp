// Random programs on random trees of plans, against a plain array: values only, for a wrong order shows in them.
//
// The places of a part's elements are read from a shadow. That is a datum of the same shape, divided by the same plans,
// whose elements are their positions. So the oracle knows no filter. With devices, parts lie in their memories too,
// which may be small, and copies may fail. Tasks may fail then, but the values that they see are right (FLT-02). The
// seed is printed with each failure. STRESS_SEED=N runs that seed alone in each configuration; CONSORT_FULL=1 runs
// many.
#include <consort/memory.h>

#include <deque>
#include <numeric>
#include <random>
#include <tuple>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

using Word = uint64_t;
Word mix(Word h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  return (h ^ (h >> 27)) * 0x94d049bb133111ebu;
}

enum class Kind : uint8_t { kVector, kMatrix, kNdim };

// Each element of a view, in one order.
template <class F>
void walk(Kind kind, const void *view, F f) {
  if (kind == Kind::kVector) {
    const auto &v = *static_cast<const consort_vector_view *>(view);
    for (uint64_t i = 0; i < v.n; ++i) f(static_cast<Word *>(consort_ptr(v.addr))[i]);
  } else if (kind == Kind::kMatrix) {
    const auto &v = *static_cast<const consort_matrix_view *>(view);
    for (uint64_t j = 0; j < v.ny; ++j)
      for (uint64_t i = 0; i < v.nx; ++i) f(static_cast<Word *>(consort_ptr(v.addr))[j * v.ld + i]);
  } else {
    const auto &v = *static_cast<const consort_ndim_view *>(view);
    uint64_t all = 1;
    for (uint64_t d = 0; d < v.dims; ++d) all *= v.n[d];
    for (uint64_t k = 0; k < all; ++k) {
      uint64_t rest = k, at = 0;
      for (uint64_t d = 0; d < v.dims; ++d) {
        at += rest % v.n[d] * v.step[d];
        rest /= v.n[d];
      }
      f(static_cast<Word *>(consort_ptr(v.addr))[at]);
    }
  }
}

struct Plan;
struct Node {
  consort_data_id id{0}, shadow{0};
  Kind kind = Kind::kVector;
  Plan *of = nullptr;
  int depth = 0;
  bool read_only = false, reduces = false;
  std::vector<uint32_t> at;  // of its elements, in the order of walk()
  std::vector<std::unique_ptr<Plan>> plans;
};
struct Plan {
  consort_plan_id id{0}, shadow{0};
  Node *whole = nullptr;
  std::vector<std::unique_ptr<Node>> parts;
};

struct Step {
  struct Use {
    Kind kind;
    uint32_t mode;
    Word sees;
  };
  std::vector<Use> uses;
  Word salt = 0;
  std::atomic<bool> wrong{false};
  consort_task_id task{0};
};

Word act(uint32_t mode, Kind kind, const void *view, Word salt) {
  Word seen = 1, k = 0;
  walk(kind, view, [&](Word &e) {
    if (mode == CONSORT_M_R || mode == CONSORT_M_RW) seen = mix(seen ^ e);
    if (mode == CONSORT_M_RW) e = mix(e ^ salt);
    if (mode == CONSORT_M_W) e = mix(salt + ++k);
    if (mode & (CONSORT_M_COMMUTE | CONSORT_M_REDUX)) e += salt;
  });
  return seen;
}
consort_status body(const consort_call *c) {
  Step &s = *reinterpret_cast<Step *>(c->args[0].scalar);
  for (uint32_t i = 0; i < s.uses.size(); ++i) {
    const auto &u = s.uses[i];
    const Word seen = act(u.mode, u.kind, c->views[i], s.salt);
    if ((u.mode == CONSORT_M_R || u.mode == CONSORT_M_RW) && seen != u.sees) s.wrong = true;
  }
  return CONSORT_OK;
}
Kind kind_of(const consort_call *c) { return static_cast<Kind>(reinterpret_cast<uintptr_t>(c->user)); }
consort_status zero(const consort_call *c) {
  walk(kind_of(c), c->views[0], [](Word &e) { e = 0; });
  return CONSORT_OK;
}
consort_status unite(const consort_call *c) {
  std::vector<Word> more;
  walk(kind_of(c), c->views[1], [&](Word &e) { more.push_back(e); });
  size_t k = 0;
  walk(kind_of(c), c->views[0], [&](Word &e) { e += more[k++]; });
  return CONSORT_OK;
}

struct Setup {
  const char *scheduler, *workers, *pump;
  int submitters;
  bool one_tree;
  enum Where : uint8_t { kCores, kDevices, kTight, kFaults } where = kCores;
};

class Program {
 public:
  Program(consort_runtime *rt, uint64_t seed, Setup::Where where) : rt_(rt), random_(seed), where_(where) {
    const consort_impl impls[] = {{"cpu", body, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", body, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    task_ = where_ == Setup::kCores ? codelet(rt, "step", body) : codelet_of(rt, "step", impls);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(rt, &info), "info");
    workers_ = info.nworkers;
    spaces_ = info.nspaces;
    for (uintptr_t k = 0; k < 3; ++k) {
      zero_[k] = codelet(rt, "zero", zero, 1, reinterpret_cast<void *>(k));
      unite_[k] = codelet(rt, "unite", unite, 2, reinterpret_cast<void *>(k));
    }
    const auto [kind, nx, ny, nz] = sizes(random_);
    root_.kind = kind;
    const uint64_t n = kind == Kind::kNdim ? nx * ny * nz : nx * ny;
    values_.resize(n);
    for (Word &v : values_) v = random_();
    homeless_ = chance(30);
    memory_ = values_;
    positions_.resize(n);
    std::iota(positions_.begin(), positions_.end(), 0);
    root_.at.resize(n);
    std::iota(root_.at.begin(), root_.at.end(), 0);
    root_.id = enroll(homeless_ ? nullptr : memory_.data(), nx, ny, nz);
    root_.shadow = enroll(positions_.data(), nx, ny, nz);
    if (homeless_) touch({{&root_, CONSORT_M_W}});
  }

  // The memory that two of its data take there at most.
  static uint64_t tight(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto [kind, nx, ny, nz] = sizes(random);
    constexpr uint64_t kGranule = 256;
    const uint64_t bytes = nx * ny * (kind == Kind::kNdim ? nz : 1) * sizeof(Word);
    return 2 * ((bytes + kGranule - 1) / kGranule * kGranule);
  }

  void step() {
    std::lock_guard lock(mutex_);
    const int what = pick(100);
    if (what < 10) divide();
    else if (what < 13) destroy();
    else if (what < 23) enter();
    else if (what < 24) wait();
    else if (what < 28 && where_ != Setup::kCores) wish();
    else submit();
  }

  void finish() {
    if (homeless_) {
      touch({{&root_, CONSORT_M_R}});
    } else if (chance(50)) {
      unregister_root();
      if (where_ != Setup::kFaults && memory_ != values_) ++wrong_;
      root_.id = {0};
    }
    wait();
    if (root_.id.v) unregister_root();
    if (!homeless_ && where_ != Setup::kFaults && memory_ != values_) ++wrong_;
    need(consort_unregister(rt_, root_.shadow), "unregister shadow");
    // A task that is issued early may run on unwritten data, and is refused then.
    for (const Step &s : steps_)
      if (s.wrong && (where_ != Setup::kFaults || consort_task_wait(rt_, s.task, kLong, 0) >= 0)) ++wrong_;
  }
  int wrong() const { return wrong_; }

 private:
  // Where copies may fail, the datum may be poisoned: then the call answers the failure, and unregisters.
  void unregister_root() {
    const consort_status s = consort_unregister(rt_, root_.id);
    if (where_ != Setup::kFaults || s == CONSORT_E_STALE || s == CONSORT_E_INVAL) need(s, "unregister");
  }

  struct Wish {
    Node *node;
    uint32_t mode;
  };

  static std::tuple<Kind, uint64_t, uint64_t, uint64_t> sizes(std::mt19937_64 &random) {
    const auto kind = static_cast<Kind>(random() % 3);
    const uint64_t nx = 1 + random() % 9, ny = 1 + random() % 9, nz = 1 + random() % 3;
    return {kind, nx, ny, nz};
  }
  void wait() {
    const consort_status s = consort_wait_all(rt_, kLong, 0);
    if (where_ != Setup::kFaults || s == CONSORT_E_TIMEOUT) need(s, "wait");
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }

  consort_data_id enroll(Word *p, uint64_t nx, uint64_t ny, uint64_t nz) {
    const consort_vector_args v{p, nx * ny, sizeof(Word)};
    const consort_matrix_args m{p, nx, ny, 0, sizeof(Word)};
    consort_ndim_args d{p, 3, {nx, ny, nz}, {}, sizeof(Word)};
    consort_data_desc desc{sizeof desc, 0, "vector", &v, sizeof v, nullptr};
    if (root_.kind == Kind::kMatrix) desc = {sizeof desc, 0, "matrix", &m, sizeof m, nullptr};
    if (root_.kind == Kind::kNdim) desc = {sizeof desc, 0, "ndim", &d, sizeof d, nullptr};
    consort_data_id id{0};
    need(consort_register(rt_, &desc, &id), "register");
    return id;
  }

  // -- the tree -------------------------------------------------------------------------------------------------------

  Node *any_node() {
    Node *n = &root_;
    while (!n->plans.empty() && !chance(25)) {
      Plan &p = *n->plans[static_cast<size_t>(pick(static_cast<int>(n->plans.size())))];
      n = p.parts[static_cast<size_t>(pick(static_cast<int>(p.parts.size())))].get();
    }
    return n;
  }

  void divide() {
    Node *n = any_node();
    if (n->depth == 3 || n->plans.size() == 3) return;
    const auto parts = static_cast<uint32_t>(1 + pick(5)), axis = static_cast<uint32_t>(pick(3));
    const consort_split split{parts, axis};
    const consort_tiles tiles{parts, 1 + axis};
    const consort_grid grid{{parts, 1 + axis, 2, 1, 1, 1, 1, 1}};
    const consort_halo halo{parts, axis, 1, 0};
    const consort_slices slices{axis, 0};
    struct Filter {
      Kind of;
      const char *name;
      const void *params;
      uint64_t bytes;
      Kind to;
    };
    using enum Kind;
    const Filter all[] = {
        {kVector, "blocks", &split, sizeof split, kVector}, {kVector, "halves", nullptr, 0, kVector},
        {kVector, "overlap", &halo, sizeof halo, kVector},  {kVector, "ndim_cyclic", &split, sizeof split, kNdim},
        {kMatrix, "rows", &split, sizeof split, kMatrix},   {kMatrix, "cols", &split, sizeof split, kMatrix},
        {kMatrix, "tiles", &tiles, sizeof tiles, kMatrix},  {kMatrix, "overlap", &halo, sizeof halo, kMatrix},
        {kMatrix, "slices", &slices, sizeof slices, kVector}, {kNdim, "blocks", &split, sizeof split, kNdim},
        {kNdim, "tiles", &grid, sizeof grid, kNdim},        {kNdim, "cyclic", &split, sizeof split, kNdim},
        {kNdim, "halves", nullptr, 0, kNdim},               {kNdim, "overlap", &halo, sizeof halo, kNdim},
    };
    const Filter *f;
    do f = &all[pick(static_cast<int>(std::size(all)))];
    while (f->of != n->kind);
    auto plan = std::make_unique<Plan>();
    const bool read_only = chance(10);
    consort_plan_desc d = CONSORT_PLAN_INIT;
    d.flags = read_only ? uint32_t{CONSORT_PLAN_READ_ONLY} : 0u;
    d.filter = f->name;
    d.params = f->params;
    d.params_bytes = f->bytes;
    const consort_status s = consort_plan_create(rt_, n->id, &d, &plan->id);
    if (s == CONSORT_E_INVAL) return;  // an axis that it lacks
    need(s, "plan");
    need(consort_plan_create(rt_, n->shadow, &d, &plan->shadow), "plan of the shadow");
    plan->whole = n;
    const auto count = static_cast<uint32_t>(consort_plan_parts(rt_, plan->id, nullptr, 0));
    std::vector<consort_data_id> ids(count), shadows(count);
    consort_plan_parts(rt_, plan->id, ids.data(), count);
    consort_plan_parts(rt_, plan->shadow, shadows.data(), count);
    for (uint32_t i = 0; i < count; ++i) {
      auto part = std::make_unique<Node>();
      part->id = ids[i];
      part->shadow = shadows[i];
      part->kind = f->to;
      part->of = plan.get();
      part->depth = n->depth + 1;
      part->read_only = n->read_only || read_only || std::string_view(f->name) == "overlap";
      consort_hold h{};
      need(consort_acquire(rt_, shadows[i], CONSORT_M_R, kLong, &h), "enter the shadow");
      walk(f->to, h.view, [&](Word &e) { part->at.push_back(static_cast<uint32_t>(e)); });
      need(consort_release(rt_, h), "leave the shadow");
      plan->parts.push_back(std::move(part));
    }
    n->plans.push_back(std::move(plan));
  }

  void destroy() {
    Node *n = any_node();
    if (!n->of) return;
    Plan *p = n->of;
    need(consort_plan_destroy(rt_, p->id), "destroy");
    need(consort_plan_destroy(rt_, p->shadow), "destroy the shadow's");
    std::erase_if(p->whole->plans, [&](const auto &q) { return q.get() == p; });
  }

  static bool may_meet(const Node *a, const Node *b) {
    std::vector<const Node *> above;
    for (const Node *n = a;; n = n->of->whole) {
      above.push_back(n);
      if (!n->of) break;
    }
    const Node *below = nullptr;
    for (const Node *n = b;; below = n, n = n->of->whole)
      for (size_t i = 0; i < above.size(); ++i)
        if (above[i] == n) return !below || !i || above[i - 1]->of != below->of;
  }

  // -- steps -----------------------------------------------------------------------------------------------------------

  uint32_t any_mode(const Node &n) {
    if (n.read_only) return CONSORT_M_R;
    const int what = pick(20);
    if (what < 7) return CONSORT_M_R;
    if (what < 9) return CONSORT_M_W;
    if (what < 11) return CONSORT_M_RW | CONSORT_M_COMMUTE;
    if (what < 13 && n.reduces) return CONSORT_M_REDUX | (chance(50) ? uint32_t{CONSORT_M_FIXED_TREE} : 0u);
    return CONSORT_M_RW;
  }

  void submit() {
    std::vector<Wish> wishes;
    bool refused = false;
    const int most = where_ == Setup::kTight || where_ == Setup::kFaults ? 2 : 6;
    for (int k = chance(60) ? 1 : 1 + pick(most); k > 0; --k) {
      Node *n = any_node();
      if (!n->reduces && chance(5)) {
        const auto kind = static_cast<size_t>(n->kind);
        need(consort_data_set_reduction(rt_, n->id, zero_[kind], unite_[kind]), "set_reduction");
        n->reduces = true;
      }
      const Wish w{n, any_mode(*n)};
      bool meets = false;
      for (const Wish &o : wishes) {
        if (o.node == n) meets = true;
        if ((w.mode | o.mode) & (CONSORT_M_W | CONSORT_M_REDUX) && may_meet(o.node, n)) meets = true;
      }
      if (meets && (chance(90) || std::any_of(wishes.begin(), wishes.end(), [&](const Wish &o) { return o.node == n; })))
        continue;
      refused |= meets;
      wishes.push_back(w);
    }
    if (refused) {
      Desc d(task_);
      for (const Wish &w : wishes) d.use(w.node->id, w.mode);
      if (d.arg(uint64_t{0}).to(rt_) != CONSORT_E_INVAL) ++wrong_;
      return;
    }
    touch(wishes);
  }

  void touch(const std::vector<Wish> &wishes) {
    Step &s = plan_step(wishes);
    Desc d(task_);
    for (const Wish &w : wishes) d.use(w.node->id, w.mode);
    if (where_ != Setup::kCores && chance(70)) d.on(static_cast<uint32_t>(pick(static_cast<int>(workers_))));
    s.task = d.arg(reinterpret_cast<uint64_t>(&s)).priority(pick(3)).must(rt_);
  }

  // Of the memories, which changes nothing but time.
  void wish() {
    Node *n = any_node();
    const auto space = static_cast<uint32_t>(pick(static_cast<int>(spaces_)));
    const int what = pick(n->read_only ? 2 : 3);
    if (what == 0) need(consort_prefetch(rt_, n->id, space, pick(3), 0, nullptr), "prefetch");
    if (what == 1) need(consort_wont_use(rt_, n->id), "wont_use");
    if (what == 2 && space) need(consort_evict(rt_, n->id, space), "evict");
  }

  void enter() {
    Node *n = any_node();
    const uint32_t mode = n->read_only || chance(60) ? CONSORT_M_R : CONSORT_M_RW;
    consort_hold h{};
    const consort_status entered = consort_acquire(rt_, n->id, mode, kLong, &h);
    if (entered < 0 && entered != CONSORT_E_TIMEOUT && where_ == Setup::kFaults) return;
    need(entered, "acquire");
    const Step &s = plan_step({{n, mode}});
    if (act(mode, n->kind, h.view, s.salt) != s.uses[0].sees) ++wrong_;
    need(consort_release(rt_, h), "release");
  }

  // The values that it will see and leave: by the plain array.
  Step &plan_step(const std::vector<Wish> &wishes) {
    Step &s = steps_.emplace_back();
    s.salt = random_();
    for (const Wish &w : wishes) {
      Word seen = 1, k = 0;
      for (const uint32_t at : w.node->at) {
        Word &e = values_[at];
        if (w.mode == CONSORT_M_R || w.mode == CONSORT_M_RW) seen = mix(seen ^ e);
        if (w.mode == CONSORT_M_RW) e = mix(e ^ s.salt);
        if (w.mode == CONSORT_M_W) e = mix(s.salt + ++k);
        if (w.mode & (CONSORT_M_COMMUTE | CONSORT_M_REDUX)) e += s.salt;
      }
      s.uses.push_back({w.node->kind, w.mode, seen});
    }
    return s;
  }

  consort_runtime *rt_;
  std::mt19937_64 random_;
  const Setup::Where where_;
  uint32_t workers_ = 0, spaces_ = 0;
  std::mutex mutex_;  // several threads may take turns
  consort_codelet_id task_{0}, zero_[3], unite_[3];
  Node root_;
  bool homeless_ = false;
  std::vector<Word> values_, memory_, positions_;
  std::deque<Step> steps_;
  std::atomic<int> wrong_{0};
};

std::string name(const Setup &s) {
  return std::string(s.scheduler) + "_w" + s.workers + "_" + std::to_string(s.submitters) + "sub" +
         (s.one_tree ? "_one_tree" : "") + (*s.pump == 'm' ? "_pumped" : "") +
         (s.where == Setup::kFaults ? "_faults" : s.where == Setup::kTight ? "_tight" : s.where ? "_devices" : "");
}
void PrintTo(const Setup &s, std::ostream *out) { *out << name(s); }

bool run(const Setup &setup, uint64_t seed, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string text = std::to_string(seed);
  Pairs pairs{{"cpu.topology", kFourCores},
              {"cpu.workers", setup.workers},
              {"scheduler", setup.scheduler},
              {"pump", setup.pump},
              {"window", seed % 3 ? "2048" : "16"},
              {"keep_models", "no"},
              {"seed", text.c_str()}};
  // Faults of copies alone: a task issued behind a failing kernel may run on that kernel's data.
  const std::string faults = "copy@" + std::to_string(2 + seed * 7 % 40) + ",copy@" + std::to_string(50 + seed);
  const std::string limit = std::to_string(Program::tight(seed * 100));
  if (setup.where != Setup::kCores)
    pairs.insert(pairs.end(), {{"drivers", "cpu,sim"}, {"sim.devices", seed % 2 ? "2" : "1"}, {"sim.latency", "1us"}});
  if (setup.where >= Setup::kTight) pairs.push_back({"sim.memory", limit.c_str()});
  if (setup.where == Setup::kFaults) pairs.push_back({"sim.faults", faults.c_str()});
  Rt rt(pairs);
  std::vector<std::unique_ptr<Program>> programs;
  for (int t = 0; t < (setup.one_tree ? 1 : setup.submitters); ++t)
    programs.push_back(std::make_unique<Program>(rt, seed * 100 + static_cast<uint64_t>(t), setup.where));
  std::vector<std::thread> threads;
  for (int t = 0; t < setup.submitters; ++t)
    threads.emplace_back([&, t] {
      Program &p = *programs[setup.one_tree ? 0 : static_cast<size_t>(t)];
      for (int i = 0; i < steps / setup.submitters; ++i) p.step();
    });
  for (auto &t : threads) t.join();
  for (auto &p : programs) {
    p->finish();
    EXPECT_EQ(p->wrong(), 0);
  }
  consort_info i{};
  i.size = sizeof i;
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.data, 0u);
  const consort_status all = consort_wait_all(rt, kLong, 0);  // a task is counted a moment after those behind it go on
  EXPECT_TRUE(all == CONSORT_OK || (setup.where == Setup::kFaults && all != CONSORT_E_TIMEOUT)) << consort_error();
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.submitted, i.finished);
  EXPECT_OK(rt.stop());
  return !::testing::Test::HasFailure();
}

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const char *scheduler : {"eager", "prio", "lws"}) {
    for (const char *workers : {"1", "2", "3", "4"}) all.push_back({scheduler, workers, "threads", 1, true});
    all.push_back({scheduler, "2", "threads", 3, false});
    all.push_back({scheduler, "4", "threads", 2, true});
    all.push_back({scheduler, "1", "threads", 3, true});
    all.push_back({scheduler, "3", "manual", 1, true});
    all.push_back({scheduler, "2", "threads", 2, true, Setup::kDevices});
    all.push_back({scheduler, "1", "threads", 1, true, Setup::kTight});
    all.push_back({scheduler, "2", "threads", 1, true, Setup::kFaults});
  }
  for (const auto where : {Setup::kDevices, Setup::kTight, Setup::kFaults})  // it prefetches
    all.push_back({"dmda", "2", "threads", 1, true, where});
  return all;
}

class PlanTrees : public ::testing::TestWithParam<Setup> {};
TEST_P(PlanTrees, GiveTheValuesOfAPlainArray) {
  if (const char *one = std::getenv("STRESS_SEED")) {
    run(GetParam(), std::strtoull(one, nullptr, 10), 400);
    return;
  }
  const uint64_t seeds = full() ? 1000 : kSlow > 1 || brief() ? 2 : 8;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    if (!run(GetParam(), seed, 400)) return;
}
INSTANTIATE_TEST_SUITE_P(Random, PlanTrees, ::testing::ValuesIn(setups()), [](const auto &i) { return name(i.param); });

}  // namespace
