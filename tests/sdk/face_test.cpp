// consort/plugin.hpp: function tables made of classes. Members of the class are in the table, exceptions become
// statuses.
#include <gtest/gtest.h>
#include <consort/plugin.hpp>

#include <cstring>
#include <map>

namespace consort_test {
namespace {

using namespace consort::plugin;

// The host of one test: answers parameters, keeps the text of fail().
struct Fake {
  consort_host table{};
  std::map<std::string, std::string> params;
  std::string failed;

  Fake() {
    table.size = sizeof table;
    table.major = CONSORT_HOST_MAJOR, table.minor = CONSORT_HOST_MINOR;
    table.ctx = this;
    table.fail = [](const consort_host *h, consort_status s, const char *text) {
      return static_cast<Fake *>(h->ctx)->failed = text, s;
    };
    table.param = [](const consort_host *h, const char *key) -> const char * {
      const Fake &f = *static_cast<Fake *>(h->ctx);
      const auto it = f.params.find(key);
      return it == f.params.end() ? nullptr : it->second.c_str();
    };
    table.now = [](const consort_host *) -> uint64_t { return 5; };
  }
};

int live = 0;  // objects of the classes below
struct Counted {
  Counted() { ++live; }
  Counted(const Counted &) = delete;
  ~Counted() { --live; }
};

enum class Throw { kNothing, kError, kBadAlloc, kException, kInt };
Throw what_to_throw = Throw::kNothing;
void perhaps() {
  switch (what_to_throw) {
    case Throw::kNothing:
      return;
    case Throw::kError:
      throw Error(CONSORT_E_IO, "the disk is gone; mount it");
    case Throw::kBadAlloc:
      throw std::bad_alloc();
    case Throw::kException:
      throw std::out_of_range("number 7");
    case Throw::kInt:
      throw 7;
  }
}
// call() with each of them: the status, and the text that the host got.
template <class Call>
void expect_mapped(Fake &host, Call call, bool text = true) {
  constexpr struct {
    Throw t;
    consort_status status;
    const char *text;
  } all[] = {{Throw::kError, CONSORT_E_IO, "the disk is gone; mount it"},
             {Throw::kBadAlloc, CONSORT_E_NOMEM, "out of memory"},
             {Throw::kException, CONSORT_E_INTERNAL, "number 7"},
             {Throw::kInt, CONSORT_E_INTERNAL, "the plugin has thrown what is no std::exception"}};
  for (const auto &e : all) {
    host.failed.clear();
    what_to_throw = e.t;
    EXPECT_EQ(call(), e.status);
    EXPECT_EQ(host.failed, text ? e.text : "");
  }
  what_to_throw = Throw::kNothing;
}

// -- a scheduler ------------------------------------------------------------------------------------------------------

struct Stack : Scheduler, Counted {
  static constexpr const char *summary = "the last first", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "4", "1..9", "how deep"};
  static constexpr Param<bool> loud{"loud", "false", nullptr, ""};
  static constexpr Param<double> share{"share", "0.5", nullptr, ""};
  static constexpr Param<std::string> name{"name", "x", nullptr, ""};
  static constexpr Param<std::vector<std::string>> list{"list", "a, b,,c ", nullptr, ""};
  static constexpr auto params = parameters(depth, loud, share, name, list);
  struct Settings : Counted {
    explicit Settings(Host h)
        : depth(h.value(Stack::depth)),
          loud(h.value(Stack::loud)),
          share(h.value(Stack::share)),
          name(h.value(Stack::name)),
          list(h.value(Stack::list)) {
      perhaps();
    }
    uint32_t depth;
    bool loud;
    double share;
    std::string name;
    std::vector<std::string> list;
  };

  Stack(const Settings &s, Host h, const consort_topology &t, uint64_t e)
      : Scheduler(h), settings(s), epoch(e), nworkers(t.nworkers) {
    perhaps();
  }
  void workers(const consort_topology &t, Workers add, Workers) {
    perhaps();
    for (const uint32_t w : add)
      if (w >= t.nworkers) throw Error(CONSORT_E_INVAL, "worker " + std::to_string(w) + " is not there");
  }
  uint32_t push(const consort_push &p) noexcept {
    if (p.epoch != epoch) return 0;
    for (uint32_t i = 0; i < p.n; ++i) p.ready[i]->sched[0] = top, top = p.ready[i];
    return p.n;
  }
  uint32_t pop(uint32_t, std::span<consort_pick> out) noexcept {
    uint32_t n = 0;
    for (; n < out.size() && top; top = static_cast<consort_task *>(top->sched[0]))
      out[n++] = {top, CONSORT_NONE, CONSORT_NONE};
    return n;
  }
  uint32_t drain(uint64_t e, std::span<consort_task *> out) noexcept {
    epoch = e;
    uint32_t n = 0;
    for (; n < out.size() && top; top = static_cast<consort_task *>(top->sched[0])) out[n++] = top;
    return n;
  }
  consort_status quiesce(uint64_t) { return perhaps(), CONSORT_AGAIN; }
  void finished(uint32_t, std::span<const consort_done> d) noexcept { done += d.size(); }
  uint64_t next_event() noexcept { return 9; }

  const Settings &settings;
  uint64_t epoch, done = 0;
  uint32_t nworkers;
  consort_task *top = nullptr;
};

struct Bare : Stack {  // the same without an object of the plugin's own would be another class; this one has flags
  using Stack::Stack;
  static constexpr uint32_t scheduler_flags = CONSORT_SF_NO_BYPASS;
};

constexpr consort_plugin stack = manifest<Stack>(CONSORT_KIND_SCHEDULER, CONSORT_PF_VIRTUAL, "stack", "1.2.3");

TEST(PluginClasses, SchedulerManifestFollowsTheClass) {
  static_assert(stack.size == sizeof(consort_plugin) && stack.kind == CONSORT_KIND_SCHEDULER && stack.nparams == 5);
  EXPECT_STREQ(stack.summary, "the last first");
  EXPECT_STREQ(stack.params[0].type, "u32");
  EXPECT_STREQ(stack.params[0].range, "1..9");
  EXPECT_STREQ(stack.params[1].type, "bool");
  EXPECT_STREQ(stack.params[2].type, "f64");
  EXPECT_STREQ(stack.params[3].type, "string");
  EXPECT_STREQ(stack.params[4].type, "list");
  EXPECT_EQ(stack.quiesce, nullptr);  // Settings has none
  EXPECT_EQ(stack.get, nullptr);
  const auto &ops = *static_cast<const consort_scheduler_ops *>(stack.ops);
  EXPECT_EQ(ops.size, sizeof ops);
  EXPECT_EQ(ops.flags, 0u);
  EXPECT_EQ(Bare::table<Bare>.flags, uint32_t{CONSORT_SF_NO_BYPASS});
  EXPECT_TRUE(ops.create && ops.destroy && ops.workers && ops.push && ops.pop && ops.drain && ops.quiesce);
  EXPECT_TRUE(ops.finished && ops.next_event);
  EXPECT_TRUE(!ops.submitted && !ops.adopt && !ops.dropped && !ops.started && !ops.flush && !ops.urgency &&
              !ops.victim && !ops.direct);
}

TEST(PluginClasses, SchedulerMapsExceptionsToStatuses) {
  Fake host;
  const auto &ops = *static_cast<const consort_scheduler_ops *>(stack.ops);
  void *self = nullptr, *s = nullptr;
  expect_mapped(host, [&] { return stack.init(&host.table, &self); });
  EXPECT_EQ(live, 0);
  host.params = {{"depth", "7"}, {"loud", "true"}};
  ASSERT_EQ(stack.init(&host.table, &self), CONSORT_OK);
  consort_topology topology{};
  topology.size = sizeof topology;
  topology.nworkers = 2;
  expect_mapped(host, [&] { return ops.create(self, &host.table, &topology, 3, &s); });
  EXPECT_EQ(live, 1);
  ASSERT_EQ(ops.create(self, &host.table, &topology, 3, &s), CONSORT_OK);
  const Stack &it = *static_cast<Stack *>(s);
  EXPECT_EQ(it.settings.depth, 7u);
  EXPECT_TRUE(it.settings.loud);
  EXPECT_EQ(it.settings.share, 0.5);  // the host said nothing: the default
  EXPECT_EQ(it.settings.list, (std::vector<std::string>{"a", "b", "c"}));
  expect_mapped(host, [&] { return ops.workers(s, &topology, nullptr, 0, nullptr, 0); });
  const uint32_t no = 8;
  EXPECT_EQ(ops.workers(s, &topology, &no, 1, nullptr, 0), CONSORT_E_INVAL);
  EXPECT_EQ(host.failed, "worker 8 is not there");
  expect_mapped(host, [&] { return ops.quiesce(s, 0); });
  EXPECT_EQ(ops.quiesce(s, 0), CONSORT_AGAIN);  // its answer is passed through

  consort_task a{}, b{};
  consort_task *both[] = {&a, &b};
  consort_push p{4, CONSORT_NONE, 0, both, 2, 0, nullptr};
  EXPECT_EQ(ops.push(s, &p), 0u);
  p.epoch = 3;
  EXPECT_EQ(ops.push(s, &p), 2u);
  consort_pick pick{};
  EXPECT_EQ(ops.pop(s, 0, &pick, 1), 1u);
  EXPECT_EQ(pick.task, &b);
  consort_task *out[2];
  EXPECT_EQ(ops.drain(s, CONSORT_NEVER, out, 2), 1u);
  EXPECT_EQ(out[0], &a);
  const consort_done done[3] = {};
  ops.finished(s, 0, done, 3);
  EXPECT_EQ(it.done, 3u);
  EXPECT_EQ(ops.next_event(s), 9u);
  ops.destroy(s);
  stack.fini(self);
  EXPECT_EQ(live, 0);
}

TEST(PluginClasses, BadParametersAreRefusedByName) {
  Fake host;
  void *self = nullptr;
  for (const auto &[key, value] :
       std::map<std::string, std::string>{{"depth", "x"}, {"loud", "yes"}, {"share", "0.5 "}}) {
    host.params = {{key, value}};
    EXPECT_EQ(stack.init(&host.table, &self), CONSORT_E_INVAL);
    EXPECT_NE(host.failed.find("parameter " + key + " is \"" + value + "\""), std::string::npos) << host.failed;
  }
  for (const char *bad : {"", "-1", "4294967296", "1.5", "0x10"}) {
    host.params = {{"depth", bad}};
    EXPECT_EQ(stack.init(&host.table, &self), CONSORT_E_INVAL) << bad;
  }
  EXPECT_EQ(live, 0);
}

// -- a driver ---------------------------------------------------------------------------------------------------------

struct Shelf;
struct Board : consort::plugin::Device, Counted {
  Board(Shelf &, uint32_t index, uint64_t token);
  bool space(uint32_t i, consort_space_desc &out) {
    perhaps();
    if (i > 0) return false;
    out.name = "board";
    out.align = 64;  // the last field
    return true;
  }
  bool link(const consort_space_desc &src, const consort_space_desc &dst, consort_link_desc &out) {
    perhaps();
    out.bytes_per_s = 1;
    return is_host_memory(src) && dst.id == 1;
  }
  consort_addr alloc(uint32_t, uint64_t bytes, uint64_t, uint32_t) { return perhaps(), consort_addr{bytes, 0}; }
  void free(uint32_t, consort_addr, uint64_t) noexcept { ++freed; }
  uint64_t load_impl(std::string_view format, std::string_view text, const char *) {
    return perhaps(), format.size() * 100 + text.size();
  }
  struct Queue : Counted {
    Queue(Board &, uint32_t, uint64_t, consort_queue_desc &out) { out.depth = (perhaps(), 3); }
    uint32_t submit(Ops ops) noexcept { return ops.size() < 2 ? 1 : 2; }
    uint32_t poll(Dones out) noexcept { return static_cast<uint32_t>(out.size()); }
    int event_fd() noexcept { return 42; }
    consort_status arm() noexcept { return CONSORT_E_BUSY; }
  };
  uint32_t freed = 0;
};
struct Shelf : Driver, Counted {
  explicit Shelf(Host h) : Driver(h) { perhaps(); }
  using Device = Board;
  uint32_t count() { return perhaps(), 2; }
  consort_status quiesce(uint64_t) { return perhaps(), CONSORT_OK; }
  const void *extension(const char *id) noexcept { return std::strcmp(id, "mine/1") == 0 ? this : nullptr; }
};
Board::Board(Shelf &s, uint32_t, uint64_t) : consort::plugin::Device(s.host()) { perhaps(); }
constexpr consort_plugin shelf = manifest<Shelf>(CONSORT_KIND_DRIVER, 0, "shelf", "1.0.0");

TEST(PluginClasses, DriverMapsExceptionsToStatuses) {
  Fake host;
  const auto &ops = *static_cast<const consort_driver_ops *>(shelf.ops);
  EXPECT_EQ(ops.flags, uint32_t{CONSORT_DRV_FD});  // by itself, for there is event_fd
  EXPECT_TRUE(!ops.next_event && !ops.codelet);
  EXPECT_TRUE(ops.alloc && ops.free && ops.load_impl && ops.event_fd && ops.arm);
  void *self = nullptr, *dev = nullptr, *q = nullptr;
  expect_mapped(host, [&] { return shelf.init(&host.table, &self); });
  ASSERT_EQ(shelf.init(&host.table, &self), CONSORT_OK);
  expect_mapped(host, [&] { return shelf.quiesce(self, 0); });
  EXPECT_EQ(shelf.get(self, "mine/1"), self);
  EXPECT_EQ(shelf.get(self, "mine/2"), nullptr);
  EXPECT_EQ(ops.count(self), 2u);
  what_to_throw = Throw::kException;
  EXPECT_EQ(ops.count(self), 0u);
  EXPECT_EQ(host.failed, "number 7");
  expect_mapped(host, [&] { return ops.open(self, 0, 1, &dev); });
  ASSERT_EQ(ops.open(self, 0, 1, &dev), CONSORT_OK);

  consort_space_desc space{};
  space.size = sizeof space;
  expect_mapped(host, [&] { return ops.space(dev, 0, &space); });
  EXPECT_EQ(ops.space(dev, 0, &space), CONSORT_OK);
  EXPECT_EQ(space.align, 64u);
  EXPECT_EQ(space.size, sizeof space);
  EXPECT_EQ(ops.space(dev, 1, &space), CONSORT_E_INVAL);
  // An older host, whose struct ends earlier: nothing is written beyond its end, and `size` is unchanged.
  consort_space_desc old{};
  old.size = offsetof(consort_space_desc, align);
  old.align = 77;
  EXPECT_EQ(ops.space(dev, 0, &old), CONSORT_OK);
  EXPECT_STREQ(old.name, "board");
  EXPECT_EQ(old.align, 77u);
  EXPECT_EQ(old.size, offsetof(consort_space_desc, align));

  consort_space_desc from{}, to{};
  from.size = to.size = sizeof from;
  from.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT, from.domain = "host", to.id = 1;
  consort_link_desc link{};
  link.size = sizeof link;
  expect_mapped(host, [&] { return ops.link(dev, &from, &to, &link); });
  EXPECT_EQ(ops.link(dev, &from, &to, &link), CONSORT_OK);
  EXPECT_EQ(link.bytes_per_s, 1u);
  EXPECT_EQ(ops.link(dev, &to, &from, &link), CONSORT_E_UNSUPPORTED);

  consort_addr at{};
  consort_unit_desc unit{};
  EXPECT_EQ(ops.unit(dev, 0, &unit), CONSORT_E_INVAL);  // has none
  EXPECT_EQ(ops.attach(dev, 0, at, 8, &at), CONSORT_E_UNSUPPORTED);
  EXPECT_NE(host.failed.find("copy it"), std::string::npos);
  expect_mapped(host, [&] { return ops.alloc(dev, 0, 8, 8, 0, &at); });
  EXPECT_EQ(ops.alloc(dev, 0, 8, 8, 0, &at), CONSORT_OK);
  EXPECT_EQ(at.base, 8u);
  ops.free(dev, 0, at, 8);
  EXPECT_EQ(static_cast<Board *>(dev)->freed, 1u);
  uint64_t code = 0;
  expect_mapped(host, [&] { return ops.load_impl(dev, "cl", "text", 4, nullptr, &code); });
  EXPECT_EQ(ops.load_impl(dev, "cl", "text", 4, nullptr, &code), CONSORT_OK);
  EXPECT_EQ(code, 204u);

  consort_queue_desc desc{};
  desc.size = sizeof desc;
  expect_mapped(host, [&] { return ops.queue_open(dev, 0, 1, &desc, &q); });
  ASSERT_EQ(ops.queue_open(dev, 0, 1, &desc, &q), CONSORT_OK);
  EXPECT_EQ(desc.depth, 3u);
  EXPECT_EQ(live, 3);
  consort_op op[3] = {};
  EXPECT_EQ(ops.submit(q, op, 3), 2u);
  consort_done done[4];
  EXPECT_EQ(ops.poll(q, done, 4), 4u);
  EXPECT_EQ(ops.event_fd(q), 42);
  EXPECT_EQ(ops.arm(q), CONSORT_E_BUSY);
  ops.queue_close(q);
  ops.close(dev);
  shelf.fini(self);
  EXPECT_EQ(live, 0);
}

// -- an interface -----------------------------------------------------------------------------------------------------

struct Bits : Interface {
  struct Args {
    uint64_t n;
  };
  struct Shape {
    uint64_t n;
  };
  struct View {
    consort_addr at;
  };
  static void shape(const Args &a, Shape &s, View &) { perhaps(), s.n = a.n; }
  static uint64_t footprint(const Shape &s) noexcept { return footprint_of(1, s.n); }
  static uint64_t bytes(const Shape &s) noexcept { return s.n; }
  static void blocks(const Shape &s, const consort_space_desc &, List<consort_block> &out) noexcept {
    for (uint64_t i = 0; i < s.n; ++i) out.add({1, i + 1});
  }
  static void view(const Shape &, const consort_space_desc &, Blocks at, View &v) { perhaps(), v.at = at[0]; }
  static void extents(const Shape &, const View &, List<consort_extent> &) noexcept {}
  static void args(const Shape &, const View &, List<consort_arg> &) noexcept {}
  static void runs(const Shape &, const View &, const View &, List<consort_run> &) noexcept {}
  static void pack(const Shape &, const View &, std::span<std::byte> out) {
    perhaps(), std::memset(out.data(), 1, out.size());
  }
  static consort_status unpack(const Shape &, View &, std::span<const std::byte>) { return perhaps(), CONSORT_OK; }
  static void encode(const Shape &s, Writer &out) noexcept { out.tag("BIT1"), out.number(s.n); }
  static bool decode(Reader &in, Shape &s) noexcept { return in.tag("BIT1"), s.n = in.number(), s.n < 100; }
  static void describe(const Shape &s, Text &out) noexcept { out << s.n << " bits"; }
  struct Halves {
    struct Params {};
    static uint32_t count(const Shape &, const Params &) noexcept { return 2; }
    static bool shape(const Shape &s, const Params &, uint32_t i, Shape &c) noexcept { return c.n = s.n / 2, i < 2; }
    static bool alias(const Shape &, const View &v, const Params &, uint32_t i, View &c) noexcept {
      return c = v, i < 2;
    }
  };
  static const consort_filter filters[1];
};
constexpr consort_filter Bits::filters[] = {filter<Bits, Halves>("halves")};
constexpr consort_plugin bits = manifest<Bits>(CONSORT_KIND_INTERFACE, 0, "bits", "1.0.0");

TEST(PluginClasses, InterfaceMapsExceptionsToStatuses) {
  Fake host;  // [pure] functions have no host: no text
  const auto &ops = *static_cast<const consort_interface_ops *>(bits.ops);
  EXPECT_TRUE(!bits.init && !bits.fini && !ops.reshape && !ops.sizes);
  Bits::Shape s{9};
  Bits::View v{{7, 7}};
  const Bits::Args args{3};
  expect_mapped(
      host, [&] { return ops.shape(&args, sizeof args, &s, &v); }, false);
  EXPECT_EQ(s.n, 9u);  // a failed one writes nothing
  EXPECT_EQ(ops.shape(&args, sizeof args - 1, &s, &v), CONSORT_E_INVAL);
  EXPECT_EQ(ops.shape(nullptr, 0, &s, &v), CONSORT_E_INVAL);
  ASSERT_EQ(ops.shape(&args, sizeof args, &s, &v), CONSORT_OK);
  consort_block blocks[2];
  consort_space_desc space{};
  EXPECT_EQ(ops.blocks(&s, &space, blocks, 2), 3u);  // counted to its end, kept as far as there is room
  EXPECT_EQ(blocks[1].align, 2u);
  EXPECT_EQ(ops.blocks(&s, &space, nullptr, 0), 3u);
  const consort_addr at{4, 5};
  expect_mapped(
      host, [&] { return ops.view(&s, &space, &at, 1, &v); }, false);
  EXPECT_EQ(ops.view(&s, &space, &at, 1, &v), CONSORT_OK);
  EXPECT_EQ(v.at.off, 5u);

  unsigned char buf[4] = {};
  expect_mapped(
      host, [&] { return ops.pack(&s, &v, buf, 4); }, false);
  EXPECT_EQ(ops.pack(&s, &v, buf, 2), CONSORT_E_TRUNCATED);
  EXPECT_EQ(ops.pack(&s, &v, buf, 4), CONSORT_OK);
  EXPECT_EQ(buf[2], 1);
  EXPECT_EQ(buf[3], 0);  // bytes() and no more
  expect_mapped(
      host, [&] { return ops.unpack(&s, &v, buf, 3); }, false);
  EXPECT_EQ(ops.unpack(&s, &v, buf, 2), CONSORT_E_TRUNCATED);
  EXPECT_EQ(ops.unpack(&s, &v, buf, 4), CONSORT_E_INVAL);

  unsigned char wire[12] = {};
  EXPECT_EQ(ops.encode(&s, wire, 11), 12u);
  EXPECT_EQ(wire[0], 0);  // all or nothing
  EXPECT_EQ(ops.encode(&s, wire, 12), 12u);
  Bits::Shape back{0};
  EXPECT_EQ(ops.decode(wire, 12, &back), CONSORT_OK);
  EXPECT_EQ(back.n, 3u);
  for (uint32_t n = 0; n < 12; ++n) EXPECT_EQ(ops.decode(wire, n, &back), CONSORT_E_TRUNCATED);
  wire[4] = 200;  // a shape that cannot be
  EXPECT_EQ(ops.decode(wire, 12, &back), CONSORT_E_INVAL);
  wire[4] = 3, wire[0] = 'X';
  EXPECT_EQ(ops.decode(wire, 12, &back), CONSORT_E_INVAL);
  unsigned char longer[13] = {'B', 'I', 'T', '1', 3};
  EXPECT_EQ(ops.decode(longer, 13, &back), CONSORT_E_INVAL);
  char text[4];
  EXPECT_EQ(ops.describe(&s, text, 4), 6u);
  EXPECT_STREQ(text, "3 b");

  ASSERT_EQ(ops.nfilters, 1u);
  const consort_filter &f = ops.filters[0];
  EXPECT_EQ(f.params_size, 0u);
  EXPECT_EQ(f.count(&s, nullptr), 2u);
  EXPECT_EQ(f.shape(&s, nullptr, 1, &back), CONSORT_OK);
  EXPECT_EQ(back.n, 1u);
  EXPECT_EQ(f.alias(&s, &v, nullptr, 2, &v), CONSORT_E_INVAL);
}

// -- a transport ------------------------------------------------------------------------------------------------------

struct Pipe : Transport, Counted {
  Pipe(Host h, const consort_boot &boot, uint64_t, consort_tcaps &caps) : Transport(h) {
    perhaps(), caps.max_message = boot.rank;
  }
  uint32_t address(std::span<std::byte> room) {
    perhaps();
    if (room.size() >= 8) room[7] = std::byte{1};
    return 8;
  }
  void connect(uint32_t, std::span<const std::byte>) { perhaps(); }
  void disconnect(uint32_t) noexcept {}
  uint32_t post(Messages m) noexcept { return static_cast<uint32_t>(m.size()); }
  uint32_t poll(std::span<consort_done>) noexcept { return 0; }
  consort_mr reg(const consort_space_desc &, consort_addr, uint64_t bytes) {
    return perhaps(), consort_mr{bytes, 0, 0, {}};
  }
  void dereg(const consort_mr &) noexcept {}
};
constexpr consort_plugin pipe_plugin = manifest<Pipe>(CONSORT_KIND_TRANSPORT, 0, "pipe", "1.0.0");

TEST(PluginClasses, TransportMapsExceptionsToStatuses) {
  Fake host;
  const auto &ops = *static_cast<const consort_transport_ops *>(pipe_plugin.ops);
  EXPECT_TRUE(!pipe_plugin.init && !ops.event_fd && !ops.arm && !ops.next_event && ops.flags == 0);
  consort_boot boot{};
  boot.size = sizeof boot, boot.rank = 6;
  consort_tcaps caps{};
  caps.size = sizeof caps;
  void *t = nullptr;
  expect_mapped(host, [&] { return ops.open(nullptr, &host.table, &boot, 1, &t, &caps); });
  EXPECT_EQ(live, 0);
  ASSERT_EQ(ops.open(nullptr, &host.table, &boot, 1, &t, &caps), CONSORT_OK);
  EXPECT_EQ(caps.max_message, 6u);
  char room[8] = {};
  uint32_t n = 8;
  expect_mapped(host, [&] { return ops.address(t, room, &(n = 8)); });
  EXPECT_EQ(ops.address(t, room, &(n = 8)), CONSORT_OK);
  EXPECT_EQ(room[7], 1);
  EXPECT_EQ(ops.address(t, room, &(n = 3)), CONSORT_E_TRUNCATED);
  EXPECT_EQ(n, 8u);  // how much it takes
  expect_mapped(host, [&] { return ops.connect(t, 0, room, 8); });
  consort_space_desc space{};
  space.size = sizeof space;
  consort_mr mr{};
  expect_mapped(host, [&] { return ops.reg(t, &space, {}, 9, &mr); });
  EXPECT_EQ(ops.reg(t, &space, {}, 9, &mr), CONSORT_OK);
  EXPECT_EQ(mr.lkey, 9u);
  const consort_msg m[2] = {};
  EXPECT_EQ(ops.post(t, m, 2), 2u);
  ops.close(t);
  EXPECT_EQ(live, 0);
}

// -- members ----------------------------------------------------------------------------------------------------------

TEST(PluginClasses, MembersWakeEligibleWorkers) {
  const consort_worker workers[] = {{0, 0, 0, 0, 1, -1}, {1, 0, 0, 0, 1, -1}, {2, 1, 0, 0, 1, -1}};
  const char *classes[] = {"a", "b"};
  consort_topology t{};
  t.size = sizeof t, t.nworkers = 3, t.nclasses = 2, t.workers = workers, t.classes = classes;
  Members m(t);
  EXPECT_EQ(m.count(), 3u);
  uint64_t bits = 0;
  consort_wake wake{1, 0, &bits};
  m.announce(&wake, 1, 0);
  EXPECT_EQ(bits, 2u);  // class a alone; another class may still take it
  EXPECT_EQ(wake.k, 1u);
  const uint32_t add[] = {0, 2}, del[] = {0};
  m.change(t, add, {});
  EXPECT_TRUE(m.has(0) && !m.has(1) && m.has(2) && !m.has(3));
  m.change(t, {}, del);
  bits = 0;
  m.announce(&wake, 3);
  EXPECT_EQ(bits, 4u);
  EXPECT_EQ(m.classes_of(2), 2u);
  const uint32_t no[] = {3};
  EXPECT_THROW(m.change(t, no, {}), Error);
  EXPECT_TRUE(m.has(2) && m.count() == 1);  // as before
}

}  // namespace
}  // namespace consort_test
