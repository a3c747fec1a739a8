// Whole runs with caches of other hosts' rows: the same bits, fewer rows over the links.
#include "tests/sim/sim_support.hpp"
#include "tests/sim/typed_support.hpp"
#include "tests/support/expect.hpp"

#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

class CachedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_typed_store(scratch_.path() / "graph"));
    ASSERT_OK_AND_ASSIGN(plain_, run({}));
  }
  Result<Job> job(const Settings& settings) const {
    Settings all = {"cluster.hosts=2", "partition.parts=4"};
    all.insert(all.end(), settings.begin(), settings.end());
    return testing::typed_job(scratch_.path() / "graph", scratch_.path() / "out", all);
  }
  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return testing::run_job(std::move(made));
  }
  static Settings with_cache(const std::string& policy, const std::string& budget) {
    Settings settings = {"features.cache.policy=" + policy, "features.cache.budget=" + budget,
                         "features.cache.presample_batches=3"};
    if (policy != "presample") {
      settings.push_back("partition.order=" + policy);
    }
    return settings;
  }

  testing::ScratchFolder scratch_;
  RunRecord plain_;
};

TEST_F(CachedRun, EveryPolicyGivesTheSameBitsWithFewerRemoteRows) {
  EXPECT_EQ(plain_.epochs.back().cache_hit_rate(), std::nullopt);
  for (const std::string policy : {"degree", "hotness", "presample"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run(with_cache(policy, "20KB")));
    EXPECT_EQ(record.batches, plain_.batches) << policy;
    EXPECT_EQ(record.parameters, plain_.parameters) << policy;
    EXPECT_EQ(record.outputs, plain_.outputs) << policy;
    const auto& counters = record.epochs.back().counters;
    const auto& before = plain_.epochs.back().counters;
    EXPECT_GT(record.epochs.back().cache_hit_rate().value_or(0), 0.1) << policy;
    EXPECT_EQ(counters.rows, before.rows) << policy;
    EXPECT_EQ(counters.rows_remote + counters.rows_cached, before.rows_remote) << policy;
  }
}

TEST_F(CachedRun, WithRoomForAllOnlySeedsAreAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto record, run(with_cache("hotness", "100MB")));
  EXPECT_EQ(record.batches, plain_.batches);
  EXPECT_GT(record.epochs.back().cache_hit_rate().value_or(0), 0.85);
}

std::uint64_t remote_nodes(const RunRecord& record) {
  std::uint64_t sum = 0;
  for (const auto nodes : record.epochs.back().counters.frontier.remote) {
    sum += nodes;
  }
  return sum;
}

TEST_F(CachedRun, NeighbourListsAreKeptWithinTheirBudget) {
  auto before = remote_nodes(plain_);
  for (const std::string budget : {"8KB", "10MB"}) {
    for (const std::string order : {"degree", "hotness"}) {
      ASSERT_OK_AND_ASSIGN(const auto record,
                           run({"sample.cache.budget=" + budget, "partition.order=" + order}));
      EXPECT_EQ(record.batches, plain_.batches) << budget;
      EXPECT_EQ(record.parameters, plain_.parameters) << budget;
      EXPECT_EQ(record.outputs, plain_.outputs) << budget;
      EXPECT_LT(remote_nodes(record), before) << budget << order;
    }
    before /= 4;
  }
}

TEST_F(CachedRun, NeighbourListsGoWithHalosRowsAndOtherWaysOfSampling) {
  const Settings way = {"sample.replace=true", "sample.edge_ids=true", "sample.frontier=all"};
  ASSERT_OK_AND_ASSIGN(plain_, run(way));
  auto with = way;
  for (const auto* more : {"sample.cache.budget=1MB", "partition.halo=1",
                           "features.cache.policy=degree", "features.cache.budget=20KB"}) {
    with.emplace_back(more);
  }
  ASSERT_OK_AND_ASSIGN(const auto record, run(with));
  EXPECT_EQ(record.batches, plain_.batches);
  EXPECT_EQ(record.parameters, plain_.parameters);
  EXPECT_LT(remote_nodes(record), remote_nodes(plain_) / 4);
}

TEST_F(CachedRun, ABudgetThatHoldsNothingChangesNothing) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"sample.cache.budget=1"}));
  EXPECT_EQ(record.batches, plain_.batches);
  EXPECT_EQ(remote_nodes(record), remote_nodes(plain_));
}

TEST_F(CachedRun, TheOrderOfNodesChangesNoBit) {
  for (const std::string order : {"hotness", "original"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({"partition.order=" + order}));
    EXPECT_EQ(record.batches, plain_.batches) << order;
    EXPECT_EQ(record.parameters, plain_.parameters) << order;
  }
}

TEST_F(CachedRun, APolicyThatCannotWorkIsRefused) {
  EXPECT_ERROR(job({"features.cache.policy=hotness", "features.cache.budget=1MB"}),
               Errc::invalid_argument, "/partition/order: expected \"hotness\"");
  EXPECT_ERROR(job({"features.cache.policy=degree"}), Errc::invalid_argument,
               "/features/cache/budget: expected bytes for the cache");
  EXPECT_ERROR(job({"sample.cache.budget=1MB", "partition.order=original"}), Errc::invalid_argument,
               "/partition/order: expected \"degree\" or \"hotness\"");
  EXPECT_ERROR(job({"features.cache.budget=1MB"}), Errc::invalid_argument,
               "/features/cache/budget: expected none with policy \"none\"");
}

}  // namespace
}  // namespace troupe
