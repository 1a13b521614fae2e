// barrier.cpp — a barrier of all ranks, by dissemination: in round k each rank tells the one 2^k behind it and waits for the
// one 2^k before it. A rank whose barrier fails tells all others.
#include "base/last_error.hpp"
#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {
namespace {

uint64_t distance(uint64_t round) noexcept { return uint64_t{1} << round; }

}  // namespace

// Its turn: returns whether it waits for other ranks.
bool Job::begin_barrier(Message &m) {
  m.state = Message::State::kWaiting;
  open_barriers_[m.key.tag] = &m;
  const auto failed = failed_barriers_.find(m.key.tag);
  std::string why = failed == failed_barriers_.end() ? "" : failed->second;
  for (uint32_t r = 0; r < ranks() && why.empty(); ++r)
    if (peers_[r].is_lost && needs(m, r)) why = lost_text(r);
  if (!why.empty()) {
    fail_barrier(m, why);
    return true;
  }
  if (ranks() == 1) return open_barriers_.erase(m.key.tag), false;
  Control c;
  c.kind = Control::kBarrier, c.tag = m.key.tag;
  send(static_cast<uint32_t>((rank() + 1) % ranks()), c);
  connection_->flush();
  if (!advance_barrier(m)) return true;
  open_barriers_.erase(m.key.tag);
  return false;
}

// Returns whether all rounds are over.
bool Job::advance_barrier(Message &m) {
  uint64_t &round = m.key.number;
  while (distance(round) < ranks()) {
    if (!rounds_.erase({m.key.tag, round})) return false;
    ++round;
    if (distance(round) >= ranks()) break;
    Control c;
    c.kind = Control::kBarrier, c.tag = m.key.tag, c.number = round;
    send(static_cast<uint32_t>((rank() + distance(round)) % ranks()), c);
    connection_->flush();
  }
  return true;
}

// Whether a message of that rank is awaited that has not come.
bool Job::needs(const Message &m, uint32_t r) const noexcept {
  for (uint64_t k = m.key.number; distance(k) < ranks(); ++k)
    if ((r + distance(k)) % ranks() == rank() && !rounds_.contains({m.key.tag, k})) return true;
  return false;
}

void Job::fail_barrier(Message &m, std::string why) {
  open_barriers_.erase(m.key.tag);
  Control c;
  c.kind = Control::kBarrier, c.flags = Control::kFailed, c.status = CONSORT_E_PEER_LOST, c.tag = m.key.tag;
  const auto text = std::as_bytes(std::span(why.data(), std::min(why.size(), kMostPayload)));
  for (uint32_t r = 0; r < ranks(); ++r)
    if (r != rank()) send(r, c, text);
  connection_->flush();
  fail_at_end(m, CONSORT_E_PEER_LOST, std::move(why));
}

void Job::arrived_barrier(const Control &c, std::span<const std::byte> text) {
  const auto at = open_barriers_.find(c.tag);
  Message *const m = at == open_barriers_.end() ? nullptr : at->second;
  if (c.flags & Control::kFailed) {
    std::string why(reinterpret_cast<const char *>(text.data()), text.size());
    if (m) {
      open_barriers_.erase(at);
      fail_at_end(*m, c.status, std::move(why));
    } else if (c.tag >= barriers_) {
      failed_barriers_.emplace(c.tag, std::move(why));
    }
    return;
  }
  if (c.number >= 32) return;
  rounds_.emplace(c.tag, c.number);
  if (!m || !advance_barrier(*m)) return;
  open_barriers_.erase(at);
  actions_.push_back({Action::kEnd, m});
}

}  // namespace consort
