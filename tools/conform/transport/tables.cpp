// The identity of a rank, and the peers that it accepts.
#include <algorithm>
#include <cstring>

#include "conform/transport/ranks.hpp"

namespace conform {
namespace {

constexpr uint32_t kFlags = CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY | CONSORT_TC_FD | CONSORT_TC_PUSH |
                            CONSORT_TC_PEER_FAILURE | CONSORT_TC_DYNAMIC | CONSORT_TC_2D;

// Two ranks of one job that do not belong together: neither may report that the other is up.
void must_stay_apart(Trial &t, const JobOptions &one, const JobOptions &other, const char *what) {
  Board board;
  Rank a(t, board, 0, one), b(t, board, 1, other);
  if (a.opened() == CONSORT_E_UNSUPPORTED || b.opened() == CONSORT_E_UNSUPPORTED)
    t.skip("does not open two ranks in one process");
  if (a.opened() < 0 || b.opened() < 0) return;  // they are not even connected
  const consort_status s = a.connect(1, b.address());
  if (s == CONSORT_E_UNSUPPORTED) t.skip("ranks of one process do not reach each other");
  t.check(s >= 0 || !a.host().failure().empty(), "connect refuses with status %d and says not why", s);
  b.connect(0, a.address());
  t.doing("polls of two ranks of which %s", what);
  for (int i = 0; i < 100; ++i) a.poll(), b.poll();
  for (Rank *r : {&a, &b}) {
    t.check(!r->count(CONSORT_EV_PEER_UP, 1 - r->number()), "rank %u is told that its peer is up, of which %s",
            r->number(), what);
    r->try_post(send_of(1 - r->number(), {reinterpret_cast<uint64_t>("x"), 0}, 1, 1));
  }
  unsigned char c = 0;
  const uint64_t cookie = b.try_post(receive_of(CONSORT_NONE, {reinterpret_cast<uint64_t>(&c), 0}, 1, 1));
  for (int i = 0; i < 100; ++i) a.poll(), b.poll();
  const consort_done *d = b.end_of(cookie);
  t.check(!d || d->status < 0, "rank 1 gets a message of a peer of which %s", what);
  if (cookie && !d) b.cancel(cookie), b.poll();
}

}  // namespace

CONFORM_CASE(T, 1, abi, capabilities_are_sound) {
  World w(t);
  Rank &r = w.a();
  const consort_tcaps &c = r.caps();
  t.check(c.size == sizeof c, "open() changed the size of the capabilities, which is the caller's, to %u", c.size);
  t.check(!(c.flags & ~kFlags), "sets flags 0x%x, which mean nothing", c.flags & ~kFlags);
  t.check(c.max_address > 0, "max_address is 0");
  t.check(c.max_message > 0, "max_message is 0");
  t.check(c.max_rkey <= sizeof consort_mr::rkey, "max_rkey is %u; a key has room for %zu", c.max_rkey,
          sizeof consort_mr::rkey);
  t.check(c.notify_bits <= 64 && (c.notify_bits || !r.can(CONSORT_TC_NOTIFY)), "notify_bits is %u%s", c.notify_bits,
          c.notify_bits ? "; a tag has 64" : ", though it claims notifications");
  t.check(!r.can(CONSORT_TC_NOTIFY) || r.can(CONSORT_TC_RMA), "claims notifications of PUT, but no PUT");
  t.check(!r.can(CONSORT_TC_FD) || (r.ops().event_fd && r.ops().arm),
          "claims a descriptor, but has no event_fd or no arm");
  t.check(!(t.subject().note.flags & CONSORT_PF_VIRTUAL) || r.ops().next_event,
          "says CONSORT_PF_VIRTUAL, but has no next_event");
}

CONFORM_CASE(T, 2, behaviour, an_address_keeps_to_its_room) {
  World w(t);
  Rank &r = w.a();
  const std::vector<unsigned char> whole = r.address();
  const uint32_t n = static_cast<uint32_t>(whole.size());
  t.check(n > 0 && n <= r.caps().max_address, "an address has %u bytes; max_address is %u", n, r.caps().max_address);
  t.check(r.address() == whole, "a rank's address is another when it is asked again");
  for (uint32_t room = 0; room < n; room = room * 2 + 1) {
    Block small(room, 0x3c);
    uint32_t said = room;
    t.doing("address with room for %u of %u bytes", room, n);
    const consort_status s = r.ops().address(r.raw(), small.data(), &said);
    t.check(s == CONSORT_E_TRUNCATED, "address() with room for %u of %u bytes answers %d, not E_TRUNCATED", room, n, s);
    t.check(said == n, "address() with too little room says that it takes %u bytes, not %u", said, n);
    t.check(small.is_kept(), "address() writes more than the %u bytes that there is room for", room);
  }
}

CONFORM_CASE(T, 3, behaviour, a_peer_is_up_once) {
  World w(t, 3);
  w.idle();
  for (uint32_t from = 0; from < (w.is_alone() ? 1u : 3u); ++from)
    for (uint32_t to = 0; to < (w.is_alone() ? 1u : 3u); ++to) {
      if (from == to && !w.is_alone()) continue;
      const uint32_t ups = w[from].count(CONSORT_EV_PEER_UP, w[to].number());
      t.check(ups == 1, "rank %u is told %u times that rank %u is up", from, ups, to);
      t.check(!w[from].count(CONSORT_EV_PEER_LOST, w[to].number()),
              "rank %u is told that rank %u is lost, which it is not", from, to);
    }
  for (const Host::Event &e : w.a().host().events())
    t.check(e.object == Rank::kToken, "an event has the object 0x%llx; it is the token that was given to open()",
            static_cast<unsigned long long>(e.object));
}

CONFORM_CASE(T, 4, fault, connect_believes_nothing) {
  World w(t);
  if (w.is_alone()) t.skip("it reaches no other rank");
  const std::vector<unsigned char> good = w.b().address();
  w.a().disconnect(1);
  w.b().disconnect(0);
  w.idle();
  const uint32_t ups = w.a().count(CONSORT_EV_PEER_UP, 1);
  const auto refused = [&](uint32_t rank, const std::vector<unsigned char> &a, const char *what) {
    const consort_status s = w.a().connect(rank, a);
    t.check(s >= 0 || !w.a().host().failure().empty(), "connect refuses %s with status %d and says not why", what, s);
    for (int i = 0; i < 20; ++i) w.pump();
    t.check(w.a().count(CONSORT_EV_PEER_UP, 1) == ups, "a peer is up after connect with %s", what);
    if (s >= 0) w.a().disconnect(rank);
  };
  refused(1, {}, "an address of no bytes");
  refused(1, std::vector<unsigned char>(good.begin(), good.end() - 1), "an address that was cut");
  refused(1, std::vector<unsigned char>(good.size(), 0), "an address of zeroes");
  refused(1, std::vector<unsigned char>(good.size(), 0xff), "an address of ones");
  refused(w.job().nranks, good, "a rank that there is not");
  std::vector<unsigned char> chance(good.size());
  for (uint64_t round = t.scaled(20, 300); round > 0 && !t.failed(); --round) {
    for (unsigned char &c : chance) c = static_cast<unsigned char>(t.random().next());
    refused(1, chance, "an address by chance");
  }
}

CONFORM_CASE(T, 5, behaviour, a_rank_with_another_secret_stays_out) {
  JobOptions one;
  one.job = fresh_job();
  JobOptions last = one, shorter = one, none = one;
  last.secret.back() ^= 1;
  shorter.secret.pop_back();
  none.secret.clear();
  must_stay_apart(t, one, last, "one has another secret, in the last bit");
  must_stay_apart(t, one, shorter, "one has the beginning of the secret alone");
  must_stay_apart(t, none, one, "one has no secret");
}

CONFORM_CASE(T, 6, behaviour, the_secret_is_never_shown) {
  World w(t);
  const std::vector<uint8_t> &secret = w.job().secret;
  const auto tells = [&](const auto &text) {  // half of it would be too much
    return std::search(text.begin(), text.end(), secret.begin(),
                       secret.begin() + static_cast<std::ptrdiff_t>(secret.size() / 2),
                       [](auto a, auto b) { return static_cast<uint8_t>(a) == b; }) != text.end();
  };
  t.check(!tells(w.a().address()) && !tells(w.b().address()), "an address has the secret in it");
  for (const auto &value : w.board().values()) t.check(!tells(value), "the secret is put() where all can read it");
  w.a().connect(w.b().number(), {});
  t.check(!tells(w.a().host().log()) && !tells(w.a().host().failure()), "the secret stands in a message to the user");
}

CONFORM_CASE(T, 7, behaviour, clocks_of_two_domains_stay_apart) {
  JobOptions one, other;
  one.job = other.job = fresh_job();
  one.sim_domain = 11, other.sim_domain = 12;
  must_stay_apart(t, one, other, "one has another simulated clock");
  if (t.failed()) return;
  one.job = other.job = fresh_job();
  one.sim_domain = 0;
  must_stay_apart(t, one, other, "one has a simulated clock and one has not");
}

}  // namespace conform
