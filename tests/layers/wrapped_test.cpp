// Plugins below layers, called as no runtime of today calls them. Two threads call where one may, which "checks" names.
// Two ranks of the transport inproc run below all layers at once.
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "layers/wrapped.hpp"

namespace consort_test {
namespace {

// -- thread tags: the plugins let a call go on when two are inside -------------------------------------------------

struct Meeting : Wrapped {
  Meeting() : Wrapped("wrong-scheduler", CONSORT_KIND_SCHEDULER, "wrong-scheduler"), o(*plugin->scheduler()) {
    topology.size = sizeof topology;
    topology.nworkers = 2, topology.nclasses = 1;
    topology.workers = workers;
    topology.classes = classes;
    EXPECT_EQ(o.create(plugin->self, plugin->host, &topology, 5, &s), CONSORT_OK);
  }
  ~Meeting() { o.destroy(s); }
  void pop(uint32_t worker) const {
    consort_pick pick;
    EXPECT_EQ(o.pop(s, worker, &pick, 1), 0u);
  }
  const consort_scheduler_ops &o;
  const consort_worker workers[2] = {{0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}};
  const char *const classes[1] = {"a"};
  consort_topology topology{};
  void *s = nullptr;
};

TEST(WrappedPlugins, ReportOneWorkerDrivenByTwoThreads) {
  Meeting m;
  std::thread other([&] { m.pop(1); });
  m.pop(1);
  other.join();
  EXPECT_EQ(m.told("thread-tag"), 1u) << m.lines.all();
  EXPECT_TRUE(m.lines.has(
      "scheduler \"wrong-scheduler\", pop (thread-tag): [worker], entered for one instance by two threads at once"))
      << m.lines.all();
}

TEST(WrappedPlugins, AcceptTwoWorkersDrivenByTwoThreads) {
  Meeting m;
  std::thread other([&] { m.pop(0); });
  m.pop(1);
  other.join();
  EXPECT_FALSE(m.lines.has("checks: ")) << m.lines.all();
}

TEST(WrappedPlugins, ReportControlByTwoThreads) {
  Meeting m;
  std::thread other([&] {
    consort_task *none;
    EXPECT_EQ(m.o.drain(m.s, 6, &none, 1), 0u);
  });
  EXPECT_EQ(m.o.workers(m.s, &m.topology, nullptr, 0, nullptr, 0), CONSORT_OK);
  other.join();
  EXPECT_EQ(m.told("thread-tag"), 1u) << m.lines.all();
  EXPECT_TRUE(m.lines.has(
      "(thread-tag): [control], entered for one instance while another thread is inside a [control] function of it"))
      << m.lines.all();
}

TEST(WrappedPlugins, ReportOneQueueUsedByTwoThreads) {
  Wrapped w("wrong-driver", CONSORT_KIND_DRIVER, "wrong-driver", {{"wrong-driver.wrong", "waits"}});
  const consort_driver_ops &o = *w.plugin->driver();
  void *dev = nullptr, *q = nullptr;
  ASSERT_EQ(o.open(w.plugin->self, 0, 7, &dev), CONSORT_OK);
  consort_queue_desc desc{};
  desc.size = sizeof desc;
  ASSERT_EQ(o.queue_open(dev, 0, 40, &desc, &q), CONSORT_OK);
  std::thread other([&] {
    consort_done done;
    o.poll(q, &done, 1);
  });
  consort_done done;
  o.poll(q, &done, 1);
  other.join();
  EXPECT_EQ(w.told("thread-tag"), 1u) << w.lines.all();
  EXPECT_TRUE(w.lines.has("poll (thread-tag): [queue]")) << w.lines.all();
  o.queue_close(q), o.close(dev);
}

// -- a transport ----------------------------------------------------------------------------------------------------------

struct LayeredRank : Wrapped {
  LayeredRank(uint32_t rank, std::vector<consort_setting> more, const char *layers)
      : Wrapped("", CONSORT_KIND_TRANSPORT, "inproc", std::move(more), layers), o(*plugin->transport()) {
    boot.size = sizeof boot;
    boot.rank = rank, boot.nranks = 2;
    boot.job = "layers";
    boot.secret = secret, boot.nsecret = sizeof secret;
    caps.size = sizeof caps;
    EXPECT_EQ(o.open(plugin->self, plugin->host, &boot, 70 + rank, &t, &caps), CONSORT_OK);
  }
  ~LayeredRank() { close(); }
  void close() {
    if (t) o.close(std::exchange(t, nullptr));
  }
  void connect(const LayeredRank &to) const {
    char text[256];
    uint32_t n = sizeof text;
    EXPECT_EQ(to.o.address(to.t, text, &n), CONSORT_OK);
    EXPECT_EQ(o.connect(t, to.boot.rank, text, n), CONSORT_OK);
  }
  bool post(uint16_t kind, uint64_t cookie, void *p, uint64_t bytes, const void *remote = nullptr,
            const consort_mr *mr = nullptr) const {
    consort_msg m{};
    m.kind = kind, m.peer = 1 - boot.rank, m.cookie = cookie, m.tag = 3;
    m.local.base = reinterpret_cast<uint64_t>(p), m.bytes = bytes, m.rows = 1;
    if (mr) m.remote.base = reinterpret_cast<uint64_t>(remote), m.rkey = mr->rkey, m.nrkey = mr->nrkey;
    return o.post(t, &m, 1) == 1;
  }
  // Until that cookie is told of; others are not awaited meanwhile.
  consort_status await(uint64_t cookie) const {
    for (consort_done d;;)
      if (o.poll(t, &d, 1) == 1) {
        EXPECT_EQ(d.cookie, cookie);
        return d.status;
      }
  }
  consort_mr reg(void *p, uint64_t bytes, consort_status expected = CONSORT_OK) const {
    consort_space_desc space{};
    space.size = sizeof space, space.flags = CONSORT_SP_CPU, space.domain = "host";
    consort_mr mr{};
    EXPECT_EQ(o.reg(t, &space, {reinterpret_cast<uint64_t>(p), 0}, bytes, &mr), expected);
    return mr;
  }
  const consort_transport_ops &o;
  const uint8_t secret[4] = {1, 2, 3, 4};
  consort_boot boot{};
  consort_tcaps caps{};
  void *t = nullptr;
};

void join(LayeredRank &a, LayeredRank &b) {
  a.connect(b), b.connect(a);
  consort_done none;
  EXPECT_EQ(a.o.poll(a.t, &none, 1) + b.o.poll(b.t, &none, 1), 0u);
}

TEST(WrappedPlugins, CarryTheTransportInproc) {
  const consort_test::Folder folder("inproc");
  for (const char *layers : {"checks", "traces", "traces,checks,faults", "faults,checks,traces"}) {
    SCOPED_TRACE(layers);
    const std::string path = folder / "calls";
    std::filesystem::remove(path);
    std::vector<consort_setting> more;
    if (std::strstr(layers, "traces")) more.push_back({"traces.file", path.c_str()});
    if (std::strstr(layers, "faults"))
      more.insert(more.end(), {{"faults.function", "poll"}, {"faults.what", "short"}, {"faults.chance", "0.5"}});
    LayeredRank a(0, more, layers), b(1, {}, "checks");
    join(a, b);
    for (uint64_t k = 1; k <= 60; ++k) {
      std::vector<unsigned char> from(k * k * 5, static_cast<unsigned char>(k)),
          to(from.size());  // up to 18 KB: short and long ones
      ASSERT_TRUE(a.post(CONSORT_MSG_SEND, k, from.data(), from.size()) &&
                  b.post(CONSORT_MSG_RECV, k, to.data(), to.size()));
      EXPECT_EQ(b.await(k), CONSORT_OK);
      EXPECT_EQ(a.await(k), CONSORT_OK);
      ASSERT_EQ(to, from);
    }
    uint64_t far = 0, near = 77;
    const consort_mr mr = b.reg(&far, sizeof far);
    ASSERT_TRUE(a.post(CONSORT_MSG_PUT, 90, &near, sizeof near, &far, &mr));
    EXPECT_EQ(a.await(90), CONSORT_OK);
    EXPECT_EQ(far, 77u);
    consort_done none;
    b.o.poll(b.t, &none, 1);
    b.o.dereg(b.t, &mr);
    a.close(), b.close();
    a.registry.reset(), b.registry.reset();
    for (const LayeredRank *r : {&a, &b}) EXPECT_FALSE(r->lines.has("checks: ")) << r->lines.all();
    if (!std::strstr(layers, "traces")) continue;
    const std::string all = consort::read_file(path);
    for (const char *call : {"\tinproc.open(", "\tinproc.address(", "\tinproc.connect(", "\tinproc.post(",
                             "\tinproc.poll(", "\tinproc.close("})
      EXPECT_NE(all.find(call), all.npos) << call << "\n" << all.substr(0, 4000);
  }
}

TEST(WrappedPlugins, InjectAndCheckFaultsOfATransport) {
  LayeredRank a(0, {{"faults.function", "post"}, {"faults.nth", "2"}, {"faults.status", "E_IO"}}, "checks,faults");
  LayeredRank b(1, {{"faults.function", "reg"}, {"faults.nth", "1"}, {"faults.status", "E_NOMEM"}}, "checks,faults");
  join(a, b);
  char from[] = "word", to[5] = "";
  for (uint64_t k = 1; k <= 3; ++k) {
    ASSERT_TRUE(a.post(CONSORT_MSG_SEND, k, from, sizeof from) && b.post(CONSORT_MSG_RECV, k, to, sizeof to));
    EXPECT_EQ(b.await(k), CONSORT_OK);
    EXPECT_EQ(a.await(k), k == 2 ? CONSORT_E_IO : CONSORT_OK) << "the completion of the second says it";
  }
  EXPECT_TRUE(a.lines.has("transport \"inproc\": post fails on purpose (call 2)")) << a.lines.all();
  uint64_t far = 0;
  b.reg(&far, sizeof far, CONSORT_E_NOMEM);
  const consort_mr mr = b.reg(&far, sizeof far), kept = b.reg(to, sizeof to);
  EXPECT_FALSE(b.lines.has("checks: ")) << b.lines.all();
  b.o.dereg(b.t, &mr);
  b.o.dereg(b.t, &mr);
  EXPECT_EQ(b.told("memory-freed"), 1u) << b.lines.all();
  EXPECT_NE(kept.lkey, mr.lkey);
  b.close();
  EXPECT_TRUE(b.lines.has("close (memory-freed): 1 registrations were not removed")) << b.lines.all();
  a.close();
  EXPECT_FALSE(a.lines.has("checks: ")) << a.lines.all();
}

}  // namespace
}  // namespace consort_test
