// Whole runs that learn links of several edge types at once, whose ends are of three node types.
#include "launcher/prepare_store.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/heterogeneous_run.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::Settings;

Settings with_settings_of(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

void expect_same_relations(const RunRecord& found, const RunRecord& expected) {
  EXPECT_EQ(to_string(*found.batches), to_string(*expected.batches));
  EXPECT_EQ(to_string(found.parameters), to_string(expected.parameters));
  EXPECT_EQ(to_string(found.best_parameters), to_string(expected.best_parameters));
  EXPECT_EQ(to_string(found.outputs), to_string(expected.outputs));
  ASSERT_TRUE(found.test && expected.test);
  EXPECT_EQ(found.test->auc, expected.test->auc);
  EXPECT_EQ(found.test->more, expected.test->more);
}

class Relations : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  }

  Result<Job> job(const Settings& settings) const {
    const Settings way{"task.kind=link",
                       "dataset.split=both",
                       "task.negatives.kind=binary",
                       R"(task.reverse=["rev_writes","rev_appears"])",
                       "task.decoder.kind=distmult",
                       "sample.batch_size=32",
                       "train.epochs=3"};
    return testing::heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out",
                                      with_settings_of(way, settings));
  }
  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return testing::run_job(std::move(made));
  }
  testing::ScratchFolder scratch_;
};

TEST_F(Relations, LayoutsChangeNeitherBatchesNorParametersNorRanks) {
  for (const Settings& way : std::vector<Settings>{
           {"eval.mode=exact", "eval.ranks=all", "eval.metric=mrr"},
           {"eval.mode=sampled", "task.negatives.strict=true", "task.decoder.kind=dot"},
           {"eval.mode=exact", "eval.ranks=all", "task.decoder.kind=mlp",
            "task.decoder.hidden=8"}}) {
    ASSERT_OK_AND_ASSIGN(const auto one,
                         run(with_settings_of(way, {"cluster.trainers_per_host=2"})));
    for (const Settings& layout : std::vector<Settings>{
             {"cluster.hosts=2", "partition.parts=1"},
             {"cluster.hosts=2", "partition.parts=3", "cluster.network.latency_us=200"},
             {"cluster.hosts=2", "partition.parts=5", "cluster.threads=1"},
             {"cluster.hosts=2", "partition.parts=2", "cluster.placement=worker"},
             {"cluster.hosts=2", "cluster.replicas=2", "cluster.batches_in_flight=1"}}) {
      SCOPED_TRACE(way.back() + " " + layout.back());
      ASSERT_OK_AND_ASSIGN(const auto spread, run(with_settings_of(way, layout)));
      expect_same_relations(spread, one);
    }
  }
}

TEST_F(Relations, ScoresAreOfEachTypeAndTheirMean) {
  ASSERT_OK_AND_ASSIGN(const auto record,
                       run({"eval.mode=exact", "eval.ranks=all", "train.epochs=20",
                            "train.optimizer.lr=0.02", "cluster.hosts=2", "partition.parts=3"}));
  const auto& test = *record.test;
  EXPECT_EQ(test.labelled, 80U);
  for (const std::string name : {"auc", "ap", "mrr", "mr", "hits@10"}) {
    ASSERT_TRUE(test.by_name("writes." + name) && test.by_name("appears." + name)) << name;
    EXPECT_DOUBLE_EQ(*test.by_name(name),
                     (*test.by_name("writes." + name) + *test.by_name("appears." + name)) / 2);
  }
  EXPECT_LT(record.epochs.back().loss, 0.9 * record.epochs.front().loss);
}

/// What a batch leaves out decides what it samples.
TEST_F(Relations, EdgesOfABatchAreLeftOutOfIt) {
  ASSERT_OK_AND_ASSIGN(const auto left_out, run({"eval.mode=exact", "train.epochs=1"}));
  ASSERT_OK_AND_ASSIGN(const auto kept,
                       run({"eval.mode=exact", "train.epochs=1", "task.exclude=none"}));
  ASSERT_OK_AND_ASSIGN(const auto one_way, run({"eval.mode=exact", "train.epochs=1",
                                                R"(task.reverse=["rev_writes",""])"}));
  EXPECT_NE(*left_out.batches, *kept.batches);
  EXPECT_NE(*left_out.batches, *one_way.batches);
}

TEST_F(Relations, WithoutLabelsAllEdgesOfTheTypesAreLearned) {
  const Settings way{"task.kind=unsupervised", R"(task.edges=["writes","appears"])",
                     "eval.mode=exact", "train.epochs=1"};
  ASSERT_OK_AND_ASSIGN(const auto one, run(with_settings_of(way, {"cluster.trainers_per_host=2"})));
  ASSERT_OK_AND_ASSIGN(const auto spread,
                       run(with_settings_of(way, {"cluster.hosts=2", "partition.parts=3"})));
  expect_same_relations(spread, one);
  ASSERT_OK_AND_ASSIGN(const auto other,
                       run(with_settings_of(way, {R"(task.edges=["appears","writes"])",
                                                  R"(task.reverse=["rev_appears","rev_writes"])",
                                                  "dataset.split=fresh"})));
  EXPECT_NE(*other.batches, *one.batches) << "the order is the job's";
  EXPECT_ERROR(run(with_settings_of(way, {R"(task.edges=["writes","writes"])"})),
               Errc::invalid_argument, "found \"writes\" twice");
}

TEST_F(Relations, WhatIsNotBuiltForThemIsRefused) {
  for (const auto& [setting, found] : std::vector<std::pair<Settings, std::string>>{
           {{"task.reverse=rev_writes"}, "/task/reverse: expected a list, one for each,"},
           {{R"(task.reverse=["rev_writes"])"}, "/task/reverse: expected one for each"},
           {{R"(task.reverse=["rev_writes","writes"])"}, "/task/reverse: expected \"rev_appears\""},
           {{"task.negatives.by=degree"}, "/task/negatives/by: expected \"uniform\""},
           {{"sample.seed_order=local"}, "/sample/seed_order: expected \"global\""},
           {{"task.kind=edge", "task.classes=3", "task.negatives.kind=none"},
            "/dataset/split: expected links of one edge type with task.kind \"edge\""}}) {
    ASSERT_OK_AND_ASSIGN(auto made, job(setting));
    ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(made, [](const std::string&) {}));
    const auto problems = to_string(check_against_graph(made, store.info(), JobTrainer::built_in));
    EXPECT_NE(problems.find(found), std::string::npos) << problems;
  }
}

}  // namespace
}  // namespace troupe
