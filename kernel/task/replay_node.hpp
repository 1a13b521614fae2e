// replay_node.hpp — how the record of a replayed task (a node of a recording) keeps its edges.
#pragma once
#include "task/task.hpp"

namespace consort {

// A node's Task::link: its successors themselves, where these are two at most, else the address of their list; how many
// predecessors and successors. Successors are named by the numbers of their records.
namespace node {
inline constexpr uint32_t kInlineEdges = 2;
inline uint32_t predecessors(const Task &t) noexcept { return t.link[2]; }
inline uint32_t successors(const Task &t) noexcept { return t.link[3]; }
inline const uint32_t *edges(const Task &t) noexcept {
  if (t.link[3] <= kInlineEdges) return t.link;
  const uint32_t *list;
  __builtin_memcpy(&list, t.link, sizeof list);
  return list;
}
}  // namespace node

}  // namespace consort
