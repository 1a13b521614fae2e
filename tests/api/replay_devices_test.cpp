// Replays where data move: the nodes of a recording run on devices at the same time, each with its own data on their way.
#include "api/recordings.hpp"

namespace consort_test {
namespace {

consort_codelet_id add_on_devices(consort_runtime *rt) {
  const auto add = [](const consort_call *c) -> consort_status {
    for (uint32_t i = 0; i < c->nviews; ++i) *pointer<int64_t>(*c, i) += static_cast<int64_t>(i) + 1;
    return CONSORT_OK;
  };
  const consort_impl both[] = {{"cpu", add, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                               {"gpu", add, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
  return codelet_of(rt, "add", both);
}

// Independent nodes of one recording are in flight together.
void replay_independent_nodes(const Pairs &more) {
  Pairs pairs{{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  Rt rt(pairs);
  const auto add = add_on_devices(rt);
  constexpr int kData = 8;
  int64_t home[kData] = {};
  consort_data_id x[kData];
  for (int i = 0; i < kData; ++i) x[i] = variable_of(rt, &home[i]);
  const auto r = record(rt, [&] {
    for (int i = 0; i < kData; ++i) need(Desc(add).rw(x[i]).to(rt), "submit");
    for (int i = 0; i + 1 < kData; i += 2) need(Desc(add).rw(x[i]).rw(x[i + 1]).to(rt), "submit");
  });
  for (int n = 0; n < 5; ++n) (void)replay(rt, r);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_OK(consort_recording_destroy(rt, r));
  for (int i = 0; i < kData; ++i) EXPECT_OK(consort_unregister(rt, x[i]));
  for (int i = 0; i < kData; ++i) EXPECT_EQ(home[i], 5 * (i % 2 ? 3 : 2)) << i;
}

TEST(ReplayDevices, IndependentNodesUseTheirOwnData) { replay_independent_nodes({{"scheduler", "eager"}}); }
TEST(ReplayDevices, IndependentNodesUseTheirOwnDataInASmallMemory) {
  replay_independent_nodes({{"scheduler", "eager"}, {"sim.memory", "1024"}});
}
TEST(ReplayDevices, IndependentNodesUseTheirOwnDataOnTwoDevices) {
  replay_independent_nodes({{"sim.devices", "2"}, {"sim.depth", "2"}, {"scheduler", "dmda"}});
}

}  // namespace
}  // namespace consort_test
