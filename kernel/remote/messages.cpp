// messages.cpp — what sends, receives and barriers share: submission, turn, failure, end. message.hpp has the steps.
#include <algorithm>

#include "base/last_error.hpp"
#include "graph/acquired_data.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/submit_special.hpp"
#include "remote/contents.hpp"
#include "remote/distribution.hpp"
#include "remote/job.hpp"

namespace consort {
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

consort_status Job::exchange(ThreadState &thread, consort_data_id data, Message::Kind kind, const MessageKey &key,
                             const Options &options, TaskName *name) noexcept try {
  if (const consort_status s = check_peer(key.peer); s < 0) return s;
  return submit(thread, data, kind, key, options, name);
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a message");
}

consort_status Job::send(ThreadState &thread, consort_data_id data, uint32_t to, MessageKey::Class cls, uint64_t tag,
                         const Options &options, TaskName *name) noexcept {
  return exchange(thread, data, Message::Kind::kSend, {to, cls, tag, 0}, options, name);
}

consort_status Job::receive(ThreadState &thread, consort_data_id data, uint32_t from, MessageKey::Class cls, uint64_t tag,
                            const Options &options, TaskName *name) noexcept {
  return exchange(thread, data, Message::Kind::kReceive, {from, cls, tag, 0}, options, name);
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
    case Control::kBye: return p.has_left = true, answer_bye(r);
    case Control::kSeen: p.has_seen = true;
  }
}

void Job::moved(uint64_t id, consort_status s, uint64_t bytes) {
  const auto at = messages_.find(id);
  if (at == messages_.end()) return;
  Message &m = *at->second;
  m.state = Message::State::kStaging;  // nothing else ends it
  if (m.kind == Message::Kind::kReceive && peers_[m.key.peer].has_left) answer_bye(m.key.peer);
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
