// recorded_graph.hpp — the edges between recorded tasks: from the order of their accesses, and from explicit predecessors.
//
// Pure values of one thread; nodes are numbers, in the order of submission. May throw bad_alloc.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace consort {

// Edges between nodes, by number: first the recorded tasks, then added nodes. Edges to one node are added
// consecutively; a second edge between the same two nodes is dropped.
class RecordedGraph {
 public:
  static constexpr uint32_t kNone = ~0u, kFan = 64;
  struct Edge { uint32_t from, to; };

  explicit RecordedGraph(uint32_t ntasks) : n_(ntasks), stamp_(ntasks, kNone) {}

  void edge(uint32_t from, uint32_t to) {  // from kNone: no edge
    if (from == kNone || from == to || stamp_[from] == to) return;
    stamp_[from] = to;
    edges_.push_back({from, to});
  }
  uint32_t add() {
    stamp_.push_back(kNone);
    return n_++;
  }
  // Adds a tree of nodes behind all nodes without a successor; its root is the last node.
  void finish();
  uint32_t size() const noexcept { return n_; }
  const std::vector<Edge> &edges() const noexcept { return edges_; }

 private:
  uint32_t n_;
  std::vector<uint32_t> stamp_;  // per node: the target of its last edge
  std::vector<Edge> edges_;
};

// The accesses of each datum in the order of submission. They become edges as in link_one() (graph/link_steps.hpp),
// with a junction between accesses of different kinds as in enter_phases() (graph/access_phase.hpp).
class AccessChains {
 public:
  AccessChains(RecordedGraph &graph, size_t ndata) : graph_(graph), chains_(ndata) {}
  void use(uint32_t task, uint32_t datum, uint32_t mode);

 private:
  struct Chain {
    uint32_t writer = RecordedGraph::kNone, sharers = RecordedGraph::kNone;  // sharers: the newest; linked in sharers_
    bool commuting = false;
  };
  struct Sharer { uint32_t task, next; };
  void close(Chain &c, uint32_t by);

  RecordedGraph &graph_;
  std::vector<Chain> chains_;  // by datum
  std::vector<Sharer> sharers_;
};

}  // namespace consort
