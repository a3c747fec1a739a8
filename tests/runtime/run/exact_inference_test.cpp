#include "runtime/run/exact_inference.hpp"

#include "runtime/feature/tensor_rows.hpp"
#include "runtime/nn/catalog.hpp"
#include "tests/runtime/feature/collect.hpp"

namespace troupe {
namespace {

using OutputKey = ExactInference::OutputKey;

/// Exact inference of a network of two layers over a graph whose parts lie on one host or several.
class Inference : public ::testing::Test {
 protected:
  Inference() {
    nn::ModelOptions options;
    options.in_dim = 5;
    options.hidden = 6;
    options.out_dim = 4;
    auto made = nn::make_network(options);
    EXPECT_OK(made);
    network_ = *std::move(made);
    std::vector<float> values(network_->num_parameters());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7 % 13) / 13 - 0.4F;
    }
    parameters_ = Segment::of(std::move(values));
  }

  /// Of a host with some of the parts.
  ExactInference on_host(const std::set<std::uint32_t>& parts, std::uint64_t block_bytes = 400,
                         bool traced = false) {
    ExactInferenceOptions options;
    options.network = network_;
    options.decoders = testing::collect_options(cut_)->decoders;
    options.block_bytes = block_bytes;
    auto seeds = std::make_shared<SeedList>();
    for (const std::uint64_t original : {3U, 17U, 42U, 59U}) {
      seeds->original.push_back(static_cast<OriginalId>(original));
      seeds->global.push_back(cut_.global(original));
    }
    options.seeds["test"] = seeds;
    InferenceHost host{
        "host 0", std::make_shared<const GraphInfo>(cut_.info), cut_.book, {}, [](PartId) {
          return true;
        }};
    host.traced = traced;
    for (const auto part : parts) {
      host.parts[PartId{part}] = cut_.parts[part];
    }
    return {std::move(options), std::move(host)};
  }

  /// What the data path and the holders make of a request.
  std::shared_ptr<const ReadyBatch> ready(const SampleBatch& request) {
    std::vector<std::uint64_t> seeds;
    for (const NodeId seed : request.seeds) {
      seeds.push_back(cut_.original(seed));
    }
    auto sampled = std::make_shared<const SampledBatch>(
        testing::drive(cut_, *request.sample, request.key, seeds));
    RowCollection rows(*cut_.book, request.collect, sampled);
    for (const auto& question : rows.questions()) {
      const auto& part = *cut_.parts[raw(question.part)];
      if (request.collect->source.kind == RowSource::Kind::features) {
        EXPECT_OK(rows.answer_from(question.id, part));
        continue;
      }
      const Matrix* const tensors[] = {tensors_.at({question.part, NodeTypeId{}}).get()};
      const auto reply = read_tensor_rows(part, tensors, question.request);
      EXPECT_OK(reply);
      EXPECT_OK(rows.answer(question.id, *reply));
    }
    return std::make_shared<const ReadyBatch>(ReadyBatch{std::move(rows).take(), {}});
  }

  void answer(ExactInference& inference, const ExactInference::Ask& asked) {
    inference.arrived(asked.block);
    const auto work = inference.computation(asked.block, ready(asked.request));
    inference.computed(asked.block, work.run(executor_));
  }

  /// One layer of all hosts; then what their holders keep.
  void run_layer(std::vector<ExactInference>& hosts, std::uint32_t layer) {
    std::map<OutputKey, std::shared_ptr<Matrix>> made;
    for (auto& host : hosts) {
      ASSERT_OK(host.check(layer));
      host.begin(layer);
      while (!host.done()) {
        const auto asked = host.next();
        ASSERT_FALSE(asked.empty());
        for (const auto& ask : asked) {
          answer(host, ask);
        }
      }
      EXPECT_EQ(host.tensor(), layer + 1);
      made.insert(host.outputs().begin(), host.outputs().end());
      host.finish();
    }
    tensors_ = made;
  }

  /// Logits by original id.
  std::map<std::uint64_t, std::vector<float>> logits_of(std::vector<ExactInference> hosts) {
    for (auto& host : hosts) {
      EXPECT_OK(host.set_parameters(parameters_));
    }
    for (std::uint32_t layer = 0; layer < hosts.front().layers(); ++layer) {
      run_layer(hosts, layer);
    }
    std::map<std::uint64_t, std::vector<float>> logits;
    for (const auto& [key, rows] : tensors_) {
      const auto& nodes = cut_.parts[raw(key.first)]->nodes[0];
      for (std::uint64_t i = 0; i < nodes.count; ++i) {
        const auto row = rows->view().row(i);
        logits[nodes.original_ids[i]].assign(row.begin(), row.end());
      }
    }
    return logits;
  }

  testing::CutGraph cut_ = testing::cut_graph(testing::featured_graph(), 3);
  std::shared_ptr<const nn::Network> network_;
  Segment parameters_;
  InlineExecutor executor_;
  std::map<OutputKey, std::shared_ptr<Matrix>> tensors_;
};

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

TEST_F(Inference, HasTwoBlocksInFlight) {
  auto inference = on_host({0, 1, 2}, 1);
  ASSERT_OK(inference.set_parameters(parameters_));
  EXPECT_TRUE(inference.waits());
  inference.begin(0);

  const auto first = inference.next();
  ASSERT_EQ(first.size(), 2U);
  EXPECT_TRUE(inference.next().empty());
  EXPECT_TRUE(inference.waits());
  inference.arrived(first[0].block);
  EXPECT_FALSE(inference.waits());

  const auto work = inference.computation(first[0].block, ready(first[0].request));
  inference.computed(first[0].block, work.run(executor_));
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
    auto inference = on_host({0, 1, 2}, 1, traced);
    ASSERT_OK(inference.set_parameters(parameters_));
    for (const std::uint32_t round : {1U, 2U}) {
      ASSERT_OK(inference.accept({.round = round, .layer = 0, .best = false}));
      inference.begin(0);
      for (const auto& asked : inference.next()) {
        flows.insert(asked.request.flow);
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
  const std::vector<std::uint64_t> originals = {3, 17, 42, 59};
  for (const auto& host : hosts) {
    ASSERT_OK_AND_ASSIGN(const auto scores, host.scores("test"));
    EXPECT_EQ(scores.cols, 4U);
    for (std::size_t i = 0; i < scores.positions.size(); ++i) {
      const auto position = scores.positions[i];
      EXPECT_TRUE(positions.insert(position).second);
      const auto row = scores.outputs.as<float>().subspan(i * 4, 4);
      EXPECT_TRUE(std::ranges::equal(row, logits.at(originals[position])));
    }
    EXPECT_ERROR(host.scores("nobody"), Errc::failed_precondition, "\"nobody\"");
  }
  EXPECT_EQ(positions.size(), 4U);
}

}  // namespace
}  // namespace troupe
