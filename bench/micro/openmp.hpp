// The micro benchmark on OpenMP's depend clauses; gomp.cpp and omp.cpp compile it for the two libraries.
// Owned by main(). Dependences hold between tasks of one parent only, so two submitters share no data here: the
// patterns that need it are not supported.
#pragma once
#include "harness.hpp"
#include <omp.h>

namespace bench {

inline uint64_t openmp_sum = 0; // what the tasks of redux and commute add to

class OpenMp {
public:
  static constexpr const char *name = BENCH_OPENMP_NAME;
  static constexpr bool edges = false;
  static bool supports(const Case &c, unsigned workers) {
    return !c.replayed && (c.submitters == 1 || (workers >= c.submitters && (c.pattern == Pattern::independent || c.pattern == Pattern::wavefront)));
  }

  explicit OpenMp(const Options &o) : workers_(static_cast<int>(o.workers)) {
    redux_ = o.pattern == "redux";
    adding_ = redux_ || o.pattern == "commute";
    openmp_sum = 0;
  }
  void make_data(uint64_t n) { cells_.assign(n, 0); }
  void drop_data() {}

  template <class F> void drive(unsigned submitters, F f) {
#pragma omp parallel num_threads(workers_)
    {
      const auto me = static_cast<unsigned>(omp_get_thread_num());
      if (redux_) {
        if (me == 0)
#pragma omp taskgroup task_reduction(+ : openmp_sum)
          f(me);
      } else if (me < submitters) {
        f(me);
      }
    }
  }
  uint64_t read(uint32_t) { return openmp_sum; } // of redux and commute

  template <Kind K, unsigned N> void submit(uint64_t i, const Uses<N> &uses) {
    if constexpr (N == 1 && K.value && !K.priority)
      if (adding_) return adds<K>(i, uses);
    if constexpr (K.priority) with_priority<K>(i, uses);
    else if constexpr (K.value) with_value<K>(i, uses);
    else without_value<K>(uses);
  }

  template <Kind K> void sync([[maybe_unused]] uint64_t i) {
    submit<K>(i, Uses<0>{});
#pragma omp taskwait
  }

private:
  // Of redux and commute: the task adds its number to openmp_sum.
  template <Kind K> void adds(uint64_t i, [[maybe_unused]] const Uses<1> &uses) {
    if (redux_) {
#pragma omp task firstprivate(i) in_reduction(+ : openmp_sum)
      add<K>(i, &openmp_sum, false);
    } else {
#pragma omp task firstprivate(i) depend(mutexinoutset : openmp_sum)
      add<K>(i, &openmp_sum, true);
    }
  }
  template <Kind K> static void add(uint64_t i, [[maybe_unused]] uint64_t *to, [[maybe_unused]] bool alone) {
    if constexpr (K.body == Body::check) check.adds(i, to, alone);
    else run_body<K>(i);
  }
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
  bool adding_ = false, redux_ = false;
  std::vector<char> cells_;
};

} // namespace bench
