// checkpoints.cpp — the steps of checkpoints: their turns, their thread, files, ends. saving.cpp submits them.
#include "remote/checkpoints.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/last_error.hpp"
#include "graph/acquired_data.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "remote/contents.hpp"
#include "remote/distribution.hpp"

namespace consort {

Checkpoints::~Checkpoints() {
  stopping_.store(true, std::memory_order_release);
  parker_.wake();
  if (thread_.joinable()) thread_.join();
}

Checkpoints::Step &Checkpoints::step_of(const Task &t) noexcept {
  uintptr_t word;
  std::memcpy(&word, t.payload + kPlace, sizeof word);
  return *reinterpret_cast<Step *>(word & ~kLoads);
}

// -- the turn ----------------------------------------------------------------------------------------------------

bool Checkpoints::bring(Task *t) noexcept {
  step_of(*t).task = t;
  return rt_.data.placement && rt_.graph_memory->stage_home(t) == Outcome::kPending;
}

KindTable::Turn Checkpoints::ready(ThreadState &thread, Task *t) noexcept {
  Step *step = &step_of(*t);
  Datum &d = datum_of(*t);
  consort_status s = check_held(rt_, *t, d, t->pub.access[0].mode);
  if (s == CONSORT_E_POISONED && step->kind != Step::kStore)  // a token: what made it so
    if (const auto blame = rt_.data.blame(d)) s = blame->root().status;
  if (s >= 0) step->view = const_cast<void *>(rt_.graph_memory->held_view(*t, d));
  const bool is_over = s < 0 || step->kind == Step::kTake || step->kind == Step::kEnd;
  bool is_threaded;
  {
    const std::lock_guard guard(mutex_);
    is_threaded = start_thread();
    if (!is_over && !may_run(*step)) return waiting_.push(step), KindTable::Turn{false};
    if (!is_over && is_threaded) return ready_.push(step), parker_.wake(), KindTable::Turn{false};
  }
  s = settle(step, is_over ? s : perform(*step));
  while (Step *const later = is_threaded ? nullptr : take()) end(thread, later, perform(*later));  // they waited for this one
  return {true, s};
}

// A part is finished after its stores, and after the loads: then no file is removed that is still to be read.
bool Checkpoints::may_run(const Step &s) const noexcept { return s.kind != Step::kFinish || (!s.save->open && !loads_); }

bool Checkpoints::start_thread() noexcept {
  if (is_threaded_ || rt_.manual) return is_threaded_;
  try {
    thread_ = std::thread([this] { run(); });
    is_threaded_ = true;
  } catch (const std::system_error &) {  // the thread of each turn does it
  }
  return is_threaded_;
}

void Checkpoints::run() noexcept {
  name_this_thread("checkpoint");
  ThreadState *thread = nullptr;
  while (!stopping_.load(std::memory_order_acquire)) {
    if (!thread && !(thread = rt_.this_thread())) {
      rt_.log(kLogError, "no memory for the thread of checkpoints: they wait");
      parker_.wait(100'000'000);
    } else if (Step *const step = take()) {
      end(*thread, step, perform(*step));
    } else {
      settle_down(rt_, *thread);
      parker_.wait(-1);
    }
  }
}

Checkpoints::Step *Checkpoints::take() noexcept {
  const std::lock_guard guard(mutex_);
  if (Step *const s = ready_.pop()) return s;
  Queue others;
  Step *found = nullptr;
  while (Step *const s = waiting_.pop()) {
    if (!found && may_run(*s)) found = s;
    else others.push(s);
  }
  while (Step *const s = others.pop()) waiting_.push(s);
  return found;
}

// -- the end -----------------------------------------------------------------------------------------------------

void Checkpoints::fail(Save &save, consort_status s, std::string_view text) noexcept {
  const std::lock_guard guard(mutex_);
  if (save.first.status < 0) return;
  save.first.status = s;
  try {
    save.first.text = text;
  } catch (const std::bad_alloc &) {
  }
}

consort_status Checkpoints::settle(Step *step, consort_status s) noexcept {
  const std::unique_ptr<Step> owned(step);
  Task *const t = step->task;
  Datum &d = datum_of(*t);
  if (s < 0) {
    const LastError why;
    if (step->is_counted()) {
      try {
        fail(*step->save, s, step->kind == Step::kTake ? why.text() : "datum '" + rt_.data.name(d) + "' (tag " + std::to_string(step->tag) + "): " + why.text());
      } catch (const std::bad_alloc &) {
        fail(*step->save, s, why.text());
      }
    }
    record_failure(rt_, t, s, why.text(), &d, CONSORT_NONE, nullptr);
  } else if (t->pub.access[0].mode & CONSORT_M_W) {
    t->bits |= kOdd;  // its datum is valid from here on
  }
  const std::lock_guard guard(mutex_);
  if (step->is_counted()) --step->save->open;
  if (step->kind == Step::kLoad) --loads_;
  if (is_threaded_) parker_.wake();  // a finish may wait for it
  return s;
}

void Checkpoints::end(ThreadState &thread, Step *step, consort_status s) noexcept {
  Task *const t = step->task;
  (void)complete(rt_, thread, t, settle(step, s), nullptr);
}

// -- files -------------------------------------------------------------------------------------------------------

consort_status Checkpoints::perform(Step &s) noexcept try {
  const Datum &d = datum_of(*s.task);
  const auto done = s.kind == Step::kStore    ? store(s, d)
                    : s.kind == Step::kFinish ? finish(s, d)
                                              : load(s, d);
  return done ? CONSORT_OK : set_error(done.error());
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a checkpoint");
}

Result<void> Checkpoints::store(Step &s, const Datum &d) {
  Save &save = *s.save;
  {
    const std::lock_guard guard(mutex_);
    if (save.first.status < 0) return {};  // told by the task that failed, and by the finish
  }
  if (!save.part) {
    auto part = folder_->begin(save.head);
    if (!part) return part.error();
    save.part = std::move(*part);
  }
  const uint64_t bytes = packed_bytes(d, s.view);
  const auto packed = std::make_unique_for_overwrite<char[]>(bytes);
  if (const consort_status bad = pack(d, s.view, packed.get(), bytes); bad < 0) return error(bad, error_text());
  SavedDatum saved;
  saved.tag = s.tag, saved.layout = d.layout->name;
  return save.part->add(&saved, {packed.get(), bytes});
}

Result<void> Checkpoints::finish(Step &s, const Datum &token) {
  Save &save = *s.save;
  Error first{CONSORT_OK, {}};
  {
    const std::lock_guard guard(mutex_);
    first = save.first;
  }
  Result<void> done;
  if (first.status < 0) done = first;
  if (done && !save.part) {  // this rank has none of the data
    auto part = folder_->begin(save.head);
    if (part) save.part = std::move(*part);
    else done = part.error();
  }
  if (done) done = save.part->finish();
  save.part.reset();
  if (done && job_.rank() == 0) done = commit(save);
  if (!done) return done;
  std::memset(run_of(token, s.view), 0, token.pub.bytes);
  return {};
}

Result<void> Checkpoints::commit(const Save &save) {
  CheckpointManifest m;
  m.job = save.head.job, m.serial = save.head.serial;
  m.number = save.number, m.name = save.name;
  for (uint32_t r = 0; r < job_.ranks(); ++r)
    if (auto taken = folder_->take_part({save.head.job, save.head.serial, r}, &m); !taken) return taken;
  std::sort(m.data.begin(), m.data.end(), [](const SavedDatum &a, const SavedDatum &b) { return a.tag < b.tag; });
  const bool is_whole = std::equal(m.data.begin(), m.data.end(), save.owners.begin(), save.owners.end(),
                                   [](const SavedDatum &d, const auto &owned) { return d.tag == owned.first && d.rank == owned.second; });
  if (!is_whole)
    return error(CONSORT_E_INVAL, "the ranks have stored other data than this rank knows: all ranks must submit the same sequence");
  auto done = folder_->commit(m);
  if (done) folder_->clean(m);
  return done;
}

Result<void> Checkpoints::load(Step &s, const Datum &d) {
  const SavedDatum &saved = *s.saved;
  if (saved.layout != d.layout->name)
    return error(CONSORT_E_INVAL, "it was stored as '" + saved.layout + "' and is a '" + d.layout->name + "' here: register it with the same layout");
  const uint64_t here = packed_bytes(d, s.view);
  if (saved.bytes != here && !(d.layout->ops->flags & CONSORT_IF_DYNAMIC))
    return error(CONSORT_E_INVAL, "it was stored with " + std::to_string(saved.bytes) + " bytes and has " + std::to_string(here) +
                                      " here: register it with the same sizes");
  const auto packed = std::make_unique_for_overwrite<char[]>(saved.bytes);
  if (auto got = folder_->read(*found_, saved, packed.get()); !got) return got;
  const consort_status bad = unpack(d, s.view, packed.get(), saved.bytes);
  return bad < 0 ? Result<void>(error(bad, error_text())) : Result<void>();
}

void set_checkpoint_kind(Kinds &kinds) noexcept {
  static constexpr KindTable stored{
      .label = [](const Task &t) noexcept {  // also when the step is gone
        uintptr_t word;
        std::memcpy(&word, t.payload + Checkpoints::kPlace, sizeof word);
        return word & Checkpoints::kLoads ? "restore" : "checkpoint";
      },
      .bring = [](Core &core, Task *t) noexcept { return distribution_of(core).checkpoints->bring(t); },
      .ready = [](Core &core, ThreadState &thread, Task *t, ReadyBatch &) noexcept {
        return distribution_of(core).checkpoints->ready(thread, t);
      }};
  kinds.set(TaskKind::kStored, stored);
}

}  // namespace consort
