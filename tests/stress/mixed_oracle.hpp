// mixed_oracle.hpp — executes a program step by step on plain arrays. So it predicts the values that each task sees,
// its end, its number of runs, and the values at the end. Also decides which steps are valid where they stand, and
// which explicit predecessors a task needs where its data give no order.
#pragma once
#include "stress/mixed_order.hpp"

namespace mixed {

class Oracle : public Order {
 public:
  Oracle(const Program &p, std::deque<Fate> &fates, std::deque<Life> &lives, bool trees = false)
      : Order(p, fates, lives, trees) {
    for (size_t s = 0; s < p.steps.size(); ++s) {
      if (!p.dropped[s]) judge(static_cast<int>(s));
      fates[s].in_window = in_window();
    }
    close();
  }

 private:
  // A task whose id the program's thread knows.
  bool is_task(int s) const {
    return (step(s).kind == Kind::kTask || step(s).kind == Kind::kCopy) && step(s).parent < 0 && step(s).recorded < 0;
  }

  void judge_task(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    if (t.recorded >= 0) return;  // its recording looks after it
    if (t.parent >= 0 && (!p_.has(t.parent) || fate(t.parent).runs.empty())) return;  // it is never submitted
    if (t.parent >= 0 && step(t.parent).recorded >= 0) return;                        // it would, each time
    f.group = t.parent >= 0 ? fate(t.parent).group : t.group;
    f.unordered = t.unordered && t.parent < 0;
    if (!choose_uses(s)) return;
    if (f.group == kDoomedGroup && t.parent < 0 && !(f.cancelled = group_is_cancelled(s))) f.group = 1;
    if (!f.cancelled) f.cancelled = is_cancelled(s);
    choose_tag(s);
    find_predecessors(s);
    if (t.kind == Kind::kCopy && (!f.after.empty() || f.uses.size() != 2 || !alike(t.uses[0].slot, t.uses[1].slot)))
      return;
    for (const Use &u : f.uses)
      if (u.slot >= 0 && !loose(f, *root(u.slot).top)) come_to(root(u.slot), changes(u.mode), f.group);
    f.ends = how_it_ends(s);
    if (f.ends < 0) {  // the values after a phase with a failed task depend on the order of its tasks
      std::erase_if(f.uses, [](const Use &u) { return u.slot < kPad; });
      for (Use &u : f.uses)
        if (u.mode & CONSORT_M_COMMUTE && !root(u.slot).poisoned) u.mode = CONSORT_M_RW;
      find_predecessors(s);
      f.ends = how_it_ends(s);
    }
    f.ends_ahead = how_it_ends_ahead(s);
    f.skip = false;
    describe(f);
    choose_ends(s);
    declare_tags(s);
    find_blocked(s);
    check_open_tag(s);
    if (f.tag < 0) f.tag_after.clear(), f.by_tag.clear();
    carry_tag(s);
    choose_release(s);
    const bool runs = !t.empty && t.kind == Kind::kTask && (f.ends == CONSORT_OK || f.ends == CONSORT_E_IO);
    enter_data(s);
    for (int turn = 0; runs && turn < std::max(1, t.turns); ++turn) run(s);
    if (t.kind == Kind::kCopy && f.ends == CONSORT_OK) copy(root(t.uses[0].slot), root(t.uses[1].slot));
    if (f.ends < 0) {
      fail(f.group);
      for (const Use &u : f.uses)
        if (u.slot >= 0 && changes(u.mode)) root(u.slot).poisoned = true;
    }
    if (t.parent >= 0) fate(t.parent).children.push_back(s);
  }

  bool choose_uses(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    for (const Use &u : t.uses) {
      if (u.slot < 0) {
        if (!t.empty && (t.end_release < 0 || u.slot == kPad)) f.uses.push_back(u);
        f.unordered &= u.slot == kPad;
        continue;
      }
      if (!is_there(u.slot) || !may_join(f, u)) continue;
      Root &r = *root(u.slot).top;
      if (t.parent >= 0 && !parent_covers(t.parent, u.slot)) continue;
      if (r.unordered && (r.sealed || r.held || t.kind == Kind::kCopy)) return false;
      if (t.turns && !r.users.empty()) return false;  // others would come between its turns
      if (r.phase == Root::kOnCopies || r.sealed || r.held || r.plans) f.unordered = false;
      Use mine = u;
      // An empty task neither adds nor overwrites: contributions behind it are of no interest.
      if (t.empty && mine.mode & CONSORT_M_REDUX) mine.mode = CONSORT_M_R;
      if (t.empty && mine.mode == CONSORT_M_W && root(u.slot).phase == Root::kOnCopies) mine.mode = CONSORT_M_RW;
      for (const Use &other : f.uses)
        if (other.slot == u.slot && (adds(other.mode) || adds(mine.mode))) mine.slot = kPad;  // left out below
      if (mine.slot >= 0) f.uses.push_back(mine);
    }
    for (Use &u : f.uses)
      if (u.slot >= 0 && adds(u.mode) && (f.unordered || root(u.slot).top->unordered)) u.mode = CONSORT_M_RW;
    return true;
  }
  // Of one tree, a task names one datum, or several parts of one plan.
  bool may_join(const Fate &f, const Use &u) {
    for (const Use &other : f.uses)
      if (other.slot >= 0 && other.slot != u.slot && root(other.slot).top == root(u.slot).top &&
          (other.slot < kParts || u.slot < kParts || plan_of(other.slot) != plan_of(u.slot)))
        return false;
    return true;
  }
  // A child may use the shadow that its parent holds exclusively.
  bool parent_covers(int parent, int shadow) {
    for (const Use &u : fate(parent).uses)
      if (u.slot >= 0 && u.slot < kParts && alone(u.mode) && u.slot + static_cast<int>(p_.slots.size()) / 2 == shadow)
        return root(u.slot).top->shadowed = true;
    return false;
  }

  void find_predecessors(int s) {
    Fate &f = fate(s);
    f.after.clear();
    for (const int a : step(s).after)
      if (p_.has(a) && a < s && is_task(a) && !fate(a).skip) f.after.push_back(a);
    follow_tags(s);
    for (const Use &u : f.uses) {
      if (u.slot < 0) continue;
      const Root &r = *root(u.slot).top;
      for (const User &other : r.users)
        if ((other.loose || loose(f, r)) && (other.changes || other.behind_union || changes(u.mode)) && other.step != s)
          f.after.push_back(other.step);
    }
    std::sort(f.after.begin(), f.after.end());
    f.after.erase(std::unique(f.after.begin(), f.after.end()), f.after.end());
  }

  consort_status how_it_ends(int s) {
    const Step &t = step(s);
    const Fate &f = fate(s);
    if (f.cancelled) return CONSORT_E_CANCELLED;
    for (const int a : f.after)
      if (fate(a).ends < 0) return CONSORT_E_POISONED;
    if (t.empty) return CONSORT_OK;
    for (const Use &u : f.uses)
      if (u.slot >= 0 && reads(u.mode))
        if (const consort_status status = readable(root(u.slot)); status < 0) return status;
    return t.fails ? CONSORT_E_IO : CONSORT_OK;
  }

  // A device gets a task before its predecessors end. A poisoned task that also reads a datum without contents is then
  // refused for the datum.
  consort_status how_it_ends_ahead(int s) {
    const Fate &f = fate(s);
    if (f.ends != CONSORT_E_POISONED || step(s).empty) return f.ends;
    for (const Use &u : f.uses)
      if (u.slot >= 0 && reads(u.mode) && readable(root(u.slot)) == CONSORT_E_INVAL) return CONSORT_E_INVAL;
    return f.ends;
  }

  // -- ends that are held ----------------------------------------------------------------------------------------

  // Until its end, so that others could not end before.
  static bool keeps_others_out(const Fate &f) {
    return std::any_of(f.uses.begin(), f.uses.end(), [](const Use &u) { return u.mode & CONSORT_M_COMMUTE; });
  }
  void choose_ends(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    for (const int a : t.end_after)
      if (!keeps_others_out(f) && p_.has(a) && a < s && is_task(a) && !fate(a).skip) f.end_after.push_back(a);
    f.end_held = t.end_release >= 0 && !t.turns && !keeps_others_out(f) && open(s, t.end_release);
  }
  // Its body lets go of another task's end.
  void choose_release(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    if (t.releases < 0 || t.empty || f.ends < 0) return;
    if (t.parent >= 0) {
      if (t.releases != t.parent || t.via != Via::kBody || keeps_others_out(fate(t.parent))) return;
      ++fate(t.parent).holds_itself;
      f.releases = t.parent;
      return;
    }
    if (!in_window() || open_ != t.releases || is_blocked(s)) return;
    Fate &other = fate(t.releases);
    if (!other.end_held || other.end_released) return;
    other.end_released = true;
    f.releases = t.releases;
  }
  bool alike(int a, int b) const {
    const Slot &x = p_.slots[static_cast<size_t>(a)], &y = p_.slots[static_cast<size_t>(b)];
    return x.layout == y.layout && x.nx == y.nx && x.ny == y.ny;
  }
  static void copy(Root &to, const Root &from) {
    to.cells = from.cells;
    to.written = true;
    to.poisoned = false;
  }

  // -- recordings ------------------------------------------------------------------------------------------------

  template <class F>
  void each_recorded(int record, F f) {
    for (int c = record + 1; c < static_cast<int>(p_.steps.size()) && step(c).recorded == record; ++c)
      if (p_.has(c)) f(c);
  }
  // Restricts its tasks to features that a recording supports.
  void choose_recorded(int record) {
    each_recorded(record, [&](int c) {
      Fate &f = fate(c);
      for (const Use &u : step(c).uses) f.uses.push_back({u.slot, u.mode & CONSORT_M_REDUX ? uint32_t{CONSORT_M_RW} : u.mode});
      describe(f);
    });
  }
  // May its tasks run here, one after the other?
  bool may_play(int record) {
    if (in_window()) return false;
    bool may = true;
    std::set<int> written;
    each_recorded(record, [&](int c) {
      const Fate &f = fate(c);
      for (size_t n = 0; n < f.uses.size(); ++n) {
        const Use &u = f.uses[n];
        const Root &r = root(u.slot);
        may &= !r.held && !r.unordered && !r.plans && !r.poisoned && r.life == f.lives[n];
        for (const User &user : r.users) may &= !user.loose;
        may &= !reads(u.mode) || readable(r) == CONSORT_OK || written.count(u.slot);
        if (alone(u.mode)) written.insert(u.slot);
      }
    });
    return may;
  }
  void play(int record, bool as_one) {
    each_recorded(record, [&](int c) {
      Fate &f = fate(c);
      f.skip = false;
      for (const Use &u : f.uses) {
        settle(root(u.slot), as_one ? uint32_t{CONSORT_M_RW} : u.mode, 0);
        root(u.slot).sealed = true;  // its users have no id
      }
      run(c);
    });
  }

  // It has its turn among the tasks: contributions are united before it, and plans opened or closed.
  void hint(Fate &f, Root &r, uint32_t mode) {
    f.skip = false;
    if (r.top->unordered) return;
    come_to(r, changes(mode), 0);
    // A task in no order with others does not wait for the union, which has no name that it could come after.
    r.top->sealed |= r.phase == Root::kOnCopies;
    settle(r, mode, 0);
  }

  // -- the other steps -------------------------------------------------------------------------------------------

  void judge(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    if (!t.uses.empty() && t.kind != Kind::kTask && !is_there(t.uses[0].slot)) return;
    Root *r = t.uses.empty() || !is_there(t.uses[0].slot) || t.uses[0].slot < 0 ? nullptr : &root(t.uses[0].slot);
    if (waits_for_tasks(t.kind) && in_window()) return;
    if (t.kind != Kind::kTask && t.kind != Kind::kCopy) f.uses = t.uses;
    switch (t.kind) {
      case Kind::kTask:
      case Kind::kCopy:
        return judge_task(s);
      case Kind::kEnter:
        return (void)enter(s, *r, t.uses[0].mode);
      case Kind::kOpen:
        if (!p_.has(t.other) || !enter(s, *r, t.uses[0].mode)) return;
        r->held = t.uses[0].mode;
        (void)open(s, t.other);
        r->top->tainted = s;
        return;
      case Kind::kClose:
        if (!closes(s)) return;
        f.skip = false;
        root(step(t.other).uses[0].slot).held = 0;
        return;
      case Kind::kInvalidate:
        if (r->held) return;
        f.skip = false;
        come_to(*r, true, 0);
        settle(*r, CONSORT_M_W, 0);
        r->written = r->poisoned = false;
        r->users.clear();
        r->sealed = true;
        return;
      case Kind::kRenewLater:
        if (r->held || r->shadowed || (in_window() && r->plans)) return;
        [[fallthrough]];
      case Kind::kRenew:
        f.skip = false;
        end_life(t.uses[0].slot);
        begin_life(t.uses[0].slot);
        return;
      case Kind::kGroupWait:
        f.skip = false;
        f.ends = failed_[t.number] ? CONSORT_E_INTERNAL : CONSORT_OK;  // some error
        failed_[t.number] = false;
        return;
      case Kind::kTaskWait:
        if (!p_.has(t.other) || !is_task(t.other) || fate(t.other).skip) return;
        f.skip = false;
        f.ends = fate(t.other).ends;
        f.ends_ahead = fate(t.other).ends_ahead;
        return;
      case Kind::kWaitAll:
        if (!p_.alone) return;  // it would collect the others' failures
        f.skip = false;
        for (auto &tag : tags_) tag.second.over = true;
        root(p_.own_slot).users.clear();
        for (bool &failed : failed_) {
          if (failed) f.ends = CONSORT_E_INTERNAL;
          failed = false;
        }
        return;
      case Kind::kCancel:
        f.skip = !p_.has(t.other) || !fate(t.other).cancelled || fate(t.other).group == kDoomedGroup || !in_window();
        return;
      case Kind::kGroupCancel:
        f.skip = !in_window();
        return;
      case Kind::kSetOrdered:
        if (r->held || r->plans || r->phase == Root::kOnCopies) return;
        f.skip = false;
        r->unordered = t.number == 0;
        return;
      case Kind::kSwap:
      case Kind::kNoReady:
      case Kind::kEach:
      case Kind::kMoveWorker:
        f.skip = false;
        return;
      case Kind::kPrefetch:
      case Kind::kWontUse:
        return hint(f, *r, CONSORT_M_R);
      case Kind::kEvict:
      case Kind::kWriteThrough:
        return hint(f, *r, CONSORT_M_RW);
      case Kind::kEnterLater:
        if (r->held) return;
        {
          const auto users = r->users;
          (void)enter(s, *r, t.uses[0].mode);
          if (!(t.uses[0].mode & CONSORT_M_W)) r->users = users;  // not over yet
          r->top->sealed = true;                                  // it has no id
          return;
        }
      case Kind::kPlan: {
        const int n = r->shape.layout == Slot::kMatrix ? r->shape.ny : r->shape.nx;
        if (plans_.count(t.number) || r->shape.layout == Slot::kVariable || t.other > n || in_window()) return;
        for (const User &u : r->top->users)
          if (u.loose) return;
        if (r->top->unordered) return;
        f.skip = false;
        describe(f);
        make_plan(t.number, t.uses[0].slot, t.other);
        return;
      }
      case Kind::kRecord:
        choose_recorded(s);
        if (!may_play(s)) return;
        f.skip = false;
        if (!t.number) play(s, false);
        for (int turn = 0; turn < t.other; ++turn) play(s, true);
        return;
      case Kind::kReplay:
        if (!p_.has(t.other) || fate(t.other).skip || !may_play(t.other)) return;
        f.skip = false;
        for (int turn = 0; turn < t.number; ++turn) play(t.other, true);
        return;
      case Kind::kPlanEnd:
        if (!plans_.count(t.number) || in_window()) return;
        f.skip = false;
        end_plan(t.number, 0);
        return;
      case Kind::kTagOpen:
        f.skip = tags_[t.number].carrier >= 0 || tags_[t.number].by_hand || !open(s, t.other);
        return;
      case Kind::kTagClose:
        f.skip = !in_window() || close_ != s || !is_open(t.number);
        if (!f.skip) tags_[t.number].by_hand = tags_[t.number].over = true;
        (void)closes(s);
        return;
      case Kind::kTagNotify:
        f.skip = tags_[t.number].carrier >= 0 || (in_window() && is_open(t.number));
        if (!f.skip) tags_[t.number].by_hand = tags_[t.number].over = true;
        return;
      case Kind::kTagWait: {
        Tag &tag = tags_[t.number];
        f.skip = tag.carrier < 0 && !tag.by_hand;
        if (f.skip) return;
        if (!tag.by_hand) f.ends = fate(tag.carrier).ends, f.ends_ahead = fate(tag.carrier).ends_ahead;
        tag.over |= !tag.by_hand || tag.carrier < 0;
        return;
      }
      case Kind::kTagRestart: {
        Tag &tag = tags_[t.number];
        f.skip = in_window() || !tag.over;
        if (f.skip) return;
        tag.carrier = -1;
        tag.by_hand = tag.over = false;
        return;
      }
      case Kind::kEndRelease:
        f.skip = !p_.has(t.other) || fate(t.other).end_released || !in_window() || close_ != s;
        (void)closes(s);
        return;
    }
  }
};

}  // namespace mixed
