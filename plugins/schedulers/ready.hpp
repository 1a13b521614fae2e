// ready.hpp — the ready tasks of one kind in order of priority, then rank, then arrival.
//
// A treap over nodes of pool.hpp, threaded in order. Insertion and removal are logarithmic and touch only the search path;
// the first nodes are read sequentially. The owner holds the
// lock. Nothing is allocated. It does not sum the waiting work; queue.hpp does.
#pragma once
#include "pool.hpp"

namespace policies {

class Ready {
 public:
  bool empty() const noexcept { return !root_; }
  Node *front() const noexcept { return front_; }
  Node *back() const noexcept { return back_; }

  void push(Node *n) noexcept {
    Node *ahead = nullptr, *behind = nullptr, **at = &root_;
    while (*at && weight(*at) > weight(n)) at = step(*at, n, &ahead, &behind);
    // Splits the subtree here into nodes before n and the others.
    Node *tree = *at, **low = &n->left, **high = &n->right;
    *at = n;
    while (tree) {
      Node **const next = step(tree, n, &ahead, &behind);
      Node **&side = ahead == tree ? low : high;
      *side = tree;
      side = next;
      tree = *next;
    }
    *low = *high = nullptr;
    n->next = behind;
    (ahead ? ahead->next : front_) = n;
    if (!behind) back_ = n;
  }

  // n must be in this queue.
  void remove(Node *n) noexcept {
    Node *ahead = nullptr, *behind = nullptr, **at = &root_;
    while (*at != n) at = step(*at, n, &ahead, &behind);
    Node *a = n->left, *b = n->right;
    if (a)
      for (ahead = a; ahead->right;) ahead = ahead->right;
    while (a && b) {
      Node *&top = weight(a) > weight(b) ? a : b;
      *at = top;
      at = top == a ? &a->right : &b->left;
      top = *at;
    }
    *at = a ? a : b;
    (ahead ? ahead->next : front_) = n->next;
    if (n == back_) back_ = ahead;
  }

  // The first nodes in order; out[] already has `have` of them.
  uint32_t first(Node **out, uint32_t max, uint32_t have = 0) const noexcept {
    for (Node *n = have ? out[have - 1]->next : front_; n && have < max; n = n->next) out[have++] = n;
    return have;
  }

 private:
  // One step down from `here` towards n's place.
  static Node **step(Node *here, const Node *n, Node **ahead, Node **behind) noexcept {
    if (more_urgent(here, n)) {
      *ahead = here;
      return &here->right;
    }
    *behind = here;
    return &here->left;
  }

  Node *root_ = nullptr, *front_ = nullptr, *back_ = nullptr;
};

}  // namespace policies
