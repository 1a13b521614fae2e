// queue.hpp — the tasks of one worker in order of priority, then rank, then arrival.
//
// A treap over nodes of pool.hpp. Insertion and removal are logarithmic; first and last are O(1). first() lists the first
// tasks; ahead_of() returns the work before a new task. The owner
// holds the lock. Nothing is allocated.
#pragma once
#include "pool.hpp"

namespace policies {

class Queue {
 public:
  bool empty() const noexcept { return !root_; }
  double sum() const noexcept { return root_ ? root_->sum : 0; }

  void push(Node *n) noexcept {
    if (!front_ || more_urgent(n, front_)) front_ = n;
    if (!back_ || more_urgent(back_, n)) back_ = n;
    Node **at = &root_;
    while (*at && weight(*at) > weight(n)) {
      (*at)->sum += n->exec;
      at = more_urgent(n, *at) ? &(*at)->left : &(*at)->right;
    }
    split(*at, n, &n->left, &n->right);
    *at = n;
    update(n);
  }

  // n must be in this queue.
  void remove(Node *n) noexcept {
    Node **at = &root_;
    while (*at != n) {
      (*at)->sum -= n->exec;
      at = more_urgent(n, *at) ? &(*at)->left : &(*at)->right;
    }
    *at = merge(n->left, n->right);
    if (n == front_)
      for (front_ = root_; front_ && front_->left;) front_ = front_->left;
    if (n == back_)
      for (back_ = root_; back_ && back_->right;) back_ = back_->right;
  }

  Node *front() const noexcept { return front_; }
  Node *back() const noexcept { return back_; }

  // The first nodes in order, with equal priority and rank.
  uint32_t first(Node **out, uint32_t max) const noexcept {
    uint32_t n = 0;
    if (front_) walk(root_, front_, out, max, &n);
    return n;
  }

  // Work that a new task of this priority would wait for.
  double ahead_of(int32_t priority) const noexcept {
    double all = 0;
    for (const Node *n = root_; n;) {
      if (n->priority < priority) {
        n = n->left;
        continue;
      }
      all += n->exec + (n->left ? n->left->sum : 0);
      n = n->right;
    }
    return all;
  }

 private:
  static void update(Node *n) noexcept {
    n->sum = n->exec + (n->left ? n->left->sum : 0) + (n->right ? n->right->sum : 0);
  }
  // Splits `tree` into nodes before n and nodes after it.
  static void split(Node *tree, const Node *n, Node **low, Node **high) noexcept {
    if (!tree) {
      *low = *high = nullptr;
    } else if (more_urgent(tree, n)) {
      split(tree->right, n, &tree->right, high);
      *low = tree;
      update(tree);
    } else {
      split(tree->left, n, low, &tree->left);
      *high = tree;
      update(tree);
    }
  }
  static Node *merge(Node *a, Node *b) noexcept {
    if (!a || !b) return a ? a : b;
    if (weight(a) > weight(b)) {
      a->right = merge(a->right, b);
      update(a);
      return a;
    }
    b->left = merge(a, b->left);
    update(b);
    return b;
  }
  static void walk(Node *n, const Node *equal, Node **out, uint32_t max, uint32_t *count) noexcept {
    if (!n || *count == max) return;
    walk(n->left, equal, out, max, count);
    if (*count == max || n->priority != equal->priority || n->rank != equal->rank) return;
    out[(*count)++] = n;
    walk(n->right, equal, out, max, count);
  }

  Node *root_ = nullptr, *front_ = nullptr, *back_ = nullptr;
};

}  // namespace policies
