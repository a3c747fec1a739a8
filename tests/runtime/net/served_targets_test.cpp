#include "runtime/net/served_targets.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::net {
namespace {

using Served = ServedTargets<std::string>;
using Ids = std::vector<std::uint64_t>;

FrameHeader request_of(std::uint64_t id, std::uint64_t target) {
  FrameHeader head;
  head.request = id;
  head.target = target;
  return head;
}

Ids ids_of(const std::vector<FrameHeader>& heads) {
  Ids ids;
  for (const auto& head : heads) {
    ids.push_back(head.request);
  }
  return ids;
}

TEST(ServedTargets, GivesTheHandleAtAnAddress) {
  Served served;
  served.put(7, "a");
  served.put(8, "b");

  EXPECT_EQ(served.begin(request_of(1, 8)), "b");
  EXPECT_EQ(served.begin(request_of(2, 9)), std::nullopt);
}

TEST(ServedTargets, AnOpenRequestEndsOnce) {
  Served served;
  served.put(7, "a");
  served.begin(request_of(1, 7));

  ASSERT_TRUE(served.end(1));
  EXPECT_FALSE(served.end(1));
}

TEST(ServedTargets, ARequestWithoutATargetIsNotOpen) {
  Served served;
  served.begin(request_of(1, 7));

  EXPECT_FALSE(served.end(1));
}

TEST(ServedTargets, OneThatTakesAPlaceLeavesTheOthersOpenRequestsAsOrphans) {
  Served served;
  EXPECT_EQ(served.put(7, "a").incarnation, 1U);
  served.put(8, "b");
  for (const std::uint64_t id : {3U, 1U, 2U}) {
    served.begin(request_of(id, id == 2 ? 8 : 7));
  }

  const auto replaced = served.put(7, "c");

  EXPECT_EQ(replaced.incarnation, 2U);
  EXPECT_EQ(ids_of(replaced.orphans), (Ids{1, 3})) << "in the order of requests";
  EXPECT_FALSE(served.end(1));
  EXPECT_TRUE(served.end(2));
  EXPECT_EQ(served.begin(request_of(4, 7)), "c");
}

TEST(ServedTargets, OneThatEndsLeavesItsOpenRequestsAsOrphans) {
  Served served;
  const auto incarnation = served.put(7, "a").incarnation;
  served.begin(request_of(1, 7));

  const auto orphans = served.remove(7, incarnation);

  ASSERT_TRUE(orphans);
  EXPECT_EQ(ids_of(*orphans), (Ids{1}));
  EXPECT_EQ(served.begin(request_of(2, 7)), std::nullopt);
  EXPECT_FALSE(served.remove(7, incarnation)) << "once";
}

TEST(ServedTargets, TheEndOfOneThatWasReplacedIsNoNews) {
  Served served;
  const auto first = served.put(7, "a").incarnation;
  served.put(7, "b");
  served.begin(request_of(1, 7));

  EXPECT_FALSE(served.remove(7, first));
  EXPECT_EQ(served.begin(request_of(2, 7)), "b");
  EXPECT_TRUE(served.end(1));
}

TEST(ServedTargets, IncarnationsGoOnAfterAnEnd) {
  Served served;
  served.remove(7, served.put(7, "a").incarnation);

  EXPECT_EQ(served.put(7, "b").incarnation, 2U);
}

TEST(ServedTargets, NothingIsLeftAfterClear) {
  Served served;
  served.put(7, "a");
  served.begin(request_of(1, 7));

  EXPECT_EQ(served.clear(), (std::vector<std::string>{"a"}));

  EXPECT_FALSE(served.end(1));
  EXPECT_EQ(served.begin(request_of(2, 7)), std::nullopt);
}

}  // namespace
}  // namespace troupe::net
