// Whole runs with parts that keep lists and rows of the nodes around them, or lists of all: the same
// bits, fewer questions to other hosts.
#include "tests/sim/heterogeneous_run.hpp"

#include <string>

namespace troupe {
namespace {

using testing::remote_nodes;
using testing::Settings;

using HaloRun = testing::HeterogeneousRun;

TEST_F(HaloRun, ListsNearbyAreSampledHere) {
  auto before = remote_nodes(plain_);
  ASSERT_GT(before, 0U);
  for (const auto* hops : {"1", "2"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({std::string("partition.halo=") + hops}));
    expect_same_bits(record);
    const auto remote = remote_nodes(record);
    EXPECT_LT(remote, before) << hops;
    EXPECT_EQ(record.epochs.back().counters.rows_remote, plain_.epochs.back().counters.rows_remote);
    before = remote;
  }
}

TEST_F(HaloRun, RowsNearbyAreReadHere) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"partition.halo_features=true"}));
  expect_same_bits(record);
  const auto& counters = record.epochs.back().counters;
  EXPECT_LT(counters.rows_remote, plain_.epochs.back().counters.rows_remote);
  EXPECT_EQ(remote_nodes(record), remote_nodes(plain_));
}

TEST_F(HaloRun, WithReplicatedTopologyNoNeighbourIsAskedForElsewhere) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"partition.topology=replicated"}));
  expect_same_bits(record);
  EXPECT_EQ(remote_nodes(record), 0U);
  EXPECT_EQ(record.epochs.back().counters.rows_remote, plain_.epochs.back().counters.rows_remote);
}

TEST_F(HaloRun, LocalSeedsAreAskedForElsewhereLessAndTheBitsAreThoseOfThePartition) {
  const Settings local = {"sample.seed_order=local", "partition.method=fennel"};
  ASSERT_OK_AND_ASSIGN(const auto global, run({"partition.method=fennel"}));
  ASSERT_OK_AND_ASSIGN(const auto record, run(local));
  EXPECT_NE(record.batches, global.batches);
  const auto& counters = record.epochs.back().counters;
  EXPECT_EQ(counters.seeds, global.epochs.back().counters.seeds);
  EXPECT_LT(remote_nodes(record), remote_nodes(global));
  ASSERT_OK_AND_ASSIGN(const auto again, run(local));
  EXPECT_EQ(again.batches, record.batches);
  EXPECT_EQ(again.parameters, record.parameters);
}

TEST_F(HaloRun, TheRecordSaysHowMuchOfEachHopWasRemote) {
  const auto& plain = plain_.epochs.back();
  const auto shares = plain.remote_share_of_hops();
  ASSERT_EQ(shares.size(), plain.counters.frontier.nodes.size());
  ASSERT_GE(shares.size(), 2U);
  for (std::size_t hop = 0; hop < shares.size(); ++hop) {
    EXPECT_EQ(shares[hop], static_cast<double>(plain.counters.frontier.remote[hop]) /
                               static_cast<double>(plain.counters.frontier.nodes[hop]));
    EXPECT_NEAR(shares[hop], 0.5, 0.2) << hop;  // of two hosts, at random
  }
  ASSERT_OK_AND_ASSIGN(const auto local, run({"sample.seed_order=local"}));
  EXPECT_LT(local.epochs.back().remote_share_of_hops()[0], 0.1);  // the seeds themselves
}

TEST_F(HaloRun, ListsAndRowsGoWithCachesAndOtherWaysOfSampling) {
  const Settings way = {"sample.replace=true", R"(sample.edge_data=["ids"])",
                        "sample.frontier=all"};
  ASSERT_OK_AND_ASSIGN(plain_, run(way));
  auto with = way;
  for (const auto* more :
       {"partition.halo=1", "partition.halo_features=true", "partition.order=hotness",
        "features.cache.policy=hotness", "features.cache.budget=20KB"}) {
    with.emplace_back(more);
  }
  ASSERT_OK_AND_ASSIGN(const auto record, run(with));
  expect_same_bits(record);
  EXPECT_LT(record.epochs.back().counters.rows_remote, plain_.epochs.back().counters.rows_remote);
}

}  // namespace
}  // namespace troupe
