// The micro benchmark on oneTBB, which infers no dependences: the user draws the edges, here as a flow graph of
// continue_nodes, built and run in windows. Which edges there are is worked out before the clock starts; making the
// nodes and the edges is inside it. Tasks without data go to a task_group. Owned by main().
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "harness.hpp"
#include <optional>

namespace {

using bench::Body;
using tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<continue_msg>;

constexpr uint64_t default_window = 256; // the best of those tried, from 128 to everything at once

class Backend {
public:
  static constexpr const char *name = "tbb";
  static constexpr bool edges = true;
  static constexpr bool any_order = false;
  // Between two submitters of one datum the order is not known in advance, so the edges cannot be given.
  static bool supports(bench::Pattern p, unsigned submitters, unsigned workers) {
    return submitters == 1 || (workers >= submitters && (p == bench::Pattern::independent || p == bench::Pattern::wavefront));
  }

  explicit Backend(const bench::Options &o)
      : limit_(tbb::global_control::max_allowed_parallelism, o.workers), workers_(o.workers),
        window_(o.window ? o.window : default_window) {}
  void make_data(uint64_t) {}
  void drop_data() {}

  void prepare(const bench::Plan &p) {
    share_ = p.share();
    // A slot for each submitter: without one its work would be handed to a thread that is inside another's.
    arena_.emplace(static_cast<int>(workers_), p.submitters);
    arena_->initialize();
    first_.assign(1, 0);
    predecessors_.clear();
    std::vector<int64_t> writer(p.data, -1);
    std::vector<std::vector<uint32_t>> readers(p.data);
    for (unsigned s = 0; s < p.submitters; ++s)
      bench::each_task(p, s, [&](uint64_t i, const auto &uses) {
        const auto from = static_cast<ptrdiff_t>(predecessors_.size());
        for (unsigned k = 0; k < uses.count; ++k) {
          const uint32_t d = uses.id[k];
          if (k + 1 < uses.count) {
            if (writer[d] >= 0) predecessors_.push_back(static_cast<uint32_t>(writer[d]));
            readers[d].push_back(static_cast<uint32_t>(i));
          } else {
            if (readers[d].empty() && writer[d] >= 0) predecessors_.push_back(static_cast<uint32_t>(writer[d]));
            predecessors_.insert(predecessors_.end(), readers[d].begin(), readers[d].end());
            readers[d].clear();
            writer[d] = static_cast<int64_t>(i);
          }
        }
        std::sort(predecessors_.begin() + from, predecessors_.end());
        predecessors_.erase(std::unique(predecessors_.begin() + from, predecessors_.end()), predecessors_.end());
        first_.push_back(static_cast<uint32_t>(predecessors_.size()));
      });
  }

  template <class F> void drive(unsigned submitters, F f) {
    std::vector<std::thread> others;
    auto part = [&](unsigned s) {
      arena_->execute([&] {
        Graph graph(window_, s * share_);
        mine_ = &graph;
        f(s);
        graph.flush();
        mine_ = nullptr;
      });
    };
    for (unsigned s = 1; s < submitters; ++s) others.emplace_back(part, s);
    part(0);
    for (auto &t : others) t.join();
    arena_->execute([&] { group_.wait(); });
  }

  template <Body K> void submit(uint64_t i, const bench::Uses<0> &) {
    group_.run([i] { bench::run_body<K>(i); });
  }
  // The whole graph at once, with nothing run; each replay starts it anew.
  template <class F> void record(const bench::Plan &p, F f) {
    window_ = p.n;
    arena_->execute([&] {
      kept_.emplace(window_, 0);
      mine_ = &*kept_;
      f(0);
      mine_ = nullptr;
    });
  }
  void replay() {
    arena_->execute([&] {
      for (Node *r : kept_->roots) r->try_put(continue_msg());
      kept_->graph.wait_for_all();
    });
  }
  void forget() {
    arena_->execute([&] { kept_->flush(); });
    kept_.reset();
  }

  template <Body K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &) {
    Graph &g = *mine_;
    if (g.count == window_) g.flush();
    Node *const me = ::new (g.at(i)) Node(g.graph, [i](const continue_msg &) { bench::run_body<K>(i); });
    bool root = true;
    for (uint32_t e = first_[i]; e < first_[i + 1]; ++e)
      if (predecessors_[e] >= g.begin) { // those of earlier windows are done
        tbb::flow::make_edge(*g.at(predecessors_[e]), *me);
        root = false;
      }
    if (root) g.roots.push_back(me);
    ++g.count;
  }

  template <Body K> void sync(uint64_t i) {
    group_.run_and_wait([i] { bench::run_body<K>(i); });
  }

private:
  // One submitter's window: the nodes of tasks [begin, begin + count).
  struct Graph {
    Graph(uint64_t window, uint64_t from) : begin(from), nodes(static_cast<Node *>(std::aligned_alloc(64, (window * sizeof(Node) + 63) / 64 * 64))) {}
    Graph(const Graph &) = delete;
    ~Graph() { std::free(nodes); }
    Node *at(uint64_t i) { return nodes + (i - begin); }
    void flush() {
      for (Node *r : roots) r->try_put(continue_msg());
      graph.wait_for_all();
      graph.reset(tbb::flow::rf_clear_edges);
      for (uint64_t k = 0; k < count; ++k) nodes[k].~Node();
      roots.clear();
      begin += count;
      count = 0;
    }
    tbb::flow::graph graph;
    uint64_t begin, count = 0;
    Node *nodes;
    std::vector<Node *> roots;
  };
  static inline thread_local Graph *mine_ = nullptr;

  tbb::global_control limit_;
  tbb::task_group group_;
  std::optional<tbb::task_arena> arena_; // of one run
  unsigned workers_;
  uint64_t window_, share_ = 0;
  std::optional<Graph> kept_;
  std::vector<uint32_t> first_, predecessors_;
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
