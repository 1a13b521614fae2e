// The service table that plugins receive.
#include "plugin/host.hpp"

#include <thread>

#include "base/last_error.hpp"
#include "loader_support.hpp"

namespace consort {
namespace {

TEST(Host, WorksWithoutARuntime) {
  Lines lines;
  const Host host({}, {Lines::write, &lines, kLogInfo}, nullptr, "p");
  const consort_host *h = host.table();
  EXPECT_EQ(h->size, sizeof(consort_host));
  EXPECT_EQ(h->major, CONSORT_HOST_MAJOR);
  EXPECT_EQ(h->minor, CONSORT_HOST_MINOR);
  EXPECT_EQ(h->get(h, "consort.sched/1"), nullptr);
  EXPECT_EQ(h->get(h, nullptr), nullptr);
  EXPECT_EQ(h->param(h, "depth"), nullptr);
  const uint64_t t = h->now(h);
  EXPECT_GT(t, 0u);
  EXPECT_GE(h->now(h), t);
  consort_done done{};
  h->complete(h, 1, &done, 1);
  h->event(h, CONSORT_EV_DEVICE_LOST, 1, 0);
  EXPECT_TRUE(lines.has("0 p: completions pushed"));
  EXPECT_TRUE(lines.has("1 p: an event"));
  EXPECT_EQ(host_plugin(h), nullptr);
}

TEST(Host, LogAddsTheNameAndFiltersByLevel) {
  Lines lines;
  const Host host({}, {Lines::write, &lines, kLogWarn}, nullptr, "p");
  const consort_host *h = host.table();
  h->log(h, 0, "zero");
  h->log(h, 1, "one");
  h->log(h, 2, "two");
  h->log(h, -5, "below");
  h->log(h, 0, nullptr);
  h->log(h, 1, "p: its own name");
  EXPECT_EQ(lines.all(), "0 p: zero\n1 p: one\n0 p: below\n1 p: its own name\n");
  EXPECT_EQ(log_level("error"), kLogError);
  EXPECT_EQ(log_level("debug"), kLogDebug);
  EXPECT_EQ(log_level("?"), kLogWarn);
}

TEST(Host, FailSetsTheThreadsErrorAndReturnsTheCode) {
  const Host host({}, {}, nullptr, "p");
  const consort_host *h = host.table();
  clear_error();
  std::thread([&] { EXPECT_EQ(h->fail(h, CONSORT_E_IO, "there"), CONSORT_E_IO); }).join();
  EXPECT_STREQ(error_text(), "");
  EXPECT_EQ(h->fail(h, CONSORT_E_NOMEM, "here"), CONSORT_E_NOMEM);
  EXPECT_STREQ(error_text(), "here");
  EXPECT_EQ(h->fail(h, CONSORT_E_NOMEM, nullptr), CONSORT_E_NOMEM);
  EXPECT_STREQ(error_text(), "");
}

TEST(Host, AllocatesAligned) {
  const Host host({}, {}, nullptr, "p");
  const consort_host *h = host.table();
  for (size_t align : {0, 1, 8, 64, 4096}) {
    void *p = h->alloc(h, 100, align);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % (align ? align : 1), 0u);
    h->release(h, p);
  }
  void *none = h->alloc(h, 0, 8);
  EXPECT_NE(none, nullptr);
  h->release(h, none);
  EXPECT_EQ(h->alloc(h, 8, 24), nullptr) << "no power of two";
  h->release(h, nullptr);
}

TEST(Host, ForwardsToTheRuntimesHooks) {
  struct Runtime {
    std::string asked;
    uint64_t token = 0, object = 0;
    uint32_t n = 0;
  } rt;
  HostHooks hooks;
  hooks.user = &rt;
  hooks.get = [](void *user, const consort_plugin *, const char *id) {
    return static_cast<Runtime *>(user)->asked = id, static_cast<const void *>(user);
  };
  hooks.now = [](void *) { return uint64_t{42}; };
  hooks.complete = [](void *user, uint64_t token, const consort_done *, uint32_t n) {
    static_cast<Runtime *>(user)->token = token, static_cast<Runtime *>(user)->n = n;
  };
  hooks.event = [](void *user, uint32_t, uint64_t object, int64_t) { static_cast<Runtime *>(user)->object = object; };
  const Host host(hooks, {}, nullptr, "p");
  const consort_host *h = host.table();
  EXPECT_EQ(host_user(h), &rt);
  EXPECT_EQ(hooks_of(h).user, &rt);
  EXPECT_EQ(h->get(h, "some/1"), &rt);
  EXPECT_EQ(rt.asked, "some/1");
  EXPECT_EQ(h->now(h), 42u);
  consort_done done{};
  h->complete(h, 7, &done, 1);
  h->event(h, 1, 9, 0);
  EXPECT_EQ(rt.token, 7u);
  EXPECT_EQ(rt.n, 1u);
  EXPECT_EQ(rt.object, 9u);
}

}  // namespace
}  // namespace consort
