// Driver sim: a machine's file describes wires and routes, kernels by their size, and the host's work for each op.
#include <consort/times.h>
#include <sys/mman.h>

#include <cmath>

#include "drivers/sim_machine.hpp"

namespace consort_test {
namespace {

constexpr uint64_t kStart = 1'000'000;  // where the clock of a Virtual begins

double us_after(const consort_done &d, uint64_t from = kStart) { return static_cast<double>(d.t1 - from) / 1e3; }

constexpr char kTwoDevices[] =
    "[[device]]\nname = \"a\"\nclass = \"cuda\"\nmemory = \"64M\"\n"
    "[[device]]\nname = \"b\"\nclass = \"cuda\"\nmemory = \"64M\"\n"
    "[[wire]]\nname = \"Host\"\nbandwidth = \"1G\"\n"
    "[[wire]]\nname = \"PCI:[00-0f] up\"\nbandwidth = \"4G\"\nlatency = \"3us\"\n"
    "[[wire]]\nname = \"ab\"\nbandwidth = \"2G\"\nlatency = \"20us\"\n"
    "[[route]]\nfrom = \"host\"\nto = \"a\"\nwires = \"PCI:[00-0f] up, Host\"\n"
    "[[route]]\nfrom = \"host\"\nto = \"b\"\nwires = \"Host\"\nlatency = \"5us\"\n"
    "[[route]]\nfrom = \"a\"\nto = \"b\"\nwires = \"ab, Host, Host\"\n";

TEST(SimPlatform, RoutesShareTheirWires) {
  TextFile f(kTwoDevices);
  Virtual m(Params{{"machine", f.path}});
  const consort_link_desc &there = m.links.at({m.host_space, m.space(0)}), &across = m.links.at({m.space(0), m.space(1)});
  EXPECT_EQ(there.bytes_per_s, 1'000'000'000u);
  EXPECT_EQ(there.latency_ns, 3000u) << "of the wires";
  EXPECT_EQ(m.links.at({m.host_space, m.space(1)}).latency_ns, 5000u) << "its own";
  EXPECT_EQ(across.bytes_per_s, 500'000'000u) << "twice over a wire is half of it";
  EXPECT_EQ(across.latency_ns, 20'000u);
  EXPECT_NE(there.bus, 0u);
  EXPECT_EQ(there.bus_bytes_per_s, 1'000'000'000u) << "the link that they share";
  EXPECT_EQ(across.bus, there.bus);
  EXPECT_EQ(m.links.at({m.host_space, m.space(1)}).bus, there.bus);
  std::vector<char> buffer(1'000'000);
  const consort_addr x = m.alloc(1'000'000, 0), y = m.alloc(1'000'000, 1), z = m.alloc(1'000'000, 1);
  void *a = m.open_queue(0, CONSORT_NONE), *b = m.open_queue(1, CONSORT_NONE);
  const consort_op alone = m.copy(m.space(0), x, m.space(1), y, 1'000'000);
  m.ops->submit(a, &alone, 1);
  EXPECT_NEAR(us_after(m.play()[a][0]), 2020, 1);
  // All three at once, a quarter of the wire for each crossing of it.
  m.at(10'000'000);
  const consort_op one = m.to_device(buffer.data(), x, 250'000, 0), two = m.to_device(buffer.data(), z, 1'000'000, 1);
  consort_op three = m.copy(m.space(0), x, m.space(1), y, 1'000'000);
  m.ops->submit(a, &three, 1), m.ops->submit(b, &two, 1), m.ops->submit(a, &one, 1);
  auto done = m.play();
  ASSERT_EQ(done[a].size(), 2u);
  EXPECT_EQ(done[a][0].bytes, 250'000u) << "it is through first";
  const double last = std::max(us_after(done[a][1], 10'000'000), us_after(done[b][0], 10'000'000));
  EXPECT_NEAR(last, 3 + (250 + 1000 + 2 * 1000), 1) << "the wire is never idle, and carries `three` twice";
}

// Copies are held up where most of them meet, though the way into each device is a little narrower.
TEST(SimPlatform, BusIsTheTightestSharedWire) {
  std::string text;
  for (const char *name : {"a", "b", "c"}) {
    text += std::string("[[device]]\nname = \"") + name + "\"\nclass = \"cuda\"\nmemory = \"64M\"\n";
    text += std::string("[[wire]]\nname = \"into ") + name + "\"\nbandwidth = \"900M\"\n";
  }
  text += "[[wire]]\nname = \"Host\"\nbandwidth = \"1G\"\n";
  for (const char *from : {"host", "a", "b", "c"})
    for (const char *to : {"a", "b", "c"})
      if (std::string_view(from) != to)
        text += std::string("[[route]]\nfrom = \"") + from + "\"\nto = \"" + to + "\"\nwires = \"into " + to + ", Host\"\n";
  TextFile f(text);
  Virtual m(Params{{"machine", f.path}});
  const uint64_t bus = m.links.at({m.host_space, m.space(0)}).bus;
  EXPECT_NE(bus, 0u);
  EXPECT_EQ(m.links.at({m.host_space, m.space(0)}).bus_bytes_per_s, 1'000'000'000u);
  EXPECT_EQ(m.links.at({m.host_space, m.space(1)}).bus, bus);
  EXPECT_EQ(m.links.at({m.space(1), m.space(2)}).bus, bus);
}

// -- kernels by their size --------------------------------------------------------------------------------------------

constexpr char kKernels[] =
    "[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\nunits = 2\nmemory = \"1G\"\n"
    "[[device]]\nname = \"g\"\nclass = \"cuda\"\ncount = 2\nmemory = \"1G\"\n"
    "[[kernel]]\nset = \"first\"\ncodelet = \"gemm\"\nclass = \"cuda\"\n1000 = \"10us\"\n4000 = \"80us\"\n16000 = \"320us\"\n"
    "[[kernel]]\nset = \"first\"\ncodelet = \"gemm\"\ndevice = \"g1\"\n1000 = \"7us\"\n"
    "[[kernel]]\nset = \"second\"\ncodelet = \"gemm\"\nclass = \"cuda\"\n1000 = \"1us\"\n"
    "[[kernel]]\ncodelet = \"any\"\n512 = \"5us\"\n"
    "[times]\ngemm = \"9ms\"\n";

struct Asked {
  Virtual m;
  const consort_times *times;
  explicit Asked(Params p) : m(std::move(p)) {
    times = static_cast<const consort_times *>(m.plugin.plugin()->get(m.plugin.self(), CONSORT_TIMES_ID));
  }
  double us(uint32_t device, const char *codelet, uint64_t bytes) const {
    const consort_times_query q{codelet, bytes, 0, 0, 0, CONSORT_NONE};
    return times->kernel_ns(m.devices[device], &q) / 1e3;
  }
};

TEST(SimPlatform, KernelTimesFollowSize) {
  TextFile f(kKernels);
  Asked a(Params{{"machine", f.path}});
  EXPECT_EQ(a.us(1, "gemm", 1000), 10);
  EXPECT_EQ(a.us(1, "gemm", 4000), 80);
  EXPECT_NEAR(a.us(1, "gemm", 2000), std::sqrt(10 * 80.), 1e-6) << "a power law between the two: 1.5";
  EXPECT_NEAR(a.us(1, "gemm", 64000), 320 * 4, 1e-6) << "the law of the last two goes on";
  EXPECT_NEAR(a.us(1, "gemm", 250), 10 / 8., 1e-6) << "and that of the first two";
  EXPECT_EQ(a.us(2, "gemm", 1000), 7) << "the device's own entry goes first";
  EXPECT_EQ(a.us(2, "gemm", 3000), 21) << "of one size: in proportion";
  EXPECT_EQ(a.us(0, "gemm", 1000), 9000) << "no table: [times]";
  EXPECT_EQ(a.us(1, "gemm", 0), 9000) << "size unknown";
  EXPECT_EQ(a.us(0, "any", 512), 5) << "of all devices";
  EXPECT_TRUE(std::isnan(a.us(0, "other", 512)));
  Asked second(Params{{"machine", f.path}, {"kernels", "second"}});
  EXPECT_EQ(second.us(1, "gemm", 1000), 1);
  EXPECT_EQ(second.us(2, "gemm", 1000), 1);
  EXPECT_EQ(second.us(1, "any", 512), 5) << "tables without a set are in each";
}

TEST(SimPlatform, ChargesOpsByBytes) {
  TextFile f(kKernels);
  Virtual m(Params{{"machine", f.path}});
  void *q = m.open_queue(1, 0);
  m.ops->codelet(m.devices[1], 3, "gemm", nullptr, 0);
  Body body([] { return CONSORT_OK; });
  consort_op op = body.op(3);
  op.bytes = 4000;
  m.ops->submit(q, &op, 1);
  EXPECT_EQ(us_after(m.play()[q][0]), 80);
}

// -- what the host does -----------------------------------------------------------------------------------------------

TEST(SimPlatform, HostOverheadOverlapsWithTheDevice) {
  TextFile f(std::string(kKernels) +
         "[overheads]\nlaunch = \"10us\"\ncopy = \"20us\"\ntask = \"1us\"\nfetch = \"2us\"\nalloc = \"100us\"\nsubmit = \"3us\"\n");
  Virtual m(Params{{"machine", f.path}, {"latency", "0"}, {"bandwidth", "1G"}});
  const auto *times = static_cast<const consort_times *>(m.plugin.plugin()->get(m.plugin.self(), CONSORT_TIMES_ID));
  ASSERT_TRUE(CONSORT_HAS_FN(times, consort_times, submit_ns));
  EXPECT_EQ(times->submit_ns(m.plugin.self()), 3000u);
  void *core = m.open_queue(0, 0), *unit = m.open_queue(1, 0), *copies = m.open_queue(1, CONSORT_NONE);
  for (uint32_t d : {0u, 1u}) m.ops->codelet(m.devices[d], 3, "any", nullptr, 0);
  Body body([] { return CONSORT_OK; });
  body.call.nviews = 2;
  consort_op op = body.op(3);
  op.bytes = 512 * 8;  // 40 us
  m.ops->submit(core, &op, 1);
  consort_op two[] = {op, op};
  m.ops->submit(unit, two, 2);
  auto done = m.play();
  EXPECT_EQ(us_after(done[core][0]), 1 + 2 * 2 + 40);
  EXPECT_EQ(us_after(done[unit][0]), 10 + 1 + 2 * 2 + 40);
  EXPECT_EQ(us_after(done[unit][1]), 10 + 1 + 2 * 2 + 2 * 40) << "the second is handed over while the first runs";
  EXPECT_EQ(done[unit][0].t0, kStart + 15'000);
  m.at(2 * kStart);
  std::vector<char> buffer(1000);
  const consort_addr x = m.alloc(1000, 1), y = m.alloc(1000, 1);
  const consort_op list[] = {m.to_device(buffer.data(), x, 1000, 1), m.to_device(buffer.data(), y, 1000, 1)};
  m.ops->submit(copies, list, 2);
  done = m.play();
  ASSERT_EQ(done[copies].size(), 2u);
  EXPECT_NEAR(us_after(done[copies][0], 2 * kStart), 100 + 20 + 1, 0.1) << "one slab, once; then the copy is queued";
  EXPECT_NEAR(us_after(done[copies][1], 2 * kStart), 100 + 40 + 1, 0.1) << "one core queues both";
}

// A copy that waited in the host's queue waits for its latency like any other, and then moves.
TEST(SimPlatform, CopiesQueuedAtTheHostWaitTheirLatency) {
  TextFile f(std::string(kKernels) + "[overheads]\ncopy = \"20us\"\n");
  Virtual m(Params{{"machine", f.path}, {"latency", "7us"}, {"bandwidth", "1G"}});
  void *copies = m.open_queue(1, CONSORT_NONE);
  std::vector<char> buffer(1000);
  const consort_addr x = m.alloc(1000, 1);
  const std::vector<consort_op> list(3, m.to_device(buffer.data(), x, 1000, 1));
  m.ops->submit(copies, list.data(), 3);
  auto done = m.play();
  ASSERT_EQ(done[copies].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(us_after(done[copies][i]), 20 * (i + 1) + 7 + 1, 0.1) << i;
    EXPECT_EQ(done[copies][i].t0, kStart + 20'000u * (i + 1) + 7'000) << "its bytes move from then on";
  }
}

TEST(SimPlatform, AllocationsCostTimeWhereTheMachineSaysSo) {
  TextFile f(std::string(kKernels) + "[overheads]\nblock = \"30us\"\nfree = \"50us\"\n");
  Virtual m(Params{{"machine", f.path}, {"latency", "0"}, {"bandwidth", "1G"}});
  void *copies = m.open_queue(1, CONSORT_NONE);
  std::vector<char> buffer(1000);
  const consort_addr x = m.alloc(1000, 1), y = m.alloc(1000, 1);
  const consort_op op = m.to_device(buffer.data(), x, 1000, 1);
  m.ops->submit(copies, &op, 1);
  EXPECT_NEAR(us_after(m.play()[copies][0]), 1, 0.1) << "no overhead of copies: nothing waits for the host's core";
  TextFile g(std::string(kKernels) + "[overheads]\ncopy = \"1us\"\nblock = \"30us\"\nfree = \"50us\"\n");
  Virtual n(Params{{"machine", g.path}, {"latency", "0"}, {"bandwidth", "1G"}});
  copies = n.open_queue(1, CONSORT_NONE);
  const consort_addr a = n.alloc(1000, 1), b = n.alloc(1000, 1);
  n.ops->free(n.devices[1], n.space(1), b, 1000);
  const consort_op late = n.to_device(buffer.data(), a, 1000, 1);
  n.ops->submit(copies, &late, 1);
  EXPECT_NEAR(us_after(n.play()[copies][0]), 2 * 30 + 50 + 1 + 1, 0.1);
  m.ops->free(m.devices[1], m.space(1), y, 1000);
}

// The two directions of a serial link take turns, in the order in which copies begin; without it they share.
TEST(SimPlatform, SerialLinksMoveOneCopyAtATime) {
  const std::string device = "[[device]]\nname = \"g\"\nclass = \"cuda\"\nmemory = \"64M\"\n";
  for (const std::string &link :
       {std::string("[[link]]\nfrom = \"host\"\nto = \"g\"\nbandwidth = \"1G\"\nlatency = \"5us\"\nserial = true\n"),
        std::string("[[wire]]\nname = \"w\"\nbandwidth = \"1G\"\nlatency = \"5us\"\nserial = true\n"
                    "[[route]]\nfrom = \"host\"\nto = \"g\"\nwires = \"w\"\n[[route]]\nfrom = \"g\"\nto = \"host\"\nwires = \"w\"\n")}) {
    TextFile f(device + link);
    Virtual m(Params{{"machine", f.path}});
    void *q = m.open_queue(0, CONSORT_NONE);
    std::vector<char> buffer(1 << 20);
    const consort_addr x = m.alloc(1 << 20), y = m.alloc(1 << 20);
    const consort_op list[] = {m.to_device(buffer.data(), x, 100'000), m.from_device(y, buffer.data() + 200'000, 50'000),
                               m.to_device(buffer.data(), x, 100'000)};
    m.ops->submit(q, list, 3);
    auto done = m.play();
    ASSERT_EQ(done[q].size(), 3u);
    const double ends[] = {5 + 100, 5 + 150, 5 + 250};
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(us_after(done[q][i]), ends[i], 0.1) << i;
      EXPECT_NEAR(static_cast<double>(done[q][i].t1 - done[q][i].t0) / 1e3, i == 1 ? 50 : 100, 0.1) << "alone on the link";
    }
  }
}

TEST(SimPlatform, TouchesNoMemoryWithoutMoves) {
  Virtual m(Params{{"move", "false"}, {"memory", "1G"}});
  const size_t bytes = 64 << 20;
  void *home = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(home, MAP_FAILED);
  void *q = m.open_queue(0, CONSORT_NONE);
  const consort_addr x = m.alloc(bytes, 0, CONSORT_AL_ZERO);
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {x, bytes, m.space(0), 7};
  const consort_op list[] = {m.to_device(home, x, bytes), m.from_device(x, home, bytes), fill};
  m.ops->submit(q, list, 3);
  auto done = m.play();
  ASSERT_EQ(done[q].size(), 3u);
  for (const auto &d : done[q]) EXPECT_EQ(d.status, CONSORT_OK);
  munmap(home, bytes);
}

TEST(SimPlatform, RefusesBadFiles) {
  const std::string device = "[[device]]\nname = \"g\"\nclass = \"cuda\"\nmemory = \"1G\"\n", wire = "[[wire]]\nname = \"w\"\nbandwidth = \"1G\"\n";
  const struct { std::string text, says; } cases[] = {
      {"[[kernel]]\nset = \"s\"\n1000 = \"1us\"\n", "a kernel needs a codelet"},
      {"[[kernel]]\ncodelet = \"gemm\"\n", "kernel \"gemm\" needs a time: write"},
      {"[[kernel]]\ncodelet = \"gemm\"\nsize = 3\n", ":7: size: a kernel has set, codelet"},
      {"[[kernel]]\ncodelet = \"gemm\"\n1000 = \"fast\"\n", "1000 = \"fast\" is not a time"},
      {"[[kernel]]\ncodelet = \"gemm\"\n1000 = \"0us\"\n", "must be more than 0"},
      {"[[kernel]]\ncodelet = \"gemm\"\n1000 = 1\n\"1000\" = 2\n", ":8: 1000: this size is given twice"},
      {"[[kernel]]\ncodelet = \"gemm\"\ndevice = \"h\"\n1000 = 1\n", "is of device \"h\", which does not exist"},
      {"[[kernel]]\ncodelet = \"gemm\"\nclass = \"hip\"\n1000 = 1\n", "is of class \"hip\", which does not exist"},
      {"[[kernel]]\ncodelet = \"gemm\"\ndevice = \"g\"\nclass = \"cuda\"\n1000 = 1\n", "has a device and a class"},
      {"[[wire]]\nname = \"w\"\n", "a wire needs a name"},
      {wire + wire, "two wires of the name \"w\""},
      {wire + "[[route]]\nfrom = \"host\"\nto = \"g\"\nwires = \"w, v\"\n", "no [[wire]] has the name \"v\""},
      {wire + "[[route]]\nfrom = \"host\"\nto = \"h\"\nwires = \"w\"\n", "to = \"h\": neither \"host\" nor"},
      {wire + "[[route]]\nfrom = \"host\"\nwires = \"w\"\n", "a route needs from and to"},
      {wire + "[[route]]\nfrom = \"host\"\nto = \"g\"\n", "a route needs wires"},
      {"[overheads]\nlunch = \"1us\"\n", "overheads are launch, copy"},
      {"[overheads]\nlaunch = \"2s\"\n", "more than a second"},
  };
  for (const auto &c : cases) {
    TextFile f(device + c.text);
    PluginHost host("sim", {{"machine", f.path}});
    EXPECT_FALSE(host.ready()) << c.text;
    EXPECT_NE(host.failure().find(c.says), std::string::npos) << host.failure() << "\nfor " << c.text;
  }
  TextFile f(kKernels);
  PluginHost host("sim", {{"machine", f.path}, {"kernels", "third"}});
  EXPECT_FALSE(host.ready());
  EXPECT_NE(host.failure().find("kernels = \"third\": no [[kernel]] has that set; sets: \"first\", \"second\""), std::string::npos) << host.failure();
}

}  // namespace
}  // namespace consort_test
