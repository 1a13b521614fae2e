// mixed_model.hpp — the data of a program as the oracle keeps them: plain arrays, what is known of their contents, and
// the tasks that use them.
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

class Model {
 public:
  Model(const Program &p, std::deque<Fate> &fates, std::deque<Life> &lives) : p_(p), fates_(fates), lives_(lives) {
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
  const int64_t *shared() const { return shared_; }          // what the shared sums must have grown by
  bool anything_failed() const {
    for (const bool f : ever_failed_)
      if (f) return true;
    return false;
  }

 protected:
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
    int tainted = -1;  // the window in which a task uses it that cannot run before its end
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

  bool loose(const Fate &f, const Root &r) const { return f.unordered || r.unordered; }

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

  void close() {  // the program is over
    for (size_t d = 0; d < p_.slots.size(); ++d) {
      Root &r = roots_[d];
      settle(r, CONSORT_M_R, 0);
      final_.push_back({readable(r), r.cells});
      end_life(static_cast<int>(d));
    }
  }

  const Program &p_;
  std::deque<Fate> &fates_;
  std::deque<Life> &lives_;
  std::deque<Root> roots_;
  std::vector<Final> final_;
  bool failed_[kGroups] = {}, ever_failed_[kGroups] = {};
  int64_t shared_[3] = {};
};

}  // namespace mixed
