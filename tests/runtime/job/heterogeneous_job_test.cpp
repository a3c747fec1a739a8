// Jobs on graphs with several node and edge types.
#include "runtime/job/fanout.hpp"
#include "runtime/job/graph_types.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/plan.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using Fanout = std::vector<std::vector<std::int32_t>>;

NodeTypeInfo node_type(const std::string& name, std::uint64_t count, std::uint64_t cols) {
  NodeTypeInfo type;
  type.name = name;
  type.count = count;
  type.features = FeatureInfo{DType::f32, cols, 1.0F};
  return type;
}

EdgeTypeInfo edge_type(const std::string& name, std::uint16_t source, std::uint16_t destination,
                       std::uint64_t count) {
  EdgeTypeInfo type;
  type.name = name;
  type.source = NodeTypeId{source};
  type.destination = NodeTypeId{destination};
  type.count = count;
  return type;
}

/// author 0 - paper 1 - venue 2, edges in both directions between neighbours; seeds are authors.
GraphInfo heterogeneous_graph() {
  GraphInfo info;
  info.node_types = {node_type("author", 100, 8), node_type("paper", 300, 16),
                     node_type("venue", 5, 4)};
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::classes, 3};
  info.edge_types = {edge_type("writes", 0, 1, 400), edge_type("written_by", 1, 0, 400),
                     edge_type("in", 1, 2, 300), edge_type("holds", 2, 1, 300)};
  SplitInfo split;
  split.roles["train"] = {NodeTypeId{0}, 20};
  split.roles["val"] = {NodeTypeId{0}, 10};
  info.splits = {split};
  return info;
}

JobReading read(const std::string& fanout, std::vector<std::string> overrides = {}) {
  const std::string text = R"({"dataset": {"path": "d"}, "eval": {"mode": "sampled"},
      "sample": {"batch_size": 10, "fanout": )" +
                           fanout + "}}";
  auto reading = parse_job(text, "", overrides);
  EXPECT_OK(reading);
  return *std::move(reading);
}

Job job(const std::string& fanout, std::vector<std::string> overrides = {}) {
  auto reading = read(fanout, std::move(overrides));
  EXPECT_EQ(to_string(reading.problems), "");
  return std::move(reading.job);
}

std::string heterogeneous_problems(const Job& of, const GraphInfo& info,
                                   JobTrainer trainer = JobTrainer::built_in) {
  return to_string(check_against_graph(of, info, trainer));
}

TEST(HeterogeneousFanout, OneListIsForAllEdgeTypes) {
  const Job all = job("[3, 2]");
  EXPECT_EQ(heterogeneous_problems(all, heterogeneous_graph()), "");
  EXPECT_EQ(fanout_by_hop(all.sample, heterogeneous_graph()), (Fanout{{3, 3, 3, 3}, {2, 2, 2, 2}}));
}

TEST(HeterogeneousFanout, NamedTypesHaveTheirOwnAndAStarIsForTheRest) {
  const Job some = job(R"({"writes": [3, 0], "*": [5, -1], "in": [1, 1]})");
  EXPECT_EQ(heterogeneous_problems(some, heterogeneous_graph()), "");
  EXPECT_EQ(fanout_by_hop(some.sample, heterogeneous_graph()),
            (Fanout{{3, 5, 1, 5}, {0, -1, 1, -1}}));
  EXPECT_EQ(some.model.layers, 2U);
  EXPECT_NE(some.json.find("\"writes\": [3, 0]"), std::string::npos) << some.json;
}

TEST(HeterogeneousFanout, IsReadBackFromThePrintedJob) {
  const Job some = job(R"({"writes": [3, 0], "*": [5, -1]})");
  ASSERT_OK_AND_ASSIGN(const auto again, parse_job(some.json, "", {}));
  EXPECT_EQ(to_string(again.problems), "");
  EXPECT_EQ(again.job.json, some.json);
  EXPECT_EQ(again.job.sample.fanout_of, some.sample.fanout_of);
  EXPECT_EQ(again.job.sample.fanout, some.sample.fanout);
}

TEST(HeterogeneousFanout, CanBeSetFromTheCommandLineWholeOrByType) {
  const Job whole = job("[3, 2]", {R"(sample.fanout={"*": [4], "in": [1]})"});
  EXPECT_EQ(fanout_by_hop(whole.sample, heterogeneous_graph()), (Fanout{{4, 4, 1, 4}}));
  const Job one = job(R"({"*": [4, 4]})", {"sample.fanout.holds=[1, 2]"});
  EXPECT_EQ(fanout_by_hop(one.sample, heterogeneous_graph()), (Fanout{{4, 4, 4, 1}, {4, 4, 4, 2}}));
}

TEST(HeterogeneousFanout, NamesUnknownAndMissingEdgeTypes) {
  EXPECT_EQ(heterogeneous_problems(job(R"({"wirtes": [3], "*": [2]})"), heterogeneous_graph()),
            "/sample/fanout/wirtes: expected an edge type of the graph (\"writes\", "
            "\"written_by\", \"in\", \"holds\") or \"*\", found an unknown one; did you mean "
            "\"writes\"?\n");
  EXPECT_EQ(heterogeneous_problems(job(R"({"in": [3], "writes": [2]})"), heterogeneous_graph()),
            "/sample/fanout: expected a list for every edge type, or \"*\" for those not named, "
            "found none for \"written_by\", \"holds\"\n");
  EXPECT_EQ(
      heterogeneous_problems(job(R"({"a/b": [3], "*": [2]})"), heterogeneous_graph()).substr(0, 22),
      "/sample/fanout/a~1b: e");
}

TEST(HeterogeneousFanout, RefusesWhatIsNoListOrOfAnotherLength) {
  for (const std::string bad :
       {"{}", R"({"in": 3})", R"({"in": []})", R"({"in": [-2]})", R"({"": [1]})",
        R"({"in": {"x": [1]}})", R"({"in": [1, "2"]})", R"({"*": [1.5]})"}) {
    EXPECT_NE(to_string(read(bad).problems).find("/sample/fanout: expected list of integers, or"),
              std::string::npos)
        << bad;
  }
  EXPECT_EQ(to_string(read(R"({"*": [1, 2], "in": [1]})").problems),
            "line 2, column 46: /sample/fanout: expected lists of one length, 2 like the others, "
            "found 1 entries for "
            "\"in\"\n");
  EXPECT_NE(to_string(read(R"({"*": [1, 2]})", {"model.layers=3"}).problems)
                .find("/sample/fanout: expected 3 entries, one per layer"),
            std::string::npos);
}

TEST(CheckTypes, RefusesModelsThatAreNotBuilt) {
  Job bad = job("[3, 2]", {"model.kind=gcn", "eval.mode=exact"});
  EXPECT_EQ(heterogeneous_problems(bad, heterogeneous_graph()),
            "/model/kind: expected \"graphsage\" or \"gatv2\" or \"rgcn\" or \"rgat\" or \"hgt\" "
            "for a graph of "
            "3 node "
            "types and 4 edge types, "
            "found \"gcn\", which is not built yet for it\n");
  EXPECT_EQ(heterogeneous_problems(bad, heterogeneous_graph(), JobTrainer::own), "");
}

TEST(CheckTypes, AttentionAlongTypesHasNoLoopsAndAMatrixForEachEnd) {
  Job bad = job("[3, 2]", {"model.kind=gatv2", "model.share_weights=true", "eval.mode=exact"});
  EXPECT_EQ(
      heterogeneous_problems(bad, heterogeneous_graph()),
      "/model/loops: expected false with kind \"gatv2\" on a graph of 3 node types and 4 edge "
      "types, found true; along an edge type a node has no loop\n"
      "/model/share_weights: expected false with kind \"gatv2\" on a graph of 3 node types and "
      "4 edge types, found true\n");
  Job good = job("[3, 2]", {"model.kind=gatv2", "model.loops=false", "eval.mode=exact"});
  EXPECT_EQ(heterogeneous_problems(good, heterogeneous_graph()), "");
}

TEST(CheckTypes, FeaturesOfEdgesAreReadOfTheTypesThatHaveThem) {
  GraphInfo info = heterogeneous_graph();
  info.edge_types[1].features = FeatureInfo{.cols = 3};
  const std::vector<std::string> settings{"model.kind=rgat", "model.edge_features=true",
                                          "sample.edge_data=[\"features\"]"};
  for (const std::string mode : {"eval.mode=sampled", "eval.mode=exact"}) {
    auto with_mode = settings;
    with_mode.push_back(mode);
    Job good = job("[3, 2]", with_mode);
    EXPECT_EQ(heterogeneous_problems(good, info), "");
    fit_to_graph(good, info);
    EXPECT_EQ(good.model.types.edges[1].cols, 3U);
    EXPECT_EQ(good.model.types.edges[0].cols, 0U);
    EXPECT_TRUE(good.infers_exactly());
  }
}

TEST(CheckTypes, BasesNeedFeaturesOfOneWidthOrALinearInput) {
  const std::vector<std::string> settings{"model.kind=rgcn", "model.bases=2"};
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]", settings), heterogeneous_graph()),
            "/model/bases: expected 0 where node types have features of different widths, found 8 "
            "columns of \"author\" and 16 of \"paper\"; or model.input \"linear\"\n");
  auto linear = settings;
  linear.emplace_back("model.input=linear");
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]", linear), heterogeneous_graph()), "");
}

TEST(CheckTypes, WantsFeaturesOfTheTypesThatTheLayersReach) {
  GraphInfo info = heterogeneous_graph();
  info.node_types[2].features.reset();
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]"), info),
            "/dataset/path: expected features of \"venue\" nodes, found none; import it with "
            "\"features\": \"one-hot\", or learn rows (\"embedding\")\n");
  EXPECT_EQ(heterogeneous_problems(job("[3]"), info), "") << "one layer reads authors and papers";
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]"), info, JobTrainer::own), "");
}

TEST(CheckTypes, AUserProgramNeedsNoFeaturesLabelsAndSplits) {
  GraphInfo bare = heterogeneous_graph();
  for (auto& type : bare.node_types) {
    type.features.reset();
    type.labels.reset();
  }
  bare.splits.clear();
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]"), bare, JobTrainer::own), "");
  EXPECT_NE(heterogeneous_problems(job("[3, 2]"), bare), "");

  Job misspelt = job("[3, 2]");
  misspelt.dataset.split = "no such split";
  EXPECT_NE(heterogeneous_problems(misspelt, heterogeneous_graph(), JobTrainer::own)
                .find("/dataset/split"),
            std::string::npos);
}

TEST(CheckTypes, WantsColumnStatisticsOfAllTypesRead) {
  GraphInfo info = heterogeneous_graph();
  info.node_types[0].column_stats = ColumnStats{};
  info.node_types[1].column_stats = ColumnStats{};
  const Job columns = job("[3, 2]", {"features.normalize=column"});
  EXPECT_NE(heterogeneous_problems(columns, info).find("without column statistics of \"venue\""),
            std::string::npos);
  info.node_types[2].column_stats = ColumnStats{};
  EXPECT_EQ(heterogeneous_problems(columns, info), "");
}

TEST(CheckTypes, RefusesSeedsThatNothingReaches) {
  GraphInfo info = heterogeneous_graph();
  info.edge_types = {edge_type("writes", 1, 0, 10)};
  EXPECT_EQ(heterogeneous_problems(job("[3]"), info), "");
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]"), info),
            "/model/layers: expected layers in which something comes to the seeds, found no edge "
            "type brings anything to \"author\" nodes in layer 2 of 2; edges in both directions "
            "help: \"reverse_edges\"\n");
}

TEST(CheckTypes, RefusesRolesOfAnotherNodeType) {
  GraphInfo info = heterogeneous_graph();
  info.splits[0].roles["val"].node_type = NodeTypeId{1};
  EXPECT_EQ(heterogeneous_problems(job("[3, 2]"), info),
            "/dataset/split: expected val seeds of \"author\" nodes, as those of training are, "
            "found seeds of node type 1\n");
}

TEST(ModelTypes, FollowTheDirectionOfSampling) {
  Job sampled = job("[3, 2]");
  fit_to_graph(sampled, heterogeneous_graph());
  ASSERT_EQ(sampled.model.types.edges.size(), 4U);
  EXPECT_EQ(sampled.model.types.edges[0].destination, NodeTypeId{1});
  EXPECT_EQ(sampled.model.types.nodes[1].cols, 16U);
  EXPECT_EQ(sampled.model.in_dim, 8U);

  sampled.sample.edge_dir = EdgeDir::out;
  fit_to_graph(sampled, heterogeneous_graph());
  EXPECT_EQ(sampled.model.types.edges[0].destination, NodeTypeId{0});
  EXPECT_EQ(sampled.model.types.edges[0].source, NodeTypeId{1});
}

TEST(ModelTypes, AreNoneForOneTypeOfEach) {
  GraphInfo info = heterogeneous_graph();
  info.node_types.resize(1);
  info.edge_types = {edge_type("knows", 0, 0, 10)};
  Job plain = job(R"({"knows": [3, 2]})");
  fit_to_graph(plain, info);
  EXPECT_FALSE(plain.model.heterogeneous());
  EXPECT_EQ(heterogeneous_problems(plain, info), "");
}

TEST(HeterogeneousPlan, BoundsABatchByTheFanoutsOfItsTypes) {
  const Job some = job(R"({"written_by": [2, 0], "writes": [0, 3], "*": [0, 1]})");
  const Plan plan = make_plan(some, heterogeneous_graph());

  // hop 1: 10 authors ask for 2 papers each; hop 2: those 20 ask for 3 authors and 1 venue each
  const auto most = [](const auto& of_type) { return of_type.most; };
  std::vector<std::uint64_t> nodes;
  std::ranges::transform(plan.batch.nodes, std::back_inserter(nodes), most);
  std::vector<std::uint64_t> edges;
  std::ranges::transform(plan.batch.edges, std::back_inserter(edges), most);
  EXPECT_EQ(nodes, (std::vector<std::uint64_t>{10 + 60, 20, 5}));
  EXPECT_EQ(edges, (std::vector<std::uint64_t>{60, 20, 0, 20}));
  EXPECT_EQ(plan.batch.max_nodes, 95U);
  EXPECT_EQ(plan.batch.feature_bytes, 4U * (70U * 8U + 20U * 16U + 5U * 4U));
  const std::string text = to_string(plan, some);
  EXPECT_NE(text.find("a batch, at most: 95 nodes, 100 edges, 3.5 KiB of features\n"
                      "  nodes: 70 author, 20 paper, 5 venue\n"
                      "  edges: 60 writes, 20 written_by, 0 in, 20 holds\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace troupe
