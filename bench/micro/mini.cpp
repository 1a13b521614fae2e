// The micro benchmark on mini_stf.h, a sketch of what the cores allow: one submitter, dependences and a value, no more.
// It stands outside of the repository (CONSORT_BENCH_MINI). Owned by main(), which is the first of its threads.
#include <mini_stf.h>

#include "harness.hpp"

namespace {

using bench::Body;

class Backend {
public:
  static constexpr const char *name = "mini";
  static constexpr bool edges = false;
  static constexpr bool any_order = false;
  static bool supports(bench::Pattern, unsigned submitters, unsigned) { return submitters == 1; }

  explicit Backend(const bench::Options &o) : rt_(static_cast<int>(o.workers), o.window ? o.window : 4096) {}
  void make_data(uint64_t n) { handles_.resize(n); }
  void drop_data() {}

  template <class F> void drive(unsigned, F f) {
    f(0);
    rt_.wait_all();
  }
  template <Body K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &uses) {
    mini::Access a[N ? N : 1];
    for (unsigned k = 0; k < N; ++k) a[k] = {&handles_[uses.id[k]], k + 1 == N ? mini::W : mini::R};
    rt_.submit(a, N, [i] { bench::run_body<K>(i); });
  }
  template <Body K> void sync(uint64_t i) {
    submit<K>(i, bench::Uses<0>{});
    rt_.wait_all();
  }

private:
  mini::Runtime rt_;
  std::vector<mini::Handle> handles_;
};

}  // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
