// shm: posting of messages, what records of a peer cause, reporting by poll().
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "copies.hpp"
#include "names.hpp"
#include "shm.hpp"

namespace shm {
namespace {

constexpr uint32_t kRecords = 256;  // of one peer in one poll()
constexpr uint32_t kTurns = 32;     // calls of poll() from one look at the sockets to the next

Shape shape_of(const Rows &rows) noexcept {
  return {reinterpret_cast<uint64_t>(rows.at), rows.bytes, rows.step, rows.rows, 0};
}
Record record(uint16_t what, uint64_t op) noexcept {
  Record r{};
  r.kind = what, r.op = op;
  return r;
}
// What a peer may answer; anything else is not believed.
bool is_answer(int64_t s) noexcept {
  return s == CONSORT_OK || s == CONSORT_E_INVAL || s == CONSORT_E_STALE || s == CONSORT_E_CANCELLED;
}

}  // namespace

// -- posting ----------------------------------------------------------------------------------------------------------

uint32_t Shm::post(Messages messages) noexcept {
  const std::lock_guard guard(mutex_);
  uint32_t n = 0;
  while (n < messages.size() && take(messages[n])) ++n;
  wake_peers();
  return n;
}

// False: no capacity now; nothing has been done.
bool Shm::take(const consort_msg &m) {
  if (m.kind == CONSORT_MSG_CANCEL) return cancel(m.cookie), true;
  uint32_t &owed = told_.owed(m);
  if (owed == settings_.depth) return false;
  const consort_status s = judge(m);
  if (s == CONSORT_OK && m.kind != CONSORT_MSG_RECV && !(m.kind == CONSORT_MSG_SEND ? send(m) : reach(m))) return false;
  ++owed;
  if (s < 0)
    finish(m, s);
  else if (m.kind == CONSORT_MSG_RECV)
    receive(m);
  return true;
}

consort_status Shm::judge(const consort_msg &m) const noexcept {
  const consort_status s = judge_form(m, kInline, links_.size());
  if (s < 0 || is_from_any(m)) return s;
  if (links_[m.peer].state != State::kUp) return CONSORT_E_PEER_LOST;
  const bool reaches = m.kind == CONSORT_MSG_PUT || m.kind == CONSORT_MSG_GET;
  return reaches && (!m.rkey || m.nrkey != sizeof(Key)) ? CONSORT_E_INVAL : CONSORT_OK;
}

uint64_t Shm::id_of(const Op &op) const noexcept {
  return uint64_t{op.generation} << 32 | static_cast<uint64_t>(&op - ops_.data());
}

// The operation that a peer names; nullptr: there is none, or not of this peer.
Shm::Op *Shm::op_of(uint64_t id, uint32_t rank) noexcept {
  const uint32_t at = static_cast<uint32_t>(id);
  if (at >= ops_.size()) return nullptr;
  Op &op = ops_[at];
  return op.is_used && op.generation == id >> 32 && op.m.peer == rank ? &op : nullptr;
}

bool Shm::send(const consort_msg &m) {
  Link &l = links_[m.peer];
  const Rows data = local_of(m);
  const uint64_t n = data.total();
  l.must_wake = true;
  if (n <= kShort && l.shorts_sent - l.out.head()->freed.load(std::memory_order_acquire) < settings_.unexpected) {
    Record r = record(kShortSend, 0);
    r.tag = m.tag, r.payload = static_cast<uint32_t>(n);
    char *const to = l.out.claim(r.payload);
    if (!to) return false;
    std::memcpy(to, &r, sizeof r);
    move_part<false>(data, 0, n, to + sizeof r);
    l.out.commit(r.payload);
    ++l.shorts_sent;
    finish(m, CONSORT_OK, n);
    return true;
  }
  Op &op = ops_[free_ops_.back()];
  Record r = record(kSend, id_of(op));
  r.tag = m.tag, r.shape = shape_of(data);
  if (m.flags & CONSORT_MF_INLINE) {
    move_part<false>(data, 0, n, op.bytes);
    r.shape = shape_of({op.bytes, n, 1, 0});
  }
  if (!l.out.write(r)) return false;
  free_ops_.pop_back();
  op.m = m, op.is_used = true, op.is_cancelled = op.is_granted = false;
  if (m.flags & CONSORT_MF_INLINE)
    op.m.local = {reinterpret_cast<uint64_t>(op.bytes), 0}, op.m.bytes = n, op.m.rows = 1;
  return true;
}

// PUT and GET: the target looks at key and bounds.
bool Shm::reach(const consort_msg &m) {
  Link &l = links_[m.peer];
  Op &op = ops_[free_ops_.back()];
  const Rows data = local_of(m);
  std::memcpy(&op.key, m.rkey, sizeof op.key);
  Record r = record(m.kind == CONSORT_MSG_PUT ? kPut : kGet, id_of(op));
  r.tag = m.tag, r.shape = shape_of(data);
  if (m.flags & CONSORT_MF_NOTIFY) r.flags |= kNotifies;
  struct {
    Reach reach;
    char bytes[kInline];
  } p;
  p.reach = {op.key, m.remote, m.remote_step};
  r.payload = sizeof p.reach;
  if (r.kind == kPut && data.total() <= kInline) {
    r.flags |= kCarried;
    r.payload += static_cast<uint32_t>(data.total());
    move_part<false>(data, 0, data.total(), p.bytes);
  }
  l.must_wake = true;
  if (!l.out.write(r, &p)) return false;
  free_ops_.pop_back();
  op.m = m, op.is_used = true, op.is_cancelled = op.is_granted = false;
  return true;
}

void Shm::receive(const consort_msg &m) noexcept {
  for (auto a = arrived_.begin(); a != arrived_.end(); ++a) {
    if (!is_match(m, a->r.tag, a->rank)) continue;
    Link &l = links_[a->rank];
    const uint32_t rank = a->rank, slot = a->slot;
    const Record r = a->r;
    move_node(spare_arrived_, arrived_, a);
    const Rows to = local_of(m);
    if (r.kind == kShortSend) {
      char *const from = l.kept.get() + size_t{slot} * kShort;
      move_part<true>(to, 0, std::min<uint64_t>(r.payload, to.total()), from);
      l.free_slots.push_back(slot);
      l.in.head()->freed.store(++l.shorts_freed, std::memory_order_release);
      received(m, r, rank);
    } else {
      --l.announced;
      if (!begin(rank, m, r, to, std::min(to.total(), r.shape.total()), {})) lose(rank, true);
    }
    return;
  }
  spare_receives_.front() = m;
  move_node(receives_, spare_receives_, spare_receives_.begin());
}

// A RECV that waits ends here; a SEND is asked back from its peer, which answers by its end.
void Shm::cancel(uint64_t cookie) noexcept {
  for (auto r = receives_.begin(); r != receives_.end(); ++r)
    if (r->cookie == cookie) {
      finish(*r, CONSORT_E_CANCELLED);
      return move_node(spare_receives_, receives_, r);
    }
  for (Op &op : ops_)
    if (op.is_used && !op.is_cancelled && op.m.kind == CONSORT_MSG_SEND && op.m.cookie == cookie) {
      Link &l = links_[op.m.peer];
      op.is_cancelled = l.out.write(record(kCancel, id_of(op)));
      l.must_wake = true;
      return;
    }
}

// -- what a peer's records cause; false: the peer does not keep to the protocol ------------------------------------------

bool Shm::is_waiting(Link &l) const noexcept {
  return !l.in.is_empty() || l.is_dead || l.in.head()->closed.load(std::memory_order_acquire);
}

// False: the link is over. A peer that has left is lost when all that it wrote has been read.
bool Shm::drain(uint32_t rank) noexcept {
  Link &l = links_[rank];
  const bool has_left = l.is_dead || l.in.head()->closed.load(std::memory_order_acquire);
  Record r;
  const char *payload;
  for (uint32_t k = 0; k < kRecords; ++k) {
    const RingReader::Found found = l.in.peek(r, payload);
    if (found == RingReader::Found::kNothing) {
      if (!has_left) return true;
      return lose(rank, true), false;
    }
    if (found == RingReader::Found::kRecord && r.kind == kPut && (r.flags & kNotifies) && told_.notes >= settings_.notifications)
      return true;  // until some are polled
    if (found == RingReader::Found::kNonsense || !handle(rank, r, payload) || l.out.is_broken()) {
      complain(name(rank) + " sends what is no record of this protocol; it is treated as lost");
      return lose(rank, true), false;
    }
    l.in.pop();
  }
  return true;
}

bool Shm::handle(uint32_t rank, const Record &r, const char *payload) noexcept {
  Link &l = links_[rank];
  switch (r.kind) {
    case kShortSend:
    case kSend:
      for (auto m = receives_.begin(); m != receives_.end(); ++m) {
        if (!is_match(*m, r.tag, rank)) continue;
        const consort_msg mine = *m;
        move_node(spare_receives_, receives_, m);
        const Rows to = local_of(mine);
        if (r.kind == kSend) return begin(rank, mine, r, to, std::min(to.total(), r.shape.total()), {});
        move_part<true>(to, 0, std::min<uint64_t>(r.payload, to.total()), const_cast<char *>(payload));
        l.in.head()->freed.store(++l.shorts_freed, std::memory_order_release);
        received(mine, r, rank);
        return true;
      }
      if (r.kind == kShortSend ? l.free_slots.empty() : l.announced == settings_.depth) return false;
      spare_arrived_.front() = {r, rank, 0};
      if (r.kind == kShortSend) {
        const uint32_t slot = spare_arrived_.front().slot = l.free_slots.back();
        l.free_slots.pop_back();
        std::memcpy(l.kept.get() + size_t{slot} * kShort, payload, r.payload);
      } else {
        ++l.announced;
      }
      move_node(arrived_, spare_arrived_, spare_arrived_.begin());
      return true;
    case kPut:
      return handle_put(rank, r, payload);
    case kGet: {
      Reach reach;
      std::memcpy(&reach, payload, sizeof reach);
      const consort_status s = region_of(reach, r.shape.bytes, r.shape.rows);
      return s < 0 ? tell_peer(rank, kFinish, r.op, s)
                   : tell_peer(rank, kGrant, r.op,
                               static_cast<int64_t>(l.out.head()->epoch.load(std::memory_order_relaxed)));
    }
    case kGrant:
      return handle_grant(rank, r);
    case kFinish: {
      Op *const op = op_of(r.op, rank);
      if (!op || op->is_granted || !is_answer(static_cast<int64_t>(r.offset))) return false;
      finish(op->m, static_cast<consort_status>(r.offset), local_of(op->m).total());
      op->is_used = false, ++op->generation;
      free_ops_.push_back(static_cast<uint32_t>(op - ops_.data()));
      return true;
    }
    case kCancel:
      for (auto a = arrived_.begin(); a != arrived_.end(); ++a)
        if (a->rank == rank && a->r.kind == kSend && a->r.op == r.op) {
          move_node(spare_arrived_, arrived_, a);
          --l.announced;
          return tell_peer(rank, kFinish, r.op, CONSORT_E_CANCELLED);
        }
      return true;  // matched before
    case kPull:
    case kPullRegion:
      return answer_pull(rank, r, payload);
    default:
      return handle_data(rank, r, payload);
  }
}

// What a key says counts for nothing: the table does.
consort_status Shm::region_of(const Reach &reach, uint64_t bytes, uint32_t rows) const noexcept {
  const auto found = regions_.find(reach.key.region);
  if (reach.key.number != number_ || found == regions_.end()) return CONSORT_E_STALE;
  consort_msg m{};
  m.remote = reach.at, m.remote_step = reach.step, m.bytes = bytes, m.rows = rows;
  return is_within(m, found->second.from, found->second.bytes) ? CONSORT_OK : CONSORT_E_INVAL;
}

bool Shm::handle_put(uint32_t rank, const Record &r, const char *payload) noexcept {
  Reach reach;
  std::memcpy(&reach, payload, sizeof reach);
  if (const consort_status s = region_of(reach, r.shape.bytes, r.shape.rows); s < 0) return tell_peer(rank, kFinish, r.op, s);
  const Rows to{reinterpret_cast<char *>(reach.at.base + reach.at.off), r.shape.bytes, r.shape.rows, reach.step};
  if (!(r.flags & kCarried)) return begin(rank, {}, r, to, to.total(), reach);
  move_part<true>(to, 0, to.total(), const_cast<char *>(payload) + sizeof reach);
  return end(rank, {}, r, CONSORT_OK);
}

bool Shm::handle_grant(uint32_t rank, const Record &r) noexcept {
  Op *const op = op_of(r.op, rank);
  if (!op || op->m.kind != CONSORT_MSG_GET || op->is_granted) return false;
  op->is_granted = true;  // from here on the peer cannot end it: its memory is being written
  const Reach reach = {op->key, op->m.remote, op->m.remote_step};
  Record get = record(kGet, r.op);
  get.offset = r.offset;
  get.shape = {reach.at.base + reach.at.off, op->m.bytes, reach.step, rows_of(op->m), 0};
  return begin(rank, op->m, get, local_of(op->m), get.shape.total(), reach);
}

// Whether the peer was there, and its memory with it, until the copy that was just made had ended.
bool Shm::is_there_after_copy(Link &l) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (l.in.head()->closed.load(std::memory_order_relaxed)) return false;
  pollfd f{l.process.get(), POLLIN, 0};  // a number of a process may be given away again
  return !l.process || ::poll(&f, 1, 0) == 0;
}

// Fetches n bytes for a RECV (theirs: kSend), a PUT of the peer (kPut) or a GET of this rank (kGet): at once where the peer's
// memory can be read, or in pieces.
bool Shm::begin(uint32_t rank, const consort_msg &mine, const Record &theirs, const Rows &to, uint64_t n,
                const Reach &reach) noexcept {
  Link &l = links_[rank];
  if (n == 0) return end(rank, mine, theirs, CONSORT_OK);
  if (l.can_pull && pull(l.pid, to, theirs.shape, n) && is_there_after_copy(l)) {
    const bool is_good = theirs.kind != kGet || l.in.head()->epoch.load(std::memory_order_relaxed) == theirs.offset;
    if (is_good) return end(rank, mine, theirs, CONSORT_OK);
    Record again = record(kGet, theirs.op);  // something was unregistered there meanwhile
    again.shape = theirs.shape, again.payload = sizeof reach;
    l.must_wake = true;
    if (Op *const op = op_of(theirs.op, rank)) op->is_granted = false;
    return l.out.write(again, &reach);
  }
  const bool is_put = theirs.kind == kPut;
  if (spare_fetches_.empty() || (is_put && l.puts == settings_.depth)) {
    if (theirs.kind == kSend) finish(mine, CONSORT_E_PEER_LOST);
    return false;
  }
  l.puts += is_put;
  spare_fetches_.front() = {theirs, reach, mine, to, n, 0, 0, false};
  move_node(l.fetches, spare_fetches_, spare_fetches_.begin());
  return go_on(rank);
}

bool Shm::end(uint32_t rank, const consort_msg &mine, const Record &theirs, consort_status s) noexcept {
  if (theirs.kind == kGet) {
    Op *const op = op_of(theirs.op, rank);
    if (!op) return false;
    finish(op->m, s, s < 0 ? 0 : theirs.shape.total());
    op->is_used = false, ++op->generation;
    free_ops_.push_back(static_cast<uint32_t>(op - ops_.data()));
    return true;
  }
  if (theirs.kind == kSend) {
    received(mine, theirs, rank);
  } else if ((theirs.flags & kNotifies) && s == CONSORT_OK) {
    ++told_.notes;
    tell({ReportKind::kNotified, 0, {CONSORT_NOTIFIED, CONSORT_OK, rank, 0, 0, theirs.shape.total(), theirs.tag}});
  }
  return tell_peer(rank, kFinish, theirs.op, s);
}

bool Shm::tell_peer(uint32_t rank, uint16_t what, uint64_t op, int64_t value) noexcept {
  Record r = record(what, op);
  r.offset = static_cast<uint64_t>(value);
  links_[rank].must_wake = true;
  return links_[rank].out.write(r);
}

// Asks for the next pieces of the oldest fetch, or of the one behind it when that is complete.
bool Shm::go_on(uint32_t rank) noexcept {
  Link &l = links_[rank];
  while (!l.fetches.empty()) {
    Fetch &f = l.fetches.front();
    if (f.done == f.asked && (f.is_stale || f.done == f.total)) {
      const Fetch over = f;
      l.puts -= over.r.kind == kPut;
      move_node(spare_fetches_, l.fetches, l.fetches.begin());
      if (!end(rank, over.m, over.r, over.is_stale ? CONSORT_E_STALE : CONSORT_OK)) return false;
      continue;
    }
    while (!f.is_stale && f.asked < f.total && f.asked - f.done < uint64_t{kAhead} * kChunk) {
      const bool is_get = f.r.kind == kGet;
      Record r = record(is_get ? kPullRegion : kPull, f.r.op);
      r.offset = f.asked, r.tag = std::min<uint64_t>(kChunk, f.total - f.asked);
      if (is_get) r.shape = f.r.shape, r.payload = sizeof f.reach;
      l.must_wake = true;
      if (!l.out.write(r, is_get ? &f.reach : nullptr)) return false;
      f.asked += r.tag;
    }
    return true;
  }
  return true;
}

bool Shm::answer_pull(uint32_t rank, const Record &r, const char *payload) noexcept {
  Link &l = links_[rank];
  Record answer = record(kData, r.op);
  answer.offset = r.offset, answer.payload = static_cast<uint32_t>(r.tag);
  Rows from;
  if (r.kind == kPull) {
    const Op *const op = op_of(r.op, rank);
    if (!op || op->m.kind == CONSORT_MSG_GET) return false;
    from = local_of(op->m);
  } else {
    Reach reach;
    std::memcpy(&reach, payload, sizeof reach);
    from = {reinterpret_cast<char *>(reach.at.base + reach.at.off), r.shape.bytes, r.shape.rows, reach.step};
    if (region_of(reach, from.bytes, from.rows) < 0) answer.flags = kRefused, answer.tag = r.tag, answer.payload = 0;
  }
  if (r.offset > from.total() || r.tag > from.total() - r.offset) return false;
  char *const to = l.out.claim(answer.payload);
  if (!to) return false;
  std::memcpy(to, &answer, sizeof answer);
  move_part<false>(from, r.offset, answer.payload, to + sizeof answer);
  l.out.commit(answer.payload);
  l.must_wake = true;
  return true;
}

bool Shm::handle_data(uint32_t rank, const Record &r, const char *payload) noexcept {
  Link &l = links_[rank];
  if (l.fetches.empty()) return false;
  Fetch &f = l.fetches.front();
  const uint64_t n = std::min<uint64_t>(kChunk, f.total - f.done);
  const bool is_refused = r.flags & kRefused;
  if (r.op != f.r.op || r.offset != f.done || f.done == f.asked || r.payload != (is_refused ? 0 : n)) return false;
  if (is_refused) f.is_stale = true;
  if (!f.is_stale) move_part<true>(f.to, f.done, n, const_cast<char *>(payload));
  f.done += n;
  return go_on(rank);
}

// -- loss -------------------------------------------------------------------------------------------------------------

// Ends all that was under way with this peer; the event comes after the ends.
void Shm::lose(uint32_t rank, bool with_event) noexcept {
  Link &l = links_[rank];
  for (Op &op : ops_) {
    if (!op.is_used || op.m.peer != rank) continue;
    finish(op.m, CONSORT_E_PEER_LOST);
    op.is_used = false, ++op.generation;
    free_ops_.push_back(static_cast<uint32_t>(&op - ops_.data()));
  }
  for (auto r = receives_.begin(); r != receives_.end();) {  // receives from any rank stay
    const auto here = r++;
    if (here->peer != rank) continue;
    finish(*here, CONSORT_E_PEER_LOST);
    move_node(spare_receives_, receives_, here);
  }
  for (auto a = arrived_.begin(); a != arrived_.end();) {
    const auto here = a++;
    if (here->rank == rank) move_node(spare_arrived_, arrived_, here);
  }
  for (const Fetch &f : l.fetches)
    if (f.r.kind == kSend) finish(f.m, CONSORT_E_PEER_LOST);
  spare_fetches_.splice(spare_fetches_.end(), l.fetches);
  for (uint32_t k = 0; k < settings_.depth + settings_.unexpected; ++k) spare_arrived_.pop_front();  // what bring_up() made
  for (uint32_t k = 0; k < settings_.depth; ++k) spare_fetches_.pop_front();
  up_.erase(std::find(up_.begin(), up_.end(), rank));
  unlink(l);
  l.state = State::kLost;
  if (with_event) raise(CONSORT_EV_PEER_LOST, rank);
}

void Shm::unlink(Link &l) noexcept {
  if (l.memory) {
    l.out.head()->closed.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // before this rank's memory changes: ring.hpp
    const char one = 1;
    if (l.socket) (void)!::send(l.socket.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL);  // it may sleep
    munmap(l.memory, l.bytes);
  }
  forget(l.socket), forget(l.process);
  const uint32_t events = l.events;
  const Address theirs = l.theirs;
  l = Link{};
  l.events = events, l.theirs = theirs;
}

// -- reporting ---------------------------------------------------------------------------------------------------------

void Shm::finish(const consort_msg &m, consort_status s, uint64_t bytes) noexcept {
  tell({kind_of(m), 0, {m.cookie, s, m.peer, 0, 0, bytes, m.tag}});
}

void Shm::received(const consort_msg &m, const Record &r, uint32_t rank) noexcept {
  const uint64_t n = r.kind == kShortSend ? r.payload : r.shape.total();
  const consort_status s = n > local_of(m).total() ? CONSORT_E_TRUNCATED : CONSORT_OK;
  tell({ReportKind::kReceived, 0, {m.cookie, s, rank, 0, 0, n, r.tag}});
}

void Shm::raise(uint32_t event, uint32_t rank) noexcept {
  ++links_[rank].events;
  tell({ReportKind::kEvent, event, {0, CONSORT_OK, rank, 0, 0, 0, 0}});
}

void Shm::tell(const Report &t) noexcept {
  told_.push(t);
  if (!armed_) return;
  armed_ = false;
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0) return;  // already readable
}

void Shm::wake_peers() noexcept {
  for (const uint32_t rank : up_) {
    Link &l = links_[rank];
    if (!std::exchange(l.must_wake, false) || !l.out.must_wake() || !l.socket) continue;
    const char one = 1;
    if (::send(l.socket.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) continue;  // full: readable; closed: seen elsewhere
  }
}

uint32_t Shm::poll(std::span<consort_done> out) noexcept {
  std::unique_lock lock(mutex_);
  if (++turns_ % kTurns == 0 || armed_) {
    armed_ = false;
    look_at_sockets();
  }
  for (size_t i = 0; i < up_.size();)
    if (drain(up_[i])) ++i;
  wake_peers();
  const uint32_t n = told_.report(out, [&](const Report &t) {
    --links_[t.done.source].events;
    lock.unlock();
    host().event(t.event, token_, t.done.source);
    lock.lock();
  });
  if (complaint_.empty()) return n;
  const std::string text = std::exchange(complaint_, {});
  lock.unlock();
  host().log(1, text);
  return n;
}

}  // namespace shm
