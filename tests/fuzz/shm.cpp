// A peer of the transport shm. It proves that it has the job's secret and shares the memory of the rings, as a peer has to.
// Then it writes there what the input says, while the rank posts and polls. Input: a byte (1: no copies out of the peer's
// memory; 2, 4: the hello, the proof are bytes of the input), and actions of Peer::act().
#include <consort/transport.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <vector>

#include "fuzz.hpp"
#include "plugins/transports/fd.hpp"
#include "plugins/transports/shm/names.hpp"
#include "plugins/transports/shm/ring.hpp"

extern "C" const consort_module *consort_plugin_entry_shm(const consort_host *);

namespace {

using namespace shm;
using transports::Fd;

constexpr uint32_t kDepth = 4, kUnexpected = 2;
constexpr uint8_t kSecret[] = {3, 1, 4, 1, 5, 9};
constexpr uint64_t kHeads = 4096, kRegion = 200, kLocal = 96;

struct Settings {
  bool by_ring = false;
};

consort_host host_of(Settings &s) {
  consort_host h{};
  h.size = sizeof h, h.major = CONSORT_HOST_MAJOR, h.minor = CONSORT_HOST_MINOR;
  h.ctx = &s;
  h.param = [](const consort_host *host, const char *key) -> const char * {
    const std::string_view k = key;
    if (k == "depth") return "4";
    if (k == "unexpected") return "2";
    if (k == "notifications") return "3";
    return static_cast<const Settings *>(host->ctx)->by_ring ? "ring" : "auto";
  };
  h.fail = [](const consort_host *, consort_status code, const char *) { return code; };
  h.log = [](const consort_host *, int32_t, const char *text) { fuzz::expect(text && *text, "a line of the log has a text"); };
  h.event = [](const consort_host *, uint32_t, uint64_t, int64_t) noexcept {};
  h.now = [](const consort_host *) { return uint64_t{0}; };
  return h;
}

// Rank 0, by its table.
class Victim {
 public:
  Victim(const consort_host &host, const consort_boot &boot)
      : plugin_(*consort_plugin_entry_shm(&host)->plugins[0]),
        ops_(*static_cast<const consort_transport_ops *>(plugin_.ops)),
        region_(new char[kRegion]) {
    if (plugin_.init) fuzz::expect(plugin_.init(&host, &self_) >= 0, "the plugin starts");
    consort_tcaps caps{};
    caps.size = sizeof caps;
    fuzz::expect(ops_.open(self_, &host, &boot, 7, &t_, &caps) >= 0, "a rank opens");
    uint32_t n = sizeof address;
    fuzz::expect(ops_.address(t_, &address, &n) >= 0 && n == sizeof address, "a rank has an address");
    consort_space_desc space{};
    space.size = sizeof space, space.flags = CONSORT_SP_CPU, space.domain = "host";
    fuzz::expect(ops_.reg(t_, &space, {reinterpret_cast<uint64_t>(region_.get()), 0}, kRegion, &mr) >= 0, "memory is registered");
  }
  ~Victim() {
    ops_.close(t_);
    if (plugin_.fini) plugin_.fini(self_);
  }
  void connect(const Address &peer) { fuzz::expect(ops_.connect(t_, 1, &peer, sizeof peer) >= 0, "a sound address is taken"); }
  void look() { (void)ops_.arm(t_); }
  void disconnect() { ops_.disconnect(t_, 1); }
  void deregister() {
    if (is_registered_) ops_.dereg(t_, &mr);
    is_registered_ = false;
  }
  void post(fuzz::Bytes &in) {
    consort_msg m{};
    m.kind = static_cast<uint16_t>(CONSORT_MSG_SEND + in.below(5));
    m.peer = m.kind == CONSORT_MSG_RECV && in.flag() ? CONSORT_NONE : 1;
    m.cookie = ++last_;
    m.tag = in.byte() & 3;
    m.bytes = in.below(kLocal / 2 + 1), m.rows = 1 + in.below(2), m.local_step = kLocal / 2;
    if (m.kind == CONSORT_MSG_CANCEL) m.cookie = 1 + in.below(static_cast<uint32_t>(last_));
    auto &room = rooms_.emplace_back(new char[kLocal]);  // kept until the end: the rank may still read it
    std::memset(room.get(), 'v', kLocal);
    m.local.base = reinterpret_cast<uint64_t>(room.get());
    m.remote.base = in.byte(), m.rkey = mr.rkey, m.nrkey = mr.nrkey;
    if (ops_.post(t_, &m, 1) == 1 && m.kind != CONSORT_MSG_CANCEL) under_way_[m.cookie] = true;
  }
  void poll() {
    consort_done done[8];
    const uint32_t n = ops_.poll(t_, done, 8);
    for (uint32_t i = 0; i < n; ++i) {
      if (done[i].cookie == CONSORT_NOTIFIED) continue;
      fuzz::expect(under_way_.erase(done[i].cookie) == 1, "a message ends once, and was posted");
    }
  }

  Address address{};
  consort_mr mr{};
  uint64_t region() const { return reinterpret_cast<uint64_t>(region_.get()); }

 private:
  const consort_plugin &plugin_;
  const consort_transport_ops &ops_;
  void *self_ = nullptr, *t_ = nullptr;
  const std::unique_ptr<char[]> region_;
  std::vector<std::unique_ptr<char[]>> rooms_;
  std::map<uint64_t, bool> under_way_;
  uint64_t last_ = 0;
  bool is_registered_ = true;
};

// Rank 1: this target.
class Peer {
 public:
  Peer(Victim &victim, uint64_t job) : victim_(victim), memory_(new char[64]) {
    std::memset(memory_.get(), 'p', 64);
    std::memcpy(mine_.magic, kMagic, sizeof kMagic);
    mine_.version = kVersion, mine_.rank = 1, mine_.nranks = 2, mine_.job = job, mine_.host = victim.address.host;
    victim.connect(mine_);
  }
  ~Peer() {
    if (map_) munmap(map_, bytes_);
  }
  // False: the rank has refused it.
  bool shake_hands(fuzz::Bytes &in, bool own_hello, bool own_proof) {
    socket_ = Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const SocketName to(victim_.address.id);
    fuzz::expect(::connect(socket_.get(), to.get(), to.size()) == 0, "the rank listens");
    const Packet hello = own_hello ? in.take<Packet>() : packet(kHello);
    if (send(socket_.get(), &hello, sizeof hello, MSG_NOSIGNAL) < 0) return false;
    victim_.look(), victim_.look();
    Packet challenge{};
    if (recv(socket_.get(), &challenge, sizeof challenge, 0) != sizeof challenge) return false;
    Packet proof = packet(kProof);
    prove(proof, hello, challenge);
    if (own_proof) proof = in.take<Packet>();
    bytes_ = kHeads + 2 * room_;
    const Fd file(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    fuzz::expect(file && ftruncate(file.get(), static_cast<off_t>(bytes_)) == 0, "there is memory to share");
    if (!own_proof || in.flag()) fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (!send_with(proof, file.get())) return false;
    victim_.look();
    Packet ready{};
    if (recv(socket_.get(), &ready, sizeof ready, 0) != sizeof ready) return false;
    map_ = static_cast<char *>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
    fuzz::expect(map_ != MAP_FAILED, "shared memory is mapped");
    return true;
  }
  void act(fuzz::Bytes &in) {
    switch (in.byte() % 10) {
      case 0: case 1: case 2: write(in); break;
      case 3: case 4: victim_.post(in); break;
      case 5: victim_.poll(); break;
      case 6: read_all(); break;
      case 7: overwrite(in); break;
      case 8: in.byte() < 20 ? victim_.deregister() : victim_.look(); break;
      default:
        if (in.byte() < 10) socket_.reset();
        else if (in.byte() < 3) victim_.disconnect();
    }
  }

 private:
  RingHead &out() { return *reinterpret_cast<RingHead *>(map_); }
  RingHead &in_head() { return *reinterpret_cast<RingHead *>(map_ + kHeads / 2); }

  Packet packet(uint16_t step) const {
    Packet p{};
    std::memcpy(p.magic, kMagic, sizeof kMagic);
    p.version = kVersion, p.step = step, p.from = 1, p.nranks = 2, p.depth = kDepth, p.unexpected = kUnexpected;
    p.job = mine_.job, p.probe_at = reinterpret_cast<uint64_t>(&probe_), p.probe = probe_;
    std::memcpy(p.from_id, mine_.id, sizeof p.from_id);
    std::memcpy(p.to_id, victim_.address.id, sizeof p.to_id);
    return p;
  }
  static void prove(Packet &proof, const Packet &hello, const Packet &challenge) {
    hmac_sha256_ctx c;
    hmac_sha256_set_key(&c, sizeof kSecret, kSecret);
    static const char side[] = "connects";
    hmac_sha256_update(&c, sizeof side, reinterpret_cast<const uint8_t *>(side));
    for (const Packet *p : {&hello, &challenge, static_cast<const Packet *>(&proof)})
      hmac_sha256_update(&c, sizeof *p, reinterpret_cast<const uint8_t *>(p));
    hmac_sha256_digest(&c, sizeof proof.proof, proof.proof);
  }
  bool send_with(const Packet &p, int fd) const {
    iovec v = {const_cast<Packet *>(&p), sizeof p};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
    msghdr m{};
    m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = room, m.msg_controllen = sizeof room;
    cmsghdr *const c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(socket_.get(), &m, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof p);
  }
  static uint64_t number(fuzz::Bytes &in) {  // mostly small
    const uint8_t small = in.byte();
    return small < 240 ? small : in.take<uint64_t>();
  }
  uint64_t place(fuzz::Bytes &in) {  // of the peer's memory, of the rank's region, or none
    const uint8_t what = in.byte();
    if (what < 120) return reinterpret_cast<uint64_t>(memory_.get()) + what % 64;
    return what < 240 ? victim_.region() + what - 120 : in.take<uint64_t>();
  }
  // A record whose sizes mostly agree, so that it gets beyond is_sound().
  void write(fuzz::Bytes &in) {
    Record r{};
    r.kind = static_cast<uint16_t>(in.below(kLastKind + 2)), r.flags = in.byte() & 7;
    const uint64_t generation = in.byte() & 7u;
    r.op = generation << 32 | (in.byte() & 3u), r.tag = number(in), r.offset = number(in);
    r.shape = {place(in), number(in), static_cast<int64_t>(number(in)), in.byte() & 7u, 0};
    Reach reach{};
    std::memcpy(&reach.key, victim_.mr.rkey, sizeof reach.key);
    if (in.byte() < 20) reach.key.region = number(in);
    reach.at = {victim_.region(), number(in)}, reach.step = static_cast<int64_t>(number(in));
    const bool reaches = r.kind == kPut || r.kind == kGet || r.kind == kPullRegion;
    const uint64_t carried = r.kind == kPut && (r.flags & kCarried) ? r.shape.bytes * r.shape.rows : 0;
    r.payload = reaches ? static_cast<uint32_t>(sizeof reach + carried) : r.kind == kShortSend || r.kind == kData ? in.byte() : 0;
    if (in.byte() < 20) r.payload = in.take<uint32_t>();
    const uint64_t n = size_of(r.payload), at = tail_ % room_;
    if (n > room_ - at) return put(r, sizeof r, at);  // a record that ends behind the ring
    std::string payload(reinterpret_cast<const char *>(&reach), sizeof reach);
    payload.resize(std::max<size_t>(r.payload, sizeof reach), 'x');
    put(r, sizeof r, at);
    std::memcpy(map_ + kHeads + at + sizeof r, payload.data(), r.payload);
    tail_ += n;
    out().tail.store(tail_, std::memory_order_release);
  }
  void put(const Record &r, size_t n, uint64_t at) {
    std::memcpy(map_ + kHeads + at, &r, n);
    out().tail.store(tail_ += 64, std::memory_order_release);
  }
  void read_all() { in_head().head.store(in_head().tail.load(std::memory_order_acquire), std::memory_order_release); }
  void overwrite(fuzz::Bytes &in) {
    const uint8_t what = in.byte();
    if (what < 100) in_head().freed.store(number(in), std::memory_order_release);
    else if (what < 200) out().epoch.store(number(in), std::memory_order_relaxed);
    else if (what < 220) in_head().head.store(number(in), std::memory_order_release);
    else if (what < 230) out().tail.store(tail_ = number(in), std::memory_order_release);
    else if (what < 240) out().closed.store(1, std::memory_order_relaxed);
    else in_head().armed.store(1, std::memory_order_relaxed);
  }

  Victim &victim_;
  Address mine_{};
  Fd socket_;
  const uint64_t probe_ = 0x70726f6265;
  const std::unique_ptr<char[]> memory_;
  const uint64_t room_ = ring_bytes(kDepth, kUnexpected);
  uint64_t bytes_ = 0, tail_ = 0;
  char *map_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  const uint8_t how = in.byte();
  Settings settings{(how & 1) != 0};
  const consort_host host = host_of(settings);
  consort_boot boot{};
  boot.size = sizeof boot, boot.nranks = 2, boot.job = "fuzz", boot.secret = kSecret, boot.nsecret = sizeof kSecret;
  Victim victim(host, boot);
  Peer peer(victim, victim.address.job);
  if (!peer.shake_hands(in, how & 2, how & 4)) return 0;
  for (int i = 0; i < 200 && !in.empty(); ++i) peer.act(in);
  for (int i = 0; i < 4; ++i) victim.poll();
  return 0;
}
