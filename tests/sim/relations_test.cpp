// Whole runs that learn links of several edge types at once, whose ends are of three node types.
#include "launcher/prepare_store.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/link_files.hpp"

#include <algorithm>
#include <fmt/format.h>
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
  /// Links of a role by edge type, in the order in which a run has them.
  Result<std::vector<LinkList>> links_of(const std::string& role) const {
    TROUPE_ASSIGN_OR_RETURN(const auto made, job({}));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(made, [](const std::string&) {}));
    TROUPE_ASSIGN_OR_RETURN(const auto links, store.links("both", role));
    std::vector<LinkList> of_types;
    for (const auto& group : links.groups()) {
      of_types.push_back(links.slice(group.first, group.count));
    }
    return of_types;
  }
  /// Files of a role whose candidates are `each[type]` times the answer, and whose false links are the
  /// true ones. \returns settings with them
  Result<Settings> files_of_answers(const std::string& role,
                                    std::vector<std::uint64_t> each) const {
    TROUPE_ASSIGN_OR_RETURN(const auto of_types, links_of(role));
    std::vector<std::string> candidates;
    std::vector<std::string> negatives;
    for (std::size_t t = 0; t < of_types.size(); ++t) {
      std::vector<std::int64_t> answers;
      std::vector<std::int64_t> ends;
      for (std::uint64_t i = 0; i < of_types[t].size(); ++i) {
        const auto link = of_types[t].at(i);
        const auto answer = static_cast<std::int64_t>(raw(link.original_destination));
        answers.insert(answers.end(), each[t], answer);
        ends.insert(ends.end(), {static_cast<std::int64_t>(raw(link.original_source)), answer});
      }
      const auto file = [&](const char* what) {
        return (scratch_.path() / fmt::format("{}_{}_{}.npy", role, what, t)).string();
      };
      testing::write_numbers(file("candidates"), each[t], answers);
      testing::write_numbers(file("negatives"), 2, ends);
      candidates.push_back(file("candidates"));
      negatives.push_back(file("negatives"));
    }
    return Settings{
        fmt::format(R"(eval.candidates.{}=["{}","{}"])", role, candidates[0], candidates[1]),
        fmt::format(R"(eval.negatives.{}=["{}","{}"])", role, negatives[0], negatives[1])};
  }
  testing::ScratchFolder scratch_;
};

/// All links together fill a batch, those of a type do not: what no batch has would not be learned.
TEST_F(Relations, ATypeWithoutAFullBatchIsRefusedWhereShortOnesAreDropped) {
  ASSERT_OK_AND_ASSIGN(const auto of_types, links_of("train"));
  ASSERT_EQ(of_types.size(), 2U);
  const auto fewer = std::min(of_types[0].size(), of_types[1].size());
  const auto more = std::max(of_types[0].size(), of_types[1].size());
  ASSERT_LT(fewer, more);
  const auto with = [](std::uint64_t batch, const Settings& layout) {
    return with_settings_of(
        {"sample.drop_last=true", "train.epochs=1", fmt::format("sample.batch_size={}", batch)},
        layout);
  };
  for (const std::uint64_t batch : {fewer + 1, more + 1}) {
    EXPECT_ERROR(run(with(batch, {})), Errc::invalid_argument,
                 fmt::format("/sample/drop_last: expected false where {}",
                             batch > more ? fmt::format("{} seeds fill no batch", fewer + more)
                                          : fmt::format("the {} links of", fewer)));
  }
  EXPECT_OK(run(with(fewer, {})));
  const Settings local{"cluster.hosts=2", "partition.parts=2", "sample.seed_order=local"};
  EXPECT_ERROR(run(with(more / 2 - 5, local)), Errc::invalid_argument,
               fmt::format("the {} links of", fewer));
  EXPECT_OK(run(with(fewer / 4, local)));
}

TEST_F(Relations, LayoutsChangeNeitherBatchesNorParametersNorRanks) {
  for (const Settings& way : std::vector<Settings>{
           {"eval.mode=exact", "eval.ranks=all", "eval.metric=mrr"},
           {"eval.mode=sampled", "task.negatives.strict=true", "task.decoder.kind=dot"},
           {"eval.mode=exact", "eval.ranks=all", "task.decoder.kind=mlp", "task.decoder.hidden=8"},
           {"eval.mode=exact", "task.negatives.strict=true", "task.negatives.by=degree"}}) {
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

/// Which links a rank has depends on where parts lie, but not on how the cluster works.
TEST_F(Relations, LocalBatchesAreThoseOfTheRanksPartsInEveryLayoutOfThese) {
  const Settings local{"sample.seed_order=local", "eval.mode=exact", "cluster.hosts=2",
                       "partition.parts=2"};
  ASSERT_OK_AND_ASSIGN(const auto plain, run(local));
  for (const Settings& layout :
       std::vector<Settings>{{"cluster.network.latency_us=200", "cluster.batches_in_flight=1"},
                             {"cluster.threads=1", "cluster.samplers_per_trainer=2"},
                             {"cluster.placement=worker"},
                             {"partition.halo=1"}}) {
    SCOPED_TRACE(layout.front());
    ASSERT_OK_AND_ASSIGN(const auto other, run(with_settings_of(local, layout)));
    expect_same_relations(other, plain);
  }
  ASSERT_OK_AND_ASSIGN(const auto global,
                       run(with_settings_of(local, {"sample.seed_order=global"})));
  EXPECT_NE(*global.batches, *plain.batches);
  EXPECT_LT(testing::remote_nodes(plain), testing::remote_nodes(global));
}

/// Candidates that are the answer are level with it, whatever was learned: rows of files belong to the
/// links of their type in its order.
TEST_F(Relations, FilesOfEachTypeAreReadInTheOrderOfItsLinks) {
  ASSERT_OK_AND_ASSIGN(auto files, files_of_answers("val", {4, 2}));
  ASSERT_OK_AND_ASSIGN(const auto of_test, files_of_answers("test", {2, 6}));
  files = with_settings_of(files, of_test);
  files.push_back("train.epochs=1");
  const auto way = with_settings_of(files, {"eval.mode=exact", "cluster.trainers_per_host=2"});
  ASSERT_OK_AND_ASSIGN(const auto one, run(way));
  EXPECT_DOUBLE_EQ(*one.valid->by_name("writes.mrr"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(*one.valid->by_name("appears.mrr"), 1.0 / 2);
  EXPECT_DOUBLE_EQ(*one.test->by_name("writes.mrr"), 1.0 / 2);
  EXPECT_DOUBLE_EQ(*one.test->by_name("appears.mrr"), 1.0 / 4);
  EXPECT_DOUBLE_EQ(*one.test->by_name("mrr"), 3.0 / 8);
  EXPECT_DOUBLE_EQ(*one.test->by_name("writes.auc"), 0.5);
  EXPECT_DOUBLE_EQ(*one.test->by_name("appears.auc"), 0.5);
  EXPECT_EQ(one.test->labelled, 80U);
  ASSERT_OK_AND_ASSIGN(const auto spread,
                       run(with_settings_of(files, {"eval.mode=exact", "cluster.hosts=2",
                                                    "partition.parts=3", "cluster.threads=1"})));
  expect_same_relations(spread, one);

  ASSERT_OK_AND_ASSIGN(const auto sampled,
                       run(with_settings_of(files, {"cluster.trainers_per_host=2"})));
  ASSERT_OK_AND_ASSIGN(const auto sampled_apart,
                       run(with_settings_of(files, {"cluster.hosts=2", "partition.parts=3"})));
  EXPECT_EQ(sampled.test->labelled, 80U);
  expect_same_relations(sampled_apart, sampled);

  // One candidate more than there are links.
  testing::write_numbers(scratch_.path() / "short.npy", 1, std::vector<std::int64_t>(41));
  const auto file = (scratch_.path() / "short.npy").string();
  EXPECT_ERROR(run({fmt::format(R"(eval.candidates.val=["{}","{}"])", file, file)}),
               Errc::invalid_argument, "expected candidates of 40 links");
}

TEST_F(Relations, WithoutLayersRowsOfAllTypesAreCompared) {
  const Settings way{"model.layers=0",          "model.norm=none",       "model.dropout=0",
                     "model.input_dropout=0",   "sample.fanout=[0]",     "eval.mode=exact",
                     "embedding.author.dim=11", "embedding.paper.dim=4", "embedding.venue.dim=7"};
  for (const Settings& more : std::vector<Settings>{
           {"task.decoder.kind=distmult"}, {"task.decoder.kind=dot", "task.negatives.by=degree"}}) {
    const auto learned = with_settings_of(way, more);
    ASSERT_OK_AND_ASSIGN(const auto one,
                         run(with_settings_of(learned, {"cluster.trainers_per_host=2"})));
    for (const Settings& layout : std::vector<Settings>{
             {"cluster.hosts=2", "partition.parts=3", "cluster.network.latency_us=200"},
             {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"}}) {
      ASSERT_OK_AND_ASSIGN(const auto spread, run(with_settings_of(learned, layout)));
      expect_same_relations(spread, one);
      EXPECT_EQ(spread.tensors, one.tensors);
    }
    EXPECT_TRUE(one.test->by_name("writes.mrr") && one.test->by_name("appears.mrr"));
  }
  auto uneven = way;
  uneven.back() = "embedding.venue.dim=8";
  EXPECT_ERROR(run(uneven), Errc::invalid_argument,
               "model without layers: expected rows of \"venue\" in 16 columns, got 17");
}

TEST_F(Relations, WhatIsNotBuiltForThemIsRefused) {
  for (const auto& [setting, found] : std::vector<std::pair<Settings, std::string>>{
           {{"task.reverse=rev_writes"}, "/task/reverse: expected a list, one for each,"},
           {{R"(task.reverse=["rev_writes"])"}, "/task/reverse: expected one for each"},
           {{R"(task.reverse=["rev_writes","writes"])"}, "/task/reverse: expected \"rev_appears\""},
           {{"eval.candidates.val=one.npy"},
            "/eval/candidates/val: expected a list of files, one for each, with links of 2"},
           {{R"(eval.negatives.test=["a.npy","b.npy","c.npy"])"},
            "/eval/negatives/test: expected a list of files, one for each, with links of 2 edge "
            "types, found 3"},
           {{"task.reverse=rev_writes", "dataset.split=written",
             R"(eval.negatives.test=["a.npy","b.npy"])"},
            "/eval/negatives/test: expected one file with links of one edge type, found 2"},
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
