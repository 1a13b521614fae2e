// The Level Zero driver where things go wrong: each call of the library refused in turn, and the device lost with any
// command. A campaign runs random programs with random faults. Nothing hangs, nothing is left, values are right or the
// op says no.
#if !defined(CONSORT_ZE_DOUBLE)
#include <gtest/gtest.h>
TEST(LevelZeroFaults, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no level_zero/ze_api.h"; }
#else
#include <chrono>
#include <random>
#include <thread>

#include "drivers/level_zero_machine.hpp"

namespace consort_test {
namespace {

using LevelZeroFaults = LevelZero;
using Clock = std::chrono::steady_clock;

constexpr auto kHang = std::chrono::seconds(60);

// A driver's whole life, as far as it comes: each step may be refused, with words.
struct Life {
  explicit Life(Params params) : plugin("level_zero", LevelZero::on_double(std::move(params))) {
    if (!plugin.ready()) {
      refused("init");
      return;
    }
    ops = plugin.ops<consort_driver_ops>();
    if (ops->open(plugin.self(), 0, 77, &dev) < 0) {
      refused("open");
      return;
    }
    own.size = ram.size = sizeof own, own.id = 3, ram.id = 4;
    ram.name = "ram", ram.domain = "host", ram.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
    EXPECT_EQ(ops->space(dev, 0, &own), CONSORT_OK);
    consort_link_desc l{};
    l.size = sizeof l;
    EXPECT_EQ(ops->link(dev, &own, &ram, &l), CONSORT_OK);
  }
  ~Life() {
    for (Line &q : lines)
      if (q.q) ops->queue_close(q.q);
    for (auto &[space, at, n] : blocks) ops->free(dev, space, at, n);
    if (dev) ops->close(dev);
  }
  void refused(const char *what) {
    ++refusals;
    EXPECT_FALSE(plugin.failure().empty()) << what << " is refused without a word";
  }
  bool alloc(uint32_t space, uint64_t n, uint32_t flags, consort_addr *out) {
    if (ops->alloc(dev, space, n, 64, flags, out) < 0) return refused("alloc"), false;
    blocks.emplace_back(space, *out, n);
    return true;
  }
  bool open(uint64_t token, uint32_t unit) {
    Line line{token, unit != CONSORT_NONE, nullptr, 0, 0};
    consort_queue_desc d{};
    d.size = sizeof d;
    if (ops->queue_open(dev, unit, token, &d, &line.q) < 0) return refused("queue_open"), false;
    lines.push_back(line);
    return true;
  }
  uint64_t load(const char *entry) {
    uint64_t code = 0;
    if (ops->load_impl(dev, "spirv", kKernels, sizeof kKernels, entry, &code) < 0) refused("load_impl");
    return code;
  }
  // Collects completions; false: none has come for too long.
  template <class F>
  bool poll_all(F each) {
    const auto limit = Clock::now() + kHang;
    for (;;) {
      bool waits = false;
      for (Line &q : lines) {
        consort_done done[8];
        const uint32_t n = ops->poll(q.q, done, 8);
        for (uint32_t i = 0; i < n; ++i) {
          ++q.over;
          each(done[i]);
        }
        waits |= q.over < q.given;
      }
      if (!waits) return true;
      if (Clock::now() > limit) return false;
      std::this_thread::yield();
    }
  }

  struct Line {
    uint64_t token;
    bool in_order;
    void *q;
    uint64_t given, over;
  };
  PluginHost plugin;
  const consort_driver_ops *ops = nullptr;
  void *dev = nullptr;
  consort_space_desc own{}, ram{};
  std::vector<std::tuple<uint32_t, consort_addr, uint64_t>> blocks;
  std::vector<Line> lines;
  int refusals = 0;
};

consort_op copy_of(uint32_t from, consort_addr src, uint32_t to, consort_addr dst, uint64_t n, uint64_t rows = 1, int64_t step = 0) {
  consort_op o = op_of(CONSORT_OP_COPY, 0);
  o.u.copy = {from, to, src, dst, n, {rows, 1}, {step, 0}, {step, 0}};
  return o;
}

// Two queues with everything in them; answers how many ops failed.
int everything(Life &life, std::vector<consort_status> *out = nullptr) {
  if (!life.dev) return life.refusals;
  consort_addr a{}, b{}, pinned{};
  if (!life.alloc(3, 4096, CONSORT_AL_ZERO, &a) || !life.alloc(3, 4096, 0, &b) || !life.alloc(4, 4096, CONSORT_AL_PINNED, &pinned)) return life.refusals;
  if (!life.open(11, 0) || !life.open(12, CONSORT_NONE)) return life.refusals;
  const uint64_t add = life.load("add"), other = life.load("plain");
  if (!add || !other) return life.refusals;
  const std::vector<consort_arg> args = {at(a, 4096), value<uint64_t>(1024), value(3u), value(1u)};
  Call enqueues([](const consort_call *) { return CONSORT_OK; }), blocks([](const consort_call *) { return CONSORT_OK; });
  std::vector<unsigned char> host(8192, 1);
  consort_op fill = op_of(CONSORT_OP_FILL, 0);
  fill.u.fill = {{a.base, 1}, 1001, 3, 0x01020304};
  std::vector<consort_op> ops = {copy_of(4, pinned, 3, a, 4096), launch_of(add, args, 1024), enqueues.op(true), fill, blocks.op(false),
                                 copy_of(3, a, 4, pinned, 100, 7, 200), op_of(CONSORT_OP_MARK, 0), launch_of(add, args, 16, 64)};
  for (consort_op &o : ops) o.flags |= CONSORT_OPF_TIME;
  const auto host_at = consort_addr{reinterpret_cast<uint64_t>(host.data()), 0};
  const consort_ticket after{11, ops.size()};
  std::vector<consort_op> copies = {copy_of(3, a, 4, host_at, 64), copy_of(3, {b.base, 200}, 4, {host_at.base, 4296}, 64, 3, -64)};
  copies[0].wait = &after, copies[0].nwait = 1;
  EXPECT_EQ(life.ops->submit(life.lines[0].q, ops.data(), static_cast<uint32_t>(ops.size())), ops.size());
  EXPECT_EQ(life.ops->submit(life.lines[1].q, copies.data(), 2), 2u);
  life.lines[0].given = ops.size(), life.lines[1].given = 2;
  int failed = 0;
  EXPECT_TRUE(life.poll_all([&](const consort_done &d) {
    failed += d.status < 0;
    if (out) out->push_back(d.status);
  })) << "it hangs";
  return life.refusals + failed;
}

TEST_F(LevelZeroFaults, EachCallMayFail) {
  const char *functions[] = {
      "zeInit", "zeDriverGet", "zeDeviceGet", "zeDeviceGetProperties", "zeDeviceGetComputeProperties", "zeDeviceGetMemoryProperties",
      "zeDeviceGetCommandQueueGroupProperties", "zeContextCreate", "zeCommandListCreateImmediate", "zeEventPoolCreate", "zeEventCreate",
      "zeMemAllocDevice", "zeMemAllocHost", "zeModuleCreate", "zeModuleGetKernelNames", "zeKernelCreate", "zeKernelGetProperties",
      "zeKernelSetGroupSize", "zeKernelSuggestGroupSize", "zeKernelSetArgumentValue", "zeCommandListAppendBarrier",
      "zeCommandListAppendMemoryCopy", "zeCommandListAppendMemoryCopyRegion", "zeCommandListAppendMemoryFill",
      "zeCommandListAppendLaunchKernel", "zeDeviceGetGlobalTimestamps", "zeEventQueryKernelTimestamp"};
  for (const char *f : functions)
    for (int nth = 1, wrong = 1; wrong && nth <= 12; ++nth) {
      constexpr const char *codes[] = {"0x70000002", "0x70000003", "0x7ffffffe"};
      const std::string words = std::string("fail=") + f + ":" + std::to_string(nth) + ":" + codes[nth % 3];
      Double::get().configure(words);
      {
        Life life({});
        wrong = everything(life);
      }
      EXPECT_EQ(Double::get().violations(), "") << words;
      EXPECT_EQ(Double::get().live(), 0u) << words;
    }
}

TEST_F(LevelZeroFaults, DeviceIsLostAtAnyCommand) {
  size_t survived = 0;
  for (int nth = 1; survived < 2; ++nth) {
    ASSERT_LT(nth, 100);
    const std::string words = "lost=0:" + std::to_string(nth);
    Double::get().configure(words);
    {
      Life life({});
      std::vector<consort_status> statuses;
      const int failed = everything(life, &statuses);
      ASSERT_NE(life.dev, nullptr);
      const auto events = failed ? life.plugin.awaited_events() : life.plugin.events();
      if (!failed) {
        ++survived;
        EXPECT_TRUE(events.empty());
        continue;
      }
      for (const consort_status s : statuses) EXPECT_TRUE(s == CONSORT_OK || s == CONSORT_E_DEVICE_LOST) << words << ": " << s;
      ASSERT_EQ(events.size(), 1u) << words;
      EXPECT_EQ(events[0].what, static_cast<uint32_t>(CONSORT_EV_DEVICE_LOST));
      EXPECT_EQ(events[0].object, 77u);
      // It reports so from then on, and accepts frees.
      consort_addr a{};
      uint64_t code = 0;
      consort_queue_desc d{};
      d.size = sizeof d;
      void *q = nullptr;
      EXPECT_EQ(life.ops->alloc(life.dev, 3, 64, 64, 0, &a), CONSORT_E_DEVICE_LOST);
      EXPECT_EQ(life.ops->load_impl(life.dev, "spirv", kKernels, sizeof kKernels, "add", &code), CONSORT_E_DEVICE_LOST);
      EXPECT_EQ(life.ops->queue_open(life.dev, 0, 5, &d, &q), CONSORT_E_DEVICE_LOST);
      if (life.lines.empty()) continue;  // on memory that alloc itself gave the device
      const consort_op mark = op_of(CONSORT_OP_MARK, 4);
      EXPECT_EQ(life.ops->submit(life.lines[0].q, &mark, 1), 1u);
      ++life.lines[0].given;
      EXPECT_TRUE(life.poll_all([](const consort_done &done) { EXPECT_EQ(done.status, CONSORT_E_DEVICE_LOST); }));
      EXPECT_EQ(life.plugin.events().size(), 1u) << "once";
    }
    EXPECT_EQ(Double::get().violations(), "") << words;
    EXPECT_EQ(Double::get().live(), 0u) << words;
  }
}

TEST_F(LevelZeroFaults, KernelBeyondItsMemoryLosesTheDevice) {
  expected = "kernel \"add\" of device 0 touches 4 bytes: no memory of its context\n";
  Double::get().configure("quiet");
  Life life({});
  consort_addr a{};
  ASSERT_TRUE(life.alloc(3, 256, 0, &a) && life.open(11, 0));
  const std::vector<consort_arg> args = {at(a, 256), value<uint64_t>(65), value(3u), value(1u)};
  const consort_op op = launch_of(life.load("add"), args, 65);
  ASSERT_EQ(life.ops->submit(life.lines[0].q, &op, 1), 1u);
  life.lines[0].given = 1;
  EXPECT_TRUE(life.poll_all([](const consort_done &d) { EXPECT_EQ(d.status, CONSORT_E_DEVICE_LOST); }));
  EXPECT_EQ(life.plugin.awaited_events().size(), 1u);
}

// -- the campaign -----------------------------------------------------------------------------------------------------

// A random program over a few blocks, on two units and the queue for copies, with random faults. Where queues are
// unordered, tickets alone order it. A block that no failed op has touched has the value that it has in the host's
// model.
class Program {
 public:
  explicit Program(uint64_t seed) : chance_(seed) {}

  void run() {
    words_ = "quiet,seed=" + std::to_string(chance_() % 1000);
    const uint32_t fault = upto(3);
    if (fault == 1) words_ += ",lost=0:" + std::to_string(1 + upto(60));
    if (fault == 2) {
      const char *at[] = {"zeCommandListAppendBarrier", "zeCommandListAppendMemoryCopy", "zeCommandListAppendMemoryFill", "zeCommandListAppendLaunchKernel",
                          "zeEventPoolCreate", "zeKernelSetArgumentValue", "zeCommandListAppendMemoryCopyRegion", "zeMemAllocDevice"};
      words_ += std::string(",fail=") + at[upto(8)] + ":" + std::to_string(1 + upto(20)) + ":0x7000000" + (upto(2) ? "2" : "3");
    }
    if (upto(4) == 0) words_ += ",latency_us=" + std::to_string(upto(60));
    if (upto(4) == 0) words_ += ",pattern=1";
    Double::get().configure(words_);
    {
      Life life({{"units", "2"}, {"depth", std::to_string(2 + upto(30))}, {"copy_engines", std::to_string(upto(3))}});
      play(life);
    }
    EXPECT_EQ(Double::get().violations(), "") << words_;
    EXPECT_EQ(Double::get().live(), 0u) << words_;
  }

 private:
  static constexpr uint32_t kBlocks = 4, kWords = 48, kBytes = kWords * 4;
  struct Done {
    uint32_t reads, writes;  // blocks, by bit; the host's are behind the device's
    consort_ticket ticket;
    size_t line;
    bool bad = false, over = false;
    std::vector<size_t> after;
  };
  uint32_t upto(uint32_t n) { return static_cast<uint32_t>(chance_() % n); }

  void play(Life &life) {
    if (!life.dev) return;
    consort_addr at_device[kBlocks];
    for (consort_addr &a : at_device)
      if (!life.alloc(3, kBytes, CONSORT_AL_ZERO, &a)) return;
    if (!life.open(11, 0) || !life.open(12, 1) || !life.open(13, CONSORT_NONE)) return;
    const uint64_t add = life.load("add");
    if (!add) return;
    std::vector<std::vector<uint32_t>> host(kBlocks, std::vector<uint32_t>(kWords)), model(2 * kBlocks, std::vector<uint32_t>(kWords));
    for (uint32_t b = 0; b < kBlocks; ++b)
      for (uint32_t &v : host[b]) v = upto(1000);
    for (uint32_t b = 0; b < kBlocks; ++b) model[kBlocks + b] = host[b];
    const auto place = [&](uint32_t b) { return b < kBlocks ? at_device[b] : consort_addr{reinterpret_cast<uint64_t>(host[b - kBlocks].data()), 0}; };
    std::vector<Done> done;
    std::vector<std::vector<consort_arg>> args;
    std::vector<std::unique_ptr<Call>> calls;
    const uint32_t n = 5 + upto(30);
    args.reserve(n), done.reserve(n);
    bool hangs = false;
    for (uint32_t i = 0; i < n && !hangs; ++i) {
      const size_t l = upto(3);
      consort_op op{};
      Done d{};
      const uint32_t a = upto(kBlocks), b = upto(2 * kBlocks), kind = upto(l == 2 ? 3 : 6);
      const uint32_t value_a = 1 + upto(5), value_b = upto(9);
      if (kind <= 1) {  // to or from, or within
        const uint32_t from = kind ? a : b, to = kind ? b : a;
        if (from == to) continue;
        const uint64_t rows = upto(3) ? 1 : 4;
        op = copy_of(from < kBlocks ? 3 : 4, place(from), to < kBlocks ? 3 : 4, place(to), kBytes / rows, rows, static_cast<int64_t>(kBytes / rows));
        d.reads = 1u << from, d.writes = 1u << to;
        model[to] = model[from];
      } else if (kind == 2) {
        op = op_of(CONSORT_OP_FILL, 0);
        op.u.fill = {place(a), kBytes, 3, value_a * 0x01010100 + value_b};
        d.writes = 1u << a;
        std::fill(model[a].begin(), model[a].end(), value_a * 0x01010100 + value_b);
      } else if (kind <= 4) {
        args.push_back({at(place(a), kBytes), value<uint64_t>(kWords), value(value_a), value(value_b)});
        op = launch_of(add, args.back(), kind == 3 ? kWords : 3, kind == 3 ? 1 : 16);
        d.reads = d.writes = 1u << a;
        for (uint32_t &v : model[a]) v = v * value_a + value_b;
      } else {
        calls.push_back(std::make_unique<Call>([](const consort_call *) { return CONSORT_OK; }));
        op = calls.back()->op(upto(2));
      }
      std::vector<consort_ticket> waits;
      for (size_t k = 0; k < done.size(); ++k) {
        const Done &e = done[k];
        if (!((d.writes & (e.reads | e.writes)) | (d.reads & e.writes))) continue;
        d.after.push_back(k);
        if (e.line != l || l == 2) waits.push_back(e.ticket);
      }
      op.cookie = done.size();
      op.flags |= upto(2) ? CONSORT_OPF_TIME : 0;
      op.wait = waits.data(), op.nwait = static_cast<uint32_t>(waits.size());
      Life::Line &line = life.lines[l];
      d.line = l, d.ticket = {line.token, line.given + 1};
      done.push_back(d);
      const auto limit = Clock::now() + kHang;
      while (life.ops->submit(line.q, &op, 1) == 0) {
        take(life, done, l);
        if ((hangs = Clock::now() > limit)) break;
      }
      line.given += !hangs;
      if (upto(4) == 0) life.ops->arm(line.q);
    }
    EXPECT_FALSE(hangs) << words_;
    EXPECT_TRUE(life.poll_all([&](const consort_done &c) { note(done, c); })) << words_ << ": it hangs";
    uint32_t unknown = 0;
    for (Done &d : done) {
      EXPECT_TRUE(d.over) << words_;
      for (const size_t k : d.after) d.bad |= done[k].bad;
      if (d.bad || (d.reads & unknown)) unknown |= d.writes;
    }
    if (!life.plugin.events().empty()) return;  // lost: the contents of the device are gone
    std::vector<uint32_t> seen(kWords);
    for (uint32_t b = 0; b < 2 * kBlocks; ++b) {
      if (unknown >> b & 1) continue;
      if (b >= kBlocks) {
        EXPECT_EQ(host[b - kBlocks], model[b]) << words_ << ": block " << b;
        continue;
      }
      const consort_op back = copy_of(3, place(b), 4, {reinterpret_cast<uint64_t>(seen.data()), 0}, kBytes);
      EXPECT_EQ(life.ops->submit(life.lines[2].q, &back, 1), 1u);
      ++life.lines[2].given;
      consort_status s = CONSORT_E_INTERNAL;
      EXPECT_TRUE(life.poll_all([&](const consort_done &c) { s = c.status; }));
      if (s == CONSORT_OK) {
        EXPECT_EQ(seen, model[b]) << words_ << ": block " << b;
      } else if (s == CONSORT_E_DEVICE_LOST) {
        return;
      }
    }
  }
  void note(std::vector<Done> &done, const consort_done &c) {
    Done &d = done[c.cookie];
    EXPECT_FALSE(d.over) << words_ << ": told twice";
    d.over = true;
    d.bad = c.status < 0;
  }
  void take(Life &life, std::vector<Done> &done, size_t l) {
    consort_done some[4];
    const uint32_t n = life.ops->poll(life.lines[l].q, some, 4);
    life.lines[l].over += n;
    for (uint32_t i = 0; i < n; ++i) note(done, some[i]);
  }

  std::mt19937_64 chance_;
  std::string words_;
};

TEST_F(LevelZeroFaults, RandomProgramsGiveValuesOrErrors) {
  const bool full = std::getenv("CONSORT_FULL") && *std::getenv("CONSORT_FULL") == '1';
  const char *given = std::getenv("TEST_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1, last = given ? first : full ? 10'000 : 80;
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    Program(seed).run();
    if (HasFailure()) ADD_FAILURE() << "TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace consort_test
#endif
