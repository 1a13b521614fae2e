// Matching of offers and receives by their keys.
#include "remote/matching.hpp"

#include <gtest/gtest.h>

namespace {

using namespace consort;

Message *message(uintptr_t number) { return reinterpret_cast<Message *>(number * 64); }
Arrived offer(uint64_t id, uint16_t flags = 0) {
  Arrived a;
  a.offer.id = id, a.offer.flags = flags;
  return a;
}

TEST(Matching, OfferAndReceiveMeetInEitherOrder) {
  Matching m;
  bool is_double;
  const MessageKey a{1, MessageKey::kInferred, 5, 0}, b{1, MessageKey::kInferred, 5, 1};
  EXPECT_FALSE(m.expect(a, message(1)));
  EXPECT_TRUE(m.is_waiting(a));
  Arrived first = offer(10), second = offer(11);
  EXPECT_EQ(m.arrive(b, &second, &is_double), nullptr);
  EXPECT_FALSE(is_double);
  EXPECT_EQ(m.arrive(a, &first, &is_double), message(1));
  const auto found = m.expect(b, message(2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offer.id, 11u);
  EXPECT_EQ(m.size(), 0u);
}

TEST(Matching, EachPartOfTheKeyCounts) {
  Matching m;
  bool is_double;
  const MessageKey key{1, MessageKey::kInferred, 5, 7};
  EXPECT_FALSE(m.expect(key, message(1)));
  for (const MessageKey other : {MessageKey{2, MessageKey::kInferred, 5, 7}, MessageKey{1, MessageKey::kExplicit, 5, 7},
                                 MessageKey{1, MessageKey::kInferred, 6, 7}, MessageKey{1, MessageKey::kInferred, 5, 8}}) {
    Arrived it = offer(1);
    EXPECT_EQ(m.arrive(other, &it, &is_double), nullptr);
  }
  EXPECT_TRUE(m.is_waiting(key));
  EXPECT_EQ(m.size(), 5u);
}

TEST(Matching, SecondOfferOfAKeyIsTold) {
  Matching m;
  bool is_double;
  Arrived first = offer(1), second = offer(2);
  EXPECT_EQ(m.arrive({1, MessageKey::kExplicit, 5, 0}, &first, &is_double), nullptr);
  EXPECT_FALSE(is_double);
  EXPECT_EQ(m.arrive({1, MessageKey::kExplicit, 5, 0}, &second, &is_double), nullptr);
  EXPECT_TRUE(is_double);
}

TEST(Matching, LostRankFailsItsReceivesAndKeepsContentsThatHaveCome) {
  Matching m;
  bool is_double;
  EXPECT_FALSE(m.expect({1, MessageKey::kInferred, 1, 0}, message(1)));
  EXPECT_FALSE(m.expect({2, MessageKey::kInferred, 1, 0}, message(2)));
  Arrived bare = offer(1), full = offer(2, Control::kPayload);
  m.arrive({1, MessageKey::kInferred, 2, 0}, &bare, &is_double);
  m.arrive({1, MessageKey::kInferred, 3, 0}, &full, &is_double);
  EXPECT_EQ(m.leave(1), std::vector<Message *>{message(1)});
  EXPECT_FALSE(m.expect({1, MessageKey::kInferred, 2, 0}, message(3))) << "its contents never come";
  EXPECT_TRUE(m.expect({1, MessageKey::kInferred, 3, 0}, message(4)));
  EXPECT_TRUE(m.is_waiting({2, MessageKey::kInferred, 1, 0}));
}

}  // namespace
