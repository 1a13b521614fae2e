// sends.cpp — the way of a send: its offer, the answer, its contents. message.hpp has the steps.
#include "base/last_error.hpp"
#include "remote/contents.hpp"
#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {

void Job::offer(Message &m, Control c, std::span<const std::byte> payload) {
  c.kind = Control::kOffer;
  if (m.key.cls == MessageKey::kExplicit) c.flags |= Control::kExplicit;
  if (m.key.cls == MessageKey::kStored) c.flags |= Control::kStored;
  c.tag = m.key.tag, c.number = m.key.number, c.id = m.id;
  send(m.key.peer, c, payload);
  connection_->flush();
}

KindTable::Turn Job::begin_send(Message &m, Datum &d) noexcept {
  std::byte payload[kMostPayload];
  m.bytes = packed_bytes(d, m.view);
  const bool is_short = m.bytes <= kMostPayload;
  if (is_short)
    if (const consort_status s = pack(d, m.view, payload, m.bytes); s < 0) return give_up(m, s);
  if (m.is_wanted) {
    act_send(m, d);
    return {false};
  }
  m.is_contiguous = run_of(d, m.view);
  consort_status status = CONSORT_OK;
  bool is_over = false;
  try {
    const std::lock_guard guard(mutex_);
    Peer &p = peers_[m.key.peer];
    if (p.is_lost) {
      status = set_error(CONSORT_E_PEER_LOST, lost_text(m.key.peer));
    } else {
      Control c;
      c.bytes = m.bytes;
      const bool goes_along = is_short && p.credits;
      if (goes_along) c.flags |= Control::kPayload;
      if (goes_along && m.is_confirmed) c.flags |= Control::kConfirm;
      if (m.is_contiguous) c.flags |= Control::kContiguous;
      is_over = goes_along && !m.is_confirmed;
      if (!is_over) m.state = Message::State::kWaiting;  // else this thread ends it, whatever happens to the other rank
      offer(m, c, {payload, goes_along ? m.bytes : 0});
      if (goes_along) --p.credits;
    }
  } catch (const std::bad_alloc &) {
    status = set_error(CONSORT_E_NOMEM, "no memory for a message");
  }
  if (status < 0) return give_up(m, status);
  return is_over ? done(m) : KindTable::Turn{false};
}

// The receiver waits for the contents, and they are at home.
void Job::act_send(Message &m, Datum &d) noexcept {
  consort_status status = CONSORT_OK;
  try {
    if (!m.is_contiguous) {
      m.packed.reset(new std::byte[m.bytes]);
      status = pack(d, m.view, m.packed.get(), m.bytes);
    }
    if (status >= 0) {
      const std::lock_guard guard(mutex_);
      return post_contents(m, m.is_contiguous ? run_of(d, m.view) : m.packed.get());
    }
  } catch (const std::bad_alloc &) {
    status = set_error(CONSORT_E_NOMEM, "no memory for a message");
  }
  const LastError why;
  refuse(m, status, why.text());
  const std::lock_guard guard(mutex_);
  fail_at_end(m, status, why.text());
}

void Job::post_contents(Message &m, const void *from) {
  m.state = Message::State::kMoving;
  connection_->send_contents(m.key.peer, m.id, m.answer, from, m.bytes);
  connection_->flush();
}

void Job::arrived_go(uint32_t r, const Control &c) {
  Message *const m = find(c.id, r, Message::Kind::kSend);
  if (!m || m->state != Message::State::kWaiting) return lost(r, "has answered a message that waits for nothing");
  m->answer = c.answer;
  const bool is_staged = m->view;
  if (!is_staged) m->is_contiguous = true, m->is_wanted = true;
  m->is_contiguous &= (c.flags & Control::kContiguous) != 0;
  m->state = Message::State::kStaging;
  if (is_staged && m->is_contiguous) post_contents(*m, run_of(datum_of(*m->task), m->view));
  else actions_.push_back({is_staged ? Action::kSendContents : Action::kResume, m});
}

void Job::arrived_taken(uint32_t r, const Control &c, std::span<const std::byte> text) {
  Message *const m = find(c.id, r, Message::Kind::kSend);
  if (!m || m->state != Message::State::kWaiting) return;  // it failed meanwhile
  if (c.status < 0)
    return fail_at_end(*m, c.status, "rank " + std::to_string(r) + " on host " + peers_[r].host + " did not take it: " + text_of(text));
  m->state = Message::State::kStaging;
  actions_.push_back({Action::kEnd, m});
}

}  // namespace consort
