// Portable kernels: loaded once for each device, launched over the sizes of layouts, with messages on failure. Over the
// stream double, whose kernels are addresses of functions.
#include "../api/harness.hpp"
#include "../plugins/stream/stream.h"

namespace {

using namespace consort_test;

// The last launch of the kernel below.
struct Seen {
  std::mutex mutex;
  uint64_t grid[3] = {};
  uint32_t block[3] = {}, shared = 0;
  std::vector<consort_arg> args;
};
Seen &seen() {
  static Seen s;
  return s;
}

// scale(x, n, ..., factor): the first datum's elements, as many as there are work items and n.
consort_status scale(const consort_launch *l) {
  std::lock_guard lock(seen().mutex);
  std::copy_n(l->grid, 3, seen().grid);
  std::copy_n(l->block, 3, seen().block);
  seen().shared = l->shared_bytes;
  seen().args.assign(l->args, l->args + l->nargs);
  if (l->nargs < 3) return CONSORT_OK;
  auto *x = static_cast<double *>(consort_ptr(l->args[0].addr));
  double factor;
  std::memcpy(&factor, &l->args[l->nargs - 1].scalar, sizeof factor);
  const uint64_t items = l->grid[0] * l->block[0];
  for (uint64_t i = 0; i < items && i < l->args[1].scalar; ++i) x[i] *= factor;
  return CONSORT_OK;
}
consort_status look(const consort_launch *l) {
  std::lock_guard lock(seen().mutex);
  std::copy_n(l->grid, 3, seen().grid);
  seen().args.assign(l->args, l->args + l->nargs);
  return CONSORT_OK;
}
consort_status plus_one(const consort_launch *l) {
  *static_cast<double *>(consort_ptr(l->args[0].addr)) += 1;
  return CONSORT_OK;
}
consort_status set_zero(const consort_launch *l) {
  *static_cast<double *>(consort_ptr(l->args[0].addr)) = 0;
  return CONSORT_OK;
}
consort_status plus_other(const consort_launch *l) {
  *static_cast<double *>(consort_ptr(l->args[0].addr)) += *static_cast<double *>(consort_ptr(l->args[1].addr));
  return CONSORT_OK;
}
consort_status broken(const consort_launch *) { return CONSORT_E_IO; }

std::string address_of(stream_kernel *k) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", reinterpret_cast<void *>(k));
  return text;
}

struct PortableKernels : ::testing::Test {
  uint64_t counters[STREAM_COUNTERS] = {};
  std::string counted, plugin = "+" CONSORT_TEST_PLUGIN_DIR "/stream.so", text = address_of(scale);
  std::vector<std::unique_ptr<Body>> kept;
  std::unique_ptr<Rt> rt;
  void SetUp() override { start({}); }
  void start(Pairs more) {
    rt.reset();
    char at[32];
    std::snprintf(at, sizeof at, "%p", static_cast<void *>(counters));
    counted = at;
    Pairs pairs = {{"plugins", plugin.c_str()}, {"cpu.workers", "1"}, {"cpu.topology", kFourCores}, {"stream.counters", counted.c_str()}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
  }
  consort_codelet_id codelet(const char *klass, consort_portable *how = nullptr, const char *format = "address", const char *entry = "scale") {
    const consort_impl impl = {klass, nullptr, how, nullptr, format, text.c_str(), entry, 0};
    return codelet_of(*rt, "scale", {&impl, 1});
  }
  consort_status run(consort_codelet_id c, std::vector<consort_use> uses, double factor = 2, consort_task_id *out = nullptr) {
    consort_arg a{CONSORT_ARG_SCALAR, 8, {0, 0}, 0, 0};
    std::memcpy(&a.scalar, &factor, 8);
    consort_task_desc t = CONSORT_TASK_INIT;
    t.codelet = c;
    t.uses = uses.data();
    t.nuses = static_cast<uint32_t>(uses.size());
    t.args = &a;
    t.nargs = 1;
    consort_task_id id{0};
    need(consort_submit(*rt, &t, &id), "submit");
    if (out) return *out = id, CONSORT_OK;
    return consort_task_wait(*rt, id, kLong, 0);
  }
  consort_data_id vector(std::vector<double> &v) {
    consort_data_id d{0};
    need(consort_register_vector(*rt, v.data(), v.size(), 8, &d), "vector");
    return d;
  }
};

TEST_F(PortableKernels, GridCoversTheFirstDatum) {
  std::vector<double> v(1000, 1);
  const auto c = codelet("stream");
  const auto d = vector(v);
  for (int i = 0; i < 3; ++i) ASSERT_OK(run(c, {{d, CONSORT_M_RW, 0}}));
  ASSERT_OK(consort_unregister(*rt, d));
  for (double x : v) ASSERT_EQ(x, 8);
  EXPECT_EQ(seen().grid[0], 1000u);
  EXPECT_EQ(seen().grid[1] * seen().grid[2], 1u);
  EXPECT_EQ(seen().block[0], 1u);
  ASSERT_EQ(seen().args.size(), 3u) << "address, n; the task's value";
  EXPECT_EQ(seen().args[0].extent, 8000u);
  EXPECT_EQ(counters[STREAM_LOADS], 1u) << "loaded once";
}

TEST_F(PortableKernels, GridRoundsUpToBlocks) {
  consort_portable how = CONSORT_PORTABLE_INIT;
  how.block[0] = 64;
  how.shared_bytes = 256;
  std::vector<double> v(1000, 1);
  const auto d = vector(v);
  const auto c = codelet("stream", &how);
  how.block[0] = 1;  // was copied
  ASSERT_OK(run(c, {{d, CONSORT_M_RW, 0}}));
  EXPECT_EQ(seen().grid[0], 16u);
  EXPECT_EQ(seen().block[0], 64u);
  EXPECT_EQ(seen().shared, 256u);
  EXPECT_EQ(v[999], 2);
  ASSERT_OK(consort_unregister(*rt, d));
  std::vector<double> box(2 * 3 * 4 * 5);
  consort_data_id t{0};
  ASSERT_OK(consort_register_tensor(*rt, box.data(), 2, 3, 4, 5, 0, 0, 0, 8, &t));
  ASSERT_OK(run(codelet("stream"), {{t, CONSORT_M_R, 0}}));
  EXPECT_EQ(seen().grid[0], 2u);
  EXPECT_EQ(seen().grid[1], 3u);
  EXPECT_EQ(seen().grid[2], 20u);
  ASSERT_OK(consort_unregister(*rt, t));
}

TEST_F(PortableKernels, RangeFunctionChangesTheGrid) {
  struct Here { uint64_t first; consort_status answer; } here = {0, CONSORT_OK};
  consort_portable how = CONSORT_PORTABLE_INIT;
  how.user = &here;
  how.range = [](void *user, const consort_call *call, consort_range *io) -> consort_status {
    auto &h = *static_cast<Here *>(user);
    h.first = io->grid[0];
    const auto *v = static_cast<const consort_vector_view *>(call->views[0]);
    io->grid[0] = v->n / 10;
    io->block[0] = 5;
    return h.answer < 0 ? consort_fail(h.answer, "no range for this one") : h.answer;
  };
  std::vector<double> v(100, 1);
  const auto d = vector(v);
  const auto c = codelet("stream", &how);
  ASSERT_OK(run(c, {{d, CONSORT_M_RW, 0}}));
  EXPECT_EQ(here.first, 100u) << "it gets the default grid";
  EXPECT_EQ(v[49], 2);
  EXPECT_EQ(v[50], 1);
  here.answer = CONSORT_E_INVAL;
  EXPECT_SAYS(CONSORT_E_INVAL, run(c, {{d, CONSORT_M_R, 0}}), "no range for this one");
  ASSERT_OK(consort_unregister(*rt, d));
}

// The implementation decides which arguments a kernel takes, and over whose elements it runs.
TEST_F(PortableKernels, ArgumentsFollowTheImplementation) {
  const consort_pass passed[] = {{CONSORT_NONE, 0}, {1, 0}, {0, CONSORT_NONE}, {1, 2}};
  consort_portable how = CONSORT_PORTABLE_INIT;
  how.args = passed;
  how.nargs = 4;
  how.over = 1;
  std::vector<double> v(50, 1), m(6 * 7, 1);
  const auto x = vector(v);
  consort_data_id y{0};
  ASSERT_OK(consort_register_matrix(*rt, m.data(), 6, 7, 6, 8, &y));
  text = address_of(look);
  ASSERT_OK(run(codelet("stream", &how), {{x, CONSORT_M_R, 0}, {y, CONSORT_M_R, 0}}, 1.5));
  EXPECT_EQ(seen().grid[0], 6u);
  EXPECT_EQ(seen().grid[1], 7u);
  ASSERT_EQ(seen().args.size(), 5u);
  double value;
  std::memcpy(&value, &seen().args[0].scalar, 8);
  EXPECT_EQ(value, 1.5);
  EXPECT_EQ(seen().args[1].kind, uint32_t{CONSORT_ARG_ADDR});
  EXPECT_EQ(seen().args[1].extent, sizeof(double) * 42);
  EXPECT_EQ(seen().args[2].kind, uint32_t{CONSORT_ARG_ADDR});
  EXPECT_EQ(seen().args[2].extent, sizeof(double) * 50);
  EXPECT_EQ(seen().args[3].scalar, 50u);
  EXPECT_EQ(seen().args[4].scalar, 7u) << "of a matrix: address, nx, ny";
  how.nargs = 0;
  ASSERT_OK(run(codelet("stream", &how), {{x, CONSORT_M_R, 0}, {y, CONSORT_M_R, 0}}));
  EXPECT_EQ(seen().args.size(), 0u);
  const std::pair<consort_pass, const char *> wrong[] = {{{2, 0}, "datum 2 of the task, which has 2"},
                                                         {{CONSORT_NONE, 1}, "value 1 of the task, which has 1"},
                                                         {{0, 2}, "part 2 of datum 'vector#"}};
  for (const auto &[pass, words] : wrong) {
    how.args = &pass;
    how.nargs = 1;
    EXPECT_SAYS(CONSORT_E_INVAL, run(codelet("stream", &how), {{x, CONSORT_M_R, 0}, {y, CONSORT_M_R, 0}}), words, "scale");
  }
  (void)consort_group_wait(*rt, consort_group_id{0}, kLong, 0);
  ASSERT_OK(consort_unregister(*rt, x));
  ASSERT_OK(consort_unregister(*rt, y));
}

// Contributions are made, begun and united by texts as by functions.
TEST_F(PortableKernels, KernelsReduce) {
  const std::string texts[] = {address_of(set_zero), address_of(plus_other), address_of(plus_one)};
  const std::string *next = texts;
  const auto both = [&](const char *name, Body body) {
    auto *b = new Body(std::move(body));
    kept.emplace_back(b);
    const consort_impl impls[] = {{"stream", nullptr, nullptr, nullptr, "address", next++->c_str(), "scale", 0},
                                  {"cpu", run_body, b, nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(*rt, name, impls);
  };
  const auto zero = both("zero", [](const consort_call &c) { return *pointer<double>(c, 0) = 0, CONSORT_OK; });
  const auto plus = both("plus", [](const consort_call &c) { return *pointer<double>(c, 0) += *pointer<double>(c, 1), CONSORT_OK; });
  const auto add = both("add", [](const consort_call &c) { return *pointer<double>(c, 0) += 1, CONSORT_OK; });
  double sum = 0;
  const auto d = variable_of<double>(*rt, &sum);
  ASSERT_OK(consort_data_set_reduction(*rt, d, zero, plus));
  for (int i = 0; i < 50; ++i) Desc(add).use(d, CONSORT_M_REDUX).must(*rt);
  ASSERT_OK(consort_unregister(*rt, d));
  EXPECT_EQ(sum, 50);
}

// Under each scheduler: one that asks which workers can run a task does not keep a task that none can run.
TEST_F(PortableKernels, RefusedKernelsFailUnderEveryScheduler) {
  for (const char *scheduler : {"lws", "prio", "dmda", "heft", "graph-lookahead", "heteroprio", "darts"}) {
    SCOPED_TRACE(scheduler);
    start({{"scheduler", scheduler}});
    std::vector<double> v(10, 1);
    const auto d = vector(v);
    const auto other = codelet("stream", nullptr, "ptx");
    for (int i = 0; i < 3; ++i)
      EXPECT_SAYS(CONSORT_E_UNSUPPORTED, run(other, {{d, CONSORT_M_R, 0}}), "address of a stream_kernel");
  }
}

TEST_F(PortableKernels, FailuresNameTheirCause) {
  std::vector<double> v(10, 1);
  const auto d = vector(v);
  const auto other = codelet("stream", nullptr, "ptx");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, run(other, {{d, CONSORT_M_R, 0}}), "address of a stream_kernel");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, run(other, {{d, CONSORT_M_R, 0}}), "address of a stream_kernel");
  EXPECT_EQ(counters[STREAM_LOADS], 1u) << "not tried again";
  text = "nonsense";
  EXPECT_SAYS(CONSORT_E_INVAL, run(codelet("stream"), {{d, CONSORT_M_R, 0}}), "\"nonsense\" does not compile");
  text = address_of(scale);
  EXPECT_SAYS(CONSORT_E_INVAL, run(codelet("stream", nullptr, "address", nullptr), {{d, CONSORT_M_R, 0}}), "compile");
  EXPECT_SAYS(CONSORT_E_INVAL, run(codelet("stream"), {}), "datum 0 of the task, which has 0", "with a range");
  text = address_of(broken);
  EXPECT_SAYS(CONSORT_E_IO, run(codelet("stream"), {{d, CONSORT_M_RW, 0}}));
  text = address_of(scale);
  EXPECT_SAYS(CONSORT_E_POISONED, run(codelet("stream"), {{d, CONSORT_M_R, 0}}), "scale") << "as after a function that failed";
  ASSERT_OK(consort_invalidate(*rt, d));
  ASSERT_OK(consort_unregister(*rt, d));
  // Units whose functions are called in place do not accept text.
  consort_codelet_id none{0};
  const consort_impl impl = {"cpu", nullptr, nullptr, nullptr, "address", text.c_str(), "scale", 0};
  consort_codelet k = CONSORT_CODELET_INIT;
  k.name = "nowhere";
  k.impls = &impl;
  k.nimpls = 1;
  ASSERT_OK(consort_codelet_add(*rt, &k, &none));
  consort_task_desc t = CONSORT_TASK_INIT;
  t.codelet = none;
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_submit(*rt, &t, nullptr), "nowhere", "take none");
  consort_portable how = CONSORT_PORTABLE_INIT;
  how.size = 4;
  const consort_impl bad = {"stream", nullptr, &how, nullptr, "address", text.c_str(), "scale", 0};
  k.impls = &bad;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(*rt, &k, &none), "nowhere", "stream", "consort_portable", "4");
  how = CONSORT_PORTABLE_INIT;
  how.nargs = 2;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(*rt, &k, &none), "nargs 2");
  how.nargs = 0, how.flags = 8;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(*rt, &k, &none), "flags 8");
}

// A codelet for both classes, and where its tasks ran on cores.
struct Both {
  consort_codelet_id id;
  std::atomic<int> on_cores{0};
  Body body = [this](const consort_call &c) {
    ++on_cores;
    for (uint64_t i = 0; i < static_cast<const consort_vector_view *>(c.views[0])->n; ++i)
      pointer<double>(c, 0)[i] *= value<double>(c, 0);
    return CONSORT_OK;
  };
  // texts: of the implementations for class "stream", in their order.
  Both(consort_runtime *rt, std::initializer_list<const char *> texts) {
    std::vector<consort_impl> impls;
    for (const char *t : texts) impls.push_back({"stream", nullptr, nullptr, nullptr, "address", t, "scale", 0});
    impls.push_back({"cpu", run_body, &body, nullptr, nullptr, nullptr, nullptr, 0});
    id = codelet_of(rt, "both", impls);
  }
};

std::vector<uint32_t> workers_of(consort_runtime *rt, const char *klass) {
  std::vector<uint32_t> out;
  consort_worker_info info{};
  info.size = sizeof info;
  for (uint32_t w = 0; consort_get_worker(rt, w, &info) >= 0; ++w)
    if (std::string(info.klass) == klass) out.push_back(w);
  return out;
}

struct LogLines {
  std::mutex mutex;
  std::vector<std::string> all;
  static void take(void *user, int32_t, const char *text) {
    auto &l = *static_cast<LogLines *>(user);
    std::lock_guard lock(l.mutex);
    l.all.push_back(text);
  }
  int count(const char *words) {
    std::lock_guard lock(mutex);
    return static_cast<int>(std::count_if(all.begin(), all.end(),
                                          [&](const std::string &s) { return s.find(words) != s.npos; }));
  }
};

// OCL-04: a text that does not build on one class of units leaves its tasks to another class, with one line for each
// device.
TEST_F(PortableKernels, UnloadableKernelsRunOnAnotherClass) {
  LogLines log;
  consort_settings settings = CONSORT_SETTINGS_INIT;
  const Pairs pairs = {{"plugins", plugin.c_str()}, {"cpu.workers", "2"}, {"cpu.topology", kFourCores}, {"stream.units", "2"},
                       {"stream.space", "apart"}, {"stream.counters", counted.c_str()}, {"log", "warn"}};
  settings.set = pairs.data();
  settings.nset = static_cast<uint32_t>(pairs.size());
  settings.log = LogLines::take;
  settings.log_user = &log;
  rt.reset();
  consort_runtime *mine = nullptr;
  ASSERT_OK(consort_start(&settings, &mine));
  {
    Both both(mine, {"nonsense"});
    Gate gate;
    Bodies bodies;
    const auto wait = bodies(mine, "wait", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    for (const uint32_t w : workers_of(mine, "cpu")) Desc(wait).on(w).must(mine);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
    std::vector<std::vector<double>> v(20, std::vector<double>(10, 1));
    std::vector<consort_data_id> d;
    for (auto &x : v) d.push_back(vector_of(mine, x.data(), x.size(), 8));
    for (int round = 0; round < 3; ++round)
      for (const auto x : d) Desc(both.id).rw(x).arg(2.0).must(mine);
    EXPECT_TRUE(eventually([&] { return log.count("does not load") == 1; })) << "no core takes a task";
    gate.open();
    ASSERT_OK(consort_wait_all(mine, kLong, 0));
    EXPECT_EQ(both.on_cores, 60);
    for (const auto x : d) ASSERT_OK(consort_unregister(mine, x));
    for (const auto &x : v) ASSERT_EQ(x[9], 8);
    // A task bound to that unit fails with the driver's message.
    const uint32_t there = workers_of(mine, "stream")[0];
    const auto bound = vector_of(mine, v[0].data(), 10, 8);
    const auto t = Desc(both.id).rw(bound).arg(2.0).on(there).must(mine);
    EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(mine, t, kLong, 0), "both", "\"nonsense\" does not compile");
    (void)consort_group_wait(mine, consort_group_id{0}, kLong, 0);
    EXPECT_EQ(counters[STREAM_LOADS], 1u) << "one device, two units: tried once";
    EXPECT_EQ(log.count("\"nonsense\" does not compile"), 1);
    EXPECT_EQ(log.count("codelet 'both' does not load on stream"), 1);
    ASSERT_OK(consort_invalidate(mine, bound));
    ASSERT_OK(consort_unregister(mine, bound));
    ASSERT_OK(consort_stop(mine));
  }
}

// A second implementation for the same class replaces one that does not load. A chain moves on to an eligible unit.
TEST_F(PortableKernels, SecondImplementationReplacesAnUnloadableOne) {
  start(Pairs{{"stream.latency_ns", "100000"}});
  Both second(*rt, {"nonsense", text.c_str()}), none(*rt, {"nonsense", "more nonsense"});
  std::vector<double> v(10, 1);
  const auto d = vector(v);
  const uint32_t there = workers_of(*rt, "stream")[0];
  consort_task_id last{0};
  for (int i = 0; i < 6; ++i) last = Desc(second.id).rw(d).arg(2.0).on(there).must(*rt);
  ASSERT_OK(consort_task_wait(*rt, last, kLong, 0));
  EXPECT_EQ(second.on_cores, 0);
  EXPECT_EQ(counters[STREAM_LOADS], 2u);
  for (int i = 0; i < 6; ++i) Desc(i % 2 ? none.id : second.id).rw(d).arg(2.0).must(*rt);
  ASSERT_OK(consort_wait_all(*rt, kLong, 0));
  EXPECT_EQ(none.on_cores, 3);
  ASSERT_OK(consort_unregister(*rt, d));
  EXPECT_EQ(v[9], double(1 << 12));
}

// While a kernel is being loaded, other units go on, and get the memory that they want.
TEST_F(PortableKernels, LoadingDoesNotBlockOtherUnits) {
  start(Pairs{{"stream.units", "2"}, {"stream.space", "apart"}, {"layers", "checks"}});
  stream_slow slow{scale, 0, 0};
  char at[32];
  std::snprintf(at, sizeof at, "%p", static_cast<void *>(&slow));
  text = at;
  const auto waits = codelet("stream", nullptr, "slow");
  Body body = [](const consort_call &c) { return *pointer<double>(c, 0) += 1, CONSORT_OK; };
  const consort_impl impl = {"stream", run_body, &body, nullptr, nullptr, nullptr, nullptr, 0};
  const auto function = codelet_of(*rt, "function", {&impl, 1});
  const auto streams = workers_of(*rt, "stream");
  ASSERT_EQ(streams.size(), 2u);
  std::vector<double> v(10, 1), w(20, 1);
  const auto d = vector(v);
  const auto held = Desc(waits).rw(d).arg(2.0).on(streams[0]).must(*rt);
  ASSERT_TRUE(eventually([&] { return __atomic_load_n(&slow.begun, __ATOMIC_ACQUIRE) == 1; }));
  std::vector<consort_data_id> fresh;
  for (double &x : w) fresh.push_back(variable_of(*rt, &x));
  consort_status all = CONSORT_OK;
  for (const auto x : fresh) {
    const auto t = Desc(function).rw(x).on(streams[1]).must(*rt);
    all = std::min(all, consort_task_wait(*rt, t, kLong / 3, 0));
  }
  EXPECT_EQ(all, CONSORT_OK) << "each needs memory of the device that is loading";
  __atomic_store_n(&slow.go, 1, __ATOMIC_RELEASE);
  ASSERT_OK(consort_task_wait(*rt, held, kLong, 0));
  for (const auto x : fresh) ASSERT_OK(consort_unregister(*rt, x));
  ASSERT_OK(consort_unregister(*rt, d));
  for (double x : w) EXPECT_EQ(x, 2);
  EXPECT_EQ(v[9], 2);
}

// A chain is issued early, and a task in it that cannot be launched poisons its successors.
TEST_F(PortableKernels, ChainsAreIssuedEarly) {
  start(Pairs{{"stream.latency_ns", "2000000"}});
  std::vector<double> v(10, 1);
  const auto d = vector(v);
  const auto good = codelet("stream");
  consort_task_id last{0};
  for (int i = 0; i < 20; ++i) run(good, {{d, CONSORT_M_RW, 0}}, 2, &last);
  ASSERT_OK(consort_task_wait(*rt, last, kLong, 0));
  EXPECT_EQ(v[9], double(1 << 20));
  EXPECT_LT(counters[STREAM_ROUND_TRIPS], 20u) << "not one round trip per link";
  const auto bad = codelet("stream", nullptr, "ptx");
  consort_task_id failing{0};
  for (int i = 0; i < 3; ++i) run(good, {{d, CONSORT_M_RW, 0}}, 2, &last);
  run(bad, {{d, CONSORT_M_RW, 0}}, 2, &failing);
  for (int i = 0; i < 3; ++i) run(good, {{d, CONSORT_M_RW, 0}}, 2, &last);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_task_wait(*rt, failing, kLong, 0), "address of a stream_kernel");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(*rt, last, kLong, 0));
  (void)consort_group_wait(*rt, consort_group_id{0}, kLong, 0);
  ASSERT_OK(consort_invalidate(*rt, d));
  ASSERT_OK(consort_unregister(*rt, d));
}

}  // namespace
