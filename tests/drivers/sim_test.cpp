// Simulated accelerators, driven without a kernel: their properties, files that they refuse, opening and closing.
#include <random>

#include "drivers/sim_machine.hpp"

namespace consort_test {
namespace {

// -- what there is ----------------------------------------------------------------------------------------------------

TEST(Sim, OffersTheConfiguredMachine) {
  Machine m(Params{{"devices", "2"}, {"class", "cuda"}, {"units", "3"}, {"depth", "5"}, {"memory", "64M"}, {"bandwidth", "8G"}, {"latency", "3us"}});
  ASSERT_EQ(m.devices.size(), 2u);
  EXPECT_STREQ(m.spaces[0].name, "sim0:ram");
  EXPECT_STREQ(m.spaces[1].name, "sim1:ram");
  EXPECT_EQ(m.spaces[1].flags, 0u) << "not the CPU's";
  EXPECT_EQ(m.spaces[1].capacity, 64u << 20);
  ASSERT_EQ(m.units[1].size(), 3u);
  EXPECT_STREQ(m.units[1][0].klass, "cuda");
  EXPECT_STREQ(m.units[1][0].runs, "cpu");
  EXPECT_EQ(m.units[1][0].flags, uint32_t{CONSORT_UNIT_SIMULATED});
  EXPECT_EQ(m.units[1][0].depth, 5u);
  EXPECT_EQ(m.units[1][2].space, m.space(1));
  const auto link = m.links.at({m.host_space, m.space(1)});
  EXPECT_EQ(link.bytes_per_s, 8'000'000'000u);
  EXPECT_EQ(link.latency_ns, 3000u);
  EXPECT_TRUE(link.flags & CONSORT_LK_3D);
  EXPECT_EQ(m.links.count({m.space(0), m.space(1)}), 0u) << "over the host";
  EXPECT_EQ(m.links.count({m.host_space, m.host_space}), 0u) << "the host's own affair";
  EXPECT_EQ(m.links.count({m.space(0), m.space(0)}), 1u);
  m.open_queue();
  EXPECT_TRUE(m.desc.flags & CONSORT_Q_IN_ORDER);
  EXPECT_EQ(m.desc.depth, 5u);
  m.open_queue(0, CONSORT_NONE);
  EXPECT_FALSE(m.desc.flags & CONSORT_Q_IN_ORDER) << "copies overtake each other";
}

TEST(Sim, UnitsMayRunFunctionsOfTheirClass) {
  Machine m(Params{{"runs", ""}});
  EXPECT_EQ(m.units[0][0].runs, nullptr);
  EXPECT_EQ(m.units[0][0].flags, 0u);
  Machine same(Params{{"class", "cpu"}});
  EXPECT_EQ(same.units[0][0].flags, 0u) << "nothing to be told apart";
}

// A host that knows a shorter description gets no more than that.
TEST(Sim, ServesOlderHosts) {
  Machine m;
  struct { consort_unit_desc u; uint64_t guard; } old{};
  std::memset(&old, 0xab, sizeof old);
  old.u.size = offsetof(consort_unit_desc, runs);
  ASSERT_EQ(m.ops->unit(m.devices[0], 0, &old.u), CONSORT_OK);
  EXPECT_STREQ(old.u.klass, "gpu");
  EXPECT_EQ(reinterpret_cast<uint64_t>(old.u.runs), 0xababababababababu);
}

TEST(Sim, ReadsAMachineFile) {
  TextFile f(R"(
# two unlike cards on one bus, a fast way between them
[[bus]]
name = "pcie"
bandwidth = "10G"
[[device]]
name = "big"        # with a comment
class = "cuda"
units = 2
memory = "2G"
bandwidth = "16G"
[[device]]
class = "fpga"
count = 2
memory = "1M"
[[link]]
from = "big"
to = "sim2"
bandwidth = "50G"
latency = "1us"
[[link]]
from = "host"
to = "sim1"
bandwidth = "20G"
bus = "pcie"
both = false
[times]
"gemm" = "1ms"
)");
  Machine m(Params{{"machine", f.path}});
  ASSERT_EQ(m.devices.size(), 3u);
  EXPECT_STREQ(m.spaces[0].name, "big:ram");
  EXPECT_STREQ(m.spaces[2].name, "sim2:ram");
  EXPECT_STREQ(m.units[2][0].klass, "fpga");
  EXPECT_EQ(m.units[0].size(), 2u);
  EXPECT_EQ(m.links.at({m.host_space, m.space(0)}).bytes_per_s, 16'000'000'000u);
  EXPECT_EQ(m.links.at({m.space(0), m.space(2)}).bytes_per_s, 50'000'000'000u);
  EXPECT_EQ(m.links.at({m.space(2), m.space(0)}).latency_ns, 1000u);
  EXPECT_EQ(m.links.at({m.host_space, m.space(1)}).bytes_per_s, 10'000'000'000u) << "no faster than its bus";
  EXPECT_EQ(m.links.at({m.space(1), m.host_space}).bytes_per_s, 12'000'000'000u) << "the way back is as before";
}

TEST(Sim, RefusesBadSettings) {
  const auto refuses = [](Params p, const std::string &words) {
    PluginHost h("sim", p);
    EXPECT_FALSE(h.ready());
    EXPECT_NE(h.failure().find(words), std::string::npos) << h.failure();
  };
  refuses({{"devices", "0"}}, "sim: no device: set sim.devices");
  refuses({{"memory", "much"}}, "memory = \"much\" is not a number of bytes: write 1000000, 512M or 2G");
  refuses({{"bandwidth", "0"}}, "bandwidth must be more than 0");
  refuses({{"latency", "3 weeks"}}, "latency = \"3 weeks\" is not a time");
  refuses({{"speed", "0"}}, "speed must be more than 0");
  refuses({{"times", "gemm"}}, "write CODELET=200us");
  refuses({{"faults", "fire@3"}}, "\"fire\" is not one of oom, copy, kernel, lost, slow");
  refuses({{"faults", "oom"}}, "no @ or % in it");
  refuses({{"faults", "oom@0"}, {"devices", "1"}}, "counts start from 1");
  refuses({{"faults", "copy%2"}}, "a chance is 1 at most");
  refuses({{"faults", "lost@5/7"}, {"devices", "7"}}, "there is no device 7");
  refuses({{"machine", "/nowhere/m.toml"}}, "cannot be read");
  refuses({{"trace", "/nowhere/trace"}, {"devices", "1"}}, "cannot be written");
  const auto refuses_file = [&](const std::string &text, const std::string &words) {
    TextFile f(text);
    refuses({{"machine", f.path}}, words);
  };
  refuses_file("[[device]]\ncolour = \"red\"\n", ":2: colour: a device has name, class");
  refuses_file("units = 2\n", ":1: \"units = 2\": write key = value below a table");
  refuses_file("[[cable]]\n", "[cable] is not one of device, bus, wire, link, route, times, kernel, overheads");
  refuses_file("[[device\n", "is not a table");
  refuses_file("[[link]]\nfrom = \"host\"\nto = \"moon\"\n", ":3: to = \"moon\": neither \"host\" nor the name");
  refuses_file("[[device]]\nname = \"a\"\n[[device]]\nname = \"a\"\n", "two devices of the name \"a\"");
  refuses_file("[[device]]\nname = \"a\n", "string without an end");
  refuses_file("[[device]]\nunits = 1.5\n", "is not from 1 to 65536");
  refuses_file("[[device]]\n[[link]]\nfrom = \"host\"\nto = \"sim0\"\nbus = \"x\"\n", "no [[bus]] above it");
}

// -- life -------------------------------------------------------------------------------------------------------------

TEST(Sim, QuiescesWhenQueuesAreClosed) {
  Machine m;
  const auto *p = m.plugin.plugin();
  EXPECT_EQ(p->quiesce(m.plugin.self(), 0), CONSORT_OK);
  m.open_queue();
  EXPECT_EQ(p->quiesce(m.plugin.self(), 0), CONSORT_E_BUSY);
  m.close();
  EXPECT_EQ(p->quiesce(m.plugin.self(), 0), CONSORT_OK);
  EXPECT_EQ(m.plugin.log(), "");
}

TEST(Sim, OpensAndClosesRepeatedly) {
  for (int i = 0; i < 50; ++i) {
    Machine m(Params{{"devices", "2"}});
    void *q = m.open_queue(i % 2);
    Body body([] { return CONSORT_OK; });
    m.run(q, {body.op(), op_of(CONSORT_OP_MARK, 0)});
    m.close();
    EXPECT_EQ(m.plugin.log(), "");
  }
}

// Two threads on two devices, others' polls in between: for the sanitizers.
TEST(Sim, ServesManyThreads) {
  Machine m(Params{{"devices", "2"}, {"latency", "20us"}, {"bus", "4G"}, {"memory", "64M"}});
  std::vector<std::thread> threads;
  std::vector<std::pair<void *, uint32_t>> queues;
  for (uint32_t i = 0; i < 4; ++i) queues.emplace_back(m.open_queue(i % 2, i < 2 ? 0 : CONSORT_NONE), i % 2);
  std::vector<consort_addr> a;
  for (uint32_t i = 0; i < 4; ++i) a.push_back(m.alloc(100'000, i % 2));
  std::atomic<int> runs{0};
  for (uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const auto [q, d] = queues[i];
      std::vector<unsigned char> in(100'000), out(100'000);
      Body body([&] { ++runs; return CONSORT_OK; });
      for (int round = 0; round < 20; ++round) {
        std::fill(in.begin(), in.end(), static_cast<unsigned char>(round + i));
        m.run(q, {m.to_device(in.data(), a[i], in.size(), d)});
        m.run(q, {m.from_device(a[i], out.data(), out.size(), d), body.op()});
        ASSERT_EQ(in, out);
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(runs, 80);
}

}  // namespace
}  // namespace consort_test
