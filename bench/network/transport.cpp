// Messages through a transport's own table, without a runtime: a host of a few functions, post() and poll(). A rank sleeps
// on the transport's descriptor after arm(); where there is none, it polls on, as the calls of MPI do.
#include "exchange.hpp"
#include "pair.hpp"
#include <consort/transport.h>
#include <dlfcn.h>
#include <poll.h>

namespace {

using network::Options;

class Host {
public:
  Host(const std::string &file, const std::vector<std::string> &settings) : settings_(settings) {
    host_.size = sizeof host_, host_.major = CONSORT_HOST_MAJOR, host_.minor = CONSORT_HOST_MINOR, host_.ctx = this;
    host_.log = [](const consort_host *, int32_t level, const char *text) {
      if (level <= 1) std::fprintf(stderr, "%s\n", text);
    };
    host_.fail = [](const consort_host *, consort_status code, const char *text) {
      std::fprintf(stderr, "%s\n", text);
      return code;
    };
    host_.get = [](const consort_host *h, const char *) -> const void * { return static_cast<Host *>(h->ctx)->boot; };
    host_.param = [](const consort_host *h, const char *key) { return static_cast<Host *>(h->ctx)->param(key); };
    host_.alloc = [](const consort_host *, size_t bytes, size_t align) -> void * {
      return std::aligned_alloc(std::max(align, sizeof(void *)), (bytes + align) / align * align);
    };
    host_.release = [](const consort_host *, void *p) { std::free(p); };
    host_.now = [](const consort_host *) { return static_cast<uint64_t>(bench::now_ns()); };
    host_.complete = [](const consort_host *, uint64_t, const consort_done *, uint32_t) {};
    host_.event = [](const consort_host *h, uint32_t what, uint64_t, int64_t) {
      static_cast<Host *>(h->ctx)->is_up |= what == CONSORT_EV_PEER_UP;
    };
    void *const so = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!so) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(3);
    }
    const auto entry = reinterpret_cast<consort_entry_fn *>(dlsym(so, "consort_plugin_entry"));
    const consort_module *const m = entry ? entry(&host_) : nullptr;
    if (!m || m->nplugins != 1) std::exit(1);
    plugin_ = m->plugins[0];
    if (plugin_->init && plugin_->init(&host_, &self) < 0) std::exit(1);
  }
  ~Host() {
    if (plugin_->fini) plugin_->fini(self);
  }
  const consort_host *table() const { return &host_; }
  const consort_transport_ops &ops() const { return *static_cast<const consort_transport_ops *>(plugin_->ops); }

  void *self = nullptr;
  const consort_boot *boot = nullptr;
  bool is_up = false; // set inside of poll(), by its thread

private:
  const char *param(const char *key) const {
    for (const std::string &set : settings_)
      if (set.starts_with(std::string(key) + "=")) return set.c_str() + std::strlen(key) + 1;
    for (uint32_t i = 0; plugin_ && i < plugin_->nparams; ++i)
      if (std::string_view(plugin_->params[i].key) == key) return plugin_->params[i].dflt;
    return nullptr;
  }
  std::vector<std::string> settings_;
  consort_host host_{};
  const consort_plugin *plugin_ = nullptr;
};

class Line {
public:
  explicit Line(const Options &o)
      : pair_(o.transport == "mpi" ? nullptr : std::make_unique<network::Pair>(o.space)), host_(o.plugins + "/" + o.transport + ".so", settings(o)) {
    boot_.size = sizeof boot_;
    if (o.transport == "mpi") {
      must(host_.ops().boot(host_.self, host_.table(), deadline(), &boot_), "boot");
      if (boot_.nranks != 2) std::exit(2);
      network::pin_to(boot_.rank);
    } else {
      boot_.rank = pair_->rank(), boot_.nranks = 2, boot_.host_id = 1;
      name_ = "bench " + std::to_string(boot_.rank ? getppid() : getpid());
      boot_.job = name_.c_str();
      static constexpr uint8_t secret[16] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5};
      boot_.secret = secret, boot_.nsecret = sizeof secret;
    }
    host_.boot = &boot_;
    caps_.size = sizeof caps_;
    must(ops().open(host_.self, host_.table(), &boot_, 1, &t_, &caps_), "open");
    std::vector<std::byte> mine(caps_.max_address);
    uint32_t n = caps_.max_address;
    must(ops().address(t_, mine.data(), &n), "address");
    mine.resize(n);
    const std::vector<std::byte> theirs = swap(mine);
    must(ops().connect(t_, 1 - rank(), theirs.data(), static_cast<uint32_t>(theirs.size())), "connect");
    if ((caps_.flags & CONSORT_TC_FD) && ops().event_fd) fd_ = ops().event_fd(t_);
    while (!host_.is_up) wait_once();
  }
  Line(const Line &) = delete;
  Line &operator=(const Line &) = delete;
  ~Line() { ops().close(t_); }

  uint32_t rank() const { return boot_.rank; }
  void receive(unsigned slot, void *p, uint64_t n) { start(CONSORT_MSG_RECV, slot, p, n); }
  void send(unsigned slot, const void *p, uint64_t n) { start(CONSORT_MSG_SEND, slot, const_cast<void *>(p), n); }
  void wait() {
    while (under_way_) wait_once();
  }
  int end(int status) { return pair_ ? pair_->end(status) : status; }

private:
  static void must(consort_status s, const char *what) {
    if (s >= 0) return;
    std::fprintf(stderr, "%s: error %d\n", what, s);
    std::exit(1);
  }
  std::vector<std::string> settings(const Options &o) const {
    std::vector<std::string> all = o.settings;
    if (o.transport == "ofi") all.push_back("network=" + o.address[pair_->rank()]);
    return all;
  }
  const consort_transport_ops &ops() const { return host_.ops(); }
  uint64_t deadline() const { return static_cast<uint64_t>(bench::now_ns()) + 20'000'000'000; }

  std::vector<std::byte> swap(const std::vector<std::byte> &mine) {
    if (pair_) return pair_->swap(mine);
    std::vector<std::byte> theirs(caps_.max_address);
    auto n = caps_.max_address;
    must(boot_.put(host_.table(), "address", mine.data(), static_cast<uint32_t>(mine.size())), "put");
    must(boot_.fence(host_.table(), deadline()), "fence");
    must(boot_.get(host_.table(), 1 - rank(), "address", theirs.data(), &n, deadline()), "get");
    theirs.resize(n);
    return theirs;
  }
  void start(uint16_t kind, unsigned slot, void *p, uint64_t n) {
    consort_msg m{};
    m.kind = kind, m.peer = 1 - rank(), m.cookie = slot + 1, m.tag = slot + 1, m.rows = 1;
    m.local.base = reinterpret_cast<uint64_t>(p), m.bytes = n;
    if (kind == CONSORT_MSG_SEND && n <= caps_.max_inline) m.flags = CONSORT_MF_INLINE;
    while (ops().post(t_, &m, 1) != 1) look();
    ++under_way_;
  }
  bool look() {
    consort_done done[32];
    const uint32_t n = ops().poll(t_, done, 32);
    for (uint32_t i = 0; i < n; ++i) must(done[i].status, "message");
    under_way_ -= n;
    return n != 0;
  }
  void wait_once() {
    if (look() || fd_ < 0 || ops().arm(t_) != CONSORT_OK) return;
    pollfd f{fd_, POLLIN, 0};
    (void)::poll(&f, 1, 1000);
  }

  std::unique_ptr<network::Pair> pair_; // null: the transport has a launcher
  Host host_;
  std::string name_;
  consort_boot boot_{};
  consort_tcaps caps_{};
  void *t_ = nullptr;
  int fd_ = -1;
  uint32_t under_way_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  const Options o = network::options(argc, argv);
  Line line(o);
  return line.end(network::exchange(line, "consort", o));
}
