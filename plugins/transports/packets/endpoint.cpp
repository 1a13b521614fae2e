// Endpoint: its parts, packets on their way, loss, post and poll.
#include "endpoint.hpp"

#include <sys/random.h>

namespace transports {
namespace {

constexpr uint32_t kTurns = 32;  // calls of turn() from one look for lost peers to the next

}  // namespace

Endpoint::Endpoint(Limits limits, Host host, const consort_boot &boot, uint64_t token, const char *magic)
    : Transport(host),
      boot_(boot),
      rank_(boot.rank),
      limits_(limits),
      token_(token),
      links_(boot.nranks),
      told_(2 * size_t{limits.depth} + size_t{4} * boot.nranks + 1),
      ops_(2 * size_t{limits.depth}),
      fetches_(2 * size_t{limits.depth}),
      spare_receives_(limits.depth) {
  check_own_rank(boot);
  if (boot.sim_domain)
    throw Error(CONSORT_E_UNSUPPORTED, "this transport runs in real time and joins no simulated clock; use the transport inproc");
  for (uint32_t i = 2 * limits.depth; i-- > 0;) free_ops_.push_back(i), free_fetches_.push_back(i);
  std::memcpy(mine_.magic, magic, sizeof mine_.magic);
  mine_.version = kPacketVersion, mine_.rank = rank_, mine_.nranks = boot.nranks;
  mine_.job = hash(boot.job ? boot.job : "");
  if (getrandom(mine_.id, sizeof mine_.id, 0) != sizeof mine_.id) throw Error(CONSORT_E_IO, "the system gives no random numbers");
}

Endpoint::~Endpoint() = default;

void Endpoint::start(Fabric &fabric, consort_tcaps &caps) {
  caps.flags |= CONSORT_TC_TAGGED;
  caps.max_inline = kInline;
  caps.max_message = INT64_MAX;
  fabric_ = &fabric;
  fabric.reserve(kReceives + size_t{7} * limits_.depth);
  add_slots(kReceives + 3 * limits_.depth);  // sends, cancels, answers to offers
  to_receive_.reserve(kReceives);
  for (uint32_t i = 0; i < kReceives; ++i) {
    to_receive_.push_back(free_slots_.back());
    free_slots_.pop_back();
  }
  post_receives();
}

void Endpoint::add_slots(uint32_t n) {
  slots_.reserve(slots_.size() + n);
  free_slots_.reserve(slots_.size() + n);
  auto slab = std::make_unique<Slot[]>(n);
  fabric_->reserve(slots_.size() + n + size_t{4} * limits_.depth);
  slabs_.push_back(std::move(slab));
  Slot *const all = slabs_.back().get();
  fabric_->will_use(all, n * sizeof(Slot));
  for (uint32_t i = 0; i < n; ++i) {
    all[i].index = static_cast<uint32_t>(slots_.size()), all[i].op = kNone;
    slots_.push_back(&all[i]);
    free_slots_.push_back(all[i].index);
  }
}

// -- packets on their way ---------------------------------------------------------------------------------------------

// A packet to be filled and enqueued; nullptr: no slot is left, so the peer has asked for more than it may.
Endpoint::Slot *Endpoint::new_packet(uint32_t rank, PacketKind kind, const Packet &fields, uint32_t payload) noexcept {
  if (free_slots_.empty()) return nullptr;
  Slot &slot = *slots_[free_slots_.back()];
  free_slots_.pop_back();
  Link &l = links_[rank];
  Packet p = fields;
  p.kind = kind, p.from = rank_, p.payload = payload;
  p.token = l.token_out, p.freed = l.freed_told = l.freed;
  encode(p, slot.data);
  slot.rank = rank, slot.bytes = kPacketHead + payload, slot.op = kNone, slot.next = kNone;
  return &slot;
}

void Endpoint::enqueue(Slot &slot) noexcept {
  Link &l = links_[slot.rank];
  (l.last == kNone ? l.first : slots_[l.last]->next) = slot.index;
  l.last = slot.index;
  ++queued_, ++l.in_flight;
}

void Endpoint::free_slot(Slot &slot) noexcept {
  slot.op = kNone;
  free_slots_.push_back(slot.index);
}

void Endpoint::post_receives() noexcept {
  while (!to_receive_.empty()) {
    Slot &slot = *slots_[to_receive_.back()];
    if (!fabric_->receive_packet(slot.data, sizeof slot.data, {Fabric::Kind::kPacketIn, slot.index})) return;
    to_receive_.pop_back();
  }
}

void Endpoint::flush() noexcept {
  for (size_t rank = 0; queued_ && rank < links_.size(); ++rank)
    for (Link &l = links_[rank]; l.first != kNone;) {
      Slot &slot = *slots_[l.first];
      if (!fabric_->send_packet(slot.rank, slot.data, slot.bytes, {Fabric::Kind::kPacketOut, slot.index})) break;
      if ((l.first = slot.next) == kNone) l.last = kNone;
      --queued_;
    }
}

// Starts the transfers of data that the fabric has not taken yet, or their next part.
void Endpoint::post_unposted() noexcept {
  if (!unposted_) return;
  for (Op &op : ops_) {
    if (op.step != Step::kReady) continue;
    const uint64_t n = std::min(op.total - op.done, fabric_->most_data());
    const Rows from = local_of(op.m);
    if (!fabric_->send_data(op.m.peer, op.number, from.at + op.done, n,
                            {Fabric::Kind::kDataOut, static_cast<uint32_t>(&op - ops_.data())}))
      break;
    op.step = Step::kMoving, op.done += n, --unposted_;
  }
  for (Fetch &f : fetches_) {
    if (f.step != Step::kReady) continue;
    const uint64_t n = std::min(f.total - f.done, fabric_->most_data());
    const Rows to = local_of(f.m);
    if (!fabric_->receive_data(f.rank, f.number, to.at + f.done, n,
                               {Fabric::Kind::kDataIn, static_cast<uint32_t>(&f - fetches_.data())}))
      break;
    f.step = Step::kMoving, f.done += n, f.part = n, --unposted_;
    if (std::exchange(f.is_told, true)) continue;
    Packet p{};
    p.other = f.op, p.op = f.number, p.bytes = f.total;
    if (Slot *const slot = new_packet(f.rank, PacketKind::kGo, p)) enqueue(*slot);  // one for each receive: there is a slot
  }
}

void Endpoint::ended(const Fabric::Done &d) noexcept {
  switch (d.request.kind) {
    case Fabric::Kind::kPacketIn: {
      Slot &slot = *slots_[d.request.index];
      if (d.is_good) hear({slot.data, std::min<size_t>(d.bytes, sizeof slot.data)});
      to_receive_.push_back(slot.index);
      break;
    }
    case Fabric::Kind::kPacketOut: {
      Slot &slot = *slots_[d.request.index];
      --links_[slot.rank].in_flight;
      if (slot.op != kNone) end_op(ops_[slot.op], d.is_good ? CONSORT_OK : CONSORT_E_PEER_LOST, ops_[slot.op].m.bytes);
      const uint32_t rank = slot.rank;
      free_slot(slot);
      if (!d.is_good) died(rank);
      break;
    }
    case Fabric::Kind::kDataOut:
      data_out(ops_[d.request.index], d);
      break;
    case Fabric::Kind::kDataIn:
      data_in(fetches_[d.request.index], d);
  }
}

bool Endpoint::turn() noexcept {
  Fabric::Done done[64];
  bool any = false;
  if (++turns_ % kTurns == 0) look();
  for (int round = 0; round < 8; ++round) {
    const uint32_t n = fabric_->progress(done);
    for (uint32_t i = 0; i < n; ++i) ended(done[i]);
    any |= n != 0;
    // A message that has come goes to the host first: its receive is posted again by a turn that finds nothing.
    if (!n || to_receive_.size() > kReceives / 2) post_receives();
    post_unposted(), flush();
    if (n < std::size(done)) break;
  }
  return any;
}

// -- loss -------------------------------------------------------------------------------------------------------------

void Endpoint::check_free(uint32_t rank) const {
  const Link &l = links_[rank];
  if (l.state == State::kWanted || l.state == State::kUp)
    throw Error(CONSORT_E_BUSY, name(rank) + " is connected already; disconnect it first");
  if (l.events || l.moving || l.owes_event)
    throw Error(CONSORT_E_BUSY, "the loss of " + name(rank) + " is not reported yet; poll, then connect it again");
}

void Endpoint::disconnect(uint32_t rank) noexcept {
  const std::lock_guard guard(mutex_);
  if (rank >= links_.size()) return;
  Link &l = links_[rank];
  if (l.state == State::kUp) lose(rank, How::kDisconnect);
  else if (l.state == State::kWanted) give_room(l), l.state = State::kNone, left(rank);
  if (polls_drive_) flush();
}

// Frees what want() has made; the link has no message in arrived_ any more.
void Endpoint::give_room(Link &l) noexcept {
  for (; l.waits; --l.waits) spare_arrived_.pop_front();
}

void Endpoint::died(uint32_t rank) noexcept { lose(rank, How::kDeath); }

// Ends all that was under way with this peer. Transfers of user memory end by themselves, or are cancelled, and the event
// comes after them.
void Endpoint::lose(uint32_t rank, How how) noexcept {
  Link &l = links_[rank];
  if (l.state == State::kWanted) give_room(l), l.state = State::kNone;
  if (l.state != State::kUp) {
    left(rank);
    if (how == How::kDeath && l.moving) l.has_left = true, cancel_fetches(rank);
    return;
  }
  l.state = State::kLost;
  while (l.first != kNone) {  // not sent yet, and of no use any more
    Slot &slot = *slots_[l.first];
    l.first = slot.next;
    if (slot.op != kNone) end_op(ops_[slot.op], CONSORT_E_PEER_LOST);
    free_slot(slot);
    --queued_, --l.in_flight;
  }
  l.last = kNone;
  for (Slot *slot : slots_)  // on their way: their bytes are in the slot, so the SEND ends now
    if (slot->op != kNone && slot->rank == rank && ops_[slot->op].step == Step::kCarried && ops_[slot->op].m.peer == rank)
      end_op(ops_[slot->op], CONSORT_E_PEER_LOST), slot->op = kNone;
  for (Op &op : ops_) {
    if (op.step == Step::kFree || op.m.peer != rank) continue;
    if (op.step == Step::kMoving) op.is_lost = true, ++l.moving, ++moving_;
    else end_op(op, CONSORT_E_PEER_LOST);
  }
  for (Fetch &f : fetches_) {
    if (f.step == Step::kFree || f.rank != rank) continue;
    if (f.step == Step::kMoving) f.is_lost = true, ++l.moving, ++moving_;
    else end_fetch(f, CONSORT_E_PEER_LOST);
  }
  for (auto r = receives_.begin(); r != receives_.end();) {  // receives from any rank stay
    const auto here = r++;
    if (here->peer != rank) continue;
    finish(*here, CONSORT_E_PEER_LOST);
    move_node(spare_receives_, receives_, here);
  }
  for (auto a = arrived_.begin(); a != arrived_.end();) {
    const auto here = a++;
    if (here->p.from == rank) move_node(spare_arrived_, arrived_, here);
  }
  l.announced = 0;
  give_room(l);
  l.owes_event = how != How::kDisconnect;
  if (how != How::kDeath)
    if (Slot *const bye = new_packet(rank, PacketKind::kBye, {})) enqueue(*bye);
  l.has_left = how != How::kDisconnect;
  if (l.has_left) left(rank);
  if (l.has_left && l.moving) cancel_fetches(rank);
  if (how == How::kDeath)
    for (const Op &op : ops_)
      if (op.is_lost && op.m.peer == rank && op.step == Step::kMoving)
        fabric_->cancel({Fabric::Kind::kDataOut, static_cast<uint32_t>(&op - ops_.data())});
  one_less(rank);
}

// The peer sends nothing any more: what it has sent has arrived, so a receive that is without its bytes stays without.
void Endpoint::cancel_fetches(uint32_t rank) noexcept {
  for (const Fetch &f : fetches_)
    if (f.is_lost && f.rank == rank && f.step == Step::kMoving)
      fabric_->cancel({Fabric::Kind::kDataIn, static_cast<uint32_t>(&f - fetches_.data())});
}

void Endpoint::give_up(uint32_t rank) noexcept {
  for (Op &op : ops_)
    if (op.is_lost && op.step == Step::kMoving && op.m.peer == rank) {
      finish(op.m, CONSORT_E_PEER_LOST);
      op.step = Step::kGivenUp;
    }
  for (Fetch &f : fetches_)
    if (f.is_lost && f.step == Step::kMoving && f.rank == rank) {
      finish(f.m, CONSORT_E_PEER_LOST);
      f.step = Step::kGivenUp, ++fetches_given_up_;
    }
  moving_ -= std::exchange(links_[rank].moving, 0);
  one_less(rank);
}

// The event, when the last transfer has ended.
void Endpoint::one_less(uint32_t rank) noexcept {
  Link &l = links_[rank];
  if (!l.moving && std::exchange(l.owes_event, false)) raise(CONSORT_EV_PEER_LOST, rank);
}

uint64_t Endpoint::begin_stop() noexcept {
  const std::lock_guard guard(mutex_);
  for (uint32_t rank = 0; rank < links_.size(); ++rank)
    if (links_[rank].state == State::kUp) lose(rank, How::kDisconnect);
  if (fabric_) flush();
  return host().now();
}

// Whether nothing of this rank is on its way, and the peers have answered.
bool Endpoint::is_stopped(bool waits_for_peers) const noexcept {
  if (moving_) return false;
  return std::all_of(links_.begin(), links_.end(), [&](const Link &l) {
    if (l.in_flight && (waits_for_peers || !l.has_left || fabric_->ends_sends())) return false;
    return !waits_for_peers || !l.has_token || l.has_left;
  });
}

// Leaks the slabs, and the bytes of INLINE messages in ops_: a fabric that cannot be closed reads and writes there.
void Endpoint::keep_memory() noexcept {
  const auto keep = []<class T>(T &all) {
    alignas(T) std::byte room[sizeof(T)];
    new (room) T(std::move(all));  // never destroyed
  };
  keep(slabs_), keep(ops_);
}

// -- calls of the host ------------------------------------------------------------------------------------------------

uint32_t Endpoint::post(Messages messages) noexcept {
  const std::lock_guard guard(mutex_);
  uint32_t n = 0;
  while (n < messages.size() && take(messages[n])) ++n;
  if (polls_drive_) post_unposted(), flush();
  else if (!is_idle()) posted();
  return n;
}

uint32_t Endpoint::poll(std::span<consort_done> out) noexcept {
  std::unique_lock lock(mutex_);
  if (polls_drive_) turn();
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

void Endpoint::complain(std::string text) noexcept {
  if (complaint_.empty()) complaint_ = std::move(text);
}

void Endpoint::raise(uint32_t event, uint32_t rank) noexcept {
  ++links_[rank].events;
  tell({ReportKind::kEvent, event, {0, CONSORT_OK, rank, 0, 0, 0, 0}});
}

void Endpoint::tell(const Report &t) noexcept {
  told_.push(t);
  reported();
}

}  // namespace transports
