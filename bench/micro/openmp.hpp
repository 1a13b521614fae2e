// The micro benchmark on OpenMP's depend clauses; gomp.cpp and omp.cpp compile it for the two libraries.
// Owned by main(). Dependences hold between tasks of one parent only, so two submitters share no data here: the
// patterns that need it are not supported.
#pragma once
#include "harness.hpp"
#include <omp.h>

namespace bench {

class OpenMp {
public:
  static constexpr const char *name = BENCH_OPENMP_NAME;
  static constexpr bool edges = false;
  static constexpr bool any_order = false;
  static bool supports(Pattern p, unsigned submitters, unsigned workers) {
    return submitters == 1 || (workers >= submitters && (p == Pattern::independent || p == Pattern::wavefront));
  }

  explicit OpenMp(const Options &o) : workers_(static_cast<int>(o.workers)) {}
  void make_data(uint64_t n) { cells_.assign(n, 0); }
  void drop_data() {}

  template <class F> void drive(unsigned submitters, F f) {
#pragma omp parallel num_threads(workers_)
    {
      const auto me = static_cast<unsigned>(omp_get_thread_num());
      if (me < submitters) f(me);
    }
  }

  template <Body K, unsigned N> void submit(uint64_t i, const Uses<N> &uses) {
    char *c = cells_.data();
    if constexpr (N == 0) {
#pragma omp task firstprivate(i)
      run_body<K>(i);
    } else {
      char *w = c + uses.id[N - 1];
      if constexpr (N == 1) {
#pragma omp task firstprivate(i) depend(inout : *w)
        run_body<K>(i);
      } else if constexpr (N == 2) {
        char *r0 = c + uses.id[0];
#pragma omp task firstprivate(i) depend(in : *r0) depend(inout : *w)
        run_body<K>(i);
      } else if constexpr (N == 3) {
        char *r0 = c + uses.id[0], *r1 = c + uses.id[1];
#pragma omp task firstprivate(i) depend(in : *r0, *r1) depend(inout : *w)
        run_body<K>(i);
      } else {
        static_assert(N == 4);
        char *r0 = c + uses.id[0], *r1 = c + uses.id[1], *r2 = c + uses.id[2];
#pragma omp task firstprivate(i) depend(in : *r0, *r1, *r2) depend(inout : *w)
        run_body<K>(i);
      }
    }
  }

  template <Body K> void sync(uint64_t i) {
#pragma omp task firstprivate(i)
    run_body<K>(i);
#pragma omp taskwait
  }

private:
  int workers_;
  std::vector<char> cells_;
};

} // namespace bench
