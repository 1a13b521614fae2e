// replay_node.hpp — the encoding of edges in a node: the record of a recorded task.
#pragma once
#include "task/task.hpp"

namespace consort {

// A node's Task::link: up to two successors themselves, or else the address of their list; and the numbers of
// predecessors and successors. Successors are record numbers.
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
