// consort::Context and InContext: owners that end well, nested, moved; errors are exceptions with the words of C.
#include <consort/consort.hpp>
#include <gtest/gtest.h>

#include <atomic>

namespace {

using Ids = std::vector<uint32_t>;

TEST(FaceContexts, OwnTheirWorkersUntilDestroyed) {
  consort::Runtime rt{{"workers", "4"}, {"cpu.topology", "pack:1 core:4 pu:1"}};
  std::atomic<uint64_t> seen{0};
  const consort::Codelet note{"note", consort::cpu([&](const consort_call &c) { seen |= uint64_t{1} << c.worker; })};
  {
    consort::Context outer(rt, {1, 2, 3}, {.name = "outer", .scheduler = "prio"});
    consort::Context inner(outer, {3}, {.name = "inner"});
    EXPECT_STREQ(inner.info().scheduler, "prio");
    EXPECT_EQ(outer.workers(), (Ids{1, 2}));
    {
      const consort::InContext in(inner);
      for (int i = 0; i < 50; ++i) rt.submit(note);
    }
    inner.wait();
    EXPECT_EQ(seen, 8u);
    outer.give(inner, {1});
    EXPECT_EQ(inner.workers(), (Ids{1, 3}));
    inner.remove({1});
    inner.add({2});
    inner.set_scheduler("eager");
    EXPECT_STREQ(inner.info().scheduler, "eager");
    EXPECT_EQ(outer.workers(), (Ids{1}));
    consort::Context moved = std::move(inner);
    EXPECT_EQ(inner.id().v, 0u);
    EXPECT_EQ(moved.workers(), (Ids{2, 3}));
    try {
      moved.add({0});
      FAIL() << "worker 0 is not the parent's";
    } catch (const consort::Error &e) {
      EXPECT_EQ(e.status(), CONSORT_E_INVAL);
      EXPECT_NE(std::string(e.what()).find("worker 0"), std::string::npos);
    }
  }
  consort_context_id of{1};
  ASSERT_EQ(consort_context_of_worker(rt.c(), 3, &of), CONSORT_OK);
  EXPECT_EQ(of.v, 0u);
  uint32_t n = 9;
  ASSERT_EQ(consort_context_list(rt.c(), nullptr, 0, &n), CONSORT_OK);
  EXPECT_EQ(n, 0u);
  consort::Context late(rt, {1});
  rt.stop();  // before its owner: nothing bad comes of it
}

}  // namespace
