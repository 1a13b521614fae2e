// pool.hpp — what a queued task is to this family: a node, out of a pool that grows by halves and never shrinks.
//
// Owned by one instance and guarded by its lock. A node's task is the kernel's; nothing of it is written here.
#pragma once
#include <consort/scheduler.h>

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace policies {

struct alignas(64) Node {                  // two lines; what a queue and a choice look at is in the first
  consort_task *task = nullptr;
  Node *left = nullptr, *right = nullptr;  // of the tree that it is in; left: the next free one
  uint64_t seq = 0;                        // of its arrival; its hash balances the tree
  union {
    double sum = 0;                        // of queue.hpp: `exec` of the whole subtree
    Node *next;                            // of ready.hpp: the one behind it
  };
  uint64_t stays = 0;                      // of late_binding.hpp: groups that do it well and have all that it changes; 0: none
  float rank = 0;                          // ns from its start to the end of what hangs on it; 0: not known
  float exec = 0;                          // ns expected here
  int32_t priority = 0;
  float changes = 0;                       // of late_binding.hpp: bytes that it changes
  uint64_t groups = 0;                     // those of the first 64 groups that can run it; 0: only where it is
  const void *team = nullptr;              // it is for this team, whose first worker has it
  uint32_t worker = 0, impl = CONSORT_NONE;
  uint32_t plan = CONSORT_NONE;            // of darts: the group that means to take it
  uint32_t place = 0;                      // of late_binding.hpp: in the graph, 0: not known
  bool known = true;                       // a model told `exec`
};

// Which of two goes first, of whatever kinds.
inline bool more_urgent(const Node *a, const Node *b) noexcept {
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->rank != b->rank) return a->rank > b->rank;
  return a->seq < b->seq;
}

// Balances a tree of nodes: the heavier one is above.
inline uint32_t weight(const Node *n) noexcept {
  uint64_t h = n->seq * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>((h ^ h >> 29) * 0xbf58476d1ce4e5b9 >> 32);
}

class Pool {
 public:
  // n calls of take() more will find one. May throw; nothing is promised then.
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
  uint32_t waiting() const noexcept { return total_ - free_count_ + promised_; }  // tasks queued, or about to be
  // By its address alone: the task may be none of ours.
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
