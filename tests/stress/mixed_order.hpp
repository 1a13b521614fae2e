// mixed_order.hpp — the oracle's part for order that data do not express: windows, tags, cancelling. A window holds
// something back until a later step of the program's thread: a datum that it has entered, a tag, a task's end.
//
// There is one window at a time. Within it the program's thread waits for nothing, and a task that releases must not
// come after held-back tasks. So data that a held-back task uses are tainted until the window closes.
#pragma once
#include <map>
#include <set>

#include "stress/mixed_model.hpp"

namespace mixed {

class Order : public Model {
 protected:
  using Model::Model;

  // -- windows ---------------------------------------------------------------------------------------------------

  bool in_window() const { return open_ >= 0; }
  bool open(int s, int close) {
    if (in_window() || close <= s || !p_.has(close)) return false;
    open_ = s;
    close_ = close;
    return true;
  }
  bool closes(int s) {
    if (!in_window() || close_ != s) return false;
    open_ = close_ = -1;
    return true;
  }
  bool is_blocked(int s) const { return in_window() && fates_[static_cast<size_t>(s)].blocked_in == open_; }
  // Whether the task cannot run before the window closes; then its data are tainted.
  void find_blocked(int s) {
    Fate &f = fate(s);
    if (!in_window()) return;
    bool blocked = f.end_held || (step(s).parent >= 0 && is_blocked(step(s).parent));
    for (const int a : f.after) blocked |= is_blocked(a);
    for (const int a : f.end_after) blocked |= is_blocked(a);
    for (const Use &u : f.uses) blocked |= u.slot >= 0 && root(u.slot).top->tainted == open_;
    for (const int tag : f.tag_after) blocked |= is_open(tag);
    if (!blocked) return;
    f.blocked_in = open_;
    for (const Use &u : f.uses)
      if (u.slot >= 0) root(u.slot).top->tainted = open_;
  }

  // -- cancelling: only what cannot have started, because the program's thread holds what it needs ---------------

  bool is_held_back(int s) {
    const Fate &f = fate(s);
    for (const Use &u : f.uses)
      if (u.slot >= 0 && open_ >= 0 && root(u.slot).held && (root(u.slot).held & CONSORT_M_W || changes(u.mode)))
        return true;
    return false;
  }
  bool is_cancelled(int s) {
    if (step(s).parent >= 0 || !is_held_back(s)) return false;
    for (int c = s + 1; c < close_; ++c)
      if (p_.has(c) && step(c).kind == Kind::kCancel && step(c).other == s) return true;
    return false;
  }
  bool group_is_cancelled(int s) {
    if (!is_held_back(s)) return false;
    for (int c = s + 1; c < close_; ++c)
      if (p_.has(c) && step(c).kind == Kind::kGroupCancel) return true;
    return false;
  }

  // -- tags ------------------------------------------------------------------------------------------------------

  struct Tag {
    int carrier = -1;                    // since the last restart
    bool by_hand = false, over = false;  // notified before any task carried it; reached, as the program's thread knows
    std::set<int> after;
  };
  // Declared to be reached in this window, and not yet on its way.
  bool is_open(int tag) {
    return in_window() && step(open_).kind == Kind::kTagOpen && step(open_).number == tag && tags_[tag].carrier < 0 &&
           !tags_[tag].by_hand;
  }
  // May the task carry its tag? Then it comes after the tasks that carry the tag's declared predecessors.
  void choose_tag(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    f.tag = -1;
    if (t.tag < 0 || t.parent >= 0 || tags_[t.tag].carrier >= 0) return;
    for (const int other : tags_[t.tag].after)
      if (tags_[other].carrier < 0 && !tags_[other].by_hand && !is_open(other)) return;
    f.tag = t.tag;
  }
  void follow_tags(int s) {
    Fate &f = fate(s);
    if (f.tag < 0) return;
    for (const int other : tags_[f.tag].after)
      if (!tags_[other].by_hand && tags_[other].carrier >= 0) f.after.push_back(tags_[other].carrier);
  }
  // Which tags it is declared to come after, just before it is submitted.
  void declare_tags(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    f.tag_after.clear();
    f.by_tag.clear();
    if (f.tag < 0) return;
    for (const int a : f.after)
      if (const int tag = fate(a).tag;
          t.by_tags && tag >= 0 && tag < f.tag && tags_[tag].carrier == a && !tags_[tag].by_hand) {
        f.tag_after.push_back(tag);
        f.by_tag.push_back(a);
      }
    for (const int other : tags_[f.tag].after)
      if (is_open(other)) f.tag_after.push_back(other);
    if (t.needs_tag >= 0 && t.needs_tag < f.tag && is_open(t.needs_tag)) f.tag_after.push_back(t.needs_tag);
  }
  void carry_tag(int s) {
    Fate &f = fate(s);
    if (f.tag < 0) return;
    Tag &tag = tags_[f.tag];
    tag.after.insert(f.tag_after.begin(), f.tag_after.end());
    tag.carrier = s;
    tag.over = false;
  }
  // A tag that others wait for is carried by a task that ends well, and does not come after them.
  void check_open_tag(int s) {
    Fate &f = fate(s);
    if (f.tag >= 0 && is_open(f.tag) && (f.ends < 0 || is_blocked(s))) f.tag = -1;
  }

  int open_ = -1, close_ = -1;
  std::map<int, Tag> tags_;
};

}  // namespace mixed
