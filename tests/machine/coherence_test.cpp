// The table of coherence, tried whole: every set of valid replicas, every space, every event. The model knows no rules,
// only which bytes are where (DAT-16, DAT-17).
#include "machine/coherence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace {

using namespace consort::coherence;

constexpr uint32_t kSpaces = 5;
constexpr std::array kEvents{Event::kRead, Event::kUpdate, Event::kWrite, Event::kDrop};

// The contents of each memory: the number of their write; 0: unwritten.
struct Bytes {
  std::array<int, kSpaces> in{};
  int last = 0;

  bool current(uint32_t s) const { return last && in[s] == last; }
  Spaces valid() const {
    Spaces v = 0;
    for (uint32_t s = 0; s < kSpaces; ++s) v |= current(s) ? one(s) : 0;
    return v;
  }
  uint32_t copies() const { return static_cast<uint32_t>(std::count_if(in.begin(), in.end(), [&](int w) { return last && w == last; })); }
  void copy(uint32_t from, uint32_t to) { in[to] = in[from]; }
  void write(uint32_t s) { in[s] = ++last; }
  void lose(uint32_t s) { in[s] = 0; }
};

Bytes bytes_of(Spaces valid) {
  Bytes b;
  b.last = 9;
  for (uint32_t s = 0; s < kSpaces; ++s) b.in[s] = valid & one(s) ? 9 : static_cast<int>(s);  // the rest is old
  return b;
}

TEST(Coherence, RulesAgreeWithTheModelInEveryState) {
  for (Spaces valid = 0; valid < one(kSpaces); ++valid)
    for (uint32_t here = 0; here < kSpaces; ++here)
      for (const Event e : kEvents) {
        Bytes b = bytes_of(valid);
        const Rule &r = rule(valid, here, e);
        const bool reads = e == Event::kRead || e == Event::kUpdate;
        SCOPED_TRACE(testing::Message() << "valid " << valid << ", space " << here << ", event " << static_cast<int>(e));
        EXPECT_EQ(r.fetch, reads && !b.current(here));
        EXPECT_EQ(r.save, e == Event::kDrop && b.current(here) && b.copies() == 1) << "only the last copy has to be saved";
        if (reads && !valid) continue;  // no valid replica: refused earlier
        if (r.fetch) {
          const auto source = std::find_if(b.in.begin(), b.in.end(), [&](int w) { return w == b.last; });
          b.copy(static_cast<uint32_t>(source - b.in.begin()), here);
        }
        Spaces before = valid;
        if (r.save) {
          const uint32_t there = (here + 1) % kSpaces;
          b.copy(here, there);
          before |= one(there);
        }
        if (e == Event::kUpdate || e == Event::kWrite) b.write(here);
        if (e == Event::kDrop) b.lose(here);
        const Spaces now = after(before, here, e);
        EXPECT_EQ(now, b.valid());
        EXPECT_TRUE(now || !valid) << "contents are never lost";
        for (uint32_t s = 0; s < kSpaces; ++s)
          EXPECT_EQ(replica(now, s), !b.current(s) ? Replica::kInvalid : b.copies() == 1 ? Replica::kOwned : Replica::kShared);
        EXPECT_EQ(replica(now, here) == Replica::kInvalid, r.here == Replica::kInvalid);
      }
}

// All states that are reachable from one copy by events whose needs were met: contents are never lost, and every set of
// spaces is reachable.
TEST(Coherence, ContentsSurviveEveryTransition) {
  std::set<Spaces> seen;
  std::vector<Spaces> open{one(0)};
  while (!open.empty()) {
    const Spaces v = open.back();
    open.pop_back();
    if (!seen.insert(v).second) continue;
    ASSERT_NE(v, 0u);
    for (uint32_t here = 0; here < kSpaces; ++here)
      for (const Event e : kEvents) {
        if (!rule(v, here, e).save) {
          open.push_back(after(v, here, e));
          continue;
        }
        for (uint32_t there = 0; there < kSpaces; ++there)
          if (there != here) open.push_back(after(v | one(there), here, e));
      }
  }
  EXPECT_EQ(seen.size(), (size_t{1} << kSpaces) - 1);
}

TEST(Coherence, HighestSpaceIndexWorks) {
  const Spaces high = one(61), both = one(61) | one(0);
  EXPECT_EQ(replica(high, 61), Replica::kOwned);
  EXPECT_EQ(replica(both, 61), Replica::kShared);
  EXPECT_EQ(after(high, 0, Event::kRead), both);
  EXPECT_EQ(after(both, 0, Event::kUpdate), one(0));
  EXPECT_EQ(after(both, 61, Event::kDrop), one(0));
  EXPECT_TRUE(rule(high, 61, Event::kDrop).save);
}

}  // namespace
