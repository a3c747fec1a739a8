// Whole runs on a heterogeneous graph: the determinism contract, learning, resuming, and sessions.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/session_cluster.hpp"
#include "runtime/run/checkpoint.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <atomic>
#include <map>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

class HeterogeneousRun : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(testing::write_heterogeneous_store(store())); }
  std::filesystem::path store() const { return scratch_.path() / "graph"; }
  std::filesystem::path output() const { return scratch_.path() / "out"; }
  Result<Job> job(const Settings& settings) const {
    return testing::heterogeneous_job(store(), output(), settings);
  }
  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return testing::run_job(std::move(made));
  }
  testing::ScratchFolder scratch_;
};

TEST_F(HeterogeneousRun, LayoutsChangeNeitherBatchesNorParameters) {
  std::map<std::uint32_t, RunRecord> first;  // by number of ranks
  const auto expect_same = [&](std::uint32_t world, const Settings& settings) {
    const std::string name = fmt::format("{}", fmt::join(settings, " "));
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    const auto& right = first.try_emplace(world, record).first->second;
    EXPECT_EQ(record.batches, first.begin()->second.batches) << name;
    EXPECT_EQ(record.parameters, right.parameters) << name;
    EXPECT_EQ(record.best_parameters, right.best_parameters) << name;
    EXPECT_EQ(record.outputs, right.outputs) << name;
  };
  expect_same(1, {});
  for (const std::string parts : {"1", "2", "4"}) {
    expect_same(2, {"cluster.hosts=2", "partition.parts=" + parts});
  }
  expect_same(2, {"cluster.trainers_per_host=2"});
  for (const std::string threads : {"1", "4"}) {
    expect_same(2, {"cluster.hosts=2", "cluster.threads=" + threads});
  }
  expect_same(2, {"cluster.hosts=2", "cluster.placement=worker", "cluster.samplers_per_trainer=3"});
  expect_same(2, {"cluster.hosts=2", "cluster.window=65536"});
}

TEST_F(HeterogeneousRun, LayoutsChangeNoKindOfModel) {
  for (const Settings& model : std::vector<Settings>{
           {"model.kind=rgcn", "model.bases=2", "model.input=linear"},
           {"model.kind=rgat", "model.heads=2", "model.residual=true"},
           {"model.kind=gatv2", "model.heads=2", "model.loops=false"},
           {"model.kind=hgt", "model.heads=2", "model.input=linear"},
           {"model.kind=graphsage", "model.norm=batch", "model.activation=leaky_relu"}}) {
    const std::string name = fmt::format("{}", fmt::join(model, " "));
    const auto with = [&](Settings settings) {
      settings.insert(settings.end(), model.begin(), model.end());
      return settings;
    };
    ASSERT_OK_AND_ASSIGN(const auto alone, run(with({"cluster.trainers_per_host=2"})));
    ASSERT_OK_AND_ASSIGN(const auto apart, run(with({"cluster.hosts=2", "partition.parts=3"})));
    EXPECT_EQ(apart.parameters, alone.parameters) << name;
    EXPECT_EQ(apart.best_parameters, alone.best_parameters) << name;
    EXPECT_EQ(apart.outputs, alone.outputs) << name;
  }
}

TEST_F(HeterogeneousRun, FanoutsFrontierAndFeaturesChangeTheBatches) {
  ASSERT_OK_AND_ASSIGN(const auto plain, run({}));
  for (const std::string setting :
       {"sample.fanout={\"*\": [5, 4], \"rev_writes\": [2, 0]}", "sample.fanout=[5, 4]",
        "sample.frontier=all", "sample.edge_dir=out", "features.normalize=row", "seed=2"}) {
    ASSERT_OK_AND_ASSIGN(const auto other, run({setting, "partition.parts=2", "cluster.hosts=2"}));
    EXPECT_NE(other.batches, plain.batches) << setting;
  }
}

TEST_F(HeterogeneousRun, LearnsWhatLiesTwoHopsAway) {
  for (const std::string frontier : {"new", "all"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({"train.epochs=12", "sample.frontier=" + frontier,
                                                 "sample.fanout=[8, 8]"}));
    ASSERT_TRUE(record.test.has_value());
    EXPECT_GT(record.test->accuracy, 0.8) << frontier;
  }
}

TEST_F(HeterogeneousRun, GoesOnFromACheckpointWithTheSameBits) {
  const Settings settings = {"checkpoint.every.steps=3", "train.epochs=3", "cluster.hosts=2",
                             "partition.parts=2", "model.norm=batch"};
  ASSERT_OK_AND_ASSIGN(const auto right, run(settings));
  ASSERT_OK_AND_ASSIGN(auto made, job(settings));
  ASSERT_OK_AND_ASSIGN(const auto stored, prepare_store(made, [](const std::string&) {}));
  ASSERT_TRUE(fit_to_graph_or_print(made, stored.info()));
  std::vector<std::shared_ptr<const Checkpoint>> written;
  {
    ASSERT_OK_AND_ASSIGN(const auto cluster, SimulatedCluster::create(made, stored, {}));
    RunSetup setup;
    setup.write_checkpoint = [&](const Checkpoint& what) {
      written.push_back(std::make_shared<const Checkpoint>(what));
      return ok_status();
    };
    ASSERT_OK(cluster->run(std::move(setup)));
  }
  ASSERT_FALSE(written.empty());

  ASSERT_OK_AND_ASSIGN(const auto cluster, SimulatedCluster::create(made, stored, {}));
  RunSetup setup;
  setup.resume = written.front();
  ASSERT_OK_AND_ASSIGN(const auto resumed, cluster->run(std::move(setup)));

  EXPECT_EQ(resumed.record.batches, right.batches);
  EXPECT_EQ(resumed.record.parameters, right.parameters);
  EXPECT_EQ(resumed.record.best_parameters, right.best_parameters);
  EXPECT_EQ(resumed.record.outputs, right.outputs);
}

// ---- sessions ----

/// Takes all batches and looks at the types in each.
Status look_at_all(Session& session) {
  const auto& types = session.graph().node_types;
  for (std::uint32_t e = 0; e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      EXPECT_EQ(batch.rows.size(), 3U);
      EXPECT_EQ(batch.sampled->edges.size(), 4U);
      EXPECT_EQ(batch.labels.size(), batch.sampled->seed_index.size());
      for (std::size_t t = 0; t < types.size(); ++t) {
        EXPECT_EQ(batch.rows[t].features.rows(), batch.sampled->nodes[t].ids.size());
        EXPECT_EQ(batch.rows[t].features.cols(), types[t].features->cols);
      }
    }
  }
  return session.status();
}

SessionOutcome run_sessions(const Job& job, const PartitionedStore& store,
                            const SessionCluster::RankFunction& fn) {
  auto cluster = SessionCluster::create(job, store, {});
  if (!cluster) {
    return {.status = cluster.error(), .batches = {}, .steps = 0};
  }
  (*cluster)->start(fn);
  return (*cluster)->wait();
}

TEST_F(HeterogeneousRun, SessionsGetTheBatchesOfTheBuiltInTrainer) {
  const Settings settings = {"cluster.hosts=2", "partition.parts=2"};
  ASSERT_OK_AND_ASSIGN(const auto built_in, run(settings));
  ASSERT_OK_AND_ASSIGN(const auto made, job(settings));
  ASSERT_OK_AND_ASSIGN(const auto stored, prepare_store(made, [](const std::string&) {}));

  const auto ran = run_sessions(made, stored, look_at_all);

  ASSERT_OK(ran.status);
  EXPECT_EQ(to_string(ran.batches), to_string(built_in.batches.value_or(Digest{})));
}

TEST_F(HeterogeneousRun, SessionsReadAndSampleNodesOfAnyType) {
  const Settings settings = {"cluster.hosts=2", "partition.parts=2"};
  ASSERT_OK_AND_ASSIGN(const auto made, job(settings));
  ASSERT_OK_AND_ASSIGN(const auto stored, prepare_store(made, [](const std::string&) {}));

  const auto ran = run_sessions(made, stored, [](Session& session) -> Status {
    EXPECT_EQ(session.columns(), 5U) << "of authors";
    EXPECT_EQ(session.classes(), 3U);
    TROUPE_ASSIGN_OR_RETURN(const auto seeds, session.seeds("train"));
    EXPECT_EQ(seeds.node_type, NodeTypeId{0});
    TROUPE_ASSIGN_OR_RETURN(const auto venue,
                            session.read_rows(std::vector<NodeId>{NodeId{8}}, NodeTypeId{2}));
    EXPECT_EQ(venue.features.cols(), 9U);
    const auto one = raw(venue.original_ids.at(0));
    EXPECT_EQ(venue.features.view().row(0)[one], 1.0F);
    NeighborRequest request{.nodes = {NodeId{8}, NodeId{3}},
                            .fanout = {2, 2},
                            .node_type = NodeTypeId{2},
                            .with_rows = true};
    TROUPE_ASSIGN_OR_RETURN(const auto sampled, session.sample_neighbors(request));
    EXPECT_EQ(sampled->sampled->seed_type, NodeTypeId{2});
    EXPECT_EQ(sampled->sampled->nodes[1].hop_end[1], 4U) << "two papers per venue";
    EXPECT_GT(sampled->sampled->nodes[0].ids.size(), 0U);
    EXPECT_TRUE(sampled->labels.empty());
    EXPECT_EQ(sampled->rows[1].features.cols(), 12U);
    TROUPE_ASSIGN_OR_RETURN(auto tensor,
                            session.make_tensor("t", {.node_type = NodeTypeId{1}, .shape = {3}}));
    if (session.rank() == Rank{0}) {
      const std::vector<float> row{0, 2, 0};
      TROUPE_RETURN_IF_ERROR(
          tensor.write(std::vector<NodeId>{NodeId{499}}, std::span<const float>(row)));
    }
    TROUPE_RETURN_IF_ERROR(session.barrier(std::chrono::seconds(60)));
    TROUPE_ASSIGN_OR_RETURN(const auto read, tensor.read(std::vector<NodeId>{NodeId{499}}));
    EXPECT_EQ(read.as<float>()[1], 2.0F);
    TROUPE_ASSIGN_OR_RETURN(const auto edges, session.edges(EdgeTypeId{1}));
    EXPECT_EQ(edges.count,
              (session.graph().edge_types[1].count + (session.rank() == Rank{0} ? 1U : 0U)) / 2U);
    return session.barrier(std::chrono::seconds(60));
  });

  EXPECT_OK(ran.status);
}

/// Venues are asked for the papers that had appeared there by different years.
TEST_F(HeterogeneousRun, SessionsSampleNodesAsOfTimesOfTheirOwn) {
  const Settings settings = {"cluster.hosts=2", "partition.parts=2",
                             R"(sample.edge_data=["times"])"};
  ASSERT_OK_AND_ASSIGN(const auto made, job(settings));
  ASSERT_OK_AND_ASSIGN(const auto stored, prepare_store(made, [](const std::string&) {}));
  const auto ran = run_sessions(made, stored, [](Session& session) -> Status {
    NeighborRequest request{.nodes = {NodeId{8}, NodeId{3}, NodeId{8}, NodeId{8}},
                            .fanout = {6},
                            .node_type = NodeTypeId{2},
                            .times = {1995, 2010, 3000, -5}};
    TROUPE_ASSIGN_OR_RETURN(const auto batch, session.sample_neighbors(request));
    const auto& sampled = *batch->sampled;
    EXPECT_EQ(sampled.seed_index, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(sampled.disjoint);
    const auto& appears = sampled.edges[2];
    EXPECT_EQ(appears.offsets[3] - appears.offsets[2], 6U) << "all have appeared by then";
    EXPECT_EQ(appears.offsets[4], appears.offsets[3]) << "nothing had";
    for (std::size_t tree = 0; tree < 4; ++tree) {
      for (auto e = appears.offsets[tree]; e < appears.offsets[tree + 1]; ++e) {
        EXPECT_LT(appears.times[e], request.times[tree]);
      }
    }
    request.times.pop_back();
    EXPECT_ERROR(session.sample_neighbors(request), Errc::invalid_argument,
                 "expected 4 times or none, got 3");
    return ok_status();
  });
  EXPECT_OK(ran.status);
}

}  // namespace
}  // namespace troupe
