// messages.cpp — the way of a message: submission, turn, offer, contents, end. message.hpp has the steps.
#include <algorithm>

#include "base/last_error.hpp"
#include "graph/acquired_data.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/submit_special.hpp"
#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {
namespace {

Datum &datum_of(const Task &t) noexcept { return *Datum::of(t.pub.access[0].datum); }

// Returns the memory of a datum whose bytes lie in one run, as in any other replica of it with one run; else nullptr.
void *run_of(const Datum &d, const void *view) noexcept {
  const consort_interface_ops &ops = *d.layout->ops;
  consort_extent extent[2];
  if (ops.flags & (CONSORT_IF_DYNAMIC | CONSORT_IF_PACK_ONLY) || ops.extents(d.shape(), view, extent, 2) != 1 ||
      extent[0].bytes != d.pub.bytes)
    return nullptr;
  return reinterpret_cast<void *>(extent[0].addr.base + extent[0].addr.off);
}

uint64_t packed_bytes(const Datum &d, const void *view) noexcept {
  return d.pub.bytes ? d.layout->ops->packed_bytes(d.shape(), view) : 0;
}

consort_status pack(const Datum &d, const void *view, void *to, uint64_t bytes) noexcept {
  clear_error();
  const consort_status s = bytes ? d.layout->ops->pack(d.shape(), view, to, bytes) : CONSORT_OK;
  return s < 0 && !*error_text() ? set_error(s, "its layout does not pack it") : s;
}

consort_status unpack(const Datum &d, void *view, const void *from, uint64_t bytes) noexcept {
  clear_error();
  const consort_status s = bytes ? d.layout->ops->unpack(d.shape(), view, from, bytes) : CONSORT_OK;
  return s < 0 && !*error_text() ? set_error(s, "its layout refuses the contents that have come") : s;
}

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), std::min(text.size(), kMostPayload)));
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

}  // namespace

// -- submission --------------------------------------------------------------------------------------------------

consort_status Job::check_peer(uint32_t r) const noexcept {
  if (r >= ranks()) return set_errorf(CONSORT_E_INVAL, "the job has no rank %u: there are %u, from 0", r, ranks());
  return r == rank() ? set_errorf(CONSORT_E_INVAL, "rank %u is this rank: a message goes to another one", r) : CONSORT_OK;
}

consort_status Job::submit(ThreadState &thread, consort_data_id data, Message::Kind kind, const MessageKey &key,
                           const Options &options, TaskName *name) {
  Message *m;
  uint64_t *count = nullptr;
  {
    const std::lock_guard guard(mutex_);
    auto made = std::make_unique<Message>(kind, ++last_id_, key);
    if (kind == Message::Kind::kBarrier) made->key.tag = barriers_++;
    else made->key.number = (*(count = &counts_[{key.peer, key.cls, kind == Message::Kind::kSend, key.tag}]))++;
    made->is_confirmed = options.is_confirmed;
    m = made.get();
    messages_.emplace(m->id, std::move(made));
  }
  const uint32_t mode = kind == Message::Kind::kReceive ? CONSORT_M_W : CONSORT_M_R;
  const consort_status s = submit_message(
      rt_, thread, {data, mode, options.group, options.done, options.done_arg, m, Message::kPlace}, name);
  if (s >= 0) return s;
  const std::lock_guard guard(mutex_);
  if (kind == Message::Kind::kBarrier && barriers_ == m->key.tag + 1) --barriers_;
  if (count && *count == m->key.number + 1) --*count;
  messages_.erase(m->id);
  return s;
}

consort_status Job::send(ThreadState &thread, consort_data_id data, uint32_t to, MessageKey::Class cls, uint64_t tag,
                         const Options &options, TaskName *name) noexcept try {
  if (const consort_status s = check_peer(to); s < 0) return s;
  return submit(thread, data, Message::Kind::kSend, {to, cls, tag, 0}, options, name);
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a message");
}

consort_status Job::receive(ThreadState &thread, consort_data_id data, uint32_t from, MessageKey::Class cls, uint64_t tag,
                            const Options &options, TaskName *name) noexcept try {
  if (const consort_status s = check_peer(from); s < 0) return s;
  return submit(thread, data, Message::Kind::kReceive, {from, cls, tag, 0}, options, name);
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a message");
}

consort_status Job::barrier(ThreadState &thread, TaskName *name) noexcept try {
  return submit(thread, {0}, Message::Kind::kBarrier, {}, {}, name);
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a barrier");
}

// -- the turn ----------------------------------------------------------------------------------------------------

// True: the message waits for another rank or for memory, and resume_special() or end() follows.
bool Job::bring(Task *t) noexcept {
  Message &m = Message::of(*t);
  {
    const std::lock_guard guard(mutex_);
    m.task = t;
    try {
      if (m.kind == Message::Kind::kBarrier) return begin_barrier(m);
      if (m.kind == Message::Kind::kReceive ? !expect(m) : offer_unstaged(m)) return m.status >= 0;
    } catch (const std::bad_alloc &) {
      m.status = CONSORT_E_NOMEM;
    }
    if (m.status < 0 || m.has_no_contents()) return false;
    m.state = Message::State::kStaging;
  }
  return rt_.data.placement && rt_.graph_memory->stage_home(t) == Outcome::kPending;
}

// Returns whether the receive may be staged or end. False: it waits for its offer or for room, or status < 0.
bool Job::expect(Message &m) {
  if (auto found = matching_.expect(m.key, &m)) {
    m.arrived = std::move(*found);
    return m.has_no_contents() || take_room(m);
  }
  m.state = Message::State::kWaiting;
  if (!peers_[m.key.peer].is_lost) return false;
  matching_.forget(m.key);
  m.status = CONSORT_E_PEER_LOST, m.why = lost_text(m.key.peer);
  return false;
}

// Where memory is limited, long contents are offered before they are staged. Not if they are invalid: that is told at the
// turn. Returns whether the offer was sent.
bool Job::offer_unstaged(Message &m) {
  Datum &d = datum_of(*m.task);
  const uint32_t state = d.state.load(std::memory_order_relaxed) & data_state::kPlain;
  if (!is_limited_ || d.pub.bytes <= kMostPayload || peers_[m.key.peer].is_lost || state != data_state::kValid ||
      (d.layout->ops->flags & CONSORT_IF_DYNAMIC))
    return false;
  Control c;
  c.kind = Control::kOffer;
  c.bytes = d.pub.bytes;
  m.state = Message::State::kWaiting;
  offer(m, c, {});
  return true;
}

KindTable::Turn Job::ready(ThreadState &, Task *t) noexcept {
  Message &m = Message::of(*t);
  if (m.kind == Message::Kind::kBarrier && m.status >= 0) return done(m);
  if (m.status < 0) return give_up(m, set_error(m.status, m.why.empty() ? "no memory for a message" : m.why));
  if (m.has_no_contents()) {
    try {
      m.why = "rank " + std::to_string(m.key.peer) + " on host " + peers_[m.key.peer].host + " has no contents: " + text_of(m.arrived.payload);
    } catch (const std::bad_alloc &) {
    }
    return give_up(m, set_error(m.arrived.offer.status, m.why));
  }
  Datum &d = datum_of(*t);
  if (const consort_status s = check_held(rt_, *t, d, t->pub.access[0].mode); s < 0) return give_up(m, s);
  m.view = const_cast<void *>(rt_.graph_memory->held_view(*t, d));
  return m.kind == Message::Kind::kSend ? begin_send(m, d) : begin_receive(m, d);
}

KindTable::Turn Job::done(Message &m) noexcept {
  if (m.kind == Message::Kind::kReceive) m.task->bits |= kOdd;  // its datum is valid from here on
  forget(m);
  return {true};
}

// The error text is set. Tells the other rank, if it waits.
KindTable::Turn Job::give_up(Message &m, consort_status s) noexcept {
  const LastError why;
  Task *const t = m.task;
  Datum *const d = t->pub.naccess ? &datum_of(*t) : nullptr;
  consort_status root = s;
  if (const auto blame = d && m.kind == Message::Kind::kSend ? rt_.data.blame(*d) : nullptr) root = blame->root().status;
  refuse(m, root, why.text());
  record_failure(rt_, t, s, why.text(), d, CONSORT_NONE, nullptr);
  forget(m);
  return {true, s};
}

void Job::refuse(Message &m, consort_status s, const char *why) noexcept {
  const std::lock_guard guard(mutex_);
  const bool is_receive = m.kind == Message::Kind::kReceive;
  const uint16_t flags = m.arrived.offer.flags;
  if (m.kind == Message::Kind::kBarrier || peers_[m.key.peer].is_lost) return;
  if (is_receive && !m.arrived.offer.id) return lost(m.key.peer, "cannot be answered: there is no memory");
  if (is_receive && (m.has_no_contents() || (flags & Control::kPayload && !(flags & Control::kConfirm)))) return;
  try {
    Control c;
    c.kind = Control::kTaken;
    c.flags = Control::kFailed, c.status = s, c.id = m.arrived.offer.id;
    c.answer = m.answer;  // of a send that the receiver waits for
    if (is_receive) send(m.key.peer, c, bytes_of(why)), connection_->flush();
    else offer(m, c, bytes_of(why));
  } catch (const std::bad_alloc &) {
    lost(m.key.peer, "cannot be told of a failure: there is no memory");
  }
}

// -- a send ------------------------------------------------------------------------------------------------------

void Job::offer(Message &m, Control c, std::span<const std::byte> payload) {
  c.kind = Control::kOffer;
  if (m.key.cls == MessageKey::kExplicit) c.flags |= Control::kExplicit;
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

// -- a receive ---------------------------------------------------------------------------------------------------

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
  const MessageKey key{r, c.flags & Control::kExplicit ? MessageKey::kExplicit : MessageKey::kInferred, c.tag, c.number};
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
      connection_->receive_contents(m.key.peer, m.id, m.id, m.is_contiguous ? run : m.packed.get(), m.bytes);
      Control go;
      go.kind = Control::kGo;
      go.id = offer.id, go.answer = m.id;
      if (m.is_contiguous) go.flags = Control::kContiguous;
      send(m.key.peer, go);
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

// -- what has come -----------------------------------------------------------------------------------------------

void Job::send(uint32_t r, Control c, std::span<const std::byte> payload) {
  Peer &p = peers_[r];
  if (p.is_lost) return;
  c.freed = p.freed;
  connection_->send(r, c, payload);
  p.freed = 0;
}

Message *Job::find(uint64_t id, uint32_t r, Message::Kind kind) noexcept {
  const auto at = messages_.find(id);
  return at != messages_.end() && at->second->kind == kind && at->second->key.peer == r ? at->second.get() : nullptr;
}

void Job::arrived(uint32_t r, const Control &c, std::span<const std::byte> payload) {
  Peer &p = peers_[r];
  if (p.is_lost) return;
  p.credits = std::min(kCredits, p.credits + std::min(c.freed, kCredits));
  switch (c.kind) {
    case Control::kOffer: return arrived_offer(r, c, payload);
    case Control::kGo: return arrived_go(r, c);
    case Control::kTaken: return arrived_taken(r, c, payload);
    case Control::kBarrier: return arrived_barrier(c, payload);
    case Control::kCredit: return;
    case Control::kBye: p.has_left = true;
  }
}

void Job::moved(uint64_t id, consort_status s, uint64_t bytes) {
  const auto at = messages_.find(id);
  if (at == messages_.end()) return;
  Message &m = *at->second;
  if (m.status < 0) return fail_at_end(m, m.status, std::move(m.why));
  if (s == CONSORT_E_PEER_LOST && peers_[m.key.peer].how.empty())
    return fail_at_end(m, s, "rank " + std::to_string(m.key.peer) + " on host " + peers_[m.key.peer].host + " is lost");
  if (s < 0) return fail_at_end(m, s, s == CONSORT_E_PEER_LOST ? lost_text(m.key.peer) : "the transport has not moved its contents");
  if (m.kind == Message::Kind::kReceive && bytes != m.bytes)
    return fail_at_end(m, CONSORT_E_IO, "its contents came with another length than they were offered");
  actions_.push_back({m.kind == Message::Kind::kReceive && m.packed ? Action::kUnpack : Action::kEnd, &m});
}

void Job::fail_at_end(Message &m, consort_status s, std::string why) {
  m.status = s, m.why = std::move(why);
  m.state = Message::State::kStaging;  // nothing else ends it
  actions_.push_back({Action::kEnd, &m});
  parker_.wake();
}

void Job::act(ThreadState &thread, Action a) noexcept {
  Message &m = *a.message;
  Task *const t = m.task;
  switch (a.what) {
    case Action::kResume:
      if (m.status < 0 || m.has_no_contents() || !rt_.data.placement || rt_.graph_memory->stage_home(t) != Outcome::kPending)
        resume_special(rt_, thread, t);
      return;
    case Action::kSendContents: return act_send(m, datum_of(*t));
    case Action::kUnpack:
      if (const consort_status s = unpack(datum_of(*t), m.view, m.packed.get(), m.bytes); s < 0) {
        m.status = s;
        try {
          m.why = error_text();
        } catch (const std::bad_alloc &) {
        }
      }
      [[fallthrough]];
    case Action::kEnd: return end(thread, m);
  }
}

void Job::end(ThreadState &thread, Message &m) noexcept {
  Task *const t = m.task;
  const consort_status s = m.status;
  if (s < 0) record_failure(rt_, t, s, m.why, t->pub.naccess ? &datum_of(*t) : nullptr, CONSORT_NONE, nullptr);
  else if (m.kind == Message::Kind::kReceive) t->bits |= kOdd;
  forget(m);
  (void)complete(rt_, thread, t, s, nullptr);
}

void Job::forget(Message &m) noexcept {
  const std::lock_guard guard(mutex_);
  give_room(m);
  if (m.kind == Message::Kind::kBarrier) open_barriers_.erase(m.key.tag);
  messages_.erase(m.id);
}

std::string Job::describe(TaskName name) {
  const std::lock_guard guard(mutex_);
  for (const auto &[id, m] : messages_) {
    if (!m->task || m->task->pub.id != name) continue;
    if (m->kind == Message::Kind::kBarrier) return "the barrier waits for other ranks, in round " + std::to_string(m->key.number);
    const std::string peer = "rank " + std::to_string(m->key.peer) + " on host " + peers_[m->key.peer].host + ", tag " + std::to_string(m->key.tag);
    const bool is_send = m->kind == Message::Kind::kSend;
    if (m->state == Message::State::kMoving) return (is_send ? "its contents go to " : "its contents come from ") + peer;
    if (m->state == Message::State::kWaiting) return (is_send ? "the message is offered to " : "the message is awaited from ") + peer;
  }
  return {};
}

void set_message_kind(Kinds &kinds) noexcept {
  static constexpr KindTable message{
      .label = [](const Task &t) noexcept {  // also when the Message is gone
        return !t.pub.naccess ? "barrier" : t.pub.access[0].mode == CONSORT_M_W ? "receive" : "send";
      },
      .bring = [](Core &core, Task *t) noexcept { return distribution_of(core).job->bring(t); },
      .ready = [](Core &core, ThreadState &thread, Task *t, ReadyBatch &) noexcept {
        return distribution_of(core).job->ready(thread, t);
      }};
  kinds.set(TaskKind::kMessage, message);
}

}  // namespace consort
