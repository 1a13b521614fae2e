// A peer of the transports over packets (mpi, ofi). It proves that it has the job's secret, as a peer has to, and then writes
// packets and data of the input, while the rank posts and polls. Input: actions of Peer::act().
#include <nettle/hmac.h>

#include <deque>
#include <map>
#include <vector>

#include "fuzz.hpp"
#include "plugins/transports/packets/endpoint.hpp"

namespace {

using namespace transports;

constexpr uint8_t kSecret[] = {3, 1, 4, 1, 5, 9};
constexpr uint32_t kLocal = 3000;
constexpr char kMagic[] = "FUZZ";

// A network of which this target is the other end.
class Wire final : public Fabric {
 public:
  struct Posted {
    Request request;
    std::byte *to;
    size_t room;
  };
  void reserve(size_t) override {}
  bool receive_packet(void *to, size_t room, Request r) noexcept override {
    return packets_.push_back({r, static_cast<std::byte *>(to), room}), true;
  }
  bool send_packet(uint32_t, const void *from, size_t n, Request r) noexcept override {
    const auto *const bytes = static_cast<const std::byte *>(from);
    sent.emplace_back(bytes, bytes + n);
    return done_.push_back({r, true, 0}), true;
  }
  bool receive_data(uint32_t, uint64_t, void *to, size_t room, Request r) noexcept override {
    return data_.push_back({r, static_cast<std::byte *>(to), room}), true;
  }
  bool send_data(uint32_t, uint64_t, const void *, size_t, Request r) noexcept override { return out_.push_back(r), true; }
  void cancel(Request r) noexcept override {
    for (auto d = data_.begin(); d != data_.end(); ++d)
      if (d->request.index == r.index && r.kind == Kind::kDataIn) {
        done_.push_back({r, false, 0});
        data_.erase(d);
        return;
      }
  }
  uint32_t progress(std::span<Done> out) noexcept override {
    uint32_t n = 0;
    for (; n < out.size() && !done_.empty(); done_.pop_front()) out[n++] = done_.front();
    return n;
  }
  uint64_t most_data() const noexcept override { return 1000; }
  uint64_t new_number() noexcept override { return ++number_; }

  void deliver(std::span<const std::byte> bytes) {
    if (packets_.empty()) return;
    const Posted p = packets_.front();
    packets_.pop_front();
    std::memcpy(p.to, bytes.data(), std::min(bytes.size(), p.room));
    done_.push_back({p.request, true, bytes.size()});
  }
  void deliver_data(size_t n, bool is_good) {
    if (data_.empty()) return;
    const Posted p = data_.front();
    data_.pop_front();
    std::memset(p.to, 'd', p.room);
    done_.push_back({p.request, is_good, n});
  }
  void take_data(bool is_good) {
    if (out_.empty()) return;
    done_.push_back({out_.front(), is_good, 0});
    out_.pop_front();
  }
  size_t room() const { return data_.empty() ? 0 : data_.front().room; }
  std::vector<std::vector<std::byte>> sent;

 private:
  std::deque<Posted> packets_, data_;
  std::deque<Request> out_;
  std::deque<Done> done_;
  uint64_t number_ = 0;
};

class Rank final : public Endpoint {
 public:
  Rank(Wire &wire, const consort_host *host, const consort_boot &boot) : Endpoint({4, 2}, Host(host), boot, 7, kMagic) {
    consort_tcaps caps{};
    start(wire, caps);
  }
  void connect(const std::byte *address) {
    const Address a = check_address(1, {address, Address::kBytes}, Address::kBytes);
    const std::lock_guard guard(mutex_);
    want(1, a);
  }
  void address(std::byte *to) const { write_address(to); }
  using Endpoint::disconnect;
};

consort_host host_of() {
  consort_host h{};
  h.size = sizeof h, h.major = CONSORT_HOST_MAJOR, h.minor = CONSORT_HOST_MINOR;
  h.param = [](const consort_host *, const char *) -> const char * { return ""; };
  h.fail = [](const consort_host *, consort_status code, const char *) { return code; };
  h.log = [](const consort_host *, int32_t, const char *text) { fuzz::expect(text && *text, "a line of the log has a text"); };
  h.event = [](const consort_host *, uint32_t, uint64_t, int64_t) noexcept {};
  h.now = [](const consort_host *) { return uint64_t{0}; };
  return h;
}

class Peer {
 public:
  Peer(Wire &wire, Rank &rank) : wire_(wire), rank_(rank) {
    std::byte mine[Address::kBytes];
    rank.address(mine);
    std::memcpy(victim_id_, mine + 24, sizeof victim_id_);
    std::memset(mine + 24, 'p', 16);  // the same job, another id
    Writer(mine + 8).number(1, 4);    // and rank
    rank.connect(mine);
    shake_hands();
  }
  void act(fuzz::Bytes &in) {
    switch (in.below(8)) {
      case 0: return post(in);
      case 1: return poll();
      case 2:
      case 3: return write(in);
      case 4: {
        std::byte raw[kPacketBytes + 8];
        const size_t n = in.below(200);
        for (size_t i = 0; i < n; ++i) raw[i] = static_cast<std::byte>(in.byte());
        return wire_.deliver({raw, n});
      }
      case 5: return wire_.deliver_data(in.flag() ? wire_.room() : in.byte(), !in.flag());
      case 6: return wire_.take_data(in.byte() % 8 != 0);
      default:
        if (in.byte() % 16 == 0) rank_.disconnect(1);
    }
  }
  void poll() {
    consort_done done[8];
    const uint32_t n = rank_.poll(done);
    for (uint32_t i = 0; i < n; ++i) fuzz::expect(under_way_.erase(done[i].cookie) == 1, "a message ends once, and was posted");
  }

 private:
  void send(Packet p, const std::byte *payload, size_t n) {
    std::byte bytes[kPacketBytes];
    p.from = 1, p.payload = static_cast<uint32_t>(n);
    encode(p, bytes);
    if (n) std::memcpy(bytes + kPacketHead, payload, n);
    wire_.deliver({bytes, kPacketHead + n});
    poll();
  }
  void mac(uint8_t (&out)[32], const char *what, uint32_t from, uint32_t to, const Hello &a, const Hello &b) {
    std::byte text[8 + 2 * kHelloBytes];
    Writer w(text);
    w.number(from, 4), w.number(to, 4);
    encode(a, text + 8), encode(b, text + 8 + kHelloBytes);
    hmac_sha256_ctx c;
    hmac_sha256_set_key(&c, sizeof kSecret, kSecret);
    hmac_sha256_update(&c, std::strlen(what) + 1, reinterpret_cast<const uint8_t *>(what));
    hmac_sha256_update(&c, sizeof text, reinterpret_cast<const uint8_t *>(text));
    hmac_sha256_digest(&c, 32, out);
  }
  void shake_hands() {
    const Hello theirs = decode_hello(wire_.sent.at(0).data() + kPacketHead);
    Hello mine = theirs;
    std::memset(mine.from_id, 'p', 16), std::memcpy(mine.to_id, victim_id_, 16), std::memset(mine.nonce, 'n', 16);
    std::byte hello[kHelloBytes];
    encode(mine, hello);
    Packet p{};
    p.kind = PacketKind::kHello;
    send(p, hello, sizeof hello);
    uint8_t proof[32], token[32];
    mac(proof, "consort proof 1", 1, 0, mine, theirs);
    p.kind = PacketKind::kProof;
    send(p, reinterpret_cast<const std::byte *>(proof), sizeof proof);
    mac(token, "consort token 1", 1, 0, mine, theirs);
    token_ = Reader(reinterpret_cast<const std::byte *>(token)).number<uint64_t>();
  }
  void post(fuzz::Bytes &in) {
    consort_msg m{};
    m.kind = static_cast<uint16_t>(CONSORT_MSG_SEND + in.below(5));
    m.peer = m.kind == CONSORT_MSG_RECV && in.flag() ? CONSORT_NONE : 1;
    m.cookie = ++last_, m.tag = in.byte() & 3, m.rows = 1;
    m.bytes = in.flag() ? in.byte() : in.below(kLocal);
    if (in.byte() % 4 == 0 && m.kind == CONSORT_MSG_SEND) m.flags = CONSORT_MF_INLINE;
    if (m.kind == CONSORT_MSG_CANCEL) m.cookie = 1 + in.below(static_cast<uint32_t>(last_));
    auto &room = rooms_.emplace_back(new char[kLocal]());  // kept until the end
    m.local.base = reinterpret_cast<uint64_t>(room.get());
    if (rank_.post({&m, 1}) == 1 && m.kind != CONSORT_MSG_CANCEL) under_way_[m.cookie] = true;
  }
  // A packet of this peer; numbers are small, or of packets that the rank has sent.
  void write(fuzz::Bytes &in) {
    Packet p{}, seen{};
    p.kind = static_cast<PacketKind>(3 + in.below(8));
    if (!wire_.sent.empty()) (void)decode(wire_.sent[wire_.sent.size() - 1 - in.below(static_cast<uint32_t>(std::min<size_t>(wire_.sent.size(), 8)))], 2, &seen);
    p.token = in.byte() % 32 ? token_ : 1;
    p.tag = in.byte() & 3;
    p.op = in.byte() & 7, p.other = in.flag() ? seen.op : in.byte() & 7;
    p.bytes = in.flag() ? seen.bytes : in.below(kLocal);
    p.freed = in.byte() & 3;
    const std::byte payload[kShort]{};
    if (p.kind == PacketKind::kShortSend) p.bytes %= kShort + 1;
    send(p, payload, p.kind == PacketKind::kShortSend ? p.bytes : 0);
  }

  Wire &wire_;
  Rank &rank_;
  uint8_t victim_id_[16];
  uint64_t token_ = 0, last_ = 0;
  std::vector<std::unique_ptr<char[]>> rooms_;
  std::map<uint64_t, bool> under_way_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  const consort_host host = host_of();
  consort_boot boot{};
  boot.size = sizeof boot, boot.rank = 0, boot.nranks = 2, boot.job = "fuzz";
  boot.secret = kSecret, boot.nsecret = sizeof kSecret;
  Wire wire;
  Rank rank(wire, &host, boot);
  Peer peer(wire, rank);
  while (!in.empty()) peer.act(in);
  for (int i = 0; i < 4; ++i) peer.poll();
  return 0;
}
