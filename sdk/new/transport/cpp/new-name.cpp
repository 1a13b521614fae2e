// new-name: a transport. Messages of a process to itself: what is sent is received, put and got without leaving it.
//
// A start for a real one: put a wire between post() and what here happens at once. It keeps the promises that all
// transports make: a receive takes the oldest message that matches, a longer message is cut and told so, memory is
// reached only through a key and within its bounds, what is cancelled ends once. Messages wait where they are until
// they are received; nothing is allocated after open().
#include <consort/plugin/transport.hpp>

#include <cstring>
#include <mutex>

namespace {

using namespace consort::plugin;

char *at(consort_addr a) { return reinterpret_cast<char *>(a.base + a.off); }

class NewNameTransport : public Transport {
 public:
  static constexpr const char *summary = "messages of a process to itself", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "256", "1..65536", "messages under way, in each direction"};
  static constexpr auto params = parameters(depth);
  struct Settings {
    explicit Settings(Host host) : depth(host.value(NewNameTransport::depth)) {}
    uint32_t depth;
  };
  static constexpr uint32_t kInline = 64;

  NewNameTransport(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
      : Transport(host), depth_(settings.depth), rank_(boot.rank), token_(token), done_(4 * size_t{depth_}) {
    sends_.reserve(depth_);
    receives_.reserve(depth_);
    caps.flags = CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY;
    caps.max_inline = kInline;
    caps.max_address = sizeof rank_;
    caps.max_message = UINT64_MAX;
    caps.bytes_per_s = 8'000'000'000;
    caps.latency_ns = 100;
    caps.max_rkey = sizeof(Key);
    caps.notify_bits = 64;
  }

  uint32_t address(std::span<std::byte> room) {
    if (room.size() >= sizeof rank_) std::memcpy(room.data(), &rank_, sizeof rank_);
    return sizeof rank_;
  }
  void connect(uint32_t rank, std::span<const std::byte> address) {
    if (address.size() != sizeof rank_ || std::memcmp(address.data(), &rank, sizeof rank) != 0)
      throw Error(CONSORT_E_INVAL, "that is no address of rank " + std::to_string(rank) + ", or of another transport");
    if (rank != rank_)
      throw Error(CONSORT_E_UNSUPPORTED,
                  "rank " + std::to_string(rank) +
                      " is another process, which this transport does not reach; use it for rank " +
                      std::to_string(rank_) + " alone");
    {
      const std::lock_guard guard(mutex_);
      up_ = true;
    }
    host().event(CONSORT_EV_PEER_UP, token_, rank);
  }
  void disconnect(uint32_t rank) noexcept {
    const std::lock_guard guard(mutex_);
    if (rank != rank_) return;
    up_ = false;
    for (const Send &s : sends_) finish(s.m, CONSORT_E_PEER_LOST, 0);
    sends_.clear();
    for (size_t i = receives_.size(); i-- > 0;)  // those from any stay
      if (receives_[i].peer == rank)
        finish(receives_[i], CONSORT_E_PEER_LOST, 0), receives_.erase(receives_.begin() + static_cast<ptrdiff_t>(i));
  }

  consort_mr reg(const consort_space_desc &space, consort_addr a, uint64_t bytes) {
    if (!(space.flags & CONSORT_SP_CPU))
      throw Error(CONSORT_E_UNSUPPORTED, "only memory that the CPU can load and store");
    const std::lock_guard guard(mutex_);
    const Key key = {++last_key_, a, bytes};
    regions_.push_back(key);
    consort_mr mr = {key.id, sizeof key, 0, {}};
    std::memcpy(mr.rkey, &key, sizeof key);
    return mr;
  }
  void dereg(const consort_mr &mr) noexcept {
    const std::lock_guard guard(mutex_);
    std::erase_if(regions_, [&](const Key &k) { return k.id == mr.lkey; });
  }

  uint32_t post(Messages messages) noexcept {
    const std::lock_guard guard(mutex_);
    uint32_t n = 0;
    while (n < messages.size() && take(messages[n])) ++n;
    return n;
  }
  uint32_t poll(std::span<consort_done> out) noexcept {
    const std::lock_guard guard(mutex_);
    uint32_t n = 0;
    for (; n < out.size() && told_ < finished_; ++n) out[n] = done_[told_++ % done_.size()];
    return n;
  }

 private:
  struct Send {
    consort_msg m;
    char bytes[kInline];  // of an INLINE one
    const char *data() const noexcept { return m.flags & CONSORT_MF_INLINE ? bytes : at(m.local); }
  };
  struct Key {
    uint64_t id;
    consort_addr from;
    uint64_t bytes;
  };
  static_assert(sizeof(Key) <= sizeof consort_mr::rkey);

  // Room for what is posted means room for what it will tell: poll() gives it back.
  uint64_t owed() const noexcept { return finished_ - told_ + sends_.size() + receives_.size(); }

  // False: no room now.
  bool take(const consort_msg &m) noexcept {
    if (m.kind == CONSORT_MSG_CANCEL) return cancel(m), true;
    if (owed() + 2 > done_.size()) return false;
    if (m.kind == CONSORT_MSG_SEND && sends_.size() == depth_) return false;
    if (m.kind == CONSORT_MSG_RECV && receives_.size() == depth_) return false;
    const bool any = m.kind == CONSORT_MSG_RECV && m.peer == CONSORT_NONE;
    if (!any && (m.peer != rank_ || !up_)) return finish(m, CONSORT_E_PEER_LOST, 0), true;
    if (m.rows > 1) return finish(m, CONSORT_E_UNSUPPORTED, 0), true;  // TC_2D is not promised
    if ((m.flags & CONSORT_MF_INLINE) && m.bytes > kInline) return finish(m, CONSORT_E_INVAL, 0), true;
    switch (m.kind) {
      case CONSORT_MSG_SEND:
        send(m);
        break;
      case CONSORT_MSG_RECV:
        receive(m);
        break;
      case CONSORT_MSG_PUT:
      case CONSORT_MSG_GET:
        reach(m);
        break;
      default:
        finish(m, CONSORT_E_UNSUPPORTED, 0);
    }
    return true;
  }

  static bool match(const consort_msg &receive, const consort_msg &send) noexcept {
    return ((receive.tag ^ send.tag) & ~receive.ignore) == 0;
  }
  void send(const consort_msg &m) noexcept {
    Send s;
    s.m = m;
    if ((m.flags & CONSORT_MF_INLINE) && m.bytes) std::memcpy(s.bytes, at(m.local), m.bytes);
    for (size_t i = 0; i < receives_.size(); ++i)
      if (match(receives_[i], m)) {
        deliver(s, receives_[i]);
        receives_.erase(receives_.begin() + static_cast<ptrdiff_t>(i));
        return;
      }
    sends_.push_back(s);
  }
  void receive(const consort_msg &m) noexcept {
    for (size_t i = 0; i < sends_.size(); ++i)
      if (match(m, sends_[i].m)) {
        deliver(sends_[i], m);
        sends_.erase(sends_.begin() + static_cast<ptrdiff_t>(i));
        return;
      }
    receives_.push_back(m);
  }
  void deliver(const Send &s, const consort_msg &to) noexcept {
    const uint64_t n = s.m.bytes < to.bytes ? s.m.bytes : to.bytes;
    if (n) std::memmove(at(to.local), s.data(), n);
    tell({s.m.cookie, CONSORT_OK, CONSORT_NONE, 0, 0, s.m.bytes, s.m.tag});
    tell({to.cookie, s.m.bytes > to.bytes ? CONSORT_E_TRUNCATED : CONSORT_OK, rank_, 0, 0, s.m.bytes, s.m.tag});
  }

  void reach(const consort_msg &m) noexcept {
    Key key{};
    if (!m.rkey || m.nrkey != sizeof key) return finish(m, CONSORT_E_INVAL, 0);
    std::memcpy(&key, m.rkey, sizeof key);
    const Key *region = nullptr;  // what the key says counts for nothing: the table does
    for (const Key &r : regions_)
      if (r.id == key.id) region = &r;
    if (!region) return finish(m, CONSORT_E_STALE, 0);
    const uint64_t begin = m.remote.off - region->from.off;
    if (m.remote.base != region->from.base || begin > region->bytes || m.bytes > region->bytes - begin)
      return finish(m, CONSORT_E_INVAL, 0);
    const bool put = m.kind == CONSORT_MSG_PUT;
    if (m.bytes) std::memmove(at(put ? m.remote : m.local), at(put ? m.local : m.remote), m.bytes);
    finish(m, CONSORT_OK, m.bytes);
    if (put && (m.flags & CONSORT_MF_NOTIFY)) tell({CONSORT_NOTIFIED, CONSORT_OK, rank_, 0, 0, m.bytes, m.tag});
  }

  void cancel(const consort_msg &m) noexcept {  // what is done already has its own end
    for (size_t i = 0; i < receives_.size(); ++i)
      if (receives_[i].cookie == m.cookie) {
        finish(receives_[i], CONSORT_E_CANCELLED, 0);
        receives_.erase(receives_.begin() + static_cast<ptrdiff_t>(i));
        return;
      }
    for (size_t i = 0; i < sends_.size(); ++i)
      if (sends_[i].m.cookie == m.cookie) {
        finish(sends_[i].m, CONSORT_E_CANCELLED, 0);
        sends_.erase(sends_.begin() + static_cast<ptrdiff_t>(i));
        return;
      }
  }

  void finish(const consort_msg &m, consort_status s, uint64_t bytes) noexcept {
    tell({m.cookie, s, CONSORT_NONE, 0, 0, bytes, m.tag});
  }
  void tell(const consort_done &d) noexcept { done_[finished_++ % done_.size()] = d; }

  const uint32_t depth_, rank_;
  const uint64_t token_;
  std::mutex mutex_;  // guards all below
  bool up_ = false;
  uint64_t last_key_ = 0;
  std::vector<Key> regions_;
  std::vector<Send> sends_;            // not received yet, oldest first
  std::vector<consort_msg> receives_;  // that nothing has come for
  std::vector<consort_done> done_;     // a ring
  uint64_t finished_ = 0, told_ = 0;
};

}  // namespace

CONSORT_PLUGIN(new_name, TRANSPORT, 0, "new-name", "0.1.0", NewNameTransport);
