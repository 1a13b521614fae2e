// Accelerators that do not exist, driven without a kernel: what they have, how long it takes, what goes wrong on demand.
#include <consort/layouts.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "drivers/driver_harness.hpp"

namespace consort_test {
namespace {

using Params = PluginHost::Params;

consort_space_desc ram() {
  consort_space_desc s{};
  s.name = "ram", s.domain = "host", s.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  return s;
}

// All devices of one machine, opened in the order that driver.h lays down; the host's memory is the last space.
struct Machine {
  static constexpr uint64_t kToken = 100;  // of device 0
  PluginHost plugin;
  const consort_driver_ops *ops = nullptr;
  std::vector<void *> devices;
  std::vector<consort_space_desc> spaces;
  std::map<std::pair<uint32_t, uint32_t>, consort_link_desc> links;
  std::vector<std::vector<consort_unit_desc>> units;
  std::vector<void *> queues;
  std::vector<std::tuple<uint32_t, consort_addr, uint64_t>> blocks;
  consort_queue_desc desc{};
  uint32_t host_space = 0;
  bool foreign;

  explicit Machine(Params params = {}, bool with_host = true) : plugin("sim", with_one(std::move(params))), foreign(with_host) {
    if (!plugin.ready()) {
      ADD_FAILURE() << plugin.failure();
      return;
    }
    ops = plugin.ops<consort_driver_ops>();
    for (uint32_t i = 0; i < ops->count(plugin.self()); ++i) {
      void *d = nullptr;
      EXPECT_EQ(ops->open(plugin.self(), i, kToken + i, &d), CONSORT_OK) << plugin.failure();
      devices.push_back(d);
    }
    for (void *d : devices) add_space([&](consort_space_desc *s) { return ops->space(d, 0, s); });
    if (with_host) add_space([&](consort_space_desc *s) { const uint32_t id = s->id; *s = ram(); s->size = sizeof *s; s->id = id; return CONSORT_OK; });
    host_space = spaces.back().id;
    for (const auto &s : spaces)
      for (const auto &t : spaces)
        for (void *d : devices) {
          consort_link_desc l{};
          l.size = sizeof l;
          if (ops->link(d, &s, &t, &l) == CONSORT_OK) links.emplace(std::pair{s.id, t.id}, l);
        }
    for (void *d : devices) {
      units.emplace_back();
      for (uint32_t i = 0;; ++i) {
        consort_unit_desc u{};
        u.size = sizeof u;
        if (ops->unit(d, i, &u) != CONSORT_OK) break;
        units.back().push_back(u);
      }
    }
  }
  ~Machine() {
    close();
  }
  void close() {
    for (void *q : queues) ops->queue_close(q);
    queues.clear();
    for (auto &[d, a, n] : blocks) ops->free(devices[d], space(d), a, n);
    blocks.clear();
    for (void *d : devices) ops->close(d);
    devices.clear();
  }
  static Params with_one(Params p) {
    p.emplace("devices", "1");
    return p;
  }
  template <class F>
  void add_space(F ask) {
    consort_space_desc s{};
    s.size = sizeof s;
    s.id = 5 + static_cast<uint32_t>(spaces.size());
    EXPECT_EQ(ask(&s), CONSORT_OK);
    spaces.push_back(s);
  }
  uint32_t space(uint32_t device) const { return spaces[device].id; }
  void *open_queue(uint32_t device = 0, uint32_t unit = 0) {
    void *q = nullptr;
    desc = {};
    desc.size = sizeof desc;
    EXPECT_EQ(ops->queue_open(devices[device], unit, 1 + queues.size(), &desc, &q), CONSORT_OK) << plugin.failure();
    queues.push_back(q);
    return q;
  }
  consort_addr alloc(uint64_t bytes, uint32_t device = 0, uint32_t flags = 0) {
    consort_addr a{};
    EXPECT_EQ(ops->alloc(devices[device], space(device), bytes, 0, flags, &a), CONSORT_OK) << plugin.failure();
    blocks.emplace_back(device, a, bytes);
    return a;
  }
  static consort_addr addr(const void *p) { return {reinterpret_cast<uint64_t>(p), 0}; }
  static consort_op copy(uint32_t from, consort_addr src, uint32_t to, consort_addr dst, uint64_t run, uint64_t rows = 1,
                         int64_t src_step = 0, int64_t dst_step = 0, uint64_t slices = 1, int64_t src_slice = 0, int64_t dst_slice = 0) {
    consort_op o = op_of(CONSORT_OP_COPY, 0);
    o.flags = CONSORT_OPF_TIME;
    o.u.copy = {from, to, src, dst, run, {rows, slices}, {src_step, src_slice}, {dst_step, dst_slice}};
    return o;
  }
  consort_op to_device(const void *p, consort_addr dst, uint64_t n, uint32_t device = 0) { return copy(host_space, addr(p), space(device), dst, n); }
  consort_op from_device(consort_addr src, void *p, uint64_t n, uint32_t device = 0) { return copy(space(device), src, host_space, addr(p), n); }
  std::vector<consort_done> collect(void *q, size_t n) {
    std::vector<consort_done> all;
    consort_done some[8];
    while (all.size() < n) {
      const uint32_t k = ops->poll(q, some, 8);
      all.insert(all.end(), some, some + k);
      if (!k) std::this_thread::yield();
    }
    return all;
  }
  std::vector<consort_done> run(void *q, std::vector<consort_op> list) {
    std::vector<consort_done> out;
    for (size_t i = 0; i < list.size(); ++i) list[i].cookie = i;
    for (size_t given = 0; out.size() < list.size();) {
      given += ops->submit(q, list.data() + given, static_cast<uint32_t>(list.size() - given));
      consort_done some[8];
      const uint32_t k = ops->poll(q, some, 8);
      out.insert(out.end(), some, some + k);
      if (!k) std::this_thread::yield();
    }
    return out;
  }
  consort_status status_of(void *q, const consort_op &op) { return run(q, {op})[0].status; }
};

// A function as a task's op.
struct Body {
  consort_call call{};
  std::function<consort_status()> work;
  explicit Body(std::function<consort_status()> w) : work(std::move(w)) { call.size = sizeof call; }
  consort_op op(uint32_t codelet = 0) {
    call.user = this;
    consort_op o = op_of(CONSORT_OP_CALL, 0);
    o.flags = CONSORT_OPF_TIME;
    o.codelet = codelet;
    o.u.call = {[](const consort_call *c) { return static_cast<Body *>(c->user)->work(); }, &call};
    return o;
  }
};

double seconds(const consort_done &d) { return static_cast<double>(d.t1 - d.t0) * 1e-9; }

// -- what there is ----------------------------------------------------------------------------------------------------

TEST(Sim, OffersWhatItIsTold) {
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

TEST(Sim, UnitsMayRunTheirOwnClassesFunctions) {
  Machine m(Params{{"runs", ""}});
  EXPECT_EQ(m.units[0][0].runs, nullptr);
  EXPECT_EQ(m.units[0][0].flags, 0u);
  Machine same(Params{{"class", "cpu"}});
  EXPECT_EQ(same.units[0][0].flags, 0u) << "nothing to be told apart";
}

// A host that knows a shorter description gets no more than that.
TEST(Sim, AnOlderHostIsServed) {
  Machine m;
  struct { consort_unit_desc u; uint64_t guard; } old{};
  std::memset(&old, 0xab, sizeof old);
  old.u.size = offsetof(consort_unit_desc, runs);
  ASSERT_EQ(m.ops->unit(m.devices[0], 0, &old.u), CONSORT_OK);
  EXPECT_STREQ(old.u.klass, "gpu");
  EXPECT_EQ(reinterpret_cast<uint64_t>(old.u.runs), 0xababababababababu);
}

struct File {
  std::string path = "/tmp/consort-sim-" + std::to_string(getpid()) + "-" + std::to_string(next()++) + ".toml";
  explicit File(const std::string &text) { std::ofstream(path) << text; }
  ~File() { unlink(path.c_str()); }
  static std::atomic<int> &next() {
    static std::atomic<int> n;
    return n;
  }
};

TEST(Sim, AFileDescribesAMachine) {
  File f(R"(
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

TEST(Sim, SaysWhatItCannotRead) {
  const auto refuses = [](Params p, const std::string &words) {
    PluginHost h("sim", p);
    EXPECT_FALSE(h.ready());
    EXPECT_NE(h.failure().find(words), std::string::npos) << h.failure();
  };
  refuses({{"devices", "0"}}, "sim: no device: set sim.devices");
  refuses({{"memory", "much"}}, "memory = \"much\" is no number of bytes: write 1000000, 512M or 2G");
  refuses({{"bandwidth", "0"}}, "bandwidth must be more than 0");
  refuses({{"latency", "3 weeks"}}, "latency = \"3 weeks\" is no time");
  refuses({{"speed", "0"}}, "speed must be more than 0");
  refuses({{"times", "gemm"}}, "write CODELET=200us");
  refuses({{"faults", "fire@3"}}, "\"fire\" is none of oom, copy, kernel, lost, slow");
  refuses({{"faults", "oom"}}, "no @ or % in it");
  refuses({{"faults", "oom@0"}, {"devices", "1"}}, "counted from 1");
  refuses({{"faults", "copy%2"}}, "a chance is 1 at most");
  refuses({{"faults", "lost@5/7"}, {"devices", "7"}}, "there is no device 7");
  refuses({{"machine", "/nowhere/m.toml"}}, "cannot be read");
  refuses({{"trace", "/nowhere/trace"}, {"devices", "1"}}, "cannot be written");
  const auto refuses_file = [&](const std::string &text, const std::string &words) {
    File f(text);
    refuses({{"machine", f.path}}, words);
  };
  refuses_file("[[device]]\ncolour = \"red\"\n", ":2: colour: a device has name, class");
  refuses_file("units = 2\n", ":1: \"units = 2\": write key = value below a table");
  refuses_file("[[wire]]\n", "[wire] is none of device, bus, link, times");
  refuses_file("[[device\n", "is no table");
  refuses_file("[[link]]\nfrom = \"host\"\nto = \"moon\"\n", ":3: to = \"moon\": neither \"host\" nor the name");
  refuses_file("[[device]]\nname = \"a\"\n[[device]]\nname = \"a\"\n", "two devices of the name \"a\"");
  refuses_file("[[device]]\nname = \"a\n", "string without an end");
  refuses_file("[[device]]\nunits = 1.5\n", "is not from 1 to 65536");
  refuses_file("[[device]]\n[[link]]\nfrom = \"host\"\nto = \"sim0\"\nbus = \"x\"\n", "no [[bus]] above it");
}

// -- memory -----------------------------------------------------------------------------------------------------------

TEST(Sim, MemoryEndsAtItsCapacity) {
  Machine m(Params{{"memory", "1M"}});
  void *d = m.devices[0];
  std::vector<consort_addr> all;
  consort_addr a{};
  while (m.ops->alloc(d, m.space(0), 60'000, 0, 0, &a) == CONSORT_OK) all.push_back(a);
  EXPECT_EQ(all.size(), 17u) << "rounded up to the granule: 60160";
  EXPECT_NE(m.plugin.failure().find("out of memory: 60000 bytes"), std::string::npos) << m.plugin.failure();
  m.ops->free(d, m.space(0), all.back(), 60'000);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 60'000, 4096, CONSORT_AL_ZERO, &all.back()), CONSORT_OK);
  EXPECT_EQ(all.back().base % 4096, 0u);
  for (auto &x : all) m.ops->free(d, m.space(0), x, 60'000);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 1 << 20, 0, 0, &a), CONSORT_OK) << "nothing has leaked";
  m.ops->free(d, m.space(0), a, 1 << 20);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), UINT64_MAX - 3, 0, 0, &a), CONSORT_E_NOMEM);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 0, 0, 0, &a), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 64, 48, 0, &a), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->alloc(d, m.space(0), 64, 64, CONSORT_AL_EXPORT, &a), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(m.ops->alloc(d, 99, 64, 64, 0, &a), CONSORT_E_INVAL);
  EXPECT_EQ(m.plugin.log(), "");
  m.ops->free(d, m.space(0), a, 64);
  EXPECT_NE(m.plugin.log().find("was never allocated"), std::string::npos) << m.plugin.log();
}

TEST(Sim, PinnedMemoryIsTheHosts) {
  Machine m;
  consort_addr a{};
  ASSERT_EQ(m.ops->alloc(m.devices[0], m.host_space, 4096, 64, CONSORT_AL_PINNED | CONSORT_AL_ZERO, &a), CONSORT_OK) << m.plugin.failure();
  EXPECT_EQ(static_cast<char *>(consort_ptr(a))[4095], 0);
  m.ops->free(m.devices[0], m.host_space, a, 4096);
  EXPECT_EQ(m.ops->alloc(m.devices[0], m.host_space, 4096, 64, 0, &a), CONSORT_E_INVAL);
  consort_addr local{};
  EXPECT_EQ(m.ops->attach(m.devices[0], m.host_space, Machine::addr(&m), 64, &local), CONSORT_OK);
  EXPECT_EQ(local.base, reinterpret_cast<uint64_t>(&m));
}

TEST(Sim, WhatIsFreedWhileACopyUsesItIsNamed) {
  Machine m(Params{{"latency", "1ms"}});
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64), b = m.alloc(64);
  char buffer[64] = {};
  const consort_op op = m.to_device(buffer, a, 64);
  ASSERT_EQ(m.ops->submit(q, &op, 1), 1u);
  m.blocks.clear();
  m.ops->free(m.devices[0], m.space(0), b, 64);
  EXPECT_EQ(m.plugin.log(), "");
  m.ops->free(m.devices[0], m.space(0), a, 64);
  EXPECT_NE(m.plugin.log().find("freed while a copy uses it"), std::string::npos) << m.plugin.log();
  m.collect(q, 1);
}

TEST(Sim, WhatNobodyFreedIsNamed) {
  Machine m;
  consort_addr a{};
  ASSERT_EQ(m.ops->alloc(m.devices[0], m.space(0), 1000, 0, 0, &a), CONSORT_OK);
  m.close();
  EXPECT_NE(m.plugin.log().find("closed with 1024 bytes in 1 blocks that nobody freed"), std::string::npos) << m.plugin.log();
}

// -- copies -----------------------------------------------------------------------------------------------------------

// Boxes of any shape, in, within and out, against memcpy.
TEST(Sim, CopiesBoxesLikeMemcpy) {
  Machine m(Params{{"latency", "0"}, {"devices", "2"}, {"peer", "20G"}});
  void *q = m.open_queue();
  constexpr int64_t kBytes = 1 << 17;
  const consort_addr a = m.alloc(kBytes), b = m.alloc(kBytes), far = m.alloc(kBytes, 1);
  std::mt19937 rng(4);
  std::vector<unsigned char> in(kBytes), blank(kBytes, 0xee), want, got(kBytes);
  for (int64_t i = 0; i < kBytes; ++i) in[i] = static_cast<unsigned char>(rng());
  const auto below = [&](uint64_t n) { return rng() % n; };
  int tried = 0;
  for (int round = 0; tried < 150 && round < 3000; ++round) {
    const uint64_t run = 1 + below(round % 3 ? 200 : 8000), rows = 1 + below(12), slices = 1 + below(5);
    const auto steps = [&](int64_t *s) {  // that do not overlap, either way round
      s[0] = static_cast<int64_t>(run + below(300));
      s[1] = static_cast<int64_t>(rows) * s[0] + static_cast<int64_t>(below(100));
      if (below(4) == 0) s[1] = static_cast<int64_t>(run + below(50)), s[0] = static_cast<int64_t>(slices) * s[1];
      if (below(4) == 0) s[0] = -s[0];
    };
    int64_t ss[2], ds[2];
    steps(ss), steps(ds);
    const auto place = [&](const int64_t *s) -> int64_t {
      const int64_t reach0 = static_cast<int64_t>(rows - 1) * s[0], reach1 = static_cast<int64_t>(slices - 1) * s[1];
      const int64_t low = std::min<int64_t>(0, reach0) + std::min<int64_t>(0, reach1), high = std::max<int64_t>(0, reach0) + std::max<int64_t>(0, reach1) + static_cast<int64_t>(run);
      return high - low > kBytes ? -1 : -low + static_cast<int64_t>(below(kBytes - (high - low) + 1));
    };
    const int64_t so = place(ss), po = place(ds);
    if (so < 0 || po < 0) continue;
    ++tried;
    want = blank;
    for (uint64_t z = 0; z < slices; ++z)
      for (uint64_t y = 0; y < rows; ++y)
        std::memcpy(&want[po + int64_t(z) * ds[1] + int64_t(y) * ds[0]], &in[so + int64_t(z) * ss[1] + int64_t(y) * ss[0]], run);
    const auto box = [&](uint32_t from, consort_addr src, uint32_t to, consort_addr dst) {
      src.off += so, dst.off += po;
      return Machine::copy(from, src, to, dst, run, rows, ss[0], ds[0], slices, ss[1], ds[1]);
    };
    const auto good = [&](std::vector<consort_op> list) {
      for (const auto &d : m.run(q, std::move(list))) EXPECT_EQ(d.status, CONSORT_OK) << m.plugin.failure();
    };
    const std::string which = "run " + std::to_string(run) + " rows " + std::to_string(rows) + " slices " + std::to_string(slices);
    good({m.to_device(blank.data(), a, kBytes), box(m.host_space, Machine::addr(in.data()), m.space(0), a), m.from_device(a, got.data(), kBytes)});
    ASSERT_EQ(got, want) << "in, " << which;
    good({m.to_device(in.data(), a, kBytes), m.to_device(blank.data(), b, kBytes), box(m.space(0), a, m.space(0), b), m.from_device(b, got.data(), kBytes)});
    ASSERT_EQ(got, want) << "within, " << which;
    good({m.to_device(blank.data(), far, kBytes, 1), box(m.space(0), a, m.space(1), far), m.from_device(far, got.data(), kBytes, 1)});
    ASSERT_EQ(got, want) << "across, " << which;
    got = blank;
    good({box(m.space(0), a, m.host_space, Machine::addr(got.data()))});
    ASSERT_EQ(got, want) << "out, " << which;
  }
  EXPECT_EQ(tried, 150);
}

TEST(Sim, WhatGoesBeyondABlockIsRefused) {
  Machine m;
  void *q = m.open_queue();
  const consort_addr a = m.alloc(4096);
  char buffer[8192] = {};
  EXPECT_EQ(m.status_of(q, m.to_device(buffer, {a.base, 1}, 4096)), CONSORT_E_INVAL);
  EXPECT_NE(m.plugin.log().find("goes beyond the memory"), std::string::npos);
  EXPECT_EQ(m.status_of(q, Machine::copy(m.host_space, Machine::addr(buffer), m.space(0), {a.base, 0}, 16, 4, 16, -16)), CONSORT_E_INVAL);
  EXPECT_EQ(m.status_of(q, Machine::copy(m.host_space, Machine::addr(buffer), 99, a, 16)), CONSORT_E_UNSUPPORTED);
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {{a.base, 4000}, 97, m.space(0), 0};
  EXPECT_EQ(m.status_of(q, fill), CONSORT_E_INVAL);
  fill.u.fill = {{a.base, 4000}, 96, m.space(0), 0x04030201};
  EXPECT_EQ(m.run(q, {fill, m.from_device({a.base, 4000}, buffer, 96)})[1].status, CONSORT_OK);
  EXPECT_EQ(buffer[0], 1);
  EXPECT_EQ(buffer[93], 2);
  EXPECT_EQ(m.status_of(q, op_of(CONSORT_OP_LAUNCH, 0)), CONSORT_E_UNSUPPORTED);
  uint64_t code = 0;
  EXPECT_EQ(m.ops->load_impl(m.devices[0], "cl", "x", 1, "k", &code), CONSORT_E_UNSUPPORTED);
  EXPECT_NE(m.plugin.failure().find("give one for class \"cpu\""), std::string::npos) << m.plugin.failure();
}

// -- how long it takes, in the world's time ---------------------------------------------------------------------------

constexpr bool kTimely = CONSORT_SAN == 0;  // watched by a sanitizer, moving bytes is no faster than the links

struct Clocked {
  static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
};

// By the wall clock, from submit() to the last completion; the best of some, for others use this machine too.
double best_bandwidth(Machine &m, void *q, const std::vector<consort_op> &list, uint64_t bytes, double enough) {
  double best = 0;
  for (int i = 0; i < 40 && best < enough; ++i) {
    const double t = Clocked::now();
    m.run(q, list);
    best = std::max(best, static_cast<double>(bytes) / (Clocked::now() - t));
  }
  return best;
}

TEST(Sim, BandwidthIsAsConfigured) {
  for (const auto &[text, rate] : {std::pair{"500M", 5e8}, {"1500M", 1.5e9}}) {
    Machine m(Params{{"bandwidth", text}, {"latency", "5us"}});
    void *q = m.open_queue();
    constexpr uint64_t kBytes = 4 << 20;
    const consort_addr a = m.alloc(kBytes);
    std::vector<char> buffer(kBytes, 1);
    const auto in = m.to_device(buffer.data(), a, kBytes), out = m.from_device(a, buffer.data(), kBytes);
    for (const auto &op : {in, out}) {
      const double got = best_bandwidth(m, q, {op, op, op}, 3 * kBytes, 0.97 * rate);
      EXPECT_LT(got / rate, 1.05) << text;
      EXPECT_TRUE(!kTimely || got / rate > 0.95) << got << " instead of " << text;
    }
    for (const auto &d : m.run(q, {in, out})) {
      EXPECT_EQ(d.bytes, kBytes);
      EXPECT_GE(seconds(d), kBytes / rate) << "no faster than it may";
    }
  }
}

TEST(Sim, LatencyIsPaidByEachCopy) {
  Machine m(Params{{"latency", "400us"}});
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64);
  char buffer[64] = {};
  const double t = Clocked::now();
  const auto done = m.run(q, std::vector<consort_op>(10, m.to_device(buffer, a, 64)));
  EXPECT_GE(Clocked::now() - t, 10 * 400e-6) << "one after the other";
  for (const auto &d : done) EXPECT_GE(seconds(d), 400e-6);
  void *free = m.open_queue(0, CONSORT_NONE);
  double least = 1;
  for (int i = 0; i < 5; ++i) {
    const double start = Clocked::now();
    m.run(free, std::vector<consort_op>(10, m.to_device(buffer, a, 64)));
    least = std::min(least, Clocked::now() - start);
  }
  EXPECT_TRUE(!kTimely || least < 2 * 400e-6) << least << ": at the same time";
}

// The model's clock, without the world's: exact.
struct Virtual : Machine {
  explicit Virtual(Params p = {}) : Machine(with(std::move(p))) { at(1'000'000); }
  static Params with(Params p) {
    p.emplace("time", "virtual");
    return p;
  }
  void at(uint64_t t) { plugin.set_clock(clock = t); }
  // As the kernel's loop: all polls, then to the next event.
  std::map<void *, std::vector<consort_done>> play() {
    std::map<void *, std::vector<consort_done>> all;
    for (;;) {
      bool did = false;
      for (void *q : queues) {
        consort_done some[8];
        const uint32_t k = ops->poll(q, some, 8);
        all[q].insert(all[q].end(), some, some + k);
        did |= k > 0;
      }
      if (did) continue;
      uint64_t next = CONSORT_NEVER;
      for (void *q : queues) next = std::min(next, ops->next_event(q));
      if (next == CONSORT_NEVER) return all;
      EXPECT_GT(next, clock) << "else a poll would have told";
      at(next);
    }
  }
  uint64_t clock = 0;
};

TEST(SimVirtual, SharesLinksFairly) {
  std::vector<char> buffer(16 << 20);
  const auto end = [](const consort_done &d, uint64_t start) { return static_cast<double>(d.t1 - start) / 1e3; };  // us
  {
    Virtual m(Params{{"bandwidth", "1G"}, {"latency", "0"}, {"units", "2"}, {"memory", "64M"}});
    void *a = m.open_queue(0, 0), *b = m.open_queue(0, 1), *back = m.open_queue(0, CONSORT_NONE);
    const consort_addr x = m.alloc(16 << 20), y = m.alloc(16 << 20);
    const consort_op one = m.to_device(buffer.data(), x, 1'000'000), two = m.to_device(buffer.data(), y, 3'000'000), out = m.from_device(y, buffer.data(), 2'000'000);
    m.ops->submit(a, &one, 1), m.ops->submit(b, &two, 1), m.ops->submit(back, &out, 1);
    auto done = m.play();
    EXPECT_NEAR(end(done[a][0], 1'000'000), 2000, 1) << "half of the link until the first is through";
    EXPECT_NEAR(end(done[b][0], 1'000'000), 4000, 1) << "then all of it";
    EXPECT_NEAR(end(done[back][0], 1'000'000), 2000, 1) << "the other way is another wire";
  }
  {
    Virtual m(Params{{"bandwidth", "1G"}, {"latency", "0"}, {"duplex", "false"}, {"memory", "64M"}});
    void *q = m.open_queue(0, CONSORT_NONE);
    const consort_addr x = m.alloc(16 << 20);
    const consort_op list[] = {m.to_device(buffer.data(), x, 1'000'000), m.from_device({x.base, 8 << 20}, buffer.data() + (8 << 20), 1'000'000)};
    m.ops->submit(q, list, 2);
    auto done = m.play();
    for (const auto &d : done[q]) EXPECT_NEAR(end(d, 1'000'000), 2000, 1) << "both ways share one wire";
  }
  {  // a bus of 3 for three links of 1, 2 and 4: 1 gets 0.75, then what is left goes round
    File f("[[bus]]\nname = \"b\"\nbandwidth = \"3G\"\n[[device]]\ncount = 3\nmemory = \"64M\"\n"
           "[[link]]\nfrom = \"host\"\nto = \"sim0\"\nbandwidth = \"500M\"\nlatency = \"0\"\nbus = \"b\"\n"
           "[[link]]\nfrom = \"host\"\nto = \"sim1\"\nbandwidth = \"2G\"\nlatency = \"0\"\nbus = \"b\"\n"
           "[[link]]\nfrom = \"host\"\nto = \"sim2\"\nbandwidth = \"4G\"\nlatency = \"0\"\nbus = \"b\"\n");
    Virtual m(Params{{"machine", f.path}});
    const double want[] = {10'000'000 / 0.5e3, 10'000'000 / 1.25e3, 10'000'000 / 1.25e3};  // us: 0.5 is all its link has, the rest is halved
    std::vector<void *> queues;
    for (uint32_t d = 0; d < 3; ++d) {
      queues.push_back(m.open_queue(d, CONSORT_NONE));
      const consort_op op = m.to_device(buffer.data(), m.alloc(10'000'000, d), 10'000'000, d);
      m.ops->submit(queues.back(), &op, 1);
    }
    auto done = m.play();
    for (int d = 0; d < 3; ++d) EXPECT_NEAR(end(done[queues[d]][0], 1'000'000), want[d], 1) << d;
  }
}

TEST(Sim, KernelsTakeTheirTimeAndTheFactor) {
  Machine m(Params{{"speed", "0.25"}, {"delay", "1ms"}});
  void *q = m.open_queue();
  Body busy([] {
    const double end = Clocked::now() + 2e-3;
    while (Clocked::now() < end) {
    }
    return CONSORT_OK;
  });
  const auto done = m.run(q, {busy.op()});
  EXPECT_GE(seconds(done[0]), 9e-3);
  EXPECT_LT(seconds(done[0]), 60e-3);
  EXPECT_EQ(done[0].status, CONSORT_OK);
  Body bad([] { return CONSORT_E_INVAL; });
  EXPECT_EQ(m.status_of(q, bad.op()), CONSORT_E_INVAL);
  Machine given(Params{{"times", "gemm=3ms,other=1us"}, {"devices", "1"}});
  given.ops->codelet(given.devices[0], 7, "gemm", nullptr, 0);
  q = given.open_queue();
  Body nothing([] { return CONSORT_OK; });
  double shortest = 1;
  for (int i = 0; i < 20; ++i) {
    const double t = seconds(given.run(q, {nothing.op(7)})[0]);
    EXPECT_GE(t, 3e-3);
    shortest = std::min(shortest, t);
  }
  EXPECT_LT(shortest, 4e-3);
  for (int i = 0; i < 20; ++i) shortest = std::min(shortest, seconds(given.run(q, {nothing.op(8)})[0]));
  EXPECT_LT(shortest, 3e-3) << "no time is given for that one";
}

// -- queues -----------------------------------------------------------------------------------------------------------

TEST(Sim, AQueueKeepsItsOrderAndItsDepth) {
  Machine m(Params{{"depth", "16"}});
  void *q = m.open_queue();
  std::vector<int> order;
  std::vector<Body> bodies;
  std::vector<consort_op> list;
  for (int i = 0; i < 20; ++i) bodies.emplace_back([&order, i] { order.push_back(i); return CONSORT_OK; });
  for (int i = 0; i < 20; ++i) list.push_back(bodies[i].op()), list.back().cookie = 100 + i;
  EXPECT_EQ(m.ops->submit(q, list.data(), 20), 16u) << "no more than its depth";
  auto done = m.collect(q, 16);
  EXPECT_EQ(m.ops->submit(q, list.data() + 16, 4), 4u);
  const auto more = m.collect(q, 4);
  done.insert(done.end(), more.begin(), more.end());
  ASSERT_EQ(order.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(order[i], i);
    EXPECT_EQ(done[i].cookie, 100u + i);
    EXPECT_GE(done[i].t0, i ? done[i - 1].t1 : 0);
  }
}

// A kernel waits for its copy on another queue, a copy for its kernel on another device: values say so.
TEST(Sim, QueuesWaitForEachOthersTickets) {
  Machine m(Params{{"devices", "2"}, {"latency", "300us"}});
  void *copies = m.open_queue(0, CONSORT_NONE), *unit = m.open_queue(0, 0), *far = m.open_queue(1, CONSORT_NONE);  // tokens 1, 2, 3
  EXPECT_TRUE(m.desc.flags & CONSORT_Q_WAITS);
  EXPECT_NE(m.desc.sync, 0u);
  const consort_addr a = m.alloc(4096), b = m.alloc(4096, 1);
  std::vector<int> v(1024, 1), out(1024, 0);
  Body twice([&] {
    auto *p = static_cast<int *>(consort_ptr(a));
    for (int i = 0; i < 1024; ++i) p[i] *= 2;
    return CONSORT_OK;
  });
  for (int round = 0; round < 5; ++round) {
    const uint64_t n = 2 * round;
    std::fill(v.begin(), v.end(), round + 1);
    const consort_op in = m.to_device(v.data(), a, 4096);
    consort_op call = twice.op(), home = m.from_device(a, out.data(), 4096), there = m.to_device(out.data(), b, 4096, 1);
    const consort_ticket first{1, n + 1}, second{2, static_cast<uint64_t>(round + 1)}, third{1, n + 2}, gone{99, 7};
    call.wait = &first, call.nwait = 1;
    const consort_ticket both[] = {second, gone};
    home.wait = both, home.nwait = 2;
    there.wait = &third, there.nwait = 1;
    ASSERT_EQ(m.ops->submit(copies, &in, 1), 1u);
    ASSERT_EQ(m.ops->submit(unit, &call, 1), 1u);
    ASSERT_EQ(m.ops->submit(copies, &home, 1), 1u);
    ASSERT_EQ(m.ops->submit(far, &there, 1), 1u);
    m.collect(far, 1), m.collect(copies, 2), m.collect(unit, 1);
    EXPECT_EQ(out[1023], 2 * (round + 1));
    EXPECT_EQ(static_cast<int *>(consort_ptr(b))[1023], 2 * (round + 1));
  }
}

TEST(Sim, TheFdWakesWhoeverArmedIt) {
  Machine m(Params{{"latency", "3ms"}});
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64);
  char buffer[64];
  pollfd fd{m.ops->event_fd(q), POLLIN, 0};
  const consort_op op = m.to_device(buffer, a, 64);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(m.ops->submit(q, &op, 1), 1u);
    ASSERT_EQ(m.ops->arm(q), CONSORT_OK);
    EXPECT_EQ(poll(&fd, 1, 0), 0);
    EXPECT_EQ(poll(&fd, 1, 10000), 1);
    EXPECT_EQ(m.ops->arm(q), CONSORT_E_BUSY) << "something is there: poll first";
    m.collect(q, 1);
  }
}

// Nobody polls while copies, kernels and copies pass one device: they overlap all the same.
TEST(Sim, StagesOverlap) {
  Machine m(Params{{"bandwidth", "1G"}, {"latency", "0"}, {"times", "k=4ms"}, {"memory", "64M"}, {"depth", "32"}});
  m.ops->codelet(m.devices[0], 1, "k", nullptr, 0);
  void *copies = m.open_queue(0, CONSORT_NONE), *unit = m.open_queue(0, 0);
  constexpr uint64_t kBytes = 3'900'000, kBlocks = 10;
  std::vector<char> in(kBytes), out(kBytes);
  Body nothing([] { return CONSORT_OK; });
  double best = 1;
  uint64_t base = 0;
  for (int attempt = 0; attempt < (kTimely ? 10 : 1) && best > 0.055; ++attempt, base += kBlocks) {
    const double t = Clocked::now();
    std::vector<consort_addr> blocks;
    for (uint64_t i = 0; i < kBlocks; ++i) {
      if (attempt == 0) m.alloc(kBytes);
      const consort_addr a = std::get<1>(m.blocks[i]);
      consort_op first = m.to_device(in.data(), a, kBytes), call = nothing.op(1), last = m.from_device(a, out.data(), kBytes);
      const consort_ticket loaded{1, 2 * base + 2 * i + 1}, worked{2, base + i + 1};
      const consort_ticket loading{1, 2 * base + 2 * i - 1};  // blocks come in one by one
      if (i) first.wait = &loading, first.nwait = 1;
      call.wait = &loaded, call.nwait = 1;
      last.wait = &worked, last.nwait = 1;
      ASSERT_EQ(m.ops->submit(copies, &first, 1), 1u);
      ASSERT_EQ(m.ops->submit(unit, &call, 1), 1u);
      ASSERT_EQ(m.ops->submit(copies, &last, 1), 1u);
    }
    m.collect(unit, kBlocks), m.collect(copies, 2 * kBlocks);
    best = std::min(best, Clocked::now() - t);
  }
  EXPECT_GE(best, 10 * 4e-3);
  EXPECT_TRUE(!kTimely || best < 0.055) << best << ": three stages of 4 ms, ten blocks: 48 ms, one after the other 118";
}

// -- what goes wrong --------------------------------------------------------------------------------------------------

TEST(SimFaults, TheNthAllocationCopyKernel) {
  Machine m(Params{{"devices", "2"}, {"depth", "8"}, {"faults", "oom@3,copy@2/1,kernel@2/0"}});
  consort_addr a[2]{};
  for (uint32_t d = 0; d < 2; ++d) {
    a[d] = m.alloc(64, d);
    m.alloc(64, d);
    consort_addr x{};
    EXPECT_EQ(m.ops->alloc(m.devices[d], m.space(d), 64, 0, 0, &x), CONSORT_E_NOMEM);
    EXPECT_NE(m.plugin.failure().find("as faults = demands"), std::string::npos);
    m.alloc(64, d);
  }
  int runs = 0;
  char v[64] = "right";
  Body body([&] { ++runs; return CONSORT_OK; });
  for (uint32_t d = 0; d < 2; ++d) {
    void *q = m.open_queue(d);
    const consort_op in = m.to_device(v, a[d], 64, d);
    const auto done = m.run(q, {in, in, in, body.op(), body.op(), body.op()});
    for (uint32_t i = 0; i < 6; ++i) {
      const bool bad = d == 1 ? i == 1 : i == 4;
      EXPECT_EQ(done[i].status, bad ? CONSORT_E_IO : CONSORT_OK) << d << i;
      EXPECT_EQ(done[i].bytes, bad || i > 2 ? 0u : 64u);
    }
  }
  EXPECT_EQ(runs, 5) << "a kernel that goes wrong has not run";
}

TEST(SimFaults, ByChanceFromTheSeed) {
  const auto pattern = [](const std::string &seed) {
    Machine m(Params{{"faults", "kernel%0.2"}, {"seed", seed}, {"devices", "2"}});
    void *a = m.open_queue(0), *b = m.open_queue(1);
    Body body([] { return CONSORT_OK; });
    std::string out;
    for (void *q : {a, b})
      for (const auto &d : m.run(q, std::vector<consort_op>(200, body.op()))) out += d.status == CONSORT_OK ? '.' : 'x';
    return out;
  };
  const std::string one = pattern("5");
  EXPECT_EQ(one, pattern("5"));
  EXPECT_NE(one, pattern("6"));
  EXPECT_NE(one.substr(0, 200), one.substr(200)) << "devices have luck of their own";
  const auto n = std::count(one.begin(), one.end(), 'x');
  EXPECT_GT(n, 40);
  EXPECT_LT(n, 130);
}

void expect_lost(Machine &m, const std::vector<consort_done> &done, size_t from) {
  for (size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].status, i >= from ? CONSORT_E_DEVICE_LOST : CONSORT_OK) << i;
  const auto events = m.plugin.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what, uint32_t{CONSORT_EV_DEVICE_LOST});
  EXPECT_EQ(events[0].object, Machine::kToken);
}

TEST(SimFaults, TheDeviceIsLostOnceAndForAll) {
  Machine m(Params{{"devices", "2"}, {"depth", "16"}, {"faults", "lost@5/0"}, {"peer", "10G"}});
  void *q = m.open_queue(0), *idle = m.open_queue(0, CONSORT_NONE), *other = m.open_queue(1);
  const consort_addr a = m.alloc(64), b = m.alloc(64, 1);
  char v[64] = {};
  std::atomic<int> runs{0};
  Body body([&] {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return CONSORT_OK;
  });
  auto list = std::vector<consort_op>(12, body.op());
  for (size_t i = 0; i < list.size(); ++i) list[i].cookie = i;
  ASSERT_EQ(m.ops->submit(q, list.data(), 12), 12u);
  const auto done = m.collect(q, 12);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(done[i].cookie, i) << "in order";
  EXPECT_EQ(runs, 4);
  expect_lost(m, done, 4);
  EXPECT_EQ(m.status_of(q, body.op()), CONSORT_E_DEVICE_LOST) << "accepted, and given back";
  EXPECT_EQ(m.status_of(idle, m.to_device(v, a, 64)), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.status_of(other, Machine::copy(m.space(0), a, m.space(1), b, 64)), CONSORT_E_IO) << "from a memory that is gone";
  EXPECT_EQ(m.status_of(other, body.op()), CONSORT_OK) << "the other one lives";
  consort_addr x{};
  void *late = nullptr;
  uint64_t code = 0;
  consort_queue_desc desc{};
  desc.size = sizeof desc;
  EXPECT_EQ(m.ops->alloc(m.devices[0], m.space(0), 64, 0, 0, &x), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.ops->attach(m.devices[0], m.host_space, Machine::addr(v), 64, &x), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.ops->load_impl(m.devices[0], "cl", "x", 1, "k", &code), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.ops->queue_open(m.devices[0], 0, 50, &desc, &late), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.plugin.events().size(), 1u) << "told once";
}

// It goes while a function runs: that op comes back when the function does, those behind it after it.
TEST(SimFaults, TheDeviceIsLostAtATime) {
  Machine m(Params{{"faults", "lost@30ms"}, {"units", "2"}});
  void *q = m.open_queue(0, 0), *copies = m.open_queue(0, CONSORT_NONE);
  std::atomic<bool> inside{false};
  Body body([&] {
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    inside = false;
    return CONSORT_OK;
  });
  auto list = std::vector<consort_op>(3, body.op());
  ASSERT_EQ(m.ops->submit(q, list.data(), 3), 3u);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(m.status_of(copies, op_of(CONSORT_OP_MARK, 0)), CONSORT_E_DEVICE_LOST);
  EXPECT_TRUE(m.plugin.events().empty()) << "not while one is in flight";
  const auto done = m.collect(q, 3);
  EXPECT_FALSE(inside);
  expect_lost(m, done, 0);
}

TEST(SimFaults, LostWithNothingInFlight) {
  Machine m(Params{{"faults", "lost@5ms"}});
  m.open_queue();
  for (int i = 0; i < 5000 && m.plugin.events().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(m.plugin.events().size(), 1u) << "nobody had to ask";
}

TEST(SimFaults, ASlowDevice) {
  Virtual m(Params{{"devices", "2"}, {"bandwidth", "1G"}, {"latency", "10us"}, {"usual", "50us"}, {"faults", "slow@8/1"}});
  Body body([] { return CONSORT_OK; });
  std::vector<char> buffer(1'000'000);
  double took[2][2];
  for (uint32_t d = 0; d < 2; ++d) {
    void *q = m.open_queue(d);
    const consort_op list[] = {m.to_device(buffer.data(), m.alloc(1'000'000, d), 1'000'000, d), body.op()};
    ASSERT_EQ(m.ops->submit(q, list, 2), 2u);
    auto done = m.play()[q];
    for (int i = 0; i < 2; ++i) took[d][i] = static_cast<double>(done[i].t1 - done[i].t0);
  }
  EXPECT_NEAR(took[0][0], 1'010'000, 2);
  EXPECT_NEAR(took[1][0], 8 * 1'010'000, 2);
  EXPECT_EQ(took[0][1], 50'000);
  EXPECT_EQ(took[1][1], 400'000);
  EXPECT_EQ(m.links.at({m.host_space, m.space(0)}).bytes_per_s, m.links.at({m.host_space, m.space(1)}).bytes_per_s) << "it does not say so";
}

// -- life -------------------------------------------------------------------------------------------------------------

TEST(Sim, IsQuietWhenItsQueuesAreClosed) {
  Machine m;
  const auto *p = m.plugin.plugin();
  EXPECT_EQ(p->quiesce(m.plugin.self(), 0), CONSORT_OK);
  m.open_queue();
  EXPECT_EQ(p->quiesce(m.plugin.self(), 0), CONSORT_E_BUSY);
  m.close();
  EXPECT_EQ(p->quiesce(m.plugin.self(), 0), CONSORT_OK);
  EXPECT_EQ(m.plugin.log(), "");
}

TEST(Sim, ComesAndGoes) {
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
TEST(Sim, ManyThreadsAtOnce) {
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

// -- virtual time -----------------------------------------------------------------------------------------------------

TEST(SimVirtual, TimeIsTheModels) {
  Virtual m(Params{{"bandwidth", "2G"}, {"depth", "16"}, {"latency", "7us"}, {"times", "k=250us"}, {"rate", "1G"}, {"delay", "3us"}, {"speed", "2"}, {"inner", "100G"}});
  EXPECT_EQ(m.plugin.plugin()->flags & CONSORT_PF_VIRTUAL, uint32_t{CONSORT_PF_VIRTUAL});
  EXPECT_EQ(m.units[0][0].flags, uint32_t{CONSORT_UNIT_SIMULATED});
  m.ops->codelet(m.devices[0], 3, "k", nullptr, 0);
  void *q = m.open_queue();
  EXPECT_EQ(m.ops->event_fd(q), -1);
  EXPECT_EQ(m.ops->next_event(q), CONSORT_NEVER);
  const consort_addr a = m.alloc(1'000'000);
  std::vector<char> buffer(1'000'000, 42);
  int runs = 0;
  Body body([&] { ++runs; return CONSORT_OK; });
  consort_op measured = body.op(4), free = op_of(CONSORT_OP_CALL, 0), fill = op_of(CONSORT_OP_FILL, 0);
  measured.work = 600'000;  // at 2e9 a second
  free.flags = fill.flags = CONSORT_OPF_TIME;  // no function: time alone
  fill.u.fill = {a, 1'000'000, m.space(0), 7};
  const std::vector<consort_op> list = {m.to_device(buffer.data(), a, 1'000'000), body.op(3), measured, free, fill};
  ASSERT_EQ(m.ops->submit(q, list.data(), 5), 5u);
  EXPECT_EQ(runs, 0) << "nothing of the application's runs inside submit()";
  EXPECT_EQ(m.ops->next_event(q), 1'007'000u) << "the latency is over";
  const auto done = m.play()[q];
  const uint64_t want[] = {507'000, 253'000, 303'000, 53'000, 10'000};
  uint64_t t = 1'000'000;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(done[i].t0, t);
    EXPECT_EQ(done[i].t1, t += want[i]) << i;
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(*static_cast<char *>(consort_ptr(a)), 7);
}

TEST(SimVirtual, KernelsNeedNotRun) {
  Virtual m(Params{{"execute", "false"}, {"usual", "1ms"}});
  void *q = m.open_queue();
  Body body([]() -> consort_status { ADD_FAILURE() << "called"; return CONSORT_OK; });
  const consort_op op = body.op();
  m.ops->submit(q, &op, 1);
  EXPECT_EQ(m.play()[q][0].t1, 2'000'000u);
}

TEST(SimVirtual, AHostOfItsOwn) {
  Params p = Virtual::with({{"cores", "3"}, {"devices", "2"}, {"host_memory", "2G"}});
  Machine m(p, false);
  ASSERT_EQ(m.devices.size(), 3u);
  EXPECT_STREQ(m.spaces[2].domain, "host");
  EXPECT_EQ(m.spaces[2].flags, uint32_t{CONSORT_SP_CPU | CONSORT_SP_COHERENT});
  EXPECT_EQ(m.spaces[2].capacity, uint64_t{2} << 30);
  ASSERT_EQ(m.units[2].size(), 3u);
  EXPECT_STREQ(m.units[2][0].klass, "cpu");
  EXPECT_EQ(m.links.count({m.space(2), m.space(0)}), 1u);
  EXPECT_EQ(m.links.count({m.space(0), m.space(2)}), 1u);
}

// Random ops on random queues, with tickets, faults and noise.
std::string random_run(uint64_t seed, const std::string &trace) {
  Virtual m(Params{{"devices", "3"}, {"units", "2"}, {"depth", "16"}, {"bus", "5G"}, {"peer", "8G"}, {"noise", "0.3"}, {"faults", "copy%0.05,kernel%0.05,lost@90/2"},
             {"seed", std::to_string(seed)}, {"trace", trace}});
  std::vector<std::pair<void *, uint32_t>> queues;
  std::vector<uint64_t> accepted;
  for (uint32_t d = 0; d < 3; ++d)
    for (uint32_t u : {0u, 1u, CONSORT_NONE}) queues.emplace_back(m.open_queue(d, u), d), accepted.push_back(0);
  std::vector<consort_addr> blocks;
  for (uint32_t d = 0; d < 3; ++d) blocks.push_back(m.alloc(1 << 16, d, CONSORT_AL_ZERO));
  std::vector<char> home(1 << 16);
  std::mt19937 rng(static_cast<uint32_t>(seed));
  std::stringstream order;
  Body body([&] { order << "k "; return CONSORT_OK; });
  uint64_t cookie = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 8; ++i) {
      const size_t k = rng() % queues.size();
      const auto [q, d] = queues[k];
      const uint32_t other = rng() % 3;
      const uint64_t n = 1 + rng() % (1 << 16);
      consort_op op = rng() % 3 == 0 ? body.op(rng() % 5) : rng() % 2 ? m.to_device(home.data(), blocks[d], n, d) : Machine::copy(m.space(d), blocks[d], m.space(other), blocks[other], n);
      op.cookie = ++cookie;
      const size_t w = rng() % queues.size();
      const consort_ticket t{w + 1, accepted[w]};
      if (accepted[w]) op.wait = &t, op.nwait = 1;
      if (m.ops->submit(q, &op, 1)) ++accepted[k];
    }
    if (round % 3 == 0)
      for (auto &[q, all] : m.play())
        for (const auto &x : all) order << x.cookie << ':' << x.status << ':' << x.t0 << '-' << x.t1 << ' ';
  }
  std::map<uint64_t, std::string> sorted;
  for (auto &[q, all] : m.play())
    for (const auto &x : all) sorted[x.cookie] = std::to_string(x.status) + ':' + std::to_string(x.t0) + '-' + std::to_string(x.t1);
  for (auto &[c, text] : sorted) order << c << text << ' ';
  EXPECT_EQ(m.plugin.events().size(), 1u) << "device 2 goes at its 90th op";
  uint64_t total = 0;
  for (uint64_t n : accepted) total += n;
  EXPECT_GT(total, 200u);
  return order.str();
}

TEST(SimVirtual, TheSameSeedTheSameTrace) {
  const auto read = [](const std::string &path) {
    std::ifstream in(path);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
  };
  File a(""), b(""), c("");
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    random_run(seed, a.path);
    random_run(seed, b.path);
    random_run(seed + 100, c.path);
    const std::string one = read(a.path);
    EXPECT_GT(std::count(one.begin(), one.end(), '\n'), 200);
    EXPECT_EQ(one, read(b.path)) << seed;
    EXPECT_NE(one, read(c.path));
  }
}

}  // namespace
}  // namespace consort_test
