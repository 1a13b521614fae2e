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
  const bool plain = t.plain && t.parent < 0 && f.children.empty() && s < kMine && number_ < 4;
  Desc d(t.empty ? consort_codelet_id{0} : site_.body);
  if (plain && !t.empty) {
    Site::Plain &mine = site_.plain[number_ * kMine + s];
    mine.act.store(&acts_[static_cast<size_t>(s)], std::memory_order_relaxed);
    d.d.codelet = mine.id;
  }
  for (const Use &u : f.uses) {
    f.lives.push_back(u.slot < 0 ? -1 : now_[static_cast<size_t>(u.slot)]);
    d.use(u.slot == kPad ? site_.pad : u.slot < 0 ? site_.shared[kSharedSum0 - u.slot] : life(u.slot).id, u.mode);
  }
  for (const int a : f.after) d.then(fate(a).id);
  d.priority(t.priority).on(t.worker);
  if (t.parent < 0) d.in(group_of(s));
  if (!plain && !t.empty) d.arg(static_cast<const Act *>(&acts_[static_cast<size_t>(s)]));
  if (!f.children.empty()) d.done(told_done, &acts_[static_cast<size_t>(s)]);
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
  const consort_status status = consort_acquire(rt_, life(d).id, mode, kLong, &hold);
  if (status != want)
    complain(s, "acquire of slot " + std::to_string(d) + " answered " + consort_status_name(status) +
                    (status < 0 ? std::string(" (") + consort_error() + ")" : "") + ", should " +
                    consort_status_name(want));
  if (status < 0) return;
  with(Cells(hold.view, p_.slots[static_cast<size_t>(d)]));
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
      return (void)must(consort_invalidate(rt_, life(t.uses[0].slot).id), s, "invalidate");
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
    case Kind::kSwap: {
      constexpr const char *names[] = {"lws", "eager", "prio"};
      return (void)must(consort_runtime_set_scheduler(rt_, names[t.number % std::size(names)]), s, "set_scheduler");
    }
  }
}

}  // namespace mixed
