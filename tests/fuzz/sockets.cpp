// A peer of the example transport sockets, over a real connection. It proves that it has the job's secret, as a peer has to;
// then it writes frames and bytes of the input, while the rank posts and polls. Input: a byte (1, 2: hello, proof are bytes
// of the input), and actions of Peer::act().
#include <consort/transport.h>
#include <netinet/in.h>
#include <nettle/hmac.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <vector>

#include "examples/sockets/frame.hpp"
#include "fuzz.hpp"

extern "C" const consort_module *consort_plugin_entry_sockets(const consort_host *);

namespace {

using namespace sockets;

constexpr uint32_t kDepth = 4, kUnexpected = 2, kLocal = 3000;
constexpr uint8_t kSecret[] = {3, 1, 4, 1, 5, 9};

consort_host host_of() {
  consort_host h{};
  h.size = sizeof h, h.major = CONSORT_HOST_MAJOR, h.minor = CONSORT_HOST_MINOR;
  h.param = [](const consort_host *, const char *key) -> const char * {
    const std::string_view k = key;
    return k == "depth" ? "4" : k == "unexpected" ? "2" : "127.0.0.1";
  };
  h.fail = [](const consort_host *, consort_status code, const char *) { return code; };
  h.log = [](const consort_host *, int32_t, const char *text) { fuzz::expect(text && *text, "a line of the log has a text"); };
  h.event = [](const consort_host *, uint32_t, uint64_t, int64_t) noexcept {};
  h.now = [](const consort_host *) { return uint64_t{0}; };
  return h;
}

// Rank 1, by its table. Rank 0, this target, dials it.
class Victim {
 public:
  Victim(const consort_host &host, const consort_boot &boot)
      : plugin_(*consort_plugin_entry_sockets(&host)->plugins[0]), ops_(*static_cast<const consort_transport_ops *>(plugin_.ops)) {
    if (plugin_.init) fuzz::expect(plugin_.init(&host, &self_) >= 0, "the plugin starts");
    consort_tcaps caps{};
    caps.size = sizeof caps;
    fuzz::expect(ops_.open(self_, &host, &boot, 7, &t_, &caps) >= 0, "a rank opens");
    uint32_t n = sizeof address;
    fuzz::expect(ops_.address(t_, address, &n) >= 0 && n == sizeof address, "a rank has an address");
    std::byte peer[kAddressBytes];
    std::memcpy(peer, address, sizeof peer);
    consort::shared::store_little(peer + 8, 0, 4);
    std::memset(peer + 24, 'p', 16);
    fuzz::expect(ops_.connect(t_, 0, peer, sizeof peer) >= 0, "a sound address is taken");
  }
  ~Victim() {
    ops_.close(t_);
    if (plugin_.fini) plugin_.fini(self_);
  }
  void disconnect() { ops_.disconnect(t_, 0); }
  void look() { (void)ops_.arm(t_); }
  void poll() {
    consort_done done[8];
    const uint32_t n = ops_.poll(t_, done, 8);
    for (uint32_t i = 0; i < n; ++i) fuzz::expect(under_way_.erase(done[i].cookie) == 1, "a message ends once, and was posted");
  }
  void post(fuzz::Bytes &in) {
    consort_msg m{};
    m.kind = static_cast<uint16_t>(CONSORT_MSG_SEND + in.below(5));
    m.peer = m.kind == CONSORT_MSG_RECV && in.flag() ? CONSORT_NONE : 0;
    m.cookie = ++last_, m.tag = in.byte() & 3, m.rows = 1;
    m.bytes = in.flag() ? in.byte() : in.below(kLocal);
    if (in.byte() % 4 == 0 && m.kind == CONSORT_MSG_SEND) m.flags = CONSORT_MF_INLINE;
    if (m.kind == CONSORT_MSG_CANCEL) m.cookie = 1 + in.below(static_cast<uint32_t>(last_));
    auto &room = rooms_.emplace_back(new char[kLocal]());  // kept until the end
    m.local.base = reinterpret_cast<uint64_t>(room.get());
    if (ops_.post(t_, &m, 1) == 1 && m.kind != CONSORT_MSG_CANCEL) under_way_[m.cookie] = true;
  }

  std::byte address[kAddressBytes];

 private:
  const consort_plugin &plugin_;
  const consort_transport_ops &ops_;
  void *self_ = nullptr, *t_ = nullptr;
  std::vector<std::unique_ptr<char[]>> rooms_;
  std::map<uint64_t, bool> under_way_;
  uint64_t last_ = 0;
};

class Peer {
 public:
  explicit Peer(Victim &victim) : victim_(victim), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    std::memcpy(&to.sin_addr, victim.address + 40, 4), std::memcpy(&to.sin_port, victim.address + 44, 2);
    fuzz::expect(::connect(fd_, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0, "the rank listens");
  }
  ~Peer() { ::close(fd_); }
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;

  void greet(fuzz::Bytes &in, bool own_hello, bool own_proof) {
    Hello mine;
    mine.rank = 0, mine.nranks = 2, mine.depth = kDepth, mine.unexpected = kUnexpected;
    mine.job = consort::shared::load_little(victim_.address + 16, 8);
    std::memset(mine.from, 'p', 16), std::memcpy(mine.to, victim_.address + 24, 16), std::memset(mine.nonce, 'n', 16);
    std::byte hello[kHelloBytes];
    encode(mine, hello);
    if (own_hello)
      for (std::byte &b : hello) b = in.flag() ? static_cast<std::byte>(in.byte()) : b;
    send(hello, sizeof hello);
    for (int i = 0; i < 3; ++i) victim_.poll();  // accepted, heard, adopted
    std::byte theirs[kHelloBytes + kProofBytes];
    if (::recv(fd_, theirs, sizeof theirs, MSG_DONTWAIT) != sizeof theirs) return;
    std::byte text[2 * kHelloBytes];
    std::memcpy(text, hello, sizeof hello), std::memcpy(text + sizeof hello, theirs, kHelloBytes);
    constexpr char what[] = "consort sockets 1";
    uint8_t proof[kProofBytes];
    hmac_sha256_ctx c;
    hmac_sha256_set_key(&c, sizeof kSecret, kSecret);
    hmac_sha256_update(&c, sizeof what, reinterpret_cast<const uint8_t *>(what));
    hmac_sha256_update(&c, sizeof text, reinterpret_cast<const uint8_t *>(text));
    hmac_sha256_digest(&c, sizeof proof, proof);
    if (own_proof) proof[in.below(kProofBytes)] ^= in.byte();
    send(proof, sizeof proof);
    victim_.poll();
  }
  void act(fuzz::Bytes &in) {
    switch (in.below(8)) {
      case 0: return victim_.post(in);
      case 1: return victim_.poll();
      case 2:
      case 3:
      case 4: return write(in);
      case 5: {
        std::byte raw[200];
        const size_t n = in.below(sizeof raw);
        for (size_t i = 0; i < n; ++i) raw[i] = static_cast<std::byte>(in.byte());
        return send(raw, n);
      }
      case 6: {
        char gone[4096];
        while (::recv(fd_, gone, sizeof gone, MSG_DONTWAIT) > 0) {}
        return victim_.look();
      }
      default:
        if (in.byte() % 16 == 0) victim_.disconnect();
    }
  }

 private:
  void send(const void *bytes, size_t n) { (void)!::send(fd_, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT); }
  // A frame with the bytes behind it, or with less; its numbers are small.
  void write(fuzz::Bytes &in) {
    Frame f;
    f.kind = 1 + in.below(8);
    f.tag = in.byte() & 3, f.op = in.byte() & 7, f.freed = in.byte() & 3;
    f.other = uint64_t{in.byte() & 3U} << 32 | (in.byte() & 3);
    f.bytes = in.flag() ? in.byte() : in.below(2 * kShort);
    std::byte bytes[kFrameBytes + 2 * kShort]{};
    encode(f, bytes);
    const bool has_body = f.kind == Frame::kMessage || f.kind == Frame::kData;
    send(bytes, kFrameBytes + (has_body ? f.bytes - (in.byte() % 16 == 0 && f.bytes) : 0));
    victim_.poll();
  }

  Victim &victim_;
  const int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  const uint8_t how = in.byte();
  const consort_host host = host_of();
  consort_boot boot{};
  boot.size = sizeof boot, boot.rank = 1, boot.nranks = 2, boot.job = "fuzz";
  boot.secret = kSecret, boot.nsecret = sizeof kSecret;
  Victim victim(host, boot);
  {
    Peer peer(victim);
    peer.greet(in, how & 1, how & 2);
    while (!in.empty()) peer.act(in);
    for (int i = 0; i < 4; ++i) victim.poll();
  }
  for (int i = 0; i < 4; ++i) victim.poll();  // the peer is gone
  return 0;
}
