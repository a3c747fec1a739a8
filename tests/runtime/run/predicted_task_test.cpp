// The task of a trained model on data without a split or labels: what is known, and what is asked for.
#include "runtime/run/predicted_task.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/run/state_pieces.hpp"
#include "tests/support/expect.hpp"

#include <limits>
#include <string>
#include <vector>

namespace troupe {
namespace {

/// Readers and books; readers read, buy and follow each other.
GraphInfo library() {
  GraphInfo graph;
  graph.node_types.resize(2);
  graph.node_types[0].name = "book";
  graph.node_types[0].count = 20;
  graph.node_types[0].features = FeatureInfo{DType::f32, 3, 1.0F};
  graph.node_types[1].name = "reader";
  graph.node_types[1].count = 10;
  graph.node_types[1].features = FeatureInfo{DType::f32, 4, 1.0F};
  const auto add = [&graph](const char* name, std::uint16_t from, std::uint16_t to,
                            std::uint64_t count) {
    auto& type = graph.edge_types.emplace_back();
    type.name = name;
    type.source = NodeTypeId{from};
    type.destination = NodeTypeId{to};
    type.count = count;
  };
  add("buys", 1, 0, 5);
  add("reads", 1, 0, 30);
  add("rev_reads", 0, 1, 30);
  return graph;
}

NamedModel model_of(ModelMetadata metadata, std::string edge_type = "") {
  return {.file = "model.safetensors",
          .metadata = std::move(metadata),
          .edge_type = std::move(edge_type)};
}

Job links_job(const char* kind = "link") {
  Job job;
  job.task.kind = kind;
  return job;
}

TEST(PredictedTask, NodesHaveTheTypeAndTheOutputsOfTheModel) {
  ASSERT_OK_AND_ASSIGN(
      const auto task,
      predicted_task({}, library(), model_of({{"seed_type", "reader"}, {"out_dim", "7"}})));
  EXPECT_EQ(task, (PredictedTask{.seeds = NodeTypeId{1}, .outputs = 7}));

  auto one_type = library();
  one_type.node_types.resize(1);
  one_type.edge_types.resize(0);
  one_type.edge_types.push_back({});
  ASSERT_OK_AND_ASSIGN(const auto only, predicted_task({}, one_type, model_of({{"out_dim", "2"}})));
  EXPECT_EQ(only, (PredictedTask{.seeds = NodeTypeId{0}, .outputs = 2}));

  auto tested = library();
  tested.splits.push_back({"", {{"test", {NodeTypeId{1}, 4}}}});
  ASSERT_OK_AND_ASSIGN(const auto of_role,
                       predicted_task({}, tested, model_of({{"out_dim", "2"}})));
  EXPECT_EQ(of_role.seeds, NodeTypeId{1});
}

TEST(PredictedTask, DataThatStateAllAreTakenAsTheyAre) {
  auto graph = library();
  graph.node_types[1].labels = LabelInfo{LabelInfo::Kind::classes, 3};
  graph.splits.push_back({"", {{"train", {NodeTypeId{1}, 4}}}});
  const std::vector<ModelMetadata> files{{}, {{"out_dim", "3"}, {"seed_type", "book"}}};
  for (const auto& metadata : files) {
    ASSERT_OK_AND_ASSIGN(const auto task, predicted_task({}, graph, model_of(metadata)));
    EXPECT_EQ(task, PredictedTask{});
  }
  graph.splits.back().links["train"] = {EdgeTypeId{1}, 9};
  ASSERT_OK_AND_ASSIGN(const auto links, predicted_task(links_job(), graph, model_of({}, "buys")));
  EXPECT_EQ(links, PredictedTask{});
}

TEST(PredictedTask, LabelsMakeTheModelsOutputs) {
  auto graph = library();
  graph.node_types[1].labels = LabelInfo{LabelInfo::Kind::classes, 2};
  Job job;
  job.train.loss = "bce_logits";
  ASSERT_OK_AND_ASSIGN(
      const auto binary,
      predicted_task(job, graph, model_of({{"seed_type", "reader"}, {"out_dim", "1"}})));
  EXPECT_EQ(binary, (PredictedTask{.seeds = NodeTypeId{1}}));
  EXPECT_ERROR(predicted_task({}, graph, model_of({{"seed_type", "reader"}, {"out_dim", "7"}})),
               Errc::invalid_argument,
               "model.safetensors: expected a model of out_dim 2, which the labels of \"reader\" "
               "nodes in ");
  graph.node_types[1].labels->classes = 0;  // none is known
  ASSERT_OK_AND_ASSIGN(
      const auto unknown,
      predicted_task({}, graph, model_of({{"seed_type", "reader"}, {"out_dim", "7"}})));
  EXPECT_EQ(unknown.outputs, 7U);
}

TEST(PredictedTask, ModelsThatDoNotSayWhatIsMissingAreRefused) {
  const auto invalid = Errc::invalid_argument;
  EXPECT_ERROR(predicted_task({}, library(), model_of({{"out_dim", "7"}})), invalid,
               "expected a model that says which of the node types \"book\", \"reader\" has "
               "outputs");
  EXPECT_ERROR(predicted_task({}, library(), model_of({{"seed_type", "paper"}})), invalid,
               "found outputs of \"paper\" nodes");
  EXPECT_ERROR(predicted_task({}, library(), model_of({{"seed_type", "book"}})), invalid,
               "expected a model that says how many outputs it has (\"out_dim\" in its metadata), "
               "as \"book\" nodes have no labels, found none\ntry: ");
  for (const std::string bad : {"0", "-1", "7 ", "x", "16777217", "99999999999999999999"}) {
    EXPECT_ERROR(predicted_task({}, library(), model_of({{"seed_type", "book"}, {"out_dim", bad}})),
                 Errc::data_corruption, "expected \"out_dim\" from 1 to 16777216");
  }
}

TEST(PredictedTask, LinksAreOfTheTypesThatTheModelOrTheUserNames) {
  const auto types_of = [](const GraphInfo& graph, ModelMetadata metadata, const char* named) {
    const auto task =
        predicted_task(links_job("edge"), graph, model_of(std::move(metadata), named));
    EXPECT_OK(task);
    return task ? task->links : std::vector<EdgeTypeId>();
  };
  using Types = std::vector<EdgeTypeId>;
  EXPECT_EQ(types_of(library(), {{"seed_type", "reader"}}, "reads"), Types{EdgeTypeId{1}});
  EXPECT_EQ(types_of(library(), {{"seed_type", "book"}}, ""), Types{EdgeTypeId{2}});
  EXPECT_EQ(types_of(library(), {{"decoder_edges", "reads, buys"}}, ""),
            (Types{EdgeTypeId{1}, EdgeTypeId{0}}));
  auto tested = library();
  tested.splits.push_back({"", {}, {{"test", {EdgeTypeId{1}, 4}}}});
  EXPECT_EQ(types_of(tested, {{"seed_type", "reader"}}, ""), Types{EdgeTypeId{1}});

  for (const std::string named : {"", "lends"}) {
    EXPECT_ERROR(predicted_task(links_job(), library(), model_of({{"seed_type", "reader"}}, named)),
                 Errc::invalid_argument, "one of \"buys\", \"reads\", found \"" + named + "\"");
  }
  EXPECT_ERROR(predicted_task(links_job(), library(), model_of({{"decoder_edges", "reads, "}})),
               Errc::invalid_argument, "found \"\"");
  ASSERT_OK_AND_ASSIGN(const auto triples,
                       predicted_task(links_job("knowledge"), library(), model_of({})));
  EXPECT_EQ(triples, PredictedTask{}) << "triples are those of the data";
}

TEST(PredictedTask, FitsTheJobAndCountsAllEdgesAsLinks) {
  Job job;
  fit_to_prediction(job, library(), {.seeds = NodeTypeId{1}, .outputs = 7});
  EXPECT_EQ(job.model.types.seeds, NodeTypeId{1});
  EXPECT_EQ(job.model.in_dim, 4U);
  EXPECT_EQ(job.model.out_dim, 7U);

  auto graph = library();
  auto links = links_job();
  const PredictedTask task{.links = {EdgeTypeId{1}, EdgeTypeId{0}}};
  add_predicted(graph, links, task);
  const auto* train = training_links(links, graph);
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->count, 35U);
  EXPECT_EQ(train->edge_types, task.links);
  fit_to_prediction(links, library(), task);
  EXPECT_EQ(links.model.decoder.relations, task.links);
  EXPECT_EQ(to_string(check_against_graph(links, graph, JobTrainer::none)), "")
      << "no negatives are drawn";
}

TEST(PredictedTask, TravelsWithTheNodes) {
  const std::vector<PredictedTask> tasks{
      {}, {.seeds = NodeTypeId{0}, .outputs = 3}, {.links = {EdgeTypeId{2}, EdgeTypeId{0}}}};
  for (const auto& task : tasks) {
    net::TrainingState state;
    add_task(state, task);
    PieceCollector collector;
    for (std::uint64_t i = 0; i < count_pieces(state, 5); ++i) {
      ASSERT_OK(collector.add(i, piece_for({}, state, i, 5)));
    }
    const auto arrived = collector.take();
    ASSERT_OK_AND_ASSIGN(const auto found, task_of_state(arrived, library()));
    EXPECT_EQ(found, task);
    ASSERT_OK_AND_ASSIGN(const auto lists, lists_of_state(arrived));
    EXPECT_TRUE(lists.empty());
  }
}

TEST(PredictedTask, OfAnotherGraphIsDamaged) {
  const auto damaged = Errc::data_corruption;
  EXPECT_ERROR(task_of_state({}, library()), damaged, "expected 16 bytes");
  for (const PredictedTask& task :
       {PredictedTask{.seeds = NodeTypeId{2}}, PredictedTask{.links = {EdgeTypeId{3}}},
        PredictedTask{.outputs = std::numeric_limits<std::uint64_t>::max()}}) {
    net::TrainingState state;
    add_task(state, task);
    EXPECT_ERROR(task_of_state(state, library()), damaged, "expected types of the store, 2 of ");
    state.blobs.begin()->second.pop_back();
    EXPECT_ERROR(task_of_state(state, library()), damaged, "expected 16 bytes");
  }
}

}  // namespace
}  // namespace troupe
