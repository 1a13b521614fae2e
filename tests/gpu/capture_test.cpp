// A GPU driver's "consort.capture/1". Ops are recorded once, launched as one op of the queue, and changed between
// launches. What cannot be captured is refused with a message. Over the double of the vendor's library, which counts
// launched graphs.
#include <numeric>

#include "drivers/device_queues.hpp"
#include "gpu/machine.hpp"
#include "support/folder.hpp"

namespace consort_test {
namespace {

constexpr uint64_t kN = 300;

// Built once for all tests.
Params with_cache(Params more) {
  static const Folder folder("capture");
  more.emplace("cache", folder.path());
  return more;
}

struct Capturing : Gpu {
  explicit Capturing(Params more = {}) : Gpu(with_cache(std::move(more))) {
    ext = static_cast<const consort_capture_ops *>(plugin.plugin()->get(plugin.self(), CONSORT_CAPTURE_ID));
    scale = load(kScale, "scale"), axpy = load(kScale, "axpy");
  }
  ~Capturing() {
    for (const uint64_t g : graphs) ext->release(g);
  }
  consort_status record(void *q, std::vector<consort_op> list, uint64_t *graph) {
    EXPECT_EQ(ext->begin(q), CONSORT_OK) << plugin.failure();
    EXPECT_EQ(ops->submit(q, list.data(), static_cast<uint32_t>(list.size())), list.size());
    const consort_status s = ext->end(q, graph);
    if (s >= 0) graphs.push_back(*graph);
    return s;
  }
  consort_status launch(void *q, uint64_t graph, uint16_t flags = 0) {
    consort_op mark = op_of(CONSORT_OP_MARK, 7);
    mark.flags = flags;
    EXPECT_EQ(ext->launch(q, graph, &mark), CONSORT_OK) << plugin.failure();
    last = collect(q, 1)[0];
    EXPECT_EQ(last.cookie, 7u);
    return last.status;
  }
  std::vector<float> read(void *q, consort_addr a) {
    std::vector<float> v(kN);
    EXPECT_EQ(run(q, {from_device(a, v.data(), kN * 4)})[0], CONSORT_OK);
    return v;
  }
  const consort_capture_ops *ext;
  uint64_t scale, axpy;
  std::vector<uint64_t> graphs;
  consort_done last{};
};

struct GpuCapture : GpuTest {
  static size_t launches() { return on_real_gpu() ? 0 : Double(GetParam()).graph_launches(); }
};

// x *= 2; y += 3 x; z = 7.0 everywhere; w = y
TEST_P(GpuCapture, OpsRunAtEachLaunchOnly) {
  Capturing m;
  ASSERT_TRUE(m.ext);
  EXPECT_EQ(m.plugin.plugin()->get(m.plugin.self(), "consort.capture/99"), nullptr);
  void *q = m.open_queue();
  const consort_addr x = m.alloc(kN * 4), y = m.alloc(kN * 4, CONSORT_AL_ZERO), z = m.alloc(kN * 4),
                     w = m.alloc(kN * 4);
  const std::vector<float> one(kN, 1.f);
  ASSERT_EQ(m.run(q, {m.to_device(one.data(), x, kN * 4)})[0], CONSORT_OK);
  const std::vector<consort_arg> twice = {at(x, kN * 4), value(kN), value(2.f)},
                                 add = {at(y, kN * 4), value(kN), at(x, kN * 4), value(3.f)};
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {z, kN * 4, m.own(), 0x40e00000};
  uint64_t graph = 0;
  ASSERT_EQ(m.record(q,
                     {launch_of(m.scale, twice, kN), launch_of(m.axpy, add, kN), fill, op_of(CONSORT_OP_MARK, 0),
                      m.copy(m.own(), y, m.own(), w, kN * 4)},
                     &graph),
            CONSORT_OK)
      << m.plugin.failure();
  EXPECT_EQ(m.read(q, x)[5], 1.f) << "recorded, not run";
  float a = 1, b = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(m.launch(q, graph, i == 2 ? CONSORT_OPF_TIME : 0), CONSORT_OK) << m.plugin.failure();
    if (i == 2) {
      EXPECT_GT(m.last.t1, m.last.t0);
    }
    a *= 2, b += 3 * a;
    EXPECT_EQ(m.read(q, x)[kN - 1], a);
    EXPECT_EQ(m.read(q, w)[kN - 1], b);
    EXPECT_EQ(m.read(q, z)[0], 7.f);
  }
  if (!on_real_gpu()) {
    EXPECT_EQ(launches(), 4u);
  }
}

// Launches among plain ops, several in flight, another queue behind a launch's ticket: order and depth are the queue's.
TEST_P(GpuCapture, LaunchIsAnOpOfTheQueue) {
  Capturing m(Params{{"units", "2"}, {"depth", "4"}});
  void *q = m.open_queue(11), *other = m.open_queue(12, 1);
  const consort_addr x = m.alloc(kN * 4);
  const std::vector<float> one(kN, 1.f);
  ASSERT_EQ(m.run(q, {m.to_device(one.data(), x, kN * 4)})[0], CONSORT_OK);
  const std::vector<consort_arg> twice = {at(x, kN * 4), value(kN), value(2.f)},
                                 more = {at(x, kN * 4), value(kN), value(5.f)};
  uint64_t graph = 0;
  const consort_ticket inside{11, 1};
  std::vector<consort_op> list = {launch_of(m.scale, twice, kN), launch_of(m.scale, twice, kN)};
  list[1].wait = &inside, list[1].nwait = 1;
  ASSERT_EQ(m.record(q, list, &graph), CONSORT_OK) << m.plugin.failure();
  std::atomic<bool> go{false};
  Call waits([&](const consort_call *) {
    while (!go) std::this_thread::yield();
    return CONSORT_OK;
  });
  const consort_op first = waits.op(false), plain = launch_of(m.scale, more, kN);
  ASSERT_EQ(m.ops->submit(q, &first, 1), 1u);  // the second that this queue accepts: a capture counts for none
  consort_op mark = op_of(CONSORT_OP_MARK, 1);
  ASSERT_EQ(m.ext->launch(q, graph, &mark), CONSORT_OK);
  ASSERT_EQ(m.ops->submit(q, &plain, 1), 1u);
  ASSERT_EQ(m.ext->launch(q, graph, &mark), CONSORT_OK);
  EXPECT_EQ(m.ext->launch(q, graph, &mark), CONSORT_AGAIN) << "no room";
  const consort_ticket last{11, 5};
  consort_op behind = launch_of(m.scale, more, kN);
  behind.wait = &last, behind.nwait = 1;
  ASSERT_EQ(m.ops->submit(other, &behind, 1), 1u);
  consort_done done[2];
  EXPECT_EQ(m.ops->poll(other, done, 2), 0u);
  go = true;
  for (const consort_done &d : m.collect(q, 4)) EXPECT_EQ(d.status, CONSORT_OK);
  EXPECT_EQ(m.collect(other, 1)[0].status, CONSORT_OK);
  EXPECT_EQ(m.read(q, x)[3], 4.f * 5.f * 4.f * 5.f);
}

TEST_P(GpuCapture, ArgumentsMayChangeBetweenLaunches) {
  Capturing m;
  void *q = m.open_queue();
  const consort_addr x = m.alloc(kN * 4), y = m.alloc(kN * 4);
  const std::vector<float> one(kN, 1.f);
  ASSERT_EQ(m.run(q, {m.to_device(one.data(), x, kN * 4), m.to_device(one.data(), y, kN * 4)})[1], CONSORT_OK);
  std::vector<consort_arg> twice = {at(x, kN * 4), value(kN), value(2.f)}, none = twice;
  uint64_t graph = 0;
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {x, 4, m.own(), 0};
  ASSERT_EQ(
      m.record(q, {fill, launch_of(m.scale, twice, 0), launch_of(m.scale, twice, kN), launch_of(m.scale, twice, kN)},
               &graph),
      CONSORT_OK);
  ASSERT_EQ(m.launch(q, graph), CONSORT_OK);
  EXPECT_EQ(m.read(q, x)[9], 4.f);
  const std::vector<consort_arg> there = {at(y, kN * 4), value(kN), value(10.f)};
  const consort_op now = launch_of(m.scale, there, kN, 32);
  EXPECT_EQ(m.ext->update(graph, 3, &now), CONSORT_OK) << m.plugin.failure();
  ASSERT_EQ(m.launch(q, graph), CONSORT_OK);
  EXPECT_EQ(m.read(q, x)[9], 8.f);
  EXPECT_EQ(m.read(q, y)[9], 10.f);
  const auto refused = [&](consort_status want, uint32_t i, const consort_op &op, const char *words) {
    EXPECT_EQ(m.ext->update(graph, i, &op), want) << words;
    EXPECT_NE(m.plugin.failure().find(words), std::string::npos) << m.plugin.failure();
  };
  const std::vector<consort_arg> few = {there[0]}, sum = {at(y, kN * 4), value(kN), at(x, kN * 4), value(1.f)};
  refused(CONSORT_E_UNSUPPORTED, 0, now, "capture anew");
  refused(CONSORT_E_UNSUPPORTED, 1, now, "capture anew");
  refused(CONSORT_E_UNSUPPORTED, 2, launch_of(m.axpy, sum, kN), "another kernel");
  refused(CONSORT_E_UNSUPPORTED, 2, launch_of(m.scale, there, 0), "the new launch is empty");
  refused(CONSORT_E_INVAL, 2, launch_of(m.scale, few, kN), "has 3 parameters");
  refused(CONSORT_E_INVAL, 4, now, "no op 4");
  ASSERT_EQ(m.launch(q, graph), CONSORT_OK) << "as it was";
  EXPECT_EQ(m.read(q, y)[9], 100.f);
}

TEST_P(GpuCapture, UncapturableOpsAreNamed) {
  Capturing m(Params{{"units", "2"}});
  void *q = m.open_queue(1), *copies = m.open_queue(2, CONSORT_NONE);
  const consort_addr x = m.alloc(kN * 4);
  std::vector<float> host(kN, 1.f);
  const std::vector<consort_arg> twice = {at(x, kN * 4), value(kN), value(2.f)}, few = {twice[0]};
  Call call([](const consort_call *) { return CONSORT_OK; });
  consort_op elsewhere = op_of(CONSORT_OP_MARK, 0);
  const consort_ticket far{2, 1};
  elsewhere.wait = &far, elsewhere.nwait = 1;
  uint64_t graph = 0;
  const auto refused = [&](const consort_op &op, const char *words) {
    EXPECT_EQ(m.record(q, {launch_of(m.scale, twice, kN), op, launch_of(m.scale, twice, kN)}, &graph),
              CONSORT_E_UNSUPPORTED)
        << words;
    EXPECT_NE(m.plugin.failure().find("op 2 cannot be captured"), std::string::npos) << m.plugin.failure();
    EXPECT_NE(m.plugin.failure().find(words), std::string::npos) << m.plugin.failure();
  };
  refused(call.op(true), "host function");
  refused(call.op(false), "host function");
  refused(m.to_device(host.data(), x, 16), "memory outside the device");
  refused(op_of(CONSORT_OP_ALLOC, 0), "cannot be captured");
  refused(launch_of(m.scale, few, kN), "has 3 parameters");
  refused(elsewhere, "another queue");
  EXPECT_EQ(m.ext->end(q, &graph), CONSORT_E_INVAL);
  EXPECT_EQ(m.ext->begin(copies), CONSORT_E_UNSUPPORTED);
  ASSERT_EQ(m.ext->begin(q), CONSORT_OK);
  EXPECT_EQ(m.ext->begin(q), CONSORT_E_BUSY);
  consort_op mark = op_of(CONSORT_OP_MARK, 0);
  EXPECT_EQ(m.ext->launch(q, 1, &mark), CONSORT_E_BUSY);
  ASSERT_EQ(m.ext->end(q, &graph), CONSORT_OK) << "nothing is recorded: " << m.plugin.failure();
  EXPECT_EQ(m.launch(q, graph), CONSORT_OK);
  m.ext->release(graph);
  m.graphs.clear();
  EXPECT_EQ(m.launch(q, graph), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.failure().find("does not belong to this device"), std::string::npos) << m.plugin.failure();
  ASSERT_EQ(m.ext->begin(q), CONSORT_OK) << "and is never ended: it goes with the queue";
  EXPECT_EQ(m.run(m.open_queue(3, 1), {m.to_device(host.data(), x, kN * 4), launch_of(m.scale, twice, kN),
                                       m.from_device(x, host.data(), kN * 4)}),
            (std::vector<consort_status>{0, 0, 0}));
  EXPECT_EQ(host[1], 2.f);
}

// Calls of the library that fail: no graph, a launch that ends alone, an op that takes the device with it.
TEST_P(GpuCapture, ReportsLibraryErrors) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  const bool cuda = GetParam().driver == std::string("cuda");
  const std::string begin = cuda ? "cuStreamBeginCapture" : "hipStreamBeginCapture",
                    end = cuda ? "cuStreamEndCapture" : "hipStreamEndCapture",
                    make = cuda ? "cuGraphInstantiate" : "hipGraphInstantiateWithFlags",
                    go = cuda ? "cuGraphLaunch" : "hipGraphLaunch";
  for (const std::string &words :
       {"fail=" + begin + ":1:1", "fail=" + end + ":1:1", "fail=" + make + ":1:801", "fail=" + make + ":1:2",
        "fail=" + go + ":2:1", "fault=" + go + ":2:719", "fail=" + go + ":2:719"}) {
    d.set("devices=1,memory=64M,quiet=1," + words);
    {
      Capturing m;
      void *q = m.open_queue();
      const consort_addr x = m.alloc(kN * 4, CONSORT_AL_ZERO);
      const std::vector<consort_arg> twice = {at(x, kN * 4), value(kN), value(2.f)};
      const consort_op one = launch_of(m.scale, twice, kN);
      uint64_t graph = 0;
      const bool begins = m.ext->begin(q) >= 0;
      EXPECT_EQ(begins, words.find(begin) == std::string::npos) << words;
      EXPECT_EQ(m.ops->submit(q, &one, 1), 1u);
      if (!begins) {
        EXPECT_EQ(m.collect(q, 1)[0].status, CONSORT_OK);
        continue;
      }
      const consort_status ended = m.ext->end(q, &graph);
      const bool launches = words.find(go) != std::string::npos;
      EXPECT_EQ(ended, launches                                ? CONSORT_OK
                       : words.find(":2") != std::string::npos ? CONSORT_E_NOMEM
                                                               : CONSORT_E_UNSUPPORTED)
          << words;
      if (ended < 0) {
        EXPECT_NE(m.plugin.failure().find("cannot instantiate the graph: "), std::string::npos) << m.plugin.failure();
        EXPECT_EQ(m.run(q, {one}), (std::vector<consort_status>{0})) << words;
        continue;
      }
      m.graphs.push_back(graph);
      EXPECT_EQ(m.launch(q, graph), CONSORT_OK) << words;
      const bool lost = words.find("719") != std::string::npos;
      EXPECT_EQ(m.launch(q, graph), lost ? CONSORT_E_DEVICE_LOST : CONSORT_E_INVAL) << words;
      EXPECT_FALSE(m.plugin.failure().empty());
      EXPECT_EQ(m.launch(q, graph), lost ? CONSORT_E_DEVICE_LOST : CONSORT_OK) << words;
      EXPECT_EQ(m.ext->update(graph, 0, &one), lost ? CONSORT_E_DEVICE_LOST : CONSORT_OK);
      EXPECT_EQ(m.ext->begin(q), lost ? CONSORT_E_DEVICE_LOST : CONSORT_OK);
    }
    EXPECT_EQ(d.live(), 0u) << words;
  }
  d.set(this->words());
}

CONSORT_GPU_VENDORS(GpuCapture);

}  // namespace
}  // namespace consort_test
