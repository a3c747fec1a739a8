#include "runtime/job/task_rules.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/job/sample_options.hpp"
#include "tests/runtime/job/contains.hpp"
#include "tests/support/expect.hpp"

#include <string>
#include <vector>

namespace troupe {
namespace {

using Keys = std::vector<std::string>;

JobReading read_task(Keys keys) {
  auto reading =
      parse_job(R"({"dataset": {"path": "."}, "sample": {"fanout": [2, 2]}})", ".", keys);
  EXPECT_OK(reading);
  return *std::move(reading);
}

std::string task_problems(Keys keys) {
  return to_string(read_task(std::move(keys)).problems);
}

Keys link_keys(const Keys& more = {}) {
  Keys keys{"task.kind=link", "task.negatives.kind=binary"};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

TEST(TaskKeys, HaveDefaultsOfTheirTask) {
  const auto node = read_task({}).job;
  EXPECT_EQ(node.train.loss, "cross_entropy");
  EXPECT_EQ(node.eval.metric, "accuracy");
  EXPECT_EQ(node.eval.negatives.drawn(), 0U);

  const auto link = read_task(link_keys()).job;
  EXPECT_EQ(link.train.loss, "bce");
  EXPECT_EQ(link.eval.metric, "auc");
  EXPECT_EQ(link.task.decoder.kind, "dot");
  EXPECT_EQ(link.eval.negatives.kind, Negatives::triplet);
  EXPECT_EQ(score_cols(link), 2U);

  const auto files = read_task(link_keys({"eval.negatives.test=false.npy"})).job;
  EXPECT_EQ(files.eval.negatives.kind, Negatives::none);
  EXPECT_EQ(files.eval.negative_files.at("test"), std::vector<std::filesystem::path>{"false.npy"});

  const auto edge = read_task({"task.kind=edge", "task.classes=5"}).job;
  EXPECT_EQ(edge.train.loss, "cross_entropy");
  EXPECT_EQ(edge.task.decoder.kind, "mlp");
  for (const char* kind : {"node", "edge"}) {
    const auto of_loss = [&](const std::string& loss) {
      return read_task({std::string("task.kind=") + kind, "train.loss=" + loss}).job.eval.metric;
    };
    EXPECT_EQ(of_loss("mse"), "rmse");
    EXPECT_EQ(of_loss("mae"), "mae");
    EXPECT_EQ(of_loss("huber"), "rmse");
  }
}

TEST(TaskKeys, EveryLossOfLinksAndEveryScoreFits) {
  for (const auto& loss : nn::link_loss_kinds()) {
    EXPECT_EQ(task_problems(link_keys({"train.loss=" + std::string(loss.name)})), "") << loss.name;
  }
  for (const char* metric : {"auc", "ap", "mrr", "mr", "hits@1", "hits@3", "hits@10", "hits@50"}) {
    EXPECT_EQ(task_problems(link_keys({std::string("eval.metric=") + metric})), "") << metric;
  }
}

TEST(TaskKeys, EdgesOfTwoClassesAreRanked) {
  for (const std::string metric : {"auc", "ap"}) {
    EXPECT_EQ(task_problems({"task.kind=edge", "task.classes=2", "eval.metric=" + metric}), "");
    EXPECT_CONTAINS(task_problems({"task.kind=edge", "task.classes=3", "eval.metric=" + metric}),
                    "/eval/metric: expected \"accuracy\" | \"f1\" with task.kind \"edge\"");
  }
}

TEST(TaskKeys, OthersAreRefusedWithWhatFits) {
  EXPECT_EQ(task_problems({"train.loss=bce"}),
            "/train/loss: expected \"cross_entropy\" | \"bce_logits\" | \"mse\" | \"mae\" | "
            "\"huber\" with task.kind \"node\", found "
            "\"bce\"\n");
  EXPECT_EQ(task_problems(link_keys({"train.loss=cross_entropy"})),
            "/train/loss: expected \"bce\" | \"balanced\" | \"margin\" | \"self_adversarial\" | "
            "\"softmax\" with task.kind \"link\", found \"cross_entropy\"\n");
  EXPECT_CONTAINS(task_problems(link_keys({"eval.metric=accuracy"})),
                  "/eval/metric: expected \"auc\" | \"ap\" | \"mrr\"");
  EXPECT_CONTAINS(task_problems({"eval.metric=mrr"}),
                  "/eval/metric: expected \"accuracy\" | \"auc\" | \"f1\" | \"ap\" with task.kind "
                  "\"node\"");
  EXPECT_CONTAINS(task_problems(link_keys({"train.margin=2"})),
                  "/train/margin: expected 1 with loss \"bce\", found 2");
  EXPECT_EQ(task_problems(link_keys({"train.margin=2", "train.loss=margin"})), "");
  EXPECT_CONTAINS(task_problems(link_keys({"train.temperature=2", "train.loss=margin"})),
                  "/train/temperature: expected 1 with loss \"margin\"");
  EXPECT_CONTAINS(task_problems({"train.delta=2"}),
                  "/train/delta: expected 1 with loss \"cross_entropy\", found 2");
  EXPECT_CONTAINS(task_problems({"train.loss=huber", "train.delta=0"}), "/train/delta: expected");
  EXPECT_EQ(task_problems({"train.loss=huber", "train.delta=0.5"}), "");
  EXPECT_CONTAINS(task_problems(link_keys({"train.loss=huber"})), "/train/loss: expected \"bce\"");
  EXPECT_CONTAINS(task_problems({"train.loss=huber", "train.pos_weight=2"}),
                  "/train/pos_weight: expected 1 with loss \"huber\"");
  EXPECT_CONTAINS(task_problems({"model.out_dim=8"}),
                  "/model/out_dim: expected none with task.kind \"node\", found 8");
  EXPECT_CONTAINS(task_problems({"eval.negatives.kind=binary"}),
                  "/eval/negatives/kind: expected none");
  EXPECT_CONTAINS(task_problems({"eval.candidates.val=c.npy"}),
                  "/eval/candidates/val: expected none");
  EXPECT_CONTAINS(task_problems({"eval.negatives.test=c.npy"}),
                  "/eval/negatives/test: expected none");
}

TEST(TaskKeys, WeightsOfClassesAreForLossesOfClasses) {
  const std::string balanced = "train.class_weights=balanced";
  const auto job = read_task({balanced}).job;
  EXPECT_TRUE(job.train.class_weights.balanced);
  EXPECT_TRUE(read_task({"train.class_weights=[1, 0, 2.5]"}).job.train.class_weights.values ==
              (std::vector<double>{1, 0, 2.5}));
  EXPECT_FALSE(read_task({}).job.train.class_weights.given());
  EXPECT_FALSE(read_task({balanced, "train.class_weights=[1]"}).job.train.class_weights.balanced);
  EXPECT_EQ(task_problems({"train.loss=bce_logits", "train.class_weights=[1, 2]"}), "");
  EXPECT_CONTAINS(task_problems({"train.loss=bce_logits", balanced}),
                  "/train/class_weights: expected a number for each label with loss "
                  "\"bce_logits\", found \"balanced\"; pos_weight");
  EXPECT_CONTAINS(task_problems({"train.loss=mse", balanced}),
                  "/train/class_weights: expected none with loss \"mse\"");
  EXPECT_CONTAINS(task_problems(link_keys({"train.class_weights=[1, 2]"})),
                  "/train/class_weights: expected none with loss \"bce\", found a list of 2");
  EXPECT_CONTAINS(task_problems({"train.class_weights=[0, 0.0]"}),
                  "/train/class_weights: expected a weight above 0");
  for (const char* bad : {"[1, -1]", "[]", "[1, \"2\"]", "even", "2", "[1e7]"}) {
    EXPECT_CONTAINS(task_problems({std::string("train.class_weights=") + bad}),
                    "/train/class_weights: expected string or list of numbers, \"balanced\", or "
                    "1..65536 entries, each >= 0, <= 1");
  }
}

TEST(TaskKeys, WeightsOfClassesOfEdgesAreAsManyAsThese) {
  const Keys edges{"task.kind=edge", "task.classes=3"};
  const auto with = [&](const std::string& weights) {
    auto keys = edges;
    keys.push_back("train.class_weights=" + weights);
    return task_problems(keys);
  };
  EXPECT_EQ(with("balanced"), "");
  EXPECT_EQ(with("[1, 2, 3]"), "");
  EXPECT_CONTAINS(with("[1, 2]"),
                  "/train/class_weights: expected 3 weights, one for each of task.classes, found a "
                  "list of 2");
}

TEST(TaskKeys, FilesOfLinksGoAlone) {
  EXPECT_EQ(task_problems(link_keys({"eval.negatives.val=a.npy", "eval.candidates.val=b.npy"})),
            "");
  EXPECT_CONTAINS(
      task_problems(link_keys({"eval.negatives.val=a.npy", "eval.negatives.kind=binary"})),
      "/eval/negatives/kind: expected \"none\" beside files of links");
  EXPECT_CONTAINS(task_problems(link_keys({"eval.candidates.test=a.npy", "sample.time.of=split"})),
                  "/sample/time/of: expected \"at\" with files of links to evaluate");
  EXPECT_CONTAINS(task_problems(link_keys({"eval.candidates.test=a.npy", "eval.max_batches=3"})),
                  "/eval/max_batches: expected 0 with files of links");
}

TEST(TaskKeys, ClassesOfEdgesAreCounted) {
  EXPECT_CONTAINS(task_problems({"task.kind=edge"}),
                  "/task/classes: expected the number of classes");
  EXPECT_CONTAINS(task_problems(link_keys({"task.classes=3"})), "/task/classes: expected none");
  EXPECT_CONTAINS(task_problems({"task.kind=edge", "task.classes=3", "task.decoder.kind=dot"}),
                  "/task/decoder/kind: expected \"distmult\" or \"mlp\" for classes");
  EXPECT_EQ(task_problems({"task.kind=edge", "train.loss=mse", "task.decoder.kind=dot"}), "");
  EXPECT_CONTAINS(task_problems({"task.kind=edge", "train.loss=mse", "task.negatives.kind=binary"}),
                  "/task/negatives/kind: expected \"none\" with task.kind \"edge\"");
}

TEST(TaskKeys, EdgesAreNamedWithoutSupervisionAlone) {
  EXPECT_EQ(
      task_problems({"task.kind=unsupervised", "task.negatives.kind=binary", "task.edges=reads"}),
      "");
  EXPECT_CONTAINS(task_problems(link_keys({"task.edges=reads"})),
                  "/task/edges: expected \"\" with task.kind \"link\", found \"reads\"");
  const auto job = read_task({"task.kind=unsupervised"}).job;
  EXPECT_TRUE(job.task.links());
  EXPECT_EQ(job.eval.metric, "auc");
}

TEST(TaskKeys, WhatEveryHostReadsIsNotBroughtToHosts) {
  const Keys hosts{"cluster.launch=ssh", "cluster.hosts=[\"a\"]", "cluster.ssh.copy=true"};
  const auto with = [&](Keys keys) {
    keys.insert(keys.end(), hosts.begin(), hosts.end());
    return task_problems(std::move(keys));
  };
  EXPECT_EQ(with(link_keys()), "");
  EXPECT_CONTAINS(with(link_keys({"eval.candidates.val=c.npy"})),
                  "/cluster/ssh/copy: expected false with files of links to evaluate");
  EXPECT_CONTAINS(with({"task.kind=unsupervised"}),
                  "/cluster/ssh/copy: expected false with task.kind \"unsupervised\"");
}

TEST(TaskKeys, HostileValuesAreRefused) {
  for (const char* key :
       {"task.decoder.kind=cosine", "task.decoder.hidden=0", "task.decoder.hidden=70000",
        "task.decoder=dot", "task.classes=1", "model.out_dim=0", "train.margin=0",
        "train.margin=-1", "train.temperature=1e9", "eval.negatives.per_positive=0",
        "eval.negatives.kind=all", "eval.negatives.strict=1",
        "eval.negatives.val=", "eval.candidates=3", "eval.metric=hits@2", "train.loss=hinge",
        "eval.candidates.train=a.npy"}) {
    EXPECT_NE(task_problems(link_keys({key})), "") << key;
  }
}

/// People follow people and read books.
GraphInfo readers() {
  GraphInfo info;
  for (const char* name : {"person", "book"}) {
    auto& type = info.node_types.emplace_back();
    type.name = name;
    type.count = 30;
    type.features = FeatureInfo{DType::f32, info.node_types.size() + 2, 1.0F};
  }
  const auto add = [&](const char* name, std::uint16_t from, std::uint16_t to) {
    auto& type = info.edge_types.emplace_back();
    type.name = name;
    type.source = NodeTypeId{from};
    type.destination = NodeTypeId{to};
    type.count = 50;
  };
  add("follows", 0, 0);
  add("reads", 0, 1);
  add("read_by", 1, 0);
  auto& split = info.splits.emplace_back();
  for (const char* role : {"train", "val"}) {
    split.links[role] = {.edge_type = EdgeTypeId{1}, .count = 20};
  }
  return info;
}

TEST(TaskOfLinks, GivesTheModelBothEndsAndADecoder) {
  auto job = read_task(link_keys({"model.hidden=24", "task.decoder.kind=mlp"})).job;
  EXPECT_EQ(to_string(check_against_graph(job, readers())), "");

  fit_to_graph(job, readers());

  EXPECT_EQ(job.model.types.outputs(), (std::vector{NodeTypeId{0}, NodeTypeId{1}}));
  EXPECT_EQ(job.model.out_dim, 24U);
  EXPECT_EQ(job.model.decoder.kind, "mlp");
  EXPECT_EQ(job.model.decoder.outputs, 1U);
  auto narrow = read_task(link_keys({"model.out_dim=7"})).job;
  fit_to_graph(narrow, readers());
  EXPECT_EQ(narrow.model.out_dim, 7U);
}

TEST(TaskOfLinks, RefusesWhatCannotBeLearned) {
  const auto problems = [](const Keys& keys, const GraphInfo& info) {
    return to_string(check_against_graph(read_task(keys).job, info));
  };
  EXPECT_CONTAINS(problems({"task.kind=link"}, readers()),
                  "/task/negatives/kind: expected \"binary\" or \"triplet\" to learn links from");
  auto alone = readers();
  alone.edge_types[1].source = NodeTypeId{1};  // nothing comes to books but from books
  alone.edge_types[1].destination = NodeTypeId{0};
  EXPECT_EQ(problems(link_keys(), alone).find("/model/layers: expected layers in which") ==
                std::string::npos,
            false);
  auto featureless = readers();
  featureless.node_types[1].features.reset();
  EXPECT_CONTAINS(problems(link_keys(), featureless), "features of \"book\" nodes");
  EXPECT_CONTAINS(problems({"task.kind=edge", "task.classes=4"}, readers()),
                  "/dataset/split: expected labels of the train links, found none");
  auto without = readers();
  without.splits[0].links.clear();
  EXPECT_CONTAINS(problems(link_keys(), without), "/dataset/split: expected a split with links");
}

TEST(TaskOfLinks, TheMetricIsDefinedOnTheValidationLinks) {
  const auto problems = [](const Keys& more, const GraphInfo& info) {
    return to_string(check_against_graph(read_task(link_keys(more)).job, info));
  };
  const std::string kind =
      "/eval/negatives/kind: expected \"binary\" or \"triplet\" where val "
      "links are scored by \"auc\", found \"none\"; ";
  for (const Keys& keys : std::vector<Keys>{{"eval.negatives.kind=none"},
                                            {"eval.negatives.kind=none", "eval.ranks=all"}}) {
    EXPECT_CONTAINS(problems(keys, readers()), kind + "or eval.negatives.val, or with eval.ranks");
  }
  EXPECT_CONTAINS(problems({"eval.negatives.test=false.npy"}, readers()),
                  kind + "beside files of the test links, eval.negatives.val");
  EXPECT_CONTAINS(problems({"eval.negatives.val=false.npy", "eval.metric=mrr"}, readers()),
                  "/eval/metric: expected \"auc\" or \"ap\" of links with eval.negatives.val "
                  "alone, found \"mrr\"; links are ranked among those of eval.candidates.val");
}

TEST(TaskOfLinks, MetricsThatAreDefinedAreTaken) {
  const auto problems = [](const Keys& more, const GraphInfo& info) {
    return to_string(check_against_graph(read_task(link_keys(more)).job, info));
  };
  for (const Keys& keys :
       std::vector<Keys>{{"eval.negatives.val=false.npy", "eval.metric=ap"},
                         {"eval.candidates.val=others.npy"},
                         {"eval.candidates.val=others.npy", "eval.metric=hits@10"},
                         {"eval.negatives.kind=none", "eval.ranks=all", "eval.metric=mrr"}}) {
    EXPECT_EQ(problems(keys, readers()), "") << keys.front();
  }
  auto unscored = readers();
  unscored.splits[0].links.erase("val");
  EXPECT_EQ(problems({"eval.negatives.kind=none"}, unscored), "");
}

TEST(TaskKeys, PairsOfWalksHaveDefaultsOfTheirOwn) {
  const Keys walks{"task.kind=unsupervised", "task.negatives.kind=triplet", "task.positives=walks"};
  const auto pairs = read_task(walks);
  EXPECT_EQ(to_string(pairs.problems), "");
  EXPECT_EQ(pairs.job.task.walk.window, 5U);
  EXPECT_FALSE(pairs.job.task.exclude);
  const auto edges = read_task({"task.kind=unsupervised", "task.negatives.kind=triplet"}).job;
  EXPECT_EQ(edges.task.walk.window, 0U);
  EXPECT_TRUE(edges.task.exclude);
  auto with = walks;
  with.emplace_back("task.edges=edge");
  EXPECT_CONTAINS(task_problems(with), "/task/edges: expected \"\" with task.positives \"walks\"");
}

TEST(TaskKeys, WithoutLayersFanoutsAreFilledIn) {
  ASSERT_OK_AND_ASSIGN(const auto reading,
                       parse_job(R"({"dataset": {"path": "."}, "model": {"layers": 0}})", ".",
                                 Keys{"task.kind=link", "task.negatives.kind=triplet"}));
  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.model.layers, 0U);
  EXPECT_FALSE(reading.job.infers_exactly());
  EXPECT_TRUE(reading.job.scores_batches());
}

TEST(TaskKeys, TimesThatAreRefusedAreNamedByTheirKey) {
  for (const std::string key : {"sample.time.at=4", "sample.time.of=split"}) {
    const auto pointer = "/sample/time/" + key.substr(12, 2);
    EXPECT_CONTAINS(task_problems({"task.kind=knowledge", key}), pointer + ": expected none");
  }
}

TEST(TaskKeys, LinksAreRankedAmongAllNodesWhereTheirRowsAre) {
  const auto all = read_task(link_keys({"eval.ranks=all", "eval.metric=mrr"}));
  EXPECT_EQ(to_string(all.problems), "");
  EXPECT_EQ(score_cols(all.job), 1 + 1 + 4U) << "a score, one drawn, and counts";
  EXPECT_EQ(all.job.eval.ends, RankedEnds::both);
  const auto one = read_task(link_keys({"eval.ranks=all", "eval.ends=destination"}));
  EXPECT_EQ(one.job.eval.ends, RankedEnds::destination);
  EXPECT_CONTAINS(task_problems(link_keys({"eval.ranks=all", "eval.ends=tail"})), "/eval/ends");
  EXPECT_CONTAINS(task_problems(link_keys({"eval.ranks=all", "eval.negatives.test=false.npy"})),
                  "/eval/ranks: expected \"given\" with files of links to evaluate");
}

}  // namespace
}  // namespace troupe
