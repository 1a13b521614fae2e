// The micro benchmark on Consort, by its C API: a description is filled once and only what differs is changed.
// Owned by main(); submitting threads share the runtime and keep a description each. It must never look inside the library.
#include <consort/consort.h>

#include "harness.hpp"

namespace {

using bench::Body;
using bench::Kind;

[[noreturn]] void die(const char *what) {
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

uint64_t *cells = nullptr; // of the runtime's data; set before any task, read by tasks
bool alone = false;        // whether tasks that add are alone on their datum: commute, not redux

uint64_t *place(const consort_call *c, uint32_t view) {
  const consort_addr at = static_cast<const consort_variable_view *>(c->views[view])->addr;
  return reinterpret_cast<uint64_t *>(static_cast<uintptr_t>(at.base + at.off));
}

template <Kind K> consort_status call(const consort_call *c) {
  if constexpr (K.value) bench::run_body<K>(c->args[0].scalar);
  else if (c->nviews != 0) bench::run_bare_on<K>(static_cast<uint32_t>(place(c, c->nviews - 1) - cells));
  else bench::run_bare<K>();
  return CONSORT_OK;
}
consort_status adds(const consort_call *c) {
  bench::check.adds(c->args[0].scalar, place(c, 0), alone);
  return CONSORT_OK;
}
consort_status zero(const consort_call *c) {
  *place(c, 0) = 0;
  return CONSORT_OK;
}
consort_status combine(const consort_call *c) {
  *place(c, 0) += *place(c, 1);
  return CONSORT_OK;
}

class Backend {
public:
  static constexpr const char *name = "consort";
  static constexpr bool edges = false;
  static bool supports(const bench::Case &, unsigned) { return true; }

  explicit Backend(const bench::Options &o) : aliases_(o.plant == "unordered" ? 8 : 1) {
    const std::string workers = std::to_string(o.workers), window = std::to_string(o.window);
    std::vector<consort_setting> set{{"workers", workers.c_str()}};
    if (o.window != 0) set.push_back({"window", window.c_str()});
    if (!o.scheduler.empty()) set.push_back({"scheduler", o.scheduler.c_str()});
    if (!o.pump.empty()) set.push_back({"pump", o.pump.c_str()});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = set.data();
    s.nset = static_cast<uint32_t>(set.size());
    if (consort_start(&s, &rt_) < 0) die("start");
    adding_ = o.pattern == "redux" || o.pattern == "commute";
    if (o.pattern == "redux") last_mode_ = CONSORT_M_REDUX;
    if (o.pattern == "commute") last_mode_ = CONSORT_M_RW | CONSORT_M_COMMUTE;
    alone = o.pattern == "commute";
    add_all<Kind{}, Kind{.value = false}>();
    add_all<Kind{Body::check}, Kind{Body::check, false}>();
    add_all<Kind{Body::spin}, bench::gate_task>();
  }
  Backend(const Backend &) = delete;
  ~Backend() {
    if (consort_stop(rt_) < 0) die("stop");
  }

  void make_data(uint64_t n) {
    cells_.assign(n, 0);
    cells = cells_.data();
    data_.resize(n * aliases_);
    for (uint64_t d = 0; d < data_.size(); ++d)
      if (consort_register_variable(rt_, &cells_[d % n], sizeof cells_[d % n], &data_[d]) < 0) die("register");
    if (last_mode_ == CONSORT_M_REDUX && consort_data_set_reduction(rt_, data_[0], add("zero", zero), add("combine", combine)) < 0) die("set_reduction");
  }
  void drop_data() {
    for (consort_data_id d : data_)
      if (consort_unregister(rt_, d) < 0) die("unregister");
    data_.clear();
    if (whole_.v && consort_unregister(rt_, whole_) < 0) die("unregister");
    whole_ = {};
  }

  template <class F> void drive(unsigned submitters, F f) {
    std::vector<std::thread> others;
    for (unsigned s = 1; s < submitters; ++s)
      others.emplace_back([&, s] {
        f(s);
        wait_all();
      });
    f(0);
    wait_all();
    for (auto &t : others) t.join();
  }

  template <Kind K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses) { submit<K>(i, uses, nullptr); }

  template <class F> void record(const bench::Plan &, F f) {
    if (consort_record_begin(rt_, CONSORT_RECORD_ONLY) < 0) die("record_begin");
    f(0);
    if (consort_record_end(rt_, &recording_) < 0) die("record_end");
  }
  void replay() {
    consort_task_id id;
    if (consort_replay(rt_, recording_, consort_group_id{0}, &id) < 0) die("replay");
    if (consort_task_wait(rt_, id, CONSORT_FOREVER, 0) < 0) die("task_wait");
  }
  void forget() {
    if (consort_recording_destroy(rt_, recording_) < 0) die("recording_destroy");
  }

  template <Kind K> void sync(uint64_t i) {
    consort_task_id id;
    submit<K>(i, bench::Uses<0>{}, &id);
    if (consort_task_wait(rt_, id, CONSORT_FOREVER, 0) < 0) die("task_wait");
  }

  uint64_t *acquire() {
    if (consort_acquire(rt_, data_[0], CONSORT_M_RW, CONSORT_FOREVER, &hold_) < 0) die("acquire");
    const consort_addr at = static_cast<const consort_variable_view *>(hold_.view)->addr;
    return reinterpret_cast<uint64_t *>(static_cast<uintptr_t>(at.base + at.off));
  }
  void release() {
    if (consort_release(rt_, hold_) < 0) die("release");
  }
  uint64_t read(uint32_t d) {
    if (consort_acquire(rt_, data_[d], CONSORT_M_R, CONSORT_FOREVER, &hold_) < 0) die("acquire");
    release();
    return cells_[d];
  }
  void register_one(uint64_t *cell) {
    data_.resize(1);
    if (consort_register_variable(rt_, cell, sizeof *cell, data_.data()) < 0) die("register");
  }
  void unregister_one() {
    if (consort_unregister(rt_, data_[0]) < 0) die("unregister");
    data_.clear();
  }
  // The first part stands for a datum that tasks use.
  void divide() {
    if (!whole_.v) {
      vector_.assign(64 * bench::partition_parts, 0);
      if (consort_register_vector(rt_, vector_.data(), vector_.size(), sizeof vector_[0], &whole_) < 0) die("register");
    }
    const consort_split split{bench::partition_parts, 0};
    consort_plan_desc d = CONSORT_PLAN_INIT;
    d.filter = "blocks";
    d.params = &split;
    d.params_bytes = sizeof split;
    if (consort_plan_create(rt_, whole_, &d, &plan_) < 0) die("plan_create");
    data_.resize(bench::partition_parts);
    if (consort_plan_parts(rt_, plan_, data_.data(), bench::partition_parts) != bench::partition_parts) die("plan_parts");
  }
  void bring_together() {
    if (consort_acquire(rt_, whole_, CONSORT_M_RW, CONSORT_FOREVER, &hold_) < 0 || consort_release(rt_, hold_) < 0) die("acquire");
    if (consort_plan_destroy(rt_, plan_) < 0) die("plan_destroy");
    data_.clear();
  }

private:
  consort_codelet_id add(const char *title, consort_call_fn *fn) {
    consort_impl impl{};
    impl.klass = "cpu";
    impl.fn = fn;
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = title;
    c.impls = &impl;
    c.nimpls = 1;
    consort_codelet_id id;
    if (consort_codelet_add(rt_, &c, &id) < 0) die("codelet_add");
    return id;
  }
  // A codelet for each body, with a value and without.
  template <Kind A, Kind B> void add_all() {
    codelet<A>() = add("bench", A.body == Body::check && adding_ ? adds : call<A>);
    codelet<B>() = add("bench", call<B>);
  }
  template <Kind K> consort_codelet_id &codelet() { return codelets_[static_cast<int>(K.body)][K.value]; }

  template <Kind K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses, consort_task_id *out) {
    consort_use use[N ? N : 1];
    const size_t first = aliases_ > 1 ? i % aliases_ * cells_.size() : 0;
    for (unsigned k = 0; k < N; ++k) use[k] = {data_[first + uses.id[k]], k + 1 == N ? last_mode_ : uint32_t{CONSORT_M_R}, 0};
    consort_task_desc t{};
    t.size = CONSORT_TASK_BRIEF;
    t.codelet = codelet<K>();
    t.worker = CONSORT_NONE;
    t.uses = use;
    t.nuses = N;
    if constexpr (K.priority) t.priority = bench::priority_of(i);
    consort_arg arg{};
    if constexpr (K.value) {
      arg.kind = CONSORT_ARG_SCALAR;
      arg.bytes = sizeof i;
      arg.scalar = i;
      t.args = &arg;
      t.nargs = 1;
    }
    if (consort_submit(rt_, &t, out) < 0) die("submit");
  }
  void wait_all() {
    if (consort_wait_all(rt_, CONSORT_FOREVER, 0) < 0) die("wait_all");
  }

  consort_runtime *rt_ = nullptr;
  consort_codelet_id codelets_[4][2] = {}; // by body, by whether there is a value
  bool adding_ = false;
  size_t aliases_; // data for each place, of which task i uses the ith in turn: 1, but where a fault is planted
  std::vector<uint64_t> cells_;
  std::vector<consort_data_id> data_;
  consort_hold hold_ = {};
  consort_recording_id recording_ = {};
  uint32_t last_mode_ = CONSORT_M_RW; // of a task's last datum
  std::vector<uint64_t> vector_;
  consort_data_id whole_ = {};
  consort_plan_id plan_ = {};
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
