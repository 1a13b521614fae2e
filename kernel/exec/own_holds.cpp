#include "exec/own_holds.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "task/core.hpp"
#include "task/edges.hpp"

namespace consort {
namespace {

bool leads_to(Core &rt, TaskName hold, const std::function<bool(const Task &)> &is) {
  constexpr size_t kMost = 1 << 16;  // nodes searched; a larger graph is not searched completely
  std::unordered_set<const Task *> seen;
  std::vector<const Task *> left;
  std::vector<const consort_task *> after;
  if (rt.is_live(hold)) left.push_back(rt.task_at(hold));
  while (!left.empty() && seen.size() < kMost) {
    const Task *t = left.back();
    left.pop_back();
    if (is(*t)) return true;
    after.resize(successors(rt.tasks, *t, nullptr, 0));
    const auto max = static_cast<uint32_t>(after.size());
    for (uint32_t i = 0, n = std::min(max, successors(rt.tasks, *t, after.data(), max)); i < n; ++i)
      if (const auto *s = reinterpret_cast<const Task *>(after[i]); seen.insert(s).second) left.push_back(s);
  }
  return false;
}

// Returns the data acquired by this thread that precede a task accepted by `is` (or whose hold is one), in one line; ""
// if there are none. Follows successors from each hold: a successor cannot end while the hold lasts.
std::string describe_own_holds_before(Core &rt, ThreadState &thread, const std::function<bool(const Task &)> &is) {
  std::string s;
  std::lock_guard lock(thread.held_lock);  // so that no other thread releases one meanwhile
  for (const auto &held : thread.held)
    if (!held.later && leads_to(rt, held.name, is))
      s += (s.empty() ? "datum '" : ", datum '") + rt.data.name(*held.datum) +
           (held.mode & CONSORT_M_W ? "' (to write)" : "' (to read)");
  return s;
}

}  // namespace

void OwnHolds::look(Core &rt, ThreadState &thread, const char *call,
                    const std::function<bool(const Task &)> &is) noexcept try {
  const uint64_t now = Clock(false, 0).now();
  if (!began_) began_ = now;
  if (now - began_ < next_) return;
  next_ *= 2;
  const std::string held = describe_own_holds_before(rt, thread, is);
  if (held.empty()) return;
  next_ = UINT64_MAX;
  rt.log(1, std::string(call) + " waits for tasks after data that this thread has acquired: " + held +
                "; release first (consort_release()), now only another thread can");
} catch (const std::bad_alloc &) {
}

}  // namespace consort
