// Whole runs with parts that keep lists and rows of the nodes around them, or lists of all: the same
// bits, fewer questions to other hosts.
#include "tests/sim/sim_support.hpp"
#include "tests/sim/typed_support.hpp"
#include "tests/support/expect.hpp"

#include <numeric>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

std::uint64_t remote_nodes(const net::EpochCounters& counters) {
  const auto& remote = counters.frontier.remote;
  return std::accumulate(remote.begin(), remote.end(), std::uint64_t{0});
}

class HaloRun : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_typed_store(scratch_.path() / "graph"));
    ASSERT_OK_AND_ASSIGN(plain_, run({}));
  }
  Result<RunRecord> run(const Settings& settings) const {
    Settings all = {"cluster.hosts=2", "partition.parts=4"};
    all.insert(all.end(), settings.begin(), settings.end());
    TROUPE_ASSIGN_OR_RETURN(
        auto job, testing::typed_job(scratch_.path() / "graph", scratch_.path() / "out", all));
    return testing::run_job(std::move(job));
  }
  void expect_same_bits(const RunRecord& record) const {
    EXPECT_EQ(record.batches, plain_.batches);
    EXPECT_EQ(record.parameters, plain_.parameters);
    EXPECT_EQ(record.outputs, plain_.outputs);
    const auto& counters = record.epochs.back().counters;
    const auto& before = plain_.epochs.back().counters;
    EXPECT_EQ(counters.frontier.nodes, before.frontier.nodes);
    EXPECT_EQ(counters.rows, before.rows);
  }

  testing::ScratchFolder scratch_;
  RunRecord plain_;
};

TEST_F(HaloRun, ListsNearbyAreSampledHere) {
  auto before = remote_nodes(plain_.epochs.back().counters);
  ASSERT_GT(before, 0U);
  for (const auto* hops : {"1", "2"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({std::string("partition.halo=") + hops}));
    expect_same_bits(record);
    const auto remote = remote_nodes(record.epochs.back().counters);
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
  EXPECT_EQ(remote_nodes(counters), remote_nodes(plain_.epochs.back().counters));
}

TEST_F(HaloRun, WithReplicatedTopologyNoNeighbourIsAskedForElsewhere) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"partition.topology=replicated"}));
  expect_same_bits(record);
  EXPECT_EQ(remote_nodes(record.epochs.back().counters), 0U);
  EXPECT_EQ(record.epochs.back().counters.rows_remote, plain_.epochs.back().counters.rows_remote);
}

TEST_F(HaloRun, LocalSeedsAreAskedForElsewhereLessAndTheBitsAreThoseOfThePartition) {
  const Settings local = {"sample.seed_order=local", "partition.method=fennel"};
  ASSERT_OK_AND_ASSIGN(const auto global, run({"partition.method=fennel"}));
  ASSERT_OK_AND_ASSIGN(const auto record, run(local));
  EXPECT_NE(record.batches, global.batches);
  const auto& counters = record.epochs.back().counters;
  EXPECT_EQ(counters.seeds, global.epochs.back().counters.seeds);
  EXPECT_LT(remote_nodes(counters), remote_nodes(global.epochs.back().counters));
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
  const Settings way = {"sample.replace=true", "sample.edge_ids=true", "sample.frontier=all"};
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
