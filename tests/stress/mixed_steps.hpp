// mixed_steps.hpp — how a Run performs each kind of step; the second half of mixed_run.hpp.
#pragma once
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
  must(consort_register(rt_, &desc, &life.id), -1, "register");
  must(consort_data_set_reduction(rt_, life.id, site_.init[x.layout], site_.combine[x.layout]), -1, "set_reduction");
}

inline void Run::send(int s) {
  const Step &t = step(s);
  Fate &f = fate(s);
  constexpr int kMine = Site::kPlain / 4;
  const bool plain = t.plain && t.parent < 0 && !wants_done(s) && s < kMine && number_ < 4;
  Desc d(t.empty ? consort_codelet_id{0} : site_.body);
  if (plain && !t.empty) {
    Site::Plain &mine = site_.plain[number_ * kMine + s];
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
    must(consort_tag_after(rt_, tags_ + static_cast<uint64_t>(f.tag), others.data(),
                           static_cast<uint32_t>(others.size())),
         s, "tag_after");
  }
  for (const int a : f.after)  // by its tag or by its name
    if (fate(a).tag < 0 || std::find(f.tag_after.begin(), f.tag_after.end(), fate(a).tag) == f.tag_after.end())
      d.then(fate(a).id);
  d.priority(t.priority).on(t.worker);
  if (in_group) d.in(group_of(s));
  if (!plain && !t.empty) d.arg(static_cast<const Act *>(&acts_[static_cast<size_t>(s)]));
  Act *const act = &acts_[static_cast<size_t>(s)];
  if (wants_done(s)) d.done(told_done, act);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  std::vector<consort_task_id> end_after;
  if (wants_hooks(s)) {
    more.ready = {told<Via::kReady>, act, told_dropped};
    more.begin = {told<Via::kBegin>, act, told_dropped};
    more.done_drop = told_dropped;
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
  must(d.to(rt_, &f.id), s, "submit");
}

inline void Run::wait_for_task(int s, int64_t timeout) {
  const consort_status status =
      consort_task_wait(rt_, fate(s).id, timeout, s & 1 ? 0u : uint32_t{CONSORT_WAIT_NO_HELP});
  if (status != fate(s).ends)
    complain(s, std::string("ended with ") + consort_status_name(status) +
                    (status < 0 ? std::string(" (") + consort_error() + ")" : "") + ", should " +
                    consort_status_name(fate(s).ends));
}

// Enters a datum and calls `with` its cells.
template <class F>
void Run::hold_of(int d, uint32_t mode, consort_status want, int s, F with) {
  consort_hold hold{};
  const consort_status status = consort_acquire(rt_, id_of(d), mode, kLong, &hold);
  if (status != want)
    complain(s, "acquire of slot " + std::to_string(d) + " answered " + consort_status_name(status) +
                    (status < 0 ? std::string(" (") + consort_error() + ")" : "") + ", should " +
                    consort_status_name(want));
  if (status < 0) return;
  with(Cells(hold.view, s < 0 ? p_.slots[static_cast<size_t>(d)] : fate(s).shapes[0]));
  if (s < 0 || step(s).kind != Kind::kOpen)
    must(consort_release(rt_, hold), s, "release");
  else
    hold_ = hold;
}

inline void Run::renew(int s) {
  const int d = step(s).uses[0].slot;
  if (step(s).kind == Kind::kRenew)
    must(consort_unregister(rt_, life(d).id), s, "unregister");
  else
    must(consort_unregister_later(rt_, life(d).id), s, "unregister_later");
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
  if (!must(consort_plan_create(rt_, id_of(d), &desc, &plan), s, "plan_create")) return;
  consort_data_id *parts = &parts_[t.number * kMostParts];
  if (consort_plan_parts(rt_, plan, parts, kMostParts) != t.other)
    return complain(s, "another number of parts than asked for");
  for (int i = 0; i < t.other; ++i)
    must(consort_data_set_reduction(rt_, parts[i], site_.init[layout], site_.combine[layout]), s, "set_reduction");
}

inline void Run::record(int s) {
  if (!must(consort_record_begin(rt_, step(s).number ? uint32_t{CONSORT_RECORD_ONLY} : 0u), s, "record_begin")) return;
  for (int c = s + 1; c < static_cast<int>(fates_.size()) && step(c).recorded == s; ++c)
    if (p_.has(c)) send(c);
  if (must(consort_record_end(rt_, &recordings_[s]), s, "record_end")) replay(s, step(s).other, s);
}
inline void Run::replay(int record, int times, int s) {
  while (times-- > 0) must(consort_replay(rt_, recordings_[record], groups_[step(s).k % 3], nullptr), s, "replay");
}

// Told when its turn comes, instead of waiting.
inline void Run::enter_later(int s) {
  const auto told = [](void *arg, consort_status status, const consort_hold *hold) {
    const Act &a = *static_cast<const Act *>(arg);
    Run &run = *a.run;
    Fate &f = run.fate(a.step);
    if (status != f.ends) run.complain(a.step, std::string("was granted with ") + consort_status_name(status));
    if (status >= 0) {
      const Cells cells(hold->view, f.shapes[0]);
      const auto &want = f.runs[0].cells[0];
      for (size_t i = 0; i < want.size(); ++i)
        run.compare(a.step, "entered later", f.uses[0].slot, i, cells[i], want[i]);
      for (size_t i = 0; i < f.leaves.size(); ++i) cells[i] = f.leaves[i];
      run.must(consort_release(run.rt_, *hold), a.step, "release");
    }
    ++f.done;
  };
  must(consort_acquire_later(rt_, id_of(fate(s).uses[0].slot), fate(s).uses[0].mode, told,
                             &acts_[static_cast<size_t>(s)]),
       s, "acquire_later");
}

// Nothing is ready or running: so all that is not held back has run.
inline void Run::check_rest(int s) {
  must(consort_wait_no_ready(rt_, kLong, 0), s, "wait_no_ready");
  if (!p_.alone) return;
  for (int a = 0; a < s; ++a) {
    const Fate &f = fate(a);
    if (step(a).kind == Kind::kTask && step(a).recorded < 0 && !f.skip && f.blocked_in < 0 &&
        f.ran != static_cast<int>(f.runs.size()))
      complain(s, "nothing is ready or running, but " + std::to_string(a) + " has not run");
  }
}

inline void Run::perform(int s) {
  const Step &t = step(s);
  Fate &f = fate(s);
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
    case Kind::kClose:
      return (void)must(consort_release(rt_, std::exchange(hold_, {})), s, "release");
    case Kind::kInvalidate:
      return (void)must(consort_invalidate(rt_, id_of(t.uses[0].slot)), s, "invalidate");
    case Kind::kRenew:
    case Kind::kRenewLater:
      return renew(s);
    case Kind::kGroupWait: {
      const consort_status status =
          consort_group_wait(rt_, groups_[t.number], kLong, s & 1 ? 0u : uint32_t{CONSORT_WAIT_NO_HELP});
      if ((t.number || p_.alone) && (status < 0) != (f.ends < 0))
        complain(s, "the wait for group " + std::to_string(t.number) + " answered " + consort_status_name(status) +
                        (status < 0 ? std::string(" (") + consort_error() + ")" : ""));
      return;
    }
    case Kind::kTaskWait:
      return wait_for_task(t.other, kLong);
    case Kind::kWaitAll: {
      const consort_status status = consort_wait_all(rt_, kLong, 0);
      if ((status < 0) != (f.ends < 0))
        complain(s, std::string("wait_all answered ") + consort_status_name(status) +
                        (status < 0 ? std::string(" (") + consort_error() + ")" : ""));
      return;
    }
    case Kind::kCancel:
      return (void)must(consort_task_cancel(rt_, fate(t.other).id), s, "cancel");
    case Kind::kGroupCancel:
      return (void)must(consort_group_cancel(rt_, groups_[kDoomedGroup]), s, "group_cancel");
    case Kind::kSetOrdered:
      return (void)must(consort_data_set_ordered(rt_, life(t.uses[0].slot).id, t.number), s, "set_ordered");
    case Kind::kEnterLater:
      return enter_later(s);
    case Kind::kCopy:
      return (void)must(consort_data_copy(rt_, life(f.uses[0].slot).id, life(f.uses[1].slot).id, group_of(s), &f.id), s,
                        "copy");
    case Kind::kPlan:
      return make_plan(s);
    case Kind::kRecord:
      return record(s);
    case Kind::kReplay:
      return replay(t.other, t.number, s);
    case Kind::kPlanEnd:
      return (void)must(consort_plan_destroy(rt_, plans_[t.number]), s, "plan_destroy");
    case Kind::kTagOpen:
      return;
    case Kind::kTagClose:
    case Kind::kTagNotify:
      return (void)must(consort_tag_notify(rt_, tags_ + static_cast<uint64_t>(t.number)), s, "tag_notify");
    case Kind::kTagWait: {
      const uint64_t tag = tags_ + static_cast<uint64_t>(t.number);
      const consort_status status = consort_tag_wait(rt_, &tag, 1, kLong, 0);
      if (status != f.ends) complain(s, std::string("tag_wait answered ") + consort_status_name(status));
      return;
    }
    case Kind::kTagRestart:
      return (void)must(consort_tag_restart(rt_, tags_ + static_cast<uint64_t>(t.number)), s, "tag_restart");
    case Kind::kEndRelease:
      return (void)must(consort_task_end_release(rt_, fate(t.other).id), s, "end_release");
    case Kind::kNoReady:
      return check_rest(s);
    case Kind::kEach:
      return;
    case Kind::kSwap: {
      constexpr const char *names[] = {"lws", "eager", "prio", "ws", "random"};
      return (void)must(consort_runtime_set_scheduler(rt_, names[t.number % std::size(names)]), s, "set_scheduler");
    }
  }
}

}  // namespace mixed
