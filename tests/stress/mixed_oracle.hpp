// mixed_oracle.hpp — executes a program step by step on plain arrays, and so foretells what each task must see, how it
// ends, how often it runs, and what is left at the end. Also decides which steps make sense where they stand, and which
// explicit predecessors a task needs where its data give no order.
#pragma once
#include "stress/mixed_program.hpp"

namespace mixed {

inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline bool reads(uint32_t mode) { return mode & CONSORT_M_R; }
inline bool changes(uint32_t mode) { return mode & (CONSORT_M_W | CONSORT_M_REDUX); }
inline bool adds(uint32_t mode) { return mode & (CONSORT_M_COMMUTE | CONSORT_M_REDUX); }
inline bool alone(uint32_t mode) { return (mode & CONSORT_M_W) && !adds(mode); }
// What a body makes of cell `i` of a datum.
inline int64_t written(uint32_t mode, int64_t before, int64_t k, int i) {
  return adds(mode) ? plus(before, plus(k, i))
                    : plus(mode == CONSORT_M_RW ? plus(before, plus(before, before)) : 0, plus(k, i));
}

class Oracle {
 public:
  Oracle(const Program &p, std::deque<Fate> &fates, std::deque<Life> &lives) : p_(p), fates_(fates), lives_(lives) {
    for (size_t d = 0; d < p.slots.size(); ++d) {
      roots_.emplace_back();
      begin_life(static_cast<int>(d));
    }
    for (size_t s = 0; s < p.steps.size(); ++s)
      if (!p.dropped[s]) judge(static_cast<int>(s));
    for (size_t d = 0; d < p.slots.size(); ++d) {
      Root &r = roots_[d];
      settle(r, CONSORT_M_R, 0);
      final_.push_back({readable(r), r.cells});
      end_life(static_cast<int>(d));
    }
  }

  struct Final {
    consort_status status;
    std::vector<int64_t> cells;
  };
  const std::vector<Final> &last() const { return final_; }  // by slot
  const int64_t *shared() const { return shared_; }          // what the shared sums must have grown by
  bool anything_failed() const {
    for (const bool f : ever_failed_)
      if (f) return true;
    return false;
  }

 private:
  struct User {
    int step;
    bool changes, loose;
  };
  struct Root {
    std::vector<int64_t> cells;
    bool written = false, poisoned = false, pending = false, fixed = false;
    enum Phase { kTogether, kOneByOne, kOnCopies } phase = kTogether;
    bool unordered = false, sealed = false, shadowed = false;
    uint32_t held = 0;
    int life = 0;
    std::vector<User> users;  // since the last that had it alone
  };

  Fate &fate(int s) { return fates_[static_cast<size_t>(s)]; }
  const Step &step(int s) const { return p_.steps[static_cast<size_t>(s)]; }
  Root &root(int slot) { return roots_[static_cast<size_t>(slot)]; }

  // -- data ------------------------------------------------------------------------------------------------------

  void begin_life(int d) {
    const Slot &x = p_.slots[static_cast<size_t>(d)];
    Root &r = root(d);
    r = Root();
    r.life = static_cast<int>(lives_.size());
    Life &life = lives_.emplace_back(d, x.cells());
    r.cells.resize(static_cast<size_t>(x.cells()));
    r.written = !x.homeless;
    if (x.homeless) return;
    life.home.resize(static_cast<size_t>(x.ld * x.ny), -1);
    for (int i = 0; i < x.cells(); ++i)
      life.home[static_cast<size_t>(i / x.nx * x.ld + i % x.nx)] = r.cells[static_cast<size_t>(i)] = 7 * r.life + i;
  }
  void end_life(int d) {
    Root &r = root(d);
    settle(r, CONSORT_M_R, 0);
    Life &life = lives_[static_cast<size_t>(r.life)];
    life.known = readable(r) == CONSORT_OK && !life.home.empty();
    life.last = r.cells;
  }
  static consort_status readable(const Root &r) {
    return r.poisoned                                               ? CONSORT_E_POISONED
           : r.written || (r.phase == Root::kOnCopies && r.pending) ? CONSORT_OK
                                                                    : CONSORT_E_INVAL;
  }
  // The phase that the datum is in gives way to one for this mode.
  void settle(Root &r, uint32_t mode, int group) {
    const auto wanted = mode & CONSORT_M_REDUX     ? Root::kOnCopies
                        : mode & CONSORT_M_COMMUTE ? Root::kOneByOne
                                                   : Root::kTogether;
    const bool fixed = mode & CONSORT_M_FIXED_TREE;
    if (r.phase == Root::kOnCopies && (wanted != r.phase || fixed != r.fixed)) {
      if (mode == CONSORT_M_W)
        r.pending = false;  // nobody wants them
      else if (r.poisoned)
        fail(group);  // they are not brought together
      r.written |= r.pending;
      r.pending = false;
    }
    r.phase = wanted;
    r.fixed = fixed;
  }
  void fail(int group) { failed_[group] = ever_failed_[group] = true; }

  // -- tasks -----------------------------------------------------------------------------------------------------

  void judge_task(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    if (t.parent >= 0 && (!p_.has(t.parent) || fate(t.parent).runs.empty())) return;  // nobody submits it
    f.group = t.parent >= 0 ? fate(t.parent).group : t.group;
    f.unordered = t.unordered && t.parent < 0;
    if (!choose_uses(s)) return;
    if (f.group == kDoomedGroup && t.parent < 0 && !(f.cancelled = group_is_cancelled(s))) f.group = 1;
    if (!f.cancelled) f.cancelled = is_cancelled(s);
    find_predecessors(s);
    f.ends = how_it_ends(s);
    if (f.ends < 0) {  // what a phase is left with when one of it fails depends on the order of its tasks
      std::erase_if(f.uses, [](const Use &u) { return u.slot < kPad; });
      for (Use &u : f.uses)
        if (u.mode & CONSORT_M_COMMUTE && !root(u.slot).poisoned) u.mode = CONSORT_M_RW;
      find_predecessors(s);
      f.ends = how_it_ends(s);
    }
    f.skip = false;
    const bool runs = !t.empty && (f.ends == CONSORT_OK || f.ends == CONSORT_E_IO);
    enter_data(s);
    if (runs) run(s);
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
        if (!t.empty) f.uses.push_back(u);
        f.unordered &= u.slot == kPad;
        continue;
      }
      Root &r = root(u.slot);
      if (t.parent >= 0 && !parent_covers(t.parent, u.slot)) continue;
      if (r.unordered && (r.sealed || r.held)) return false;
      if (r.phase == Root::kOnCopies || r.sealed || r.held) f.unordered = false;
      Use mine = u;
      // An empty task neither adds nor overwrites: what is left of contributions behind it is nobody's business.
      if (t.empty && mine.mode & CONSORT_M_REDUX) mine.mode = CONSORT_M_R;
      if (t.empty && mine.mode == CONSORT_M_W && r.phase == Root::kOnCopies) mine.mode = CONSORT_M_RW;
      for (const Use &other : f.uses)
        if (other.slot == u.slot && (adds(other.mode) || adds(mine.mode))) mine.slot = kPad;  // left out below
      if (mine.slot >= 0) f.uses.push_back(mine);
    }
    for (Use &u : f.uses)
      if (u.slot >= 0 && adds(u.mode) && (f.unordered || root(u.slot).unordered)) u.mode = CONSORT_M_RW;
    return true;
  }
  // A child may use the shadow of what its parent has alone.
  bool parent_covers(int parent, int shadow) {
    for (const Use &u : fate(parent).uses)
      if (u.slot >= 0 && alone(u.mode) && u.slot + static_cast<int>(p_.slots.size()) / 2 == shadow)
        return root(u.slot).shadowed = true;
    return false;
  }

  bool loose(const Fate &f, const Root &r) const { return f.unordered || r.unordered; }

  void find_predecessors(int s) {
    Fate &f = fate(s);
    f.after.clear();
    for (const int a : step(s).after)
      if (p_.has(a) && a < s && step(a).kind == Kind::kTask && step(a).parent < 0 && !fate(a).skip)
        f.after.push_back(a);
    for (const Use &u : f.uses) {
      if (u.slot < 0) continue;
      const Root &r = root(u.slot);
      for (const User &other : r.users)
        if ((other.loose || loose(f, r)) && (other.changes || changes(u.mode)) && other.step != s)
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

  // Its place in the order of its data.
  void enter_data(int s) {
    const Fate &f = fate(s);
    for (const Use &u : f.uses) {
      if (u.slot < 0) continue;
      uint32_t mode = u.mode;
      for (const Use &other : f.uses)
        if (other.slot == u.slot) mode |= other.mode;
      Root &r = root(u.slot);
      const bool free = loose(f, r), copies = r.phase == Root::kOnCopies;
      if (!free) settle(r, mode, f.group);
      if (alone(mode)) {
        r.users.clear();
        if (!free) r.sealed = false;
      }
      r.users.push_back(
          {s, changes(mode) || (copies && r.phase != Root::kOnCopies), free});  // behind the union of copies, too
    }
  }

  void run(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    Sight &sight = f.runs.emplace_back();
    for (const Use &u : f.uses) {
      auto &sees = sight.cells.emplace_back();
      if (u.slot >= 0 && reads(u.mode) && !adds(u.mode)) sees = root(u.slot).cells;
    }
    for (const Use &u : f.uses) {
      if (u.slot < kPad) {
        if (f.ends == CONSORT_OK) shared_[kSharedSum0 - u.slot] += t.k;
        continue;
      }
      if (u.slot < 0 || !changes(u.mode)) continue;
      Root &r = root(u.slot);
      if (u.mode & CONSORT_M_REDUX && !r.written && !r.pending) std::fill(r.cells.begin(), r.cells.end(), 0);
      for (size_t i = 0; i < r.cells.size(); ++i) r.cells[i] = written(u.mode, r.cells[i], t.k, static_cast<int>(i));
      if (f.ends < 0) continue;
      if (u.mode & CONSORT_M_REDUX)
        r.pending = true;
      else
        r.written = true, r.poisoned = false;
    }
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
    for (int c = s + 1; c < step(open_).other; ++c)
      if (p_.has(c) && step(c).kind == Kind::kCancel && step(c).other == s) return true;
    return false;
  }
  bool group_is_cancelled(int s) {
    if (!is_held_back(s)) return false;
    for (int c = s + 1; c < step(open_).other; ++c)
      if (p_.has(c) && step(c).kind == Kind::kGroupCancel) return true;
    return false;
  }

  // -- the other steps -------------------------------------------------------------------------------------------

  bool enter(int s, Root &r, uint32_t mode) {
    Fate &f = fate(s);
    f.skip = false;
    settle(r, mode, 0);
    if (mode & CONSORT_M_W)
      r.users.clear();
    else
      std::erase_if(r.users, [](const User &u) { return u.changes || u.loose; });
    r.sealed = false;
    f.uses = {{step(s).uses[0].slot, mode}};
    f.ends = mode & CONSORT_M_R ? readable(r) : CONSORT_OK;
    if (f.ends < 0) return false;
    Sight &sight = f.runs.emplace_back();
    sight.cells.emplace_back();
    if (mode & CONSORT_M_R) sight.cells[0] = r.cells;
    if (!(mode & CONSORT_M_W)) return true;
    for (size_t i = 0; i < r.cells.size(); ++i) r.cells[i] = written(mode, r.cells[i], step(s).k, static_cast<int>(i));
    f.leaves = r.cells;
    r.written = true;
    r.poisoned = false;
    return true;
  }

  void judge(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    Root *r = t.uses.empty() || t.uses[0].slot < 0 ? nullptr : &root(t.uses[0].slot);
    const bool waits = t.kind == Kind::kEnter || t.kind == Kind::kOpen || t.kind == Kind::kRenew ||
                       t.kind == Kind::kGroupWait || t.kind == Kind::kTaskWait || t.kind == Kind::kWaitAll;
    if (waits && open_ >= 0) return;
    if (t.kind != Kind::kTask) f.uses = t.uses;
    switch (t.kind) {
      case Kind::kTask:
        return judge_task(s);
      case Kind::kEnter:
        return (void)enter(s, *r, t.uses[0].mode);
      case Kind::kOpen:
        if (!p_.has(t.other) || !enter(s, *r, t.uses[0].mode)) return;
        r->held = t.uses[0].mode;
        open_ = s;
        return;
      case Kind::kClose:
        if (open_ < 0 || open_ != t.other) return;
        f.skip = false;
        root(step(open_).uses[0].slot).held = 0;
        open_ = -1;
        return;
      case Kind::kInvalidate:
        if (r->held) return;
        f.skip = false;
        settle(*r, CONSORT_M_W, 0);
        r->written = r->poisoned = false;
        r->users.clear();
        r->sealed = true;
        return;
      case Kind::kRenewLater:
        if (r->held || r->shadowed) return;
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
        if (!p_.has(t.other) || step(t.other).kind != Kind::kTask || step(t.other).parent >= 0 || fate(t.other).skip)
          return;
        f.skip = false;
        f.ends = fate(t.other).ends;
        return;
      case Kind::kWaitAll:
        if (!p_.alone) return;  // it would collect the others' failures
        f.skip = false;
        for (bool &failed : failed_) {
          if (failed) f.ends = CONSORT_E_INTERNAL;
          failed = false;
        }
        return;
      case Kind::kCancel:
        f.skip = !p_.has(t.other) || !fate(t.other).cancelled || fate(t.other).group == kDoomedGroup || open_ < 0;
        return;
      case Kind::kGroupCancel:
        f.skip = open_ < 0;
        return;
      case Kind::kSetOrdered:
        if (r->held || r->phase == Root::kOnCopies) return;
        f.skip = false;
        r->unordered = t.number == 0;
        return;
      case Kind::kSwap:
        f.skip = false;
        return;
    }
  }

  const Program &p_;
  std::deque<Fate> &fates_;
  std::deque<Life> &lives_;
  std::deque<Root> roots_;
  std::vector<Final> final_;
  int open_ = -1;  // the step that holds a datum
  bool failed_[kGroups] = {}, ever_failed_[kGroups] = {};
  int64_t shared_[3] = {};
};

}  // namespace mixed
