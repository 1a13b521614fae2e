// Devices that share a wire. Copies go few at a time, in the order in which tasks wait for them. Copies for tasks of
// higher rank go first. In virtual time. DAT-15, SCH-08, SIM-01.
#include <consort/clock.h>
#include <consort/memory.h>

#include <algorithm>

#include "api/harness.hpp"
#include "support/text_file.hpp"

namespace consort_test {
namespace {

// A megabyte takes a millisecond, wherever it goes.
constexpr char kMachine[] =
    "[[device]]\nname = \"cores\"\nhost = true\nclass = \"cpu\"\nunits = 1\ndepth = 1\nmemory = \"1G\"\n"
    "[[device]]\nname = \"many\"\nclass = \"cuda\"\nruns = \"\"\ndepth = 8\nmemory = \"1G\"\n"
    "[[device]]\nname = \"few\"\nclass = \"opencl\"\nruns = \"\"\ndepth = 8\nmemory = \"1G\"\n"
    "[[wire]]\nname = \"shared\"\nbandwidth = \"1G\"\n"
    "[[route]]\nfrom = \"host\"\nto = \"many\"\nwires = \"shared\"\n"
    "[[route]]\nfrom = \"many\"\nto = \"host\"\nwires = \"shared\"\n"
    "[[route]]\nfrom = \"host\"\nto = \"few\"\nwires = \"shared\"\n"
    "[[route]]\nfrom = \"few\"\nto = \"host\"\nwires = \"shared\"\n"
    "[[kernel]]\ncodelet = \"leaf\"\n1000000 = \"1us\"\n[[kernel]]\ncodelet = \"root\"\n1000000 = \"1us\"\n"
    "[[kernel]]\ncodelet = \"gate\"\n4 = \"1ms\"\n[[kernel]]\ncodelet = \"ask\"\n4 = \"10ms\"\n"
    "[[kernel]]\ncodelet = \"link\"\n1000000 = \"1ms\"\n";
constexpr uint64_t kMega = 1'000'000;

Pairs on(const TextFile &f, const char *scheduler) {
  return {{"drivers", "sim"}, {"sim.machine", f.path.c_str()}, {"time", "virtual"}, {"scheduler", scheduler}, {"keep_models", "no"}};
}

double ms_now(consort_runtime *rt) {
  uint64_t ns = 0;
  need(consort_now(rt, &ns), "now");
  return static_cast<double>(ns) * 1e-6;
}

struct Clock {
  consort_runtime *rt;
  std::vector<double> ms;  // when each of its tasks ran
  consort_codelet_id codelet{0};
  Clock(consort_runtime *r, const char *name, const char *klass) : rt(r) {
    consort_impl impl{};
    impl.klass = klass, impl.user = this;
    impl.fn = [](const consort_call *c) -> consort_status {
      auto &clock = *static_cast<Clock *>(c->user);
      clock.ms.push_back(ms_now(clock.rt));
      return CONSORT_OK;
    };
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name, d.impls = &impl, d.nimpls = 1;
    need(consort_codelet_add(rt, &d, &codelet), "codelet");
  }
};

struct Data {
  std::vector<std::vector<char>> memory;
  std::vector<consort_data_id> ids;
  Data(consort_runtime *rt, size_t n) : memory(n, std::vector<char>(kMega)) {
    for (auto &m : memory) {
      consort_data_id d{0};
      need(consort_register_vector(rt, m.data(), m.size(), 1, &d), "register");
      ids.push_back(d);
    }
  }
};

TEST(SharedLink, LimitsConcurrentCopiesOverAllDevices) {
  TextFile f(kMachine);
  Rt rt(on(f, "eager"));
  Clock many(rt, "leaf", "cuda"), few(rt, "root", "opencl");
  Data data(rt, 16);
  const double start = ms_now(rt);
  for (size_t i = 0; i < 16; ++i) Desc((i % 2 ? few : many).codelet).r(data.ids[i]).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_EQ(many.ms.size() + few.ms.size(), 16u);
  std::vector<double> all = many.ms;
  all.insert(all.end(), few.ms.begin(), few.ms.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_NEAR(all[i] - start, static_cast<double>(i) + 1.5, 1) << "two at a time, and the wire is never idle";
  for (const auto d : data.ids) EXPECT_OK(consort_unregister(rt, d));
}

// While a function runs its unit reports nothing, and every other thread is idle: the links are polled all the same.
TEST(SharedLink, PrefetchesOfARunningFunctionProceed) {
  TextFile f(kMachine);
  Rt rt(on(f, "eager"));
  Data data(rt, 3);
  struct Asking {
    consort_runtime *rt;
    const Data &data;
    double began;
  } asking{rt, data, 0};
  consort_impl impl{};
  impl.klass = "cpu", impl.user = &asking;
  impl.fn = [](const consort_call *c) -> consort_status {
    Asking &a = *static_cast<Asking *>(c->user);
    a.began = ms_now(a.rt);
    for (const auto d : a.data.ids)
      for (uint32_t space = 0; space < 3; ++space)
        if (uint32_t in = 0; consort_data_in(a.rt, d, space, &in) == CONSORT_OK && !(in & CONSORT_IN_VALID))
          need(consort_prefetch(a.rt, d, space, 0, 0, nullptr), "prefetch");
    return CONSORT_OK;
  };
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "ask", d.impls = &impl, d.nimpls = 1;
  consort_codelet_id ask{0};
  need(consort_codelet_add(rt, &d, &ask), "codelet");
  Clock many(rt, "leaf", "cuda"), few(rt, "root", "opencl");
  int opened = 0;
  const auto open = variable_of(rt, &opened);
  Desc(ask).rw(open).must(rt);
  for (const auto x : data.ids)
    for (const auto codelet : {many.codelet, few.codelet}) Desc(codelet).r(open).r(x).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_EQ(many.ms.size() + few.ms.size(), 6u);
  for (const Clock *c : {&many, &few})
    for (const double t : c->ms) EXPECT_NEAR(t - asking.began, 10, 0.9) << "all six were there when it ended";
  EXPECT_OK(consort_unregister(rt, open));
  for (const auto x : data.ids) EXPECT_OK(consort_unregister(rt, x));
}

TEST(SharedLink, CopiesFollowTaskRank) {
  TextFile f(kMachine);
  for (const char *scheduler : {"graph-lookahead", "darts"}) {
    Rt rt(on(f, scheduler));
    Clock gate(rt, "gate", "cpu"), leaves(rt, "leaf", "cuda"), root(rt, "root", "opencl"), link(rt, "link", "opencl");
    Data data(rt, 9);
    int opened = 0;
    const auto open = variable_of(rt, &opened);
    Desc(gate.codelet).w(open).must(rt);
    for (size_t i = 0; i < 8; ++i) Desc(leaves.codelet).r(open).r(data.ids[i]).must(rt);
    Desc(root.codelet).r(open).rw(data.ids[8]).must(rt);
    for (int i = 0; i < 40; ++i) Desc(link.codelet).rw(data.ids[8]).must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_LT(root.ms.front() - gate.ms.front(), 4.5) << scheduler << ": it went before the leaves' that had been asked for";
    EXPECT_EQ(leaves.ms.size(), 8u);
    EXPECT_OK(consort_unregister(rt, open));
    for (const auto d : data.ids) EXPECT_OK(consort_unregister(rt, d));
  }
}

}  // namespace
}  // namespace consort_test
