// The face's part of memory.h: members of Data and Runtime (DAT-12, DAT-18).
#include <consort/consort.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(FaceMemory, OverOneMemory) {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  std::vector<int> v(100, 1);
  auto x = rt.vector(v, "x");
  const consort::Codelet twice{"twice", consort::cpu([](std::span<int> s) { for (int &e : s) e *= 2; })};
  EXPECT_TRUE(x.valid_in(0));
  const consort::Prefetch wish = x.prefetch(0, 3);
  x.wont_use();
  x.write_through({0});
  rt.submit(twice, consort::rw(x));
  x.write_through({});
  rt.wait_all();
  EXPECT_FALSE(wish.cancel()) << "its turn has come long ago";
  EXPECT_EQ(x.in(0), uint32_t{CONSORT_IN_ROOM | CONSORT_IN_VALID});
  EXPECT_EQ(rt.space_use(0).needed_evictions, 0u);
  EXPECT_EQ(rt.link_use(0, 0).bytes, 0u);
  x.unregister();
  EXPECT_EQ(v[7], 2);
}

TEST(FaceMemory, WhatCannotBeIsThrown) {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  std::vector<int> v(100, 1);
  auto x = rt.vector(v, "mine");
  try {
    x.evict(0);
    FAIL() << "the application's own memory was evicted";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), CONSORT_E_INVAL);
    EXPECT_NE(std::string(e.what()).find("mine"), std::string::npos) << e.what();
  }
  EXPECT_THROW(x.prefetch(99), consort::Error);
  EXPECT_THROW(x.write_through({64}), consort::Error);
  EXPECT_THROW(x.in(99), consort::Error);
  EXPECT_THROW(rt.space_use(99), consort::Error);
}

}  // namespace
