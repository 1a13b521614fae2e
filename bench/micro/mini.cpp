// The micro benchmark on mini_stf.h, a sketch of what the cores allow: one submitter, dependences and a value, no more.
// It stands outside of the repository (CONSORT_BENCH_MINI). Owned by main(), which is the first of its threads.
#include <mini_stf.h>

#include "harness.hpp"

namespace {

using bench::Kind;

class Backend {
public:
  static constexpr const char *name = "mini";
  static constexpr bool edges = false;
  static bool supports(const bench::Case &c, unsigned) { return c.submitters == 1 && !c.priority; }

  explicit Backend(const bench::Options &o) : rt_(static_cast<int>(o.workers), o.window ? o.window : 4096) {}
  void make_data(uint64_t n) { handles_.resize(n); }
  void drop_data() {}

  template <class F> void drive(unsigned, F f) {
    f(0);
    rt_.wait_all();
  }
  template <Kind K, unsigned N> void submit([[maybe_unused]] uint64_t i, const bench::Uses<N> &uses) {
    mini::Access a[N ? N : 1];
    for (unsigned k = 0; k < N; ++k) a[k] = {&handles_[uses.id[k]], k + 1 == N ? mini::W : mini::R};
    if constexpr (K.value) rt_.submit(a, N, [i] { bench::run_body<K>(i); });
    else rt_.submit(a, N, [] { bench::run_bare<K>(); });
  }
  template <Kind K> void sync(uint64_t i) {
    submit<K>(i, bench::Uses<0>{});
    rt_.wait_all();
  }

private:
  mini::Runtime rt_;
  std::vector<mini::Handle> handles_;
};

}  // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
