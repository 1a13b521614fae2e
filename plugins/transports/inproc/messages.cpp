// inproc: posting of messages, their effect at the other rank, reporting by poll().
#include "inproc.hpp"

#include <unistd.h>

namespace inproc {

uint32_t Inproc::post(Messages messages) noexcept {
  Lock lock(job_->mutex);
  uint32_t n = 0;
  while (n < messages.size() && take(messages[n], lock)) ++n;
  return n;
}

// False: no capacity now.
bool Inproc::take(const consort_msg &m, Lock &lock) {
  if (m.kind == CONSORT_MSG_CANCEL) return cancel(m.cookie), true;
  if (!has_room(m)) return false;
  ++told_.owed(m);
  if (const consort_status s = judge(m); s < 0)
    finish(kind_of(m), m, s);
  else if (m.kind == CONSORT_MSG_SEND)
    send(m, lock);
  else if (m.kind == CONSORT_MSG_RECV)
    receive(m, lock);
  else
    reach(m, lock);
  return true;
}

bool Inproc::has_room(const consort_msg &m) const noexcept {
  if (told_.owed(m) == settings_.depth) return false;
  if (m.kind != CONSORT_MSG_PUT || !(m.flags & CONSORT_MF_NOTIFY) || m.peer >= links_.size()) return true;
  const Link &l = links_[m.peer];
  return l.state != State::kUp || l.peer->told_.notes < l.peer->settings_.notifications;
}

consort_status Inproc::judge(const consort_msg &m) const noexcept {
  const consort_status s = judge_form(m, kShort, links_.size());
  if (s < 0 || is_from_any(m)) return s;
  return links_[m.peer].state == State::kUp ? CONSORT_OK : CONSORT_E_PEER_LOST;
}

Rows Inproc::Sent::data() noexcept {
  Rows all = local_of(m);
  if (all.total() <= kShort) all = {bytes, all.total(), 1, 0};
  return all;
}

// Copies between this rank and the peer; long messages without the lock.
void Inproc::carry(Inproc &peer, const Rows &to, const Rows &from, Region *region, Lock &lock) noexcept {
  if (to.total() <= kShort || from.total() <= kShort) return copy_rows(to, from);
  Link &mine = links_[peer.rank_], &its = peer.links_[rank_];
  ++mine.moving, ++its.moving;
  if (region) ++region->users;
  lock.unlock();
  copy_rows(to, from);
  lock.lock();
  --mine.moving, --its.moving;
  if (region) --region->users;
  if (job_->waiting) job_->still.notify_all();
}

void Inproc::send(const consort_msg &m, Lock &lock) noexcept {
  Inproc &to = *links_[m.peer].peer;
  const Rows data = local_of(m);
  for (auto r = to.receives_.begin(); r != to.receives_.end(); ++r) {
    if (!is_match(*r, m.tag, rank_)) continue;
    std::list<consort_msg> taken;
    move_node(taken, to.receives_, r);
    carry(to, local_of(*r), data, nullptr, lock);
    finish(ReportKind::kSent, m, CONSORT_OK, data.total());
    to.received(*r, data.total(), rank_, m.tag);
    return move_node(to.spare_receives_, taken, r);
  }
  // A short message is stored at the receiver if it has capacity; else it waits here, in this rank's budget.
  const bool is_short = data.total() <= kShort, is_over = is_short && !to.spare_kept_.empty();
  std::list<Sent> &spare = is_over ? to.spare_kept_ : spare_sends_;
  Sent &s = spare.front();
  s.m = m, s.from = this, s.is_over = is_over;
  if (is_short) copy_rows({s.bytes, kShort, 1, 0}, data);
  move_node(to.arrived_, spare, spare.begin());
  if (is_over) finish(ReportKind::kSent, m, CONSORT_OK, data.total());
}

void Inproc::receive(const consort_msg &m, Lock &lock) noexcept {
  for (auto s = arrived_.begin(); s != arrived_.end(); ++s) {
    if (!is_match(m, s->m.tag, s->from->rank_)) continue;
    std::list<Sent> taken;
    move_node(taken, arrived_, s);
    const Rows data = s->data();
    carry(*s->from, local_of(m), data, nullptr, lock);
    if (!s->is_over) s->from->finish(ReportKind::kSent, s->m, CONSORT_OK, data.total());
    received(m, data.total(), s->from->rank_, s->m.tag);
    return move_node(s->is_over ? spare_kept_ : s->from->spare_sends_, taken, s);
  }
  spare_receives_.front() = m;
  move_node(receives_, spare_receives_, spare_receives_.begin());
}

void Inproc::received(const consort_msg &r, uint64_t bytes, uint32_t source, uint64_t tag) noexcept {
  const consort_status s = bytes > local_of(r).total() ? CONSORT_E_TRUNCATED : CONSORT_OK;
  tell({ReportKind::kReceived, 0, {r.cookie, s, source, 0, 0, bytes, tag}});
}

// PUT and GET. Only the owner's registration counts, not the contents of the key.
void Inproc::reach(const consort_msg &m, Lock &lock) noexcept {
  Inproc &peer = *links_[m.peer].peer;
  Key key;
  if (!m.rkey || m.nrkey != sizeof key) return finish(ReportKind::kSent, m, CONSORT_E_INVAL);
  std::memcpy(&key, m.rkey, sizeof key);
  const auto found = peer.regions_.find(key.region);
  if (key.number != peer.job_.number() || found == peer.regions_.end() || found->second.gone)
    return finish(ReportKind::kSent, m, CONSORT_E_STALE);
  Region &region = found->second;
  if (!is_within(m, region.from, region.bytes)) return finish(ReportKind::kSent, m, CONSORT_E_INVAL);
  const bool puts = m.kind == CONSORT_MSG_PUT, notifies = puts && (m.flags & CONSORT_MF_NOTIFY);
  if (notifies) ++peer.told_.notes;  // checked by has_room()
  carry(peer, puts ? remote_of(m) : local_of(m), puts ? local_of(m) : remote_of(m), &region, lock);
  const uint64_t bytes = local_of(m).total();
  finish(ReportKind::kSent, m, CONSORT_OK, bytes);
  if (notifies) peer.tell({ReportKind::kNotified, 0, {CONSORT_NOTIFIED, CONSORT_OK, rank_, 0, 0, bytes, m.tag}});
}

// Operations that are being copied or complete are not cancelled.
void Inproc::cancel(uint64_t cookie) noexcept {
  for (auto r = receives_.begin(); r != receives_.end(); ++r)
    if (r->cookie == cookie) {
      finish(ReportKind::kReceived, *r, CONSORT_E_CANCELLED);
      return move_node(spare_receives_, receives_, r);
    }
  for (const Link &l : links_) {
    if (l.state != State::kUp) continue;
    for (auto s = l.peer->arrived_.begin(); s != l.peer->arrived_.end(); ++s)
      if (s->from == this && !s->is_over && s->m.cookie == cookie) {
        finish(ReportKind::kSent, s->m, CONSORT_E_CANCELLED);
        return move_node(spare_sends_, l.peer->arrived_, s);
      }
  }
}

// Messages that this rank sent and the peer did not receive are lost with the link.
void Inproc::end_sends(Inproc &to) noexcept {
  for (auto s = to.arrived_.begin(); s != to.arrived_.end();) {
    const auto here = s++;
    if (here->from != this) continue;
    if (!here->is_over) finish(ReportKind::kSent, here->m, CONSORT_E_PEER_LOST);
    move_node(here->is_over ? to.spare_kept_ : spare_sends_, to.arrived_, here);
  }
}

void Inproc::end_receives(uint32_t source) noexcept {  // receives from any rank stay
  for (auto r = receives_.begin(); r != receives_.end();) {
    const auto here = r++;
    if (here->peer != source) continue;
    finish(ReportKind::kReceived, *here, CONSORT_E_PEER_LOST);
    move_node(spare_receives_, receives_, here);
  }
}

// -- reporting ---------------------------------------------------------------------------------------------------------

void Inproc::finish(ReportKind kind, const consort_msg &m, consort_status s, uint64_t bytes) noexcept {
  tell({kind, 0, {m.cookie, s, m.peer, 0, 0, bytes, m.tag}});
}

void Inproc::raise(uint32_t event, uint32_t rank) noexcept {
  tell({ReportKind::kEvent, event, {0, CONSORT_OK, rank, 0, 0, 0, 0}});
}

void Inproc::tell(const Report &t) noexcept {
  told_.push(t);
  if (!armed_) return;
  armed_ = false;
  const uint64_t one = 1;  // under the lock, because close() might otherwise free the descriptor
  if (fd_ >= 0 && ::write(fd_, &one, sizeof one) < 0) return;  // already readable
}

uint32_t Inproc::poll(std::span<consort_done> out) noexcept {
  Lock lock(job_->mutex);
  return told_.report(out, [&](const Report &t) {
    --links_[t.done.source].events;
    lock.unlock();
    host().event(t.event, token_, t.done.source);
    lock.lock();
  });
}

}  // namespace inproc
