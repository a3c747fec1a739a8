// Whole runs that learn links: the same bits whatever the layout, and scores that mean something.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::Settings;

Settings joined(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

void expect_same_links(const RunRecord& found, const RunRecord& expected) {
  ASSERT_TRUE(found.batches && expected.batches && found.test && expected.test);
  EXPECT_EQ(to_string(*found.batches), to_string(*expected.batches));
  EXPECT_EQ(to_string(found.parameters), to_string(expected.parameters));
  EXPECT_EQ(to_string(found.best_parameters), to_string(expected.best_parameters));
  EXPECT_EQ(to_string(found.outputs), to_string(expected.outputs));
  EXPECT_EQ(found.test->auc, expected.test->auc);
  EXPECT_EQ(found.test->more, expected.test->more);
  ASSERT_EQ(found.epochs.size(), expected.epochs.size());
  for (std::size_t e = 0; e < found.epochs.size(); ++e) {
    EXPECT_EQ(found.epochs[e].loss, expected.epochs[e].loss);
    EXPECT_EQ(found.epochs[e].valid->auc, expected.epochs[e].valid->auc);
  }
}

class LinkTraining : public ::testing::Test {
 protected:
  void SetUp() override { files_ = testing::write_cora_links(scratch_.path()); }

  Result<RunRecord> run(const Settings& settings) const {
    auto all = joined(files_, {"task.negatives.kind=binary", "task.negatives.per_positive=2",
                               "sample.batch_size=128"});
    return testing::run_cora(scratch_.path() / "out", joined(all, settings));
  }

  testing::ScratchFolder scratch_;
  Settings files_;
};

TEST_F(LinkTraining, LayoutsChangeNeitherBatchesNorParametersNorScores) {
  const std::vector<Settings> ways = {
      {"eval.negatives.per_positive=3"},
      {"eval.mode=sampled", "eval.metric=mrr", "eval.negatives.kind=binary"},
      {"task.decoder.kind=mlp", "train.loss=softmax", "eval.negatives.strict=true"}};
  const std::vector<Settings> layouts = {
      {"cluster.hosts=2", "partition.parts=1"},
      {"cluster.hosts=2", "partition.parts=2", "cluster.network.latency_us=200"},
      {"cluster.hosts=2", "partition.parts=3", "cluster.threads=1"},
      {"cluster.hosts=2", "cluster.placement=worker", "cluster.samplers_per_trainer=2"},
      {"cluster.hosts=2", "cluster.placement=server_client", "cluster.servers=1"},
      {"cluster.hosts=2", "cluster.replicas=2", "cluster.batches_in_flight=1"},
      {"cluster.hosts=2", "cluster.window=65536", "partition.method=fennel"}};
  for (const auto& way : ways) {
    ASSERT_OK_AND_ASSIGN(const auto one, run(joined(way, {"cluster.trainers_per_host=2"})));
    for (const auto& layout : layouts) {
      SCOPED_TRACE(way.front() + " " + layout.back());
      ASSERT_OK_AND_ASSIGN(const auto record, run(joined(way, layout)));
      expect_same_links(record, one);
    }
  }
}

/// Times that links have in the split, such as those of an edge split, are left out unless they are asked for.
TEST_F(LinkTraining, LinksWithTimesLearnAsThoseWithout) {
  Settings times;
  for (const auto& [role, count] : std::vector<std::pair<std::string, std::int64_t>>{
           {"train", 500}, {"val", 120}, {"test", 120}}) {
    std::vector<std::int64_t> some;
    for (std::int64_t i = 0; i < count; ++i) {
      some.push_back(i * 7 % 31);
    }
    const auto file = scratch_.path() / (role + "_times.npy");
    testing::write_numbers(file, 1, some);
    times.push_back(fmt::format("dataset.seeds.times.{}={}", role, file.string()));
  }
  for (const char* mode : {"eval.mode=exact", "eval.mode=sampled"}) {
    SCOPED_TRACE(mode);
    ASSERT_OK_AND_ASSIGN(const auto without, run({mode, "cluster.hosts=2"}));
    ASSERT_OK_AND_ASSIGN(const auto with, run(joined(times, {mode, "cluster.hosts=2"})));
    EXPECT_GE(*without.test->auc, 0.5);
    EXPECT_EQ(with.test->labelled, without.test->labelled);
    EXPECT_EQ(with.epochs.size(), without.epochs.size());
    expect_same_links(with, without);
  }
}

TEST_F(LinkTraining, EveryLossAndDecoderLearnsWithTheSameBits) {
  for (const char* decoder : {"dot", "distmult", "mlp"}) {
    for (const auto& loss : nn::link_loss_kinds()) {
      SCOPED_TRACE(fmt::format("{} {}", decoder, loss.name));
      const Settings way = {fmt::format("task.decoder.kind={}", decoder),
                            fmt::format("train.loss={}", loss.name), "train.epochs=1"};

      ASSERT_OK_AND_ASSIGN(const auto one, run(joined(way, {"cluster.trainers_per_host=2"})));
      ASSERT_OK_AND_ASSIGN(const auto two,
                           run(joined(way, {"cluster.hosts=2", "partition.parts=3"})));

      expect_same_links(two, one);
      EXPECT_TRUE(std::isfinite(one.epochs.back().loss));
    }
  }
}

TEST_F(LinkTraining, TheSameHoldsForOtherWaysOfSampling) {
  for (const Settings& way : std::vector<Settings>{{"sample.disjoint=true"},
                                                   {"sample.subgraph=induced"},
                                                   {"sample.edge_dir=out", "sample.frontier=all"},
                                                   {"task.exclude=none", "model.kind=gcn"},
                                                   {"sample.drop_last=true", "model.kind=gat"}}) {
    SCOPED_TRACE(way.front());
    const auto brief = joined(way, {"train.epochs=1", "eval.negatives.strict=true"});
    ASSERT_OK_AND_ASSIGN(const auto one, run(joined(brief, {"cluster.trainers_per_host=2"})));
    ASSERT_OK_AND_ASSIGN(const auto spread,
                         run(joined(brief, {"cluster.hosts=2", "partition.parts=3"})));

    expect_same_links(spread, one);
  }
}

/// Decoders and losses are computed where the network is; ranks reduce, or a lone one keeps its gradient.
TEST_F(LinkTraining, DevicesHaveTheBitsOfTheCpu) {
  const std::vector<Settings> ways = {
      {"task.decoder.kind=dot", "train.loss=bce", "eval.mode=sampled"},
      {"task.decoder.kind=distmult", "train.loss=margin", "train.clip=0.5"},
      {"task.decoder.kind=distmult", "train.loss=self_adversarial", "eval.mode=sampled"},
      {"task.decoder.kind=mlp", "train.loss=softmax", "eval.mode=sampled"},
      {"task.decoder.kind=mlp", "train.loss=balanced"}};
  const std::vector<Settings> layouts = {
      {"cluster.device=emulated:2", "cluster.hosts=2", "partition.parts=2"},
      {"cluster.device=emulated:1", "cluster.hosts=1"}};
  std::size_t next = 0;  // Each way has one of the layouts, the first one both, and two epochs
  for (const auto& way : ways) {
    for (std::size_t i = 0; i < (next == 0 ? layouts.size() : 1); ++i) {
      const auto& layout = layouts[(next + i) % layouts.size()];
      const auto all =
          joined(joined(way, {next == 0 ? "train.epochs=2" : "train.epochs=1"}), layout);
      SCOPED_TRACE(fmt::format("{} {} {}", way[0], way[1], layout[0]));
      ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(joined(all, {"cluster.device=cpu"})));
      ASSERT_OK_AND_ASSIGN(const auto record, run(all));

      expect_same_links(record, on_cpu);
    }
    ++next;
  }
}

/// The host samples links, with negatives; the device has the rows.
TEST_F(LinkTraining, DevicesGatherTheRowsOfLinks) {
  for (const char* mode : {"exact", "sampled"}) {
    const Settings way = {"cluster.hosts=1", "cluster.trainers_per_host=2", "train.epochs=1",
                          std::string("eval.mode=") + mode};
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(way));
    for (const char* const budget : {"10%", "auto"}) {
      SCOPED_TRACE(fmt::format("{}, budget {}", mode, budget));
      ASSERT_OK_AND_ASSIGN(
          const auto record,
          run(joined(way, {"cluster.device=emulated:2",
                           fmt::format("features.cache.device_budget={}", budget)})));
      expect_same_links(record, on_cpu);
      const auto& counters = record.epochs.back().counters;
      EXPECT_GT(counters.rows_device, 0U);
      EXPECT_EQ(counters.rows_device + counters.rows_pinned, counters.rows);
      EXPECT_EQ(counters.rows, on_cpu.epochs.back().counters.rows);
    }
  }
}

TEST_F(LinkTraining, LearnsWhichPapersCiteEachOther) {
  const Settings way = {testing::whole_cora, "train.epochs=8",  "task.negatives.per_positive=1",
                        "model.hidden=32",   "model.dropout=0", "model.input_dropout=0"};
  ASSERT_OK_AND_ASSIGN(const auto record, run(way));

  EXPECT_LT(record.epochs.back().loss, record.epochs.front().loss);
  EXPECT_GT(*record.test->auc, 0.75);
  EXPECT_EQ(record.test->labelled, 120U);
  EXPECT_GT(*record.test->by_name("mrr"), 0.7);  // each among two
  EXPECT_GT(*record.test->by_name("ap"), 0.7);
}

TEST_F(LinkTraining, EvaluationsOfARunAskTheSame) {
  for (const char* mode : {"exact", "sampled"}) {
    ASSERT_OK_AND_ASSIGN(
        const auto record,
        run({"train.optimizer.lr=1e-40", "train.epochs=3", std::string("eval.mode=") + mode,
             "eval.negatives.per_positive=5", "train.optimizer.weight_decay=0"}));
    ASSERT_EQ(record.epochs.size(), 3U);
    EXPECT_EQ(record.epochs[1].valid->auc, record.epochs[0].valid->auc) << mode;
    EXPECT_EQ(record.epochs[2].valid->more, record.epochs[0].valid->more) << mode;
  }
}

TEST_F(LinkTraining, AllNeighborsInBatchesGiveTheExactScores) {
  const Settings way = {"sample.fanout=[-1,-1]", "train.epochs=1", "sample.batch_size=64"};
  ASSERT_OK_AND_ASSIGN(const auto sampled, run(joined(way, {"eval.mode=sampled"})));
  ASSERT_OK_AND_ASSIGN(const auto exact, run(way));

  EXPECT_EQ(sampled.parameters, exact.parameters);
  EXPECT_NEAR(*sampled.epochs[0].valid->auc, *exact.epochs[0].valid->auc, 1e-3);
}

TEST_F(LinkTraining, GivenPairsAreScoredInEveryLayout) {
  const auto given = joined(testing::write_candidates(scratch_.path()), {"eval.metric=hits@3"});
  ASSERT_OK_AND_ASSIGN(const auto one, run(given));
  ASSERT_OK_AND_ASSIGN(const auto sampled, run(joined(given, {"eval.mode=sampled"})));

  ASSERT_TRUE(one.test && one.test->by_name("hits@3") && one.test->auc);
  EXPECT_EQ(one.test->labelled, 120U);
  EXPECT_EQ(sampled.parameters, one.parameters);
  for (const Settings& layout :
       std::vector<Settings>{{"cluster.hosts=2", "partition.parts=3"},
                             {"cluster.trainers_per_host=2", "partition.parts=2"}}) {
    ASSERT_OK_AND_ASSIGN(const auto spread, run(joined(given, layout)));
    ASSERT_OK_AND_ASSIGN(const auto again, run(joined(joined(given, layout), {"seed=1"})));
    expect_same_links(again, spread);
    EXPECT_EQ(spread.test->labelled, 120U);
  }
}

TEST_F(LinkTraining, MoreBatchesThanAnEvaluationTakesAreLeftOut) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"eval.mode=sampled", "eval.max_batches=1",
                                               "sample.batch_size=50", "train.epochs=1"}));

  EXPECT_EQ(record.epochs[0].valid->labelled, 50U);
  EXPECT_EQ(record.valid->labelled, 120U);
}

// ---- without labels and splits ----

class UnsupervisedTraining : public ::testing::Test {
 protected:
  Result<RunResult> run(const Settings& settings) const {
    auto all = joined({"task.kind=unsupervised", "task.negatives.kind=triplet", "train.epochs=2",
                       "sample.batch_size=512"},
                      settings);
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::cora_job(scratch_.path(), all));
    return testing::run_whole(std::move(job));
  }
  testing::ScratchFolder scratch_;
};

TEST_F(UnsupervisedTraining, EveryEdgeIsALinkAndEveryNodeGetsARow) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"cluster.trainers_per_host=2"}));

  EXPECT_EQ(one.record.epochs[0].counters.seeds, 10556U);
  EXPECT_LT(one.record.epochs[1].loss, one.record.epochs[0].loss);
  ASSERT_TRUE(one.only_outputs());
  EXPECT_EQ(one.only_outputs()->rows(), 2708U);
  EXPECT_EQ(one.only_outputs()->cols(), 16U);
  EXPECT_FALSE(one.record.test);
  for (const Settings& layout : std::vector<Settings>{
           {"cluster.hosts=2", "partition.parts=3"},
           {"cluster.hosts=2", "partition.parts=3", "partition.method=hotness",
            "partition.order=hotness", "features.cache.policy=hotness", "features.cache.ratio=0.2"},
           {"cluster.hosts=2", "cluster.placement=server_client"}}) {
    ASSERT_OK_AND_ASSIGN(const auto spread, run(layout));
    EXPECT_EQ(spread.record.batches, one.record.batches);
    EXPECT_EQ(spread.record.parameters, one.record.parameters);
    EXPECT_EQ(spread.record.outputs, one.record.outputs);
    EXPECT_TRUE(std::ranges::equal(spread.only_outputs()->view().flat(),
                                   one.only_outputs()->view().flat()));
  }
}

TEST_F(UnsupervisedTraining, DevicesHaveTheBitsOfTheCpu) {
  for (const Settings& way :
       std::vector<Settings>{{"task.decoder.kind=dot", "eval.mode=sampled"},
                             {"task.positives=walks", "task.decoder.kind=mlp"}}) {
    const auto all = joined({"cluster.trainers_per_host=2", "train.epochs=1"}, way);
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(all));
    ASSERT_OK_AND_ASSIGN(const auto there, run(joined(all, {"cluster.device=emulated:2"})));
    SCOPED_TRACE(way.front());
    EXPECT_EQ(there.record.batches, on_cpu.record.batches);
    EXPECT_EQ(there.record.parameters, on_cpu.record.parameters);
    EXPECT_EQ(there.record.outputs, on_cpu.record.outputs);
    EXPECT_EQ(there.record.epochs.back().loss, on_cpu.record.epochs.back().loss);
  }
}

TEST_F(UnsupervisedTraining, OwnLinksComeInThePlaceOfEdgesAndTypesMustExist) {
  const auto files = testing::write_cora_links(scratch_.path());
  ASSERT_OK_AND_ASSIGN(const auto own, run({files[1], "train.epochs=1", "eval.predictions=false"}));
  EXPECT_EQ(own.record.epochs[0].counters.seeds, 500U);
  EXPECT_FALSE(own.only_outputs());

  EXPECT_ERROR(run({"task.edges=knows"}), Errc::invalid_argument,
               "/task/edges: expected one of the graph's 1 edge types (\"edge\"), found \"knows\"");
}

// Who wrote which paper: ends of two types.
class HeterogeneousLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  }
  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(
        auto job, testing::heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out",
                                             joined(settings, {"dataset.split=rated"})));
    return testing::run_job(std::move(job));
  }

  testing::ScratchFolder scratch_;
};

TEST_F(HeterogeneousLinks, LayoutsChangeNothing) {
  const Settings link = {"task.kind=link", "task.negatives.kind=triplet", "train.epochs=2",
                         "task.reverse=rev_writes", "task.decoder.kind=distmult"};
  for (const Settings& way :
       std::vector<Settings>{{"model.kind=graphsage"},
                             {"model.kind=rgcn", "eval.mode=sampled"},
                             {"sample.edge_dir=out", "task.decoder.kind=mlp"}}) {
    SCOPED_TRACE(way.front());
    const auto all = joined(link, way);
    ASSERT_OK_AND_ASSIGN(const auto one, run(joined(all, {"cluster.trainers_per_host=2"})));
    ASSERT_OK_AND_ASSIGN(const auto spread,
                         run(joined(all, {"cluster.hosts=2", "partition.parts=4"})));
    ASSERT_OK_AND_ASSIGN(
        const auto there,
        run(joined(all, {"cluster.trainers_per_host=2", "cluster.device=emulated:2"})));

    expect_same_links(spread, one);
    expect_same_links(there, one);
  }
}

TEST_F(HeterogeneousLinks, ClassesAndNumbersOfEdgesAreLearned) {
  for (const Settings& way : std::vector<Settings>{
           {"task.classes=3", "eval.mode=exact", "train.epochs=20", "train.optimizer.lr=0.03"},
           {"task.classes=3", "eval.mode=exact", "train.epochs=20", "train.optimizer.lr=0.03",
            "train.class_weights=balanced"},
           {"train.loss=mse", "eval.mode=exact"},
           {"train.loss=huber", "train.delta=0.3", "eval.mode=sampled", "task.decoder.kind=dot"}}) {
    SCOPED_TRACE(way.front());
    const auto all = joined({"task.kind=edge"}, way);
    ASSERT_OK_AND_ASSIGN(const auto one, run(joined(all, {"cluster.trainers_per_host=2"})));
    for (const Settings& other :
         std::vector<Settings>{{"cluster.hosts=2", "partition.parts=4"},
                               {"cluster.trainers_per_host=2", "cluster.device=emulated:2"}}) {
      ASSERT_OK_AND_ASSIGN(const auto same, run(joined(all, other)));
      EXPECT_EQ(same.batches, one.batches);
      EXPECT_EQ(same.parameters, one.parameters);
      EXPECT_EQ(same.outputs, one.outputs);
      EXPECT_EQ(same.test->accuracy, one.test->accuracy);
      EXPECT_EQ(same.test->more, one.test->more);
      EXPECT_EQ(same.epochs.back().loss, one.epochs.back().loss);
    }
    EXPECT_EQ(one.test->labelled, 80U);
    const bool classes = way.front() == "task.classes=3";
    ASSERT_EQ(one.test->accuracy.has_value(), classes);
    EXPECT_EQ(one.test->by_name("rmse").has_value(), !classes);
    if (classes) {
      EXPECT_GT(*one.test->accuracy, 0.45);  // a third by chance
    }
  }
}

}  // namespace
}  // namespace troupe
