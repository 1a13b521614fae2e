#include "remote/connection.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "base/last_error.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {

Result<std::unique_ptr<Connection>> Connection::open(ConnectionOwner &owner, const Plugin &plugin, const consort_boot &boot) {
  std::unique_ptr<Connection> c(new Connection(owner, plugin, boot.nranks));
  c->ops_ = plugin.transport();
  c->caps_.size = sizeof c->caps_;
  const std::string name = plugin.manifest->name;
  clear_error();
  const consort_status s =
      plugin_status(c->ops_->open(plugin.self, plugin.host, &boot, kToken, &c->t_, &c->caps_), name.c_str(), "open()");
  if (s < 0) return error(s, "transport '" + name + "' does not start: " + error_text());
  if (!(c->caps_.flags & CONSORT_TC_TAGGED) || c->caps_.max_message < kControlBytes)
    return error(CONSORT_E_UNSUPPORTED, "transport '" + name + "' sends no tagged messages of " + std::to_string(kControlBytes) +
                                            " bytes; choose another one (setting transport)");
  if ((c->caps_.flags & CONSORT_TC_FD) && c->ops_->event_fd) c->fd_ = c->ops_->event_fd(c->t_);
  for (uint32_t i = 0; i < kReceives; ++i) {
    c->slots_.push_back(std::make_unique<Slot>());
    c->to_receive_.push_back(c->slots_.back().get());
  }
  return c;
}

Connection::~Connection() {
  if (t_) ops_->close(t_);
}

Result<std::vector<std::byte>> Connection::address() {
  std::vector<std::byte> bytes(caps_.max_address);
  auto n = caps_.max_address;
  clear_error();
  const consort_status s = plugin_status(ops_->address(t_, bytes.data(), &n), plugin_.manifest->name, "address()");
  if (s < 0) return error(s, error_text());
  bytes.resize(n);
  return bytes;
}

Result<void> Connection::connect(uint32_t rank, std::span<const std::byte> address) {
  clear_error();
  const consort_status s = plugin_status(ops_->connect(t_, rank, address.data(), static_cast<uint32_t>(address.size())),
                                         plugin_.manifest->name, "connect()");
  if (s < 0) return error(s, "rank " + std::to_string(rank) + " is not connected: " + error_text());
  return {};
}

void Connection::event(uint32_t what, uint32_t rank) noexcept {
  const std::lock_guard guard(lock_);
  try {
    events_.push_back({what, rank});
  } catch (const std::bad_alloc &) {  // of a lost peer; its operations end with an error all the same
  }
}

consort_msg Connection::message(uint16_t kind, uint32_t rank, uint64_t cookie, uint64_t tag, const void *p,
                                uint64_t bytes) noexcept {
  consort_msg m{};
  m.kind = kind, m.peer = rank, m.cookie = cookie, m.tag = tag;
  m.local.base = reinterpret_cast<uint64_t>(p), m.bytes = bytes, m.rows = 1;
  return m;
}

void Connection::Outbox::add(Slot *slot) noexcept {
  slot->next = nullptr;
  (first ? last->next : first) = slot;
  last = slot;
}

Connection::Slot *Connection::Outbox::take() noexcept {
  Slot *const slot = first;
  first = slot->next;
  return slot;
}

void Connection::send(uint32_t rank, const Control &control, std::span<const std::byte> payload) {
  if (free_.empty()) {
    free_.reserve(slots_.size() + 1);  // each slot fits in again
    auto made = std::make_unique<Slot>();
    slots_.push_back(std::move(made));
    free_.push_back(slots_.back().get());
  }
  Slot *const slot = free_.back();
  out_[rank].add(slot);
  free_.pop_back();
  ++controls_out_, ++controls_waiting_;
  Control c = control;
  c.payload = static_cast<uint32_t>(payload.size());
  encode(c, std::span<std::byte, kControlHead>(slot->data, kControlHead));
  if (!payload.empty()) std::memcpy(slot->data + kControlHead, payload.data(), payload.size());
  slot->rank = rank, slot->bytes = static_cast<uint32_t>(kControlHead + payload.size()), slot->waits = false;
}

void Connection::send_contents(uint32_t rank, uint64_t cookie, uint64_t tag, const void *p, uint64_t bytes) {
  sends_.push_back(message(CONSORT_MSG_SEND, rank, cookie << 2 | kContentsOut, tag | kContents, p, bytes));
}

// Receives and their kGo wait in one order, so no kGo of a receive that was taken stands behind one that waits.
void Connection::receive_contents(uint32_t rank, uint64_t cookie, uint64_t tag, void *p, uint64_t bytes, const Control &go) {
  receives_.push_back({message(CONSORT_MSG_RECV, rank, cookie << 2 | kContentsIn, tag | kContents, p, bytes), nullptr});
  try {
    send(rank, go);
  } catch (const std::bad_alloc &) {
    receives_.pop_back();
    throw;
  }
  receives_.back().go = out_[rank].last;
  receives_.back().go->waits = true;
}

void Connection::cancel(uint64_t cookie) {  // behind the receive, if that waits here
  receives_.push_back({message(CONSORT_MSG_CANCEL, 0, cookie << 2 | kContentsIn, 0, nullptr, 0), nullptr});
}

bool Connection::post(const consort_msg &m) noexcept { return ops_->post(t_, &m, 1) == 1; }

bool Connection::post_receives() noexcept {
  bool any = false;
  while (!to_receive_.empty()) {
    Slot *const slot = to_receive_.back();
    consort_msg m = message(CONSORT_MSG_RECV, CONSORT_NONE, reinterpret_cast<uint64_t>(slot) | kControlIn, 0, slot->data,
                            kControlBytes);
    m.ignore = ~kContents;
    if (!post(m)) break;
    to_receive_.pop_back(), any = true;
  }
  for (; !receives_.empty() && post(receives_.front().m); receives_.pop_front(), any = true)
    if (Slot *const go = receives_.front().go) go->waits = false;
  return any;
}

bool Connection::post_controls(bool *any) noexcept {
  for (size_t i = 0; i < out_.size() && controls_waiting_; ++i) {
    Outbox &box = out_[next_];
    for (; box.first && box.in_flight < kPerRank; box.take(), --controls_waiting_, ++box.in_flight, *any = true) {
      Slot *const slot = box.first;
      if (slot->waits) break;
      if (!post(message(CONSORT_MSG_SEND, slot->rank, reinterpret_cast<uint64_t>(slot) | kControlOut, 0, slot->data, slot->bytes)))
        return false;  // this rank's turn stays
    }
    next_ = next_ + 1 < out_.size() ? next_ + 1 : 0;
  }
  return true;
}

bool Connection::flush() noexcept {
  bool any = post_receives();
  if (!post_controls(&any)) return any;
  for (; !sends_.empty() && post(sends_.front()); sends_.pop_front(), any = true) ++sends_out_;
  return any;
}

void Connection::drop(uint32_t rank) noexcept {
  Outbox &box = out_[rank];
  for (Contents &c : receives_)
    if (c.go && c.go->rank == rank) c.go = nullptr;
  while (box.first) free_.push_back(box.take()), --controls_out_, --controls_waiting_;  // capacity: send()
}

void Connection::finish(const consort_done &done) {
  const uint64_t cookie = done.cookie & ~uint64_t{3};
  switch (done.cookie & 3) {
    case kControlIn: {
      Slot *const slot = reinterpret_cast<Slot *>(cookie);
      Control c;
      const bool is_good = done.status == CONSORT_OK && done.source < out_.size() &&
                           decode({slot->data, std::min<size_t>(done.bytes, kControlBytes)}, &c);
      struct Again {  // also if the owner throws
        Connection &all;
        Slot *slot;
        ~Again() { all.to_receive_.push_back(slot); }
      } again{*this, slot};
      if (is_good) owner_.arrived(done.source, c, std::span<const std::byte>(slot->data + kControlHead, c.payload));
      else if (done.status == CONSORT_OK) owner_.lost(done.source, "sent a message that makes no sense");
      break;
    }
    case kControlOut: {
      Slot *const slot = reinterpret_cast<Slot *>(cookie);
      --out_[slot->rank].in_flight, --controls_out_;
      free_.push_back(slot);  // capacity: send()
      break;
    }
    case kContentsOut:
      --sends_out_;
      [[fallthrough]];
    default:
      owner_.moved(done.cookie >> 2, done.status, done.bytes);
  }
}

void Connection::tell_events() {
  std::vector<Event> events;
  {
    const std::lock_guard guard(lock_);
    events.swap(events_);
  }
  for (const Event &e : events) {
    if (e.rank >= out_.size()) continue;
    if (e.what == CONSORT_EV_PEER_UP) owner_.up(e.rank);
    else owner_.lost(e.rank, "has ended, or its connection is broken");
  }
}

bool Connection::step() {
  bool any = flush();
  consort_done done[32];
  const uint32_t n = ops_->poll(t_, done, 32);
  for (uint32_t i = 0; i < n; ++i) finish(done[i]);
  tell_events();
  if (n) any |= flush();
  return any || n;
}

bool Connection::arm() noexcept { return !ops_->arm || ops_->arm(t_) != CONSORT_E_BUSY; }

}  // namespace consort
