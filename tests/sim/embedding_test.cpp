// Learned rows: whatever the layout, the same batches, parameters and rows.
#include "runtime/graph/graph_json.hpp"
#include "tests/sim/heterogeneous_run.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

namespace troupe {
namespace {

using testing::Settings;

Settings with_settings(Settings first, const Settings& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Every layout that must not be seen, of so many ranks.
std::vector<std::pair<std::uint32_t, Settings>> embedding_layouts() {
  std::vector<std::pair<std::uint32_t, Settings>> all{
      {4, {"cluster.hosts=1", "cluster.trainers_per_host=4"}},
      {4, {"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=3"}},
      {4, {"cluster.hosts=4", "cluster.trainers_per_host=1", "partition.parts=4"}},
      {4, {"cluster.hosts=4", "partition.parts=2", "cluster.network.latency_us=300"}},
      {2, {"cluster.hosts=1", "cluster.trainers_per_host=2"}},
      {2, {"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"}},
      {2, {"cluster.hosts=2", "cluster.placement=worker", "partition.parts=3"}},
      {2,
       {"cluster.hosts=2", "partition.parts=5", "partition.method=fennel",
        "cluster.samplers_per_trainer=2"}},
      {2, {"cluster.hosts=2", "cluster.batches_in_flight=1", "partition.parts=2"}},
      {2,
       {"cluster.hosts=2", "cluster.window=65536", "partition.parts=2",
        "cluster.network.bandwidth_gbps=1"}},
      {1, {}}};
  for (const char* parts : {"1", "2", "3", "5"}) {
    all.emplace_back(1, Settings{std::string("partition.parts=") + parts});
  }
  for (const char* threads : {"1", "2"}) {
    all.emplace_back(2, Settings{"cluster.hosts=2", "partition.parts=2",
                                 std::string("cluster.threads=") + threads});
  }
  return all;
}

/// Expects batches, parameters, rows and scores to depend on the number of ranks alone.
void expect_same_in_all_layouts(const std::function<Result<RunRecord>(const Settings&)>& run,
                                std::size_t tables) {
  std::optional<Digest> batches;
  std::map<std::uint32_t, RunRecord> by_world;
  for (const auto& [world, settings] : embedding_layouts()) {
    SCOPED_TRACE(settings.empty() ? "plain" : settings.front() + " " + settings.back());
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    batches = batches.value_or(*record.batches);
    EXPECT_EQ(to_string(*record.batches), to_string(*batches));
    const auto& first = by_world.emplace(world, record).first->second;
    EXPECT_EQ(to_string(record.parameters), to_string(first.parameters));
    EXPECT_EQ(to_string(record.best_parameters), to_string(first.best_parameters));
    EXPECT_EQ(to_string(record.outputs), to_string(first.outputs));
    ASSERT_EQ(record.tensors.size(), tables);
    for (std::size_t t = 0; t < tables; ++t) {
      EXPECT_EQ(record.tensors[t].name, first.tensors[t].name);
      EXPECT_EQ(to_string(record.tensors[t].rows), to_string(first.tensors[t].rows));
      EXPECT_EQ(to_string(record.tensors[t].best), to_string(first.tensors[t].best));
    }
    EXPECT_EQ(record.valid->accuracy, first.valid->accuracy);
  }
  EXPECT_EQ(by_world.size(), 3U);
  EXPECT_NE(by_world.at(1).tensors, by_world.at(2).tensors) << "other ranks, other steps";
}

class LearnedRowsRun : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  }
  /// Papers from learned rows beside features, venues and authors likewise: 120 seeds in batches of 32, so
  /// that of four ranks none is without a batch, and of 50 one is.
  Result<RunRecord> run(const Settings& settings, const char* graph = "graph") const {
    const Settings tables{"embedding.paper.dim=6",
                          "embedding.paper.init.std=0.1",
                          "embedding.venue.dim=4",
                          "embedding.venue.optimizer.kind=adam",
                          "embedding.venue.optimizer.lr=0.01",
                          "embedding.author.dim=3",
                          "embedding.author.optimizer.kind=row_adagrad"};
    TROUPE_ASSIGN_OR_RETURN(
        auto job, testing::heterogeneous_job(scratch_.path() / graph, scratch_.path() / "out",
                                             with_settings(tables, settings)));
    return testing::run_job(std::move(job));
  }
  /// A copy of the graph whose papers and venues have no features.
  void write_twin_without_features() const {
    const auto twin = scratch_.path() / "twin";
    std::filesystem::copy(scratch_.path() / "graph", twin,
                          std::filesystem::copy_options::recursive);
    ASSERT_OK_AND_ASSIGN(auto graph, read_graph_info(twin));
    for (auto& type : graph.node_types) {
      if (type.name == "paper" || type.name == "venue") {
        type.features.reset();
        type.column_stats.reset();
      }
    }
    std::ofstream(twin / "graph.json") << graph_to_json(graph);
  }
  testing::ScratchFolder scratch_;
};

TEST_F(LearnedRowsRun, OfSeveralTypesAreTheSameInAllLayouts) {
  expect_same_in_all_layouts([this](const Settings& settings) { return run(settings); }, 3);
}

TEST_F(LearnedRowsRun, AreInferredExactlyTheSameInAllLayouts) {
  const Settings exact{"eval.mode=exact", "train.epochs=1"};
  expect_same_in_all_layouts(
      [&](const Settings& settings) { return run(with_settings(exact, settings)); }, 3);
}

TEST_F(LearnedRowsRun, MayBeStaleWithTheSameBatches) {
  const Settings stale{"train.epochs=8", "train.staleness=4", "sample.batch_size=16"};
  ASSERT_OK_AND_ASSIGN(const auto exact, run({"train.epochs=8", "sample.batch_size=16"}));
  for (const Settings& settings :
       {Settings{}, Settings{"cluster.hosts=2", "partition.parts=3"},
        Settings{"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=2",
                 "cluster.network.latency_us=500"},
        Settings{"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"},
        Settings{"cluster.batches_in_flight=1"}}) {
    SCOPED_TRACE(settings.empty() ? "plain" : settings.back());
    ASSERT_OK_AND_ASSIGN(const auto record, run(with_settings(stale, settings)));
    EXPECT_EQ(to_string(*record.batches), to_string(*exact.batches));
    EXPECT_LT(record.epochs.back().loss, 0.9 * record.epochs.front().loss);
    const auto& counters = record.epochs[0].counters;
    EXPECT_EQ(counters.learned_rows, exact.epochs[0].counters.learned_rows) << "read once each";
  }
}

TEST_F(LearnedRowsRun, CountDuplicatesOfDisjointTreesAndRanksWithoutABatch) {
  const Settings trees{"sample.disjoint=true", "sample.batch_size=50", "train.epochs=1"};
  expect_same_in_all_layouts(
      [&](const Settings& settings) { return run(with_settings(trees, settings)); }, 3);
}

TEST_F(LearnedRowsRun, LearnMoreThanTheParametersAlone) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"train.epochs=1"}));
  ASSERT_OK_AND_ASSIGN(const auto more, run({"train.epochs=12"}));
  EXPECT_LT(more.epochs.back().loss, 0.8 * one.epochs.back().loss);
  EXPECT_NE(one.tensors, more.tensors);
  const auto& counters = one.epochs[0].counters;
  EXPECT_GT(counters.learned_rows, counters.seeds);
  EXPECT_GT(counters.learned_messages, 0U);
  EXPECT_GT(counters.learned_bytes, counters.learned_rows * 3 * sizeof(float));
}

/// Those of authors are read all the same.
TEST_F(LearnedRowsRun, InPlaceOfFeaturesAreThoseOfAGraphWithoutThem) {
  write_twin_without_features();
  const Settings replaced{"embedding.paper.features=false", "embedding.venue.features=false"};
  for (const char* mode : {"eval.mode=exact", "eval.mode=sampled"}) {
    const Settings way{mode, "train.epochs=2"};
    ASSERT_OK_AND_ASSIGN(const auto beside, run(way));
    ASSERT_OK_AND_ASSIGN(const auto without, run(way, "twin"));
    EXPECT_NE(without.parameters, beside.parameters);
    for (const Settings& layout : std::vector<Settings>{
             {},
             {"partition.parts=3", "cluster.placement=server_client"},
             {"partition.parts=2", "partition.halo=1", "partition.halo_features=true"},
             {"cluster.device=emulated:1"},
             {"dataset.memory=mapped", "features.cache.policy=hotness", "partition.order=hotness",
              "features.cache.budget=20KB"}}) {
      SCOPED_TRACE(fmt::format("{} {}", mode, fmt::join(layout, " ")));
      ASSERT_OK_AND_ASSIGN(const auto found,
                           run(with_settings(with_settings(way, replaced), layout)));
      EXPECT_EQ(found.batches, without.batches);
      EXPECT_EQ(found.parameters, without.parameters);
      EXPECT_EQ(found.outputs, without.outputs);
      EXPECT_EQ(found.tensors, without.tensors);
    }
  }
}

TEST_F(LearnedRowsRun, AnotherSeedGivesOtherRows) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"train.epochs=1"}));
  ASSERT_OK_AND_ASSIGN(const auto again, run({"train.epochs=1"}));
  ASSERT_OK_AND_ASSIGN(const auto other, run({"train.epochs=1", "seed=2"}));
  EXPECT_EQ(one.tensors, again.tensors);
  EXPECT_NE(one.tensors, other.tensors);
}

/// A graph without features, with evaluation of one kind.
void expect_same_without_features(const std::string& evaluation) {
  const testing::ScratchFolder scratch;
  // Cora, whose features nothing reads.
  ASSERT_OK(testing::write_featureless_store(scratch.path() / "graph"));
  const auto text = fmt::format(R"({{
    "dataset": {{ "path": "{}" }},
    "sample": {{ "fanout": [5, 5], "batch_size": 16 }},
    "embedding": {{ "node": {{ "dim": 8 }} }},
    "model": {{ "kind": "gcn", "hidden": 8 }},
    "train": {{ "epochs": 2 }},
    "eval": {{ "mode": "{}" }},
    "output": "{}"
  }})",
                                (scratch.path() / "graph").string(), evaluation,
                                (scratch.path() / "out").string());
  expect_same_in_all_layouts(
      [&](const Settings& settings) -> Result<RunRecord> {
        TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, "", settings));
        if (!reading.problems.empty()) {
          return Error(Errc::invalid_argument, to_string(reading.problems));
        }
        return testing::run_job(std::move(reading.job));
      },
      1);
}

TEST(LearnedRowsAlone, TrainAGraphWithoutFeatures) {
  expect_same_without_features("sampled");
}
TEST(LearnedRowsAlone, AreInferredExactly) {
  expect_same_without_features("exact");
}

}  // namespace
}  // namespace troupe
