#include "runtime/job/job_file.hpp"
#include "runtime/job/reach.hpp"
#include "runtime/job/sample_options.hpp"
#include "tests/runtime/job/contains.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

GraphInfo graph() {
  NodeTypeInfo nodes;
  nodes.name = "paper";
  nodes.count = 10;
  nodes.features = FeatureInfo{DType::f32, 4, 1.0F};
  nodes.labels = LabelInfo{LabelInfo::Kind::classes, 3};
  nodes.column_stats = ColumnStats{};
  GraphInfo info;
  info.node_types = {nodes};
  info.edge_types.resize(1);
  SplitInfo split;
  split.roles["train"] = {NodeTypeId{0}, 5};
  info.splits = {split, split};
  info.splits[1].name = "mask0";
  return info;
}

std::string problems(const Job& job, const GraphInfo& info) {
  return to_string(check_against_graph(job, info));
}

TEST(CheckAgainstGraph, AcceptsWhatFits) {
  EXPECT_EQ(problems({}, graph()), "");
}

TEST(CheckAgainstGraph, RefusesUnknownAndEmptySplits) {
  Job job;
  job.dataset.split = "maks0";
  EXPECT_EQ(
      problems(job, graph()),
      "/dataset/split: expected \"\" | \"mask0\", found \"maks0\"; did you mean \"mask0\"?\n");

  GraphInfo info = graph();
  info.splits[0].roles["train"].count = 0;
  EXPECT_EQ(problems({}, info),
            "/dataset/split: expected a split with training seeds, found \"\" without them\n");
  info.splits.clear();
  EXPECT_EQ(problems({}, info),
            "/dataset/split: expected data with a split, found none; import the data with ids of "
            "seeds; `troupe predict` needs none\n");
  job = {};
  job.task.kind = "link";
  EXPECT_NE(
      problems(job, info).find("found none; import the data with links, or with --edge-split"),
      std::string::npos);
  job.task.kind = "knowledge";
  for (const auto trainer : {JobTrainer::built_in, JobTrainer::none}) {
    const auto text = to_string(check_against_graph(job, info, trainer));
    EXPECT_NE(text.find("found none; import triples with --from triples"), std::string::npos)
        << text;
  }
}

TEST(CheckAgainstGraph, RefusesMorePartsThanNodes) {
  Job job;
  job.partition.parts = 11;
  EXPECT_EQ(problems(job, graph()),
            "/partition/parts: expected at most 10, the number of nodes, found 11\n");
}

TEST(CheckAgainstGraph, RefusesMissingFeaturesAndLabelsTogether) {
  GraphInfo info = graph();
  info.node_types[0].features.reset();
  info.node_types[0].labels.reset();
  EXPECT_EQ(problems({}, info),
            "/dataset/path: expected features of \"paper\" nodes, found none; learned rows "
            "(\"embedding\") can take their place\n"
            "/dataset/path: expected labels of \"paper\" nodes, found none; import the data with "
            "labels; `troupe predict` needs none\n");
}

TEST(CheckAgainstGraph, PredictionsNeedNoLabelsAndNoSeedsToTrain) {
  const auto predicts = [](const Job& job, const GraphInfo& info) {
    return to_string(check_against_graph(job, info, JobTrainer::none));
  };
  GraphInfo info = graph();
  Job job;
  job.sample.drop_last = true;
  job.sample.batch_size = 100;
  EXPECT_NE(problems(job, info), "");
  info.splits[0].roles["train"].count = 0;
  info.splits[0].roles["test"] = {NodeTypeId{1}, 3};
  EXPECT_EQ(predicts(job, info), "");
  info.node_types[0].labels->classes = 0;
  EXPECT_EQ(predicts(job, info), "");
  info.node_types[0].labels.reset();
  EXPECT_EQ(predicts(job, info), "");

  info.node_types[0].features.reset();
  EXPECT_EQ(predicts(job, info),
            "/dataset/path: expected features of \"paper\" nodes, found none; learned rows "
            "(\"embedding\") can take their place\n");
  info = graph();
  job.train.loss = "bce_logits";
  EXPECT_EQ(predicts(job, info),
            "/train/loss: expected \"cross_entropy\" for 3 classes, found \"bce_logits\"; it is "
            "for 2 classes\n");
  info.splits.clear();
  EXPECT_NE(predicts({}, info).find("/dataset/split: expected data with a split"),
            std::string::npos);
}

TEST(CheckAgainstGraph, RefusesColumnsWithoutStatistics) {
  Job job;
  job.features.normalize = Normalize::column;
  GraphInfo info = graph();
  info.node_types[0].column_stats.reset();
  EXPECT_NE(problems(job, info).find("/features/normalize: expected \"none\" or \"row\""),
            std::string::npos);
}

TEST(CheckAgainstGraph, RefusesLossesAndMetricsThatDoNotFitTheLabels) {
  Job job;
  job.train.loss = "bce_logits";
  job.eval.metric = "auc";
  EXPECT_EQ(
      problems(job, graph()),
      "/train/loss: expected \"cross_entropy\" for 3 classes, found \"bce_logits\"; it is for "
      "2 classes\n"
      "/eval/metric: expected \"accuracy\" or \"f1\" for 3 classes, found \"auc\"; it is for "
      "2 classes\n");
  job.train.loss = "cross_entropy";
  job.eval.metric = "ap";
  EXPECT_NE(problems(job, graph()).find("found \"ap\"; it is for 2 classes"), std::string::npos);

  GraphInfo info = graph();
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::classes, 2};
  EXPECT_EQ(problems(job, info), "");
  job.eval.metric = "auc";
  job.train.loss = "bce_logits";
  EXPECT_EQ(problems(job, info), "");
}

TEST(CheckAgainstGraph, WantsBinaryLogitsForMultiLabelTargets) {
  GraphInfo info = graph();
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::targets, 7};
  EXPECT_EQ(problems({}, info),
            "/train/loss: expected \"bce_logits\" for 7 multi-label targets, found "
            "\"cross_entropy\"\n");
  Job job;
  job.train.loss = "bce_logits";
  for (const std::string metric : {"accuracy", "f1", "auc", "ap"}) {
    job.eval.metric = metric;
    EXPECT_EQ(problems(job, info), "") << metric;
  }
}

TEST(CheckAgainstGraph, WantsAWeightForEachClassOrLabel) {
  GraphInfo info = graph();
  Job job;
  job.train.class_weights.balanced = true;
  EXPECT_EQ(problems(job, info), "");
  job.train.class_weights = {.balanced = false, .values = {1, 2, 0}};
  EXPECT_EQ(problems(job, info), "");
  job.train.class_weights.values.pop_back();
  EXPECT_EQ(problems(job, info),
            "/train/class_weights: expected 3 weights, one for each class of \"paper\" nodes, "
            "found a list of 2\n");

  job.train.loss = "bce_logits";
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::targets, 2};
  EXPECT_EQ(problems(job, info), "");
  info.node_types[0].labels->classes = 7;
  EXPECT_CONTAINS(problems(job, info), "expected 7 weights, one for each label of \"paper\"");
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::classes, 2};
  EXPECT_EQ(problems(job, info),
            "/train/class_weights: expected none with loss \"bce_logits\" for 2 classes, found a "
            "list of 2; pos_weight says what class 1 counts beside class 0\n");
}

TEST(FitToGraph, GivesTheModelItsColumns) {
  GraphInfo info = graph();
  Job job;
  fit_to_graph(job, info);
  EXPECT_EQ(job.model.in_dim, 4U);
  EXPECT_EQ(job.model.out_dim, 3U);

  job.train.loss = "bce_logits";
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::classes, 2};
  fit_to_graph(job, info);
  EXPECT_EQ(job.model.out_dim, 1U);
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::targets, 7};
  fit_to_graph(job, info);
  EXPECT_EQ(job.model.out_dim, 7U);
}

TEST(CheckAgainstGraph, RefusesAGraphWithoutEdgeTypes) {
  GraphInfo info = graph();
  info.edge_types.clear();
  EXPECT_EQ(problems({}, info),
            "/model/kind: expected a graph with edges, found no edge types, which \"graphsage\" "
            "cannot take\n");
}

TEST(CheckAgainstGraph, RefusesAChoiceByWeightAlongEdgesWithoutWeights) {
  GraphInfo info = graph();
  info.edge_types.resize(3);
  info.edge_types[0].name = "cites";
  info.edge_types[1].name = "shares";
  info.edge_types[1].has_weights = true;
  info.edge_types[2].name = "links";
  Job job;
  job.sample.choice = "weighted";
  job.sample.fanout = {5, 5};
  const std::string refused =
      "/sample/choice: expected \"uniform\" along edges without weights, "
      "found \"weighted\", and no weights of ";
  const std::string hint = "; import the graph with weights, or set fanout -1 or 0 along these\n";
  const auto own = [&] { return to_string(check_against_graph(job, info, JobTrainer::own)); };
  EXPECT_EQ(own(), refused + "\"cites\", \"links\"" + hint);
  job.sample.fanout_of = {{"cites", {-1, 0}}};
  EXPECT_EQ(own(), refused + "\"links\"" + hint);
  job.sample.fanout_of = {{"cites", {-1, 0}}, {"links", {0, 0}}};
  EXPECT_EQ(own(), "");
  job.sample.fanout_of = {{"cites", {-1, 0}}, {"links", {0, 1}}};
  EXPECT_EQ(own(), refused + "\"links\"" + hint);
}

TEST(CheckAgainstGraph, TheBuiltInTrainerNeedsFeatures) {
  Job job;
  job.features.collect = false;
  const auto problems = to_string(check_against_graph(job, graph()));
  EXPECT_EQ(problems,
            "/features/collect: expected true where the built-in trainer trains, found false; "
            "batches without features are for `troupe run JOB -- PROGRAM` and `troupe batches`\n");
  EXPECT_EQ(to_string(check_against_graph(job, graph(), JobTrainer::own)), "");
}

TEST(CheckAgainstGraph, TimesNeedEdgesThatHaveThem) {
  GraphInfo info = graph();
  info.edge_types.resize(2);
  info.edge_types[0].name = "cites";
  info.edge_types[1].name = "shares";
  info.edge_types[1].has_times = true;
  Job job;
  job.sample.fanout = {5, -1};
  job.sample.time.at = 3;
  const auto own = [&] { return to_string(check_against_graph(job, info, JobTrainer::own)); };
  EXPECT_EQ(own(), "");
  job.sample.choice = "last";
  EXPECT_EQ(
      own(),
      "/sample/choice: expected \"uniform\" along edges without times, found \"last\", and no "
      "times of \"cites\"; import the graph with times, or set fanout -1 or 0 along these\n");
  job.sample.fanout_of = {{"cites", {-1, 0}}};
  EXPECT_EQ(own(), "");
  job.sample.fanout_of = {{"shares", {0, 0}}};
  EXPECT_EQ(own(),
            "/sample/time/at: expected a graph with times of edges, found no times along any edge "
            "type that is sampled; import the graph with times\n");
  job.sample.fanout_of = {{"cites", {0, 0}}, {"shares", {0, 0}}};
  EXPECT_CONTAINS(own(), "all fanouts are 0: give an edge type another\n");
}

TEST(CheckAgainstGraph, RefusesDataThatNoSampledEdgeHas) {
  GraphInfo info = graph();
  info.edge_types.resize(2);
  info.edge_types[0].name = "cites";
  info.edge_types[1].name = "shares";
  info.edge_types[1].has_times = true;
  Job job;
  job.sample.fanout = {5, -1};
  job.sample.edge_data = {.times = true};
  const auto own = [&] { return to_string(check_against_graph(job, info, JobTrainer::own)); };
  EXPECT_EQ(own(), "");
  const std::string times =
      "/sample/edge_data: expected data that sampled edges have, found \"times\", and no times "
      "along any edge type that is sampled; import the graph with times\n";
  job.sample.fanout_of = {{"shares", {0, 0}}};
  EXPECT_EQ(own(), times);
  job.sample.fanout_of = {{"shares", {0, -1}}};
  EXPECT_EQ(own(), "");
  job.sample.edge_data = {.edge_ids = true, .weights = true};
  EXPECT_EQ(own(),
            "/sample/edge_data: expected data that sampled edges have, found \"ids\", and no edge "
            "ids along any edge type that is sampled; import the graph with edge ids\n"
            "/sample/edge_data: expected data that sampled edges have, found \"weights\", and no "
            "weights along any edge type that is sampled; import the graph with weights\n");
  job.sample.edge_data = {.entries = true};
  EXPECT_EQ(own(),
            "/sample/edge_data: expected data that sampled edges have, found \"features\", and no "
            "features along any edge type that is sampled; import the graph with features\n");
  info.edge_types[0].features = FeatureInfo{DType::f16, 4, 1.0F};
  EXPECT_EQ(own(), "");
  job.sample.fanout_of = {{"cites", {0, 0}}};
  EXPECT_NE(own(), "");
}

TEST(CheckAgainstGraph, NamesColumnsThatTheGraphDoesNotHave) {
  GraphInfo info = graph();
  info.edge_types.resize(1);
  info.edge_types[0].name = "cites";
  Job job;
  job.sample.fanout = {5};
  job.features.columns = {"edges-cites/since"};
  const auto own = [&] { return to_string(check_against_graph(job, info, JobTrainer::own)); };
  EXPECT_EQ(own(),
            "/features/columns: expected columns that the graph has, found \"edges-cites/since\"; "
            "the graph has none; import it with columns\n");
  info.edge_types[0].columns = {{"since", DType::i64, {}}};
  EXPECT_EQ(own(), "");
  job.features.columns = {"nodes-cites/since"};
  EXPECT_EQ(own(),
            "/features/columns: expected columns that the graph has, found \"nodes-cites/since\"; "
            "did you mean \"edges-cites/since\"?\n");
}

// ---- links ----

/// Users buy items, and the edges back; items go with items.
GraphInfo shop() {
  GraphInfo info;
  info.node_types.resize(2);
  info.node_types[0].name = "user";
  info.node_types[0].count = 20;
  info.node_types[1].name = "item";
  info.node_types[1].count = 30;
  info.edge_types.resize(3);
  info.edge_types[0] = {.name = "buys", .source = NodeTypeId{0}, .destination = NodeTypeId{1}};
  info.edge_types[1] = {.name = "bought_by", .source = NodeTypeId{1}, .destination = NodeTypeId{0}};
  info.edge_types[2] = {.name = "goes_with", .source = NodeTypeId{1}, .destination = NodeTypeId{1}};
  for (auto& type : info.edge_types) {
    type.has_times = true;
  }
  auto& split = info.splits.emplace_back();
  split.links["train"] = {.edge_type = EdgeTypeId{0}, .count = 9};
  return info;
}

Job link_job() {
  Job job;
  job.task.kind = "link";
  job.sample.fanout = {2};
  return job;
}

std::string own_problems(const Job& job, const GraphInfo& info) {
  return to_string(check_against_graph(job, info, JobTrainer::own));
}

TEST(CheckAgainstGraph, LinksAndWalksAreForProgramsOfUsersToo) {
  EXPECT_EQ(own_problems(link_job(), shop()), "");
  auto walks = link_job();
  walks.task.kind = "walk";
  EXPECT_CONTAINS(problems(walks, shop()),
                  "/task/kind: expected \"node\", \"link\", \"edge\", \"unsupervised\" or "
                  "\"knowledge\" where Troupe trains, found "
                  "\"walk\"; walks are not trained on by the built-in models yet");
}

TEST(CheckAgainstGraph, RefusesLinksThatTheDataDoesNotHave) {
  auto info = shop();
  info.splits[0].links["train"].count = 0;
  EXPECT_CONTAINS(own_problems(link_job(), info), "/dataset/split: expected a split with links");
  info.splits[0].links.clear();
  EXPECT_CONTAINS(own_problems(link_job(), info), "/dataset/split: expected a split with links");
  info = shop();
  info.splits[0].links["val"] = {.edge_type = EdgeTypeId{2}, .count = 1};
  EXPECT_EQ(
      own_problems(link_job(), info),
      "/dataset/split: expected val links of \"buys\", as those of training are, found links of "
      "\"goes_with\"\n");
}

TEST(CheckAgainstGraph, LinksThatAreEdgesNeedSome) {
  auto info = shop();
  info.edge_types[0].count = 0;
  info.splits[0].links["train"].count = 0;
  auto job = link_job();
  job.task.kind = "unsupervised";
  EXPECT_EQ(own_problems(job, info),
            "/task/edges: expected edges to learn, found none of \"buys\"; name an edge type that "
            "has some\n");
  info = shop();
  info.edge_types[0].count = 900;
  info.edge_types[2].count = 0;
  info.splits[0].links["train"].edge_types = {EdgeTypeId{0}, EdgeTypeId{2}};
  EXPECT_CONTAINS(own_problems(job, info),
                  "/task/edges: expected edges to learn, found none of \"goes_with\"");
  info.splits[0].links["train"].count = 0;
  job.dataset.seeds["train"].ids = "links.npy";
  EXPECT_CONTAINS(own_problems(job, info), "/dataset/split: expected a split with links");
}

TEST(CheckAgainstGraph, EndsByDegreeAreOfEdges) {
  auto info = shop();
  auto job = link_job();
  job.task.negatives.kind = Negatives::triplet;
  job.task.negatives.by_degree = true;
  info.edge_types[0].count = 9;
  EXPECT_EQ(own_problems(job, info), "");
  info.edge_types[0].count = 0;
  EXPECT_EQ(own_problems(job, info),
            "/task/negatives/by: expected \"uniform\" with links of an edge type without edges, "
            "found \"degree\", and no edges of \"buys\"\n");
}

SplitInfo::LinkRole links_of_types(std::uint64_t count, std::vector<EdgeTypeId> types) {
  return {.edge_type = types.front(),
          .count = count,
          .has_labels = true,
          .relations = types.size(),
          .edge_types = types};
}

TEST(CheckAgainstGraph, LinksOfSeveralEdgeTypesAreThoseOfTrainingInAllRoles) {
  auto info = shop();
  const std::vector<EdgeTypeId> both{EdgeTypeId{2}, EdgeTypeId{0}};
  auto& links = info.splits[0].links;
  links["val"] = links_of_types(1, both);
  EXPECT_CONTAINS(
      own_problems(link_job(), info),
      "/dataset/split: expected val links of the edge types that training has, 1, found "
      "links of 2, or of others");
  links["train"] = links_of_types(50, both);
  links.erase("test");
  EXPECT_EQ(own_problems(link_job(), info), "");
  links["test"] = links_of_types(9, {EdgeTypeId{0}, EdgeTypeId{2}});
  EXPECT_CONTAINS(own_problems(link_job(), info), "test links of the edge types that training has");
}

TEST(CheckAgainstGraph, LinksOfSeveralEdgeTypesHaveAReverseEach) {
  auto info = shop();
  auto& links = info.splits[0].links;
  links.clear();
  links["train"] = links_of_types(50, {EdgeTypeId{0}, EdgeTypeId{2}});
  auto job = link_job();
  const auto reverses = [&] { return sample_options(job, info).links->reverses; };
  EXPECT_EQ(reverses().at(EdgeTypeId{0}), std::nullopt) << "between two node types";
  EXPECT_EQ(reverses().at(EdgeTypeId{2}), EdgeTypeId{2}) << "within one";
  job.task.reverses = {"bought_by", ""};
  EXPECT_EQ(own_problems(job, info), "");
  EXPECT_EQ(reverses().at(EdgeTypeId{0}), EdgeTypeId{1});
  EXPECT_EQ(sample_options(job, info).links->reverse_of(EdgeTypeId{0}), EdgeTypeId{1});
  job.task.reverses = {"", "bought_by"};
  EXPECT_CONTAINS(own_problems(job, info), "/task/reverse: expected \"goes_with\", found");
  job.task.reverses = {"bought_by"};
  EXPECT_CONTAINS(own_problems(job, info), "/task/reverse: expected one for each with links of 2");
  job.task.kind = "edge";
  EXPECT_CONTAINS(own_problems(job, info),
                  "/dataset/split: expected links of one edge type with task.kind \"edge\"");
  job.task.kind = "knowledge";
  EXPECT_CONTAINS(own_problems(job, info), "import the triples with --relations one");
  links["train"] = {EdgeTypeId{0}, 50, false, false};
  job = link_job();
  job.task.reverses = {"bought_by"};
  EXPECT_CONTAINS(own_problems(job, info), "/task/reverse: expected one name with links of one");
}

TEST(CheckAgainstGraph, TheReverseOfLinksLeadsBack) {
  auto job = link_job();
  const auto reverse = [&] { return sample_options(job, shop()).links->reverse; };
  EXPECT_EQ(reverse(), std::nullopt) << "between two node types nothing is known";
  job.task.reverse = "bought_by";
  EXPECT_EQ(own_problems(job, shop()), "");
  EXPECT_EQ(reverse(), EdgeTypeId{1});
  job.task.reverse = "goes_with";
  EXPECT_EQ(
      own_problems(job, shop()),
      "/task/reverse: expected \"bought_by\", found \"goes_with\"; the reverse of \"buys\" leads "
      "from \"item\" to \"user\"\n");
  job.task.reverse = "";
  auto within = shop();
  within.splits[0].links["train"].edge_type = EdgeTypeId{2};
  EXPECT_EQ(sample_options(job, within).links->reverse, EdgeTypeId{2}) << "within one node type";
  within.edge_types.erase(within.edge_types.begin() + 1);
  within.splits[0].links["train"].edge_type = EdgeTypeId{0};
  job.task.reverse = "bought_by";
  EXPECT_CONTAINS(own_problems(job, within), "no edges lead from \"item\" to \"user\"");
}

TEST(CheckAgainstGraph, TimesOfTheSplitAreThere) {
  auto job = link_job();
  job.sample.time.of_split = true;
  EXPECT_EQ(
      own_problems(job, shop()),
      "/sample/time/of: expected \"at\" where seeds of the split have no times, found \"split\", "
      "and no times of train; import the data with times of its seeds\n");
  job.dataset.seeds["train"].ids = "links.npy";
  EXPECT_CONTAINS(own_problems(job, shop()),
                  "no times of train; name the file of the times of dataset.seeds.train as "
                  "dataset.seeds.times.train\n");
  auto info = shop();
  info.splits[0].links["train"].has_times = true;
  EXPECT_EQ(own_problems(job, info), "");
  EXPECT_TRUE(sample_options(job, info).time);
  EXPECT_TRUE(sample_options(job, info).disjoint);
}

TEST(CheckAgainstGraph, WhereTheLastBatchIsDroppedThereIsAFullOne) {
  Job job;
  job.sample.drop_last = true;
  job.sample.batch_size = 5;
  EXPECT_EQ(problems(job, graph()), "");
  job.sample.batch_size = 6;
  EXPECT_EQ(problems(job, graph()),
            "/sample/drop_last: expected false where 5 seeds fill no batch of 6, found true; or a "
            "smaller batch_size\n");
  job.cluster.hosts = 2;
  job.partition.parts = 2;
  job.sample.seed_order = "local";
  job.sample.batch_size = 3;  // one rank has three seeds
  EXPECT_EQ(problems(job, graph()), "");
  job.sample.batch_size = 4;
  EXPECT_EQ(problems(job, graph()),
            "/sample/drop_last: expected false where 5 seeds, shared by 2 ranks, fill no batch of "
            "4, found true; or a smaller batch_size\n");
  auto links = link_job();
  links.sample.drop_last = true;
  links.sample.batch_size = 10;
  EXPECT_CONTAINS(own_problems(links, shop()), "9 seeds fill no batch of 10");
}

TEST(SeedsOfBatch, CountAllEndsOfLinks) {
  auto job = link_job();
  job.sample.batch_size = 4;
  const auto seeds = [&] {
    return seeds_of_batch(job, shop(), shop().splits[0].links.at("train"));
  };
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(seeds(), (Counts{4, 4}));
  job.task.negatives = {.kind = Negatives::triplet, .per_positive = 3};
  EXPECT_EQ(seeds(), (Counts{4, 16}));
  job.task.negatives.kind = Negatives::binary;
  EXPECT_EQ(seeds(), (Counts{16, 16}));
  job.sample.batch_size = 100;
  EXPECT_EQ(seeds(), (Counts{20, 30})) << "no more than there are nodes";
  job.sample.disjoint = true;
  EXPECT_EQ(seeds(), (Counts{36, 36})) << "of 9 links, each end with its tree";
}

}  // namespace
}  // namespace troupe
