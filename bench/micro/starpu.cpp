// The micro benchmark on StarPU 1.3, with codelets that are used again and a window of submitted tasks. Owned by main().
// It must leave no file in the user's home: models go to a temporary folder. It must set no window where two threads
// submit: with one, two submitters of data4 hang in StarPU.
#include <starpu.h>

#include "harness.hpp"

namespace {

using bench::Body;
using bench::Kind;

constexpr const char *window_most = "4096", *window_least = "2048"; // tasks at which a submitter waits, and goes on

void must(int rc, const char *what) {
  if (rc == 0) return;
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(-rc));
  std::exit(1);
}

uint64_t *cells = nullptr; // of the runtime's data; set before any task, read by tasks
bool adding = false;       // whether tasks add to one datum: redux, commute. Set before any task
starpu_data_access_mode last_mode = STARPU_RW; // of a task's last datum; set before any codelet is used

uint64_t *place(void *buffer) { return reinterpret_cast<uint64_t *>(STARPU_VARIABLE_GET_PTR(buffer)); }

template <Kind K, unsigned N> void call([[maybe_unused]] void **buffers, [[maybe_unused]] void *arg) {
  if constexpr (K.value && K.body == Body::check && N == 1)
    if (adding) return bench::check.adds(reinterpret_cast<uint64_t>(arg), place(buffers[0]), last_mode != STARPU_REDUX);
  if constexpr (K.value) bench::run_body<K>(reinterpret_cast<uint64_t>(arg));
  else if constexpr (N != 0) bench::run_bare_on<K>(static_cast<uint32_t>(place(buffers[N - 1]) - cells));
  else bench::run_bare<K>();
}

template <Kind K, unsigned N> starpu_codelet *codelet() {
  static starpu_codelet c = [] {
    starpu_codelet x{};
    x.cpu_funcs[0] = call<K, N>;
    x.nbuffers = N;
    static starpu_data_access_mode modes[N + 1];
    if (N > STARPU_NMAXBUFS) x.dyn_modes = modes;
    for (unsigned k = 0; k < N; ++k) (N > STARPU_NMAXBUFS ? x.dyn_modes : x.modes)[k] = k + 1 == N ? last_mode : STARPU_R;
    x.name = "bench";
    return x;
  }();
  return &c;
}

void zero(void **buffers, void *) { *place(buffers[0]) = 0; }
void combine(void **buffers, void *) { *place(buffers[0]) += *place(buffers[1]); }

void set_reduction(starpu_data_handle_t d) {
  static starpu_codelet zeros{}, combines{};
  zeros.cpu_funcs[0] = zero;
  zeros.nbuffers = 1;
  zeros.modes[0] = STARPU_W;
  combines.cpu_funcs[0] = combine;
  combines.nbuffers = 2;
  combines.modes[0] = STARPU_RW;
  combines.modes[1] = STARPU_R;
  starpu_data_set_reduction_methods(d, &combines, &zeros);
}

class Backend {
public:
  static constexpr const char *name = "starpu";
  static constexpr bool edges = false;
  static bool supports(const bench::Case &c, unsigned) { return !c.replayed; }

  explicit Backend(const bench::Options &o) {
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_HOME", "/tmp/consort-bench-starpu", 0);
    setenv("STARPU_CALIBRATE", "0", 1);
    const std::optional<bench::Case> c = bench::find_case(o.pattern);
    adding = c && (c->pattern == bench::Pattern::redux || c->pattern == bench::Pattern::commute);
    if (adding) last_mode = c->pattern == bench::Pattern::redux ? STARPU_REDUX : static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
    if (o.mode != "memory" && c && c->submitters == 1) {
      const std::string told = std::to_string(o.window);
      setenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS", o.window ? told.c_str() : window_most, 1);
      setenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS", o.window ? std::to_string(o.window / 2).c_str() : window_least, 1);
    }
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = static_cast<int>(o.workers);
    conf.ncuda = 0;
    conf.nopencl = 0;
    scheduler_ = !o.scheduler.empty() ? o.scheduler : c && c->priority ? "prio" : "lws";
    conf.sched_policy_name = scheduler_.c_str();
    must(starpu_init(&conf), "starpu_init");
  }
  Backend(const Backend &) = delete;
  ~Backend() { starpu_shutdown(); }

  void make_data(uint64_t n) {
    cells_.assign(n, 0);
    cells = cells_.data();
    data_.resize(n);
    for (uint64_t d = 0; d < n; ++d) enter(&data_[d], &cells_[d]);
    if (last_mode == STARPU_REDUX) set_reduction(data_[0]);
  }
  void drop_data() {
    for (auto d : data_) starpu_data_unregister(d);
    data_.clear();
    if (whole_) starpu_data_unregister(whole_);
    whole_ = nullptr;
  }

  template <class F> void drive(unsigned submitters, F f) {
    std::vector<std::thread> others;
    for (unsigned s = 1; s < submitters; ++s) others.emplace_back([&, s] { f(s); });
    f(0);
    for (auto &t : others) t.join();
    must(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
  }

  template <Kind K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses) {
    starpu_task *t = make<K>(i, uses);
    must(starpu_task_submit(t), "starpu_task_submit");
  }
  template <Kind K> void sync(uint64_t i) {
    starpu_task *t = make<K>(i, bench::Uses<0>{});
    t->synchronous = 1;
    must(starpu_task_submit(t), "starpu_task_submit");
  }
  uint64_t *acquire() {
    must(starpu_data_acquire(data_[0], STARPU_RW), "starpu_data_acquire");
    return static_cast<uint64_t *>(starpu_data_get_local_ptr(data_[0]));
  }
  void release() { starpu_data_release(data_[0]); }
  uint64_t read(uint32_t d) {
    must(starpu_data_acquire(data_[d], STARPU_R), "starpu_data_acquire");
    starpu_data_release(data_[d]);
    return cells_[d];
  }
  void register_one(uint64_t *cell) {
    data_.resize(1);
    enter(data_.data(), cell);
  }
  void unregister_one() {
    starpu_data_unregister(data_[0]);
    data_.clear();
  }
  // The first part stands for a datum that tasks use.
  void divide() {
    if (!whole_) {
      vector_.assign(64 * bench::partition_parts, 0);
      starpu_vector_data_register(&whole_, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(vector_.data()),
                                  static_cast<uint32_t>(vector_.size()), sizeof vector_[0]);
    }
    starpu_data_filter f{};
    f.filter_func = starpu_vector_filter_block;
    f.nchildren = bench::partition_parts;
    starpu_data_partition(whole_, &f);
    data_.resize(bench::partition_parts);
    for (unsigned k = 0; k < bench::partition_parts; ++k) data_[k] = starpu_data_get_sub_data(whole_, 1, k);
  }
  void bring_together() {
    starpu_data_unpartition(whole_, STARPU_MAIN_RAM);
    data_.clear();
  }

private:
  static void enter(starpu_data_handle_t *d, uint64_t *cell) {
    starpu_variable_data_register(d, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(cell), sizeof *cell);
  }
  template <Kind K, unsigned N> starpu_task *make([[maybe_unused]] uint64_t i, const bench::Uses<N> &uses) {
    starpu_task *t = starpu_task_create();
    t->cl = codelet<K, N>();
    if constexpr (K.value) t->cl_arg = reinterpret_cast<void *>(i);
    if constexpr (K.priority) t->priority = std::min(starpu_sched_get_min_priority() + bench::priority_of(i), starpu_sched_get_max_priority());
    if constexpr (N > STARPU_NMAXBUFS) t->dyn_handles = static_cast<starpu_data_handle_t *>(std::malloc(N * sizeof(starpu_data_handle_t))); // StarPU frees it
    for (unsigned k = 0; k < N; ++k) (N > STARPU_NMAXBUFS ? t->dyn_handles : t->handles)[k] = data_[uses.id[k]];
    return t;
  }

  std::string scheduler_;
  std::vector<uint64_t> cells_;
  std::vector<starpu_data_handle_t> data_;
  std::vector<uint64_t> vector_;
  starpu_data_handle_t whole_ = nullptr;
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
