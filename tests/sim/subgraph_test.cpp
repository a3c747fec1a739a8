// Whole runs that sample by LABOR, or whose batches have reverse or all edges: the same bits whatever the
// layout.
#include "tests/sim/heterogeneous_run.hpp"

namespace troupe {
namespace {

using testing::Settings;

class SubgraphRun : public testing::HeterogeneousRun {
 protected:
  Result<RunRecord> short_run(const Settings& settings) const {
    Settings all = {"train.epochs=2"};
    all.insert(all.end(), settings.begin(), settings.end());
    return run(all);
  }
};

TEST_F(SubgraphRun, LayoutsChangeNeitherBatchesNorParameters) {
  for (const Settings& way :
       std::vector<Settings>{{"sample.choice=labor"},
                             {"sample.choice=labor", "sample.shared=true", "sample.frontier=all"},
                             {"sample.choice=labor", "sample.disjoint=true", "sample.edge_dir=out"},
                             {"sample.subgraph=induced", R"(sample.edge_data=["ids"])"},
                             {"sample.subgraph=induced", "sample.disjoint=true"},
                             {"sample.subgraph=induced", "model.layers=3"}}) {
    SCOPED_TRACE(way.back());
    ASSERT_OK_AND_ASSIGN(plain_, short_run(way));
    const bool keeps_lists = way.front() != "sample.choice=labor";
    expect_same_bits_in_layouts(way,
                                {{keeps_lists ? "sample.cache.budget=10MB" : "partition.parts=2"},
                                 {"partition.halo=1"},
                                 {"dataset.memory=mapped"}},
                                [&](const auto& all) { return short_run(all); });
  }
}

TEST(BidirectionalRun, LayoutsChangeNeitherBatchesNorParameters) {
  const testing::ScratchFolder scratch;
  const auto run = [&](const Settings& layout) {
    Settings all = {"sample.subgraph=bidirectional", "sample.edge_dir=out", "train.epochs=2",
                    "cluster.hosts=2", "sample.edge_data=[\"ids\"]"};
    all.insert(all.end(), layout.begin(), layout.end());
    return testing::run_cora(scratch.path(), all);
  };
  ASSERT_OK_AND_ASSIGN(const auto plain, run({}));
  EXPECT_GT(plain.epochs.back().counters.edges, 1000U);
  for (const Settings& layout :
       std::vector<Settings>{{"partition.parts=5"},
                             {"partition.halo=1", "cluster.samplers_per_trainer=2"},
                             {"partition.topology=replicated", "cluster.batches_in_flight=16"},
                             {"cluster.placement=worker"}}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run(layout));
    EXPECT_EQ(record.batches, plain.batches) << layout.front();
    EXPECT_EQ(record.parameters, plain.parameters) << layout.front();
    EXPECT_EQ(record.outputs, plain.outputs) << layout.front();
  }
}

/// A batch with all edges around its seeds has the degrees of their neighbors, too.
TEST(InducedRun, OneGraphConvolutionOverWholeNeighborhoodsScoresAsExactInference) {
  const testing::ScratchFolder scratch;
  const auto run = [&](const char* mode, const char* device) {
    return testing::run_cora(scratch.path(),
                             {"model.kind=gcn", "model.layers=1", "sample.subgraph=induced",
                              "sample.fanout=[-1,-1]", "train.optimizer.lr=0.1", mode, device});
  };

  ASSERT_OK_AND_ASSIGN(const auto sampled, run("eval.mode=sampled", "cluster.device=cpu"));
  ASSERT_OK_AND_ASSIGN(const auto exact, run("eval.mode=exact", "cluster.device=cpu"));
  ASSERT_OK_AND_ASSIGN(const auto there, run("eval.mode=sampled", "cluster.device=emulated:1"));

  EXPECT_EQ(sampled.parameters, exact.parameters);
  EXPECT_NEAR(*sampled.valid->accuracy, *exact.valid->accuracy, 1e-9);
  EXPECT_NEAR(*sampled.test->accuracy, *exact.test->accuracy, 1e-9);
  EXPECT_EQ(there.parameters, sampled.parameters);
  EXPECT_EQ(there.outputs, sampled.outputs);
}

}  // namespace
}  // namespace troupe
