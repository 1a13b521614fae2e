// mixed_run.hpp — one run of a program on a site: submits its steps from the calling thread; bodies compare what they see
// with the oracle's word.
#pragma once
#include "stress/mixed_site.hpp"

namespace mixed {

class Run {
 public:
  Run(const Program &p, Site &site, int number)
      : p_(p),
        site_(site),
        rt_(site.rt),
        number_(number),
        fates_(p.steps.size()),
        oracle_(p, fates_, lives_),
        acts_(p.steps.size()),
        tags_(site.tags.fetch_add(kTags)) {
    now_.assign(p.slots.size(), -1);
    for (size_t s = 0; s < acts_.size(); ++s) acts_[s] = {this, static_cast<int>(s)};
  }

  void submit() {
    for (int g = 1; g < kGroups; ++g) must(consort_group_create(rt_, nullptr, &groups_[g]), -1, "group");
    for (size_t d = 0; d < p_.slots.size(); ++d) enroll(static_cast<int>(d));
    must(consort_bundle_create(rt_, &bundle_), -1, "bundle");
    for (size_t s = 0; s < p_.steps.size() && !complaints_; ++s)
      if (!fates_[s].skip && p_.steps[s].parent < 0 && p_.steps[s].recorded < 0) perform(static_cast<int>(s));
    must(consort_bundle_close(rt_, bundle_), -1, "bundle");
    if (!complaints_) return;  // else broken off: nothing must stay held back
    if (hold_.id.v) (void)consort_release(rt_, hold_);
    for (uint64_t tag = 0; tag < kTags; ++tag) (void)consort_tag_notify(rt_, tags_ + tag);
    for (const Fate &f : fates_)
      if (f.end_held && f.id.v) (void)consort_task_end_release(rt_, f.id);
  }

  // After everything has ended: was it what the oracle said?
  void check() {
    for (const auto &[step, recording] : recordings_) must(consort_recording_destroy(rt_, recording), step, "destroy");
    for (size_t s = 0; s < fates_.size(); ++s) {
      const Fate &f = fates_[s];
      if (p_.steps[s].kind != Kind::kTask || f.skip) continue;
      const auto at = static_cast<int>(s);
      if (f.ran != static_cast<int>(f.runs.size()))
        complain(at, "ran " + std::to_string(f.ran) + " times, should " + std::to_string(f.runs.size()));
      const int turns = std::max(1, p_.steps[s].turns);
      if (wants_done(at) && f.done != turns) complain(at, "was told done " + std::to_string(f.done) + " times");
      if (wants_hooks(at) && (f.ready != turns || f.begun != f.ran || f.dropped != 3))
        complain(at, "hooks: ready " + std::to_string(f.ready) + ", begin " + std::to_string(f.begun) + ", dropped " +
                         std::to_string(f.dropped));
      if ((f.ends < 0 || s % 5 == 0) && p_.steps[s].recorded < 0) wait_for_task(at, 0);
    }
    for (uint64_t tag = kTags; tag-- > 0;) must(consort_tag_remove(rt_, tags_ + tag), -1, "tag_remove");
    for (size_t d = 0; d < p_.slots.size(); ++d) {
      const auto &last = oracle_.last()[d];
      hold_of(static_cast<int>(d), CONSORT_M_R, last.status, -1, [&](const Cells &cells) {
        for (size_t i = 0; i < last.cells.size(); ++i)
          compare(-1, "at the end", static_cast<int>(d), i, cells[i], last.cells[i]);
      });
      must(consort_unregister(rt_, life(static_cast<int>(d)).id), -1, "unregister");
    }
    for (const Life &x : lives_) {
      if (!x.known || !x.id.v) continue;
      const Slot &slot = p_.slots[static_cast<size_t>(x.slot)];
      for (int i = 0; i < slot.cells(); ++i)
        compare(-1, "its home after it was unregistered", x.slot, static_cast<size_t>(i),
                x.home[static_cast<size_t>(i / slot.nx * slot.ld + i % slot.nx)], x.last[static_cast<size_t>(i)]);
    }
    for (int g = 1; g < kGroups; ++g) {
      (void)consort_group_wait(rt_, groups_[g], kLong, 0);
      must(consort_group_destroy(rt_, groups_[g]), -1, "destroy");
    }
    for (int i = 0; i < 3; ++i) site_.want[i] = plus(site_.want[i], oracle_.shared()[i]);
  }

  int complaints() const { return complaints_; }
  std::string first_complaint() const {
    std::lock_guard lock(mutex_);
    return first_complaint_;
  }
  std::string text() const { return text_of(p_, fates_); }
  // What each unfinished task waits for.
  std::string unfinished() const {
    std::string all;
    for (size_t s = 0; s < fates_.size(); ++s) {
      if (!fates_[s].id.v || consort_task_state(rt_, fates_[s].id) != CONSORT_AGAIN) continue;
      char text[1024];
      consort_explain(rt_, fates_[s].id, text, sizeof text);
      all += std::to_string(s) + ": " + text + "\n";
    }
    return all;
  }
  const Oracle &oracle() const { return oracle_; }

  consort_status enact(const consort_call &call, int s) {
    const Step &t = step(s);
    Fate &f = fate(s);
    const auto turn = static_cast<size_t>(f.ran.fetch_add(1));
    if (turn >= f.runs.size()) {
      complain(s, "ran once too often");
      return CONSORT_OK;
    }
    if (t.worker != CONSORT_NONE && call.worker != t.worker) complain(s, "ran on another worker than it was bound to");
    for (const int a : f.after)
      if (!fate(a).runs.empty() && !fate(a).over)
        complain(s, "ran before " + std::to_string(a) + ", which it comes after");
    for (const int a : f.after)
      for (const int b : fate(a).end_after)
        if (!fate(b).runs.empty() && !fate(b).over)
          complain(s, "ran before " + std::to_string(b) + ", which delays the end of what it comes after");
    for (size_t n = 0; n < f.uses.size(); ++n) come(s, n);
    for (size_t n = 0; n < f.uses.size(); ++n) look(call, s, n, f.runs[turn].cells[n]);
    for (uint32_t i = 0; i < t.pause; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    for (size_t n = 0; n < f.uses.size(); ++n) change(call, s, n);
    f.name.store(consort_current_task(rt_).v, std::memory_order_relaxed);
    for (int i = 0; i < f.holds_itself; ++i) must(consort_task_end_hold(rt_, consort_current_task(rt_)), s, "end_hold");
    send_children(s, Via::kBody);
    if (f.releases >= 0)
      must(consort_task_end_release(rt_, t.parent >= 0 ? parent_name(s) : fate(f.releases).id), s, "end_release");
    if (t.turns && f.ran == t.turns)
      must(consort_task_stop_repeating(rt_, consort_current_task(rt_)), s, "stop_repeating");
    if (t.waits)
      for (const int c : f.children)
        if (step(c).via == Via::kBody) {
          wait_for_task(c, kLong);
          if (!fate(c).runs.empty() && !fate(c).over)
            complain(s, "its wait for child " + std::to_string(c) + " ended before the child");
        }
    for (size_t n = 0; n < f.uses.size(); ++n) leave(s, n);
    f.over = true;
    return t.fails ? consort_fail(CONSORT_E_IO, "as planned") : CONSORT_OK;
  }

 private:
  static constexpr int kWriter = 1 << 16;

  const Step &step(int s) const { return p_.steps[static_cast<size_t>(s)]; }
  Fate &fate(int s) { return fates_[static_cast<size_t>(s)]; }
  Life &life(int d) { return lives_[static_cast<size_t>(now_[static_cast<size_t>(d)])]; }

  // -- bodies ----------------------------------------------------------------------------------------------------

  void come(int s, size_t n) {
    const Use &u = fate(s).uses[n];
    if (u.slot < 0 || u.mode & CONSORT_M_REDUX) return;
    for (const int cell : fate(s).where[n]) {
      auto &inside = lives_[static_cast<size_t>(fate(s).lives[n])].inside[static_cast<size_t>(cell)];
      const int before = inside.fetch_add(u.mode & CONSORT_M_W ? kWriter : 1);
      // one that names a datum twice meets itself
      if (uses_of(u.slot, s) == 1 && (u.mode & CONSORT_M_W ? before != 0 : before >= kWriter))
        complain(s, "was not alone with what it writes: " + text_of(u));
    }
  }
  void leave(int s, size_t n) {
    const Use &u = fate(s).uses[n];
    if (u.slot < 0 || u.mode & CONSORT_M_REDUX) return;
    for (const int cell : fate(s).where[n])
      lives_[static_cast<size_t>(fate(s).lives[n])].inside[static_cast<size_t>(cell)].fetch_sub(
          u.mode & CONSORT_M_W ? kWriter : 1);
  }
  int uses_of(int slot, int s) {
    int n = 0;
    for (const Use &u : fate(s).uses) n += u.slot == slot;
    return n;
  }

  void look(const consort_call &call, int s, size_t n, const std::vector<int64_t> &want) {
    const Use &u = fate(s).uses[n];
    if (u.slot == kPad) {
      auto *v = pointer<int64_t>(call, static_cast<uint32_t>(n));
      std::fill(v, v + 8, step(s).k + static_cast<int64_t>(n));
    }
    if (want.empty()) return;
    const Cells cells(call.views[n], fate(s).shapes[n]);
    for (size_t i = 0; i < want.size(); ++i) compare(s, text_of(u).c_str(), u.slot, i, cells[i], want[i]);
  }
  void change(const consort_call &call, int s, size_t n) {
    const Use &u = fate(s).uses[n];
    if (u.slot == kPad) {
      auto *v = pointer<int64_t>(call, static_cast<uint32_t>(n));
      for (int i = 0; i < 8; ++i)
        if (v[i] != step(s).k + static_cast<int64_t>(n))
          return complain(s, "somebody else wrote to its scratch memory");
    }
    if (u.slot == kPad || !changes(u.mode)) return;
    if (u.slot < 0) {
      int64_t &v = *pointer<int64_t>(call, static_cast<uint32_t>(n));
      v = plus(v, step(s).k);
      return;
    }
    const Slot &x = fate(s).shapes[n];
    const Cells cells(call.views[n], x);
    for (int i = 0; i < x.cells(); ++i) {
      int64_t &v = cells[static_cast<size_t>(i)];
      v = written(u.mode, v, step(s).k, i);
    }
  }

  void send_children(int s, Via via) {
    for (const int c : fate(s).children)
      if (step(c).via == via) send(c);
  }
  bool wants_hooks(int s) const {
    bool wants = step(s).hooks;
    for (const int c : fates_[static_cast<size_t>(s)].children) wants |= step(c).via < Via::kBody;
    return wants;
  }
  bool wants_done(int s) const { return wants_hooks(s) || !fates_[static_cast<size_t>(s)].children.empty(); }
  template <Via kVia>
  static void told(void *arg, consort_task_id task) {
    const Act &a = *static_cast<const Act *>(arg);
    Fate &f = a.run->fate(a.step);
    f.name.store(task.v, std::memory_order_relaxed);
    if (f.ran.load() + (kVia == Via::kReady) > std::max(1, a.run->step(a.step).turns))
      a.run->complain(a.step, "a hook came late");
    ++(kVia == Via::kReady ? f.ready : f.begun);
    a.run->send_children(a.step, kVia);
  }
  static void told_dropped(void *arg) {
    const Act &a = *static_cast<const Act *>(arg);
    ++a.run->fate(a.step).dropped;
  }
  consort_task_id parent_name(int s) { return {fate(step(s).parent).name.load(std::memory_order_relaxed)}; }
  static void told_done(void *arg, const consort_outcome *outcome) {
    const Act &a = *static_cast<const Act *>(arg);
    if (outcome->status != a.run->fate(a.step).ends)
      a.run->complain(a.step, std::string("was done with ") + consort_status_name(outcome->status));
    ++a.run->fate(a.step).done;
    a.run->send_children(a.step, Via::kDone);
  }

  // -- steps -----------------------------------------------------------------------------------------------------

  void enroll(int d);
  void perform(int s);
  void send(int s);
  void wait_for_task(int s, int64_t timeout);
  template <class F>
  void hold_of(int d, uint32_t mode, consort_status want, int s, F with);
  consort_group_id group_of(int s) const { return groups_[fates_[static_cast<size_t>(s)].group]; }
  void renew(int s);
  void make_plan(int s);
  void record(int s);
  void replay(int record, int times, int s);
  consort_data_id id_of(int slot) { return slot < kParts ? life(slot).id : parts_[slot - kParts]; }
  void enter_later(int s);
  void check_rest(int s);

  // -- complaints ------------------------------------------------------------------------------------------------

  void compare(int s, const char *what, int slot, size_t cell, int64_t is, int64_t should) {
    if (is == should) return;
    complain(s, std::string(what) + ": cell " + std::to_string(cell) + " of slot " + std::to_string(slot) + " is " +
                    std::to_string(is) + ", should be " + std::to_string(should));
  }
  bool must(consort_status status, int s, const char *what) {
    if (status < 0)
      complain(s, std::string(what) + " answered " + consort_status_name(status) + ": " + consort_error());
    return status >= 0;
  }
  void complain(int s, const std::string &what) {
    ++complaints_;
    std::lock_guard lock(mutex_);
    if (first_complaint_.empty()) first_complaint_ = "step " + std::to_string(s) + ": " + what;
  }

  const Program &p_;
  Site &site_;
  consort_runtime *const rt_;
  const int number_;  // among those that run side by side
  std::deque<Fate> fates_;
  std::deque<Life> lives_;
  Oracle oracle_;
  std::vector<Act> acts_;
  const uint64_t tags_;  // their numbers begin here
  consort_bundle_id bundle_{0};
  std::vector<int> now_;  // which life a slot is in
  consort_group_id groups_[kGroups] = {};
  consort_plan_id plans_[kPlans] = {};
  std::map<int, consort_recording_id> recordings_;  // by step
  consort_data_id parts_[kPlans * kMostParts] = {};
  consort_hold hold_{};
  std::atomic<int> complaints_{0};
  mutable std::mutex mutex_;
  std::string first_complaint_;
};

inline consort_status enact(const consort_call &call, const Act &act) { return act.run->enact(call, act.step); }

}  // namespace mixed

#include "stress/mixed_steps.hpp"
