// Sockets: open, address, the calls of the host, and what poll() tells.
#include "sockets.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <string_view>

namespace sockets {
namespace {

uint64_t hash(std::string_view text) noexcept {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace

Sockets::Sockets(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Transport(host),
      settings_(settings),
      boot_(boot),
      rank_(boot.rank),
      token_(token),
      job_(hash(boot.job ? boot.job : "")),
      links_(boot.nranks),
      ops_(settings.depth),
      fetches_(settings.depth),
      spare_receives_(settings.depth),
      told_(2 * size_t{settings.depth} + 4 * size_t{boot.nranks} + 1) {
  if (boot.rank >= boot.nranks)
    throw Error(CONSORT_E_INVAL, "there are " + std::to_string(boot.nranks) + " ranks, from 0; rank " + std::to_string(boot.rank) + " is none of them");
  if (boot.sim_domain) throw Error(CONSORT_E_UNSUPPORTED, "this transport runs in real time and joins no simulated clock");
  if (getrandom(id_.data(), id_.size(), 0) != static_cast<ssize_t>(id_.size())) throw Error(CONSORT_E_IO, "the system gives no random numbers");
  free_ops_.reserve(settings.depth), free_fetches_.reserve(settings.depth);
  for (uint32_t i = settings.depth; i-- > 0;) free_ops_.push_back(i), free_fetches_.push_back(i);
  listener_ = listen_on(settings.address, &at_);
  wake_ = checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "no eventfd");
  epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "no epoll");
  watch(listener_, EPOLLIN, kListener);
  watch(wake_, EPOLLIN, kWake);
  caps.flags = CONSORT_TC_TAGGED | CONSORT_TC_PEER_FAILURE | CONSORT_TC_FD;
  caps.max_inline = kInline;
  caps.max_address = kAddressBytes;
  caps.max_message = INT64_MAX;
  caps.bytes_per_s = 2'000'000'000;
  caps.latency_ns = 20'000;
}

uint32_t Sockets::address(std::span<std::byte> room) noexcept {
  if (room.size() < kAddressBytes) return kAddressBytes;
  std::byte *const to = room.data();
  const auto put = [&](size_t at, uint64_t value, size_t n) { consort::shared::store_little(to + at, value, n); };
  put(0, kMagic, 4), put(4, kVersion, 4), put(8, rank_, 4), put(12, boot_.nranks, 4), put(16, job_, 8);
  std::memcpy(to + 24, id_.data(), 16);
  std::memcpy(to + 40, &at_.sin_addr, 4), std::memcpy(to + 44, &at_.sin_port, 2);  // in the order of the network
  put(46, 0, 2);
  return kAddressBytes;
}

uint32_t Sockets::post(Messages messages) noexcept {
  const std::lock_guard guard(mutex_);
  uint32_t n = 0;
  for (; n < messages.size() && take(messages[n]); ++n) {}
  for (uint32_t i = 0; i < n; ++i)
    if (messages[i].kind == CONSORT_MSG_SEND && messages[i].peer < links_.size()) write_some(messages[i].peer);
  return n;
}

uint32_t Sockets::poll(std::span<consort_done> out) noexcept {
  std::unique_lock lock(mutex_);
  epoll_event events[32];
  const int n = told_count_ > out.size() ? 0 : ::epoll_wait(epoll_.get(), events, 32, 0);
  for (int i = 0; i < n; ++i) {
    const uint32_t number = events[i].data.u32;
    if (number == kListener) accept_all();
    else if (number == kWake) continue;  // arm() reads it
    else if (number >= kFirstStranger) hear(strangers_[number - kFirstStranger]);
    else if (number < links_.size()) {
      if (events[i].events & EPOLLOUT) write_some(number);
      if (events[i].events & ~EPOLLOUT) read_some(number);
    }
  }
  uint32_t told = 0;
  while (told < out.size() && told_count_) {
    const Report r = told_[told_first_];
    if (r.event && told) break;  // the host has all completions that precede it
    told_first_ = (told_first_ + 1) % told_.size(), --told_count_;
    if (!r.event) {
      --(r.is_receive ? receives_owed_ : sends_owed_);
      out[told++] = r.done;
      continue;
    }
    --links_[r.done.source].events;
    lock.unlock();
    host().event(r.event, token_, r.done.source);
    lock.lock();
  }
  if (!*complaint_) return told;
  char text[sizeof complaint_];
  std::memcpy(text, complaint_, sizeof text), *complaint_ = 0;
  lock.unlock();
  host().log(1, text);
  return told;
}

consort_status Sockets::arm() noexcept {
  const std::lock_guard guard(mutex_);
  if (told_count_) return CONSORT_E_BUSY;
  uint64_t counted;
  if (::read(wake_.get(), &counted, sizeof counted) < 0) counted = 0;  // it was not written
  epoll_event any;
  if (::epoll_wait(epoll_.get(), &any, 1, 0) > 0) return CONSORT_E_BUSY;
  is_armed_ = true;
  return CONSORT_OK;
}

void Sockets::finish(const consort_msg &m, consort_status s, uint64_t bytes) noexcept {
  tell({{m.cookie, s, m.peer, 0, 0, bytes, m.tag}, 0, m.kind == CONSORT_MSG_RECV});
}

void Sockets::received(const consort_msg &m, uint32_t rank, uint64_t tag, uint64_t bytes) noexcept {
  tell({{m.cookie, bytes > m.bytes ? CONSORT_E_TRUNCATED : CONSORT_OK, rank, 0, 0, bytes, tag}, 0, true});
}

void Sockets::raise(uint32_t event, uint32_t rank) noexcept {
  ++links_[rank].events;
  tell({{0, CONSORT_OK, rank, 0, 0, 0, 0}, event, false});
}

void Sockets::tell(const Report &r) noexcept {
  told_[(told_first_ + told_count_++) % told_.size()] = r;
  if (!is_armed_) return;
  is_armed_ = false;
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0) return;  // readable already
}

void Sockets::complain(uint32_t rank, const char *what) noexcept {
  if (*complaint_) return;
  if (rank == kNone) std::snprintf(complaint_, sizeof complaint_, "sockets: %s", what);
  else std::snprintf(complaint_, sizeof complaint_, "sockets: rank %u: %s", rank, what);
}

}  // namespace sockets

CONSORT_PLUGIN(sockets, TRANSPORT, 0, "sockets", "1.0.0", sockets::Sockets);
