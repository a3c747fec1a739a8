// Learning from batches of links: gradients against differences, and batches that do not fit.
#include "runtime/run/task/task.hpp"
#include "tests/runtime/run/learner_support.hpp"

#include <cmath>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace testing;

LearnerOptions link_learner(const std::string& decoder, const std::string& loss) {
  auto o = small_learner();
  o.task = "link";
  o.loss = loss;
  o.model.in_dim = 2;
  o.model.out_dim = 3;
  o.model.decoder = {.kind = decoder, .hidden = 5, .outputs = 1};
  return o;
}

/// The gradient of a batch against differences of its loss, parameter by parameter.
void expect_gradient(const LearnerOptions& options, const Batch& batch) {
  InlineExecutor executor;
  const auto learner = make(options);
  const auto start = *learner->snapshot();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch));
  const std::vector<float> gradient(share.gradient.begin(), share.gradient.end());
  ASSERT_EQ(gradient.size(), start.size());
  const auto optimizer = learner->optimizer_state();
  const auto loss_at = [&](std::size_t i, float step) {
    auto moved = start;
    moved[i] += step;
    EXPECT_OK(learner->restore(moved, optimizer, {}, 0));
    const auto found = learner->compute(executor, batch);
    EXPECT_OK(found);
    return found->loss_sum;
  };
  for (std::size_t i = 0; i < start.size(); ++i) {
    constexpr float step = 0x1p-8F;
    const double difference = (loss_at(i, step) - loss_at(i, -step)) / (2 * step);
    EXPECT_NEAR(gradient[i], difference, 3e-3) << i;
  }
}

TEST(LinkLearner, GradientsOfEveryLossAndDecoderEqualDifferences) {
  for (const auto& decoder : nn::decoder_kinds()) {
    for (const auto& loss : nn::link_loss_kinds()) {
      SCOPED_TRACE(fmt::format("{} {}", decoder.name, loss.name));
      auto options = link_learner(std::string(decoder.name), std::string(loss.name));
      if (loss.name == "self_adversarial") {
        options.link_loss.temperature = 1e-6;  // shares have no gradient
      }
      if (loss.name == "margin") {
        options.link_loss.margin = 30;  // far from the kink
      }
      expect_gradient(options, links_of_two_nodes());
    }
  }
}

/// The batch's links are of an edge type among several that are learned.
Batch links_of_type(EdgeTypeId type) {
  Batch batch = links_of_two_nodes();
  auto sampled = *batch.sampled;
  sampled.links->edge_type = type;
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  return batch;
}

TEST(LinkLearner, DistmultHasAVectorForEachEdgeType) {
  auto options = link_learner("distmult", "bce");
  options.model.decoder.relations = {EdgeTypeId{4}, EdgeTypeId{0}, EdgeTypeId{9}};
  ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(options.model));
  const auto first = network->decoder_offset();
  EXPECT_EQ(network->num_parameters(), first + 3U * 3U);
  InlineExecutor executor;
  const auto learner = make(options);
  for (const auto& [type, place] :
       {std::pair{EdgeTypeId{4}, 0U}, std::pair{EdgeTypeId{0}, 1U}, std::pair{EdgeTypeId{9}, 2U}}) {
    const auto batch = links_of_type(type);
    expect_gradient(options, batch);
    ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch));
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(share.gradient[first + i] != 0, i / 3 == place) << i;
    }
    // The loss is that of a decoder with this type's vector alone.
    auto one = link_learner("distmult", "bce");
    const auto alone = make(one);
    auto parameters = *learner->snapshot();
    const auto at = parameters.begin() + static_cast<std::ptrdiff_t>(first);
    std::copy_n(at + 3 * static_cast<std::ptrdiff_t>(place), 3, at);
    parameters.resize(first + 3);
    ASSERT_OK(alone->restore(parameters, alone->optimizer_state(), {}, 0));
    ASSERT_OK_AND_ASSIGN(const auto same, alone->compute(executor, batch));
    EXPECT_EQ(share.loss_sum, same.loss_sum);
  }
  EXPECT_ERROR(learner->compute(executor, links_of_type(EdgeTypeId{2})), Errc::failed_precondition,
               "expected one of the 3 edge types that are learned, found edge type 2");
}

TEST(LinkLearner, OtherDecodersServeAllEdgeTypesAlike) {
  for (const char* decoder : {"dot", "mlp"}) {
    auto options = link_learner(decoder, "bce");
    ASSERT_OK_AND_ASSIGN(const auto alone, nn::make_network(options.model));
    options.model.decoder.relations = {EdgeTypeId{4}, EdgeTypeId{0}};
    ASSERT_OK_AND_ASSIGN(const auto both, nn::make_network(options.model));
    EXPECT_EQ(alone->num_parameters(), both->num_parameters());
    expect_gradient(options, links_of_type(EdgeTypeId{0}));
  }
}

TEST(LinkLearner, LearnsItsLinks) {
  auto options = link_learner("mlp", "bce");
  options.optimizer.lr = 0.5;
  Batch batch = links_of_two_nodes();
  auto sampled = *batch.sampled;
  sampled.links->negative_sources = {1, 1};
  sampled.links->negative_destinations = {0, 0};
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));

  expect_learns(*make(options), batch);
}

TEST(LinkLearner, OutputsAreAScoreAndThoseOfItsNegatives) {
  InlineExecutor executor;
  const auto learner = make(link_learner("dot", "bce"));

  ASSERT_OK_AND_ASSIGN(const auto out, learner->outputs(executor, links_of_two_nodes()));

  ASSERT_EQ(out.rows(), 2U);
  ASSERT_EQ(out.cols(), 3U);
  const auto row = [&](std::size_t i) { return out.view().row(i); };
  EXPECT_EQ(row(0)[0], row(0)[2]);  // 0 -> 1 again
  EXPECT_EQ(row(0)[2], row(1)[2]);
  EXPECT_EQ(row(1)[1], row(0)[0]);  // 1 -> 0: the dot product is symmetric
}

TEST(LinkLearner, AWeightIsTheNumberOfTerms) {
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto bce,
                       make(link_learner("dot", "bce"))->compute(executor, links_of_two_nodes()));
  EXPECT_EQ(bce.weight, 6U);
  ASSERT_OK_AND_ASSIGN(
      const auto softmax,
      make(link_learner("dot", "softmax"))->compute(executor, links_of_two_nodes()));
  EXPECT_EQ(softmax.weight, 2U);
}

TEST(LinkLearner, ABatchWithoutNegativesTeachesAMarginNothing) {
  InlineExecutor executor;
  const auto learner = make(link_learner("dot", "margin"));
  const auto without = [](SampledBatch& sampled, Batch&) {
    sampled.links->negative_sources.clear();
    sampled.links->negative_destinations.clear();
  };

  ASSERT_OK_AND_ASSIGN(const auto share, compute_changed(*learner, links_of_two_nodes(), without));

  EXPECT_EQ(share.weight, 0U);
  EXPECT_TRUE(share.gradient.empty());
}

TEST(LinkLearner, RefusesBatchesThatDoNotFit) {
  const auto learner = make(link_learner("dot", "bce"));
  EXPECT_ERROR(compute_changed(*learner, links_of_two_nodes(),
                               [](SampledBatch& sampled, Batch&) { sampled.links.reset(); }),
               Errc::failed_precondition, "expected a batch of links, found one of nodes");
  EXPECT_ERROR(compute_changed(*learner, links_of_two_nodes(),
                               [](SampledBatch& sampled, Batch&) {
                                 sampled.links->destination_type = NodeTypeId{3};
                               }),
               Errc::failed_precondition, "found node type 3");
  EXPECT_ERROR(compute_changed(*learner, links_of_two_nodes(),
                               [](SampledBatch& sampled, Batch&) {
                                 sampled.links->negative_sources.push_back(0);
                                 sampled.links->negative_destinations.push_back(0);
                               }),
               Errc::failed_precondition, "as many negatives for each positive, found 5 for 2");
}

TEST(LinkLearner, RefusesOptionsThatMakeNoTask) {
  EXPECT_ERROR(Learner::create(link_learner("dot", "cross_entropy")), Errc::invalid_argument,
               "train.loss: expected one of bce, balanced, margin, self_adversarial, softmax");
  EXPECT_ERROR(Learner::create(link_learner("", "bce")), Errc::invalid_argument, "task.decoder");
  EXPECT_ERROR(Learner::create(link_learner("cosine", "bce")), Errc::invalid_argument,
               "decoder: expected one of dot, distmult, mlp");
  auto two = link_learner("dot", "bce");
  two.model.decoder.outputs = 2;
  EXPECT_ERROR(Learner::create(two), Errc::invalid_argument, "with one output for \"dot\"");
  auto unknown = link_learner("dot", "bce");
  unknown.task = "graph";
  EXPECT_ERROR(Learner::create(unknown), Errc::invalid_argument,
               "task.kind: expected one of node, link, edge, unsupervised");
}

LearnerOptions edge_learner(const std::string& loss, std::uint64_t outputs) {
  auto o = link_learner("mlp", loss);
  o.task = "edge";
  o.model.decoder.outputs = outputs;
  return o;
}

TEST(EdgeLearner, GradientsEqualDifferences) {
  expect_gradient(edge_learner("cross_entropy", 3), labelled_links({2, 0}));
  for (const char* loss : {"mse", "mae", "huber"}) {
    expect_gradient(edge_learner(loss, 1), labelled_links({0.5F, -2}));
  }
  auto distmult = edge_learner("cross_entropy", 3);
  distmult.model.decoder.kind = "distmult";
  expect_gradient(distmult, labelled_links({2, 1}));
}

TEST(EdgeLearner, RefusesLabelsThatDoNotFit) {
  InlineExecutor executor;
  const auto learner = make(edge_learner("cross_entropy", 3));
  for (const float bad : {3.0F, -1.0F, 0.5F, NAN}) {
    EXPECT_ERROR(learner->compute(executor, labelled_links({0, bad})), Errc::failed_precondition,
                 "labels of links: expected classes from 0 to 2");
  }
  EXPECT_ERROR(learner->compute(executor, labelled_links({})), Errc::failed_precondition,
               "labels of links: expected 2, found 0");
  EXPECT_ERROR(Learner::create(edge_learner("bce", 3)), Errc::invalid_argument,
               "expected cross_entropy, mse, mae, huber for edges");
}

TEST(LinkLearner, TakesEndsOfTwoTypes) {
  auto options = link_learner("mlp", "softmax");
  options.model.types = people_and_books();
  const auto batch = links_of_two_types();

  expect_gradient(options, batch);
  options.model.decoder.kind = "dot";
  options.loss = "bce";
  expect_gradient(options, batch);
}

}  // namespace
}  // namespace troupe
