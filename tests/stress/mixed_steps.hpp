// mixed_steps.hpp — how a Run performs each kind of step; the second half of mixed_run.hpp.
#pragma once
#include <consort/memory.h>

#include "stress/mixed_run.hpp"

namespace mixed {

inline void Run::enroll(int d) {
  const Slot &x = p_.slots[static_cast<size_t>(d)];
  int &now = now_[static_cast<size_t>(d)];
  do ++now;  // the next life of this slot
  while (lives_[static_cast<size_t>(now)].slot != d);
  Life &life = lives_[static_cast<size_t>(now)];
  int64_t *home = x.homeless ? nullptr : life.home.data();
  const auto nx = static_cast<uint64_t>(x.nx), ny = static_cast<uint64_t>(x.ny), ld = static_cast<uint64_t>(x.ld);
  const consort_vector_args vector{home, nx, 8};
  const consort_matrix_args matrix{home, nx, ny, ld, 8};
  const consort_variable_args variable{home, 8};
  consort_data_desc desc{sizeof desc, 0, "vector", &vector, sizeof vector, nullptr};
  if (x.layout == Slot::kMatrix) desc = {sizeof desc, 0, "matrix", &matrix, sizeof matrix, nullptr};
  if (x.layout == Slot::kVariable) desc = {sizeof desc, 0, "variable", &variable, sizeof variable, nullptr};
  must(-1, "register", [&] { return consort_register(rt_, &desc, &life.id); });
  must(-1, "set_reduction",
       [&] { return consort_data_set_reduction(rt_, life.id, site_.init[x.layout], site_.combine[x.layout]); });
}

inline void Run::send(int s) {
  const Step &t = step(s);
  Fate &f = fate(s);
  const int mine_to = site_.nplain / 4;
  const bool plain = is_plain(s);
  Desc d(t.empty ? consort_codelet_id{0} : t.team ? site_.team_body : site_.body);
  if (plain && !t.empty) {
    Site::Plain &mine = site_.plain[number_ * mine_to + s];
    mine.act.store(&acts_[static_cast<size_t>(s)], std::memory_order_relaxed);
    d.d.codelet = mine.id;
  }
  const bool in_group = t.parent < 0;
  for (const Use &u : f.uses) {
    d.use(u.slot == kPad ? site_.pad : u.slot < 0 ? site_.shared[kSharedSum0 - u.slot] : id_of(u.slot), u.mode);
  }
  if (!f.tag_after.empty()) {
    std::vector<uint64_t> others;
    for (const int tag : f.tag_after) others.push_back(tags_ + static_cast<uint64_t>(tag));
    must(s, "tag_after", [&] {
      return consort_tag_after(rt_, tags_ + static_cast<uint64_t>(f.tag), others.data(),
                               static_cast<uint32_t>(others.size()));
    });
  }
  // A predecessor is given by its tag or by its name. A tag that was restarted names its next carrier alone.
  for (const int a : f.after)
    if (std::find(f.by_tag.begin(), f.by_tag.end(), a) == f.by_tag.end()) d.then(fate(a).id);
  d.priority(t.priority).on(bound_of(s));
  if (in_group) d.in(group_of(s));
  if (!plain && !t.empty) d.arg(static_cast<const Act *>(&acts_[static_cast<size_t>(s)]));
  Act *const act = &acts_[static_cast<size_t>(s)];
  if (wants_done(s)) d.done(hook_done, act);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  std::vector<consort_task_id> end_after;
  if (wants_hooks(s)) {
    more.ready = {hook<Via::kReady>, act, hook_dropped};
    more.begin = {hook<Via::kBegin>, act, hook_dropped};
    more.done_drop = hook_dropped;
  }
  if (f.tag >= 0) more.flags = CONSORT_MORE_TAG, more.tag = tags_ + static_cast<uint64_t>(f.tag);
  for (const int a : f.end_after) end_after.push_back(fate(a).id);
  more.end_after = end_after.data();
  more.nend_after = static_cast<uint32_t>(end_after.size());
  more.end_holds = f.end_held;
  if (t.bundled) more.bundle = bundle_;
  if (wants_hooks(s) || f.tag >= 0 || more.nend_after || f.end_held || t.bundled) d.d.more = &more;
  if (t.turns) d.d.flags |= CONSORT_TASK_REPEAT;
  if (f.unordered) d.d.flags |= CONSORT_TASK_UNORDERED;
  const bool elsewhere = t.context >= 0 && site_.ncontexts > 0 && t.parent < 0 && t.recorded < 0;
  if (elsewhere)
    must(s, "context_enter", [&] { return consort_context_enter(rt_, site_.contexts[t.context % site_.ncontexts]); });
  const consort_task_desc *desc = d.desc();
  must(s, "submit", [&] { return consort_submit(rt_, desc, &f.id); });
  if (elsewhere) must(s, "context_leave", [&] { return consort_context_leave(rt_); });
}

// The answer of a wait in step s, where the oracle has its word in the fate of that step.
inline void Run::answered(int s, consort_status status, bool any_failure) {
  told(status);
  const consort_status want = fate(s).ends;
  if (any_failure ? (status < 0) == (want < 0) && status != CONSORT_E_TIMEOUT : may_end(fate(s), status)) return;
  if (excused(status, want)) return;
  // Where a fault refused the hold, a task that was to be cancelled behind it has run: then less has failed.
  if (any_failure && status == CONSORT_OK && extra_runs_) return;
  complain(s, std::string(name_of(step(s).kind)) + " answered " + consort_status_name(status) +
                  (status < 0 ? std::string(" (") + consort_error() + ")" : "") + ", should " +
                  (any_failure && want < 0 ? "answer a failure" : consort_status_name(want)));
}

inline void Run::wait_for_task(int s, int64_t timeout) {
  const consort_status status = attempt([&] {
    return consort_task_wait(rt_, fate(s).id, timeout, step(s).no_help ? uint32_t{CONSORT_WAIT_NO_HELP} : 0u);
  });
  told(status);
  if (may_end(fate(s), status) || excused(status, fate(s).ends)) return;
  complain(s, std::string("ended with ") + consort_status_name(status) +
                  (status < 0 ? std::string(" (") + consort_error() + ")" : "") + ", should " +
                  consort_status_name(fate(s).ends));
}

// Enters a datum and calls `with` its cells.
template <class F>
void Run::hold_of(int d, uint32_t mode, consort_status want, int s, F with) {
  consort_hold hold{};
  const consort_data_id id = id_of(d);
  const consort_status status = attempt([&] { return consort_acquire(rt_, id, mode, site_.patience, &hold); });
  told(status);
  if (status != want && !excused(status, want))
    complain(s, "acquire of slot " + std::to_string(d) + " answered " + consort_status_name(status) +
                    (status < 0 ? std::string(" (") + consort_error() + ")" : "") + ", should " +
                    consort_status_name(want));
  if (status < 0 && want >= 0 && (mode & CONSORT_M_W)) unwritten_ = true;
  if (status < 0) return;
  // A hold that the oracle expects to be refused has no shape there.
  if (want >= 0) with(Cells(hold.view, s < 0 ? p_.slots[static_cast<size_t>(d)] : fate(s).shapes[0]));
  if (s < 0 || step(s).kind != Kind::kOpen)
    must(s, "release", [&] { return consort_release(rt_, hold); });
  else
    hold_ = hold;
}

inline void Run::renew(int s) {
  const int d = step(s).uses[0].slot;
  if (step(s).kind == Kind::kRenew)
    end_life(d, s);
  else
    must(s, "unregister_later", [&] { return consort_unregister_later(rt_, life(d).id); });
  enroll(d);
}

inline void Run::make_plan(int s) {
  const Step &t = step(s);
  const int d = t.uses[0].slot;
  consort_plan_desc desc = CONSORT_PLAN_INIT;
  const Slot::Layout layout = fate(s).shapes[0].layout;
  const consort_split split{static_cast<uint32_t>(t.other), 0};
  desc.filter = layout == Slot::kMatrix ? "rows" : "blocks";
  desc.params = &split;
  desc.params_bytes = sizeof split;
  consort_plan_id &plan = plans_[t.number];
  if (!must(s, "plan_create", [&] { return consort_plan_create(rt_, id_of(d), &desc, &plan); })) return;
  consort_data_id *parts = &parts_[t.number * kMostParts];
  if (consort_plan_parts(rt_, plan, parts, kMostParts) != t.other)
    return complain(s, "another number of parts than asked for");
  for (int i = 0; i < t.other; ++i)
    must(s, "set_reduction",
         [&] { return consort_data_set_reduction(rt_, parts[i], site_.init[layout], site_.combine[layout]); });
}

inline void Run::record(int s) {
  const int before = made_again_;
  consort_status status = record_once(s, step(s).number ? uint32_t{CONSORT_RECORD_ONLY} : 0u);
  // A fault that refuses the end, or a task, breaks the recording: it is made anew. The tasks have run already, if they
  // were to.
  const bool broken = made_again_ != before || (site_.trouble.refused && site_.trouble.refused());
  if (status < 0 && broken) status = record_once(s, CONSORT_RECORD_ONLY);
  if (status < 0)
    return complain(s, std::string("recording answered ") + consort_status_name(status) + ": " + consort_error());
  replay(s, step(s).other, s);
}
inline consort_status Run::record_once(int s, uint32_t flags) {
  if (const consort_status status = attempt([&] { return consort_record_begin(rt_, flags); }); status < 0) return status;
  for (int c = s + 1; c < static_cast<int>(fates_.size()) && step(c).recorded == s; ++c)
    if (p_.has(c)) send(c);
  consort_recording_id *const made = &recordings_[s];  // its place is the harness's: it does not fail
  return call([&] { return consort_record_end(rt_, made); });
}
inline void Run::replay(int record, int times, int s) {
  while (times-- > 0)
    must(s, "replay", [&] { return consort_replay(rt_, recordings_[record], groups_[step(s).k % 3], nullptr); });
}

// The callback is called at the turn of the datum; the thread does not wait.
inline void Run::enter_later(int s) {
  const auto granted = [](void *arg, consort_status status, const consort_hold *hold) {
    const MayFail outside(false);
    const Act &a = *static_cast<const Act *>(arg);
    Run &run = *a.run;
    Fate &f = run.fate(a.step);
    run.told(status);
    if (status != f.ends && !run.excused(status, f.ends))
      run.complain(a.step, std::string("was granted with ") + consort_status_name(status));
    if (status < 0 && f.ends >= 0 && (f.uses[0].mode & CONSORT_M_W)) run.unwritten_ = true;
    if (status >= 0 && f.ends >= 0) {
      const Cells cells(hold->view, f.shapes[0]);
      const auto &want = f.runs[0].cells[0];
      for (size_t i = 0; i < want.size(); ++i)
        run.compare(a.step, "entered later", f.uses[0].slot, i, cells[i], want[i]);
      for (size_t i = 0; i < f.leaves.size(); ++i) cells[i] = f.leaves[i];
    }
    if (status >= 0) run.must(a.step, "release", [&] { return consort_release(run.rt_, *hold); });
    ++f.done;
  };
  const Use &u = fate(s).uses[0];
  must(s, "acquire_later", [&] {
    return consort_acquire_later(rt_, id_of(u.slot), u.mode, granted, &acts_[static_cast<size_t>(s)]);
  });
}

// Nothing is ready or running: so each task that is not held back has run.
inline void Run::check_rest(int s) {
  must(s, "wait_no_ready", [&] { return consort_wait_no_ready(rt_, site_.patience, 0); });
  if (!p_.alone || site_.trouble.possible) return;
  for (int a = 0; a < s; ++a) {
    const Fate &f = fate(a);
    if (step(a).kind == Kind::kTask && step(a).recorded < 0 && !f.skip && f.blocked_in < 0 &&
        f.ran < static_cast<int>(f.runs.size()))
      complain(s, "nothing is ready or running, but " + std::to_string(a) + " has not run");
  }
}

// After everything has ended.
inline void Run::check_task(int s) {
  Fate &f = fate(s);
  if (f.skip) return;
  if (step(s).kind == Kind::kEnterLater && f.done != 1)
    return complain(s, "was granted " + std::to_string(f.done) + " times");
  if (step(s).kind != Kind::kTask) return;
  const Step &t = step(s);
  if (site_.trouble.possible && t.parent >= 0 && !f.id.v) return;  // its parent never ran
  // All are asked where a fault may have struck, and before the counts are judged.
  if ((f.ends < 0 || s % 5 == 0 || site_.trouble.possible) && t.recorded < 0) wait_for_task(s, 0);
  const int ran = f.ran, turns = std::max(1, t.turns), should = static_cast<int>(f.runs.size());
  // The result of a recorded task, or of a later repeat, cannot be queried: they have no id here. A task that is
  // planned to fail may have failed by a fault before.
  const bool unseen = t.recorded >= 0 || t.turns || f.ends < 0;
  const bool fewer = troubled() || (site_.trouble.possible && unseen);
  if (!f.suspicion.empty() && !unseen && consort_task_wait(rt_, f.id, 0, 0) == CONSORT_OK)
    complain(s, f.suspicion);
  if (ran != should && !(fewer && ran < should) && !(extra_runs_ && f.ends < 0))
    complain(s, "ran " + std::to_string(ran) + " times, should " + std::to_string(should));
  if (wants_done(s) && f.done != turns && !(fewer && f.done >= 1 && f.done < turns))
    complain(s, "was told done " + std::to_string(f.done) + " times");
  const bool hooks_right = f.dropped == 3 && (f.ready == turns || (fewer && f.ready >= 1 && f.ready < turns)) &&
                           (f.begun == ran || (fewer && f.begun >= ran));
  if (wants_hooks(s) && !hooks_right)
    complain(s, "hooks: ready " + std::to_string(f.ready) + ", begin " + std::to_string(f.begun) + ", dropped " +
                    std::to_string(f.dropped));
}

// Memory requests alone: no value depends on them.
inline void Run::hint(int s) {
  const Step &t = step(s);
  consort_info info{};
  info.size = sizeof info;
  (void)consort_get_info(rt_, &info);
  const auto space = static_cast<uint32_t>(t.number) % info.nspaces;
  const consort_data_id x = id_of(t.uses[0].slot);
  const consort_status status = attempt([&] {
    switch (t.kind) {
      case Kind::kPrefetch:
        return consort_prefetch(rt_, x, space, t.priority, 0, nullptr);
      case Kind::kEvict:
        return consort_evict(rt_, x, space);
      case Kind::kWontUse:
        return consort_wont_use(rt_, x);
      default:
        return consort_data_set_write_through(rt_, x, t.number % 2 ? 1ull << space : 0);
    }
  });
  // A space may be one that holds no such copy: the call returns so and adds no access. Another hint takes its place,
  // because the oracle knows no spaces.
  if (status == CONSORT_E_INVAL || status == CONSORT_E_UNSUPPORTED)
    return (void)must(s, "the turn of a hint", [&] {
      return t.kind == Kind::kPrefetch ? consort_wont_use(rt_, x) : consort_data_set_write_through(rt_, x, 0);
    });
  if (status < 0 && !excused(status, CONSORT_OK))
    complain(s, std::string(name_of(t.kind)) + " answered " + consort_status_name(status) + ": " + consort_error());
}

// A core goes into the first context, or back out of it; neither side is left without one.
inline void Run::move_worker(int s) {
  if (!site_.ncontexts || site_.cores.size() < 2) return;
  const uint32_t w = site_.cores[static_cast<size_t>(step(s).number) % site_.cores.size()];
  const consort_context_id inner = site_.contexts[0];
  consort_context_id of{0};
  uint32_t inside = 0, elsewhere = 0;
  must(s, "context_of_worker", [&] { return consort_context_of_worker(rt_, w, &of); });
  for (const uint32_t core : site_.cores) {
    consort_context_id c{0};
    (void)consort_context_of_worker(rt_, core, &c);
    inside += c.v == inner.v;
    elsewhere += c.v == 0;
  }
  if (of.v == inner.v && inside > 1) must(s, "context_remove", [&] { return consort_context_remove(rt_, inner, &w, 1); });
  if (of.v == 0 && elsewhere > 1) must(s, "context_add", [&] { return consort_context_add(rt_, inner, &w, 1); });
}

inline void Run::perform(int s) {
  const Step &t = step(s);
  Fate &f = fate(s);
  const uint32_t help = t.no_help ? uint32_t{CONSORT_WAIT_NO_HELP} : 0u;
  switch (t.kind) {
    case Kind::kTask:
      return send(s);
    case Kind::kEnter:
    case Kind::kOpen:
      return hold_of(t.uses[0].slot, t.uses[0].mode, f.ends, s, [&](const Cells &cells) {
        const auto &want = f.runs.empty() ? std::vector<int64_t>{} : f.runs[0].cells[0];
        for (size_t i = 0; i < want.size(); ++i) compare(s, "entered", t.uses[0].slot, i, cells[i], want[i]);
        for (size_t i = 0; i < f.leaves.size(); ++i) cells[i] = f.leaves[i];
      });
    case Kind::kClose: {
      const consort_hold hold = std::exchange(hold_, {});
      if (hold.id.v || !troubled()) must(s, "release", [&] { return consort_release(rt_, hold); });
      return;
    }
    case Kind::kInvalidate:
      return (void)must(s, "invalidate", [&] { return consort_invalidate(rt_, id_of(t.uses[0].slot)); });
    case Kind::kRenew:
    case Kind::kRenewLater:
      return renew(s);
    case Kind::kGroupWait: {
      const consort_status status =
          wait_call([&] { return consort_group_wait(rt_, groups_[t.number], site_.patience, help); });
      // Several programs share the default group: its failures may be another's.
      if (t.number || p_.alone || status == CONSORT_E_TIMEOUT) answered(s, status, true);
      else told(status);
      return;
    }
    case Kind::kTaskWait:
      return wait_for_task(t.other, site_.patience);
    case Kind::kWaitAll:
      return answered(s, wait_call([&] { return consort_wait_all(rt_, site_.patience, 0); }), true);
    case Kind::kCancel:
      return (void)must(s, "cancel", [&] { return consort_task_cancel(rt_, fate(t.other).id); });
    case Kind::kGroupCancel:
      return (void)must(s, "group_cancel", [&] { return consort_group_cancel(rt_, groups_[kDoomedGroup]); });
    case Kind::kSetOrdered:
      return (void)must(s, "set_ordered",
                        [&] { return consort_data_set_ordered(rt_, life(t.uses[0].slot).id, t.number); });
    case Kind::kEnterLater:
      return enter_later(s);
    case Kind::kCopy:
      return (void)must(s, "copy", [&] {
        return consort_data_copy(rt_, life(f.uses[0].slot).id, life(f.uses[1].slot).id, group_of(s), &f.id);
      });
    case Kind::kPlan:
      return make_plan(s);
    case Kind::kRecord:
      return record(s);
    case Kind::kReplay:
      return replay(t.other, t.number, s);
    case Kind::kPlanEnd:
      return (void)must(s, "plan_destroy", [&] { return consort_plan_destroy(rt_, plans_[t.number]); });
    case Kind::kTagOpen:
      return;
    case Kind::kTagClose:
    case Kind::kTagNotify:
      return (void)must(s, "tag_notify",
                        [&] { return consort_tag_notify(rt_, tags_ + static_cast<uint64_t>(t.number)); });
    case Kind::kTagWait: {
      const uint64_t tag = tags_ + static_cast<uint64_t>(t.number);
      return answered(s, wait_call([&] { return consort_tag_wait(rt_, &tag, 1, site_.patience, 0); }));
    }
    case Kind::kTagRestart:
      return (void)must(s, "tag_restart",
                        [&] { return consort_tag_restart(rt_, tags_ + static_cast<uint64_t>(t.number)); });
    case Kind::kEndRelease:
      return (void)must(s, "end_release", [&] { return consort_task_end_release(rt_, fate(t.other).id); });
    case Kind::kNoReady:
      return check_rest(s);
    case Kind::kEach:
      return;
    case Kind::kSwap: {
      const std::string &name = site_.policies[static_cast<size_t>(t.number) % site_.policies.size()];
      return (void)must(s, "set_scheduler", [&] { return consort_runtime_set_scheduler(rt_, name.c_str()); });
    }
    case Kind::kPrefetch:
    case Kind::kEvict:
    case Kind::kWontUse:
    case Kind::kWriteThrough:
      return hint(s);
    case Kind::kMoveWorker:
      return move_worker(s);
  }
}

}  // namespace mixed
