#include "runtime/job/embedding_rules.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

using Overrides = std::vector<std::string>;

JobReading embedding_reading(const std::string& embedding, const Overrides& overrides = {}) {
  auto reading = parse_job(
      R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]}, "embedding": )" + embedding + "}",
      "base", overrides);
  EXPECT_OK(reading);
  return reading.ok() ? *std::move(reading) : JobReading{};
}

std::string embedding_problems(const std::string& embedding, const Overrides& overrides = {}) {
  auto problems = embedding_reading(embedding, overrides).problems;
  for (auto& problem : problems) {
    problem.place = {};
  }
  return to_string(problems);
}

GraphInfo embedding_graph() {
  GraphInfo info;
  info.node_types.resize(3);
  info.node_types[0].name = "author";
  info.node_types[0].count = 100;
  info.node_types[0].features = FeatureInfo{DType::f32, 5, 1.0F};
  info.node_types[0].labels = LabelInfo{LabelInfo::Kind::classes, 3};
  info.node_types[1].name = "paper";
  info.node_types[1].count = 500;
  info.node_types[2].name = "a/b";
  info.node_types[2].count = 9;
  info.edge_types = {
      {.name = "written_by", .source = NodeTypeId{1}, .destination = NodeTypeId{0}, .count = 900},
      {.name = "holds", .source = NodeTypeId{2}, .destination = NodeTypeId{1}, .count = 400},
      {.name = "cites", .source = NodeTypeId{1}, .destination = NodeTypeId{1}, .count = 400}};
  auto& split = info.splits.emplace_back();
  split.roles["train"] = {.node_type = NodeTypeId{0}, .count = 20};
  return info;
}

std::string embedding_graph_problems(const std::string& embedding, Overrides overrides = {},
                                     JobTrainer trainer = JobTrainer::built_in) {
  overrides.emplace_back("eval.mode=sampled");
  const auto reading = embedding_reading(embedding, overrides);
  EXPECT_EQ(to_string(reading.problems), "");
  return to_string(check_against_graph(reading.job, embedding_graph(), trainer));
}

TEST(Embedding, HasDefaultsForAllButTheColumns) {
  const auto reading = embedding_reading(R"({"paper": {"dim": 16}})");
  EXPECT_TRUE(reading.problems.empty());
  const auto& table = reading.job.embedding.at("paper");
  EXPECT_EQ(table.dim, 16U);
  EXPECT_EQ(table.optimizer.kind, "adagrad");
  EXPECT_EQ(table.optimizer.lr, 0.1);
  EXPECT_EQ(table.optimizer.eps, 1e-10);
  EXPECT_EQ(table.init.kind, "normal");
  const auto complete = nlohmann::json::parse(reading.job.json);
  EXPECT_EQ(complete["embedding"]["paper"]["optimizer"]["kind"], "adagrad");
  EXPECT_EQ(complete["embedding"]["paper"]["init"]["std"], 0.1);
  EXPECT_FALSE(nlohmann::json::parse(embedding_reading("{}").job.json).contains("embedding"));
}

TEST(Embedding, TakesEveryKeyAndOverrides) {
  const auto reading = embedding_reading(
      R"({"paper": {"dim": 16, "optimizer": {"kind": "adam", "lr": 0.01, "betas": [0.8, 0.99]},
          "init": {"kind": "uniform", "scale": 0.5}},
          "a/b": {"dim": 4, "optimizer": {"kind": "row_adagrad", "initial_accumulator": 0.1}}})",
      {"embedding.paper.dim=8", "embedding.author.dim=2", "embedding.author.init.kind=zeros"});
  EXPECT_EQ(to_string(reading.problems), "");
  const auto& job = reading.job;
  ASSERT_EQ(job.embedding.size(), 3U);
  const auto& paper = job.embedding.at("paper");
  EXPECT_EQ(paper.dim, 8U);
  EXPECT_EQ(paper.optimizer.kind, "adam");
  EXPECT_EQ(paper.optimizer.eps, 1e-8);
  EXPECT_EQ(paper.optimizer.beta1, 0.8);
  EXPECT_EQ(paper.optimizer.beta2, 0.99);
  EXPECT_EQ(paper.init.scale, 0.5);
  EXPECT_EQ(job.embedding.at("a/b").optimizer.initial_accumulator, 0.1);
  EXPECT_EQ(job.embedding.at("author").init.kind, "zeros");
  EXPECT_EQ(nlohmann::json::parse(job.json)["embedding"]["a/b"]["dim"], 4) << "names are escaped";
  EXPECT_EQ(embedding_reading(nlohmann::json::parse(job.json)["embedding"].dump()).job.json,
            embedding_reading(nlohmann::json::parse(job.json)["embedding"].dump()).job.json);
}

TEST(Embedding, NamesWhatIsWrong) {
  EXPECT_EQ(embedding_problems(R"({"paper": {}})"),
            "/embedding/paper/dim: expected integer, 1..65536, found nothing; this key is "
            "required\n");
  EXPECT_EQ(embedding_problems(R"({"paper": 3})"),
            "/embedding/paper: expected an object with keys, found 3\n");
  EXPECT_EQ(embedding_problems(R"({"paper": {"dim": 0}})"),
            "/embedding/paper/dim: expected integer, 1..65536, found 0\n");
  EXPECT_EQ(embedding_problems(R"({"paper": {"dim": 4, "dims": 0}})"),
            "/embedding/paper/dims: expected a known key, found an unknown one; did you mean "
            "\"dim\"?\n");
  EXPECT_EQ(embedding_problems(R"({"paper": {"dim": 4, "optimizer": {"kind": "adagrat"}}})"),
            "/embedding/paper/optimizer/kind: expected \"sgd\" | \"adagrad\" | \"row_adagrad\" | "
            "\"adam\", found \"adagrat\"; did you mean \"adagrad\"?\n");
  EXPECT_EQ(embedding_problems(R"({"paper": {"dim": 4, "optimizer": {"betas": [0.5, 0.9]}}})"),
            "/embedding/paper/optimizer/betas: expected 0.9 with kind \"adagrad\", found 0.5\n");
  EXPECT_EQ(embedding_problems(R"({"paper": {"dim": 4, "init": {"kind": "zeros", "std": 3}}})"),
            "/embedding/paper/init/std: expected 0.1 with kind \"zeros\", found 3\n");
}

TEST(Embedding, IsOfNodeTypesThatTheModelReads) {
  EXPECT_EQ(embedding_graph_problems(R"({"paper": {"dim": 4}, "a/b": {"dim": 3}})"), "");
  EXPECT_EQ(embedding_graph_problems(R"({"paper": {"dim": 4}})"),
            "/dataset/path: expected features of \"a/b\" nodes, found none; import it with "
            "\"features\": \"one-hot\", or learn rows (\"embedding\")\n");
  EXPECT_NE(embedding_graph_problems(R"({"papers": {"dim": 4}})")
                .find("/embedding/papers: expected a node type of the graph, found \"papers\"; did "
                      "you mean \"paper\"?\n"),
            std::string::npos);
  EXPECT_EQ(embedding_graph_problems(R"({"paper": {"dim": 4}, "a/b": {"dim": 3}})",
                                     {"sample.fanout=[3]", "model.layers=1"}),
            "/embedding/a~1b: expected node types that a layer of the model reads, found "
            "\"a/b\"; no edges lead from it to the seeds in so many layers\n");
}

TEST(Embedding, WidensTheModelsInput) {
  auto job = embedding_reading(R"({"paper": {"dim": 4}, "author": {"dim": 3}})").job;
  fit_to_graph(job, embedding_graph());
  EXPECT_EQ(job.model.in_dim, 8U) << "features and learned columns";
  EXPECT_EQ(job.model.types.nodes[0].cols, 8U);
  EXPECT_EQ(job.model.types.nodes[1].cols, 4U);
  EXPECT_EQ(job.model.types.nodes[2].cols, 0U);
  EXPECT_TRUE(job.infers_exactly());
}

TEST(Embedding, WhatIsNotBuiltIsRefused) {
  const std::string tables = R"({"paper": {"dim": 4}, "a/b": {"dim": 3}})";
  EXPECT_EQ(embedding_graph_problems(tables, {}, JobTrainer::own), "") << "a program knows";
  const auto exact = embedding_reading(tables);
  EXPECT_EQ(to_string(check_against_graph(exact.job, embedding_graph())), "");
}

TEST(Embedding, WithoutTablesNothingIsStale) {
  EXPECT_EQ(
      to_string(embedding_reading(R"({"paper": {"dim": 4}})", {"train.staleness=4"}).problems), "");
  EXPECT_EQ(to_string(embedding_reading("{}", {"train.staleness=4"}).problems),
            "/train/staleness: expected 0 without learned rows (embedding), found 4\n");
  EXPECT_NE(
      to_string(embedding_reading(R"({"paper": {"dim": 4}})", {"train.staleness=65"}).problems)
          .find("/train/staleness"),
      std::string::npos);
}

TEST(Embedding, TablesAreInTheOrderOfNodeTypes) {
  auto job = embedding_reading(R"({"paper": {"dim": 4}, "author": {"dim": 3}})",
                               {"cluster.trainers_per_host=3", "seed=9"})
                 .job;
  const auto plan = embedding_plan(job, embedding_graph());
  ASSERT_EQ(plan->tables.size(), 2U);
  EXPECT_EQ(plan->tables[0].name, "author");
  EXPECT_EQ(plan->tables[1].node_type, NodeTypeId{1});
  EXPECT_EQ(plan->world, 3U);
  EXPECT_EQ(plan->job_seed, 9U);
  EXPECT_EQ(plan->find(NodeTypeId{1})->dim, 4U);
  EXPECT_EQ(plan->find(NodeTypeId{2}), nullptr);
  EXPECT_EQ(embedding_plan(embedding_reading("{}").job, embedding_graph()), nullptr);
}

}  // namespace
}  // namespace troupe
