// The checks of thread tags: which violations they report and stop, and that correct plugins are not affected.
#include "plugin/abi_checks.hpp"

#include <atomic>
#include <thread>

#include "loader_support.hpp"

namespace consort {
namespace {

consort_topology topology_of(uint32_t nworkers) {
  consort_topology t{};
  t.size = sizeof t, t.nworkers = nworkers;
  return t;
}

struct Watched {
  explicit Watched(const char *fixture, uint32_t kind, Pairs set = {{"check", "true"}}) {
    folder.add(fixture);
    auto r = open_registry(folder.path(), &lines, set);
    EXPECT_TRUE(r);
    registry = std::move(*r);
    auto p = registry->load(kind, fixture);
    EXPECT_TRUE(p) << p.error().text;
    plugin = *p;
  }
  uint64_t violations() const { return registry->tag_violations(); }

  Folder folder;
  Lines lines;
  std::unique_ptr<Registry> registry;
  Plugin *plugin = nullptr;
};

struct Policy {
  Policy(Watched &w, uint32_t nworkers) : o(*w.plugin->scheduler()) {
    const consort_topology t = topology_of(nworkers);
    EXPECT_EQ(o.create(w.plugin->self, w.plugin->host, &t, 5, &s), CONSORT_OK);
  }
  ~Policy() { o.destroy(s); }
  uint32_t push(std::vector<consort_task *> tasks) {
    uint64_t bits = 0;
    consort_wake wake = {1, 0, &bits};
    const consort_push p = {5, CONSORT_NONE, CONSORT_PUSH_NEW, tasks.data(), static_cast<uint32_t>(tasks.size()),
                            0, &wake};
    return o.push(s, &p);
  }
  const consort_scheduler_ops &o;
  void *s = nullptr;
};

TEST(AbiChecks, CorrectSchedulerHasNoViolations) {
  Watched w("good", CONSORT_KIND_SCHEDULER);
  {
    Policy p(w, 2);
    consort_task a{}, b{};
    set_current_worker(1);
    EXPECT_EQ(p.push({&a, &b}), 2u);
    consort_pick out[4];
    EXPECT_EQ(p.o.pop(p.s, 1, out, 4), 2u);
    EXPECT_EQ(out[0].task, &b);
    EXPECT_EQ(out[1].task, &a);
    EXPECT_EQ(p.push({&a}), 1u);
    consort_task *drained[2];
    EXPECT_EQ(p.o.drain(p.s, 6, drained, 2), 1u);
    EXPECT_EQ(drained[0], &a);
    EXPECT_EQ(p.push({&a}), 0u) << "another epoch";
    EXPECT_EQ(p.o.quiesce(p.s, 0), CONSORT_OK);
    EXPECT_EQ(p.o.urgency, nullptr) << "optional hooks stay NULL";
  }
  EXPECT_EQ(w.violations(), 0u) << w.lines.all();
}

TEST(AbiChecks, PopForAnotherWorkerIsAViolation) {
  Watched w("good", CONSORT_KIND_SCHEDULER);
  Policy p(w, 2);
  consort_pick out;
  std::thread([&] { p.o.pop(p.s, 0, &out, 1); }).join();
  EXPECT_EQ(w.violations(), 0u) << "a thread that never said is believed";
  std::thread([&] {
    set_current_worker(1);
    EXPECT_EQ(current_worker(), 1u);
    p.o.pop(p.s, 0, &out, 1);
    set_current_worker(CONSORT_NONE);
    p.o.pop(p.s, 0, &out, 1);
  }).join();
  EXPECT_EQ(w.violations(), 2u);
  EXPECT_TRUE(w.lines.has("0 plugin \"good\", pop [worker]: for worker 0 called by a thread that drives worker 1"))
      << w.lines.all();
  EXPECT_TRUE(w.lines.has("for worker 0 called by a thread that drives none"));
}

TEST(AbiChecks, WrongSchedulerIsNamedAndStopped) {
  Watched w("wrong_tags", CONSORT_KIND_SCHEDULER);
  Policy p(w, 2);
  EXPECT_EQ(w.violations(), 0u) << "host->get in create() is fine: " << w.lines.all();
  consort_task a{}, b{};
  EXPECT_EQ(p.push({&a, &b}), 1u);
  EXPECT_TRUE(w.lines.has("0 plugin \"wrong_tags\", push [any]: calls host->get, which only [control] functions may"));
  EXPECT_TRUE(w.lines.has("0 plugin \"wrong_tags\", push [any]: took 1 of 2 tasks: all or none"));
  consort_pick out[2] = {{&a, 0, 0}, {&b, 0, 0}};
  set_current_worker(0);
  EXPECT_EQ(p.o.pop(p.s, 0, out, 2), 2u);
  EXPECT_TRUE(w.lines.has("0 plugin \"wrong_tags\", pop [worker]: answered 3 where at most 2 fit"));
  set_current_worker(1);
  EXPECT_EQ(p.o.pop(p.s, 1, out, 2), 0u);
  EXPECT_TRUE(w.lines.has("0 plugin \"wrong_tags\", pop [worker]: picked no task at 0"));
  consort_task *some[2];
  EXPECT_EQ(p.o.drain(p.s, 6, some, 2), 2u);
  EXPECT_TRUE(w.lines.has("drain [control]: answered 9 where at most 2 fit"));
  consort_task *const both[2] = {&a, &b};
  EXPECT_EQ(p.o.dropped(p.s, both, 2, some), 2u);
  EXPECT_TRUE(w.lines.has("dropped [any]: answered 3 where at most 2 fit"));
  EXPECT_EQ(w.violations(), 6u);
  for (int i = 0; i < 100; ++i) p.push({&a, &b});
  EXPECT_EQ(w.violations(), 206u);
  EXPECT_EQ(w.lines.count("0 plugin"), 8u) << "then only counted";
}

TEST(AbiChecks, DisabledChecksSeeNothing) {
  Watched w("wrong_tags", CONSORT_KIND_SCHEDULER, {{"check", "false"}});
  Policy p(w, 2);
  consort_task a{}, b{};
  consort_pick out[2];
  EXPECT_EQ(p.push({&a, &b}), 1u);
  EXPECT_EQ(p.o.pop(p.s, 0, out, 2), 3u) << "the plugin's own function";
  EXPECT_EQ(w.violations(), 0u);
}

TEST(AbiChecks, WrongDriverIsNamedAndStopped) {
  Watched w("noisy", CONSORT_KIND_DRIVER);
  const consort_driver_ops &o = *w.plugin->driver();
  void *self = w.plugin->self, *dev = nullptr, *q = nullptr;
  EXPECT_EQ(o.count(self), 1u) << "the plugin sees its own handles";
  EXPECT_EQ(o.open(self, 1, 0, &dev), CONSORT_E_INVAL);
  ASSERT_EQ(o.open(self, 0, 0, &dev), CONSORT_OK);
  consort_space_desc space{};
  EXPECT_EQ(o.space(dev, 0, &space), CONSORT_OK);
  EXPECT_STREQ(space.name, "noisy:0");
  EXPECT_EQ(o.space(dev, 1, &space), CONSORT_E_INVAL);
  EXPECT_EQ(o.alloc(dev, 0, 1, 1, 0, nullptr), CONSORT_E_UNSUPPORTED) << "a stub under the watch";
  consort_queue_desc desc{};
  ASSERT_EQ(o.queue_open(dev, 0, 0, &desc, &q), CONSORT_OK);
  consort_op op{};
  consort_done done;
  EXPECT_EQ(o.submit(q, &op, 1), 1u);
  EXPECT_TRUE(w.lines.has("0 plugin \"noisy\", submit [queue]: answered 2 where at most 1 fit"));
  EXPECT_EQ(o.poll(q, &done, 1), 1u);
  EXPECT_TRUE(w.lines.has("0 plugin \"noisy\", poll [queue]: answered 2 where at most 1 fit"));
  EXPECT_EQ(w.violations(), 2u);
  EXPECT_EQ(w.plugin->manifest->get(self, "consort.capture/1"), nullptr) << "its handles would not be the plugin's";
  o.queue_close(q);
  o.close(dev);
}

// -- concurrency, with functions that wait for one another --

struct Gate {
  std::atomic<int> inside{0};
  std::atomic<bool> open{false};
  void pass() {
    ++inside;
    while (!open) std::this_thread::yield();
  }
};
Gate *gate;

uint32_t slow_poll(void *, consort_done *, uint32_t) { return gate->pass(), 0; }
uint32_t slow_count(void *) { return gate->pass(), 0; }
consort_status open_any(void *, uint32_t, uint64_t, void **dev) { return *dev = &gate, CONSORT_OK; }
consort_status queue_any(void *, uint32_t, uint64_t, consort_queue_desc *, void **q) { return *q = &gate, CONSORT_OK; }
const consort_driver_ops slow_ops = [] {
  consort_driver_ops o{};
  o.size = sizeof o, o.count = slow_count, o.open = open_any, o.queue_open = queue_any, o.poll = slow_poll;
  return o;
}();
const consort_plugin slow_plugin = [] {
  consort_plugin p{};
  p.size = sizeof p, p.kind = CONSORT_KIND_DRIVER, p.abi_major = CONSORT_DRIVER_MAJOR,
  p.abi_minor = CONSORT_DRIVER_MINOR;
  p.name = "slow", p.version = "1", p.ops = &slow_ops;
  return p;
}();
const consort_module *slow_entry(const consort_host *) {
  static const consort_plugin *const list[] = {&slow_plugin};
  static const consort_module module = {sizeof(consort_module), 1, list};
  return &module;
}

class AbiCheckConcurrency : public ::testing::Test {
 protected:
  void SetUp() override {
    gate = &gate_;
    consort_entry_fn *const modules[] = {slow_entry};
    auto r = Registry::open(config_of({{"check", "true"}}), {}, Lines::write, &lines_, modules, 1);
    ASSERT_TRUE(r);
    registry_ = std::move(*r);
    auto p = registry_->load(CONSORT_KIND_DRIVER, "slow");
    ASSERT_TRUE(p);
    plugin_ = *p;
    o_ = plugin_->driver();
  }
  // Runs both at once: inside at the same time.
  template <class A, class B>
  void both(A a, B b) {
    std::thread one(a), two(b);
    while (gate_.inside < 2) std::this_thread::yield();
    gate_.open = true;
    one.join(), two.join();
  }
  Gate gate_;
  Lines lines_;
  std::unique_ptr<Registry> registry_;
  Plugin *plugin_ = nullptr;
  const consort_driver_ops *o_ = nullptr;
};

TEST_F(AbiCheckConcurrency, TwoThreadsInControlAreAViolation) {
  const auto count = [&] { o_->count(plugin_->self); };
  both(count, count);
  EXPECT_EQ(registry_->tag_violations(), 1u);
  EXPECT_TRUE(
      lines_.has("plugin \"slow\", count [control]: entered while another thread is inside a [control] function"));
}

TEST_F(AbiCheckConcurrency, ConcurrentUseOfOneQueueIsAViolation) {
  void *dev = nullptr, *q[2] = {};
  consort_queue_desc desc{};
  ASSERT_EQ(o_->open(plugin_->self, 0, 0, &dev), CONSORT_OK);
  for (auto &one : q) ASSERT_EQ(o_->queue_open(dev, 0, 0, &desc, &one), CONSORT_OK);
  consort_done done;
  both([&] { o_->poll(q[0], &done, 1); }, [&] { o_->poll(q[1], &done, 1); });
  EXPECT_EQ(registry_->tag_violations(), 0u) << lines_.all();
  gate_.open = false;
  gate_.inside = 0;
  both([&] { o_->poll(q[0], &done, 1); }, [&] { o_->poll(q[0], &done, 1); });
  EXPECT_EQ(registry_->tag_violations(), 1u);
  EXPECT_TRUE(lines_.has("plugin \"slow\", poll [queue]: entered by two threads at once"));
  for (auto *one : q) o_->queue_close(one);
  o_->close(dev);
}

}  // namespace
}  // namespace consort
