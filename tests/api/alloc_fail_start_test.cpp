// Allocations that fail while a runtime starts and stops, and in calls about codelets, groups and threads.
#include "api/alloc_fail.hpp"

namespace consort_test {
namespace {

TEST(AllocFailStart, EachAllocationOfStartFails) {
  for (int i = 0; i < 3; ++i) Rt warm(kByHand);
  ASSERT_TRUE(find_hwloc());
  const long before = live_blocks;
  int refused = 0;
  for_every_allocation("start", [&](const Fault &f) {
    consort_runtime *rt = nullptr;
    const Answer a = faulty(f, [&] { return start(kByHand, &rt); });
    if (a.status < 0) {
      EXPECT_EQ(rt, nullptr);
      EXPECT_FALSE(a.text.empty());
      ++refused;
      return;
    }
    ASSERT_NE(rt, nullptr);
    EXPECT_OK(consort_stop(rt));
  });
  if (kMallocReplaced) {
    EXPECT_GT(refused, 10);
    EXPECT_LE(live_blocks - before, 32) << "leaked allocations";
  }
}

TEST_F(AllocFail, CodeletAdd) {
  for_every_allocation("codelet_add", [&](const Fault &f) {
    const consort_impl impl = {"cpu",   inc,     nullptr, "an implementation with a long name of its own",
                               nullptr, nullptr, nullptr, 0};
    const uint32_t mode = CONSORT_M_RW;
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = "a codelet with a name that is too long for any small string";
    d.impls = &impl;
    d.nimpls = 1;
    d.nmodes = 1;
    d.modes = &mode;
    consort_codelet_id id{0};
    const Answer a = faulty(f, [&] { return consort_codelet_add(rt, &d, &id); });
    good_or_no_memory(a);
    if (a.status < 0) return;
    EXPECT_OK(Desc(id).rw(x).to(rt));
    EXPECT_OK(consort_codelet_remove(rt, id));
  });
}

TEST_F(AllocFail, CodeletRemove) {
  for_every_allocation("codelet_remove", [&](const Fault &f) {
    const auto id = codelet(rt, "brief", inc);
    need(Desc(id).rw(x).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_codelet_remove(rt, id); });
    good_or_no_memory(a);
    if (a.status < 0) {
      EXPECT_OK(consort_codelet_remove(rt, id));
    }
  });
}

TEST_F(AllocFail, FirstUseOfAnInterface) {
  for_every_allocation("register", [&](const Fault &f) {
    Rt fresh(kByHand);
    const consort_matrix_args args{nullptr, 3, 3, 0, 8};
    const consort_data_desc d{sizeof d, 0, "matrix", &args, sizeof args, nullptr};
    consort_data_id id{0};
    const Answer a = faulty(f, [&] { return consort_register(fresh, &d, &id); });
    EXPECT_TRUE(fired || a.status >= 0) << a.text;  // the loader of the system may put it in its own words
    if (a.status < 0) {
      EXPECT_FALSE(a.text.empty());
      EXPECT_OK(consort_register(fresh, &d, &id)) << "the failure is remembered";
    }
  });
}

TEST_F(AllocFail, Groups) {
  const consort_group_desc d{sizeof d, 0, "a group whose name is too long for a small string", nullptr, nullptr};
  for_every_allocation("group", [&](const Fault &f) {
    consort_group_id g{0};
    int fd = -1;
    const Answer made = faulty(f, [&] { return consort_group_create(rt, &d, &g); });
    good_or_no_memory(made);
    if (made.status < 0) return;
    const Answer eventfd = faulty(f, [&] { return consort_group_fd(rt, g, &fd); });
    good_or_no_memory(eventfd);
    need(Desc(c).rw(x).in(g).to(rt), "submit");
    const Answer waited = faulty(f, [&] { return consort_group_wait(rt, g, kLong, 0); });
    good_or_no_memory(waited);
    const Answer cancelled = faulty(f, [&] { return consort_group_cancel(rt, g); });
    good_or_no_memory(cancelled);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    const Answer destroyed = faulty(f, [&] { return consort_group_destroy(rt, g); });
    good_or_no_memory(destroyed);
    if (destroyed.status < 0) {
      EXPECT_OK(consort_group_destroy(rt, g));
    }
  });
}

TEST_F(AllocFail, Introspection) {
  for_every_allocation("look", [&](const Fault &f) {
    consort_info i{};
    i.size = sizeof i;
    consort_worker_info w{};
    w.size = sizeof w;
    good_or_no_memory(faulty(f, [&] { return consort_get_info(rt, &i); }));
    good_or_no_memory(faulty(f, [&] { return consort_get_worker(rt, 1, &w); }));
    good_or_no_memory(faulty(f, [&] { return consort_step(rt, 0); }));
    char text[200];
    good_or_no_memory(faulty(f, [&] { return (void)consort_explain(rt, {0}, text, sizeof text), CONSORT_OK; }));
  });
}

TEST(AllocFailThread, FirstCallOfAThread) {
  Rt rt(kByHand);
  const auto c = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  for (long k = 0; k < 40; ++k)
    std::thread([&] {
      const Fault fault{k};
      const consort_task_desc d = [&] { consort_task_desc t = CONSORT_TASK_INIT; t.codelet = c; return t; }();
      const Answer a = faulty(fault, [&] { return consort_submit(rt, &d, nullptr); });
      good_or_no_memory(a);
      if (a.status < 0) {
        EXPECT_OK(consort_submit(rt, &d, nullptr));
      }
    }).join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(AllocFailStop, EachAllocationOfStopFails) {
  for_every_allocation("stop", [&](const Fault &f) {
    consort_runtime *rt = nullptr;
    need(start(kByHand, &rt), "start");
    long v = 0;
    const auto c = codelet(rt, "inc", inc);
    for (int i = 0; i < 5; ++i) need(Desc(c).rw(variable_of(rt, &v)).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_stop(rt); });
    good_or_no_memory(a);
    if (a.status < 0 && consort_stop(rt) != CONSORT_E_STOPPED) ADD_FAILURE() << "neither stopped nor to be stopped";
    EXPECT_EQ(v, 5);
  });
}

}  // namespace
}  // namespace consort_test
