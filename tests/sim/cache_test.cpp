// Whole runs with caches of other hosts' rows: the same bits, fewer rows over the links.
#include "tests/sim/heterogeneous_run.hpp"

#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

using testing::remote_nodes;
using testing::Settings;

class CachedRun : public testing::HeterogeneousRun {
 protected:
  static Settings with_cache(const std::string& policy, const std::string& budget) {
    Settings settings = {"features.cache.policy=" + policy, "features.cache.budget=" + budget,
                         "features.cache.presample_batches=3"};
    if (policy != "presample") {
      settings.push_back("partition.order=" + policy);
    }
    return settings;
  }
};

TEST_F(CachedRun, EveryPolicyGivesTheSameBitsWithFewerRemoteRows) {
  EXPECT_EQ(plain_.epochs.back().cache_hit_rate(), std::nullopt);
  for (const std::string policy : {"degree", "hotness", "presample"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run(with_cache(policy, "20KB")));
    expect_same_bits(record, policy);
    const auto& counters = record.epochs.back().counters;
    const auto& before = plain_.epochs.back().counters;
    EXPECT_EQ(record.epochs.back().cache_hit_rate_at_best(), std::nullopt) << policy;
    EXPECT_GT(record.epochs.back().cache_hit_rate().value_or(0), 0.1) << policy;
    EXPECT_EQ(counters.rows_remote + counters.rows_cached, before.rows_remote) << policy;
  }
}

TEST_F(CachedRun, ACacheThatKnowsTheFutureGivesTheSameBitsHoweverFarItSees) {
  const auto& before = plain_.epochs.back().counters;
  for (const std::string order : {"original", "degree", "hotness"}) {
    for (const std::string lookahead : {"0", "1", "5", "1024"}) {
      ASSERT_OK_AND_ASSIGN(const auto record,
                           run({"features.cache.policy=future", "features.cache.budget=20KB",
                                "features.cache.lookahead=" + lookahead, "partition.order=" + order,
                                "features.cache.measure=true"}));
      const auto what = fmt::format("order {}, {} ahead", order, lookahead);
      expect_same_bits(record, what);
      const auto& counters = record.epochs.back().counters;
      EXPECT_EQ(counters.rows_remote + counters.rows_cached, before.rows_remote) << what;
      EXPECT_GT(counters.rows_cached, before.rows_remote / 20) << what;
      EXPECT_GT(record.epochs.back().cache_hit_rate_at_best().value_or(0), 0.1) << what;
    }
  }
}

TEST_F(CachedRun, ACacheThatKnowsTheFutureSuitsOtherLayoutsAndManyHints) {
  for (const Settings& layout : std::vector<Settings>{
           {"cluster.trainers_per_host=2", "cluster.hosts=1", "partition.parts=2"},
           {"cluster.samplers_per_trainer=3", "cluster.batches_in_flight=1"},
           {"cluster.batches_in_flight=16", "cluster.network.latency_us=300"},
           {"cluster.channel_budget=70000", "features.cache.lookahead=1000"},
           {"partition.halo=1", "partition.halo_features=true"},
           {"sample.cache.budget=1MB", "partition.order=hotness"},
           {"cluster.replicas=2", "cluster.threads=1"},
           {"partition.parts=1"}}) {
    auto settings = layout;
    settings.insert(settings.begin(),
                    {"features.cache.policy=future", "features.cache.budget=20KB"});
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    if (layout.size() < 3) {
      expect_same_bits(record, layout.front());
    }
    EXPECT_EQ(record.batches, plain_.batches) << layout.front();
  }
}

TEST_F(CachedRun, TheBestChoiceOfAsManyRowsIsReportedWhereAskedFor) {
  for (const std::string policy : {"degree", "hotness", "presample"}) {
    auto settings = with_cache(policy, "20KB");
    settings.emplace_back("features.cache.measure=true");
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    expect_same_bits(record, policy);
    const auto& epoch = record.epochs.back();
    EXPECT_GE(epoch.cache_hit_rate_at_best().value_or(0), *epoch.cache_hit_rate()) << policy;
    EXPECT_LT(epoch.cache_hit_rate_at_best().value_or(1), 0.9) << policy;
  }
}

TEST_F(CachedRun, ABudgetMayBeAShareOfAllRows) {
  std::uint64_t before = 0;
  for (const auto* ratio : {"0.05", "0.2", "0.5"}) {
    ASSERT_OK_AND_ASSIGN(const auto record,
                         run({"features.cache.policy=hotness", "partition.order=hotness",
                              std::string("features.cache.ratio=") + ratio}));
    expect_same_bits(record, ratio);
    EXPECT_GT(record.epochs.back().counters.rows_cached, before) << ratio;
    before = record.epochs.back().counters.rows_cached;
  }
}

TEST_F(CachedRun, WithRoomForAllOnlySeedsAreAskedFor) {
  auto settings = with_cache("hotness", "100MB");
  settings.emplace_back("features.cache.measure=true");
  ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
  expect_same_bits(record);
  const auto& epoch = record.epochs.back();
  EXPECT_LE(epoch.counters.rows_remote, epoch.counters.seeds);
  EXPECT_GT(epoch.cache_hit_rate().value_or(0), 0.7);
  EXPECT_EQ(epoch.cache_hit_rate_at_best(), epoch.cache_hit_rate());
}

TEST_F(CachedRun, NeighbourListsAreKeptWithinTheirBudget) {
  auto before = remote_nodes(plain_);
  for (const std::string budget : {"8KB", "10MB"}) {
    for (const std::string order : {"degree", "hotness"}) {
      ASSERT_OK_AND_ASSIGN(const auto record,
                           run({"sample.cache.budget=" + budget, "partition.order=" + order}));
      expect_same_bits(record, budget + " " + order);
      EXPECT_LT(remote_nodes(record), before) << budget << order;
    }
    before /= 4;
  }
}

TEST_F(CachedRun, NeighbourListsGoWithHalosRowsAndOtherWaysOfSampling) {
  const Settings way = {"sample.replace=true", R"(sample.edge_data=["ids"])",
                        "sample.frontier=all"};
  ASSERT_OK_AND_ASSIGN(plain_, run(way));
  auto with = way;
  for (const auto* more : {"sample.cache.budget=1MB", "partition.halo=1",
                           "features.cache.policy=degree", "features.cache.budget=20KB"}) {
    with.emplace_back(more);
  }
  ASSERT_OK_AND_ASSIGN(const auto record, run(with));
  expect_same_bits(record);
  EXPECT_LT(remote_nodes(record), remote_nodes(plain_) / 4);
}

TEST_F(CachedRun, ABudgetThatHoldsNothingChangesNothing) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"sample.cache.budget=1"}));
  expect_same_bits(record);
  EXPECT_EQ(remote_nodes(record), remote_nodes(plain_));
}

TEST_F(CachedRun, TheOrderOfNodesChangesNoBit) {
  for (const std::string order : {"hotness", "original"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({"partition.order=" + order}));
    expect_same_bits(record, order);
  }
}

TEST_F(CachedRun, APolicyThatCannotWorkIsRefused) {
  EXPECT_ERROR(job({"features.cache.policy=hotness", "features.cache.budget=1MB"}),
               Errc::invalid_argument, "/partition/order: expected \"hotness\"");
  EXPECT_ERROR(job({"features.cache.policy=degree"}), Errc::invalid_argument,
               "/features/cache/budget: expected bytes for the cache");
  EXPECT_ERROR(job({"features.cache.policy=presample", "features.cache.budget=1MB",
                    "features.cache.ratio=0.1"}),
               Errc::invalid_argument, "found 1000000 bytes, ratio 0.1");
  EXPECT_ERROR(job({"sample.cache.budget=1MB", "partition.order=original"}), Errc::invalid_argument,
               "/partition/order: expected \"degree\" or \"hotness\"");
  EXPECT_ERROR(job({"features.cache.budget=1MB"}), Errc::invalid_argument,
               "/features/cache/budget: expected none with policy \"none\"");
  for (const std::string placement : {"worker", "server_client"}) {
    EXPECT_ERROR(job({"features.cache.policy=future", "features.cache.budget=1MB",
                      "cluster.placement=" + placement}),
                 Errc::invalid_argument,
                 "/features/cache/policy: expected another policy than \"future\" where samplers "
                 "are in other processes than their ranks, found placement \"" +
                     placement);
  }
  const std::string listed = R"(cluster.processes=["host=0 parts=0-3 ranks=0", "host=1 ranks=1")";
  const Settings explicitly = {"features.cache.policy=future", "features.cache.budget=1MB",
                               "cluster.placement=explicit"};
  auto elsewhere = explicitly;
  elsewhere.push_back(listed + R"(, "host=1 samples_for=1"])");
  EXPECT_ERROR(job(elsewhere), Errc::invalid_argument, "found placement \"explicit\"");
  auto beside = explicitly;
  beside.push_back(listed + "]");
  EXPECT_OK(job(beside));
}

}  // namespace
}  // namespace troupe
