// Sockets: messages, and what frames of peers cause.
#include <algorithm>

#include "sockets.hpp"

namespace sockets {
namespace {

bool is_from_any(const consort_msg &m) noexcept { return m.kind == CONSORT_MSG_RECV && m.peer == CONSORT_NONE; }

bool is_match(const consort_msg &receive, uint64_t tag, uint32_t source) noexcept {
  return (receive.peer == source || is_from_any(receive)) && ((receive.tag ^ tag) & ~receive.ignore) == 0;
}

}  // namespace

// -- posting ----------------------------------------------------------------------------------------------------------

// False: no room now; nothing has been done.
bool Sockets::take(const consort_msg &m) noexcept {
  if (m.kind == CONSORT_MSG_CANCEL) return cancel(m.cookie), true;
  uint32_t &owed = m.kind == CONSORT_MSG_RECV ? receives_owed_ : sends_owed_;
  if (owed == settings_.depth) return false;
  const consort_status s = judge(m);
  if (s == CONSORT_OK && m.kind == CONSORT_MSG_SEND && !send(m)) return false;
  ++owed;
  if (s < 0) finish(m, s);
  else if (m.kind == CONSORT_MSG_RECV) receive(m);
  return true;
}

consort_status Sockets::judge(const consort_msg &m) const noexcept {
  const bool sends = m.kind == CONSORT_MSG_SEND, receives = m.kind == CONSORT_MSG_RECV;
  if (!sends && !receives && m.kind != CONSORT_MSG_PUT && m.kind != CONSORT_MSG_GET) return CONSORT_E_UNSUPPORTED;
  if (m.flags & ~CONSORT_MF_INLINE || (sends || receives ? m.rows > 1 : false)) return CONSORT_E_UNSUPPORTED;
  if (m.bytes > INT64_MAX || (m.flags & CONSORT_MF_INLINE && (!sends || m.bytes > kInline))) return CONSORT_E_INVAL;
  if (is_from_any(m)) return CONSORT_OK;
  if (m.peer >= links_.size()) return CONSORT_E_INVAL;
  if (links_[m.peer].state != State::kUp) return CONSORT_E_PEER_LOST;
  return sends || receives ? CONSORT_OK : CONSORT_E_UNSUPPORTED;
}

bool Sockets::send(const consort_msg &m) noexcept {
  if (free_ops_.empty()) return false;
  Link &l = links_[m.peer];
  const uint32_t index = free_ops_.back();
  free_ops_.pop_back();
  Op &op = ops_[index];
  op.m = m, op.is_cancelled = false, op.done = op.total = 0;
  if (m.flags & CONSORT_MF_INLINE) {
    if (m.bytes) std::memcpy(op.bytes, bytes_of(m), m.bytes);
    op.m.local = {reinterpret_cast<uint64_t>(op.bytes), 0};
  }
  Frame f;
  f.tag = m.tag, f.bytes = m.bytes, f.op = uint64_t{op.generation} << 32 | index;
  const bool is_carried = m.bytes <= kShort && l.sent - l.sent_freed < settings_.unexpected;
  op.step = is_carried ? Step::kCarried : Step::kOffered;
  f.kind = is_carried ? Frame::kMessage : Frame::kOffer;
  l.sent += is_carried;
  queue(m.peer, f, is_carried ? index : kNone);
  return true;
}

void Sockets::receive(const consort_msg &m) noexcept {
  for (auto a = arrived_.begin(); a != arrived_.end(); ++a) {
    if (!is_match(m, a->f.tag, a->rank)) continue;
    const Arrived it = *a;
    Link &l = links_[it.rank];
    spare_arrived_.splice(spare_arrived_.end(), arrived_, a);
    if (it.kept == kNone) {
      --l.announced;
      begin_fetch(m, it.f, it.rank);
      return write_some(it.rank);
    }
    if (const uint64_t n = std::min(m.bytes, it.f.bytes)) std::memcpy(bytes_of(m), l.store.get() + size_t{it.kept} * kShort, n);
    l.free_store.push_back(it.kept);
    received(m, it.rank, it.f.tag, it.f.bytes);
    return freed_one(it.rank);
  }
  spare_receives_.front() = m;
  receives_.splice(receives_.end(), spare_receives_, spare_receives_.begin());
}

void Sockets::cancel(uint64_t cookie) noexcept {
  for (auto r = receives_.begin(); r != receives_.end(); ++r)
    if (r->cookie == cookie) {
      finish(*r, CONSORT_E_CANCELLED);
      return spare_receives_.splice(spare_receives_.end(), receives_, r);
    }
  for (Op &op : ops_)
    if (op.step == Step::kOffered && !op.is_cancelled && op.m.cookie == cookie) {
      op.is_cancelled = true;
      Frame f;
      f.kind = Frame::kCancel, f.op = uint64_t{op.generation} << 32 | static_cast<uint64_t>(&op - ops_.data());
      queue(op.m.peer, f);
      return write_some(op.m.peer);
    }
}

// -- frames of peers --------------------------------------------------------------------------------------------------

// False: the peer breaks the protocol.
bool Sockets::hear(uint32_t rank, const Frame &f) noexcept {
  Link &l = links_[rank];
  if (f.freed < l.sent_freed || f.freed > l.sent) return false;
  l.sent_freed = f.freed;
  switch (f.kind) {
    case Frame::kMessage:
    case Frame::kOffer:
      return hear_message(rank, f);
    case Frame::kGo: {
      Op *const op = op_of(f.other, rank);
      if (!op || op->step != Step::kOffered || f.bytes > op->m.bytes) return false;
      op->receive = f.op, op->total = f.bytes;
      if (!op->total) return end_op(*op, CONSORT_OK, op->m.bytes), true;
      op->step = Step::kMoving;
      l.ready[(l.ready_first + l.ready_count++) % l.ready.size()] = static_cast<uint32_t>(op - ops_.data());
      write_some(rank);
      return true;
    }
    case Frame::kData:
      return hear_end_of_data(rank, f);
    case Frame::kCancel:
      for (auto a = arrived_.begin(); a != arrived_.end(); ++a)
        if (a->rank == rank && a->kept == kNone && a->f.op == f.op) {
          spare_arrived_.splice(spare_arrived_.end(), arrived_, a);
          --l.announced;
          Frame answer;
          answer.kind = Frame::kCancelled, answer.other = f.op;
          queue(rank, answer), write_some(rank);
          return true;
        }
      return true;  // a receive has taken it
    case Frame::kCancelled: {
      Op *const op = op_of(f.other, rank);
      if (!op || op->step != Step::kOffered || !op->is_cancelled) return false;
      return end_op(*op, CONSORT_E_CANCELLED), true;
    }
    default:
      return true;  // kFreed
  }
}

bool Sockets::hear_message(uint32_t rank, const Frame &f) noexcept {
  Link &l = links_[rank];
  const bool is_short = f.kind == Frame::kMessage;
  for (auto m = receives_.begin(); m != receives_.end(); ++m) {
    if (!is_match(*m, f.tag, rank)) continue;
    const consort_msg mine = *m;
    spare_receives_.splice(spare_receives_.end(), receives_, m);
    if (!is_short) {
      begin_fetch(mine, f, rank);
      return write_some(rank), true;
    }
    if (const uint64_t n = std::min(mine.bytes, f.bytes)) std::memcpy(bytes_of(mine), l.reading.body, n);
    received(mine, rank, f.tag, f.bytes);
    return freed_one(rank), true;
  }
  if (is_short ? l.free_store.empty() : l.announced == settings_.depth) return false;
  spare_arrived_.front() = {f, rank, kNone};
  if (is_short) {
    const uint32_t kept = spare_arrived_.front().kept = l.free_store.back();
    l.free_store.pop_back();
    if (f.bytes) std::memcpy(l.store.get() + size_t{kept} * kShort, l.reading.body, f.bytes);
  } else {
    ++l.announced;
  }
  arrived_.splice(arrived_.end(), spare_arrived_, spare_arrived_.begin());
  return true;
}

// The peer stores a short message less; it is told at the latest when half of its store is free.
void Sockets::freed_one(uint32_t rank) noexcept {
  Link &l = links_[rank];
  if (++l.freed - l.freed_told < (settings_.unexpected + 1) / 2) return;
  l.freed_told = l.freed;  // until it is written, no other is queued
  Frame f;
  f.kind = Frame::kFreed;
  queue(rank, f), write_some(rank);
}

// -- long messages ----------------------------------------------------------------------------------------------------

void Sockets::begin_fetch(const consort_msg &m, const Frame &offer, uint32_t rank) noexcept {
  const uint32_t index = free_fetches_.back();  // one for each RECV that poll() has not reported
  free_fetches_.pop_back();
  Fetch &f = fetches_[index];
  f.m = m, f.rank = rank, f.tag = offer.tag, f.bytes = offer.bytes, f.done = 0, f.total = std::min(m.bytes, offer.bytes);
  Frame go;
  go.kind = Frame::kGo, go.other = offer.op, go.bytes = f.total, go.op = uint64_t{f.generation} << 32 | index;
  queue(rank, go);
  if (!f.total) end_fetch(f, CONSORT_OK);
}

bool Sockets::hear_end_of_data(uint32_t rank, const Frame &f) noexcept {
  Fetch *const fetch = fetch_of(f.other, rank);
  if (!fetch) return false;
  fetch->done += f.bytes;
  if (fetch->done == fetch->total) end_fetch(*fetch, CONSORT_OK);
  return true;
}

Sockets::Op *Sockets::op_of(uint64_t id, uint32_t rank) noexcept {
  const auto at = static_cast<uint32_t>(id);
  if (at >= ops_.size()) return nullptr;
  Op &op = ops_[at];
  return op.step != Step::kFree && op.generation == id >> 32 && op.m.peer == rank ? &op : nullptr;
}

Sockets::Fetch *Sockets::fetch_of(uint64_t id, uint32_t rank) noexcept {
  const auto at = static_cast<uint32_t>(id);
  return at < fetches_.size() && fetches_[at].rank == rank && fetches_[at].generation == id >> 32 ? &fetches_[at] : nullptr;
}

void Sockets::end_op(Op &op, consort_status s, uint64_t bytes) noexcept {
  finish(op.m, s, s < 0 ? 0 : bytes);
  op.step = Step::kFree, ++op.generation;
  free_ops_.push_back(static_cast<uint32_t>(&op - ops_.data()));
}

void Sockets::end_fetch(Fetch &f, consort_status s) noexcept {
  if (s < 0) finish(f.m, s);
  else received(f.m, f.rank, f.tag, f.bytes);
  f.rank = kNone, ++f.generation;
  free_fetches_.push_back(static_cast<uint32_t>(&f - fetches_.data()));
}

}  // namespace sockets
