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
  static bool supports(const Case &c, unsigned workers) {
    return !c.replayed && (c.submitters == 1 || (workers >= c.submitters && (c.pattern == Pattern::independent || c.pattern == Pattern::wavefront)));
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

  template <Kind K, unsigned N> void submit(uint64_t i, const Uses<N> &uses) {
    if constexpr (K.priority) with_priority<K>(i, uses);
    else if constexpr (K.value) with_value<K>(i, uses);
    else without_value<K>(uses);
  }

  template <Kind K> void sync([[maybe_unused]] uint64_t i) {
    submit<K>(i, Uses<0>{});
#pragma omp taskwait
  }

private:
  template <Kind K, unsigned N> void with_value(uint64_t i, const Uses<N> &uses) {
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
      } else if constexpr (N == 4) {
        char *r0 = c + uses.id[0], *r1 = c + uses.id[1], *r2 = c + uses.id[2];
#pragma omp task firstprivate(i) depend(in : *r0, *r1, *r2) depend(inout : *w)
        run_body<K>(i);
      } else {
        const uint32_t *r = uses.id.data();
#pragma omp task firstprivate(i) depend(iterator(unsigned k = 0 : N - 1), in : c[r[k]]) depend(inout : *w)
        run_body<K>(i);
      }
    }
  }
  // Of the bare patterns: independent, a chain, a wavefront, two and four data.
  template <Kind K, unsigned N> void without_value(const Uses<N> &uses) {
    static_assert(!K.value);
    char *c = cells_.data();
    if constexpr (N == 0) {
#pragma omp task
      run_bare<K>();
    } else {
      char *w = c + uses.id[N - 1];
      if constexpr (N == 1) {
#pragma omp task depend(inout : *w)
        run_bare<K>();
      } else if constexpr (N == 2) {
        char *r0 = c + uses.id[0];
#pragma omp task depend(in : *r0) depend(inout : *w)
        run_bare<K>();
      } else if constexpr (N == 3) {
        char *r0 = c + uses.id[0], *r1 = c + uses.id[1];
#pragma omp task depend(in : *r0, *r1) depend(inout : *w)
        run_bare<K>();
      } else if constexpr (N == 4) {
        char *r0 = c + uses.id[0], *r1 = c + uses.id[1], *r2 = c + uses.id[2];
#pragma omp task depend(in : *r0, *r1, *r2) depend(inout : *w)
        run_bare<K>();
      } else {
        std::abort();
      }
    }
  }
  // Independent and a wavefront; it counts with OMP_MAX_TASK_PRIORITY alone.
  template <Kind K, unsigned N> void with_priority(uint64_t i, const Uses<N> &uses) {
    char *c = cells_.data();
    const int level = priority_of(i);
    if constexpr (N == 0) {
#pragma omp task firstprivate(i) priority(level)
      run_body<K>(i);
    } else {
      char *w = c + uses.id[N - 1];
      if constexpr (N == 1) {
#pragma omp task firstprivate(i) priority(level) depend(inout : *w)
        run_body<K>(i);
      } else if constexpr (N == 2) {
        char *r0 = c + uses.id[0];
#pragma omp task firstprivate(i) priority(level) depend(in : *r0) depend(inout : *w)
        run_body<K>(i);
      } else if constexpr (N == 3) {
        char *r0 = c + uses.id[0], *r1 = c + uses.id[1];
#pragma omp task firstprivate(i) priority(level) depend(in : *r0, *r1) depend(inout : *w)
        run_body<K>(i);
      } else {
        std::abort();
      }
    }
  }

  int workers_;
  std::vector<char> cells_;
};

} // namespace bench
