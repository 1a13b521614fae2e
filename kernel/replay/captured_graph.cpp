#include "replay/captured_graph.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/last_error.hpp"
#include "exec/queue.hpp"
#include "graph/complete.hpp"
#include "graph/link_steps.hpp"
#include "replay/recording.hpp"
#include "replay/replaying.hpp"
#include "task/footprint.hpp"
#include "task/packed_args.hpp"
#include "task/run_observer.hpp"
#include "task/trace_categories.hpp"

namespace consort {
namespace {

// Returns the only worker that can run the task, if there is exactly one. Tasks with can_execute or for teams do not
// qualify.
Worker *only_worker(Replaying &rt, const Task &t) noexcept {
  constexpr uint16_t kNoMore = kSpecial | kTokens | kScratch | kUnite | kMore | kWatched;
  if (!t.codelet || t.codelet->for_teams() || (t.bits & kNoMore) || (t.bits & kBound && t.extra->team != CONSORT_NONE))
    return nullptr;
  if (t.bits & kBound) return rt.workers[t.extra->worker];
  if (!std::has_single_bit(t.pub.where) || !(t.pub.where & rt.topology->lone_classes())) return nullptr;
  for (const auto &w : rt.workers)
    if (t.pub.where >> w->klass & 1) return w;
  return nullptr;
}

// The task's implementation on this worker if it is a kernel's text, nullptr if it is a host function.
Portable *text_of(const Task &t, const Worker &w) noexcept {
  const Codelet::Entry &e = t.codelet->entry[w.klass];
  return e.fn == Portable::stand_in ? static_cast<Portable *>(e.user) : nullptr;
}

const consort_capture_ops *extension_of(const Replaying &rt, const Worker &w) noexcept {
  const Plugin &plugin = *w.unit.device->plugin;
  if (!plugin.manifest->get) return nullptr;
  std::lock_guard one_at_a_time(rt.topology->control());
  const auto *ext = static_cast<const consort_capture_ops *>(plugin.manifest->get(plugin.self, CONSORT_CAPTURE_ID));
  const bool whole = ext && CONSORT_HAS_FN(ext, consort_capture_ops, begin) && ext->end && ext->launch && ext->update &&
                     CONSORT_HAS_FN(ext, consort_capture_ops, release);
  return whole ? ext : nullptr;
}

bool same(const consort_arg &a, const consort_arg &b) noexcept {
  // Bytes behind an equal address may have changed.
  return a.kind != CONSORT_ARG_BYTES && std::memcmp(&a, &b, sizeof a) == 0;
}

bool same(const Portable::Launch &a, const Portable::Launch &b) noexcept {
  return a.what.code == b.what.code && a.what.shared_bytes == b.what.shared_bytes &&
         std::equal(a.what.grid, a.what.grid + 3, b.what.grid) && std::equal(a.what.block, a.what.block + 3, b.what.block) &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                    [](const consort_arg &x, const consort_arg &y) { return same(x, y); });
}

}  // namespace

Task *CapturedGraph::node(uint32_t i) const noexcept {
  return rt_.tasks.at(r_.first.load(std::memory_order_relaxed) + i);
}

std::unique_ptr<CapturedGraph> CapturedGraph::of(Replaying &rt, Recording &r, bool loose) noexcept try {
  if (loose || r.ntasks < 2) return nullptr;
  Executor *const w = executor_of(only_worker(rt, *rt.tasks.at(r.first)));
  if (!w || !w->queue || !w->queue->in_order()) return nullptr;
  const consort_capture_ops *ext = extension_of(rt, *w);
  if (!ext) return nullptr;
  std::unique_ptr<CapturedGraph> c(new CapturedGraph(rt, r, *w, ext));
  return c->fits() && c->list_data() ? std::move(c) : nullptr;
} catch (const std::bad_alloc &) {
  return nullptr;  // run node by node
}

bool CapturedGraph::fits() const noexcept {
  for (uint32_t i = 0; i < r_.ntasks; ++i) {
    const Task &t = *node(i);
    // Nodes of equal priority may run in the order of submission.
    if (only_worker(rt_, t) != &worker_ || !text_of(t, worker_) || t.pub.priority != node(0)->pub.priority) return false;
  }
  return true;
}

// The first task that uses a datum decides its mode in the whole: a datum that this task only writes need not be valid.
bool CapturedGraph::list_data() {
  for (uint32_t i = 0; i < r_.ntasks; ++i) {
    const Task &t = *node(i);
    asks_ |= text_of(t, worker_)->asks_for_range();
    for (uint32_t k = 0; k < t.pub.naccess; ++k) {
      const consort_access &a = t.pub.access[k];
      uint32_t mode = a.mode & CONSORT_M_RW;
      for (uint32_t j = 0; j < t.pub.naccess; ++j)  // a task may name a datum twice
        if (t.pub.access[j].datum == a.datum) mode |= t.pub.access[j].mode & CONSORT_M_RW;
      auto at = std::find_if(data_.begin(), data_.end(), [&](const consort_access &d) { return d.datum == a.datum; });
      if (at == data_.end()) at = data_.insert(at, {a.datum, mode, 0});
      else if (mode & CONSORT_M_W) at->mode |= CONSORT_M_W;
      place_.push_back(static_cast<uint32_t>(at - data_.begin()));
    }
  }
  if (data_.size() > UINT16_MAX) return false;
  steps_.resize(r_.ntasks);
  name_ = "graph of " + std::to_string(r_.ntasks) + " recorded tasks";
  const uint32_t record = rt_.recordings.take_records(1);
  if (!record) return false;
  Task *const t = carrier_ = rt_.tasks.at(record);
  const uint64_t generation = (t->word.load(std::memory_order_relaxed) >> 32) + 1;
  blank(t, kBlank, nullptr, kBound, TaskKind::kCarrier);  // its end is the end of the replay
  t->thread = 0;
  extra_.worker = worker_.id;
  extra_.name = name_.data();
  t->extra = &extra_;
  t->pub.id = generation << 32 | record;
  t->word.store(generation << 32, std::memory_order_relaxed);
  t->pending.store(0, std::memory_order_relaxed);
  t->link[2] = t->link[3] = 0;
  t->pub.priority = node(0)->pub.priority;
  t->pub.access = data_.data();
  t->pub.naccess = static_cast<uint16_t>(data_.size());
  NativeGraph *const graph = this;
  Recording *const recording = &r_;
  std::memcpy(t->payload, &graph, sizeof graph);
  std::memcpy(t->payload + sizeof graph, &recording, sizeof recording);
  return true;
}

CapturedGraph::~CapturedGraph() {
  release();
  if (!carrier_) return;
  carrier_->extra = nullptr;
  rt_.recordings.give_records(rt_.tasks.index(carrier_), 1);
}

void CapturedGraph::release() noexcept {
  if (!std::exchange(captured_, false)) return;
  std::lock_guard one_at_a_time(rt_.topology->control());
  ext_->release(graph_);
}

// Observers of single tasks need the nodes, also a policy that the program named. A policy that a director selected gives
// way: one launch for all nodes is worth more. The first replay runs node by node, so that each kernel is built and known.
Task *CapturedGraph::begin() noexcept {
  const bool policy_observes = rt_.policy.observes() && !rt_.policies.is_directed();
  if (off_ || !std::exchange(began_, true) || rt_.profile || rt_.trace_fn || bodies_of(rt_.run_observer) ||
      rt_.traces(traced::kTasks) || policy_observes || rt_.policy.splits() || rt_.lost.has(worker_.unit))
    return nullptr;
  carrier_->group = r_.group;
  carrier_->epoch = r_.epoch;
  return carrier_;
}

void CapturedGraph::replace(const Datum &old, Datum &now) noexcept {
  for (consort_access &a : data_)
    if (a.datum == &old.pub) a.datum = &now.pub;
  stale_ = true;
}

void CapturedGraph::count() const noexcept {
  worker_.ran.store(worker_.ran.load(std::memory_order_relaxed) + r_.ntasks, std::memory_order_relaxed);
  for (uint32_t i = 0; i < r_.ntasks; ++i)
    if (auto &ran = node(i)->codelet->ran) ran[worker_.id].fetch_add(1, std::memory_order_relaxed);
}

void CapturedGraph::go_by_nodes(ThreadState &thread) noexcept {
  Task &t = *carrier_;
  if (extra_.staging) rt_.execution_memory->end(thread, &t);
  t.bits &= static_cast<uint16_t>(~kOdd);
  r_.turn.store(word::generation(node(0)->word.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  r_.carrier.store(nullptr, std::memory_order_relaxed);
  // Pairs with the fence in Recordings::cancel(): either it sees that the nodes run now, or this thread sees that the
  // whole is cancelled.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (r_.whole->word.load(std::memory_order_relaxed) & word::kCancelled) r_.cancel_nodes(rt_.tasks);
  release_roots(rt_, thread, r_);
}

// -- the graph ------------------------------------------------------------------------------------------------------

consort_status CapturedGraph::lower(uint32_t i, Frame &f, const Frame &all, size_t *at, Portable::Launch &out) const {
  const Task &t = *node(i);
  if (!f.make_room(t.pub.naccess, t.nargs)) return set_error(CONSORT_E_NOMEM, "no memory for the list of its data");
  for (uint32_t k = 0; k < t.pub.naccess; ++k) f.views[k] = all.views[place_[(*at)++]];
  if (t.nargs) unpack_args(t, f.blank(t.nargs));
  const Codelet::Entry &e = t.codelet->entry[worker_.klass];
  f.call.nviews = t.pub.naccess;
  f.call.nargs = t.nargs;
  f.call.impl = e.impl;
  f.call.user = e.user;
  return text_of(t, worker_)->prepare(rt_.data, *worker_.unit.device, f.call, t, out);
}

consort_op CapturedGraph::op_of(uint32_t i, const Portable::Launch &launch) const noexcept {
  const Task &t = *node(i);
  consort_op op{};
  op.kind = CONSORT_OP_LAUNCH;
  op.cookie = i;
  op.footprint = footprint_of(t);
  op.work = t.extra->work;
  op.codelet = t.codelet->number;
  op.impl = t.codelet->entry[worker_.klass].impl;
  op.priority = t.pub.priority;
  op.u.launch = launch.what;
  return op;
}

consort_status CapturedGraph::prepare(void *queue, const Frame &all) noexcept try {
  bool moved = !captured_;
  size_t at = 0;
  for (uint32_t i = 0; i < data_.size(); ++i) {
    const uint32_t bytes = Datum::of(data_[i].datum)->layout->ops->view_size;
    if (seen_.size() < at + bytes) seen_.resize(at + bytes);
    if (bytes && std::memcmp(seen_.data() + at, all.views[i], bytes) != 0) {
      std::memcpy(seen_.data() + at, all.views[i], bytes);
      moved = true;
    }
    at += bytes;
  }
  if (!moved && !stale_ && !asks_) return CONSORT_OK;
  stale_ = true;  // until the graph is complete
  consort_status s = captured_ ? look(queue, all, false) : CONSORT_E_UNSUPPORTED;
  if (s == CONSORT_E_UNSUPPORTED) {
    release();
    s = look(queue, all, true);
  }
  stale_ = s < 0;
  return s;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the launch of a recording");
}

// Compares each node with its last launch. Adds it to a new graph, or updates the existing graph where it differs.
consort_status CapturedGraph::look(void *queue, const Frame &all, bool anew) {
  const consort_driver_ops &ops = *worker_.unit.device->ops;
  if (anew)
    if (const consort_status s = ext_->begin(queue); s < 0) return s;
  consort_status s = CONSORT_OK;
  try {
    Frame f(worker_);
    Portable::Launch now;
    size_t at = 0;
    for (uint32_t i = 0; s >= 0 && i < r_.ntasks; ++i) {
      if ((s = lower(i, f, all, &at, now)) < 0) break;
      if (!anew && same(now, steps_[i])) continue;
      std::swap(now, steps_[i]);
      const consort_op op = op_of(i, steps_[i]);
      if (anew) {
        if (!ops.submit(queue, &op, 1)) s = set_error(CONSORT_E_UNSUPPORTED, "the driver records no more ops");
      } else {
        std::lock_guard one_at_a_time(rt_.topology->control());
        s = ext_->update(graph_, i, &op);
      }
    }
  } catch (const std::bad_alloc &) {
    s = set_error(CONSORT_E_NOMEM, "no memory for the launch of a recording");
  }
  if (!anew) return s;
  const consort_status ended = ext_->end(queue, &graph_);
  captured_ = ended >= 0;
  if (s >= 0) return ended;
  release();
  return s;
}

}  // namespace consort
