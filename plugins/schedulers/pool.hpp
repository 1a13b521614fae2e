// pool.hpp — nodes of queued tasks, from a pool that grows by halves and never shrinks.
//
// Owned by one instance and guarded by its lock. The kernel owns a node's task; the pool does not write to it.
#pragma once
#include <consort/scheduler.h>

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace policies {

struct alignas(64) Node {                  // two cache lines; queues and choices read only the first
  consort_task *task = nullptr;
  Node *left = nullptr, *right = nullptr;  // in its tree; left: next free node
  uint64_t seq = 0;                        // arrival number; its hash balances the tree
  union {
    double sum = 0;                        // queue.hpp: sum of `exec` of the subtree
    Node *next;                            // ready.hpp: the next node in order
  };
  uint64_t stays = 0;                      // late_binding.hpp: fast groups that hold all data that it writes; 0: none
  float rank = 0;                          // ns of the critical path from its start; 0: unknown
  float exec = 0;                          // expected ns here
  int32_t priority = 0;
  float changes = 0;                       // late_binding.hpp: bytes that it writes
  uint64_t groups = 0;                     // eligible groups of the first 64; 0: only its present worker
  const void *team = nullptr;              // the team that runs it; the team's first worker holds it
  uint32_t worker = 0, impl = CONSORT_NONE;
  uint32_t plan = CONSORT_NONE;            // darts: the group that plans it
  uint32_t place = 0;                      // late_binding.hpp: position in the graph, 0: unknown
  uint32_t home = CONSORT_NONE;            // late_binding.hpp: the group at which it ends first; `exec` is its time there
  uint32_t group_change = 0;               // and which groups that means
  float home_way = 0;                      // ns of its data to its home
  bool known = true;                       // `exec` comes from a model
};

// Order of two nodes of any kinds.
inline bool more_urgent(const Node *a, const Node *b) noexcept {
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->rank != b->rank) return a->rank > b->rank;
  return a->seq < b->seq;
}

// Balances a tree of nodes: the heavier node is above.
inline uint32_t weight(const Node *n) noexcept {
  uint64_t h = n->seq * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>((h ^ h >> 29) * 0xbf58476d1ce4e5b9 >> 32);
}

class Pool {
 public:
  // Reserves n later calls of take(). May throw; then nothing is reserved.
  void promise(uint32_t n) {
    if (free_count_ - promised_ < n) add(n - (free_count_ - promised_));
    promised_ += n;
  }
  Node *take() noexcept {
    Node *n = free_;
    free_ = n->left;
    --free_count_;
    --promised_;
    *n = Node{};
    return n;
  }
  void put(Node *n) noexcept {
    n->task = nullptr;
    n->left = free_;
    free_ = n;
    ++free_count_;
  }
  uint32_t waiting() const noexcept { return total_ - free_count_ + promised_; }  // queued tasks, including reserved ones
  // Compares addresses only: the task may be unknown.
  Node *find(const consort_task *t) noexcept {
    for (auto &c : chunks_)
      for (uint32_t i = 0; i < c.count; ++i)
        if (c.nodes[i].task == t) return &c.nodes[i];
    return nullptr;
  }

 private:
  struct Chunk {
    std::unique_ptr<Node[]> nodes;
    uint32_t count;
  };

  void add(uint32_t least) {
    const uint32_t more = least > total_ / 2 + 1024 ? least : total_ / 2 + 1024;
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back({std::make_unique<Node[]>(more), more});
    for (uint32_t i = 0; i < more; ++i) put(&chunks_.back().nodes[i]);
    total_ += more;
  }

  std::vector<Chunk> chunks_;
  Node *free_ = nullptr;
  uint32_t free_count_ = 0, promised_ = 0, total_ = 0;  // promised_ <= free_count_
};

}  // namespace policies
