// The micro benchmark on Consort, by its C API: a description is filled once and only what differs is changed.
// Owned by main(); submitting threads share the runtime and keep a description each. It must never look inside the library.
#include <consort/consort.h>

#include "harness.hpp"

namespace {

using bench::Body;

[[noreturn]] void die(const char *what) {
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

template <Body K> consort_status call(const consort_call *c) {
  if constexpr (K == Body::empty || K == Body::spin) bench::run_body<K>(0);
  else bench::run_body<K>(c->args[0].scalar);
  return CONSORT_OK;
}

class Backend {
public:
  static constexpr const char *name = "consort";
  static constexpr bool edges = false;
  static constexpr bool any_order = true;
  static bool supports(bench::Pattern, unsigned, unsigned) { return true; }

  explicit Backend(const bench::Options &o) {
    const std::string workers = std::to_string(o.workers), window = std::to_string(o.window);
    std::vector<consort_setting> set{{"workers", workers.c_str()}};
    if (o.window != 0) set.push_back({"window", window.c_str()});
    if (!o.scheduler.empty()) set.push_back({"scheduler", o.scheduler.c_str()});
    if (!o.pump.empty()) set.push_back({"pump", o.pump.c_str()});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = set.data();
    s.nset = static_cast<uint32_t>(set.size());
    if (consort_start(&s, &rt_) < 0) die("start");
    if (o.pattern == "redux") last_mode_ = CONSORT_M_REDUX;
    if (o.pattern == "commute") last_mode_ = CONSORT_M_RW | CONSORT_M_COMMUTE;
    add<Body::empty>("empty");
    add<Body::check>("check");
    add<Body::spin>("spin");
    add<Body::gate>("gate");
  }
  Backend(const Backend &) = delete;
  ~Backend() {
    if (consort_stop(rt_) < 0) die("stop");
  }

  void make_data(uint64_t n) {
    cells_.assign(n, 0);
    data_.resize(n);
    for (uint64_t d = 0; d < n; ++d)
      if (consort_register_variable(rt_, &cells_[d], sizeof cells_[d], &data_[d]) < 0) die("register");
    const consort_codelet_id nothing = codelets_[static_cast<int>(Body::empty)];
    if (last_mode_ == CONSORT_M_REDUX && consort_data_set_reduction(rt_, data_[0], nothing, nothing) < 0) die("set_reduction");
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

  template <Body K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses) { submit<K>(i, uses, nullptr); }

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

  template <Body K> void sync(uint64_t i) {
    consort_task_id id;
    submit<K>(i, bench::Uses<0>{}, &id);
    if (consort_task_wait(rt_, id, CONSORT_FOREVER, 0) < 0) die("task_wait");
  }

  void acquire() {
    if (consort_acquire(rt_, data_[0], CONSORT_M_RW, CONSORT_FOREVER, &hold_) < 0) die("acquire");
  }
  void release() {
    if (consort_release(rt_, hold_) < 0) die("release");
  }
  void register_one() {
    data_.resize(1);
    if (consort_register_variable(rt_, &one_, sizeof one_, data_.data()) < 0) die("register");
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
  template <Body K> void add(const char *title) {
    consort_impl impl{};
    impl.klass = "cpu";
    impl.fn = call<K>;
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = title;
    c.impls = &impl;
    c.nimpls = 1;
    if (consort_codelet_add(rt_, &c, &codelets_[static_cast<int>(K)]) < 0) die("codelet_add");
  }

  template <Body K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses, consort_task_id *out) {
    consort_use use[N ? N : 1];
    for (unsigned k = 0; k < N; ++k) use[k] = {data_[uses.id[k]], k + 1 == N ? last_mode_ : uint32_t{CONSORT_M_R}, 0};
    consort_task_desc t{};
    t.size = CONSORT_TASK_BRIEF;
    t.codelet = codelets_[static_cast<int>(K)];
    t.worker = CONSORT_NONE;
    t.uses = use;
    t.nuses = N;
    consort_arg arg{};
    if constexpr (K == Body::check || K == Body::gate) {
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
  consort_codelet_id codelets_[4] = {};
  std::vector<uint64_t> cells_;
  std::vector<consort_data_id> data_;
  consort_hold hold_ = {};
  consort_recording_id recording_ = {};
  uint32_t last_mode_ = CONSORT_M_RW; // of a task's last datum
  uint64_t one_ = 0;
  std::vector<uint64_t> vector_;
  consort_data_id whole_ = {};
  consort_plan_id plan_ = {};
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
