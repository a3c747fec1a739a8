#include "runtime/feature/embedding/learned_replica.hpp"

#include "tests/runtime/feature/replica_cluster.hpp"

namespace troupe {
namespace {

using testing::ReplicaCluster;

TEST(LearnedReplicas, ServeTheSameRowsWhicheverIsLostWhenever) {
  ReplicaCluster undisturbed(0, {});
  ASSERT_TRUE(undisturbed.run());
  const auto digests = undisturbed.digests();
  EXPECT_EQ(digests[0], digests[1]) << "both replicas";
  EXPECT_NE(digests[0], digests[2]) << "another step";

  std::mt19937 dice(11);
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t at = 20 + dice() % 300;
    ReplicaCluster cluster(seed, {{.replica = seed % 2, .at = at}});
    ASSERT_TRUE(cluster.run()) << "lost at delivery " << at;
    EXPECT_EQ(cluster.rows, undisturbed.rows);
    EXPECT_EQ(cluster.digests(), digests);
  }
}

TEST(LearnedReplicas, AreWholeAgainAndMayBeLostInTurn) {
  ReplicaCluster undisturbed(0, {});
  ASSERT_TRUE(undisturbed.run());
  const auto digests = undisturbed.digests();
  int went_on = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    // The second loss may come too early: then nobody has all, and both say so.
    ReplicaCluster cluster(seed, {{.replica = 0, .at = 30}, {.replica = 1, .at = 60 + 2 * seed}});
    if (cluster.run()) {
      ++went_on;
      EXPECT_EQ(cluster.rows, undisturbed.rows);
      EXPECT_EQ(cluster.digests(), digests);
    }
  }
  EXPECT_GT(went_on, 20);
  EXPECT_LT(went_on, 200) << "no loss came too early";
}

TEST(LearnedReplicas, TheSameOneMayBeLostAgainWhileItCopies) {
  ReplicaCluster undisturbed(0, {});
  ASSERT_TRUE(undisturbed.run());
  const auto digests = undisturbed.digests();
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    ReplicaCluster cluster(seed, {{.replica = 1, .at = 40},
                                  {.replica = 1, .at = 45 + seed},
                                  {.replica = 1, .at = 60 + 2 * seed}});
    ASSERT_TRUE(cluster.run());
    EXPECT_EQ(cluster.rows, undisturbed.rows);
    EXPECT_EQ(cluster.digests(), digests);
  }
}

TEST(LearnedReplicas, WithoutAnyRowsNobodyWaitsForTheOther) {
  const auto graph = testing::users_and_items(1);
  LearnedReplica one(graph.parts[0], testing::two_tables(), nullptr, 1);
  auto actions = one.replace_lost();
  ASSERT_TRUE(actions.ask);
  EXPECT_TRUE(one.copies());
  const auto asked = one.follow({.follower = 2}, 5);
  EXPECT_ERROR(asked.answers.at(0).reply, Errc::not_found, "restarted, too");
  // A share waits with its rank until the other has answered.
  const auto share = std::make_shared<const SparseGradients>(testing::empty_share(0, 0));
  const auto early = one.add(share, 6);
  EXPECT_ERROR(early.answers.at(0).reply, Errc::overloaded, "copied");
  EXPECT_TRUE(one.heard(Error(Errc::not_found, "restarted, too")).answers.empty());
  EXPECT_FALSE(one.copies());
  const auto late = one.add(share, 7);
  EXPECT_ERROR(late.answers.at(0).reply, Errc::not_found, "has lost them");
  EXPECT_EQ(one.begin({.generation = 2}, 8).tasks.size(), 1U) << "as tables start";
}

TEST(LearnedReplicas, AFirstBeginNeedsNoOther) {
  const auto graph = testing::users_and_items(1);
  LearnedReplica one(graph.parts[0], testing::two_tables(), nullptr, 1);
  EXPECT_FALSE(one.begin({.generation = 0}, 1).ask);
  EXPECT_FALSE(one.copies());
  LearnedReplica two(graph.parts[0], testing::two_tables(), nullptr, 2);
  const auto actions = two.begin({.generation = 1, .step = 4}, 1);
  EXPECT_TRUE(actions.ask) << "whose copy of step 4 another one has";
  EXPECT_ERROR(actions.answers.at(0).reply, Errc::overloaded, "copied");
}

TEST(LearnedReplicas, AnswersThatFitNoQuestionEndTheCopying) {
  const auto graph = testing::users_and_items(1);
  const auto asks = [&] {
    LearnedReplica one(graph.parts[0], testing::two_tables(), nullptr, 1);
    static_cast<void>(one.replace_lost());
    return one;
  };
  auto one = asks();
  static_cast<void>(one.heard(LearnedReplica::Reply(LearnedEvent{})));
  EXPECT_FALSE(one.copies());
  auto two = asks();
  const auto actions = two.heard(LearnedReplica::Reply(LearnedState{.generation = 1, .step = 3}));
  ASSERT_TRUE(actions.ask);
  EXPECT_EQ(std::get<ReadCopy>(*actions.ask).step, 3U);
  static_cast<void>(two.heard(LearnedReplica::Reply(CopyPiece{.step = 4})));
  EXPECT_FALSE(two.copies());
  auto three = asks();
  static_cast<void>(three.heard(LearnedReplica::Reply(LearnedState{.generation = 1, .step = 3})));
  static_cast<void>(three.heard(LearnedReplica::Reply(
      CopyPiece{.step = 3, .ids = {1, 2}, .rows = Segment::of(std::vector<float>(5))})));
  EXPECT_FALSE(three.copies()) << "rows of another width";
}

}  // namespace
}  // namespace troupe
