// The layer "checks" reports nothing about correct programs, alone and beside the other layers. It reports each planted
// violation by its rule, and the calls that it passes on are safe.
#include "layers/program.hpp"
#include "layers/wrapped.hpp"

namespace consort_test {
namespace {

TEST(ChecksLayer, CorrectProgramsRunUnchanged) {
  const Folder folder("checks");
  const std::string path = folder / "calls";
  for (const Place &place : places())
    for (const char *layers : {"checks", "checks,traces", "traces,checks,faults"}) {
      SCOPED_TRACE(text_of(place) + ", " + layers);
      Lines bare, lines;
      const Outcome without = run_program(place, {}, &bare);
      const Outcome with = run_program(place,
                                       {{"layers", layers},
                                        {"traces.file", path.c_str()},
                                        {"faults.function", "push"},
                                        {"faults.what", "delay"},
                                        {"faults.nth", "3"},
                                        {"checks.fatal", "true"}},
                                       &lines);
      ASSERT_FALSE(without.numbers.empty()) << without.error;
      EXPECT_EQ(with.numbers, without.numbers) << with.error << lines.all();
      EXPECT_EQ(with.stopped, CONSORT_OK) << with.error;
      EXPECT_FALSE(lines.has("checks: ")) << lines.all();
    }
}

// -- schedulers -----------------------------------------------------------------------------------------------

struct Policy : Wrapped {
  explicit Policy(const std::string &file, std::vector<consort_setting> more = {}, const consort::HostHooks &hooks = {})
      : Wrapped("scheduler_" + file, CONSORT_KIND_SCHEDULER, "wrong", std::move(more), "checks", hooks),
        o(*plugin->scheduler()) {
    topology.size = sizeof topology;
    topology.nworkers = 2, topology.nclasses = 2;
    topology.workers = workers;
    topology.classes = classes;
    EXPECT_EQ(o.create(plugin->self, plugin->host, &topology, 5, &s), CONSORT_OK);
    const uint32_t all[] = {0, 1};
    EXPECT_EQ(o.workers(s, &topology, all, 2, nullptr, 0), CONSORT_OK);
    for (size_t i = 0; i < 200; ++i) tasks[i].id = i, tasks[i].where = 1, tasks[i].team_min = tasks[i].team_max = 1;
  }
  void end() {
    if (s) o.destroy(std::exchange(s, nullptr));
    registry.reset();
  }
  ~Policy() { end(); }
  uint32_t push(size_t from, uint32_t n, uint64_t epoch = 5) {
    std::vector<consort_task *> ready;
    for (uint32_t i = 0; i < n; ++i) ready.push_back(&tasks[from + i]);
    uint64_t bits = 0;
    consort_wake wake = {1, 0, &bits};
    const consort_push p = {epoch, CONSORT_NONE, CONSORT_PUSH_NEW, ready.data(), n, 0, &wake};
    const uint32_t r = o.push(s, &p);
    EXPECT_TRUE(r == 0 || bits != 0) << "the wake set comes back";
    return r;
  }
  uint32_t pop(uint32_t worker, uint32_t max = 1) {
    const uint32_t n = o.pop(s, worker, picks, max);
    for (uint32_t i = 0; i < n; ++i) out.push_back(picks[i].task);
    return n;
  }
  uint32_t drain(uint64_t epoch) {
    consort_task *some[64];
    uint32_t all = 0;
    while (const uint32_t n = o.drain(s, epoch, some, 64)) all += n;
    return all;
  }
  const consort_scheduler_ops &o;
  const consort_worker workers[2] = {{0, 0, 0, 0, 1, 0}, {1, 1, 0, 0, 1, 0}};
  const char *const classes[2] = {"a", "b"};
  consort_topology topology{};
  consort_task tasks[200] = {};
  consort_pick picks[64];
  std::vector<consort_task *> out;
  void *s = nullptr;
};

TEST(ChecksLayer, ReportsTasksPoppedTwice) {
  Policy p("twice");
  EXPECT_EQ(p.push(0, 150), 150u);
  while (p.pop(0, 8)) {
  }
  EXPECT_EQ(p.told("CONSORT-S-1"), 1u) << p.lines.all();
  EXPECT_TRUE(p.lines.has("scheduler \"wrong\", pop (CONSORT-S-1)")) << p.lines.all();
  EXPECT_EQ(p.out.size(), 150u) << "the host gets each once";
}
TEST(ChecksLayer, ReportsLostTasks) {
  Policy p("loses");
  EXPECT_EQ(p.push(0, 8), 8u);
  while (p.pop(0, 4)) {
  }
  EXPECT_EQ(p.out.size(), 7u);
  EXPECT_EQ(p.told("CONSORT-S-1"), 0u);
  EXPECT_EQ(p.drain(CONSORT_NEVER), 0u);
  EXPECT_EQ(p.told("CONSORT-S-6"), 1u) << p.lines.all();
  p.o.destroy(std::exchange(p.s, nullptr));
  EXPECT_EQ(p.told("CONSORT-S-1"), 1u) << p.lines.all();
}
TEST(ChecksLayer, ReportsPopsBeyondTheMaximum) {
  Policy p("past_max");
  EXPECT_EQ(p.push(0, 8), 8u);
  EXPECT_EQ(p.pop(0, 2), 2u);
  EXPECT_EQ(p.told("CONSORT-S-4"), 1u) << p.lines.all();
}
TEST(ChecksLayer, ReportsTasksOfAnotherClass) {
  Policy p("any_where");
  EXPECT_EQ(p.push(0, 2), 2u);
  EXPECT_EQ(p.pop(1), 1u);
  EXPECT_EQ(p.told("CONSORT-S-2"), 1u) << p.lines.all();
  EXPECT_EQ(p.pop(0), 1u);
}
// A host that answers consort.threads/1: the thread of the test drives `driven`.
thread_local uint32_t driven = CONSORT_NONE;
consort::HostHooks hooks_with_threads() {
  static constexpr consort_threads threads = {sizeof(consort_threads), 0, [](const consort_host *) { return driven; }};
  consort::HostHooks hooks;
  hooks.get = [](void *, const consort_plugin *, const char *id) {
    return std::string_view(id) == CONSORT_THREADS_ID ? static_cast<const void *>(&threads) : nullptr;
  };
  return hooks;
}
TEST(ChecksLayer, ReportsPopByAThreadWithoutWorker) {
  Policy p("any_where", {}, hooks_with_threads());
  driven = 1;
  (void)p.pop(1);
  EXPECT_EQ(p.told("thread-tag"), 0u) << p.lines.all();
  std::thread([&] { (void)p.pop(1); }).join();
  EXPECT_TRUE(p.lines.has("pop (thread-tag): [worker], called for worker 1 by a thread that drives none")) << p.lines.all();
  driven = CONSORT_NONE;
}
TEST(ChecksLayer, ReportsPopForTheWorkerOfAnotherThread) {
  Policy p("any_where", {}, hooks_with_threads());
  driven = 1;
  (void)p.pop(0);
  EXPECT_TRUE(p.lines.has("pop (thread-tag): [worker], called for worker 0 by a thread that drives worker 1")) << p.lines.all();
  driven = CONSORT_NONE;
}
// A policy that takes a part of a push, pops, drains and drops more than fits, and asks the host from where it must not.
TEST(ChecksLayer, CutsAnswersOfAWrongPolicy) {
  Wrapped w("../loader/wrong_tags", CONSORT_KIND_SCHEDULER, "wrong_tags");
  const consort_scheduler_ops &o = *w.plugin->scheduler();
  const consort_worker workers[2] = {{0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}};
  const char *const classes[1] = {"a"};
  consort_topology topology{};
  topology.size = sizeof topology;
  topology.nworkers = 2, topology.nclasses = 1;
  topology.workers = workers;
  topology.classes = classes;
  void *s = nullptr;
  ASSERT_EQ(o.create(w.plugin->self, w.plugin->host, &topology, 5, &s), CONSORT_OK);
  EXPECT_FALSE(w.lines.has("checks: ")) << "host->get in create() is allowed: " << w.lines.all();
  consort_task a{}, b{};
  consort_task *both[] = {&a, &b}, *some[2] = {};
  uint64_t bits = 0;
  consort_wake wake = {1, 0, &bits};
  const consort_push push = {5, CONSORT_NONE, CONSORT_PUSH_NEW, both, 2, 0, &wake};
  EXPECT_EQ(o.push(s, &push), 2u);
  EXPECT_TRUE(w.lines.has("push (CONSORT-S-33)")) << w.lines.all();
  EXPECT_TRUE(w.lines.has("push (CONSORT-S-1): accepted 1 of 2 tasks: all or none")) << w.lines.all();
  consort_pick picks[2] = {};
  EXPECT_EQ(o.pop(s, 1, picks, 2), 0u);
  EXPECT_TRUE(w.lines.has("pop (CONSORT-S-1): returns a null task")) << w.lines.all();
  EXPECT_EQ(o.pop(s, 0, picks, 2), 0u) << "none of the three waits in the policy";
  EXPECT_TRUE(w.lines.has("pop (CONSORT-S-4): returned 3, at most 2 are allowed")) << w.lines.all();
  EXPECT_EQ(o.drain(s, 6, some, 2), 0u);
  EXPECT_TRUE(w.lines.has("drain (CONSORT-S-4): returned 9, at most 2 are allowed")) << w.lines.all();
  EXPECT_EQ(o.dropped(s, both, 2, some), 0u);
  EXPECT_TRUE(w.lines.has("dropped (CONSORT-S-15): returned 3, at most 2 are allowed")) << w.lines.all();
  const size_t told = w.lines.count("checks: ");
  for (int i = 0; i < 100; ++i) (void)o.pop(s, 0, picks, 2);
  EXPECT_EQ(w.lines.count("checks: "), told) << "each violation is reported once";
  o.destroy(s);
}
TEST(ChecksLayer, SettingCheckNamesTheLayer) {
  const Wrapped w("scheduler_past_max", CONSORT_KIND_SCHEDULER, "wrong", {{"check", "true"}}, "");
  ASSERT_TRUE(w.plugin);
  EXPECT_EQ(w.lines.count("check does nothing any more: layers = \"checks\""), 1u) << w.lines.all();
}
TEST(ChecksLayer, ReportsDrainAndEpochViolations) {
  {
    Policy p("drain_forgets");
    p.tasks[1].priority = 3;
    EXPECT_EQ(p.push(0, 4), 4u);
    EXPECT_EQ(p.drain(6), 3u);
    EXPECT_EQ(p.told("CONSORT-S-6"), 1u) << p.lines.all();
    p.pop(0);
  }
  Policy p("ignores_epoch");
  EXPECT_EQ(p.drain(6), 0u);
  EXPECT_EQ(p.push(0, 1, 6), 1u);
  EXPECT_EQ(p.told("CONSORT-S-7"), 0u) << p.lines.all();
  EXPECT_EQ(p.push(1, 1, 5), 1u);
  EXPECT_EQ(p.told("CONSORT-S-7"), 1u) << p.lines.all();
  EXPECT_EQ(p.drain(CONSORT_NEVER), 2u);
}
TEST(ChecksLayer, ReportsVictimDropAndServiceViolations) {
  {
    Policy p("victim_twice");
    const consort_replica replicas[3] = {};
    uint32_t order[3];
    EXPECT_EQ(p.o.victim(p.s, 0, 1, replicas, 3, order), 2u) << "up to the wrong one";
    EXPECT_EQ(p.told("CONSORT-S-18"), 1u) << p.lines.all();
  }
  {
    Policy p("dropped_stays");
    EXPECT_EQ(p.push(0, 3), 3u);
    consort_task *const drop[] = {&p.tasks[1]};
    consort_task *held[1];
    EXPECT_EQ(p.o.dropped(p.s, drop, 1, held), 1u);
    while (p.pop(0, 4)) {
    }
    EXPECT_EQ(p.told("CONSORT-S-1"), 1u) << p.lines.all();
    EXPECT_EQ(p.out.size(), 2u);
  }
  Policy p("param_in_pop");
  p.pop(0), p.pop(0);
  EXPECT_EQ(p.told("CONSORT-S-33"), 1u) << "once: " << p.lines.all();
}
TEST(ChecksLayer, ReportsUseOfClosedHandles) {
  Policy p("loses");
  void *const s = p.s;
  p.o.destroy(std::exchange(p.s, nullptr));
  EXPECT_EQ(p.o.pop(s, 0, p.picks, 1), 0u);
  EXPECT_EQ(p.o.quiesce(s, 0), CONSORT_E_INTERNAL);
  EXPECT_TRUE(p.lines.has("pop (handle-closed)") && p.lines.has("quiesce (handle-closed)")) << p.lines.all();
}
// -- interfaces -----------------------------------------------------------------------------------------------

struct Args {
  void *ptr;
  uint64_t bytes, lines, pitch;
};  // as tests/conform/faults/interface/body.h has them

struct Layout : Wrapped {
  explicit Layout(const std::string &file, const char *fatal = "false")
      : Wrapped("interface_" + file, CONSORT_KIND_INTERFACE, "table", {{"checks.fatal", fatal}}),
        o(*plugin->interface()) {}
  consort_status make() {
    const Args a{memory, 5, 3, 8};
    return o.shape(&a, sizeof a, shape, view);
  }
  const consort_interface_ops &o;
  alignas(16) unsigned char memory[64] = {}, shape[512] = {}, view[512] = {};
};

TEST(ChecksLayer, ReportsInterfaceViolations) {
  {
    Layout l("writes_past_size");
    std::memset(l.shape, 0x77, sizeof l.shape);
    EXPECT_EQ(l.make(), CONSORT_OK);
    EXPECT_EQ(l.told("CONSORT-I-11"), 1u) << l.lines.all();
    EXPECT_EQ(l.shape[l.o.shape_size], 0x77) << "bytes behind it are untouched";
    Layout fatal("writes_past_size", "true");
    EXPECT_EQ(fatal.make(), CONSORT_E_INTERNAL);
  }
  {
    Layout l("ignores_max");
    EXPECT_EQ(l.make(), CONSORT_OK);
    consort_space_desc space{};
    space.size = sizeof space;
    consort_block block = {77, 77};
    EXPECT_EQ(l.o.blocks(l.shape, &space, &block, 0), 1u);
    EXPECT_EQ(block.bytes, 77u) << "not written through";
    EXPECT_EQ(l.told("CONSORT-I-10"), 1u) << l.lines.all();
  }
  {
    Layout l("large_shape");
    EXPECT_EQ(l.told("CONSORT-I-1"), 1u) << l.lines.all();
  }
  Layout l("pure_calls_host");
  EXPECT_EQ(l.make(), CONSORT_OK);
  char text[64];
  EXPECT_GT(l.o.describe(l.shape, text, sizeof text), 0u);
  EXPECT_EQ(std::string(text).substr(0, 8), "table of");
  EXPECT_EQ(l.told("CONSORT-I-51"), 1u) << l.lines.all();
  EXPECT_TRUE(l.lines.has("describe (CONSORT-I-51)")) << l.lines.all();
}

// -- drivers ----------------------------------------------------------------------------------------------------

struct Device : Wrapped {
  explicit Device(const char *wrong, const char *layers = "checks")
      : Wrapped("wrong-driver", CONSORT_KIND_DRIVER, "wrong-driver", {{"wrong-driver.wrong", wrong}}, layers),
        o(*plugin->driver()) {
    EXPECT_EQ(o.open(plugin->self, 0, 7, &dev), CONSORT_OK);
    desc.size = sizeof desc;
    EXPECT_EQ(o.queue_open(dev, 0, 40, &desc, &q), CONSORT_OK);
  }
  uint32_t submit(std::initializer_list<uint64_t> cookies) {
    std::vector<consort_op> ops(cookies.size());
    size_t i = 0;
    for (const uint64_t c : cookies) ops[i].kind = CONSORT_OP_MARK, ops[i++].cookie = c;
    return o.submit(q, ops.data(), static_cast<uint32_t>(ops.size()));
  }
  const consort_driver_ops &o;
  consort_queue_desc desc{};
  consort_done done[8] = {};  // a driver that answers too many has not written them all
  void *dev = nullptr, *q = nullptr;
};

TEST(ChecksLayer, ReportsDriverViolations) {
  const struct {
    const char *wrong, *rule;
  } all[] = {{"accepted-prefix", "CONSORT-D-13"}, {"poll-max", "CONSORT-D-12"},     {"completes-once", "CONSORT-D-11"},
             {"in-order", "CONSORT-D-14"},        {"known-status", "known-status"}, {"known-token", "known-token"}};
  for (const auto &[wrong, rule] : all)
    for (const char *layers : {"checks", "traces,checks,faults"}) {
      SCOPED_TRACE(std::string(wrong) + " " + layers);
      Device d(wrong, layers);
      EXPECT_EQ(d.submit({1, 2, 3}), 3u);
      EXPECT_EQ(d.o.poll(d.q, d.done, 8), 3u) << "those that are, each once";
      const size_t beyond = d.told("CONSORT-D-12") ? d.told("CONSORT-D-11") : 0;  // completions beyond the maximum
      EXPECT_EQ(d.lines.count("checks: "), d.told(rule) + beyond) << d.lines.all();
      EXPECT_GE(d.told(rule), 1u) << d.lines.all();
      d.o.queue_close(d.q), d.o.close(d.dev);
    }
  Device fine("");
  EXPECT_EQ(fine.submit({1, 2, 3, 1}), 4u) << "a cookie may be in flight twice";
  EXPECT_EQ(fine.o.poll(fine.q, fine.done, 8), 4u);
  consort_space_desc space{};
  space.size = sizeof space;
  EXPECT_EQ(fine.o.space(fine.dev, 0, &space), CONSORT_OK);
  EXPECT_EQ(fine.lines.count("checks: "), 0u) << fine.lines.all();
  fine.o.queue_close(fine.q), fine.o.close(fine.dev);
  Device sizes("out-size");
  EXPECT_EQ(sizes.o.space(sizes.dev, 0, &space), CONSORT_OK);
  EXPECT_EQ(sizes.told("out-size"), 1u) << sizes.lines.all();
  sizes.o.queue_close(sizes.q), sizes.o.close(sizes.dev);
  Device unit("known-status");
  consort_unit_desc u{};
  u.size = sizeof u;
  EXPECT_EQ(unit.o.unit(unit.dev, 1, &u), -77);
  EXPECT_EQ(unit.told("known-status"), 1u) << unit.lines.all();
  unit.o.queue_close(unit.q), unit.o.close(unit.dev);
}

TEST(ChecksLayer, ReportsMemoryFreedTwice) {
  Device d("");
  consort_addr a{}, b{};
  EXPECT_EQ(d.o.alloc(d.dev, 3, 64, 64, 0, &a), CONSORT_OK);
  EXPECT_EQ(d.o.alloc(d.dev, 3, 64, 64, 0, &b), CONSORT_OK);
  d.o.free(d.dev, 3, a, 64);
  EXPECT_EQ(d.told("memory-freed"), 0u);
  d.o.free(d.dev, 3, a, 64);
  EXPECT_TRUE(d.lines.has("free (memory-freed)")) << d.lines.all();
  EXPECT_EQ(d.submit({9}), 1u);
  d.o.close(d.dev);
  for (const char *what : {"close (handles-closed): 1 queues", "close (memory-freed): 1 allocations"})
    EXPECT_TRUE(d.lines.has(what)) << d.lines.all();
  d.registry.reset();
  EXPECT_TRUE(d.lines.has("fini (handles-closed)")) << d.lines.all();
}

TEST(ChecksLayer, AcceptsPushedCompletions) {
  Device d("pushes");
  EXPECT_EQ(d.submit({1}), 1u);
  EXPECT_EQ(d.submit({1}), 1u);
  EXPECT_EQ(d.o.poll(d.q, d.done, 8), 0u);
  d.o.queue_close(d.q), d.o.close(d.dev);
  EXPECT_EQ(d.lines.count("checks: "), 0u) << d.lines.all();
}

// -- transports: none is used by this runtime yet; the tables are --------------------------------------------------

TEST(ChecksLayer, ReportsTransportViolations) {
  for (const char *wrong : {"", "accepted-prefix", "completes-once"})
    for (const char *layers : {"checks", "traces,checks,faults"}) {
      SCOPED_TRACE(std::string(wrong) + " " + layers);
      Wrapped w("wrong-transport", CONSORT_KIND_TRANSPORT, "wrong-transport", {{"wrong-transport.wrong", wrong}},
                layers);
      const consort_transport_ops &o = *w.plugin->transport();
      EXPECT_EQ(o.arm, nullptr) << "absent functions stay absent";
      void *t = nullptr;
      consort_tcaps caps{};
      caps.size = sizeof caps;
      ASSERT_EQ(o.open(w.plugin->self, w.plugin->host, nullptr, 11, &t, &caps), CONSORT_OK);
      consort_mr mr{};
      EXPECT_EQ(o.reg(t, nullptr, {}, 1, &mr), CONSORT_OK);
      char from[] = "word", to[5] = "";
      consort_msg m[3] = {};
      m[0].kind = CONSORT_MSG_RECV, m[0].cookie = 1, m[0].tag = 5, m[0].local.base = reinterpret_cast<uint64_t>(to),
      m[0].bytes = 5;
      m[1] = m[0], m[1].cookie = 2, m[1].tag = 6;
      m[2].kind = CONSORT_MSG_SEND, m[2].cookie = 3, m[2].tag = 5, m[2].local.base = reinterpret_cast<uint64_t>(from),
      m[2].bytes = 5;
      EXPECT_EQ(o.post(t, m, 3), 3u);
      consort_done done[8] = {};  // a driver that answers too many has not written them all
      EXPECT_GE(o.poll(t, done, 8), 2u);
      EXPECT_STREQ(to, "word");
      consort_msg cancel{};
      cancel.kind = CONSORT_MSG_CANCEL, cancel.cookie = 2;
      EXPECT_EQ(o.post(t, &cancel, 1), 1u);
      EXPECT_GE(o.poll(t, done, 8), 1u);
      EXPECT_EQ(done[0].status, CONSORT_E_CANCELLED);
      EXPECT_EQ(w.told(*wrong ? "CONSORT-T-17" : "?"), *wrong ? 1u : 0u) << w.lines.all();
      o.dereg(t, &mr);
      o.dereg(t, &mr);
      o.close(t);
      EXPECT_EQ(w.told("memory-freed"), 1u);
      EXPECT_EQ(w.lines.count("checks: "), (*wrong ? 1u : 0u) + 1) << w.lines.all();
    }
}

// -- the places that layers have -------------------------------------------------------------------------------------

TEST(ChecksLayer, PluginsBeyondTheSlotsStayUnwrapped) {
  std::vector<std::unique_ptr<Layout>> all;
  size_t wrapped = 0;
  for (int i = 0; i < 70; ++i) {
    all.push_back(std::make_unique<Layout>("pure_calls_host"));
    Layout &l = *all.back();
    EXPECT_EQ(l.make(), CONSORT_OK);
    char text[64];
    l.o.describe(l.shape, text, sizeof text);
    wrapped += l.told("CONSORT-I-51");
    EXPECT_EQ(l.lines.count("is not wrapped"), 1 - l.told("CONSORT-I-51")) << l.lines.all();
  }
  EXPECT_EQ(wrapped, 64u);
  all.clear();
  Layout again("ignores_max");
  EXPECT_FALSE(again.lines.has("is not wrapped"));
}

}  // namespace
}  // namespace consort_test
