#include "replay/recording.hpp"

#include <algorithm>
#include <cstdlib>

#include "graph/access_order.hpp"
#include "replay/recorder.hpp"
#include "replay/replay.hpp"
#include "replay/replaying.hpp"

namespace consort {

std::string Recording::name_of(const Use &use) const {
  const auto it = names.find(static_cast<uint32_t>(&use - uses.data()));
  return it != names.end() ? it->second : "#" + std::to_string(static_cast<uint32_t>(use.id));
}

void Recording::clear() noexcept {
  captured.reset();
  for (uint32_t i = 0; i < nextras; ++i) {
    std::free(extras[i].long_name);
    std::free(extras[i].long_after);
    std::free(extras[i].tokens);
  }
  live = false;
  dead.clear();
  nnodes.store(0, std::memory_order_relaxed);
  ntasks = nextras = 0;
  nedges = bytes = replays = 0;
  edges = {}, roots = {}, uses = {}, loose = {}, codelets = {}, place = {}, names = {}, shrunk = {};
  extras.reset();
  spill.reset();
  group = nullptr;
  whole = nullptr;
  failure.reset();
  last = 0;
}

Recordings::Recordings(Replaying &rt) : rt_(rt) {}

Recordings::~Recordings() {
  for (uint32_t i = 0; i < n_.load(std::memory_order_relaxed); ++i) delete all_[i].load(std::memory_order_relaxed);
}

Result<Recording *> Recordings::add() {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    Recording *r = at(free_.back());
    free_.pop_back();
    return r;
  }
  const uint32_t n = n_.load(std::memory_order_relaxed);
  if (n == kMost) return error(CONSORT_E_NOMEM, "4096 recordings are alive: destroy some");
  free_.reserve(n + 1);  // so that give_back() allocates nothing
  all_[n].store(new Recording(n), std::memory_order_release);
  n_.store(n + 1, std::memory_order_release);
  return at(n);
}

void Recordings::give_back(Recording &r) noexcept {
  for (uint32_t i = 0; i < r.nnodes; ++i) {
    Task *t = rt_.tasks.at(r.first + i);
    std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_release);  // pairs with the remover's look
    t->extra = nullptr;
  }
  if (r.nnodes) give_records(r.first, r.nnodes);
  r.clear();
  ++r.generation;
  std::lock_guard lock(mutex_);
  free_.push_back(r.number);
}

Recording *Recordings::find(consort_recording_id id) const noexcept {
  const uint32_t number = static_cast<uint32_t>(id.v) - 1;
  return number < n_.load(std::memory_order_acquire) ? at(number) : nullptr;
}

Recording *Recordings::of(const Task &t) const noexcept {
  const uint32_t record = rt_.tasks.index(&t), n = n_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; ++i)
    if (Recording *r = at(i); record - r->first < r->nnodes) return r;
  return nullptr;
}

uint32_t Recordings::take_records(uint32_t n) noexcept {
  {
    std::lock_guard lock(mutex_);
    for (Range &range : ranges_) {
      if (range.n < n) continue;
      const uint32_t taken = range.first;
      range.first += n;
      range.n -= n;
      if (!range.n) ranges_.erase(ranges_.begin() + (&range - ranges_.data()));
      return taken;
    }
  }
  return rt_.tasks.carve(n);
}

void Recordings::give_records(uint32_t first, uint32_t n) noexcept {
  std::lock_guard lock(mutex_);
  auto at =
      std::lower_bound(ranges_.begin(), ranges_.end(), first, [](const Range &r, uint32_t f) { return r.first < f; });
  if (at != ranges_.begin() && (at - 1)->first + (at - 1)->n == first) {
    --at;
    at->n += n;
  } else {
    try {
      at = ranges_.insert(at, Range{first, n});
    } catch (const std::bad_alloc &) {
      return;  // out of memory: those records are lost
    }
  }
  if (at + 1 != ranges_.end() && at->first + at->n == (at + 1)->first) {
    at->n += (at + 1)->n;
    ranges_.erase(at + 1);
  }
}

bool Recordings::let_go(Datum &d) noexcept {
  Recording &r = *at(d.keeper - 1u);
  uint32_t place;
  {
    std::lock_guard lock(r.lock);
    place = r.place.find(&d)->second;
  }
  const bool writes = r.uses[place].mode & CONSORT_M_W;
  if (!writes && !rt_.data.make_room(rt_.tasks, d)) return false;
  TaskName last;
  {
    std::lock_guard lock(r.lock);
    last = r.last;
    r.loose.push_back(place);  // capacity is reserved
  }
  d.keeper = 0;
  if (writes) {
    d.writer = last;
    d.nreaders = 0;
  } else if (rt_.is_live(last)) {
    d.reader_at(d.nreaders++) = last;
  }
  mark_odd(d);
  return true;
}

void Recordings::forget(Codelet &c) noexcept {
  const uint32_t n = n_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; ++i) {
    Recording &r = *at(i);
    std::lock_guard lock(r.control);
    const auto it = std::find(r.codelets.begin(), r.codelets.end(), &c);
    if (it == r.codelets.end()) continue;
    try {
      if (r.dead.empty()) r.dead = "codelet '" + c.name + "', which it uses, was removed";
    } catch (const std::bad_alloc &) {
      r.dead = "a codelet";  // short enough to need no allocation
    }
    if (r.pending.load(std::memory_order_acquire)) continue;
    for (uint32_t k = 0; k < r.nnodes; ++k) {
      std::atomic_ref<Codelet *> shown(rt_.tasks.at(r.first + k)->codelet);
      // pairs with the remover's look, as in give_back()
      if (shown.load(std::memory_order_relaxed) == &c) shown.store(nullptr, std::memory_order_release);
    }
    r.codelets.erase(it);
  }
}

void Recording::cancel_nodes(const TaskArena &tasks) noexcept {
  Task *const one = carrier.load(std::memory_order_relaxed);
  const uint32_t now = turn.load(std::memory_order_relaxed), n = one ? 1 : nnodes.load();
  for (uint32_t i = 0; i < n; ++i) {
    std::atomic<uint64_t> &word = (one ? one : tasks.at(first + i))->word;
    uint64_t w = word.load(std::memory_order_relaxed);
    while (word::generation(w) == now &&
           !word.compare_exchange_weak(w, w | word::kCancelled, std::memory_order_relaxed)) {
    }
  }
}

void Recordings::cancel(TaskName whole) noexcept {
  const uint32_t n = n_.load(std::memory_order_acquire);
  // Pairs with the fence in begin_replay(): the caller has marked the task. It sees the task `running`, or
  // begin_replay() sees the mark. The number of recordings may be read before: it was incremented before the task was
  // submitted.
  if (n) std::atomic_thread_fence(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < n; ++i)
    if (Recording &r = *at(i); r.running.load(std::memory_order_acquire) == whole) r.cancel_nodes(rt_.tasks);
}

void Recordings::note_failure(const Task &t, const std::shared_ptr<const Failure> &f) noexcept {
  Recording *r = t.kind == TaskKind::kNode ? of(t) : &recording_of(t);
  if (r && !r->failure) r->failure = f;
}

Recorder *Recordings::keep(std::unique_ptr<Recorder> recorder) {
  std::lock_guard lock(mutex_);
  recorders_.push_back(std::move(recorder));
  return recorders_.back().get();
}

void Recordings::drop(Recorder *recorder) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(recorders_, [&](const auto &r) { return r.get() == recorder; });
}

}  // namespace consort
