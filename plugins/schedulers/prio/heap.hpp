// heap.hpp — tasks by priority, the highest first; among equals in order of arrival.
//
// A search tree over the waiting priorities, each with a queue of its tasks. Nothing is allocated: the links are
// stored in sched[] of the tasks themselves. A plain container: its owner holds the lock. Insertion is logarithmic in
// the number of different priorities; the order of equals is exact.
//
// The first task of a priority is its node. The tree is a treap whose balance is a hash of the priority, so its
// shape depends only on its contents. A node has two words for three links (left, right, queue):
//   alone:        sched[0] = left,          sched[1] = right
//   with others:  sched[0] = last | 1,      sched[1] = right
//                 last->sched[0] = first of the others (a ring), last->sched[1] = left of the node
#pragma once
#include <consort/scheduler.h>

#include <cstdint>

namespace prio {

class Heap {
 public:
  bool empty() const noexcept { return !root_; }

  // Requires !empty().
  int32_t top() const noexcept {
    const consort_task *t = root_;
    while (right(t)) t = right(t);
    return t->priority;
  }

  void push(consort_task *task) noexcept {
    const int32_t p = task->priority;
    Place at = {nullptr, false};
    consort_task *node = root_;
    while (node && node->priority != p && hash(node->priority) > hash(p))
      at = {node, node->priority < p}, node = child(at);
    if (node && node->priority == p) return append(node, task);
    // The subtree here has a lower hash, so it cannot contain this priority: it becomes the node's two subtrees.
    task->sched[0] = task->sched[1] = nullptr;
    set(at, task);
    Place low = {task, false}, high = {task, true};
    while (node) {
      if (node->priority < p) {
        set(low, node);
        low = {node, true};
        node = right(node);
      } else {
        set(high, node);
        high = {node, false};
        node = left(node);
      }
    }
    set(low, nullptr);
    set(high, nullptr);
  }

  // Requires !empty().
  consort_task *pop() noexcept {
    Place at = {nullptr, false};
    consort_task *node = root_;
    while (right(node)) at = {node, true}, node = right(node);
    if (consort_task *last = queue(node)) {
      auto *next = static_cast<consort_task *>(last->sched[0]);
      auto *next_left = static_cast<consort_task *>(last->sched[1]);
      next->sched[1] = node->sched[1];
      if (next == last) {
        next->sched[0] = next_left;
      } else {
        last->sched[0] = next_of(next);
        next->sched[0] = tagged(last);
      }
      set(at, next);
    } else {
      set(at, left(node));
    }
    return node;
  }

 private:
  struct Place { consort_task *parent; bool right; };  // parent nullptr: the root

  static uint32_t hash(int32_t priority) noexcept {  // bijective: no two priorities collide
    uint32_t h = static_cast<uint32_t>(priority);
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
  }
  static void *tagged(consort_task *last) noexcept { return reinterpret_cast<char *>(last) + 1; }
  static consort_task *queue(const consort_task *node) noexcept {  // last of the other tasks; nullptr: alone
    char *word = static_cast<char *>(node->sched[0]);
    return reinterpret_cast<uintptr_t>(word) & 1 ? reinterpret_cast<consort_task *>(word - 1) : nullptr;
  }
  static consort_task *next_of(const consort_task *t) noexcept { return static_cast<consort_task *>(t->sched[0]); }
  static consort_task *left(const consort_task *node) noexcept {
    const consort_task *last = queue(node);
    return static_cast<consort_task *>(last ? last->sched[1] : node->sched[0]);
  }
  static consort_task *right(const consort_task *node) noexcept { return static_cast<consort_task *>(node->sched[1]); }

  consort_task *child(Place at) const noexcept {
    return !at.parent ? root_ : at.right ? right(at.parent) : left(at.parent);
  }
  void set(Place at, consort_task *to) noexcept {
    if (!at.parent) root_ = to;
    else if (at.right) at.parent->sched[1] = to;
    else if (consort_task *last = queue(at.parent)) last->sched[1] = to;
    else at.parent->sched[0] = to;
  }

  static void append(consort_task *node, consort_task *task) noexcept {
    consort_task *last = queue(node);
    task->sched[1] = left(node);
    task->sched[0] = last ? last->sched[0] : task;
    if (last) last->sched[0] = task;
    node->sched[0] = tagged(task);
  }

  consort_task *root_ = nullptr;
};

}  // namespace prio
