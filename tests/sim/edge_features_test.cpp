// Whole runs and sessions whose batches have features of edges: the same bits whatever the layout.
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/session_support.hpp"

#include <mutex>
#include <set>

namespace troupe {
namespace {

using testing::Settings;

class EdgeFeatureRun : public testing::HeterogeneousRun {
 protected:
  Result<RunRecord> with_features(const Settings& settings) const {
    Settings all = {"train.epochs=2", R"(sample.edge_data=["features"])"};
    all.insert(all.end(), settings.begin(), settings.end());
    return run(all);
  }
};

TEST_F(EdgeFeatureRun, LayoutsChangeNeitherBatchesNorParameters) {
  const std::string by_weight =
      R"(sample.fanout={"*": [-1, -1], "writes": [4, 3], "rev_writes": [3, 2]})";
  for (const Settings& way :
       std::vector<Settings>{{},
                             {"sample.replace=true", "sample.frontier=all"},
                             {"sample.edge_dir=out"},
                             {"sample.edge_dir=out", "sample.disjoint=true"},
                             {"sample.choice=weighted", by_weight},
                             {R"(sample.edge_data=["features", "ids", "weights", "times"])"}}) {
    SCOPED_TRACE(way.empty() ? "" : way.front());
    ASSERT_OK_AND_ASSIGN(plain_, with_features(way));
    expect_same_bits_in_layouts(way,
                                {{"cluster.placement=server_client"}, {"dataset.memory=mapped"}},
                                [&](const auto& all) { return with_features(all); });
  }
}

TEST_F(EdgeFeatureRun, RowsOfNodesAreCachedAllTheSame) {
  ASSERT_OK_AND_ASSIGN(plain_, with_features({"train.epochs=6"}));
  ASSERT_OK_AND_ASSIGN(
      const auto record,
      with_features({"train.epochs=6", "partition.order=hotness", "features.cache.policy=hotness",
                     "features.cache.budget=20KB"}));
  expect_same_bits(record);
  EXPECT_GT(record.epochs.back().counters.rows_cached, 0U);
}

TEST_F(EdgeFeatureRun, FeaturesOfEdgesChangeTheDigestAndNothingThatIsLearned) {
  std::set<std::string> digests;
  for (const std::string data : {"[]", R"(["ids"])", R"(["features"])", R"(["ids", "features"])"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({"sample.edge_data=" + data}));
    EXPECT_TRUE(digests.insert(to_string(*record.batches)).second) << data;
    EXPECT_EQ(record.parameters, plain_.parameters) << data;
  }
  ASSERT_OK_AND_ASSIGN(const auto ids, run({"digest=ids"}));
  ASSERT_OK_AND_ASSIGN(const auto features,
                       run({"digest=ids", R"(sample.edge_data=["features"])"}));
  EXPECT_EQ(ids.batches, features.batches) << "rows are not ids";
}

/// Scored by batches with all neighbors or layer by layer, in any layout.
TEST_F(EdgeFeatureRun, ExactScoresAreThoseOfAllNeighbors) {
  for (const Settings& model :
       std::vector<Settings>{{"model.kind=rgat", "model.heads=2", "sample.edge_dir=in"},
                             {"model.kind=rgat", "model.heads=2", "sample.edge_dir=out"},
                             {"model.kind=graphsage", "sample.edge_dir=in"}}) {
    Settings way = {"model.edge_features=true", "sample.fanout=[-1, -1]"};
    way.insert(way.end(), model.begin(), model.end());
    const auto scored = [&](const std::string& mode, const Settings& more) {
      auto all = way;
      all.push_back("eval.mode=" + mode);
      all.insert(all.end(), more.begin(), more.end());
      return with_features(all);
    };
    ASSERT_OK_AND_ASSIGN(const auto sampled, scored("sampled", {}));
    ASSERT_OK_AND_ASSIGN(plain_, scored("exact", {}));
    ASSERT_EQ(plain_.epochs.size(), sampled.epochs.size());
    for (std::size_t e = 0; e < plain_.epochs.size(); ++e) {
      EXPECT_EQ(plain_.epochs[e].valid->accuracy, sampled.epochs[e].valid->accuracy);
    }
    EXPECT_EQ(plain_.outputs, sampled.outputs) << "exact in the end";
    for (const Settings& layout : std::vector<Settings>{
             {"partition.parts=1", "cluster.hosts=1", "cluster.trainers_per_host=2"},
             {"partition.parts=7"},
             {"cluster.placement=server_client"},
             {"partition.halo=1", "partition.halo_features=true"},
             {"cluster.replicas=2"},
             {"dataset.memory=mapped", "cluster.device=emulated:1"}}) {
      ASSERT_OK_AND_ASSIGN(const auto record, scored("exact", layout));
      EXPECT_EQ(record.outputs, plain_.outputs) << layout.front();
    }
  }
}

TEST_F(EdgeFeatureRun, WhatFeaturesOfEdgesDoNotGoWithIsRefused) {
  EXPECT_ERROR(with_features({"sample.cache.budget=1MB"}), Errc::invalid_argument,
               "/sample/cache/budget");
  EXPECT_ERROR(with_features({"features.collect=false"}), Errc::invalid_argument,
               "/sample/edge_data");
}

/// Sessions on the same graph.
class EdgeFeatureSession : public testing::SessionTest {
 protected:
  void SetUp() override { ASSERT_OK(testing::write_heterogeneous_store(folder_.path() / "graph")); }
  testing::Overrides job(const testing::Overrides& more = {}) const {
    return testing::with({"dataset.path=" + (folder_.path() / "graph").string(), "train.epochs=2",
                          R"(sample.edge_data=["ids", "features"])"},
                         more);
  }
};

/// Each edge has the row of its original id; reverses have those of their edges.
Status expect_rows_of_ids(Session& session, std::mutex& mutex, std::uint64_t& rows) {
  const auto& graph = session.graph();
  const auto check = [&](const Batch& batch) {
    const std::lock_guard guard(mutex);
    ASSERT_EQ(batch.edge_features.size(), graph.edge_types.size());
    for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
      const auto& type = graph.edge_types[e];
      const auto& ids = batch.sampled->edges[e].edge_ids;
      const auto found = batch.edge_features[e].view();
      ASSERT_EQ(found.rows, ids.size());
      ASSERT_EQ(found.cols, type.features->cols);
      const bool writes = type.name.ends_with("writes");
      const auto end = graph.edge_types[e].count;  // of derived types ids begin there
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto id = raw(ids[i]) % end;
        const auto first = found.row(i)[0];
        EXPECT_EQ(first, writes ? static_cast<float>(id)
                                : static_cast<float>(static_cast<std::uint8_t>(id * 21)) * 0.5F);
        EXPECT_EQ(
            found.row(i)[1],
            writes ? first / 3 : static_cast<float>(static_cast<std::uint8_t>(id * 21 + 7)) * 0.5F);
      }
      rows += ids.size();
    }
  };
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      check(batch);
    }
  }
  TROUPE_ASSIGN_OR_RETURN(
      const auto around,
      session.sample_neighbors({.nodes = {NodeId{3}}, .fanout = {4, 2}, .with_rows = true}));
  check(*around);
  TROUPE_ASSIGN_OR_RETURN(const auto bare,
                          session.sample_neighbors({.nodes = {NodeId{3}}, .fanout = {4}}));
  EXPECT_TRUE(bare->edge_features.empty());
  return session.status();
}

TEST_F(EdgeFeatureSession, BatchesOfNodesAndLinksHaveTheRowsOfTheirEdges) {
  for (const testing::Overrides& way :
       std::vector<testing::Overrides>{{},
                                       {"dataset.split=written", "task.kind=link"},
                                       {"dataset.split=written", "task.kind=link",
                                        "sample.edge_dir=out", "sample.fanout=[-1, 3]"}}) {
    std::optional<Digest> digest;
    for (const testing::Overrides& layout :
         std::vector<testing::Overrides>{{"cluster.trainers_per_host=2"},
                                         {"cluster.hosts=2", "partition.parts=3"},
                                         {"cluster.hosts=2", "cluster.placement=server_client"},
                                         {"cluster.hosts=2", "partition.parts=2",
                                          "partition.halo=1", "cluster.window=65536"}}) {
      SCOPED_TRACE(fmt::format("{} {}", way.empty() ? "" : way.front(), layout.back()));
      std::mutex mutex;
      std::uint64_t rows = 0;
      const auto ran = run(job(testing::with(way, layout)), [&](Session& session) {
        return expect_rows_of_ids(session, mutex, rows);
      });
      ASSERT_OK(ran.status);
      EXPECT_GT(rows, 1000U);
      digest = digest.value_or(ran.batches);
      EXPECT_EQ(to_string(ran.batches), to_string(*digest));
    }
  }
}

}  // namespace
}  // namespace troupe
