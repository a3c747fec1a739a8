// Pairs of walks as what is learned, with layers and without: the same bits whatever the layout and after losses.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/run/checkpoint.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

Settings with_more(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Layouts that must not be seen, of so many ranks.
std::vector<std::pair<std::uint32_t, Settings>> walk_layouts() {
  return {{4, {"cluster.trainers_per_host=4", "partition.parts=1"}},
          {4, {"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=3"}},
          {4, {"cluster.hosts=4", "partition.parts=2", "cluster.network.latency_us=300"}},
          {2, {"cluster.trainers_per_host=2", "partition.parts=5"}},
          {2, {"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"}},
          {2, {"cluster.hosts=2", "cluster.placement=worker", "partition.parts=3"}},
          {2, {"cluster.hosts=2", "cluster.placement=server_client", "partition.parts=2"}},
          {2, {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"}},
          {2, {"cluster.hosts=2", "partition.parts=2", "cluster.window=65536"}},
          {1, {"partition.parts=1", "cluster.threads=2"}},
          {1, {"partition.parts=3"}}};
}

void expect_told(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// What happens to a run.
struct WalkDisturbance {
  std::uint64_t at = 0;  ///< step of rank 0; 0: undisturbed
  std::optional<ProcessId> process = {};
  std::string actor = {};  ///< killed then; empty: the run is stopped
  bool resume = false;
};

/// A graph of 300 nodes without features, in three communities.
class DeepWalk : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(testing::write_featureless_store(scratch_.path() / "graph")); }

  Result<Job> job(const Settings& settings) const {
    const auto text =
        fmt::format(R"({{
      "dataset": {{ "path": "{}" }},
      "task": {{ "kind": "unsupervised", "positives": "walks", "negatives": {{ "kind": "triplet" }},
                "walk": {{ "length": 8, "window": 3 }} }},
      "sample": {{ "batch_size": 32 }},
      "embedding": {{ "node": {{ "dim": 8, "optimizer": {{ "kind": "adagrad", "lr": 0.1 }} }} }},
      "model": {{ "layers": 0 }},
      "train": {{ "epochs": 2 }},
      "output": "{}"
    }})",
                    (scratch_.path() / "graph").string(), (scratch_.path() / "out").string());
    TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, "", settings));
    if (!reading.problems.empty()) {
      return Error(Errc::invalid_argument, to_string(reading.problems));
    }
    return std::move(reading.job);
  }

  Result<RunResult> run(const Settings& settings, const WalkDisturbance& what = {}) const {
    TROUPE_ASSIGN_OR_RETURN(auto job, this->job(settings));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
    if (!fit_to_graph_or_print(job, store.info())) {
      return Error(Errc::invalid_argument, "the job does not fit its data");
    }
    SimulatedCluster* running = nullptr;
    std::atomic<bool> done{false};
    ClusterHooks hooks;
    hooks.on_step = [&](const StepReport& report) {
      if (raw(report.rank) == 0 && report.global_step == what.at && !done.exchange(true)) {
        what.process ? static_cast<void>(running->kill(*what.process, what.actor))
                     : running->stop();
      }
    };
    if (what.at > 0) {  // long enough for the request to arrive
      hooks.pause = [at = what.at](Rank rank, std::uint64_t step) {
        return std::chrono::milliseconds(raw(rank) == 0 && step == at ? 300 : 0);
      };
    }
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(job, store, std::move(hooks)));
    running = cluster.get();
    return cluster->run(
        testing::setup_with_checkpoints(*cluster, scratch_.path() / "checkpoints", what.resume));
  }

  static void expect_same(const RunResult& found, const RunResult& right) {
    EXPECT_EQ(to_string(*found.record.batches), to_string(*right.record.batches));
    EXPECT_EQ(to_string(found.record.parameters), to_string(right.record.parameters));
    EXPECT_EQ(found.record.tensors, right.record.tensors);
    EXPECT_EQ(to_string(found.record.outputs), to_string(right.record.outputs));
    ASSERT_TRUE(found.only_outputs() && right.only_outputs());
    EXPECT_TRUE(std::ranges::equal(found.only_outputs()->view().flat(),
                                   right.only_outputs()->view().flat()));
  }

  void expect_same_in_all_layouts(const Settings& way) const {
    std::optional<Digest> batches;
    std::map<std::uint32_t, RunResult> by_world;
    for (const auto& [world, layout] : walk_layouts()) {
      SCOPED_TRACE(layout.front() + " " + layout.back());
      ASSERT_OK_AND_ASSIGN(const auto result, run(with_more(way, layout)));
      batches = batches.value_or(*result.record.batches);
      EXPECT_EQ(to_string(*result.record.batches), to_string(*batches));
      expect_same(result, by_world.emplace(world, result).first->second);
    }
    EXPECT_EQ(by_world.size(), 3U);
    EXPECT_NE(by_world.at(1).record.tensors, by_world.at(2).record.tensors);
  }

  testing::ScratchFolder scratch_;
};

TEST_F(DeepWalk, IsTheSameInAllLayouts) {
  expect_same_in_all_layouts({});
}

TEST_F(DeepWalk, OfSecondOrderWithRestartsAndParametersOfADecoderIsTheSame) {
  expect_same_in_all_layouts({"task.walk.p=0.5", "task.walk.q=4", "task.walk.restart=0.2",
                              "task.walk.per_seed=2", "task.decoder.kind=distmult",
                              "train.loss=softmax", "task.negatives.kind=binary", "train.epochs=1",
                              "task.negatives.per_positive=3", "task.negatives.strict=true"});
}

TEST_F(DeepWalk, GivesTheRowsThatTheHoldersHave) {
  ASSERT_OK_AND_ASSIGN(const auto result, run({"cluster.hosts=2", "partition.parts=3"}));

  ASSERT_TRUE(result.only_outputs());
  EXPECT_EQ(result.only_outputs()->rows(), 300U);
  EXPECT_EQ(result.only_outputs()->cols(), 8U);
  ASSERT_EQ(result.record.tensors.size(), 1U);
  EXPECT_EQ(result.record.tensors[0].rows, result.record.tensors[0].best)
      << "the last epoch counts";
  EXPECT_EQ(result.record.epochs.size(), 2U);
  EXPECT_LT(result.record.epochs[1].loss, result.record.epochs[0].loss);
  EXPECT_FALSE(result.record.test.has_value());
}

/// Nodes whose nearest row is of the same community: as many numbers apart.
std::size_t near_their_own(ConstMatrix rows, std::size_t communities) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    std::size_t nearest = i == 0 ? 1 : 0;
    const auto score = [&](std::size_t j) {
      double dot = 0;
      double square = 0;
      for (std::size_t c = 0; c < rows.cols; ++c) {
        dot += double{rows.row(i)[c]} * rows.row(j)[c];
        square += double{rows.row(j)[c]} * rows.row(j)[c];
      }
      return dot / std::sqrt(square);
    };
    for (std::size_t j = 0; j < rows.rows; ++j) {
      nearest = j != i && score(j) > score(nearest) ? j : nearest;
    }
    right += nearest % communities == i % communities ? 1U : 0U;
  }
  return right;
}

/// Edges stay in a community: the nearest rows are of the same one.
TEST_F(DeepWalk, PutsNodesOfACommunityTogether) {
  ASSERT_OK_AND_ASSIGN(const auto result, run({"train.epochs=15", "task.walk.per_seed=3"}));

  EXPECT_GT(near_their_own(result.only_outputs()->view(), 3), 285U);  // 100 by chance
}

/// Edges of weight 0 are never walked: what they join falls apart.
TEST_F(DeepWalk, WalksByWeights) {
  std::filesystem::remove_all(scratch_.path() / "graph");
  ASSERT_OK(testing::write_featureless_store(scratch_.path() / "graph", {}, true));
  const Settings longer{"train.epochs=15", "task.walk.per_seed=3"};
  ASSERT_OK_AND_ASSIGN(const auto uniform, run(longer));
  ASSERT_OK_AND_ASSIGN(const auto weighted, run(with_more(longer, {"sample.choice=weighted"})));

  EXPECT_LT(near_their_own(uniform.only_outputs()->view(), 6), 200U);
  EXPECT_GT(near_their_own(weighted.only_outputs()->view(), 6), 250U);
  expect_same_in_all_layouts({"sample.choice=weighted", "task.negatives.by=degree"});
  expect_same_in_all_layouts({"sample.choice=weighted", "task.walk.p=0.5", "task.walk.q=4",
                              "sample.cache.budget=4096", "train.epochs=1"});
}

TEST_F(DeepWalk, WalksByWeightsNeedThem) {
  ASSERT_OK_AND_ASSIGN(auto made, job({"sample.choice=weighted"}));
  ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(made, [](const std::string&) {}));

  EXPECT_EQ(to_string(check_against_graph(made, store.info(), JobTrainer::built_in)),
            "/sample/choice: expected \"uniform\" along edges without weights, found \"weighted\", "
            "and no weights of \"edge\"; import the graph with weights\n");
}

TEST_F(DeepWalk, DrawsFalsePairsByDegreeInAllLayouts) {
  const Settings both{"task.negatives.kind=binary", "task.negatives.per_positive=2"};
  const auto by = with_more(both, {"task.negatives.by=degree"});
  expect_same_in_all_layouts(by);
  ASSERT_OK_AND_ASSIGN(const auto uniform, run(both));
  ASSERT_OK_AND_ASSIGN(const auto by_degree, run(by));
  EXPECT_NE(*uniform.record.batches, *by_degree.record.batches);
}

TEST_F(DeepWalk, StoppedAtEveryStepGoesOnInOtherParts) {
  const Settings two{"cluster.hosts=2", "partition.parts=2"};
  ASSERT_OK_AND_ASSIGN(const auto right, run(two));
  for (std::uint64_t at = 1; at <= 9; ++at) {
    SCOPED_TRACE(at);
    std::filesystem::remove_all(scratch_.path() / "checkpoints");
    ASSERT_FALSE(run(two, {.at = at}).ok());
    const auto parts = fmt::format("partition.parts={}", 1 + at % 3);
    ASSERT_OK_AND_ASSIGN(const auto rest, run({"cluster.hosts=2", parts}, {.resume = true}));
    expect_same(rest, right);
  }
}

TEST_F(DeepWalk, LostActorsChangeNothing) {
  const Settings two{"cluster.hosts=2", "partition.parts=2"};
  ASSERT_OK_AND_ASSIGN(const auto right, run(two));
  for (const auto& [process, actor] :
       std::vector<std::pair<std::uint32_t, std::string>>{{1, "trainer of rank 1"},
                                                          {1, "sampler 0 of trainer of rank 1"},
                                                          {0, "holder of part 0"}}) {
    SCOPED_TRACE(actor);
    ASSERT_OK_AND_ASSIGN(const auto record,
                         run(two, {.at = 4, .process = ProcessId{process}, .actor = actor}));
    expect_same(record, right);
  }
}

TEST_F(DeepWalk, WalksFromGivenNodesAlone) {
  const auto file = scratch_.path() / "some.txt";
  std::ofstream(file) << "4\n9\n200\n4\n17\n";
  ASSERT_OK_AND_ASSIGN(const auto some, run({fmt::format("dataset.seeds.train={}", file.string()),
                                             "train.epochs=1"}));
  EXPECT_GT(some.record.epochs[0].counters.seeds, 0U);
  EXPECT_EQ(some.only_outputs()->rows(), 300U) << "rows of all nodes nevertheless";
  ASSERT_OK_AND_ASSIGN(const auto all, run({"train.epochs=1"}));
  EXPECT_NE(*some.record.batches, *all.record.batches);
}

TEST_F(DeepWalk, LinksOfRowsAloneAreScoredWithoutLayers) {
  for (const char* role : {"train", "val", "test"}) {
    std::vector<std::int64_t> links;
    for (std::int64_t i = role[1] == 'r' ? 0 : role[0] == 'v' ? 1 : 2; i < 290; i += 3) {
      links.insert(links.end(), {i, i + 3, i, (i + 9) % 300});
    }
    testing::write_numbers(scratch_.path() / fmt::format("{}.npy", role), 2, links);
  }
  const auto seeds = [&](const char* role) {
    return fmt::format("dataset.seeds.{}={}", role,
                       (scratch_.path() / fmt::format("{}.npy", role)).string());
  };
  const Settings link{
      "task.kind=link", "task.positives=edges", "task.walk={}",    seeds("train"),
      seeds("val"),     seeds("test"),          "eval.metric=mrr", "eval.negatives.per_positive=5"};
  ASSERT_OK_AND_ASSIGN(const auto one, run(with_more(link, {"cluster.trainers_per_host=2"})));
  ASSERT_OK_AND_ASSIGN(const auto two,
                       run(with_more(link, {"cluster.hosts=2", "partition.parts=3"})));
  EXPECT_EQ(one.record.outputs, two.record.outputs);
  EXPECT_EQ(one.record.tensors, two.record.tensors);
  ASSERT_TRUE(one.record.test && one.record.test->auc);
  EXPECT_EQ(one.record.test->more, two.record.test->more);
  EXPECT_EQ(one.record.best_epoch, two.record.best_epoch);
}

TEST_F(DeepWalk, RefusesWhatHasNoMeaningWithoutLayersOrWithWalks) {
  const auto problem = [this](const Settings& settings) {
    const auto read = job(settings);
    return read ? std::string() : std::string(read.error().what());
  };
  EXPECT_EQ(problem({}), "");
  expect_told(problem({"sample.fanout=[5]"}),
              "/sample/fanout: expected none: nothing is sampled with model.layers 0");
  expect_told(problem({"model.dropout=0.5"}), "/model/dropout: expected 0 with model.layers 0");
  expect_told(problem({"eval.mode=sampled"}), "/eval/mode: expected \"exact\" with model.layers 0");
  expect_told(problem({"task.kind=node", "task.positives=edges", "task.negatives.kind=none",
                       "task.walk={}"}),
              "/model/layers: expected 1 or more with task.kind \"node\", found 0");
  expect_told(problem({"task.walk.window=0"}),
              "/task/walk/window: expected 1 or more with task.positives \"walks\"");
  expect_told(problem({"sample.choice=last"}),
              "/sample/choice: expected \"uniform\" or \"weighted\"");
  expect_told(problem({"task.kind=link"}),
              "/task/positives: expected \"edges\" with task.kind \"link\"");
  expect_told(problem({"task.positives=edges"}), "/task/walk: expected none with kind");
  expect_told(problem({"task.walk.per_seed=1024", "task.walk.length=254", "task.walk.window=254",
                       "sample.batch_size=100000"}),
              "/sample/batch_size: expected fewer than 2^31 ends of pairs");
}

// ---- with layers ----

class WalksWithLayers : public ::testing::Test {
 protected:
  Result<RunResult> run(const Settings& settings) const {
    const auto all = with_more(
        {"task.kind=unsupervised", "task.positives=walks", "task.negatives.kind=triplet",
         "task.walk.length=4", "task.walk.window=2", "train.epochs=2", "sample.batch_size=256"},
        settings);
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::cora_job(scratch_.path(), all));
    return testing::run_whole(std::move(job));
  }
  testing::ScratchFolder scratch_;
};

TEST_F(WalksWithLayers, LayoutsChangeNeitherBatchesNorRows) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"cluster.trainers_per_host=2"}));
  ASSERT_TRUE(one.only_outputs());
  EXPECT_EQ(one.only_outputs()->rows(), 2708U);
  EXPECT_EQ(one.only_outputs()->cols(), 16U);
  EXPECT_LT(one.record.epochs[1].loss, one.record.epochs[0].loss);
  for (const Settings& layout : std::vector<Settings>{
           {"cluster.hosts=2", "partition.parts=3"},
           {"cluster.hosts=2", "partition.parts=2", "cluster.network.latency_us=200"},
           {"cluster.hosts=2", "cluster.placement=server_client"}}) {
    SCOPED_TRACE(layout.back());
    ASSERT_OK_AND_ASSIGN(const auto spread, run(layout));
    EXPECT_EQ(spread.record.batches, one.record.batches);
    EXPECT_EQ(spread.record.parameters, one.record.parameters);
    EXPECT_EQ(spread.record.outputs, one.record.outputs);
    EXPECT_TRUE(std::ranges::equal(spread.only_outputs()->view().flat(),
                                   one.only_outputs()->view().flat()));
  }
  ASSERT_OK_AND_ASSIGN(const auto without,
                       run({"task.exclude=batch", "cluster.trainers_per_host=2"}));
  EXPECT_NE(without.record.batches, one.record.batches) << "edges between the ends are left out";
}

// ---- along several edge types ----

/// Authors write papers of their class: pairs of authors who wrote one.
class WalksAlongTypes : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  }
  Result<Job> job(const Settings& settings) const {
    const Settings way{"task.kind=unsupervised",
                       "task.positives=walks",
                       "task.negatives.kind=triplet",
                       "eval.mode=exact",
                       "train.epochs=2",
                       R"(task.walk.along=["rev_writes","writes"])",
                       "task.walk.length=4",
                       "dataset.split=pairs"};
    return testing::heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out",
                                      with_more(way, settings));
  }
  Result<RunResult> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return testing::run_whole(std::move(made));
  }
  testing::ScratchFolder scratch_;
};

TEST_F(WalksAlongTypes, LayoutsChangeNeitherBatchesNorRows) {
  for (const Settings& way : std::vector<Settings>{
           {"task.negatives.kind=binary"},
           {"model.layers=0", "model.norm=none", "model.dropout=0", "model.input_dropout=0",
            "sample.fanout=[0]", "embedding.author.dim=4", "embedding.author.init.std=1"}}) {
    ASSERT_OK_AND_ASSIGN(const auto one, run(with_more(way, {"cluster.trainers_per_host=2"})));
    ASSERT_TRUE(one.only_outputs());
    EXPECT_EQ(one.only_outputs()->rows(), 240U) << "rows of all authors";
    EXPECT_LT(one.record.epochs[1].loss, one.record.epochs[0].loss);
    for (const Settings& layout :
         std::vector<Settings>{{"cluster.hosts=2", "partition.parts=3"},
                               {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"},
                               {"cluster.hosts=2", "cluster.placement=server_client"}}) {
      SCOPED_TRACE(way.front() + " " + layout.back());
      ASSERT_OK_AND_ASSIGN(const auto spread, run(with_more(way, layout)));
      EXPECT_EQ(spread.record.batches, one.record.batches);
      EXPECT_EQ(spread.record.parameters, one.record.parameters);
      EXPECT_EQ(spread.record.tensors, one.record.tensors);
      EXPECT_TRUE(std::ranges::equal(spread.only_outputs()->view().flat(),
                                     one.only_outputs()->view().flat()));
    }
  }
}

/// Pairs of authors, of papers, and of both ways between them, a batch those of one kind.
TEST_F(WalksAlongTypes, PairsOfAllTypesAreTheSameInAllLayouts) {
  const Settings all{"task.walk.pairs=all", "task.negatives.kind=binary", "train.epochs=4"};
  for (const Settings& way : std::vector<Settings>{
           {"task.walk.window=2", "dataset.split=rated"},
           {"model.layers=0", "model.norm=none", "model.dropout=0", "model.input_dropout=0",
            "sample.fanout=[0]", "embedding.author.dim=13", "embedding.author.init.std=1",
            "embedding.paper.dim=6", "embedding.paper.init.std=1", "dataset.split=rated"}}) {
    const auto both = with_more(all, way);
    ASSERT_OK_AND_ASSIGN(const auto one, run(with_more(both, {"cluster.trainers_per_host=2"})));
    ASSERT_TRUE(one.only_outputs() && one.record.test);
    EXPECT_EQ(one.only_outputs()->rows(), 240U) << "rows of all authors, whose walks they are";
    EXPECT_LT(one.record.epochs[3].loss, one.record.epochs[0].loss);
    EXPECT_GT(one.record.test->labelled, 0U) << "links between authors and papers as well";
    for (const Settings& layout :
         std::vector<Settings>{{"cluster.hosts=2", "partition.parts=3"},
                               {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"},
                               {"cluster.hosts=2", "cluster.placement=server_client"}}) {
      SCOPED_TRACE(way.front() + " " + layout.back());
      ASSERT_OK_AND_ASSIGN(const auto spread, run(with_more(both, layout)));
      EXPECT_EQ(spread.record.batches, one.record.batches);
      EXPECT_EQ(spread.record.parameters, one.record.parameters);
      EXPECT_EQ(spread.record.tensors, one.record.tensors);
      EXPECT_EQ(spread.record.test->auc, one.record.test->auc);
      EXPECT_TRUE(std::ranges::equal(spread.only_outputs()->view().flat(),
                                     one.only_outputs()->view().flat()));
    }
    const bool learns_papers = way.size() > 2;
    if (learns_papers) {  // Walks for authors alone do not read those rows.
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const auto seeds,
                         run(with_more(both, {"dataset.split=pairs", "task.walk.pairs=seeds",
                                              "cluster.trainers_per_host=2"})));
    EXPECT_NE(seeds.record.batches, one.record.batches);
  }
}

TEST_F(WalksAlongTypes, NeedToLeadBackWithinAWindow) {
  const auto refused = [this](const Settings& settings) {
    auto made = job(settings);
    if (!made) {
      return std::string(made.error().what());
    }
    const auto store = prepare_store(*made, [](const std::string&) {});
    EXPECT_OK(store);
    return to_string(check_against_graph(*made, store->info(), JobTrainer::built_in));
  };
  EXPECT_EQ(refused({"train.epochs=1"}), "");
  expect_told(refused({"task.walk.window=1"}),
              "/task/walk/window: expected 2 or more: as many steps are between \"author\" nodes");
  expect_told(refused({"task.walk.length=1"}),
              "/task/walk/along: expected steps that lead back to \"author\" nodes");
  expect_told(refused({R"(task.walk.along=["rev_writes","appears"])"}),
              "/task/walk/along: expected edge types that lead on from \"paper\" nodes");
  expect_told(refused({"task.exclude=batch"}), "/task/exclude: expected \"none\"");
  expect_told(refused({"task.negatives.strict=true"}), "/task/negatives/strict: expected false");
  expect_told(refused({"task.negatives.by=degree"}),
              "/task/negatives/by: expected \"uniform\" with walks along edges between several");
  expect_told(refused({"dataset.split=rated"}),
              "/dataset/split: expected test links between \"author\" nodes");
  EXPECT_EQ(refused({"task.walk.pairs=all", "dataset.split=rated", "task.walk.window=1"}), "");
  expect_told(refused({"task.walk.pairs=all", R"(task.walk.along=["rev_writes","wrote"])"}),
              "/task/walk/along/1: expected an edge type of the graph, found \"wrote\"");
  expect_told(refused({"task.kind=link", "task.positives=edges", "task.walk.pairs=all"}),
              "/task/walk: expected none with kind \"link\"");
}

}  // namespace
}  // namespace troupe
