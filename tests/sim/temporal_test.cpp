// Whole runs whose seeds have a time: the same bits whatever the layout.
#include "tests/sim/heterogeneous_run.hpp"

namespace troupe {
namespace {

using testing::Settings;

/// Papers appeared between 1990 and 2019; who wrote what has no times.
class TemporalRun : public testing::HeterogeneousRun {
 protected:
  Result<RunRecord> at(const std::string& time, const Settings& settings = {}) const {
    Settings all = {"train.epochs=2", "sample.time.at=" + time, "sample.fanout=[5,4,3]",
                    "model.layers=3"};
    all.insert(all.end(), settings.begin(), settings.end());
    return run(all);
  }
};

TEST_F(TemporalRun, LayoutsChangeNeitherBatchesNorParameters) {
  const Settings last = {"sample.choice=last", "sample.time.until=at",
                         R"(sample.fanout={"*": [-1, 0, -1], "appears": [3, 3, 3],)"
                         R"( "rev_appears": [2, 2, 2]})"};
  for (const Settings& way : std::vector<Settings>{{},
                                                   {"sample.time.window=4"},
                                                   {"sample.frontier=all"},
                                                   {"sample.edge_dir=out", "sample.replace=true"},
                                                   last}) {
    SCOPED_TRACE(way.empty() ? "" : way.front());
    ASSERT_OK_AND_ASSIGN(plain_, at("2005", way));
    expect_same_bits_in_layouts(way, {{"sample.cache.budget=10MB", "partition.order=hotness"}},
                                [&](const auto& all) { return at("2005", all); });
  }
}

TEST_F(TemporalRun, TimesDecideWhatIsSampled) {
  ASSERT_OK_AND_ASSIGN(const auto late, at("3000"));
  ASSERT_OK_AND_ASSIGN(const auto disjoint, run({"train.epochs=2", "sample.fanout=[5,4,3]",
                                                 "model.layers=3", "sample.disjoint=true"}));
  EXPECT_EQ(late.batches, disjoint.batches) << "after all edges nothing is left out";
  ASSERT_OK_AND_ASSIGN(const auto early, at("1995"));
  EXPECT_LT(early.epochs.back().counters.edges, late.epochs.back().counters.edges);
  ASSERT_OK_AND_ASSIGN(const auto none, at("-1"));
  EXPECT_LT(none.epochs.back().counters.edges, early.epochs.back().counters.edges)
      << "only edges without times are left";
}

TEST_F(TemporalRun, SeedsHaveTheTimesOfTheirSplit) {
  const auto of_split = [&](const std::string& split, Settings settings) {
    settings.insert(settings.begin(),
                    {"train.epochs=2", "sample.time.of=split", "sample.fanout=[5,4,3]",
                     "model.layers=3", "dataset.split=" + split});
    return run(settings);
  };
  ASSERT_OK_AND_ASSIGN(plain_, at("2005"));
  ASSERT_OK_AND_ASSIGN(const auto in_2005, of_split("in_2005", {}));
  expect_same_bits(in_2005, "a split whose seeds all have one time");
  EXPECT_EQ(in_2005.test->accuracy, plain_.test->accuracy);

  ASSERT_OK_AND_ASSIGN(plain_, of_split("by_year", {}));
  EXPECT_NE(plain_.batches, in_2005.batches);
  for (const Settings& layout : std::vector<Settings>{
           {"cluster.hosts=1", "cluster.trainers_per_host=2", "partition.parts=1"},
           {"partition.parts=7", "cluster.samplers_per_trainer=2"},
           {"cluster.placement=server_client"},
           {"sample.cache.budget=10MB", "partition.order=hotness"}}) {
    ASSERT_OK_AND_ASSIGN(const auto record, of_split("by_year", layout));
    expect_same_bits(record, layout.back());
  }
  EXPECT_ERROR(of_split("", {}), Errc::invalid_argument, "does not fit its data");
}

/// Without `sample.time.of` "split" a split's times are not read: all seeds have the job's one time, or none.
TEST_F(TemporalRun, TimesOfASplitAreLeftOutUnlessAskedFor) {
  ASSERT_OK_AND_ASSIGN(plain_, at("2005"));
  ASSERT_OK_AND_ASSIGN(const auto one_time, at("2005", {"dataset.split=by_year"}));
  expect_same_bits(one_time, "another split of the same seeds");
  const Settings none{"train.epochs=1", "sample.fanout=[5,4]", "model.layers=2"};
  ASSERT_OK_AND_ASSIGN(plain_, run(none));
  auto by_year = none;
  by_year.emplace_back("dataset.split=by_year");
  ASSERT_OK_AND_ASSIGN(const auto without, run(by_year));
  expect_same_bits(without, "seeds with times, of which none is read");
}

TEST_F(TemporalRun, ExactEvaluationIsRefused) {
  EXPECT_ERROR(at("2005", {"eval.mode=exact"}), Errc::invalid_argument, "does not fit its data");
}

TEST_F(TemporalRun, TheEndOfARunScoresSampledBatches) {
  ASSERT_OK_AND_ASSIGN(const auto record, at("2005"));
  EXPECT_TRUE(record.test);
}

}  // namespace
}  // namespace troupe
