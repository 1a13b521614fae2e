// mixed_run.hpp — one run of a program on a site. The calling thread submits its steps, and bodies compare the values
// that they see with the oracle's.
//
// Several runs can take turns on one thread: start(), step() until it answers false, finish(). Where faults are possible
// (Site::trouble), a call that a fault refused is made again, and tasks may fail that the oracle did not foretell.
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
        oracle_(p, fates_, lives_, site.trees),
        acts_(p.steps.size()),
        tags_(site.tags.fetch_add(kTags)) {
    now_.assign(p.slots.size(), -1);
    for (size_t s = 0; s < acts_.size(); ++s) acts_[s] = {this, static_cast<int>(s)};
  }

  void submit() {
    start();
    while (step_once()) continue;
    finish();
  }
  void start() {
    for (int g = 1; g < kGroups; ++g)
      must(-1, "group", [&] { return consort_group_create(rt_, nullptr, &groups_[g]); });
    for (size_t d = 0; d < p_.slots.size(); ++d) enroll(static_cast<int>(d));
    must(-1, "bundle", [&] { return consort_bundle_create(rt_, &bundle_); });
  }
  // The next step that the program's thread performs; -1: none is left.
  int next_step() {
    while (at_ < static_cast<int>(p_.steps.size()) &&
           (fate(at_).skip || step(at_).parent >= 0 || step(at_).recorded >= 0))
      ++at_;
    return at_ < static_cast<int>(p_.steps.size()) && !complaints_ ? at_ : -1;
  }
  bool step_once() {
    const int s = next_step();
    if (s < 0) return false;
    ++at_;
    perform(s);
    return true;
  }
  bool holds_back() { return next_step() >= 0 && at_ > 0 && fate(at_ - 1).in_window; }
  bool next_waits() {
    const int s = next_step();
    return s >= 0 && waits_for_tasks(step(s).kind);
  }
  void finish() {
    must(-1, "bundle", [&] { return consort_bundle_close(rt_, bundle_); });
    if (complaints_) let_go();
  }
  // Nothing stays held back: for a run that was broken off.
  void let_go() {
    if (hold_.id.v) (void)consort_release(rt_, std::exchange(hold_, {}));
    for (uint64_t tag = 0; tag < kTags; ++tag) (void)consort_tag_notify(rt_, tags_ + tag);
    for (const Fate &f : fates_)
      if (f.end_held && f.id.v) (void)consort_task_end_release(rt_, f.id);
  }

  // After everything has ended: compares the run with the oracle.
  void check() {
    for (const auto &[step, recording] : recordings_)
      if (recording.v) must(step, "destroy", [&] { return consort_recording_destroy(rt_, recording); });
    for (size_t s = 0; s < fates_.size(); ++s) check_task(static_cast<int>(s));
    for (uint64_t tag = kTags; tag-- > 0;)
      must(-1, "tag_remove", [&] { return consort_tag_remove(rt_, tags_ + tag); });
    for (size_t d = 0; d < p_.slots.size(); ++d) {
      const auto &last = oracle_.last()[d];
      hold_of(static_cast<int>(d), CONSORT_M_R, last.status, -1, [&](const Cells &cells) {
        for (size_t i = 0; i < last.cells.size(); ++i)
          compare(-1, "at the end", static_cast<int>(d), i, cells[i], last.cells[i]);
      });
      end_life(static_cast<int>(d), -1);
    }
    for (const Life &x : lives_) {
      if (!x.known || !x.id.v || site_.trouble.possible) continue;  // a copy home may have failed
      const Slot &slot = p_.slots[static_cast<size_t>(x.slot)];
      for (int i = 0; i < slot.cells(); ++i)
        compare(-1, "its home after it was unregistered", x.slot, static_cast<size_t>(i),
                x.home[static_cast<size_t>(i / slot.nx * slot.ld + i % slot.nx)], x.last[static_cast<size_t>(i)]);
    }
    for (int g = 1; g < kGroups; ++g) {
      told(call([&] { return consort_group_wait(rt_, groups_[g], site_.patience, 0); }));
      must(-1, "destroy", [&] { return consort_group_destroy(rt_, groups_[g]); });
    }
    for (int i = 0; i < 3; ++i) site_.want[i] = plus(site_.want[i], oracle_.shared()[i]);
  }

  int complaints() const { return complaints_; }
  std::string first_complaint() const {
    std::lock_guard lock(mutex_);
    return first_complaint_;
  }
  std::string text() const { return text_of(p_, fates_); }
  // For each unfinished task, its blocker.
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
  const Program &program() const { return p_; }
  const std::deque<Fate> &fates() const { return fates_; }
  int nested_waits() const { return nested_waits_; }

  consort_status enact(const consort_call &call, int s) {
    const MayFail outside(false);
    const Step &t = step(s);
    Fate &f = fate(s);
    f.worker.store(call.worker, std::memory_order_relaxed);
    f.team.store(call.team, std::memory_order_relaxed);
    auto turn = static_cast<size_t>(f.ran.fetch_add(1));
    // It has run on a device that was lost before it reported the end.
    const bool again = site_.trouble.repeats && turn && turn == f.runs.size() && !t.turns;
    if (again) --f.ran, --turn;
    if (turn >= f.runs.size() && may_run_in_vain(f, call.worker)) {
      if (f.cancelled) unwritten_ = true;  // its written values are not predicted
      ++extra_runs_;
      return CONSORT_OK;
    }
    if (turn >= f.runs.size()) {
      complain(s, "ran once too often");
      return CONSORT_OK;
    }
    if (const uint32_t bound = bound_of(s); bound != CONSORT_NONE && t.worker < kOnTeam && call.worker != bound)
      complain(s, "ran on another worker than it was bound to");
    for (const int a : f.after)
      if (must_be_over(a)) complain(s, "ran before " + std::to_string(a) + ", which it comes after");
    for (const int a : f.after)
      for (const int b : fate(a).end_after)
        if (must_be_over(b))
          complain(s, "ran before " + std::to_string(b) + ", which delays the end of its predecessor");
    if (site_.trace) trace(call, s);
    if (site_.events) note_body(call, s);
    for (size_t n = 0; n < f.uses.size(); ++n) come(s, n);
    const Sight &sight = f.runs[turn_of(call, s, turn)];
    for (size_t n = 0; n < f.uses.size(); ++n) look(call, s, n, sight.cells[n]);
    for (uint32_t i = 0; i < t.pause; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    for (size_t n = 0; n < f.uses.size(); ++n) change(call, s, n);
    f.name.store(consort_current_task(rt_).v, std::memory_order_relaxed);
    for (int i = 0; i < f.holds_itself && !again; ++i)
      must(s, "end_hold", [&] { return consort_task_end_hold(rt_, consort_current_task(rt_)); });
    if (!again) send_children(s, Via::kBody);
    if (f.releases >= 0 && !again)
      must(s, "end_release",
           [&] { return consort_task_end_release(rt_, t.parent >= 0 ? parent_name(s) : fate(f.releases).id); });
    if (t.turns && f.ran == t.turns)
      must(s, "stop_repeating", [&] { return consort_task_stop_repeating(rt_, consort_current_task(rt_)); });
    if (t.waits && !t.team)
      for (const int c : f.children)
        if (step(c).via == Via::kBody) {
          ++nested_waits_;
          wait_for_task(c, site_.patience);
          if (must_be_over(c)) complain(s, "its wait for child " + std::to_string(c) + " ended before the child");
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

  // A device takes a task before its predecessors' results are known: it runs, and fails when it ends. Under a fault
  // the hold that delays a cancelled task may be refused.
  bool may_run_in_vain(const Fate &f, uint32_t worker) const {
    const auto &devices = site_.devices;
    const bool on_device = std::find(devices.begin(), devices.end(), worker) != devices.end();
    if (f.ends == CONSORT_E_POISONED) return on_device || site_.trouble.possible;
    if (f.ends == CONSORT_E_INVAL) return on_device;  // data without contents may have memory there
    return f.cancelled && site_.trouble.possible;
  }
  // Which of its runs a body is in. A fault may have kept a recorded task from some earlier ones.
  size_t turn_of(const consort_call &call, int s, size_t turn) {
    const Fate &f = fate(s);
    if (!site_.trouble.possible || step(s).recorded < 0) return turn;
    for (size_t later = turn; later < f.runs.size(); ++later) {
      bool same = true;
      for (size_t n = 0; n < f.uses.size() && same; ++n) {
        const Cells cells(call.views[n], f.shapes[n]);
        const auto &want = f.runs[later].cells[n];
        for (size_t i = 0; i < want.size(); ++i) same &= cells[i] == want[i];
      }
      if (same) return later;
    }
    return turn;
  }
  // A line about a body that begins.
  void trace(const consort_call &call, int s) const {
    std::fprintf(stderr, "program %d, t%d runs on worker %u", number_, s, call.worker);
    for (uint32_t n = 0; n < call.nviews; ++n)
      std::fprintf(stderr, ", [%u] at %p holds %lld", n, static_cast<void *>(pointer<int64_t>(call, n)),
                   static_cast<long long>(*pointer<int64_t>(call, n)));
    std::fputc('\n', stderr);
  }

  void note_body(const consort_call &call, int s) const {
    std::string line = "program " + std::to_string(number_) + ", t" + std::to_string(s) + " runs on worker " +
                       std::to_string(call.worker) + " of " + std::to_string(call.team) + ":";
    for (size_t n = 0; n < fates_[static_cast<size_t>(s)].uses.size(); ++n) {
      const Fate &f = fates_[static_cast<size_t>(s)];
      if (!reads(f.uses[n].mode)) continue;  // the old contents are arbitrary
      const Cells cells(call.views[n], f.shapes[n]);
      for (int i = 0; i < f.shapes[n].cells(); ++i) line += " " + std::to_string(cells[static_cast<size_t>(i)]);
      line += ",";
    }
    site_.note(line);
  }

  // -- bodies ----------------------------------------------------------------------------------------------------

  // Has it a body that ran or has still to run? A task with an injected fault may never have run.
  bool must_be_over(int s) {
    Fate &f = fate(s);
    return !f.runs.empty() && !f.over && (f.ran || !site_.trouble.possible);
  }
  void come(int s, size_t n) {
    const Use &u = fate(s).uses[n];
    if (u.slot < 0 || u.mode & CONSORT_M_REDUX) return;
    for (const int cell : fate(s).where[n]) {
      auto &inside = lives_[static_cast<size_t>(fate(s).lives[n])].inside[static_cast<size_t>(cell)];
      const int before = inside.fetch_add(u.mode & CONSORT_M_W ? kWriter : 1);
      // a task that names a datum twice meets itself
      if (uses_of(u.slot, s) == 1 && (u.mode & CONSORT_M_W ? before != 0 : before >= kWriter))
        complain(s, "was not alone with its written data: " + text_of(u));
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
    for (size_t i = 0; i < want.size(); ++i) {
      // A task that is issued early behind a failing one runs all the same; it is poisoned when it ends.
      const bool known = u.slot >= kParts || !p_.slots[static_cast<size_t>(u.slot)].shadow;
      if (site_.trouble.possible && known && !unwritten_ && cells[i] != want[i]) fate(s).suspicion = text_of(u) + " saw a wrong value";
      else compare(s, text_of(u).c_str(), u.slot, i, cells[i], want[i]);
    }
  }
  void change(const consort_call &call, int s, size_t n) {
    const Use &u = fate(s).uses[n];
    if (u.slot == kPad) {
      auto *v = pointer<int64_t>(call, static_cast<uint32_t>(n));
      for (int i = 0; i < 8; ++i)
        if (v[i] != step(s).k + static_cast<int64_t>(n))
          return complain(s, "another task wrote to its scratch memory");
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
  // By the short way: a codelet of its own instead of arguments.
  bool is_plain(int s) const {
    const Step &t = step(s);
    return t.plain && !t.team && t.parent < 0 && !wants_done(s) && s < site_.nplain / 4 && number_ < 4;
  }
  // The worker or the team that it is bound to.
  uint32_t bound_of(int s) const {
    const Step &t = step(s);
    if (t.empty || (t.worker >= kOnTeam && !t.team) || (t.worker >= kOnDevice && is_plain(s))) return CONSORT_NONE;
    return site_.worker_of(t.worker);
  }
  bool wants_done(int s) const { return wants_hooks(s) || !fates_[static_cast<size_t>(s)].children.empty(); }
  template <Via kVia>
  static void hook(void *arg, consort_task_id task) {
    const MayFail outside(false);
    const Act &a = *static_cast<const Act *>(arg);
    Fate &f = a.run->fate(a.step);
    f.name.store(task.v, std::memory_order_relaxed);
    if (f.ran.load() + (kVia == Via::kReady) > std::max(1, a.run->step(a.step).turns))
      a.run->complain(a.step, "a hook came late");
    ++(kVia == Via::kReady ? f.ready : f.begun);
    a.run->site_.note("hook of t" + std::to_string(a.step));
    a.run->send_children(a.step, kVia);
  }
  static void hook_dropped(void *arg) {
    const Act &a = *static_cast<const Act *>(arg);
    ++a.run->fate(a.step).dropped;
  }
  consort_task_id parent_name(int s) { return {fate(step(s).parent).name.load(std::memory_order_relaxed)}; }
  static void hook_done(void *arg, const consort_outcome *outcome) {
    const MayFail outside(false);
    const Act &a = *static_cast<const Act *>(arg);
    const Fate &f = a.run->fate(a.step);
    if (!a.run->may_end(f, outcome->status) && !a.run->excused(outcome->status, f.ends))
      a.run->complain(a.step, std::string("was done with ") + consort_status_name(outcome->status));
    ++a.run->fate(a.step).done;
    a.run->site_.note("t" + std::to_string(a.step) + " is done: " + consort_status_name(outcome->status));
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
  consort_status record_once(int s, uint32_t flags);
  void replay(int record, int times, int s);
  consort_data_id id_of(int slot) { return slot < kParts ? life(slot).id : parts_[slot - kParts]; }
  void enter_later(int s);
  void check_rest(int s);
  void check_task(int s);
  void hint(int s);
  void move_worker(int s);
  void answered(int s, consort_status status, bool any_failure = false);

  // -- calls -----------------------------------------------------------------------------------------------------

  template <class F>
  consort_status call(F f) {
    consort_status status;
    {
      const MayFail inside(true);
      status = f();
    }
    if (site_.events)
      site_.note("program " + std::to_string(number_) + ", before t" + std::to_string(at_) + ": a call answers " +
                 consort_status_name(status) + (status < 0 ? std::string(": ") + consort_error() : ""));
    return status;
  }
  // A call that a fault refused has changed nothing: it is made again, and the fault does not come twice.
  template <class F>
  consort_status attempt(F f) {
    const consort_status status = call(f);
    if (status >= 0 || !site_.trouble.refused || !site_.trouble.refused()) return status;
    ++made_again_;
    return call(f);
  }
  // A wait collects failures: its first answer counts, though it is made again.
  template <class F>
  consort_status wait_call(F f) {
    const consort_status first = call(f);
    if (first >= 0 || first == CONSORT_E_TIMEOUT || !site_.trouble.refused || !site_.trouble.refused()) return first;
    told(first);
    const consort_status again = call(f);
    return again < 0 ? again : first;
  }
  template <class F>
  bool must(int s, const char *what, F f) {
    const consort_status status = attempt(f);
    if (status < 0)
      complain(s, std::string(what) + " answered " + consort_status_name(status) + ": " + consort_error());
    return status >= 0;
  }
  // Unregisters a datum, which answers the failure that no call has answered yet: of its tasks, or of a copy home.
  void end_life(int d, int s) {
    const Life &x = life(d);
    const auto unregister = [&] { return consort_unregister(rt_, x.id); };
    consort_status status = call(unregister);
    told(status);
    // Where a fault refused the call it is made again; where the answer was a failure, the datum is gone.
    if (status < 0 && site_.trouble.refused && site_.trouble.refused())
      if (const consort_status again = call(unregister); again != CONSORT_E_STALE) status = again;
    if (status >= 0 || (x.poisoned && status != CONSORT_E_STALE) || excused(status, CONSORT_OK)) return;
    // A fault may have kept a task from writing the datum anew: then the failure before it, as planned, is still its own.
    if (status == CONSORT_E_INVAL && troubled() && oracle_.anything_failed()) return;
    complain(s, std::string("unregister answered ") + consort_status_name(status) + ": " + consort_error());
  }
  void told(consort_status status) {
    if (status < 0) ++site_.trouble.told;
  }
  // A device gets a task before its predecessors end: then it may fail for causes that are known without them.
  bool may_end(const Fate &f, consort_status status) const {
    return status == f.ends || (status == f.ends_ahead && !site_.devices.empty());
  }
  bool troubled() const { return site_.trouble.failures.load() > 0; }
  // May this be the answer in place of the oracle's? A fault makes more fail, never fewer.
  bool excused(consort_status is, consort_status should) {
    if (!site_.trouble.possible || is >= 0 || is == CONSORT_E_TIMEOUT || is == CONSORT_E_INVAL || is == CONSORT_E_BUSY ||
        is == CONSORT_E_STALE)
      return site_.trouble.possible && ((is == CONSORT_E_INVAL && ((troubled() && should < 0) || unwritten_)) ||
                                        (is == CONSORT_OK && extra_runs_ &&
                                         (should == CONSORT_E_CANCELLED || should == CONSORT_E_POISONED)));
    ++site_.trouble.failures;
    if (site_.trouble.seen) site_.trouble.seen(consort_error());
    return true;
  }

  // -- complaints ------------------------------------------------------------------------------------------------

  void compare(int s, const char *what, int slot, size_t cell, int64_t is, int64_t should) {
    if (is == should || unwritten_) return;
    // Values of children are missing where a fault kept their parent from running.
    if (slot >= 0 && slot < kParts && p_.slots[static_cast<size_t>(slot)].shadow && site_.trouble.possible) return;
    complain(s, std::string(what) + ": cell " + std::to_string(cell) + " of slot " + std::to_string(slot) + " is " +
                    std::to_string(is) + ", should be " + std::to_string(should));
  }
  void complain(int s, const std::string &what) {
    ++complaints_;
    std::lock_guard lock(mutex_);
    if (first_complaint_.empty()) first_complaint_ = "step " + std::to_string(s) + ": " + what;
  }

  const Program &p_;
  Site &site_;
  consort_runtime *const rt_;
  const int number_;  // index among the concurrent programs
  std::deque<Fate> fates_;
  std::deque<Life> lives_;
  Oracle oracle_;
  std::vector<Act> acts_;
  const uint64_t tags_;  // their numbers begin here
  int at_ = 0;           // the next step
  std::atomic<bool> unwritten_{false};  // a fault refused a hold that would have written: values differ from there on
  std::atomic<int> nested_waits_{0}, extra_runs_{0};
  int made_again_ = 0;  // calls that a fault refused
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
