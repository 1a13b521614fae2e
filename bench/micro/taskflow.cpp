// The micro benchmark on Taskflow, which infers no dependences: asynchronous tasks that are given their predecessors, and
// a graph that is made once where a pattern is replayed. Which edges there are is worked out before the clock starts.
// Owned by main().
#include <taskflow/taskflow.hpp>

#include "edges.hpp"
#include "harness.hpp"
#include <optional>

namespace {

using bench::Kind;

class Backend {
public:
  static constexpr const char *name = "taskflow";
  static constexpr bool edges = true;
  static bool supports(const bench::Case &c, unsigned) { return c.submitters == 1 && !c.priority; }

  explicit Backend(const bench::Options &o) : executor_(o.workers) {}
  void make_data(uint64_t) {}
  void drop_data() {}

  void prepare(const bench::Plan &p) {
    edges_.work_out(p);
    tasks_.assign(p.data ? p.n : 0, {});
  }
  template <class F> void drive(unsigned, F f) {
    f(0);
    executor_.wait_for_all();
  }
  template <Kind K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &) {
    if (graph_) return add_node<K>(i);
    if constexpr (N == 0) {
      executor_.silent_async(body<K>(i));
    } else {
      before_.clear();
      for (const uint32_t *e = edges_.begin(i); e != edges_.end(i); ++e) before_.push_back(tasks_[*e]);
      tasks_[i] = executor_.silent_dependent_async(body<K>(i), before_.begin(), before_.end());
    }
  }
  template <Kind K> void sync(uint64_t i) { executor_.async(body<K>(i)).wait(); }

  template <class F> void record(const bench::Plan &, F f) {
    graph_.emplace();
    nodes_.clear();
    f(0);
  }
  void replay() { executor_.run(*graph_).wait(); }
  void forget() { graph_.reset(); }

private:
  template <Kind K> static auto body([[maybe_unused]] uint64_t i) {
    if constexpr (K.value) return [i] { bench::run_body<K>(i); };
    else return [] { bench::run_bare<K>(); };
  }
  template <Kind K> void add_node(uint64_t i) {
    nodes_.push_back(graph_->emplace(body<K>(i)));
    for (const uint32_t *e = edges_.begin(i); e != edges_.end(i); ++e) nodes_[*e].precede(nodes_[i]);
  }

  tf::Executor executor_;
  bench::Edges edges_;
  std::vector<tf::AsyncTask> tasks_, before_;
  std::optional<tf::Taskflow> graph_; // while a pattern is kept for replay
  std::vector<tf::Task> nodes_;
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
