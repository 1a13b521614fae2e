// The face's part of memory.h: members of Data and Runtime (DAT-12, DAT-18).
#include <consort/consort.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(FaceMemory, WorksWithoutDevices) {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  std::vector<int> v(100, 1);
  auto x = rt.vector(v, "x");
  const consort::Codelet twice{"twice", consort::cpu([](std::span<int> s) { for (int &e : s) e *= 2; })};
  EXPECT_TRUE(x.valid_in(0));
  const consort::Prefetch wish = x.prefetch(0, 3, consort::Bring::contents);
  x.wont_use();
  x.write_through({0});
  rt.submit(twice, consort::rw(x));
  x.write_through({});
  rt.wait_all();
  EXPECT_FALSE(wish.cancel()) << "its turn has come long ago";
  using consort::Replica;
  EXPECT_TRUE(x.replica(0) == (Replica::room | Replica::valid)) << x.replica(0).bits();
  EXPECT_TRUE(x.replica(0).has(Replica::valid));
  EXPECT_FALSE(x.replica(0).has(Replica::coming));
  EXPECT_EQ(rt.space_use(0).needed_evictions, 0u);
  EXPECT_EQ(rt.link_use(0, 0).bytes, 0u);
  x.unregister();
  EXPECT_EQ(v[7], 2);
}

// Home on a simulated device: a vector stands for its memory.
TEST(FaceMemory, RegistersDeviceMemory) {
  std::vector<int> there(12, 1), square(12, 1);
  {
    consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu,sim"}};
    const consort::Codelet twice{"twice", consort::cpu([](std::span<int> s) { for (int &e : s) e *= 2; })};
    const consort::Codelet more{"more", consort::cpu([](consort::Matrix<int> m) { ++m(2, 3); })};
    const uint32_t gpu = rt.info().nspaces - 1;
    auto x = rt.register_in<std::span<int>>(gpu, there.data(), {there.size()}, "x");
    auto m = rt.register_in<consort::Matrix<int>>(gpu, square.data(), {3, 4});
    EXPECT_TRUE(x.valid_in(gpu));
    rt.submit({.worker = 0}, twice, consort::rw(x));
    rt.submit(more, consort::rw(m));
    EXPECT_EQ(x.read()[11], 2);
    x.unregister();
    EXPECT_EQ(there[11], 2);
    EXPECT_THROW(rt.register_in<consort::Matrix<int>>(gpu, there.data(), {12}), consort::Error);
    EXPECT_THROW(rt.register_in<std::span<int>>(99, there.data(), {12}), consort::Error);
  }
  EXPECT_EQ(square[11], 2);
}

TEST(FaceMemory, RefusalsThrow) {
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
  EXPECT_THROW(x.replica(99), consort::Error);
  EXPECT_THROW(rt.space_use(99), consort::Error);
}

}  // namespace
