// The C++ face of recordings: made by a function, replayed, changed, ended by their owner.
#include <consort/consort.hpp>

#include "api/harness.hpp"

using consort::r, consort::rw, consort::w;

namespace {

consort::Settings two() { return consort::Settings{}.set("workers", 2).set("cpu.topology", consort_test::kFourCores); }

struct FaceReplay : ::testing::Test {
  consort::Runtime rt{two()};
  std::vector<int> a = std::vector<int>(4, 1), b = std::vector<int>(4, 0), other = std::vector<int>(4, 10);
  consort::Data<std::span<int>> x = rt.vector(a, "x"), y = rt.vector(b, "y"), z = rt.vector(other, "z");
  const consort::Codelet<void(std::span<int>, int)> add{"add", consort::cpu([](std::span<int> v, int k) {
                                                          for (int &e : v) e += k;
                                                        })};
  const consort::Codelet<void(std::span<const int>, std::span<int>)> copy{
      "copy", consort::cpu([](std::span<const int> from, std::span<int> to) {
        for (size_t i = 0; i < to.size(); ++i) to[i] = from[i];
      })};
};

TEST_F(FaceReplay, ReplaysWithOtherDataAndValues) {
  consort::Recording turn = rt.record([&] {
    rt.submit(add, rw(x), 2);
    rt.submit(copy, r(x), w(y));
  });
  EXPECT_EQ(x.read()[0], 1);  // only recorded
  for (int i = 0; i < 5; ++i) turn.replay();
  turn.replay().wait();
  EXPECT_EQ(y.read()[0], 13);
  EXPECT_EQ(turn.info().ntasks, 2u);
  EXPECT_EQ(turn.info().replays, 6u);
  turn.set_argument(0, 0, 100);
  turn.set(x, z);
  turn.set_priority(1, 3);
  turn.replay().wait();
  EXPECT_EQ(y.read()[3], 110);
  EXPECT_EQ(x.read()[3], 13);
  auto group = rt.group("replays");
  turn.replay(group);
  group.wait();
  EXPECT_EQ(z.read()[0], 210);
}

TEST_F(FaceReplay, MayRunWhileRecording) {
  const auto turn = rt.record([&] { rt.submit(add, rw(x), 2); }, consort::Recorded::and_run);
  EXPECT_EQ(x.read()[0], 3);
  EXPECT_EQ(turn.info().replays, 0u);
}

TEST_F(FaceReplay, OwnsItsRecording) {
  consort::Recording outer;
  {
    auto turn = rt.record([&] { rt.submit(add, rw(x), 1); });
    turn.replay();
    outer = std::move(turn);
    EXPECT_EQ(turn.id().v, 0u);
  }
  outer.replay();
  outer = {};
  EXPECT_EQ(x.read()[0], 3);
  auto stopped = rt.record([&] { rt.submit(add, rw(x), 1); });
  rt.stop();
  EXPECT_THROW(stopped.replay(), consort::Error);
}

TEST_F(FaceReplay, ExceptionLeavesNoRecording) {
  EXPECT_THROW(rt.record([&] {
    rt.submit(add, rw(x), 1);
    throw std::runtime_error("enough");
  }), std::runtime_error);
  auto turn = rt.record([&] { rt.submit(add, rw(x), 1); });  // the thread may record again
  turn.replay().wait();
  EXPECT_EQ(x.read()[0], 2);
  EXPECT_THROW(turn.set_argument(0, 7, 1), consort::Error);
  EXPECT_THROW(turn.set(y, z), consort::Error);
}

}  // namespace
