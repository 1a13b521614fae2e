// Bundles: handles, and how long one lives.
#include "graph/bundle.hpp"

#include <gtest/gtest.h>

namespace consort {
namespace {

consort_bundle_id create(Bundles &all) {
  const auto made = all.create();
  return made ? *made : consort_bundle_id{0};
}

TEST(Bundle, LivesUntilItsLastTaskEnds) {
  Bundles all;
  const consort_bundle_id id = create(all);
  Bundle *a = nullptr, *b = nullptr;
  ASSERT_EQ(all.enter(id, false, &a), CONSORT_OK);
  ASSERT_EQ(all.enter(id, false, &b), CONSORT_OK);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a->tasks, 2u);
  EXPECT_EQ(all.close(id), CONSORT_OK);
  Bundle *late = nullptr;
  EXPECT_LT(all.enter(id, false, &late), 0) << "closed";
  EXPECT_EQ(all.enter(id, true, &late), CONSORT_OK) << "another turn of one of its own";
  for (int i = 0; i < 3; ++i) all.leave(*a);
  EXPECT_LT(all.enter(id, true, &late), 0) << "over";
}

TEST(Bundle, HandleOfAnEndedOneIsStale) {
  Bundles all;
  const consort_bundle_id first = create(all);
  ASSERT_EQ(all.close(first), CONSORT_OK);
  const consort_bundle_id second = create(all);
  EXPECT_NE(second.v, first.v);
  EXPECT_LT(all.close(first), 0);
  Bundle *b = nullptr;
  ASSERT_EQ(all.enter(second, false, &b), CONSORT_OK);
  EXPECT_EQ(b->worker.load(), CONSORT_NONE) << "no worker has run a task of it";
}

TEST(Bundle, NullHandleIsRefused) {
  Bundles all;
  Bundle *b = nullptr;
  EXPECT_LT(all.enter({0}, false, &b), 0);
  EXPECT_LT(all.close({~uint64_t{0}}), 0);
}

}  // namespace
}  // namespace consort
