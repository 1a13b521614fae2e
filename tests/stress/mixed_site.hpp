// mixed_site.hpp — a runtime on which programs run, one after the other or side by side, and their shared state.
#pragma once
#include <consort/clock.h>

#include <array>
#include <mutex>
#include <stdexcept>

#include "stress/mixed_oracle.hpp"

namespace mixed {

// True while the calling thread is inside a call of the library: tests/storm makes only its allocations fail.
inline thread_local bool allocations_may_fail = false;
class MayFail {
 public:
  explicit MayFail(bool may) : before_(std::exchange(allocations_may_fail, may)) {}
  ~MayFail() { allocations_may_fail = before_; }
  MayFail(const MayFail &) = delete;
  MayFail &operator=(const MayFail &) = delete;

 private:
  bool before_;
};

// Injected faults beside the program. Without faults each answer is exactly as the oracle says. Once a fault has taken
// effect, more tasks may fail than the oracle says, and no fewer. The values that a body sees stay right.
struct Trouble {
  bool possible = false;
  bool repeats = false;         // a device may be lost: a task that has run there runs again elsewhere
  bool (*refused)() = nullptr;  // the last call was refused by a fault: it is made again
  void (*seen)(const char *) = nullptr;  // is told the words of a failure
  std::atomic<int> failures{0};          // tasks and calls that failed though the oracle says otherwise
  std::atomic<int> told{0};              // waits that answered a failure
};

// The cells of a datum as a body sees them, in any layout.
class Cells {
 public:
  Cells(const void *view, const Slot &x) : nx_(x.nx), ld_(x.nx) {
    const auto *v = static_cast<const consort_matrix_view *>(view);  // the others begin like it
    at_ = static_cast<int64_t *>(consort_ptr(v->addr));
    if (x.layout == Slot::kMatrix) ld_ = static_cast<int>(v->ld);
  }
  int64_t &operator[](size_t i) const { return at_[static_cast<int>(i) / nx_ * ld_ + static_cast<int>(i) % nx_]; }

 private:
  int64_t *at_;
  int nx_, ld_;
};

// Settings that the library refuses.
struct NoSite : std::runtime_error {
  NoSite(consort_status s, const char *what)
      : std::runtime_error(std::string(what) + " answered " + consort_status_name(s) + ": " + consort_error()), status(s) {}
  consort_status status;
};
inline void make(consort_status s, const char *what) {
  if (s < 0) throw NoSite(s, what);
}

class Run;
struct Act {  // argument of a body: the step and its program
  Run *run = nullptr;
  int step = 0;
};
consort_status enact(const consort_call &, const Act &);

struct Site {
  static constexpr int kPlain = 256;  // tasks without arguments are told apart by their codelets
  static constexpr int kContexts = 2;
  Rt rt;
  std::vector<uint32_t> cores, devices, teams;  // ids of workers of the host and of others, of teams
  bool trees = false;  // each reduction is a fixed tree there: copies are moved
  bool manual, trace = false;  // trace: each body is told on stderr
  std::string *events = nullptr;  // where set: each call with its answer, and each body, with the time
  uint64_t (*allocations)() = nullptr;  // where set: how many the library has made; told with each event
  int64_t patience = kLong;  // ns: a wait that lasts longer hangs
  Trouble trouble;
  consort_codelet_id body, team_body;
  consort_codelet_id init[3], combine[3];  // by Slot::Layout
  struct Plain {
    std::atomic<const Act *> act{nullptr};
    consort_codelet_id id{0};
  } plain[kPlain];
  const int nplain;
  std::atomic<uint64_t> tags{1};  // first number that no program has had
  consort_data_id pad{0}, shared[3];
  int64_t value[3] = {}, want[3] = {};
  consort_context_id contexts[kContexts] = {};
  int ncontexts = 0;
  std::vector<std::string> policies{"lws", "eager", "prio", "ws", "random"};  // that a swap takes from

  Site(consort_runtime *started, bool is_manual, int plain_codelets = kPlain) : rt(started), manual(is_manual), nplain(plain_codelets) {
    consort_info info{};
    info.size = sizeof info;
    make(consort_get_info(rt, &info), "info");
    for (uint32_t w = 0; w < info.nworkers; ++w) {
      consort_worker_info worker{};
      worker.size = sizeof worker;
      make(consort_get_worker(rt, w, &worker), "worker");
      (std::string_view(worker.klass) == "cpu" ? cores : devices).push_back(w);
    }
    uint32_t n = 0;
    make(consort_team_count(rt, &n), "teams");
    for (uint32_t i = 0; i < n; ++i) teams.push_back(info.nworkers + i);
    const auto step = [](const consort_call *c) { return enact(*c, *value_of<const Act *>(*c)); };
    const consort_impl both[] = {{"cpu", step, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                 {"gpu", step, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    body = add("step", both);
    team_body = add("team step", both, CONSORT_NONE, CONSORT_CL_FORKJOIN);
    const auto plain_step = [](const consort_call *c) {
      return enact(*c, *static_cast<const Plain *>(c->user)->act.load(std::memory_order_relaxed));
    };
    for (int i = 0; i < nplain; ++i) plain[i].id = add("plain", std::array{on_host(plain_step, &plain[i])});
    for (int k = 0; k < 3; ++k) {
      auto *kind = &kinds_[k];
      init[k] = add("zero", std::array{on_host(zero, kind)}, 1);
      combine[k] = add("plus", std::array{on_host(unite, kind)}, 2);
      *kind = static_cast<Slot::Layout>(k);
    }
    const consort_vector_args eight{nullptr, 8, 8};
    const consort_data_desc d{sizeof d, 0, "vector", &eight, sizeof eight, "pad"};
    make(consort_register(rt, &d, &pad), "register");
    for (int i = 0; i < 3; ++i) {
      const consort_variable_args one{&value[i], 8};
      const consort_data_desc sum{sizeof sum, 0, "variable", &one, sizeof one, "sum"};
      make(consort_register(rt, &sum, &shared[i]), "register");
    }
    make(consort_data_set_reduction(rt, shared[2], init[Slot::kVariable], combine[Slot::kVariable]), "reduction");
  }

  void note(const std::string &line) {
    if (!events) return;
    const MayFail outside(false);
    uint64_t now = 0;
    (void)consort_now(rt, &now);
    const std::lock_guard lock(events_mutex_);
    const std::string made = allocations ? ", " + std::to_string(allocations()) + " allocations" : "";
    *events += "[" + std::to_string(now) + made + "] " + line + "\n";
  }

  // Which worker or team a step is bound to; NONE where this machine has none of that kind.
  uint32_t worker_of(uint32_t code) const {
    if (code == CONSORT_NONE) return CONSORT_NONE;
    const auto &all = code < kOnDevice ? cores : code < kOnTeam ? devices : teams;
    return all.empty() ? CONSORT_NONE : all[code % kOnDevice % all.size()];
  }
  // A context of so many of the last cores.
  void open_context(const char *scheduler, uint32_t from, uint32_t n) {
    consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
    d.scheduler = scheduler;
    d.workers = cores.data() + from;
    d.nworkers = n;
    make(consort_context_create(rt, &d, &contexts[ncontexts++]), "context");
  }

 private:
  static consort_impl on_host(consort_call_fn *fn, void *user) {
    return {"cpu", fn, user, nullptr, nullptr, nullptr, nullptr, 0};
  }
  consort_codelet_id add(const char *name, std::span<const consort_impl> impls, uint32_t nmodes = CONSORT_NONE,
                         uint32_t flags = 0) {
    consort_codelet d = CONSORT_CODELET_INIT;
    d.flags = flags;
    d.name = name;
    d.impls = impls.data();
    d.nimpls = static_cast<uint32_t>(impls.size());
    d.nmodes = nmodes;
    consort_codelet_id id{0};
    make(consort_codelet_add(rt, &d, &id), "codelet");
    return id;
  }
  template <class T>
  static T value_of(const consort_call &c) {
    return ::consort_test::value<T>(c, 0);
  }

  // A view tells its sizes itself.
  static Slot shape_of(const void *view, Slot::Layout layout) {
    Slot x;
    x.layout = layout;
    if (layout == Slot::kVector) x.nx = static_cast<int>(static_cast<const consort_vector_view *>(view)->n);
    if (layout == Slot::kMatrix) {
      x.nx = static_cast<int>(static_cast<const consort_matrix_view *>(view)->nx);
      x.ny = static_cast<int>(static_cast<const consort_matrix_view *>(view)->ny);
    }
    return x;
  }
  static consort_status zero(const consort_call *c) {
    const Slot x = shape_of(c->views[0], *static_cast<const Slot::Layout *>(c->user));
    const Cells to(c->views[0], x);
    for (int i = 0; i < x.cells(); ++i) to[static_cast<size_t>(i)] = 0;
    return CONSORT_OK;
  }
  static consort_status unite(const consort_call *c) {
    const Slot x = shape_of(c->views[0], *static_cast<const Slot::Layout *>(c->user));
    const Cells to(c->views[0], x), from(c->views[1], x);
    for (int i = 0; i < x.cells(); ++i) {
      int64_t &v = to[static_cast<size_t>(i)];
      v = plus(v, from[static_cast<size_t>(i)]);
    }
    return CONSORT_OK;
  }
  Slot::Layout kinds_[3];
  std::mutex events_mutex_;
};

}  // namespace mixed
