#include "simnet.hpp"

#include <consort/shared/plain_file.hpp>

#include <algorithm>
#include <cstring>

#include "../rules.hpp"
#include "../strides.hpp"
#include "proof.hpp"

namespace simnet {
namespace {

using namespace transports;

constexpr char kMagic[4] = {'S', 'I', 'M', 'N'};
constexpr uint64_t kMostFile = 16 << 20, kMostMessage = uint64_t{1} << 30;

Network network_of(const std::string &file) {
  if (file.empty())
    throw Error(CONSORT_E_INVAL, "simnet.machine names no file: start the ranks by consort sim --machine FILE -n N");
  std::string text, why;
  if (!consort::shared::read_file(file, kMostFile, &text, &why)) throw Error(CONSORT_E_INVAL, "simnet: machine = \"" + file + "\" " + why);
  try {
    return Network::read(file, text);
  } catch (const std::string &e) {
    throw Error(CONSORT_E_INVAL, "simnet: " + e);
  }
}

}  // namespace

Simnet::Simnet(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Transport(host), boot_(boot), rank_(boot.rank), token_(token), moves_(settings.move), up_(boot.nranks) {
  check_own_rank(boot);
  if (!boot.sim_domain) throw Error(CONSORT_E_UNSUPPORTED, "simnet is for ranks in virtual time: start them by consort sim -n N");
  if (rank_ == 0) {
    meeting_ = Meeting::make(network_of(settings.machine), boot.nranks, secret_of(boot), settings.report);
    server_ = std::make_unique<Server>(meeting_, secret_of(boot));
  }
  caps.flags = CONSORT_TC_TAGGED | CONSORT_TC_PEER_FAILURE | CONSORT_TC_2D;
  caps.max_inline = Wires::kShort;
  caps.max_address = sizeof(Address);
  caps.max_message = kMostMessage;
  caps.bytes_per_s = 10'000'000'000, caps.latency_ns = 2000;
}

// Rank 0 stays until the ranks of other processes have left: their clock is here.
Simnet::~Simnet() {
  if (client_) client_->leave(std::move(posts_));
  else if (meeting_) meeting_->leave(rank_, std::move(posts_));
}

uint32_t Simnet::address(std::span<std::byte> room) noexcept {
  Address mine{};
  std::memcpy(mine.magic, kMagic, sizeof kMagic);
  mine.version = 1, mine.rank = rank_, mine.job = hash(boot_.job ? boot_.job : ""), mine.sim_domain = boot_.sim_domain;
  if (server_) {
    mine.number = meeting_->number();
    server_->name().copy(mine.socket, sizeof mine.socket - 1);
  }
  if (room.size() >= sizeof mine) std::memcpy(room.data(), &mine, sizeof mine);
  return sizeof mine;
}

void Simnet::connect(uint32_t rank, std::span<const std::byte> address) {
  const auto a = read_address<Address>(address);
  check_rank(rank, up_.size());
  if (std::memcmp(a.magic, kMagic, sizeof kMagic) != 0 || a.version != 1) refuse_address(rank);
  check_owner(a.rank, rank);
  if (a.job != hash(boot_.job ? boot_.job : "")) throw Error(CONSORT_E_INVAL, "the address belongs to another job");
  if (a.sim_domain != boot_.sim_domain) throw Error(CONSORT_E_INVAL, name(rank) + " has another clock");
  if (up_[rank]) throw Error(CONSORT_E_BUSY, name(rank) + " is connected already; disconnect it first");
  if (rank == 0 && rank_ != 0) {
    meeting_ = Meeting::find(a.number);
    if (meeting_ && !meeting_->knows(secret_of(boot_))) {
      meeting_.reset();
      throw Error(CONSORT_E_INVAL, "rank 0 has another secret");
    }
    if (meeting_ && rank_ >= meeting_->ranks()) throw Error(CONSORT_E_INVAL, "rank 0 has fewer ranks in its job");
    if (!meeting_)
      client_ = std::make_unique<Client>(std::string(a.socket, strnlen(a.socket, sizeof a.socket)), rank_, secret_of(boot_));
  }
  up_[rank] = true;
  to_tell_.push_back(rank);
}

void Simnet::disconnect(uint32_t rank) noexcept {
  if (rank < up_.size()) up_[rank] = false;
}

// -- messages ---------------------------------------------------------------------------------------------------------

void Simnet::fail(const consort_msg &m, consort_status s) {
  const uint64_t op = ++last_op_;
  ops_.emplace(op, m);
  reports_.push_back({Report::kDone, s, m.peer, op, m.tag, 0, {}});
}

void Simnet::cancel(uint64_t cookie) {
  for (const auto &[op, m] : ops_) {
    if (m.cookie != cookie || m.kind != CONSORT_MSG_RECV) continue;
    if (is_alone_) reports_.push_back({Report::kDone, CONSORT_E_CANCELLED, rank_, op, m.tag, 0, {}});
    else posts_.push_back({Post::kCancel, 0, op, host().now(), 0, 0, 0, {}});
    return;
  }
}

void Simnet::take(const consort_msg &m) {
  if (m.kind == CONSORT_MSG_CANCEL) return cancel(m.cookie);
  const bool sends = m.kind == CONSORT_MSG_SEND;
  if (!sends && m.kind != CONSORT_MSG_RECV) return fail(m, CONSORT_E_UNSUPPORTED);
  if (const consort_status s = judge_form(m, Wires::kShort, up_.size()); s < 0) return fail(m, s);
  if (!is_from_any(m) && (is_alone_ || !up_[m.peer])) return fail(m, CONSORT_E_PEER_LOST);
  const Rows rows = local_of(m);
  if (sends && rows.total() > kMostMessage) return fail(m, CONSORT_E_INVAL);
  Post p{sends ? Post::kSend : Post::kReceive, m.peer, last_op_ + 1, host().now(), m.tag, sends ? 0 : m.ignore, rows.total(), {}};
  if (sends && (moves_ || p.bytes <= Wires::kShort)) {
    p.contents.resize(p.bytes);
    copy_rows({reinterpret_cast<char *>(p.contents.data()), p.bytes, 1, 0}, rows);
  }
  ops_.emplace(p.op, m);
  posts_.push_back(std::move(p));
  ++last_op_;
}

uint32_t Simnet::post(Messages messages) noexcept {
  uint32_t n = 0;
  try {
    for (; n < messages.size(); ++n) take(messages[n]);
  } catch (const std::bad_alloc &) {  // a shorter prefix
  }
  return n;
}

uint32_t Simnet::poll(std::span<consort_done> out) noexcept {
  for (const uint32_t rank : std::exchange(to_tell_, {})) host().event(CONSORT_EV_PEER_UP, token_, rank);
  uint32_t n = 0;
  while (n < out.size() && told_ < reports_.size()) {
    Report &r = reports_[told_++];
    if (r.kind == Report::kLost) {
      if (r.source < up_.size() && up_[r.source]) host().event(CONSORT_EV_PEER_LOST, token_, r.source);
      if (r.source < up_.size()) up_[r.source] = false;
      continue;
    }
    const auto at = ops_.find(r.op);
    if (at == ops_.end()) continue;
    const consort_msg m = at->second;
    ops_.erase(at);
    if (m.kind == CONSORT_MSG_RECV && !r.contents.empty()) {
      const Rows to = local_of(m);
      const uint64_t bytes = std::min<uint64_t>(r.contents.size(), to.total());
      copy_rows(to, {reinterpret_cast<char *>(r.contents.data()), bytes, 1, 0});
    }
    out[n] = {};
    out[n].cookie = m.cookie, out[n].status = r.status, out[n].source = r.source, out[n].bytes = r.bytes, out[n].tag = r.tag;
    ++n;
  }
  if (told_ == reports_.size()) reports_.clear(), told_ = 0;
  return n;
}

// -- time -------------------------------------------------------------------------------------------------------------

uint64_t Simnet::next_event() noexcept { return told_ < reports_.size() || !to_tell_.empty() ? host().now() : CONSORT_NEVER; }

// The process with the clock is gone: this rank goes on alone. Receives from any rank stay.
void Simnet::lose_all() noexcept {
  is_alone_ = true;
  posts_.clear();
  try {
    for (const auto &[op, m] : ops_)
      if (!is_from_any(m)) reports_.push_back({Report::kDone, CONSORT_E_PEER_LOST, m.peer, op, m.tag, 0, {}});
    for (uint32_t r = 0; r < up_.size(); ++r)
      if (r != rank_) reports_.push_back({Report::kLost, CONSORT_E_PEER_LOST, r, 0, 0, 0, {}});
  } catch (const std::bad_alloc &) {
    host().log(0, "simnet: no memory to tell the loss of all other ranks");
  }
}

uint64_t Simnet::advance(uint64_t until) noexcept {
  const uint64_t now = host().now();
  if (told_ < reports_.size() || !to_tell_.empty()) return now;
  if (is_alone_ || (!meeting_ && !client_)) return posts_.clear(), until;
  try {
    Grant g = client_ ? client_->wait(now, until, std::move(posts_)) : meeting_->wait(rank_, now, until, std::move(posts_));
    posts_.clear();
    reports_ = std::move(g.reports), told_ = 0;
    return g.now;
  } catch (const Error &e) {
    host().log(0, std::string("simnet: ") + e.what());
  } catch (const std::bad_alloc &) {
    host().log(0, "simnet: no memory for the messages of other ranks");
  }
  lose_all();
  return now;
}

}  // namespace simnet

CONSORT_PLUGIN(simnet, TRANSPORT, 0, "simnet", "1.0.0", simnet::Simnet);
