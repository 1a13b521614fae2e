// mixed_model.hpp — the data of a program as the oracle keeps them: plain arrays, the knowledge about their contents,
// and the tasks that use them.
#pragma once
#include <map>

#include "stress/mixed_program.hpp"

namespace mixed {

inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline bool reads(uint32_t mode) { return mode & CONSORT_M_R; }
inline bool changes(uint32_t mode) { return mode & (CONSORT_M_W | CONSORT_M_REDUX); }
inline bool adds(uint32_t mode) { return mode & (CONSORT_M_COMMUTE | CONSORT_M_REDUX); }
inline bool alone(uint32_t mode) { return (mode & CONSORT_M_W) && !adds(mode); }
// The value that a body leaves in cell `i` of a datum.
inline int64_t written(uint32_t mode, int64_t before, int64_t k, int i) {
  return adds(mode) ? plus(before, plus(k, i))
                    : plus(mode == CONSORT_M_RW ? plus(before, plus(before, before)) : 0, plus(k, i));
}

class Model {
 public:
  // trees: the machine moves the copies of a reduction, and adds all of them in a fixed tree.
  Model(const Program &p, std::deque<Fate> &fates, std::deque<Life> &lives, bool trees)
      : p_(p), fates_(fates), lives_(lives), trees_(trees) {
    for (size_t d = 0; d < p.slots.size(); ++d) {
      roots_.emplace_back();
      begin_life(static_cast<int>(d));
    }
  }
  struct Final {
    consort_status status;
    std::vector<int64_t> cells;
  };
  const std::vector<Final> &last() const { return final_; }  // by slot
  const int64_t *shared() const { return shared_; }          // the expected growth of the shared sums
  bool anything_failed() const {
    for (const bool f : ever_failed_)
      if (f) return true;
    return false;
  }

 protected:
  struct User {
    int step;
    bool changes, loose;
    bool behind_union = false;  // of copies: a reader is ordered behind the union as behind a writer
  };
  struct Root {
    std::vector<int64_t> cells;  // of a whole
    bool written = false, poisoned = false, pending = false, fixed = false;
    enum Phase { kTogether, kOneByOne, kOnCopies } phase = kTogether;
    bool unordered = false, sealed = false, shadowed = false;
    uint32_t held = 0;
    int tainted = -1;                   // the window in which a task uses it that cannot run before its end
    int life = 0, slot = 0, plans = 0;  // plans: on it or a part of it, now
    Root *top = nullptr;  // the whole, or itself; it alone has the fields above from `unordered` on
    std::vector<int> at;  // its cells, among those of the whole
    Slot shape;
    std::vector<User> users;  // since the last that had it alone
  };

  Fate &fate(int s) { return fates_[static_cast<size_t>(s)]; }
  const Step &step(int s) const { return p_.steps[static_cast<size_t>(s)]; }
  Root &root(int slot) { return slot >= kParts ? parts_.at(slot) : roots_[static_cast<size_t>(slot)]; }
  bool is_there(int slot) const { return slot < kParts || parts_.count(slot); }
  static int64_t &cell(Root &r, size_t i) { return r.top->cells[static_cast<size_t>(r.at[i])]; }
  static std::vector<int64_t> contents(Root &r) {
    std::vector<int64_t> all;
    for (size_t i = 0; i < r.at.size(); ++i) all.push_back(cell(r, i));
    return all;
  }

  // -- data ------------------------------------------------------------------------------------------------------

  void begin_life(int d) {
    const Slot &x = p_.slots[static_cast<size_t>(d)];
    Root &r = root(d);
    r = Root();
    r.slot = d;
    r.top = &r;
    r.shape = x;
    for (int i = 0; i < x.cells(); ++i) r.at.push_back(i);
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
    end_plans(r, 0);
    settle(r, CONSORT_M_R, 0);
    Life &life = lives_[static_cast<size_t>(r.life)];
    life.known = readable(r) == CONSORT_OK && !life.home.empty();
    life.poisoned = r.poisoned;
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
    const bool fixed = trees_ || (mode & CONSORT_M_FIXED_TREE);
    if (r.phase == Root::kOnCopies && (wanted != r.phase || fixed != r.fixed)) {
      if (mode == CONSORT_M_W)
        r.pending = false;  // they are dropped
      else if (r.poisoned)
        fail(group);  // they are not brought together
      r.written |= r.pending;
      r.pending = false;
    }
    r.phase = wanted;
    r.fixed = fixed;
  }
  void fail(int group) { failed_[group] = ever_failed_[group] = true; }

  bool loose(const Fate &f, const Root &r) const { return f.unordered || r.unordered; }

  // Tells the bodies where to find the cells of its data.
  void describe(Fate &f) {
    f.shapes.clear();
    f.where.clear();
    f.lives.clear();
    for (const Use &u : f.uses) {
      f.shapes.push_back(u.slot < 0 ? Slot{} : root(u.slot).shape);
      f.where.push_back(u.slot < 0 ? std::vector<int>{} : root(u.slot).at);
      f.lives.push_back(u.slot < 0 ? -1 : root(u.slot).top->life);
    }
  }

  // -- plans --------------------------------------------------------------------------------------------------------
  //
  // Knowledge of the contents goes down to the parts and up to the whole at the same points as in the runtime. So
  // poison is foretold exactly.

  struct Plan {
    enum State { kClosed, kShared, kOwned } state = kClosed;
    int whole = 0;
    std::vector<int> parts;
  };
  template <class F>
  void each_plan(const Root &whole, F f) {
    for (auto &[number, plan] : plans_)
      if (plan.whole == whole.slot) f(plan);
  }
  void hand_down(Plan &p) {
    for (const int part : p.parts) {
      Root &r = root(part);
      r.written = root(p.whole).written;
      r.poisoned = root(p.whole).poisoned;
    }
  }
  void bring_up(Plan &p) {
    Root &whole = root(p.whole);
    whole.written = true;
    whole.poisoned = false;
    for (const int part : p.parts) {
      whole.written &= root(part).written;
      whole.poisoned |= root(part).poisoned;
    }
  }
  void open_plan(Plan &p, bool writes, int group) {
    settle(root(p.whole), writes ? CONSORT_M_RW : CONSORT_M_R, group);
    if (p.state == Plan::kClosed) hand_down(p);
    p.state = writes ? Plan::kOwned : Plan::kShared;
  }
  void let_read_whole(Plan &p, int group) {
    for (const int part : p.parts) {
      each_plan(root(part), [&](Plan &below) {
        if (below.state == Plan::kOwned) let_read_whole(below, group);
      });
      settle(root(part), CONSORT_M_R, group);
    }
    bring_up(p);
    p.state = Plan::kShared;
  }
  void close_plan(Plan &p, int group) {
    for (const int part : p.parts) {
      each_plan(root(part), [&](Plan &below) {
        if (below.state != Plan::kClosed) close_plan(below, group);
      });
      settle(root(part), CONSORT_M_RW, group);
    }
    settle(root(p.whole), p.state == Plan::kOwned ? CONSORT_M_RW : CONSORT_M_R, group);
    if (p.state == Plan::kOwned) bring_up(p);
    p.state = Plan::kClosed;
  }
  void clear_plans(Root &r, bool writes, int group, const Plan *but) {
    each_plan(r, [&](Plan &p) {
      if (&p == but || p.state == Plan::kClosed || (!writes && p.state == Plan::kShared)) return;
      writes ? close_plan(p, group) : let_read_whole(p, group);
    });
  }
  void reach(Root &r, bool writes, int group) {
    if (r.top == &r) return;
    Plan &p = plans_.at(plan_of(r.slot));
    if (p.state == Plan::kOwned || (p.state == Plan::kShared && !writes)) return;
    reach(root(p.whole), writes, group);
    clear_plans(root(p.whole), writes, group, &p);
    open_plan(p, writes, group);
  }
  // Before an ordered use.
  void come_to(Root &r, bool writes, int group) {
    reach(r, writes, group);
    clear_plans(r, writes, group, nullptr);
  }
  void make_plan(int number, int whole, int parts) {
    Root &w = root(whole);
    Plan &p = plans_[number];
    p.whole = whole;
    const int n = w.shape.layout == Slot::kMatrix ? w.shape.ny : w.shape.nx;
    for (int i = 0, from = 0; i < parts; ++i) {
      const int many = n / parts + (i < n % parts), each = static_cast<int>(w.at.size()) / n;
      p.parts.push_back(part_slot(number, i));
      Root &r = parts_[p.parts.back()];
      r.slot = p.parts.back();
      r.top = w.top;
      r.life = w.top->life;
      r.shape = w.shape;
      r.shape.homeless = false;
      (w.shape.layout == Slot::kMatrix ? r.shape.ny : r.shape.nx) = many;
      r.at.assign(w.at.begin() + from * each, w.at.begin() + (from + many) * each);
      from += many;
    }
    ++w.top->plans;
  }
  void end_plan(int number, int group) {
    Plan &p = plans_.at(number);
    if (p.state != Plan::kClosed) close_plan(p, group);
    for (const int part : p.parts) end_plans(root(part), group);
    Root &top = *root(p.whole).top;
    for (const int part : p.parts) parts_.erase(part);
    plans_.erase(number);
    --top.plans;
    top.sealed = true;
  }
  void end_plans(Root &r, int group) {
    std::vector<int> all;
    for (const auto &[number, plan] : plans_)
      if (plan.whole == r.slot) all.push_back(number);
    for (const int number : all) end_plan(number, group);
  }

  // Its place in the order of its data.
  void enter_data(int s) {
    const Fate &f = fate(s);
    for (const Use &u : f.uses) {
      if (u.slot < 0) continue;
      uint32_t mode = u.mode;
      for (const Use &other : f.uses)
        if (other.slot == u.slot) mode |= other.mode;
      Root &r = root(u.slot), &top = *r.top;
      const bool free = loose(f, top), copies = r.phase == Root::kOnCopies;
      if (!free) settle(r, mode, f.group);
      if (alone(mode) && &r == &top) {
        top.users.clear();
        if (!free) top.sealed = false;
      }
      top.users.push_back(
          {s, changes(mode), free, copies && r.phase != Root::kOnCopies});
    }
  }

  void run(int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    Sight &sight = f.runs.emplace_back();
    for (const Use &u : f.uses) {
      auto &sees = sight.cells.emplace_back();
      if (u.slot >= 0 && reads(u.mode) && !adds(u.mode)) sees = contents(root(u.slot));
    }
    for (const Use &u : f.uses) {
      if (u.slot < kPad) {
        if (f.ends == CONSORT_OK) shared_[kSharedSum0 - u.slot] += t.k;
        continue;
      }
      if (u.slot < 0 || !changes(u.mode)) continue;
      Root &r = root(u.slot);
      const bool from_nothing = u.mode & CONSORT_M_REDUX && !r.written && !r.pending;
      for (size_t i = 0; i < r.at.size(); ++i)
        cell(r, i) = written(u.mode, from_nothing ? 0 : cell(r, i), t.k, static_cast<int>(i));
      if (f.ends < 0) continue;
      if (u.mode & CONSORT_M_REDUX)
        r.pending = true;
      else
        r.written = true, r.poisoned = false;
    }
  }

  bool enter(int s, Root &r, uint32_t mode) {
    Fate &f = fate(s);
    f.skip = false;
    come_to(r, changes(mode), 0);
    settle(r, mode, 0);
    if (r.top == &r) {
      if (mode & CONSORT_M_W)
        r.users.clear();
      else
        std::erase_if(r.users, [](const User &u) { return u.changes; });  // not readers beside our reads
      for (User &u : r.users) u.behind_union = false;
      if (mode & CONSORT_M_W) r.sealed = false;
    }
    f.uses = {{step(s).uses[0].slot, mode}};
    f.ends = mode & CONSORT_M_R ? readable(r) : CONSORT_OK;
    if (f.ends < 0) return false;
    Sight &sight = f.runs.emplace_back();
    sight.cells.emplace_back();
    describe(f);
    if (mode & CONSORT_M_R) sight.cells[0] = contents(r);
    if (!(mode & CONSORT_M_W)) return true;
    for (size_t i = 0; i < r.at.size(); ++i) cell(r, i) = written(mode, cell(r, i), step(s).k, static_cast<int>(i));
    f.leaves = contents(r);
    r.written = true;
    r.poisoned = false;
    return true;
  }

  void close() {  // the program is over
    for (size_t d = 0; d < p_.slots.size(); ++d) {
      Root &r = roots_[d];
      come_to(r, false, 0);
      settle(r, CONSORT_M_R, 0);
      final_.push_back({readable(r), r.cells});
      end_life(static_cast<int>(d));
    }
  }

  const Program &p_;
  std::deque<Fate> &fates_;
  std::deque<Life> &lives_;
  const bool trees_;
  std::deque<Root> roots_;
  std::map<int, Root> parts_;  // by slot
  std::map<int, Plan> plans_;
  std::vector<Final> final_;
  bool failed_[kGroups] = {}, ever_failed_[kGroups] = {};
  int64_t shared_[3] = {};
};

}  // namespace mixed
