// The micro benchmark on oneTBB, which infers no dependences: the user draws the edges, here as a flow graph of
// continue_nodes, built and run in windows. Which edges there are is worked out before the clock starts; making the
// nodes and the edges is inside it. Tasks without data go to a task_group. Owned by main().
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "edges.hpp"
#include "harness.hpp"
#include <optional>

namespace {

using bench::Kind;
using tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<continue_msg>;

constexpr uint64_t default_window = 256; // the best of those tried, from 128 to everything at once

class Backend {
public:
  static constexpr const char *name = "tbb";
  static constexpr bool edges = true;
  // Between two submitters of one datum the order is not known in advance, so the edges cannot be given.
  static bool supports(const bench::Case &c, unsigned workers) {
    return c.submitters == 1 || (workers >= c.submitters && (c.pattern == bench::Pattern::independent || c.pattern == bench::Pattern::wavefront));
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
    edges_.work_out(p);
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

  template <Kind K, unsigned N> void submit(uint64_t i, const bench::Uses<N> &) {
    if constexpr (N != 0 || K.priority) add_node<K>(i); // a task_group knows no priorities
    else if constexpr (K.value) group_.run([i] { bench::run_body<K>(i); });
    else group_.run([] { bench::run_bare<K>(); });
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

  template <Kind K> void sync(uint64_t i) {
    group_.run_and_wait([i] { bench::run_body<K>(i); });
  }

private:
  template <Kind K> void add_node(uint64_t i) {
    Graph &g = *mine_;
    if (g.count == window_) g.flush();
    Node *const me = g.at(i);
    if constexpr (K.priority)
      ::new (me) Node(g.graph, [i](const continue_msg &) { bench::run_body<K>(i); }, 1u + static_cast<unsigned>(bench::priority_of(i)));
    else if constexpr (K.value) ::new (me) Node(g.graph, [i](const continue_msg &) { bench::run_body<K>(i); });
    else ::new (me) Node(g.graph, [](const continue_msg &) { bench::run_bare<K>(); });
    bool root = true;
    for (const uint32_t *e = edges_.begin(i); e != edges_.end(i); ++e)
      if (*e >= g.begin) { // those of earlier windows are done
        tbb::flow::make_edge(*g.at(*e), *me);
        root = false;
      }
    if (root) g.roots.push_back(me);
    ++g.count;
  }

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
  bench::Edges edges_;
};

} // namespace

int main(int argc, char **argv) { return bench::bench_main<Backend>(argc, argv); }
