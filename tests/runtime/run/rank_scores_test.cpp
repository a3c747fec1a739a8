// Scores of triples from the counts of their two sides.
#include "runtime/run/scoring.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

TEST(CountScores, AreOverTailsAndHeadsOfTheTriplesSeen) {
  Matrix counts(3, 4);  // above and level with the tail, with the head
  std::ranges::copy(std::vector<float>{0, 0, 1, 0, 9, 0, 0, 1, 4, 4, 4, 4}, counts.data());
  const LinkScoring how{.kind = LinkScoring::Kind::counts, .rows = 3};

  const auto all = score_links(how, counts.view(), std::vector<std::int64_t>(3));
  EXPECT_EQ(all.labelled, 3U);
  EXPECT_FALSE(all.auc);
  EXPECT_DOUBLE_EQ(*all.by_name("mr"), (1 + 2 + 10 + 1.5 + 7 + 7) / 6);
  EXPECT_DOUBLE_EQ(*all.by_name("mrr"), (1 + 0.5 + 0.1 + 1 / 1.5 + 2 / 7.0) / 6);
  EXPECT_DOUBLE_EQ(*all.by_name("hits@1"), 1.0 / 6);
  EXPECT_DOUBLE_EQ(*all.by_name("hits@10"), 1);

  const auto some = score_links(how, counts.view(), std::vector<std::int64_t>{0, -1, -1});
  EXPECT_EQ(some.labelled, 1U);
  EXPECT_DOUBLE_EQ(*some.by_name("mrr"), 0.75);
  const auto of_tails =
      score_links({.kind = LinkScoring::Kind::counts, .ends = RankedEnds::destination, .rows = 3},
                  counts.view(), std::vector<std::int64_t>(3));
  EXPECT_EQ(of_tails.labelled, 3U);
  EXPECT_DOUBLE_EQ(*of_tails.by_name("mr"), (1 + 10 + 7) / 3.0);
  const auto of_heads =
      score_links({.kind = LinkScoring::Kind::counts, .ends = RankedEnds::source, .rows = 3},
                  counts.view(), std::vector<std::int64_t>(3));
  EXPECT_DOUBLE_EQ(*of_heads.by_name("mr"), (2 + 1.5 + 7) / 3.0);
  const auto none = score_links(how, counts.view(), std::vector<std::int64_t>(3, -1));
  EXPECT_EQ(none.labelled, 0U);
  EXPECT_FALSE(none.by_name("mrr"));
}

}  // namespace
}  // namespace troupe
