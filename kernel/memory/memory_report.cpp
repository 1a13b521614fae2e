#include "memory/memory_report.hpp"

#include "graph/failed_task.hpp"
#include "graph/task_graph.hpp"
#include "machine/topology.hpp"

namespace consort {

SpaceStatistics MemoryReport::count(uint32_t space) const noexcept {
  SpaceStatistics s = eviction_.statistics(space);
  s.limit = cache_.limit(space);
  s.used = cache_.taken(space);
  s.spare = cache_.spare(space);
  s.waiting = static_cast<uint32_t>(admission_.waiting(space).size());
  s.wishes = static_cast<uint32_t>(requests_.waiting(space).size());
  return s;
}

std::string MemoryReport::describe(TaskName task) const {
  const Staging *s = stagings_.find(task);
  if (!s) return "";
  const std::string space = topology_.space_name(s->space);
  if (s->granted) return s->awaited ? std::to_string(s->awaited) + " of its data are on their way to " + space : "";
  return "it waits for room in " + space + " (" + std::to_string(cache_.taken(s->space)) + " of " +
         std::to_string(cache_.limit(s->space)) + " bytes are in use), behind " +
         std::to_string(admission_.waiting(s->space).place_of(s)) + " others";
}

bool MemoryReport::keeps_from(TaskName task, TaskName waiting) const {
  const Staging *s = stagings_.find(task), *w = stagings_.find(waiting);
  return s && w && s != w && s->space == w->space && s->granted && !w->granted;
}

std::string MemoryReport::describe_space(uint32_t space) const {
  if (!cache_.is_counted(space)) return "";
  const SpaceStatistics s = count(space);
  std::string text = std::string("space ") + topology_.space_name(space) + ": " + std::to_string(s.used) +
                     (s.limit == UINT64_MAX ? "" : " of " + std::to_string(s.limit)) + " bytes in use";
  uint64_t idle = 0;
  for (const Replica *r = order_.oldest(space); r; r = r->newer) idle += r->bytes;
  text += ", " + std::to_string(idle) + " of them not pinned; " + std::to_string(s.evictions) + " evictions, " +
          std::to_string(s.needed_evictions) + " of them of what was needed; " + std::to_string(s.saves) +
          " saves of " + std::to_string(s.saved_bytes) + " bytes";
  if (s.wishes) text += "; " + std::to_string(s.wishes) + " prefetches wait for room or a way";
  if (s.waiting)
    text += "; " + std::to_string(s.waiting) + " tasks wait for room, first '" +
            task_label(rt_, *admission_.waiting(space).front()->task) + "'";
  return text;
}

std::string MemoryReport::describe_link(uint32_t from, uint32_t to) const {
  const LinkStatistics &t = transfers_.statistics(from, to);
  if (!t.copies && !t.failed) return "";
  return std::string("link ") + topology_.space_name(from) + " to " + topology_.space_name(to) + ": " + std::to_string(t.copies) + " data, " +
         std::to_string(t.bytes) + " bytes" + (t.failed ? ", " + std::to_string(t.failed) + " failed" : "");
}

std::string MemoryReport::describe() const {
  std::string text;
  const auto add = [&](const std::string &line) {
    if (!line.empty()) text += (text.empty() ? "" : "\n") + line;
  };
  const auto n = static_cast<uint32_t>(topology_.spaces().size());
  for (uint32_t s = 0; s < n; ++s) add(describe_space(s));
  for (uint32_t from = 0; from < n; ++from)
    for (uint32_t to = 0; to < n; ++to) add(describe_link(from, to));
  if (transfers_.under_way()) add(std::to_string(transfers_.under_way()) + " data are on their way");
  return text;
}

}  // namespace consort
