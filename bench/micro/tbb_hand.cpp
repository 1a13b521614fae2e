// A chain and a wavefront written by hand on oneTBB's task_group, as an expert would without a runtime that infers
// anything: counters of predecessors, the next task run in place, the other one spawned. Nothing is submitted task by
// task, so this is no peer of runtimes that infer; it says what the cores allow. Owned by main().
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "harness.hpp"

namespace {

using bench::Kind;

class Backend {
public:
  static constexpr const char *name = "tbb-hand";
  static constexpr bool edges = true;
  static bool supports(const bench::Case &c, unsigned) {
    return c.submitters == 1 && !c.replayed && !c.bare && !c.priority && (c.pattern == bench::Pattern::chain || c.pattern == bench::Pattern::wavefront);
  }

  explicit Backend(const bench::Options &o)
      : limit_(tbb::global_control::max_allowed_parallelism, o.workers), arena_(static_cast<int>(o.workers)) {}
  void make_data(uint64_t) {}
  void drop_data() {}

  void prepare(const bench::Plan &p) {
    chain_ = p.pattern == bench::Pattern::chain;
    rows_ = p.rows;
    cols_ = p.cols;
    next_ = 0;
    if (waiting_.size() < p.n) waiting_ = std::vector<std::atomic<uint8_t>>(p.n);
    for (uint64_t i = 0; !chain_ && i < p.n; ++i)
      waiting_[i].store(static_cast<uint8_t>((i >= cols_) + (i % cols_ != 0)), std::memory_order_relaxed);
  }

  // The harness hands over task by task: what comes is counted, and the whole runs at the end, in drive().
  template <Kind K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &) {
    next_ = i + 1;
    run_ = &Backend::run_all<K>;
  }
  template <class F> void drive(unsigned, F f) {
    f(0);
    arena_.execute([this] {
      (this->*run_)();
      group_.wait();
    });
  }

private:
  template <Kind K> void run_all() {
    if (chain_) group_.run([this] { link<K>(0); });
    else group_.run([this] { cell<K>(0); });
  }
  // Each link spawns the next: a task of its own.
  template <Kind K> void link(uint64_t i) {
    bench::run_body<K>(i);
    if (i + 1 < next_) group_.run([this, i] { link<K>(i + 1); });
  }
  // The task right of this one goes on in place, the one below it is spawned.
  template <Kind K> void cell(uint64_t i) {
    for (;;) {
      bench::run_body<K>(i);
      const bool below = i / cols_ + 1 < rows_ && last(i + cols_), right = i % cols_ + 1 < cols_ && last(i + 1);
      if (below && right) group_.run([this, i] { cell<K>(i + cols_); });
      if (!below && !right) return;
      i += right ? 1 : cols_;
    }
  }
  bool last(uint64_t i) { return waiting_[i].fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs with itself

  tbb::global_control limit_;
  tbb::task_arena arena_;
  tbb::task_group group_;
  bool chain_ = false;
  uint64_t rows_ = 0, cols_ = 0, next_ = 0;
  void (Backend::*run_)() = nullptr;
  std::vector<std::atomic<uint8_t>> waiting_; // predecessors that have not run
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
