#include "exec/queue.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "base/last_error.hpp"
#include "exec/gang.hpp"
#include "exec/native_graph.hpp"
#include "exec/prepare.hpp"
#include "exec/queue_slot.hpp"
#include "exec/reassign.hpp"
#include "exec/watched_body.hpp"
#include "graph/complete.hpp"
#include "graph/eligible_worker.hpp"
#include "graph/failed_task.hpp"
#include "graph/link_steps.hpp"
#include "graph/reduction.hpp"
#include "model/models.hpp"
#include "plugin/status.hpp"
#include "task/edges.hpp"
#include "task/eligibility.hpp"
#include "task/footprint.hpp"
#include "task/run_observer.hpp"
#include "task/trace_categories.hpp"
#include "task/task_bytes.hpp"

namespace consort {
namespace {

// Called by the driver, possibly on a thread of its own. No exception leaves it, and the error text is kept for the
// thread that handles the completion.
consort_status run_host_code(const consort_call *call) noexcept {
  QueueSlot &slot = *const_cast<QueueSlot *>(reinterpret_cast<const QueueSlot *>(call));
  Execution &rt = slot.worker->rt;
  ThreadState *const thread = rt.this_thread();  // tasks that it submits are in its group, and excluded from waits
  const bool outer = std::exchange(on_a_device, true);
  Task *const outer_task = thread ? std::exchange(thread->task, slot.task) : nullptr;
  void *const outer_frame = thread ? std::exchange(thread->frame, nullptr) : nullptr;
  const consort_status s =
      slot.gang ? rt.gangs.call(*slot.gang) : run_body(rt, *slot.worker, *slot.task, slot.fn, &slot.frame.call);
  if (rt.virtual_time) rt.execution_memory->stir();
  on_a_device = outer;
  if (thread) thread->task = outer_task, thread->frame = outer_frame;
  if (s < 0) std::snprintf(slot.text, sizeof slot.text, "%s", error_text());
  return s;
}

// A driver ends what is in flight on a lost device by the status alone.
void give_reason(QueueSlot &slot, consort_status s) noexcept {
  if (s == CONSORT_E_DEVICE_LOST && !*slot.text) std::snprintf(slot.text, sizeof slot.text, "its device is lost");
}

void tell_given_up(const Execution &rt, const Task &t) noexcept try {
  rt.log(kLogInfo, "a " + std::string(task_label(rt, t)) + " goes task by task from now on: " + error_text());
} catch (const std::bad_alloc &) {  // out of memory: no text
}

}  // namespace

Queue::Queue(Execution &rt, Executor &w, uint16_t number) : IssueQueue(number, w.id), rt_(rt), worker_(w) {}

Result<std::unique_ptr<Queue>> Queue::open(Execution &rt, Executor &w, uint16_t number) {
  std::unique_ptr<Queue> q(new Queue(rt, w, number));
  const Device &device = *w.unit.device;
  q->ops_ = device.ops;
  q->desc_.size = sizeof q->desc_;
  clear_error();
  const consort_status s = plugin_status(
      device.ops->queue_open(device.dev, w.unit.index, q->token(), &q->desc_, &q->q_), device.plugin->manifest->name, "queue_open()");
  if (s < 0) return error(s, "no queue for worker " + w.unit.name + ": " + error_text());
  q->waits_for_tickets_ = q->desc_.sync != 0 && (q->desc_.flags & CONSORT_Q_WAITS);
  q->depth_ = std::max(1u, std::min(w.unit.desc.depth, q->desc_.depth ? q->desc_.depth : w.unit.desc.depth));
  for (uint32_t i = 0; i < q->depth_; ++i) {
    q->slots_.push_back(std::make_unique<QueueSlot>(w, &w));
    q->free_.push_back(q->slots_.back().get());
  }
  if ((q->ops_->flags & CONSORT_DRV_FD) && q->ops_->event_fd) q->fd_ = q->ops_->event_fd(q->q_);
  q->early_.reserve(q->depth_);
  q->pushed_.reserve(q->depth_);
  if (!q->links_.reserve(rt.tasks.limit()) || q->links_.limit() < rt.tasks.limit())
    return error(CONSORT_E_NOMEM, "no address space for what follows on worker " + w.unit.name +
                                      ": raise the limit on virtual memory");
  return q;
}

bool Queue::describe(const consort_op &op, void (*to)(void *, const consort_body *), void *user) noexcept {
  const QueueSlot &slot = *reinterpret_cast<const QueueSlot *>(op.cookie);
  if (slot.gang) return true;
  return describe_body(slot.worker->rt, *slot.worker, *slot.task, slot.frame.call, to, user);
}

Queue::~Queue() {
  if (q_) ops_->queue_close(q_);
}

void Queue::offer(Task *t) noexcept {
  {
    std::lock_guard lock(inbox_mutex_);
    offered_.push_back(rt_.tasks, links_, t);
  }
  inbox_.store(true, std::memory_order_release);
  fence::light(rt_.asymmetric);
  if (Parker *p = worker_.sleeping.exchange(nullptr, std::memory_order_acq_rel)) p->wake();
}

void Queue::completed(const consort_done *done, uint32_t n) noexcept {
  {
    std::lock_guard lock(inbox_mutex_);
    pushed_.insert(pushed_.end(), done, done + n);  // capacity is reserved: each slot ends once
  }
  inbox_.store(true, std::memory_order_release);
  fence::light(rt_.asymmetric);
  if (Parker *p = worker_.sleeping.exchange(nullptr, std::memory_order_acq_rel)) p->wake();
}

bool Queue::step(ThreadState &thread) noexcept {
  const bool did = advance(thread);
  if (at_work_.load(std::memory_order_relaxed) != busy()) at_work_.store(busy(), std::memory_order_release);
  return did;
}

bool Queue::advance(ThreadState &thread) noexcept {
  bool did = false;
  consort_done done[32];
  if (inflight_) {
    clear_error();
    const uint32_t n = ops_->poll(q_, done, 32);
    // The driver's error text belongs to the last completion that it reports (driver.h).
    if (n && done[n - 1].status < 0)
      if (auto &text = reinterpret_cast<QueueSlot *>(done[n - 1].cookie)->text; !*text)
        std::snprintf(text, sizeof text, "%s", error_text());
    for (uint32_t i = 0; i < n; ++i) finish(thread, done[i]);
    did |= n > 0;
  }
  if (inbox_.load(std::memory_order_acquire)) {
    size_t n;
    do {
      {
        std::lock_guard lock(inbox_mutex_);
        follow_.append(links_, offered_);
        n = std::min(pushed_.size(), std::size(done));
        std::copy_n(pushed_.begin(), n, done);
        pushed_.erase(pushed_.begin(), pushed_.begin() + static_cast<ptrdiff_t>(n));
        inbox_.store(!pushed_.empty(), std::memory_order_relaxed);
      }
      for (size_t i = 0; i < n; ++i) finish(thread, done[i]);
    } while (n == std::size(done));
    did = true;
  }
  if (!early_.empty()) did |= finish_early(thread);
  if (stalled_) {
    QueueSlot *slot = stalled_;
    stalled_ = nullptr;
    if (!submit(slot)) return did;
    did = true;
  }
  while (!stalled_ && !free_.empty()) {
    if (worker_.called.load(std::memory_order_acquire)) [[unlikely]] return stand_by(thread) || did;
    uint32_t impl = CONSORT_NONE, team = CONSORT_NONE;
    Task *t = next(&impl, &team, &did);
    if (!t) break;
    did = true;
    if (const Team *several = rt_.topology->team(team)) [[unlikely]]
      if (rt_.gangs.form(worker_, thread, t, impl, *several) != Gangs::Formed::kAlone) continue;
    if (!issue(thread, t, impl)) break;
  }
  return did;
}

// Ops in flight end first; then nothing but the team's op is started here until that has ended.
bool Queue::stand_by(ThreadState &thread) noexcept {
  if (inflight_) return false;
  Gang *due = nullptr;
  const Gangs::Turn turn = rt_.gangs.turn(worker_, thread, &due);
  if (due && Gangs::frame_of(*due).fn != begun_already) {
    issue_for_team(thread, *due);
  } else if (due) {
    rt_.gangs.begin(worker_, thread, *due);
    rt_.gangs.end(worker_, thread, *due, CONSORT_OK, "");
  }
  return turn == Gangs::Turn::kDid;
}

// Precondition: show_asleep() was called, and a last step found nothing. Offers, pushed completions and pushes wake the
// parker.
void Queue::rest(Parker &parker) noexcept {
  constexpr int64_t kTick = 50'000;  // ns between two polls of a device without notification
  // Other queues' completions (of predecessors of early ones), and free capacity for a stalled task, are not notified.
  const bool told = inflight_ > early_.size() && early_.empty() && !stalled_;
  if (told && ops_->arm && ops_->arm(q_) == CONSORT_E_BUSY) return;  // a completion is already there
  if (told && ops_->arm && fd_ >= 0) parker.wait_or_readable(fd_, -1);
  else parker.wait(told && (ops_->flags & CONSORT_DRV_PUSH) ? -1 : kTick);
}

// As many tasks fetch their data as may: memory granted to more would be missing for these.
bool Queue::stages_enough() const noexcept {
  return worker_.staging.load(std::memory_order_relaxed) >= depth_ + Executor::kAhead;
}

bool Queue::is_full() const noexcept { return stalled_ || free_.empty() || stages_enough(); }

Task *Queue::next(uint32_t *impl, uint32_t *team, bool *did) noexcept {
  // Tasks with complete data first.
  const bool full = stages_enough();
  Task *first = follow_.take(rt_.tasks, links_, is_staged);
  if (!first && !full) first = follow_.take(rt_.tasks, links_, [](const Task &) { return true; });
  if (Task *t = first) {
    rt_.pass_on_wake(worker_);  // the look at the policy may be long to come
    *team = t->extra ? t->extra->team : CONSORT_NONE;
    return t;
  }
  while (Task *t = worker_.next_bound()) {
    *team = t->extra ? t->extra->team : CONSORT_NONE;
    if (!t->pub.sched[1]) return rt_.pass_on_wake(worker_), t;
    rt_.policy.push(rt_, worker_.id, &t, 1, CONSORT_PUSH_NEW);  // offered here first
    *did = true;  // as in Executor::steps()
  }
  consort_pick pick;
  if (full) return nullptr;
  worker_.owes_look = false;
  if (!rt_.policy.pop(worker_.id, &pick)) return nullptr;
  *impl = pick.impl;
  *team = pick.team;
  return reinterpret_cast<Task *>(pick.task);
}

// Loads the implementation if it is a kernel's text, or chooses another (*impl). Returns false if there is none; the
// task was then passed to another worker, or has ended. Called before data are staged for it.
bool Queue::load(ThreadState &thread, Task *t, uint32_t *impl) noexcept {
  const Codelet &c = *t->codelet;
  const Codelet::Impl *first = nullptr;
  if (*impl < c.impls.size() && c.impls[*impl].klass == worker_.klass) first = &c.impls[*impl];
  else if (c.entry[worker_.klass].fn) first = &c.impls[c.entry[worker_.klass].impl];
  const Device &device = *worker_.unit.device;
  if (!first || !first->text() || first->text()->is_loaded(device)) return true;
  consort_status s = CONSORT_OK;
  for (const Codelet::Impl *next = first; next->text() && (s = next->text()->load(device)) < 0;
       next = &c.impls[*impl]) {
    const uint64_t left =
        without_refused(rt_, c, worker_.id, able(rt_, c, worker_.klass, worker_.id, asked_about(*t)));
    if (!left) {
      if ((t = pass_on(t, *first))) end_unissued(thread, t, s);
      return false;
    }
    *impl = static_cast<uint32_t>(__builtin_ctzll(left));
  }
  return true;
}

// Passes the task to a worker whose implementation was not refused. If there is none, it fails with the compiler's
// text: returns the task. A followed task was loaded before and does not get here.
Task *Queue::pass_on(Task *t, const Codelet::Impl &refused) noexcept {
  const Device &device = *worker_.unit.device;
  Worker *const to = another_able(rt_, worker_, t);
  const consort_status s = refused.text()->load(device);  // sets the error text again
  if (!to) return record_failure(rt_, t, s, error_text(), nullptr, worker_.id, nullptr), t;
  if (refused.text()->warn_once(device)) try {
      rt_.log(kLogWarn, "codelet '" + t->codelet->name + "' does not load on " + worker_.unit.name +
                            ": its tasks go elsewhere. " + error_text());
    } catch (const std::bad_alloc &) {  // out of memory: no text
    }
  to->post(t);
  return nullptr;
}

bool Queue::issue(ThreadState &thread, Task *t, uint32_t impl) noexcept {
  if (t->kind == TaskKind::kCarrier) [[unlikely]] return issue_captured(thread, t);
  if (rt_.lost.has(worker_.unit)) [[unlikely]] {
    // A followed task is still linked to its predecessors: it runs elsewhere after they have ended, as they may.
    if (t->bits & kFollowed) return end_early(t, CONSORT_E_DEVICE_LOST, "its device is lost", false), true;
    if (give_away(rt_, thread, worker_, t)) return true;
    if (!is_staged(*t)) {  // else prepare() reports the state of its data
      consort_status s = fail_if_doomed(rt_, t);
      if (s >= 0) s = check_inputs(rt_, worker_, t);
      if (s >= 0) s = refuse_everywhere(rt_, worker_, t);
      end_unissued(thread, t, s);
      return true;
    }
  }
  if (!is_staged(*t) && !load(thread, t, &impl)) return true;
  QueueSlot *slot = free_.back();
  if (const consort_status s = prepare(rt_, worker_, slot->frame, t, impl); s > 0) {
    return true;  // it waits for something else and will be issued again
  } else if (s < 0) {
    end_unissued(thread, t, s);
    return true;
  }
  if (slot->frame.fn == begun_already) {
    complete(rt_, thread, t, CONSORT_OK, &worker_);
    return true;
  }
  free_.pop_back();
  slot->run = {};
  if (rt_.models->in_use()) [[unlikely]] slot->run = rt_.models->begin(worker_, slot->frame, *t);
  fill_op(slot, t, slot->frame);
  if (slot->fn == Portable::stand_in) {
    Portable &portable = *static_cast<Portable *>(slot->frame.call.user);
    if (const consort_status s = portable.prepare(rt_.data, *worker_.unit.device, slot->frame.call, *t, slot->launch);
        s < 0) {
      record_failure(rt_, t, s, error_text(), nullptr, worker_.id, nullptr);
      free_.push_back(slot);
      if (slot->run.model) rt_.models->end(worker_, slot->run, 0, 0, false);
      end_unissued(thread, t, s);
      return true;
    }
    slot->op.kind = CONSORT_OP_LAUNCH;
    slot->op.flags &= CONSORT_OPF_TIME;
    slot->op.u.launch = slot->launch.what;
  } else {
    slot->op.u.call = {run_host_code, &slot->frame.call};
  }
  if ((t->bits & kFollowed) && t->extra && t->extra->ntickets) {
    static_assert(sizeof(Ticket) == sizeof(consort_ticket));
    slot->op.nwait = t->extra->ntickets;
    slot->op.wait = reinterpret_cast<const consort_ticket *>(t->extra->tickets);
  }
  return submit(slot);
}

bool Queue::issue_for_team(ThreadState &thread, Gang &g) noexcept {
  QueueSlot *slot = free_.back();
  free_.pop_back();
  rt_.gangs.begin(worker_, thread, g);
  const Frame &frame = Gangs::frame_of(g);
  slot->gang = &g;
  slot->run = {};
  slot->own_call = std::exchange(slot->frame.call, frame.call);  // its pointers refer to the gang
  fill_op(slot, Gangs::task_of(g), frame);
  slot->op.u.call = {run_host_code, &slot->frame.call};
  return submit(slot);
}

// Issues the native graph in place of all nodes; if it cannot be prepared, the nodes begin.
bool Queue::issue_captured(ThreadState &thread, Task *t) noexcept {
  NativeGraph &c = NativeGraph::of(*t);
  QueueSlot *slot = free_.back();
  if (const consort_status s = fail_if_doomed(rt_, t); s < 0) {
    complete(rt_, thread, t, s, &worker_);
    return true;
  }
  consort_status s = rt_.lost.has(worker_.unit) ? set_error(CONSORT_E_DEVICE_LOST, "its device is lost")
                                           : prepare_all(rt_, worker_, slot->frame, t);
  if (s > 0) return true;
  const bool poisoned = s == CONSORT_E_POISONED;
  if (s >= 0) s = c.prepare(q_, slot->frame);
  if (s < 0) {
    if (!poisoned) {
      c.give_up();
      tell_given_up(rt_, *t);
    }
    c.go_by_nodes(thread);
    return true;
  }
  free_.pop_back();
  slot->task = t;
  slot->captured = &c;
  slot->run = {};
  slot->recorded = false;
  slot->op = {};
  slot->op.kind = CONSORT_OP_MARK;
  slot->op.cookie = reinterpret_cast<uint64_t>(slot);
  slot->op.codelet = slot->op.impl = CONSORT_NONE;
  slot->op.priority = t->pub.priority;
  slot->text[0] = 0;
  return submit(slot);
}

// It is unknown which of its tasks failed: all data that they write are poisoned, and each is checked by itself.
void Queue::finish_captured(ThreadState &thread, QueueSlot *slot, consort_status s) noexcept {
  Task *const t = slot->task;
  NativeGraph &c = *std::exchange(slot->captured, nullptr);
  --inflight_;
  slot->task = nullptr;
  free_.push_back(slot);
  if (s >= 0) {
    c.count();
    t->bits |= kOdd;
    complete(rt_, thread, t, CONSORT_OK, &worker_);
    return;
  }
  if (s == CONSORT_E_DEVICE_LOST) rt_.lost.add(*worker_.unit.device);
  give_reason(*slot, s);
  record_failure(rt_, t, s, slot->text, nullptr, worker_.id, nullptr);
  c.give_up();
  c.go_by_nodes(thread);
}

void Queue::fill_op(QueueSlot *slot, Task *t, const Frame &frame) noexcept {
  slot->task = t;
  slot->recorded = false;
  slot->op = {};
  slot->op.kind = CONSORT_OP_CALL;
  slot->op.flags = t->codelet->flags & CONSORT_CL_ASYNC ? CONSORT_OPF_ENQUEUE : 0;
  if (rt_.profile || rt_.traces(traced::kTasks) || slot->run.cell || rt_.policy.observes()) [[unlikely]]
    slot->op.flags |= CONSORT_OPF_TIME;
  slot->op.cookie = reinterpret_cast<uint64_t>(slot);
  if (worker_.unit.desc.flags & CONSORT_UNIT_SIMULATED) slot->op.bytes = task_bytes(t->pub);
  slot->op.footprint = footprint_of(*t);
  slot->op.work = t->extra ? t->extra->work : 0;
  slot->op.codelet = t->codelet->number;
  slot->op.impl = frame.call.impl;
  slot->op.priority = t->pub.priority;
    slot->fn = frame.fn;
  slot->text[0] = 0;
}

// Its failure is recorded. A followed task is still linked to its predecessors and waits for them as if it had run.
void Queue::end_unissued(ThreadState &thread, Task *t, consort_status s) noexcept {
  if (!(t->bits & kFollowed)) {
    complete(rt_, thread, t, s, &worker_);
    return;
  }
  end_early(t, s, "", true);
}

void Queue::end_early(Task *t, consort_status s, const char *why, bool recorded) noexcept {
  QueueSlot *slot = free_.back();
  free_.pop_back();
  slot->task = t;
  slot->watcher = {};
  slot->run = {};
  slot->recorded = recorded;
  std::snprintf(slot->text, sizeof slot->text, "%s", why);
  ++inflight_;
  early_.push_back({reinterpret_cast<uint64_t>(slot), s, 0, 0, 0, 0, 0});
}

bool Queue::submit(QueueSlot *slot) noexcept {
  if (slot->captured) [[unlikely]] return launch(slot);
  const bool launch = slot->op.kind == CONSORT_OP_LAUNCH;
  if (launch) clear_error();
  if (ops_->submit(q_, &slot->op, 1) == 0) {
    stalled_ = slot;
    return false;
  }
  if (launch) std::snprintf(slot->text, sizeof slot->text, "%s", error_text());  // the driver's error text
  ++inflight_;
  ++accepted_;
  slot->watcher = {};
  if (slot->gang) return true;  // the gang reports its end, having counted it as begun
  if (rt_.observed.load(std::memory_order_relaxed) && rt_.policy.observes()) [[unlikely]]
    slot->watcher = rt_.policy.tell_started(worker_, slot->task);
  worker_.ran.store(worker_.ran.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // Never issue behind a task with a held completion: the function's return does not complete it. Nor behind a recorded
  // task. A task that runs again is already marked.
  if (domain_ && !(slot->task->bits & kMore) && !slot->task->recorded() &&
      !(slot->task->word.load(std::memory_order_relaxed) & word::kIssued))
    mark_issued(slot->task);
  return true;
}

bool Queue::launch(QueueSlot *slot) noexcept {
  clear_error();
  const consort_status s = slot->captured->launch(q_, slot->op);
  if (s > 0) {
    stalled_ = slot;
    return false;
  }
  std::snprintf(slot->text, sizeof slot->text, "%s", error_text());
  ++inflight_;
  if (s < 0) early_.push_back({reinterpret_cast<uint64_t>(slot), s, 0, 0, 0, 0, 0});  // nothing of it was accepted
  else ++accepted_;
  return true;
}

// Marks the task's word as issued: from here on a task that links to it may follow.
void Queue::mark_issued(Task *t) noexcept {
  const uint64_t place = place::make(number(), accepted_);
  std::atomic_ref<uint64_t>(t->pub.footprint).store(place, std::memory_order_relaxed);
  uint64_t w = t->word.load(std::memory_order_relaxed);
  // release: the ticket is visible with the flag. acquire: the links attached here are readable.
  while (!t->word.compare_exchange_weak(w, word::with_link(w, 0) | word::kIssued, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
  }
  t->pub.codelet = word::link(w);
  walk_links(rt_.tasks, word::link(w), [&](Task *s) noexcept {
    note_issued(rt_, s, place);
    const uint64_t left = s->pending.fetch_sub(pending::kIssue, std::memory_order_acq_rel) - pending::kIssue;
    if (left >> 32 == 0 && may_follow(rt_, *s, place))
      if (IssueQueue *q = claim_follower(rt_, s, place)) {
        if (q == this) follow_.push_back(rt_.tasks, links_, s);
        else q->offer(s);
      }
  });
}

consort_status Queue::known_status(QueueSlot &slot, consort_status s) const noexcept {
  const consort_status known = ended_status(s, worker_.unit.device->plugin->manifest->name, "an operation");
  if (known != s) std::snprintf(slot.text, sizeof slot.text, "%s", error_text());
  return known;
}

void Queue::finish(ThreadState &thread, const consort_done &done) noexcept {
  QueueSlot *slot = reinterpret_cast<QueueSlot *>(done.cookie);
  Task *t = slot->task;
  give_reason(*slot, done.status);
  if (Gang *g = std::exchange(slot->gang, nullptr)) {
    --inflight_;
    slot->task = nullptr;
    slot->frame.call = slot->own_call;
    free_.push_back(slot);
    return rt_.gangs.end(worker_, thread, *g, done.status, slot->text);
  }
  if (slot->captured) [[unlikely]] return finish_captured(thread, slot, done.status);
  if ((t->bits & kFollowed) && !predecessors_ended(*t)) {
    early_.push_back(done);  // its links are still in its predecessors' lists
    return;
  }
  consort_status s = done.status;
  const bool recorded = slot->recorded;
  if (s == CONSORT_E_DEVICE_LOST) [[unlikely]] {
    rt_.lost.add(*worker_.unit.device);
    if (!recorded && run_again_elsewhere(thread, slot, done)) return;
  }
  if (!recorded) {
    if (s >= 0 && (t->bits & kFollowed)) s = check_inputs(rt_, worker_, t);
    else if (s < 0) record_failure(rt_, t, s = known_status(*slot, s), slot->text, nullptr, worker_.id, nullptr);
  } else {
    poison_again(rt_, t);
  }
  if (!recorded && (slot->watcher.instance || rt_.observed.load(std::memory_order_relaxed))) [[unlikely]]
    tell(*slot, done, s);
  if (slot->run.model) rt_.models->end(worker_, slot->run, done.t0, done.t1, s >= 0);
  if (s >= 0) t->bits |= kOdd;
  --inflight_;
  slot->task = nullptr;
  free_.push_back(slot);
  complete(rt_, thread, t, s, &worker_);
}

// Its slot is free, and nothing of it has taken effect. A followed task inherits the failures of its predecessors.
bool Queue::run_again_elsewhere(ThreadState &thread, QueueSlot *slot, const consort_done &done) noexcept {
  Task *const t = slot->task;
  const ReportedInstance watcher = slot->watcher;
  const TaskName name = t->pub.id;
  if (!run_again(rt_, thread, worker_, t)) return false;
  if (watcher.instance) {
    consort_done told = done;
    told.cookie = name;
    rt_.policy.tell_finished(watcher, worker_, told);
  }
  if (slot->run.model) rt_.models->end(worker_, slot->run, 0, 0, false);
  --inflight_;
  slot->task = nullptr;
  free_.push_back(slot);
  return true;
}

// Reports to observers. The start of a device's op is known only after its end.
void Queue::tell(const QueueSlot &slot, const consort_done &done, consort_status status) noexcept {
  const Task &t = *slot.task;
  if (slot.watcher.instance) {
    consort_done told = done;
    told.cookie = t.pub.id;
    told.status = status;
    rt_.policy.tell_finished(slot.watcher, worker_, told);
  }
  if (rt_.profile && (slot.op.flags & CONSORT_OPF_TIME)) worker_.count_busy(done.t0, done.t1);
  if (rt_.traces(traced::kTasks) && (slot.op.flags & CONSORT_OPF_TIME)) {
    // If the device's clock differs from the runtime's, the op is taken to have just ended.
    constexpr uint64_t kLongAgo = 10'000'000'000;
    const uint64_t now = rt_.clock.now();
    const uint64_t shift = done.t1 > now || now - done.t1 > kLongAgo ? now - done.t1 : 0;
    rt_.run_observer->ran(worker_.id, t, t.pub.id, slot.frame.call.impl, slot.run.expected, done.t0 + shift, done.t1 + shift, status,
                           Stamps::kNs);
  }
  trace(rt_, t, t.pub.id, worker_.id, 0, done.t0);
  trace(rt_, t, t.pub.id, worker_.id, 1, done.t1);
}

bool Queue::finish_early(ThreadState &thread) noexcept {
  bool did = false;
  for (size_t i = 0; i < early_.size();) {
    QueueSlot *slot = reinterpret_cast<QueueSlot *>(early_[i].cookie);
    if (!predecessors_ended(*slot->task)) {
      ++i;
      continue;
    }
    const consort_done done = early_[i];
    early_.erase(early_.begin() + static_cast<ptrdiff_t>(i));
    finish(thread, done);
    did = true;
  }
  return did;
}

}  // namespace consort
