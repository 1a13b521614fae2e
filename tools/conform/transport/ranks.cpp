#include "conform/transport/ranks.hpp"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace conform {

// -- bytes --------------------------------------------------------------------------------------------------------------

Block::Block(size_t n, unsigned char fill) : bytes_(n + 2 * kAround, kGuard), n_(n) {
  if (n) std::memset(data(), fill, n);
}

bool Block::is_kept() const {
  for (size_t i = 0; i < kAround; ++i)
    if (bytes_[i] != kGuard || bytes_[kAround + n_ + i] != kGuard) return false;
  return true;
}

bool Block::is(unsigned char fill) const {
  for (size_t i = 0; i < n_; ++i)
    if (bytes_[kAround + i] != fill) return false;
  return true;
}

consort_msg send_of(uint32_t peer, consort_addr local, uint64_t bytes, uint64_t tag) {
  consort_msg m{};
  m.kind = CONSORT_MSG_SEND, m.peer = peer, m.local = local, m.bytes = bytes, m.tag = tag, m.rows = 1;
  return m;
}

consort_msg receive_of(uint32_t peer, consort_addr local, uint64_t bytes, uint64_t tag, uint64_t ignore) {
  consort_msg m = send_of(peer, local, bytes, tag);
  m.kind = CONSORT_MSG_RECV, m.ignore = ignore;
  return m;
}

consort_msg reach_of(uint16_t kind, uint32_t peer, consort_addr local, uint64_t bytes, consort_addr remote,
                     const consort_mr &mr) {
  consort_msg m = send_of(peer, local, bytes, 0);
  m.kind = kind, m.remote = remote, m.rkey = mr.rkey, m.nrkey = mr.nrkey;
  return m;
}

std::vector<uint8_t> usual_secret() {
  constexpr uint8_t bytes[] = {0x5e, 0xc1, 0x2e, 0x70, 0x9b, 0x44, 0xd3, 0x18,
                               0xf6, 0x2a, 0x81, 0x3c, 0x67, 0xee, 0x05, 0x9d};
  return {std::begin(bytes), std::end(bytes)};
}

std::string fresh_job() {
  static std::atomic<uint32_t> jobs{0};
  return "conform-" + std::to_string(getpid()) + "-" + std::to_string(++jobs);
}

// -- a rank -------------------------------------------------------------------------------------------------------------

namespace {

struct Seat {  // the service of a host's boot table
  Board *board;
  uint32_t rank, nranks;
};
Seat &seat_of(const consort_host *h) { return *static_cast<Seat *>(Host::of(h).user); }

uint64_t in_real_time(const consort_host *h, uint64_t deadline) {  // `deadline` is of the host's clock
  const uint64_t now = Host::of(h).now();
  return Board::now() + (deadline > now ? std::min<uint64_t>(deadline - now, 20'000'000'000u) : 0);
}

}  // namespace

// Checks a status of a function or of a completion. The kernel, which converts unknown ones to E_INTERNAL, calls no
// transport yet.
consort_status Rank::known(consort_status s, const char *what) {
  trial_.check(s >= CONSORT_E_STOPPED && s <= CONSORT_AGAIN, "%s answers %d, which is no status", what, s);
  return s;
}

Rank::Rank(Trial &t, Board &board, uint32_t number, const JobOptions &job)
    : trial_(t), job_(job), plugin_(t), ops_(plugin_.ops<consort_transport_ops>()) {
  t.need(ops_.open && ops_.close && ops_.address && ops_.connect && ops_.disconnect && ops_.post && ops_.poll,
         "functions are missing in the table");
  host().user = new Seat{&board, number, job.nranks};
  if (job.sim_domain) host().set_virtual(1'000'000);
  boot_ = {
      .size = sizeof boot_,
      .rank = number,
      .nranks = job.nranks,
      .nsecret = static_cast<uint32_t>(job_.secret.size()),
      .job = job_.job.c_str(),
      .host_id = 0x4057,
      .sim_domain = job.sim_domain,
      .secret = job_.secret.data(),
      .put = [](const consort_host *h, const char *key, const void *v,
                uint32_t n) { return seat_of(h).board->put(seat_of(h).rank, key, v, n); },
      .get = [](const consort_host *h, uint32_t rank, const char *key, void *v, uint32_t *n,
                uint64_t deadline) { return seat_of(h).board->get(rank, key, v, n, in_real_time(h, deadline)); },
      .fence = [](const consort_host *h,
                  uint64_t deadline) { return seat_of(h).board->fence(seat_of(h).nranks, in_real_time(h, deadline)); },
      .abort = [](const consort_host *, consort_status, const char *) {}};
  host().serve(CONSORT_BOOT_ID, &boot_);
  caps_.size = sizeof caps_;
  t.doing("open of rank %u", number);
  host().forget_failure();
  opened_ = known(ops_.open(plugin_.self(), plugin_.table(), &boot_, kToken, &t_, &caps_), "open()");
  if (opened_ < 0) t_ = nullptr;
}

Rank::~Rank() {
  close();
  plugin_.stop();  // the boot table is not called any more
  delete static_cast<Seat *>(host().user);
}

void Rank::close() {
  if (!t_) return;
  trial_.doing("close of rank %u", number());
  ops_.close(t_);
  t_ = nullptr;
}

std::vector<unsigned char> Rank::address() {
  std::vector<unsigned char> a(4096);
  uint32_t n = static_cast<uint32_t>(a.size());
  trial_.doing("address of rank %u", number());
  const consort_status s = known(ops_.address(t_, a.data(), &n), "address()");
  trial_.need(s >= 0, "address() fails: %s", host().failure().c_str());
  trial_.need(n <= a.size(), "an address has %u bytes", n);
  a.resize(n);
  return a;
}

consort_status Rank::connect(uint32_t rank, const std::vector<unsigned char> &a) {
  trial_.doing("connect of rank %u to %u", number(), rank);
  host().forget_failure();
  return known(ops_.connect(t_, rank, a.data(), static_cast<uint32_t>(a.size())), "connect()");
}

void Rank::disconnect(uint32_t rank) {
  trial_.doing("disconnect of rank %u from %u", number(), rank);
  ops_.disconnect(t_, rank);
}

uint32_t Rank::count(uint32_t event, uint32_t rank) {
  uint32_t n = 0;
  for (const Host::Event &e : host().events())
    n += e.what == event && e.object == kToken && e.detail == static_cast<int64_t>(rank);
  return n;
}

consort_status Rank::reg(Block &block, size_t at, size_t bytes, consort_mr *out) {
  const consort_space_desc space = {.size = sizeof space,
                                    .flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT,
                                    .id = 0,
                                    .numa = -1,
                                    .name = "ram",
                                    .domain = "host",
                                    .domain_key = 0,
                                    .capacity = uint64_t{1} << 40,
                                    .granule = 64,
                                    .align = 64};
  trial_.doing("reg of %zu bytes", bytes);
  *out = {};
  if (!ops_.reg) return CONSORT_E_UNSUPPORTED;
  return known(ops_.reg(t_, &space, block.addr(at), bytes, out), "reg()");
}

void Rank::dereg(const consort_mr &mr) {
  trial_.doing("dereg");
  if (ops_.dereg) ops_.dereg(t_, &mr);
}

uint64_t Rank::try_post(consort_msg m) {
  m.cookie = cookie_of(book_.size());
  uint32_t n;
  {
    const Inside inside(Tag::kQueue, "post");
    n = ops_.post(t_, &m, 1);
  }
  trial_.need(n <= 1, "post() of one message answers %u", n);
  if (!n) return 0;
  book_.emplace_back();
  ++posted_;
  return m.cookie;
}

uint32_t Rank::post_all(std::vector<consort_msg> &all) {
  for (size_t i = 0; i < all.size(); ++i) all[i].cookie = cookie_of(book_.size() + i);
  uint32_t n;
  {
    const Inside inside(Tag::kQueue, "post");
    n = ops_.post(t_, all.data(), static_cast<uint32_t>(all.size()));
  }
  trial_.need(n <= all.size(), "post() of %zu messages answers %u", all.size(), n);
  book_.resize(book_.size() + n);
  posted_ += n;
  return n;
}

void Rank::cancel(uint64_t cookie) {
  consort_msg m{};
  m.kind = CONSORT_MSG_CANCEL, m.cookie = cookie, m.peer = CONSORT_NONE;
  for (World::Patience patience;;) {
    {
      const Inside inside(Tag::kQueue, "post");
      if (ops_.post(t_, &m, 1) == 1) return;
    }
    poll();
    trial_.need(patience.wait(), "a CANCEL is not taken, and poll() does not help");
  }
}

uint32_t Rank::poll(uint32_t max) {
  constexpr uint32_t kMost = 256;
  constexpr uint64_t kGuard = 0xdeadbeefu;
  consort_done out[kMost + 1];
  max = std::min(max, kMost);
  out[max].cookie = out[max].tag = kGuard;
  uint32_t n;
  {
    const Inside inside(Tag::kQueue, "poll");
    n = ops_.poll(t_, out, max);
  }
  trial_.need(n <= max, "poll() answers %u where there is room for %u", n, max);
  trial_.check(out[max].cookie == kGuard && out[max].tag == kGuard,
               "poll() writes behind the %u places that it was given", max);
  for (uint32_t i = 0; i < n; ++i) book(out[i]);
  return n;
}

consort_status Rank::arm() { return known(ops_.arm(t_), "arm()"); }

void Rank::book(const consort_done &d) {
  known(d.status, "a completion");
  if (d.cookie == CONSORT_NOTIFIED) return notes.push_back(d);
  const size_t i = d.cookie & ((uint64_t{1} << 40) - 1);
  if (!trial_.check(d.cookie >> 40 == number() + uint64_t{1} && i < book_.size(),
                    "poll() tells of the cookie 0x%llx, which was not posted here",
                    static_cast<unsigned long long>(d.cookie)))
    return;
  Entry &e = book_[i];
  if (!trial_.check(!e.is_over, "the operation with the cookie 0x%llx ends again, with status %d; it has ended with %d",
                    static_cast<unsigned long long>(d.cookie), d.status, e.done.status))
    return;
  e.is_over = true, e.done = d;
  order.push_back(d.cookie);
  ++ended_;
}

const consort_done *Rank::end_of(uint64_t cookie) const {
  const size_t i = cookie & ((uint64_t{1} << 40) - 1);
  return cookie && i < book_.size() && book_[i].is_over ? &book_[i].done : nullptr;
}

// -- all of them --------------------------------------------------------------------------------------------------------

bool World::Patience::wait() {
  if (++turns_ < 200)
    sched_yield();
  else
    usleep(200);
  return turns_ < 2000 || Board::now() - began_ < seconds_ * 1'000'000'000u;  // turns: a suspended process loses no time
}

World::World(Trial &t, uint32_t nranks, uint64_t sim_domain, Claim claim) : t_(t) {
  job_.job = fresh_job();
  job_.sim_domain = sim_domain;
  job_.nranks = nranks;
  ranks_.push_back(std::make_unique<Rank>(t, board_, 0, job_));
  bool is_alone = false;
  if (a().opened() == CONSORT_E_UNSUPPORTED) {
    ranks_.clear();
    job_.nranks = 1;
    ranks_.push_back(std::make_unique<Rank>(t, board_, 0, job_));
    if (a().opened() == CONSORT_E_UNSUPPORTED) t.skip("it does not open here: %s", a().host().failure().c_str());
    is_alone = true;
  }
  t.need(a().opened() >= 0, "open fails: %s", a().host().failure().c_str());
  if (claim.flag) must(claim.flag, claim.what);
  for (uint32_t r = 1; r < nranks && !is_alone; ++r) {
    ranks_.push_back(std::make_unique<Rank>(t, board_, r, job_));
    if (b().opened() == CONSORT_E_UNSUPPORTED) {
      is_alone = true;  // one rank in a process
      break;
    }
    t.need(b().opened() >= 0, "open of rank %u, beside rank 0, fails: %s", r, b().host().failure().c_str());
  }
  if (!is_alone) {
    const consort_status s = a().connect(1, ranks_[1]->address());
    is_alone = s == CONSORT_E_UNSUPPORTED;
    t.need(is_alone || s >= 0, "connect of rank 0 to rank 1 fails: %s", a().host().failure().c_str());
  }
  if (is_alone) {
    ranks_.resize(1);
    const consort_status s = a().connect(a().number(), a().address());
    if (s == CONSORT_E_UNSUPPORTED)
      t.skip("ranks of one process do not reach each other, nor themselves: %s", a().host().failure().c_str());
    t.need(s >= 0, "connect of rank 0 to itself fails: %s", a().host().failure().c_str());
  }
  for (uint32_t from = 0; from < ranks_.size(); ++from)
    for (uint32_t to = 0; to < ranks_.size(); ++to) {
      if (from == to || (from == 0 && to == 1)) continue;
      const consort_status s = ranks_[from]->connect(to, ranks_[to]->address());
      t.need(s >= 0, "connect of rank %u to rank %u fails: %s", from, to, ranks_[from]->host().failure().c_str());
    }
  until("all peers are up", [&] {
    for (auto &from : ranks_)
      for (auto &to : ranks_)
        if ((from != to || this->is_alone()) && !from->count(CONSORT_EV_PEER_UP, to->number())) return false;
    return true;
  });
}

void World::connect(Rank &from, Rank &to) {
  const consort_status s = from.connect(to.number(), to.address());
  t_.need(s >= 0, "connect of rank %u to rank %u fails: %s", from.number(), to.number(), from.host().failure().c_str());
}

void World::must(uint32_t flag, const char *what) {
  for (auto &r : ranks_)
    if (!r->can(flag)) t_.skip("it does not claim %s", what);
}

bool World::pump() {
  bool any = false;
  for (auto &r : ranks_)
    if (r->is_open()) any = r->poll() != 0 || any;
  if (any || !is_virtual()) return any;
  uint64_t next = CONSORT_NEVER;
  for (auto &r : ranks_)
    if (r->is_open() && r->ops().next_event) {
      const Inside inside(Tag::kQueue, "next_event");
      next = std::min(next, r->ops().next_event(r->raw()));
    }
  for (auto &r : ranks_)
    if (next != CONSORT_NEVER && next > r->host().now()) r->host().set_virtual(next), any = true;
  return any;
}

uint64_t World::post(Rank &r, const consort_msg &m) {
  uint64_t cookie = 0;
  until("post() takes a message", [&] { return (cookie = r.try_post(m)) != 0; });
  return cookie;
}

consort_done World::end(Rank &r, uint64_t cookie) {
  until("an operation ends", [&] { return r.end_of(cookie) != nullptr; });
  return *r.end_of(cookie);
}

void World::settle() {
  until("nothing is under way", [&] {
    for (auto &r : ranks_)
      if (r->is_open() && r->under_way()) return false;
    return true;
  });
}

void World::idle() {
  for (int i = 0; i < 25; ++i)
    if (!pump()) usleep(100);
}

}  // namespace conform
