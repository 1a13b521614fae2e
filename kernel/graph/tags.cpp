#include "graph/tags.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "base/last_error.hpp"
#include "graph/link_steps.hpp"
#include "graph/task_options.hpp"

namespace consort {
namespace {

constexpr uint32_t kLongestPath = 32;  // tags listed in a message

unsigned long long number(uint64_t tag) { return tag; }

}  // namespace

// -- what comes after what --------------------------------------------------------------------------------------

// Searches backwards along declared predecessors. path: from `from` to `to`, both included.
bool Tags::leads_to(uint64_t from, uint64_t to, std::vector<uint64_t> &path) const {
  std::unordered_map<uint64_t, uint64_t> came_from{{from, from}};
  std::vector<uint64_t> open{from};
  while (!open.empty()) {
    const uint64_t at = open.back();
    open.pop_back();
    if (at == to) {
      for (uint64_t step = to;; step = came_from[step]) {
        path.push_back(step);
        if (step == from) break;
      }
      std::reverse(path.begin(), path.end());
      return true;
    }
    const auto it = tags_.find(at);
    if (it == tags_.end()) continue;
    for (const uint64_t next : it->second.after)
      if (came_from.try_emplace(next, at).second) open.push_back(next);
  }
  return false;
}

consort_status Tags::after(uint64_t tag, const uint64_t *others, uint32_t n) {
  std::lock_guard lock(mutex_);
  const auto it = tags_.find(tag);
  if (it != tags_.end() && it->second.carried)
    return set_errorf(CONSORT_E_BUSY,
                      "a task that carries tag %llu was submitted already: say what it comes after first, or "
                      "consort_tag_restart() when it has ended",
                      number(tag));
  for (uint32_t i = 0; i < n; ++i) {
    // A cycle is possible only if this tag has successors.
    std::vector<uint64_t> path;
    if (others[i] != tag && (it == tags_.end() || it->second.before.empty())) continue;
    if (!leads_to(others[i], tag, path)) continue;
    std::string text = "tag " + std::to_string(tag);
    for (uint32_t k = 0; k < path.size() && k < kLongestPath; ++k) text += " comes after " + std::to_string(path[k]);
    if (path.size() > kLongestPath)
      text += " and so on, through " + std::to_string(path.size()) + " tags, back to itself";
    return set_error(CONSORT_E_INVAL, "tags in a circle: " + text);
  }
  // Allocates everything first, then changes.
  Tag &t = tags_[tag];
  t.after.reserve(t.after.size() + n);
  for (uint32_t i = 0; i < n; ++i) {
    auto &before = tags_[others[i]].before;
    if (before.size() == before.capacity()) before.reserve(before.size() * 2 + 2);
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (std::find(t.after.begin(), t.after.end(), others[i]) != t.after.end()) continue;
    t.after.push_back(others[i]);
    tags_[others[i]].before.push_back(tag);
  }
  return CONSORT_OK;
}

// -- tasks that carry them ------------------------------------------------------------------------------------------

TaskName Tags::open_gate(ThreadState &thread, Tag &tag) noexcept {
  if (tag.gate) return tag.gate->pub.id;
  Task *t = thread.take_lent();
  if (!t) return 0;
  blank_special(t, TaskKind::kGate);
  t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | rt_.tasks.index(t);
  t->group = &rt_.groups.standard();
  std::memset(t->payload, 0, sizeof(TaskName));  // guards no completion
  tag.gate = t;
  return t->pub.id;
}

consort_status Tags::carry(ThreadState &thread, Task *t, uint64_t tag) noexcept try {
  std::lock_guard lock(mutex_);
  Tag &mine = tags_[tag];
  if (mine.carrier)
    return set_errorf(CONSORT_E_BUSY,
                      "tag %llu is carried by another task, which is unfinished: give each its own, or wait",
                      number(tag));
  Extra &e = *t->extra;
  if (!mine.after.empty() && !e.make_room_after(e.nafter + static_cast<uint32_t>(mine.after.size())))
    throw std::bad_alloc();
  uint32_t n = e.nafter;
  for (const uint64_t other : mine.after) {
    Tag &before = tags_.find(other)->second;
    TaskName name = before.failed;  // as a predecessor that is known to have failed
    if (!before.reached && !(name = open_gate(thread, before))) throw std::bad_alloc();
    if (name) e.after[n++] = name;
  }
  if ((e.nafter = n)) t->bits |= kAfter;
  mine.carrier = t->pub.id;
  mine.carried = true;
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a task's tag");
}

void Tags::put_down(uint64_t tag) noexcept {
  std::lock_guard lock(mutex_);
  Tag &t = tags_.find(tag)->second;
  t.carrier = 0;
  t.carried = false;
}

Task *Tags::reach(Tag &t, TaskName failed) noexcept {
  if (t.reached) return nullptr;
  t.reached = true;
  t.failed = failed;
  for (TagWait::Awaited *a = t.waits; a; a = a->next)
    if (!a->reached) a->reached = true, a->failed = failed;
  Task *const gate = std::exchange(t.gate, nullptr);
  if (gate && failed)
    if (auto why = rt_.failures.find(failed)) rt_.failures.add_as(gate->pub.id, std::move(why));
  changes_.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the heavy fence of a thread that is about to wait
  rt_.waiters.wake();
  return gate;
}

Task *Tags::reached_by(uint64_t tag, TaskName task, bool failed) noexcept {
  std::lock_guard lock(mutex_);
  Tag &t = tags_.find(tag)->second;
  t.carrier = 0;
  return reach(t, failed ? task : 0);
}

// -- notification -----------------------------------------------------------------------------------------------------

consort_status Tags::notify(uint64_t tag, Task **gate) {
  std::lock_guard lock(mutex_);
  *gate = reach(tags_[tag], 0);
  return CONSORT_OK;
}

consort_status Tags::restart(uint64_t tag) noexcept {
  std::lock_guard lock(mutex_);
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return CONSORT_OK;
  Tag &t = it->second;
  if (t.carrier)
    return set_errorf(CONSORT_E_BUSY, "tag %llu is carried by a task that is unfinished: wait for it first",
                      number(tag));
  t.reached = t.carried = false;
  t.failed = 0;
  return CONSORT_OK;
}

consort_status Tags::remove(uint64_t tag, Task **gate) noexcept {
  std::lock_guard lock(mutex_);
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return CONSORT_OK;
  Tag &t = it->second;
  if (t.carrier)
    return set_errorf(CONSORT_E_BUSY, "tag %llu is carried by a task that is unfinished: wait for it first",
                      number(tag));
  if (t.waits) return set_errorf(CONSORT_E_BUSY, "a thread waits for tag %llu: notify it first", number(tag));
  if (t.gate && word::link(t.gate->word.load(std::memory_order_acquire)))
    return set_errorf(CONSORT_E_BUSY, "tasks wait for tag %llu: notify it first", number(tag));
  for (const uint64_t later : t.before)
    if (!tags_.find(later)->second.reached)
      return set_errorf(CONSORT_E_BUSY,
                        "tag %llu was declared to come after tag %llu and is not reached: remove it first",
                        number(later), number(tag));
  for (const uint64_t later : t.before) std::erase(tags_.find(later)->second.after, tag);
  for (const uint64_t earlier : t.after) std::erase(tags_.find(earlier)->second.before, tag);
  *gate = t.gate;
  tags_.erase(it);
  return CONSORT_OK;
}

bool Tags::reached(uint64_t tag) noexcept {
  std::lock_guard lock(mutex_);
  const auto it = tags_.find(tag);
  return it != tags_.end() && it->second.reached;
}

// -- waits ------------------------------------------------------------------------------------------------------------

void Tags::begin_wait(TagWait &wait, const uint64_t *tags, uint32_t n) {
  wait.awaited.reserve(n);
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < n; ++i) (void)tags_[tags[i]];
  for (uint32_t i = 0; i < n; ++i) {
    Tag &t = tags_.find(tags[i])->second;
    wait.awaited.push_back({tags[i], t.reached, t.failed, t.waits});
    t.waits = &wait.awaited.back();  // its room is reserved
  }
}

void Tags::end_wait(TagWait &wait) noexcept {
  std::lock_guard lock(mutex_);
  for (TagWait::Awaited &mine : wait.awaited) {
    TagWait::Awaited **at = &tags_.find(mine.tag)->second.waits;
    while (*at != &mine) at = &(*at)->next;
    *at = mine.next;
  }
}

bool Tags::is_over(const TagWait &wait) noexcept {
  std::lock_guard lock(mutex_);
  return waits_given_up_.load(std::memory_order_relaxed) ||
         std::all_of(wait.awaited.begin(), wait.awaited.end(), [](const auto &a) { return a.reached; });
}

// -- giving up --------------------------------------------------------------------------------------------------------

bool Tags::any_gate() noexcept {
  std::lock_guard lock(mutex_);
  return std::any_of(tags_.begin(), tags_.end(), [](const auto &t) { return t.second.gate && !t.second.reached; });
}

Task *Tags::give_up_one() noexcept {
  std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(tags_.begin(), tags_.end(), [](const auto &t) { return t.second.gate && !t.second.reached; });
  if (it == tags_.end()) return nullptr;
  const TaskName gate = it->second.gate->pub.id;
  try {
    auto f = std::make_shared<Failure>();
    f->status = CONSORT_E_CANCELLED;
    f->task = gate;
    f->worker = CONSORT_NONE;
    f->tag_given_up = true;
    f->task_name = "tag " + std::to_string(it->first);
    f->text =
        "was never reached: consort_stop() was called, nothing else ran any more, no task carried it and it was "
        "not notified";
    rt_.failures.add_as(gate, std::move(f));
  } catch (const std::bad_alloc &) {
    rt_.failures.add_lost(gate);
  }
  return reach(it->second, gate);
}

std::string Tags::of_gate(TaskName name) const {
  std::lock_guard lock(mutex_);
  for (const auto &[tag, t] : tags_)
    if (t.gate && t.gate->pub.id == name) return "tag " + std::to_string(tag);
  return "";
}

}  // namespace consort
