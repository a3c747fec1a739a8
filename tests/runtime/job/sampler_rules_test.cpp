// Jobs that sample by LABOR, whose batches have more edges than were drawn, or are random walks: their
// options, what they do not go with, and what they need of the graph.
#include "runtime/job/job_file.hpp"
#include "runtime/job/reach.hpp"
#include "runtime/job/sample_options.hpp"
#include "runtime/job/subgraph_rules.hpp"
#include "runtime/job/walk_rules.hpp"
#include "tests/support/expect.hpp"

#include <string>
#include <vector>

namespace troupe {
namespace {

using Overrides = std::vector<std::string>;

JobReading reading_of(const std::string& sections, const Overrides& overrides = {}) {
  auto reading = parse_job(R"({"dataset": {"path": "d"})" + sections + "}", "base", overrides);
  EXPECT_OK(reading);
  return reading.ok() ? *std::move(reading) : JobReading{};
}

std::string key_problems(const std::string& sections, const Overrides& overrides = {}) {
  auto problems = reading_of(sections, overrides).problems;
  for (auto& problem : problems) {
    problem.place = {};
  }
  return to_string(problems);
}

const std::string sampled = R"(, "sample": {"fanout": [3, 2]})";
const std::string walked = R"(, "task": {"kind": "walk"})";

/// Users buy items; items go with items.
GraphInfo store_graph() {
  GraphInfo info;
  info.node_types.resize(2);
  info.node_types[0].name = "user";
  info.node_types[0].count = 50;
  info.node_types[1].name = "item";
  info.node_types[1].count = 200;
  info.edge_types = {
      {.name = "buys", .source = NodeTypeId{0}, .destination = NodeTypeId{1}, .count = 900},
      {.name = "bought_by", .source = NodeTypeId{1}, .destination = NodeTypeId{0}, .count = 900},
      {.name = "goes_with", .source = NodeTypeId{1}, .destination = NodeTypeId{1}, .count = 400}};
  auto& split = info.splits.emplace_back();
  split.roles["train"] = {.node_type = NodeTypeId{1}, .count = 20};
  return info;
}

std::string graph_problems(const Job& job, const GraphInfo& info) {
  return to_string(check_against_graph(job, info, JobTrainer::own));
}

#define EXPECT_HAS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "the text was: " << (text)

TEST(SamplerRules, LaborKeepsNoListsOfOtherHosts) {
  EXPECT_EQ(key_problems(sampled, {"sample.choice=labor", "sample.shared=true"}), "");
  EXPECT_EQ(key_problems(sampled, {"sample.choice=labor", "sample.cache.budget=1000"}),
            "/sample/cache/budget: expected 0 with choice \"labor\", found 1000; lists that were "
            "fetched lack their neighbors' original ids\n");
}

TEST(SamplerRules, OptionsOfChoicesThatDoNotReadThemAreRefused) {
  EXPECT_EQ(key_problems(sampled, {"sample.shared=true"}),
            "/sample/shared: expected false with choice \"uniform\", found true; choice \"labor\" "
            "reads it\n");
  EXPECT_EQ(key_problems(sampled, {"sample.choice=labor", "sample.replace=true"}),
            "/sample/replace: expected false with choice \"labor\", found true\n");
}

TEST(SamplerRules, ClosedBatchesHaveAsManyLayersAsTheModelWants) {
  EXPECT_HAS(key_problems(sampled, {"model.layers=3"}), "/sample/fanout: expected 3 entries");
  for (const std::string kind : {"induced", "bidirectional"}) {
    EXPECT_EQ(key_problems(sampled, {"model.layers=3", "sample.subgraph=" + kind}), "");
  }
}

TEST(SamplerRules, ReversesAreOfTheTypeThatLeadsBack) {
  auto graph = store_graph();
  using Types = std::vector<std::optional<EdgeTypeId>>;
  EXPECT_EQ(reverses_of_sampled({{1, 1, 1}}, graph),
            (Types{EdgeTypeId{1}, EdgeTypeId{0}, EdgeTypeId{2}}));
  EXPECT_EQ(reverses_of_sampled({{1, 0, 0}, {0, 0, -1}}, graph),
            (Types{EdgeTypeId{1}, std::nullopt, EdgeTypeId{2}}));
  graph.edge_types.push_back(graph.edge_types[1]);
  EXPECT_EQ(reverses_of_sampled({{1, 0, 0, 0}}, graph), (Types{{}, {}, {}, {}})) << "two do";
}

TEST(SamplerRules, BidirectionalBatchesNeedATypeThatLeadsBack) {
  auto job = reading_of(sampled, {"sample.subgraph=bidirectional"}).job;
  auto graph = store_graph();
  EXPECT_EQ(graph_problems(job, graph), "");
  graph.edge_types.erase(graph.edge_types.begin() + 1);
  EXPECT_EQ(graph_problems(job, graph),
            "/sample/subgraph: expected \"directional\" or \"induced\" where not one edge type "
            "leads back from \"buys\", found \"bidirectional\"\n");
  job.sample.subgraph = Subgraph::induced;
  EXPECT_EQ(graph_problems(job, graph), "");
}

TEST(SamplerRules, ReversesDoNotShowTheLinksThatAreLeftOut) {
  auto job = reading_of(sampled, {"sample.subgraph=bidirectional", "task.kind=link"}).job;
  auto graph = store_graph();
  graph.splits[0].links["train"] = {.edge_type = EdgeTypeId{0}, .count = 9};
  EXPECT_EQ(graph_problems(job, graph),
            "/task/reverse: expected \"bought_by\" with sample.subgraph \"bidirectional\", found "
            "\"\"; else the reverses of these edges would show the links\n");
  job.task.reverse = "bought_by";
  EXPECT_EQ(graph_problems(job, graph), "");
  job.task.reverse = "";
  job.task.exclude = false;
  EXPECT_EQ(graph_problems(job, graph), "");
  job.task.exclude = true;
  graph.splits[0].links["train"].edge_type = EdgeTypeId{2};
  EXPECT_EQ(graph_problems(job, graph), "") << "goes_with is its own reverse";
}

TEST(SamplerRules, ClosedBatchesReachMoreEdges) {
  auto job = reading_of(sampled).job;
  const auto graph = store_graph();
  const std::vector<std::uint64_t> seeds = {0, 4};
  const auto drawn = reach(job.sample, graph, seeds);
  job.sample.subgraph = Subgraph::induced;
  EXPECT_EQ(reach(job.sample, graph, seeds).edges, (std::vector<std::uint64_t>{900, 900, 400}));
  EXPECT_GT(reach(job.sample, graph, seeds).asked, drawn.asked);
  job.sample.subgraph = Subgraph::bidirectional;
  const auto both = reach(job.sample, graph, seeds);
  EXPECT_EQ(both.edges[0], drawn.edges[0] + drawn.edges[1]);
  EXPECT_EQ(both.edges[2], 2 * drawn.edges[2]);
  EXPECT_EQ(both.nodes, drawn.nodes);
  EXPECT_EQ(both.after.front().nodes, both.nodes) << "every layer works on all nodes";
}

TEST(SamplerRules, LaborMayTakeMoreThanTheFanout) {
  auto job = reading_of(sampled).job;
  const auto graph = store_graph();
  const auto uniform = reach(job.sample, graph, {0, 2});
  job.sample.choice = "labor";
  EXPECT_GT(reach(job.sample, graph, {0, 2}).edges[2], uniform.edges[2]);
  const auto& labor = *find_kind(choice_kinds(), "labor");
  EXPECT_EQ(most_taken(labor, 16), 16U + 6 * 4 + 8);
  EXPECT_EQ(most_taken(choice_kinds()[0], 16), 16U);
}

TEST(SamplerRules, WalksNeedNoFanout) {
  const auto reading = reading_of(walked);
  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.sample.fanout, (std::vector<std::int32_t>{1}));
  const auto along = reading_of(
      R"(, "task": {"kind": "walk", "walk": {"along": ["bought_by", "buys"], "length": 4}})");
  EXPECT_EQ(to_string(along.problems), "");
  EXPECT_EQ(along.job.sample.fanout_of.size(), 2U) << "tables and checks are of these types alone";
  EXPECT_EQ(along.job.sample.fanout, (std::vector<std::int32_t>{0}));
  EXPECT_HAS(key_problems(R"(, "task": {"kind": "node"})"), "/sample/fanout");
}

TEST(SamplerRules, WhatWalksDoNotGoWithIsRefused) {
  EXPECT_EQ(
      key_problems(sampled, {"task.walk.length=3"}),
      "/task/walk: expected none with kind \"node\", found some; set task.kind to \"walk\", or "
      "task.positives to \"walks\"\n");
  const auto own = reading_of(
      R"(, "task": {"kind": "walk", "walk": {"along": ["buys"]}}, "sample": {"fanout": [9, 9, 9]})",
      {"model.layers=2"});
  EXPECT_EQ(to_string(own.problems), "");
  EXPECT_EQ(own.job.sample.fanout, std::vector<std::int32_t>{0}) << "nothing reads that of the job";
  EXPECT_EQ(own.job.sample.fanout_of.at("buys"), std::vector<std::int32_t>{1});
  EXPECT_HAS(key_problems(walked, {"sample.choice=labor"}),
             "/sample/choice: expected \"uniform\" or \"weighted\" with task.kind \"walk\"");
  EXPECT_HAS(key_problems(walked, {"sample.subgraph=induced"}), "/sample/subgraph: ");
  EXPECT_HAS(key_problems(walked, {"sample.disjoint=true"}), "/sample/disjoint: ");
  EXPECT_HAS(key_problems(walked, {"sample.edge_data=[\"ids\"]"}), "/sample/edge_data: ");
  EXPECT_HAS(key_problems(walked, {"task.negatives.kind=binary"}),
             "/task/negatives/kind: expected \"none\" with kind \"walk\"");
  EXPECT_HAS(key_problems(walked, {"task.walk.per_seed=1024", "sample.batch_size=65536",
                                   "task.walk.length=254"}),
             "/sample/batch_size: expected fewer than 2^32 nodes");
  EXPECT_HAS(key_problems(walked, {"task.walk.per_seed=1024", "sample.batch_size=65536",
                                   "task.walk.length=2", "task.walk.p=2"}),
             "expected fewer than 2^24 walks in a batch with p or q");
  EXPECT_HAS(key_problems(walked, {"task.walk.p=0"}), "/task/walk/p: ");
  EXPECT_HAS(key_problems(walked, {"task.walk.length=255"}), "/task/walk/length: ");
}

TEST(SamplerRules, StepsOfWalksLeadOnFromEachOther) {
  const auto graph = store_graph();
  const auto problems = [&](const std::string& along, const Overrides& more = {}) {
    Overrides all = {"task.walk.along=" + along, "task.walk.length=4", "sample.edge_dir=out"};
    all.insert(all.end(), more.begin(), more.end());
    const auto reading = reading_of(walked, all);
    EXPECT_EQ(to_string(reading.problems), "");
    return graph_problems(reading.job, graph);
  };
  EXPECT_EQ(problems(R"(["bought_by", "buys"])"), "");
  EXPECT_EQ(problems(R"(["goes_with"])", {"task.walk.q=2"}), "");
  EXPECT_EQ(problems(R"(["goes_with", "bought_by", "buys"])"), "");
  EXPECT_EQ(problems(R"(["buys", "bought_by"])", {"sample.edge_dir=in"}), "");
  EXPECT_HAS(problems("[]"),
             "/task/walk/along: expected edge types of the steps, as the graph has 3");
  EXPECT_HAS(problems(R"(["bought_bye"])"), "did you mean \"bought_by\"?");
  EXPECT_HAS(problems(R"(["bought_by", "buys", "bought_by"])"),
             "expected edge types that lead on from \"user\" nodes at step 4, found \"bought_by\"");
  EXPECT_HAS(problems(R"(["buys"])"), "from \"item\" nodes at step 1");
  EXPECT_HAS(problems(R"(["bought_by", "buys"])", {"task.walk.p=2"}),
             "one edge type that joins nodes of one type, with p or q other than 1");
}

TEST(SamplerRules, OptionsOfWalksAreIntegers) {
  const auto graph = store_graph();
  const auto job = reading_of(walked, {R"(task.walk.along=["bought_by", "buys"])",
                                       "task.walk.restart=0.25", "task.walk.window=3"})
                       .job;
  const auto options = sample_options(job, graph);
  ASSERT_TRUE(options.walks);
  EXPECT_EQ(options.walks->along, (std::vector{EdgeTypeId{1}, EdgeTypeId{0}}));
  EXPECT_EQ(options.walks->restart_below, 1U << 30);
  EXPECT_EQ(options.walks->window, 3U);
  EXPECT_FALSE(options.walks->second_order);
  EXPECT_EQ(options.fanout, (std::vector<std::vector<std::int32_t>>{{1, 1, 0}}));
  for (const auto& [restart, below] : std::vector<std::pair<double, std::uint32_t>>{
           {0, 0}, {1e-12, 1}, {0x1p-32, 1}, {0x1.8p-31, 3}}) {
    auto rare = job;
    rare.task.walk.restart = restart;
    EXPECT_EQ(sample_options(rare, graph).walks->restart_below, below) << restart;
  }
  const auto most = walk_reach(job, graph, {0, 4});
  EXPECT_EQ(most.nodes, (std::vector<std::uint64_t>{20, 24}));
  EXPECT_EQ(most.asked, 40U);
  EXPECT_EQ(most.edges, (std::vector<std::uint64_t>{0, 0, 0}));
}

}  // namespace
}  // namespace troupe
