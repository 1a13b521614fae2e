// receives.cpp — the way of a receive: the offer, room for it, its contents. message.hpp has the steps.
#include "base/last_error.hpp"
#include "remote/contents.hpp"
#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {

bool Job::take_room(Message &m) {
  if (!is_limited_ || m.arrived.offer.flags & Control::kPayload) return true;
  if (room_) return want_room_.push_back(&m), false;
  room_ = &m;
  return true;
}

void Job::give_room(Message &m) noexcept {
  if (room_ != &m) return;
  room_ = nullptr;
  if (want_room_.empty()) return;
  room_ = want_room_.front();
  want_room_.pop_front();
  actions_.push_back({Action::kResume, room_});
  parker_.wake();
}

void Job::arrived_offer(uint32_t r, const Control &c, std::span<const std::byte> payload) {
  if (c.answer) {  // the sender has failed after kGo
    Message *const m = find(c.answer, r, Message::Kind::kReceive);
    if (!m || m->state != Message::State::kMoving || c.status >= 0) return;
    m->status = c.status;
    m->why = "rank " + std::to_string(r) + " on host " + peers_[r].host + " cannot send it: " + text_of(payload);
    return connection_->cancel(m->id);
  }
  Arrived it{c, {payload.begin(), payload.end()}};
  const MessageKey key{r, c.flags & Control::kExplicit ? MessageKey::kExplicit
                          : c.flags & Control::kStored ? MessageKey::kStored
                                                       : MessageKey::kInferred, c.tag, c.number};
  bool is_double;
  Message *const m = matching_.arrive(key, &it, &is_double);
  if (is_double) return lost(r, "has sent a message twice");
  if (!m) return;
  m->arrived = std::move(it);
  m->state = Message::State::kStaging;
  if (m->has_no_contents() || take_room(*m)) actions_.push_back({Action::kResume, m});
}

KindTable::Turn Job::begin_receive(Message &m, Datum &d) noexcept {
  const Control &offer = m.arrived.offer;
  const uint64_t here = packed_bytes(d, m.view);
  if (offer.bytes != here && !(d.layout->ops->flags & CONSORT_IF_DYNAMIC))
    return give_up(m, set_errorf(CONSORT_E_INVAL, "rank %u sends %llu bytes for datum '%s', which has %llu here: register it with "
                                 "the same sizes on all ranks", m.key.peer, static_cast<unsigned long long>(offer.bytes),
                                 rt_.data.name(d).c_str(), static_cast<unsigned long long>(here)));
  m.bytes = offer.bytes;
  if (offer.flags & Control::kPayload) return take_payload(m, d);
  void *const run = run_of(d, m.view);
  m.is_contiguous = run && offer.flags & Control::kContiguous;
  consort_status status = CONSORT_OK;
  try {
    if (!m.is_contiguous) m.packed.reset(new std::byte[m.bytes]);
    const std::lock_guard guard(mutex_);
    if (peers_[m.key.peer].is_lost) {
      status = set_error(CONSORT_E_PEER_LOST, lost_text(m.key.peer));
    } else {
      m.state = Message::State::kMoving;
      Control go;
      go.kind = Control::kGo;
      go.id = offer.id, go.answer = m.id;
      go.freed = peers_[m.key.peer].freed;
      if (m.is_contiguous) go.flags = Control::kContiguous;
      connection_->receive_contents(m.key.peer, m.id, m.id, m.is_contiguous ? run : m.packed.get(), m.bytes, go);
      peers_[m.key.peer].freed = 0;
      connection_->flush();
    }
  } catch (const std::bad_alloc &) {
    status = set_error(CONSORT_E_NOMEM, "no memory for a message");
  }
  return status < 0 ? give_up(m, status) : KindTable::Turn{false};
}

KindTable::Turn Job::take_payload(Message &m, Datum &d) noexcept {
  const consort_status s = unpack(d, m.view, m.arrived.payload.data(), m.bytes);
  const LastError why;
  try {
    const std::lock_guard guard(mutex_);
    Peer &p = peers_[m.key.peer];
    ++p.freed;
    Control c;
    c.kind = m.arrived.offer.flags & Control::kConfirm && s >= 0 ? Control::kTaken : Control::kCredit;
    c.id = m.arrived.offer.id;
    if (!p.is_lost && (c.kind == Control::kTaken || p.freed >= kCredits / 2)) send(m.key.peer, c), connection_->flush();
  } catch (const std::bad_alloc &) {  // the credit goes with a later message
  }
  return s < 0 ? give_up(m, why.restore(s)) : done(m);
}

}  // namespace consort
