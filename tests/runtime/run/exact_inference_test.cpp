#include "runtime/run/exact_inference.hpp"

#include "runtime/run/forward_input.hpp"
#include "tests/runtime/run/inference_runs.hpp"

namespace troupe {
namespace {

using Inference = testing::InferenceRuns;

TEST_F(Inference, GivesTheSameLogitsWhateverTheBlocksAndHosts) {
  std::vector<ExactInference> whole;
  whole.push_back(on_host({0, 1, 2}, nn::infer_block_bytes));
  const auto expected = logits_of(std::move(whole));
  ASSERT_EQ(expected.size(), 60U);

  for (const std::uint64_t block_bytes : {1U, 200U, 2000U}) {
    std::vector<ExactInference> hosts;
    hosts.push_back(on_host({0, 2}, block_bytes));
    hosts.push_back(on_host({1}, block_bytes));

    EXPECT_EQ(logits_of(std::move(hosts)), expected) << block_bytes;
  }
}

/// Beside it the same rows of batches with all neighbors.
class InferenceAndBatches : public testing::InferenceRuns {
 protected:
  /// Of nodes of type 0 in one batch of two hops.
  std::vector<std::vector<float>> forward(SampleOptions sample,
                                          const std::shared_ptr<const CollectOptions>& collect,
                                          const std::vector<std::uint64_t>& nodes) {
    sample.fanout.assign(2, std::vector<std::int32_t>(cut_.info.edge_types.size(), all_neighbours));
    const auto batch = testing::collect(
        cut_, collect, testing::drive(cut_, sample, {Purpose::evaluate, 0, 0}, nodes));
    const auto input = forward_input(network_->options(), 1, batch, false, {});
    EXPECT_OK(input);
    nn::Activations activations;
    const auto rows = network_->forward(executor_, parameters_.as<float>(), *input, activations);
    std::vector<std::vector<float>> logits;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      logits.emplace_back(rows.row(i).begin(), rows.row(i).end());
    }
    return logits;
  }
};

TEST_F(InferenceAndBatches, OneGraphConvolutionHasTheBitsOfBatchesWithAllEdges) {
  use(testing::featured_graph(), 2, {.kind = "gcn", .layers = 1, .out_dim = 4});
  const auto expected = logits({{0, 1}}, nn::infer_block_bytes);
  const std::vector<std::uint64_t> nodes = {0, 5, 11, 39};
  SampleOptions sample;
  sample.subgraph = Subgraph::induced;

  const auto of_batch = forward(sample, collect_options(cut_, normalize_), nodes);

  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(expected.at({0, nodes[i]}), of_batch[i]) << nodes[i];
  }
}

/// Models that read features of edges, on a graph of one type or on one of several.
class InferenceOfEdgeFeatures : public InferenceAndBatches {
 protected:
  void use_kind(const std::string& kind, const testing::TestGraph& graph, std::uint32_t parts) {
    use(graph, parts,
        {.kind = kind,
         .hidden = 6,
         .out_dim = 4,
         .heads = 2,
         .loops = false,
         .edge_features = true});
  }
  /// In one batch with all neighbors, whose rows and features of edges are collected.
  std::vector<std::vector<float>> forward(const std::vector<std::uint64_t>& nodes) {
    SampleOptions sample;
    sample.edge_data.entries = true;
    return InferenceAndBatches::forward(sample, collect_with_edges(cut_), nodes);
  }
};

TEST_F(InferenceOfEdgeFeatures, IsThatOfBatchesWithAllNeighborsWhateverTheBlocksAndHosts) {
  auto one = testing::featured_graph();
  testing::add_edge_features(one.edges[0], 3);
  auto several = testing::papers_and_authors();
  testing::add_features(several.nodes[0], 5);
  testing::add_features(several.nodes[1], 7);
  testing::add_edge_features(several.edges[0], 2);  // others have none
  for (const std::string kind : {"graphsage", "gat", "gatv2", "gin", "rgat"}) {
    for (const auto* const graph : {&one, &several}) {
      if (kind != "rgat" && kind != "graphsage" && graph == &several) {
        continue;
      }
      SCOPED_TRACE(kind);
      use_kind(kind, *graph, 1);
      const auto expected = logits({{0}}, nn::infer_block_bytes);
      const std::vector<std::uint64_t> nodes = {0, 5, 11};
      const auto of_batch = forward(nodes);
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        EXPECT_EQ(expected.at({0, nodes[i]}), of_batch[i]) << nodes[i];
      }
      use_kind(kind, *graph, 3);
      for (const std::uint64_t block_bytes : {1U, 500U, 5000U}) {
        EXPECT_EQ(logits({{0, 1, 2}}, block_bytes), expected) << block_bytes;
        EXPECT_EQ(logits({{0, 2}, {1}}, block_bytes), expected) << block_bytes;
      }
    }
  }
}

TEST_F(InferenceOfEdgeFeatures, CutsBlocksByTheRoomThatTheyTakeToo) {
  auto graph = testing::featured_graph();
  testing::add_edge_features(graph.edges[0], 3);
  const auto blocks = [&](std::uint64_t block_bytes) {
    auto inference = on_host({0}, block_bytes);
    EXPECT_OK(inference.set_parameters(parameters_));
    inference.begin(0);
    compute_layer(inference);
    return inference.blocks_done();
  };
  use_kind("gat", graph, 1);
  const auto room = graph.nodes[0].count * graph.nodes[0].cols * sizeof(float);  // of all rows
  EXPECT_GT(blocks(room), 1U);
  use(graph, 1, {.kind = "gat", .hidden = 6, .out_dim = 4, .heads = 2, .loops = false});
  EXPECT_EQ(blocks(room), 1U);
}

TEST_F(InferenceOfEdgeFeatures, APartWithoutThemIsAnErrorOfTheBlock) {
  auto graph = testing::featured_graph();
  testing::add_edge_features(graph.edges[0], 3);
  use_kind("gat", graph, 1);
  auto of_host = host({0});
  auto without = std::make_shared<Part>(*of_host.parts[PartId{0}]);
  without->edges[0].features.reset();
  of_host.parts[PartId{0}] = without;
  ExactInference inference(options(nn::infer_block_bytes), std::move(of_host));
  ASSERT_OK(inference.set_parameters(parameters_));
  inference.begin(0);
  const auto asked = inference.next();
  const auto work = inference.computation(asked[0].block, ready(*asked[0].request));
  EXPECT_ERROR(work.run({executor_}), Errc::invalid_argument,
               "there is no table \"features of edge type 0\"");
}

TEST_F(Inference, HasTwoBlocksInFlight) {
  auto inference = on_host({0, 1}, 1);
  ASSERT_OK(inference.set_parameters(parameters_));
  EXPECT_TRUE(inference.waits());
  inference.begin(0);

  const auto first = inference.next();
  ASSERT_EQ(first.size(), 2U);
  EXPECT_TRUE(inference.next().empty());
  EXPECT_TRUE(inference.waits());
  inference.arrived(first[0].block);
  EXPECT_FALSE(inference.waits());

  const auto work = inference.computation(first[0].block, ready(*first[0].request));
  ASSERT_OK_AND_ASSIGN(const auto edges, work.run({executor_}));
  inference.computed(first[0].block, edges);
  EXPECT_EQ(inference.blocks_done(), 1U);
  EXPECT_EQ(inference.next().size(), 1U);
}

TEST_F(Inference, LayersOutOfTurnAreRefused) {
  auto inference = on_host({0});

  EXPECT_OK(inference.check(0));
  EXPECT_ERROR(inference.check(1), Errc::failed_precondition, "asked for layer 1 of 2 out of turn");
  EXPECT_ERROR(inference.set_parameters(Segment::of(std::vector<float>(3))), Errc::data_corruption,
               "parameters of the trainer");
  ASSERT_OK(inference.set_parameters(parameters_));
  EXPECT_OK(inference.check(1));
  EXPECT_ERROR(inference.check(2), Errc::failed_precondition, "layer 2 of 2");
}

TEST_F(Inference, ARequestThatIsMadeAgainIsKnown) {
  auto inference = on_host({});
  const net::InferRequest first{.round = 1, .layer = 0, .best = true};
  const net::InferRequest second{.round = 1, .layer = 1, .best = true};
  EXPECT_FALSE(inference.answers({}));

  ASSERT_OK(inference.accept(first));
  ASSERT_OK(inference.set_parameters(parameters_));
  EXPECT_TRUE(inference.answers(first));
  EXPECT_FALSE(inference.answers({.round = 2, .layer = 0, .best = true}));
  EXPECT_FALSE(inference.answers({.round = 1, .layer = 0, .best = false}));
  EXPECT_FALSE(inference.finished(first));
  inference.begin(0);
  inference.finish();

  EXPECT_TRUE(inference.finished(first));
  EXPECT_FALSE(inference.finished(second));
  ASSERT_OK(inference.accept(second));
  EXPECT_FALSE(inference.answers(first));
  EXPECT_TRUE(inference.finished(first)) << "until the next layer is finished";
}

TEST_F(Inference, ARefusedRequestIsNotAccepted) {
  auto inference = on_host({0});
  const net::InferRequest early{.round = 1, .layer = 1, .best = false};

  EXPECT_ERROR(inference.accept(early), Errc::failed_precondition, "out of turn");

  EXPECT_FALSE(inference.answers(early));
  EXPECT_EQ(inference.turn(), 0U);
}

TEST_F(Inference, BlocksOfALayerHaveNumbersOfTheirOwnInTheTrace) {
  std::set<std::uint64_t> flows;
  for (const bool traced : {false, true}) {
    auto inference = on_host({0, 1}, 1, traced);
    ASSERT_OK(inference.set_parameters(parameters_));
    for (const std::uint32_t round : {1U, 2U}) {
      ASSERT_OK(inference.accept({.round = round, .layer = 0, .best = false}));
      inference.begin(0);
      for (const auto& asked : inference.next()) {
        flows.insert(asked.flow);
        EXPECT_EQ(asked.request->flow, asked.flow);
      }
    }
  }

  EXPECT_EQ(flows.size(), 5U) << "two blocks of each layer; 0 without a trace";
}

TEST_F(Inference, ACancelledLayerLeavesNothingToRequest) {
  auto inference = on_host({0, 1, 2}, 1);
  ASSERT_OK(inference.set_parameters(parameters_));
  inference.begin(0);
  ASSERT_FALSE(inference.next().empty());

  inference.cancel();

  EXPECT_TRUE(inference.waits());
  EXPECT_TRUE(inference.next().empty());
}

TEST_F(Inference, ProgressGrowsToAllWorkOfAllLayers) {
  std::vector<ExactInference> hosts;
  hosts.push_back(on_host({0, 1, 2}));
  ASSERT_OK(hosts[0].set_parameters(parameters_));
  EXPECT_EQ(hosts[0].progress().done, 0U);
  run_layer(hosts, 0);
  const auto half = hosts[0].progress();
  EXPECT_GT(half.done, 0U);
  EXPECT_LT(half.done, half.total);

  run_layer(hosts, 1);

  EXPECT_NEAR(static_cast<double>(hosts[0].progress().done),
              static_cast<double>(hosts[0].progress().total), 100);
}

TEST_F(Inference, ScoresAreTheLogitsAndLabelsOfSeedsThatLieHere) {
  std::vector<ExactInference> hosts;
  hosts.push_back(on_host({0, 1}));
  hosts.push_back(on_host({2}));
  EXPECT_ERROR(hosts[0].scores("test"), Errc::failed_precondition, "before exact inference");
  const auto logits = logits_of(hosts);
  for (auto& host : hosts) {
    ASSERT_OK(host.set_parameters(parameters_));
  }
  run_layer(hosts, 0);
  run_layer(hosts, 1);

  std::set<std::uint64_t> positions;
  const std::vector<std::uint64_t> originals = {3, 17, 22, 39};
  for (const auto& host : hosts) {
    ASSERT_OK_AND_ASSIGN(const auto scores, host.scores("test"));
    EXPECT_EQ(scores.cols, 4U);
    for (std::size_t i = 0; i < scores.positions.size(); ++i) {
      const auto position = scores.positions[i];
      EXPECT_TRUE(positions.insert(position).second);
      const auto row = scores.outputs.as<float>().subspan(i * 4, 4);
      EXPECT_TRUE(std::ranges::equal(row, logits.at({0, originals[position]})));
    }
    EXPECT_ERROR(host.scores("nobody"), Errc::failed_precondition, "\"nobody\"");
  }
  EXPECT_EQ(positions.size(), 4U);
}

}  // namespace
}  // namespace troupe
