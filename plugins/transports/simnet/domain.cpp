#include "domain.hpp"

#include <algorithm>
#include <utility>

namespace simnet {

Domain::Domain(const Network &net, uint32_t ranks) : wires_(net, ranks), ranks_(ranks) {}

// -- turns ------------------------------------------------------------------------------------------------------------

void Domain::set_wake(uint32_t rank, uint64_t at) {
  Rank &r = ranks_[rank];
  if (r.state != Rank::kWaits || at == r.wake) return;
  wakes_.erase({r.wake, rank});
  r.wake = at;
  wakes_.insert({at, rank});
}

void Domain::wait(uint32_t rank, uint64_t now, uint64_t until, std::vector<Post> posts) {
  Rank &r = ranks_[rank];
  if (r.state == Rank::kGone) return;
  if (r.state == Rank::kAbsent) ++come_, ++present_;
  r.state = Rank::kWaits;
  r.now = std::max(now, clock_);
  r.wake = r.reports.empty() ? std::max(until, r.now) : r.now;
  wakes_.insert({r.wake, rank});
  if (running_ == rank) running_ = kNone;
  take(rank, posts);
}

std::optional<Grant> Domain::next() {
  if (running_ != kNone || come_ < ranks_.size()) return std::nullopt;
  for (;;) {
    if (wakes_.empty() && events_.empty()) return std::nullopt;
    const uint64_t wake = wakes_.empty() ? CONSORT_NEVER : wakes_.begin()->first;
    if (!events_.empty() && events_.top().at <= wake) {
      const Event e = events_.top();
      events_.pop();
      clock_ = std::max(clock_, e.at);
      ++deadlock_;
      perform(e);
      continue;
    }
    auto chosen = wakes_.begin();
    if (wake == CONSORT_NEVER) {  // a deadlock: each rank is told once, then again in turn
      const auto untold = std::find_if(wakes_.begin(), wakes_.end(), [&](const auto &w) { return ranks_[w.second].stuck != deadlock_; });
      chosen = untold != wakes_.end() ? untold : wakes_.lower_bound({CONSORT_NEVER, after_});
      if (chosen == wakes_.end()) chosen = wakes_.begin();
    } else {
      clock_ = std::max(clock_, wake);
      ++deadlock_;
    }
    Grant g{chosen->second, wake, {}};
    wakes_.erase(chosen);
    Rank &r = ranks_[g.rank];
    r.state = Rank::kRuns, r.stuck = deadlock_;
    running_ = g.rank, after_ = g.rank + 1;
    g.reports.swap(r.reports);
    return g;
  }
}

void Domain::leave(uint32_t rank, std::vector<Post> posts) {
  take(rank, posts);
  lost(rank);
}

void Domain::lost(uint32_t rank) {
  Rank &r = ranks_[rank];
  if (r.state == Rank::kGone) return;
  if (r.state == Rank::kAbsent) ++come_;
  else --present_;
  if (r.state == Rank::kWaits) wakes_.erase({r.wake, rank});
  if (running_ == rank) running_ = kNone;
  r.state = Rank::kGone;
  r.reports.clear(), r.receives.clear(), r.arrived.clear();
  if (!r.under_way) notice(rank);
}

// Nothing comes from it any more.
void Domain::notice(uint32_t rank) {
  if (present_) events_.push({clock_ + kNotice, number_++, Event::kGone, nullptr, rank});
}

// -- messages ---------------------------------------------------------------------------------------------------------

void Domain::add(Event::What what, uint64_t at, MessageRef m) { events_.push({at, number_++, what, std::move(m), kNone}); }

void Domain::take(uint32_t rank, std::vector<Post> &posts) {
  Rank &r = ranks_[rank];
  for (Post &p : posts) {
    if (p.kind == Post::kReceive) {
      if (p.peer != CONSORT_NONE && (p.peer >= ranks_.size() || ranks_[p.peer].is_told_lost)) {
        tell(rank, {Report::kDone, CONSORT_E_PEER_LOST, p.peer, p.op, p.tag, 0, {}}, p.at);
        continue;
      }
      r.receives.push_back({p.peer, p.op, p.tag, p.ignore, p.bytes});
    } else if (p.kind == Post::kCancel) {
      const auto at = std::find_if(r.receives.begin(), r.receives.end(), [&](const Receive &x) { return x.op == p.op; });
      if (at == r.receives.end()) continue;
      tell(rank, {Report::kDone, CONSORT_E_CANCELLED, rank, p.op, at->tag, 0, {}}, p.at);
      r.receives.erase(at);
    } else {
      const uint64_t at = std::max(p.at, clock_);
      const bool is_refused = p.peer >= ranks_.size() || ranks_[p.peer].state == Rank::kGone;
      auto m = std::make_shared<Message>();
      m->from = rank, m->to = p.peer;
      m->post = std::move(p);
      if (is_refused) {
        add(Event::kRefused, at, std::move(m));
        continue;
      }
      m->path = wires_.path(m->from, m->to);
      flying_[uint64_t{m->from} << 32 | m->to].push_back(m);
      ++r.under_way, ++messages_, bytes_ += m->post.bytes;
      add(Event::kHop, at, std::move(m));
    }
  }
  match(rank);
}

void Domain::perform(const Event &e) {
  if (e.what == Event::kGone) return tell_gone(e.rank, e.at);
  Message &m = *e.message;
  switch (e.what) {
    case Event::kHop: {
      const Wires::Hop &hop = m.path.hops[m.hop];
      const Wires::Passage passage = wires_.pass(hop.wire, e.at, m.post.bytes);
      m.tail = std::max(m.tail, passage.tail) + hop.latency_ns;
      if (m.hop == 0) add(Event::kSent, passage.tail, e.message);
      const bool is_last = ++m.hop == m.path.n;
      return add(is_last ? Event::kArrive : Event::kHop, is_last ? m.tail : passage.head + hop.latency_ns, e.message);
    }
    case Event::kSent: return tell(m.from, {Report::kDone, CONSORT_OK, m.to, m.post.op, m.post.tag, m.post.bytes, {}}, e.at);
    case Event::kRefused: return tell(m.from, {Report::kDone, CONSORT_E_PEER_LOST, m.to, m.post.op, m.post.tag, 0, {}}, e.at);
    case Event::kArrive: return arrive(e.message);
    case Event::kGone: return;
  }
}

void Domain::arrive(const MessageRef &m) {
  const auto pair = flying_.find(uint64_t{m->from} << 32 | m->to);
  std::erase(pair->second, m);
  if (pair->second.empty()) flying_.erase(pair);
  if (ranks_[m->to].state != Rank::kGone) {
    auto &arrived = ranks_[m->to].arrived;  // those of one sender in the order of posting
    arrived.insert(std::find_if(arrived.begin(), arrived.end(), [&](const MessageRef &o) { return o->from == m->from && o->post.op > m->post.op; }), m);
    match(m->to);
  }
  Rank &from = ranks_[m->from];
  if (!--from.under_way && from.state == Rank::kGone) notice(m->from);
}

// Whether an older message between these ranks, which is still on its way, would fit the receive.
bool Domain::is_overtaking(const Message &m, const Receive &r) const {
  const auto pair = flying_.find(uint64_t{m.from} << 32 | m.to);
  if (pair == flying_.end()) return false;
  return std::any_of(pair->second.begin(), pair->second.end(), [&](const MessageRef &other) {
    return other->post.at <= m.post.at && other->post.op < m.post.op && fits(r, other->from, other->post.tag);
  });
}

void Domain::match(uint32_t rank) {
  Rank &r = ranks_[rank];
  for (auto m = r.arrived.begin(); m != r.arrived.end();) {
    const auto here = m++;
    match_one(r, here);
  }
}

bool Domain::match_one(Rank &r, std::list<MessageRef>::iterator at) {
  Message &m = **at;
  const auto receive = std::find_if(r.receives.begin(), r.receives.end(), [&](const Receive &x) { return fits(x, m.from, m.post.tag); });
  if (receive == r.receives.end() || is_overtaking(m, *receive)) return false;
  const consort_status s = m.post.bytes > receive->bytes ? CONSORT_E_TRUNCATED : CONSORT_OK;
  tell(m.to, {Report::kDone, s, m.from, receive->op, m.post.tag, m.post.bytes, std::move(m.post.contents)}, clock_);
  r.receives.erase(receive);
  r.arrived.erase(at);
  return true;
}

void Domain::tell(uint32_t rank, Report report, uint64_t at) {
  Rank &r = ranks_[rank];
  if (r.state == Rank::kGone) return;
  r.reports.push_back(std::move(report));
  set_wake(rank, std::min(r.wake, std::max(at, r.now)));
}

void Domain::tell_gone(uint32_t rank, uint64_t at) {
  if (std::exchange(ranks_[rank].is_told_lost, true)) return;
  for (uint32_t other = 0; other < ranks_.size(); ++other) {
    Rank &o = ranks_[other];
    if (other == rank || o.state == Rank::kGone) continue;
    for (auto r = o.receives.begin(); r != o.receives.end();) {
      const auto here = r++;
      if (here->peer != rank) continue;
      tell(other, {Report::kDone, CONSORT_E_PEER_LOST, rank, here->op, here->tag, 0, {}}, at);
      o.receives.erase(here);
    }
    tell(other, {Report::kLost, CONSORT_E_PEER_LOST, rank, 0, 0, 0, {}}, at);
  }
}

// -- the report -------------------------------------------------------------------------------------------------------

std::string Domain::report() const {
  std::string all = "network " + std::to_string(messages_) + " " + std::to_string(bytes_) + "\n";
  for (const Wires::Use &u : wires_.uses())
    if (u.messages)
      all += "wires " + u.name + " " + std::to_string(u.wires) + " " + std::to_string(u.messages) + " " + std::to_string(u.bytes) + " " +
             std::to_string(u.busiest_ns) + "\n";
  return all;
}

}  // namespace simnet
