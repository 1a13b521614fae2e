// ranks.hpp — ranks of one job, each a transport of its own on a host of its own, driven by their tables.
//
// A Rank posts and polls as its owner says; completions are kept by cookie. One thread at a time per Rank, but for
// connect() and disconnect(), which may come from another.
#pragma once
#include <consort/transport.h>

#include <string>
#include <vector>

#include "support/plugin_host.hpp"

namespace consort_test {

struct Job {
  uint32_t nranks = 2;
  std::string name = "job";
  std::vector<uint8_t> secret = {3, 1, 4, 1, 5, 9};
  uint64_t sim_domain = 0;
  std::string plugin = "inproc";
};

class Rank {
 public:
  static constexpr uint64_t kToken = 77;

  Rank(const Job &job, uint32_t rank, PluginHost::Params params = {}) : host_(job.plugin, std::move(params)), job_(job) {
    boot_.size = sizeof boot_;
    boot_.rank = rank, boot_.nranks = job.nranks;
    boot_.job = job_.name.c_str();
    boot_.sim_domain = job.sim_domain;
    boot_.secret = job_.secret.data(), boot_.nsecret = static_cast<uint32_t>(job_.secret.size());
    caps_.size = sizeof caps_;
    if (host_.ready()) opened_ = ops().open(host_.self(), host_.host(), &boot_, kToken, &t_, &caps_);
  }
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  ~Rank() { close(); }

  void close() {
    if (t_) ops().close(t_);
    t_ = nullptr;
  }
  const consort_transport_ops &ops() const { return *host_.ops<consort_transport_ops>(); }
  void *raw() const { return t_; }
  uint32_t number() const { return boot_.rank; }
  consort_status opened() const { return opened_; }
  const consort_tcaps &caps() const { return caps_; }
  PluginHost &host() { return host_; }

  std::vector<char> address() const {
    std::vector<char> a(256);
    uint32_t n = 256;
    EXPECT_EQ(ops().address(t_, a.data(), &n), CONSORT_OK);
    a.resize(n);
    return a;
  }
  consort_status connect(uint32_t rank, const std::vector<char> &a) {
    return ops().connect(t_, rank, a.data(), static_cast<uint32_t>(a.size()));
  }
  consort_status connect(const Rank &to) { return connect(to.number(), to.address()); }
  void disconnect(const Rank &from) { ops().disconnect(t_, from.number()); }

  static consort_msg message(uint16_t kind, uint32_t peer, uint64_t cookie, void *p, uint64_t bytes, uint64_t tag = 0) {
    consort_msg m{};
    m.kind = kind, m.peer = peer, m.cookie = cookie, m.tag = tag;
    m.local.base = reinterpret_cast<uint64_t>(p), m.bytes = bytes, m.rows = 1;
    return m;
  }
  static consort_msg send(uint32_t peer, uint64_t cookie, const void *p, uint64_t bytes, uint64_t tag = 0) {
    return message(CONSORT_MSG_SEND, peer, cookie, const_cast<void *>(p), bytes, tag);
  }
  static consort_msg recv(uint32_t peer, uint64_t cookie, void *p, uint64_t bytes, uint64_t tag = 0,
                          uint64_t ignore = 0) {
    consort_msg m = message(CONSORT_MSG_RECV, peer, cookie, p, bytes, tag);
    m.ignore = ignore;
    return m;
  }
  static consort_msg reach(uint16_t kind, uint32_t peer, uint64_t cookie, void *local, uint64_t bytes,
                           const void *remote, const consort_mr &mr) {
    consort_msg m = message(kind, peer, cookie, local, bytes);
    m.remote.base = reinterpret_cast<uint64_t>(remote);
    m.rkey = mr.rkey, m.nrkey = mr.nrkey;
    return m;
  }
  static consort_msg cancel(uint64_t cookie) { return message(CONSORT_MSG_CANCEL, 0, cookie, nullptr, 0); }

  bool post(const consort_msg &m) { return ops().post(t_, &m, 1) == 1; }
  uint32_t post(const std::vector<consort_msg> &m) { return ops().post(t_, m.data(), static_cast<uint32_t>(m.size())); }
  std::vector<consort_done> poll(uint32_t max = 64) {
    std::vector<consort_done> out(max);
    out.resize(ops().poll(t_, out.data(), max));
    return out;
  }
  // The one completion that there is; a failure of the test where there is another number.
  consort_done one() {
    const std::vector<consort_done> d = poll();
    EXPECT_EQ(d.size(), 1u);
    return d.empty() ? consort_done{} : d[0];
  }
  uint32_t count(uint32_t what, uint32_t rank) const {
    uint32_t n = 0;
    for (const PluginHost::Event &e : host_.events())
      n += e.what == what && e.object == kToken && e.detail == static_cast<int64_t>(rank);
    return n;
  }
  consort_mr reg(void *p, uint64_t bytes) {
    consort_space_desc space{};
    space.size = sizeof space, space.flags = CONSORT_SP_CPU, space.domain = "host";
    consort_mr mr{};
    EXPECT_EQ(ops().reg(t_, &space, {reinterpret_cast<uint64_t>(p), 0}, bytes, &mr), CONSORT_OK);
    return mr;
  }

 private:
  PluginHost host_;
  Job job_;
  consort_boot boot_{};
  consort_tcaps caps_{};
  void *t_ = nullptr;
  consort_status opened_ = CONSORT_E_INTERNAL;
};

inline void join(Rank &a, Rank &b) {
  ASSERT_EQ(a.connect(b), CONSORT_OK) << a.host().failure();
  if (&a != &b) {
    ASSERT_EQ(b.connect(a), CONSORT_OK) << b.host().failure();
  }
  a.poll(), b.poll();
}

}  // namespace consort_test
