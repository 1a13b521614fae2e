#include "remote/matching.hpp"

#include <utility>

namespace consort {

size_t Matching::Hash::operator()(const MessageKey &k) const noexcept {
  uint64_t h = k.tag * 0x9e3779b97f4a7c15u ^ (uint64_t{k.peer} << 1 | k.cls);
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u + k.number;
  return static_cast<size_t>(h ^ h >> 32);
}

std::optional<Arrived> Matching::expect(const MessageKey &key, Message *receive) {
  const auto [at, is_new] = all_.try_emplace(key);
  if (is_new) {
    at->second.waiting = receive;
    return {};
  }
  std::optional<Arrived> found = std::move(at->second.arrived);
  all_.erase(at);
  return found;
}

Message *Matching::arrive(const MessageKey &key, Arrived *it, bool *is_double) {
  const auto [at, is_new] = all_.try_emplace(key);
  *is_double = !is_new && !at->second.waiting;
  if (is_new) at->second.arrived = std::move(*it);
  if (is_new || *is_double) return nullptr;
  Message *const receive = at->second.waiting;
  all_.erase(at);
  return receive;
}

std::vector<Message *> Matching::leave(uint32_t peer) {
  std::vector<Message *> waiting;
  for (auto at = all_.begin(); at != all_.end();) {
    const bool has_contents = !at->second.waiting && (at->second.arrived.offer.flags & (Control::kPayload | Control::kFailed));
    if (at->first.peer != peer || has_contents) {
      ++at;
      continue;
    }
    if (at->second.waiting) waiting.push_back(at->second.waiting);
    at = all_.erase(at);
  }
  return waiting;
}

bool Matching::is_waiting(const MessageKey &key) const noexcept {
  const auto at = all_.find(key);
  return at != all_.end() && at->second.waiting;
}

}  // namespace consort
