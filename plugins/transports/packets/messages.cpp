// Endpoint: messages, and what packets of peers cause.
#include "endpoint.hpp"

namespace transports {

// -- posting ----------------------------------------------------------------------------------------------------------

// False: no capacity now; nothing has been done.
bool Endpoint::take(const consort_msg &m) noexcept {
  if (m.kind == CONSORT_MSG_CANCEL) return cancel(m.cookie), true;
  uint32_t &owed = told_.owed(m);
  if (owed == limits_.depth) return false;
  if (m.kind == CONSORT_MSG_RECV && owed + fetches_given_up_ >= fetches_.size()) return false;
  const consort_status s = judge(m);
  if (s == CONSORT_OK && m.kind == CONSORT_MSG_SEND && !send(m)) return false;
  ++owed;
  if (s < 0) finish(m, s);
  else if (m.kind == CONSORT_MSG_RECV) receive(m);
  return true;
}

consort_status Endpoint::judge(const consort_msg &m) const noexcept {
  const consort_status s = judge_form(m, kInline, links_.size());
  if (s < 0) return s;
  if (m.kind != CONSORT_MSG_SEND && m.kind != CONSORT_MSG_RECV) {
    return links_[m.peer].state == State::kUp ? CONSORT_E_UNSUPPORTED : CONSORT_E_PEER_LOST;
  }
  if (rows_of(m) > 1) return CONSORT_E_UNSUPPORTED;
  return is_from_any(m) || links_[m.peer].state == State::kUp ? CONSORT_OK : CONSORT_E_PEER_LOST;
}

bool Endpoint::send(const consort_msg &m) noexcept {
  Link &l = links_[m.peer];
  if (free_ops_.empty()) return false;
  const char *const from = local_of(m).at;
  const bool is_carried = m.bytes <= kShort && l.sent - l.sent_freed < limits_.unexpected;
  Op &op = ops_[free_ops_.back()];
  Packet p{};
  p.tag = m.tag, p.bytes = m.bytes, p.op = id_of(op);
  Slot *const slot = new_packet(m.peer, is_carried ? PacketKind::kShortSend : PacketKind::kOffer, p,
                                is_carried ? static_cast<uint32_t>(m.bytes) : 0);
  if (!slot) return false;
  free_ops_.pop_back();
  op.m = m, op.step = is_carried ? Step::kCarried : Step::kOffered, op.is_lost = false, op.done = 0;
  if (is_carried) {
    if (m.bytes) std::memcpy(slot->data + kPacketHead, from, m.bytes);
    slot->op = static_cast<uint32_t>(&op - ops_.data());
    ++l.sent;
  } else if (m.flags & CONSORT_MF_INLINE) {
    std::memcpy(op.bytes, from, m.bytes);
    op.m.local = {reinterpret_cast<uint64_t>(op.bytes), 0};
  }
  enqueue(*slot);
  return true;
}

void Endpoint::receive(const consort_msg &m) noexcept {
  for (auto a = arrived_.begin(); a != arrived_.end(); ++a) {
    if (!is_match(m, a->p.tag, a->p.from)) continue;
    const Packet p = a->p;
    const uint32_t slot = a->slot;
    Link &l = links_[p.from];
    move_node(spare_arrived_, arrived_, a);
    if (p.kind == PacketKind::kOffer) {
      --l.announced;
      begin_fetch(m, p);
      return;
    }
    const uint64_t n = std::min(m.bytes, p.bytes);
    if (n) std::memcpy(local_of(m).at, l.kept.get() + size_t{slot} * kShort, n);
    l.free_kept.push_back(slot);
    received(m, p.from, p.tag, p.bytes);
    return freed_one(p.from);
  }
  spare_receives_.front() = m;
  move_node(receives_, spare_receives_, spare_receives_.begin());
}

void Endpoint::cancel(uint64_t cookie) noexcept {
  for (auto r = receives_.begin(); r != receives_.end(); ++r)
    if (r->cookie == cookie) {
      finish(*r, CONSORT_E_CANCELLED);
      return move_node(spare_receives_, receives_, r);
    }
  for (Op &op : ops_)
    if (op.step == Step::kOffered && !op.is_lost && op.m.cookie == cookie) {
      Packet p{};
      p.op = id_of(op);
      if (Slot *const slot = new_packet(op.m.peer, PacketKind::kCancel, p)) {
        enqueue(*slot);
        op.is_lost = true;  // asked once
      }
      return;
    }
}

// -- packets of peers -------------------------------------------------------------------------------------------------

void Endpoint::hear(std::span<const std::byte> bytes) noexcept {
  Packet p;
  if (!decode(bytes, static_cast<uint32_t>(links_.size()), &p)) return complain("a packet that is none of this protocol is dropped");
  Link &l = links_[p.from];
  const std::byte *const payload = bytes.data() + kPacketHead;
  if (p.kind == PacketKind::kHello) return hear_hello(p.from, payload);
  if (p.kind == PacketKind::kProof) return hear_proof(p.from, payload);
  if (!l.has_token || p.token != l.token_in) {
    if (p.kind != PacketKind::kBye) complain("a packet that says it is of " + name(p.from) + " and does not prove it is dropped");
    return;
  }
  if (p.kind == PacketKind::kBye) {
    if (l.state == State::kUp) return lose(p.from, How::kBye);
    l.has_left = true;
    left(p.from);
    return cancel_fetches(p.from);
  }
  if (l.state != State::kUp) return;  // written before the peer knew
  const bool counts = p.freed >= l.sent_freed && p.freed <= l.sent;
  l.sent_freed = counts ? p.freed : l.sent_freed;
  if (counts && hear_message(p.from, p, payload)) return;
  complain(name(p.from) + " sends what is no part of this protocol; it is treated as lost");
  died(p.from);
}

// False: the peer does not keep to the protocol.
bool Endpoint::hear_message(uint32_t rank, const Packet &p, const std::byte *payload) noexcept {
  Link &l = links_[rank];
  switch (p.kind) {
    case PacketKind::kShortSend:
    case PacketKind::kOffer: {
      const bool is_short = p.kind == PacketKind::kShortSend;
      for (auto m = receives_.begin(); m != receives_.end(); ++m) {
        if (!is_match(*m, p.tag, rank)) continue;
        const consort_msg mine = *m;
        move_node(spare_receives_, receives_, m);
        if (!is_short) return begin_fetch(mine, p);
        if (const uint64_t n = std::min(mine.bytes, p.bytes)) std::memcpy(local_of(mine).at, payload, n);
        received(mine, rank, p.tag, p.bytes);
        freed_one(rank);
        return true;
      }
      if (is_short ? l.free_kept.empty() : l.announced == limits_.depth) return false;
      spare_arrived_.front() = {p, kNone};
      if (is_short) {
        const uint32_t slot = spare_arrived_.front().slot = l.free_kept.back();
        l.free_kept.pop_back();
        if (p.bytes) std::memcpy(l.kept.get() + size_t{slot} * kShort, payload, p.bytes);
      } else {
        ++l.announced;
      }
      move_node(arrived_, spare_arrived_, spare_arrived_.begin());
      return true;
    }
    case PacketKind::kGo: {
      Op *const op = op_of(p.other, rank);
      return op && op->step == Step::kOffered && p.bytes <= op->m.bytes && go(*op, p);
    }
    case PacketKind::kCancel:
      for (auto a = arrived_.begin(); a != arrived_.end(); ++a)
        if (a->p.from == rank && a->p.kind == PacketKind::kOffer && a->p.op == p.op) {
          move_node(spare_arrived_, arrived_, a);
          --l.announced;
          Packet answer{};
          answer.other = p.op;
          Slot *const slot = new_packet(rank, PacketKind::kCancelled, answer);
          if (slot) enqueue(*slot);
          return slot != nullptr;
        }
      return true;  // matched before
    case PacketKind::kCancelled: {
      Op *const op = op_of(p.other, rank);
      if (!op || op->step != Step::kOffered || !op->is_lost) return false;
      end_op(*op, CONSORT_E_CANCELLED);
      return true;
    }
    default:
      return true;  // kFreed: the head has told
  }
}

Endpoint::Op *Endpoint::op_of(uint64_t id, uint32_t rank) noexcept {
  const auto at = static_cast<uint32_t>(id);
  if (at >= ops_.size()) return nullptr;
  Op &op = ops_[at];
  return op.step != Step::kFree && op.generation == id >> 32 && op.m.peer == rank ? &op : nullptr;
}

// The peer has a short message less to keep; it is told at the latest when half of its store is free.
void Endpoint::freed_one(uint32_t rank) noexcept {
  Link &l = links_[rank];
  ++l.freed;
  if (l.freed - l.freed_told < (limits_.unexpected + 1) / 2 || l.tells_freed || l.state != State::kUp) return;
  if (Slot *const slot = new_packet(rank, PacketKind::kFreed, {})) enqueue(*slot);
}

// -- long messages ----------------------------------------------------------------------------------------------------

bool Endpoint::begin_fetch(const consort_msg &m, const Packet &p) noexcept {
  Fetch &f = fetches_[free_fetches_.back()];  // one for each RECV that poll() has not reported
  free_fetches_.pop_back();
  f.m = m, f.rank = p.from, f.is_lost = false, f.is_told = false;
  f.tag = p.tag, f.bytes = p.bytes, f.op = p.op, f.done = 0;
  f.total = std::min(m.bytes, p.bytes);
  f.number = fabric_->new_number();
  f.step = Step::kReady;
  if (f.total) return ++unposted_, true;
  Packet answer{};
  answer.other = f.op;
  Slot *const slot = new_packet(p.from, PacketKind::kGo, answer);
  if (slot) enqueue(*slot);
  ++unposted_;
  end_fetch(f, CONSORT_OK);
  return slot != nullptr;
}

bool Endpoint::go(Op &op, const Packet &p) noexcept {
  op.number = p.op, op.total = p.bytes, op.is_lost = false;
  if (!op.total) return end_op(op, CONSORT_OK, op.m.bytes), true;
  op.step = Step::kReady;
  ++unposted_;
  return true;
}

void Endpoint::data_out(Op &op, const Fabric::Done &d) noexcept {
  const uint32_t rank = op.m.peer;
  if (op.step == Step::kGivenUp) return free_op(op);
  if (op.is_lost) {  // the peer may have taken all of it before it left
    end_op(op, d.is_good && op.done == op.total ? CONSORT_OK : CONSORT_E_PEER_LOST, op.m.bytes);
    --links_[rank].moving, --moving_;
    return one_less(rank);
  }
  if (d.is_good && op.done < op.total) {
    op.step = Step::kReady, ++unposted_;
    return;
  }
  end_op(op, d.is_good ? CONSORT_OK : CONSORT_E_PEER_LOST, op.m.bytes);
  if (!d.is_good) died(rank);
}

void Endpoint::data_in(Fetch &f, const Fabric::Done &d) noexcept {
  const uint32_t rank = f.rank;
  if (f.step == Step::kGivenUp) return --fetches_given_up_, free_fetch(f);
  const bool is_good = d.is_good && d.bytes == f.part;
  if (f.is_lost) {  // the peer may have sent all of it before it left
    end_fetch(f, is_good && f.done == f.total ? CONSORT_OK : CONSORT_E_PEER_LOST);
    --links_[rank].moving, --moving_;
    return one_less(rank);
  }
  if (is_good && f.done < f.total) {
    f.step = Step::kReady, ++unposted_;
    return;
  }
  end_fetch(f, is_good ? CONSORT_OK : CONSORT_E_PEER_LOST);
  if (!is_good) died(rank);
}

void Endpoint::end_op(Op &op, consort_status s, uint64_t bytes) noexcept {
  unposted_ -= op.step == Step::kReady;
  finish(op.m, s, s < 0 ? 0 : bytes);
  free_op(op);
}

void Endpoint::free_op(Op &op) noexcept {
  op.step = Step::kFree, ++op.generation;
  free_ops_.push_back(static_cast<uint32_t>(&op - ops_.data()));
}

void Endpoint::end_fetch(Fetch &f, consort_status s) noexcept {
  unposted_ -= f.step == Step::kReady;
  if (s < 0) finish(f.m, s);
  else received(f.m, f.rank, f.tag, f.bytes);
  free_fetch(f);
}

void Endpoint::free_fetch(Fetch &f) noexcept {
  f.step = Step::kFree;
  free_fetches_.push_back(static_cast<uint32_t>(&f - fetches_.data()));
}

// -- reporting --------------------------------------------------------------------------------------------------------

void Endpoint::finish(const consort_msg &m, consort_status s, uint64_t bytes) noexcept {
  tell({kind_of(m), 0, {m.cookie, s, m.peer, 0, 0, bytes, m.tag}});
}

void Endpoint::received(const consort_msg &m, uint32_t rank, uint64_t tag, uint64_t bytes) noexcept {
  tell({ReportKind::kReceived, 0, {m.cookie, bytes > m.bytes ? CONSORT_E_TRUNCATED : CONSORT_OK, rank, 0, 0, bytes, tag}});
}

}  // namespace transports
