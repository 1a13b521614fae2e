// The micro benchmark on StarPU 1.3. Owned by main(). It must leave no file in the user's home: models go to a
// temporary folder. It must set no limit on submitted tasks: with one, two submitters of data4 hang in StarPU, and it
// is no faster.
#include <starpu.h>

#include "harness.hpp"

namespace {

using bench::Body;

void must(int rc, const char *what) {
  if (rc == 0) return;
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(-rc));
  std::exit(1);
}

template <Body K> void call(void **, void *arg) { bench::run_body<K>(reinterpret_cast<uint64_t>(arg)); }

template <Body K, unsigned N> starpu_codelet *codelet() {
  static starpu_codelet c = [] {
    starpu_codelet x{};
    x.cpu_funcs[0] = call<K>;
    x.nbuffers = N;
    for (unsigned k = 0; k < N; ++k) x.modes[k] = k + 1 == N ? STARPU_RW : STARPU_R;
    x.name = "bench";
    return x;
  }();
  return &c;
}

class Backend {
public:
  static constexpr const char *name = "starpu";
  static constexpr bool edges = false;
  static constexpr bool any_order = false;
  static bool supports(bench::Pattern, unsigned, unsigned) { return true; }

  explicit Backend(const bench::Options &o) {
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_HOME", "/tmp/consort-bench-starpu", 0);
    setenv("STARPU_CALIBRATE", "0", 1);
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = static_cast<int>(o.workers);
    conf.ncuda = 0;
    conf.nopencl = 0;
    scheduler_ = o.scheduler.empty() ? "lws" : o.scheduler;
    conf.sched_policy_name = scheduler_.c_str();
    must(starpu_init(&conf), "starpu_init");
  }
  Backend(const Backend &) = delete;
  ~Backend() { starpu_shutdown(); }

  void make_data(uint64_t n) {
    cells_.assign(n, 0);
    data_.resize(n);
    for (uint64_t d = 0; d < n; ++d) enter(&data_[d], &cells_[d]);
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

  template <Body K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses) {
    starpu_task *t = make<K>(i, uses);
    must(starpu_task_submit(t), "starpu_task_submit");
  }
  template <Body K> void sync(uint64_t i) {
    starpu_task *t = make<K>(i, bench::Uses<0>{});
    t->synchronous = 1;
    must(starpu_task_submit(t), "starpu_task_submit");
  }
  void acquire() { must(starpu_data_acquire(data_[0], STARPU_RW), "starpu_data_acquire"); }
  void release() { starpu_data_release(data_[0]); }
  void register_one() {
    data_.resize(1);
    enter(data_.data(), &one_);
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
  template <Body K, unsigned N> starpu_task *make(uint64_t i, const bench::Uses<N> &uses) {
    starpu_task *t = starpu_task_create();
    t->cl = codelet<K, N>();
    t->cl_arg = reinterpret_cast<void *>(i);
    for (unsigned k = 0; k < N; ++k) t->handles[k] = data_[uses.id[k]];
    return t;
  }

  std::string scheduler_;
  std::vector<uint64_t> cells_;
  std::vector<starpu_data_handle_t> data_;
  uint64_t one_ = 0;
  std::vector<uint64_t> vector_;
  starpu_data_handle_t whole_ = nullptr;
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
