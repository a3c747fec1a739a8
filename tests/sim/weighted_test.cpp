// Whole runs that sample by weight: the same bits whatever the layout.
#include "tests/sim/heterogeneous_run.hpp"

#include <set>

namespace troupe {
namespace {

using testing::remote_nodes;
using testing::Settings;

/// Along the edges without weights all neighbors are taken, or none.
class WeightedRun : public testing::HeterogeneousRun {
 protected:
  Result<RunRecord> by_weight(const Settings& settings) const {
    Settings all = {"sample.choice=weighted", "train.epochs=2",
                    R"(sample.fanout={"*": [-1, -1], "writes": [4, 3], "rev_writes": [3, 2]})"};
    all.insert(all.end(), settings.begin(), settings.end());
    return run(all);
  }
};

TEST_F(WeightedRun, LayoutsChangeNeitherBatchesNorParameters) {
  for (const Settings& way :
       std::vector<Settings>{{},
                             {"sample.replace=true"},
                             {"sample.frontier=all"},
                             {"sample.edge_dir=out"},
                             {"sample.disjoint=true"},
                             {R"(sample.edge_data=["ids", "weights", "times"])"},
                             {R"(sample.edge_data=["weights"])", "model.edge_weights=true"}}) {
    SCOPED_TRACE(way.empty() ? "" : way.front());
    ASSERT_OK_AND_ASSIGN(plain_, by_weight(way));
    expect_same_bits_in_layouts(way, {{"partition.halo=1"}, {"dataset.memory=mapped"}},
                                [&](const auto& all) { return by_weight(all); });
  }
}

TEST_F(WeightedRun, ListsThatAreKeptHaveWeights) {
  for (const std::string data : {"[]", R"(["weights", "times"])"}) {
    ASSERT_OK_AND_ASSIGN(plain_, by_weight({"train.epochs=6", "sample.edge_data=" + data}));
    ASSERT_OK_AND_ASSIGN(const auto record,
                         by_weight({"train.epochs=6", "sample.edge_data=" + data,
                                    "sample.cache.budget=10MB", "partition.order=hotness"}));
    expect_same_bits(record, data);
    EXPECT_LT(remote_nodes(record), remote_nodes(plain_) / 4) << data;
  }
}

TEST_F(WeightedRun, DataOfEdgesChangesDigestsAndNothingThatIsLearned) {
  ASSERT_OK_AND_ASSIGN(plain_, by_weight({}));
  std::set<std::string> digests{to_string(*plain_.batches)};
  for (const std::string data : {R"(["ids"])", R"(["weights"])", R"(["times"])"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, by_weight({"sample.edge_data=" + data}));
    EXPECT_TRUE(digests.insert(to_string(*record.batches)).second) << data;
    EXPECT_EQ(record.parameters, plain_.parameters) << data;
  }
}

TEST_F(WeightedRun, WeightsInMessagesChangeWhatIsLearnedAndScored) {
  const std::string data = R"(sample.edge_data=["weights"])";
  ASSERT_OK_AND_ASSIGN(plain_, by_weight({data}));
  ASSERT_OK_AND_ASSIGN(const auto record, by_weight({data, "model.edge_weights=true"}));
  EXPECT_EQ(record.batches, plain_.batches);
  EXPECT_NE(record.parameters, plain_.parameters);
  EXPECT_NE(record.outputs, plain_.outputs);
}

TEST_F(WeightedRun, WeightsChangeTheBatches) {
  ASSERT_OK_AND_ASSIGN(const auto weighted, by_weight({}));
  ASSERT_OK_AND_ASSIGN(const auto uniform, by_weight({"sample.choice=uniform"}));
  EXPECT_NE(weighted.batches, uniform.batches);
  EXPECT_LT(weighted.epochs.back().counters.edges, uniform.epochs.back().counters.edges)
      << "edges without weight are left out of short lists";
}

TEST_F(WeightedRun, EdgesWithoutWeightsAreRefusedBeforeAnythingStarts) {
  EXPECT_ERROR(run({"sample.choice=weighted"}), Errc::invalid_argument, "does not fit its data");
}

}  // namespace
}  // namespace troupe
