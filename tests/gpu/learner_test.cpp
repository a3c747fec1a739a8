// Learners whose parameters, loss and optimizer are on a device: the CPU's bits on emulated ones.
#include "runtime/run/learner.hpp"

#include "tests/gpu/test_device.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/run/learner_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::same_bits;

class LearnerOnDevice : public OnEachDevice {
 protected:
  /// Has the bits that a device must have: the CPU's, of a GPU its own.
  std::unique_ptr<Learner> reference(const LearnerOptions& options) const {
    auto learner = Learner::create(options, GetParam().cuda ? on().block_ops() : nullptr);
    EXPECT_OK(learner);
    return *std::move(learner);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, LearnerOnDevice, ::testing::ValuesIn(tested_devices),
                         name_of_device);

struct Way {
  std::string name;
  LearnerOptions options;
  Batch batch;
};

LearnerOptions with(const std::string& optimizer, const std::string& loss = "cross_entropy") {
  auto options = small_learner();
  options.model.in_dim = 2;
  options.optimizer = {.kind = optimizer, .lr = 0.05, .weight_decay = 0.01};
  options.loss = loss;
  return options;
}

LearnerOptions pairs_with(const std::string& task, const std::string& decoder,
                          const std::string& loss, std::uint64_t outputs = 1) {
  auto options = with("adam", loss);
  options.task = task;
  options.model.out_dim = 4;
  options.model.decoder = {.kind = decoder, .hidden = 5, .outputs = outputs};
  return options;
}

/// Each decoder and loss of links and edges once.
void add_links(std::vector<Way>& all) {
  for (const auto& [decoder, loss] :
       std::vector<std::pair<const char*, const char*>>{{"mlp", "softmax"},
                                                        {"dot", "bce"},
                                                        {"distmult", "balanced"},
                                                        {"mlp", "margin"},
                                                        {"distmult", "self_adversarial"}}) {
    auto options = pairs_with("link", decoder, loss);
    options.link_loss = {.margin = 2, .temperature = 0.5};
    all.push_back({fmt::format("links, {} {}", decoder, loss), options, links_of_two_nodes()});
  }
  auto relations = pairs_with("link", "distmult", "bce");
  relations.model.decoder.relations = {EdgeTypeId{4}, EdgeTypeId{0}, EdgeTypeId{9}};
  relations.clip = 1e-2;
  all.push_back({"links of several types", relations, links_of_two_nodes()});
  auto types = pairs_with("link", "mlp", "softmax");
  types.model.types = people_and_books();
  all.push_back({"ends of two types", types, links_of_two_types()});
  all.push_back(
      {"classes of edges", pairs_with("edge", "mlp", "cross_entropy", 3), labelled_links({2, 0})});
  auto weighted = pairs_with("edge", "mlp", "cross_entropy", 3);
  weighted.class_weights = {.of_class = {7, 9, 1}};
  all.push_back({"weights of classes of edges", weighted, labelled_links({2, 0})});
  all.push_back({"classes of edges by products", pairs_with("edge", "distmult", "cross_entropy", 4),
                 labelled_links({3, 1})});
  all.push_back({"numbers of edges", pairs_with("edge", "mlp", "huber"),
                 labelled_links({0.5F, std::nanf("")})});
}

/// Four triples in two chunks among five entities.
Batch some_triples() {
  Batch batch = two_nodes({0, 1, 1, 3}, {});
  auto sampled = *batch.sampled;
  sampled.key = {.epoch = 0, .number = 1};
  sampled.nodes[0] = {{NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}}, {5}};
  sampled.edges[0].offsets = {0};
  sampled.edges[0].sources = {};
  sampled.edges[0].row_begin = {0};
  sampled.hops = 0;
  auto& links = sampled.links.emplace();
  links.sources = {0, 1, 1, 3};
  links.destinations = {1, 2, 4, 0};
  links.labels = {0, 2, 2, 0};
  links.candidates = {2, 1, 3, 3};
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  Matrix rows(5, 4);
  for (std::size_t i = 0; i < 20; ++i) {
    rows.data()[i] = std::sin(static_cast<float>(3 * i + 1));
  }
  batch.rows[0].features = std::move(rows);
  return batch;
}

void add_triples(std::vector<Way>& all) {
  for (const auto& [kind, loss] : std::vector<std::pair<nn::ScoreKind, const char*>>{
           {nn::ScoreKind::transe, "self_adversarial"},
           {nn::ScoreKind::complex, "softmax"},
           {nn::ScoreKind::rotate, "self_adversarial"}}) {
    auto options = with("adagrad", loss);
    options.task = "knowledge";
    options.knowledge = {.score = {.kind = kind}, .chunk = 3, .negatives = 2};
    options.model.layers = 0;
    options.model.out_dim = 4;
    options.model.types.nodes = {{"entity", 4}};
    options.model.types.edges = {{"triple", NodeTypeId{0}, NodeTypeId{0}}};
    options.model.relations = {
        .rows = 3, .cols = options.knowledge.score.relation_cols(4), .bound = 0.8F};
    all.push_back({fmt::format("triples, {}", loss), options, some_triples()});
  }
}

/// Each optimizer, loss and kind of parameter once.
std::vector<Way> ways() {
  std::vector<Way> all;
  const auto classes = [] { return two_nodes({0, 1, 0, 0}, {1, 0, 0, -1}); };
  all.push_back({"adam", with("adam"), classes()});
  auto clipped = with("sgd");
  clipped.clip = 1e-2;
  clipped.optimizer.momentum = 0.9;
  all.push_back({"clipped momentum", clipped, classes()});

  auto weighted = with("adam");
  weighted.class_weights = {.of_class = {3, std::uint64_t{5} << 37}};
  all.push_back({"weights of classes", weighted, classes()});

  auto binary = with("adamw", "bce_logits");
  binary.model.out_dim = 1;
  binary.pos_weight = 2;
  all.push_back({"classes as targets", binary, two_nodes({1, 0, 1}, {1, 0, -1})});
  auto labels = with("adagrad", "bce_logits");
  labels.model.out_dim = 3;
  const auto targets = [] {
    auto batch = two_nodes({1, 0, 1}, {});
    batch.targets = matrix_of(3, 3, {1, 0, 1, 0, std::nanf(""), 1, 0, 0, 1});
    return batch;
  };
  all.push_back({"several labels", labels, targets()});
  labels.class_weights = {.of_class = {1, 0, std::uint64_t{5} << 37}, .unit = 1 << 30};
  all.push_back({"several labels with weights", labels, targets()});

  auto statistics = with("adam");
  statistics.model.layers = 2;
  statistics.model.batch_norm = true;
  statistics.clip = 1e-3;
  all.push_back({"running statistics", statistics, two_hops_of(two_nodes({0, 1}, {1, 0}))});

  auto convolution = with("adam");
  convolution.model.kind = "gcn";
  all.push_back({"a graph convolution over a closed batch", convolution, three_closed_nodes(1)});
  convolution.model.edge_weights = true;
  all.push_back({"... with weights of edges", convolution, three_closed_nodes(2)});

  add_links(all);
  add_triples(all);
  return all;
}

std::unique_ptr<Learner> make_on(const OnTestDevice& device, const LearnerOptions& options) {
  auto learner = Learner::create(options, device.block_ops());
  EXPECT_OK(learner);
  return *std::move(learner);
}

/// Steps as one rank of several makes them, or alone, with every second one made at once. \returns the
/// losses
std::vector<double> losses_of_steps(Learner& learner, const Batch& batch, int steps, bool alone,
                                    bool at_once = false) {
  InlineExecutor executor;
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    const bool applies = at_once && step % 2 == 0;
    const auto of_one = applies ? Learner::Gradient::applied : Learner::Gradient::stays;
    const auto share =
        learner.compute(executor, batch, nullptr, alone ? of_one : Learner::Gradient::to_host);
    EXPECT_OK(share);
    losses.push_back(share->loss_sum);
    if (applies) {
      continue;
    }
    if (alone) {
      learner.apply_own(share->weight);
    } else {
      std::vector<float> mean(share->gradient.begin(), share->gradient.end());
      for (float& value : mean) {
        value = (0.0F + value) / static_cast<float>(share->weight);
      }
      learner.apply(mean, share->weight);
    }
  }
  return losses;
}

void expect_same_state(const Learner& actual, const Learner& expected) {
  EXPECT_TRUE(same_bits(*actual.snapshot(), *expected.snapshot()));
  EXPECT_TRUE(same_bits(*actual.best(), *expected.best()));
  EXPECT_EQ(actual.optimizer_state().steps, expected.optimizer_state().steps);
  EXPECT_EQ(actual.optimizer_state().arrays, expected.optimizer_state().arrays);
  EXPECT_EQ(actual.steps(), expected.steps());
}

TEST_P(LearnerOnDevice, HasTheBitsOfTheCpuOrOnAGpuOfEachOther) {
  InlineExecutor executor;
  for (const auto& [name, options, batch] : ways()) {
    for (const bool alone : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, alone {}", name, alone));
      const auto here = reference(options);
      const auto there = make_on(on(5), options);
      EXPECT_TRUE(there->on_device());
      EXPECT_EQ(here->on_device(), GetParam().cuda);

      EXPECT_EQ(losses_of_steps(*there, batch, 3, alone, alone),
                losses_of_steps(*here, batch, 3, alone));
      here->keep_best();
      there->keep_best();
      EXPECT_EQ(losses_of_steps(*there, batch, 2, alone), losses_of_steps(*here, batch, 2, alone));

      expect_same_state(*there, *here);
      EXPECT_NE(*there->best(), *there->snapshot());
      ASSERT_OK_AND_ASSIGN(const auto now, there->outputs(executor, batch));
      ASSERT_OK_AND_ASSIGN(const auto expected_now, here->outputs(executor, batch));
      EXPECT_TRUE(same_bits(now.view().flat(), expected_now.view().flat()));
      ASSERT_OK_AND_ASSIGN(const auto best, there->best_outputs(executor, batch));
      ASSERT_OK_AND_ASSIGN(const auto expected_best, here->best_outputs(executor, batch));
      EXPECT_TRUE(same_bits(best.view().flat(), expected_best.view().flat()));
      EXPECT_OK(there->status());
    }
  }
}

/// Another one of the same shape.
Batch turned_round(Batch batch) {
  std::ranges::reverse(batch.labels);
  auto sampled = std::make_shared<SampledBatch>(*batch.sampled);
  std::ranges::reverse(sampled->seed_index);
  if (sampled->links) {
    std::ranges::reverse(sampled->links->sources);
  }
  batch.sampled = std::move(sampled);
  return batch;
}

/// Each loss is read when the step after it has been launched.
std::vector<double> losses_of_launched(Learner& learner,
                                       std::span<const std::shared_ptr<const Batch>> batches) {
  InlineExecutor executor;
  std::vector<double> losses;
  std::optional<Learner::Launched> before;
  const auto take = [&] {
    const auto loss = before->loss_sum();
    EXPECT_OK(loss);
    losses.push_back(*loss);
  };
  for (const auto& batch : batches) {
    auto step = learner.launch(executor, batch);
    EXPECT_OK(step);
    if (before) {
      take();
    }
    before = *std::move(step);
  }
  take();
  return losses;
}

TEST_P(LearnerOnDevice, StepsLaunchedAheadHaveTheBitsOfStepsOneByOne) {
  auto turned = ways();
  std::size_t way = 0;
  for (auto& [name, options, made] : ways()) {
    SCOPED_TRACE(name);
    const auto batch = std::make_shared<const Batch>(std::move(made));
    const auto other = std::make_shared<const Batch>(turned_round(std::move(turned[way++].batch)));
    const std::vector<std::shared_ptr<const Batch>> batches{batch, other, other, batch, other};
    const auto here = reference(options);
    const auto there = make_on(on(8), options);
    std::vector<double> expected;
    for (const auto& next : batches) {
      expected.push_back(losses_of_steps(*here, *next, 1, true).front());
    }

    EXPECT_EQ(losses_of_launched(*there, batches), expected);

    here->keep_best();
    there->keep_best();
    expect_same_state(*there, *here);
  }
}

/// As the learner's actor does: a task waits for each loss while the next one launches.
TEST_P(LearnerOnDevice, LossesAreWaitedForOnOtherThreads) {
  InlineExecutor executor;
  const auto batch = std::make_shared<const Batch>(two_nodes({0, 1, 0, 0}, {1, 0, 0, -1}));
  const auto here = reference(with("adam"));
  const auto there = make_on(on(9), with("adam"));
  constexpr int steps = 20;
  const auto expected = losses_of_steps(*here, *batch, steps, true);

  std::vector<double> losses(steps);
  std::jthread before;
  for (int step = 0; step < steps; ++step) {
    ASSERT_OK_AND_ASSIGN(auto launched, there->launch(executor, batch));
    before = std::jthread([&losses, step, loss_sum = std::move(launched.loss_sum)] {
      const auto loss = loss_sum();
      losses[static_cast<std::size_t>(step)] = loss ? *loss : -1;
    });  // joins the one before
  }
  before.join();

  EXPECT_EQ(losses, expected);
}

TEST_P(LearnerOnDevice, ABatchThatCannotBeTrainedIsSaidAtItsLaunch) {
  InlineExecutor executor;
  const auto learner = make_on(on(), with("adam"));
  const auto launch = [&](Batch batch) {
    return learner->launch(executor, std::make_shared<const Batch>(std::move(batch)));
  };
  ASSERT_OK_AND_ASSIGN(const auto step, launch(two_nodes({0, 1}, {1, 0})));

  EXPECT_ERROR(launch(two_nodes({0}, {7})), Errc::failed_precondition, "labels: expected");

  EXPECT_OK(step.loss_sum());
  EXPECT_EQ(step.weight, 2U);
  EXPECT_EQ(learner->steps(), 1U);
}

TEST_P(LearnerOnDevice, StepsThatNobodyWaitsForKeepTheirBatches) {
  InlineExecutor executor;
  std::weak_ptr<const Batch> kept;
  {
    const auto learner = make_on(on(), with("adam"));
    for (int step = 0; step < 2; ++step) {
      const auto batch = std::make_shared<const Batch>(two_nodes({0, 1}, {1, 0}));
      kept = batch;
      ASSERT_OK(learner->launch(executor, batch));
    }
    EXPECT_FALSE(kept.expired());
  }
  EXPECT_TRUE(kept.expired());
}

TEST_P(LearnerOnDevice, IsNearTheCpu) {
  for (const auto& [name, options, batch] : ways()) {
    SCOPED_TRACE(name);
    const auto on_cpu = make(options);
    const auto there = make_on(on(), options);
    const auto expected = losses_of_steps(*on_cpu, batch, 4, true);
    const auto actual = losses_of_steps(*there, batch, 4, true);
    for (std::size_t step = 0; step < expected.size(); ++step) {
      EXPECT_NEAR(actual[step], expected[step], 1e-3 * (1 + std::abs(expected[step]))) << step;
    }
  }
}

TEST_P(LearnerOnDevice, ItsStateContinuesElsewhereAndBack) {
  for (const auto& [name, options, batch] : ways()) {
    SCOPED_TRACE(name);
    const auto undisturbed = reference(options);
    losses_of_steps(*undisturbed, batch, 2, true);
    undisturbed->keep_best();
    losses_of_steps(*undisturbed, batch, 4, true);

    const auto first = make_on(on(6), options);
    losses_of_steps(*first, batch, 2, true);
    first->keep_best();
    const auto second = reference(options);
    ASSERT_OK(second->restore(*first->snapshot(), first->optimizer_state(), *first->best(), 2));
    losses_of_steps(*second, batch, 2, true);
    const auto third = make_on(on(7), options);
    ASSERT_OK(third->restore(*second->snapshot(), second->optimizer_state(), *second->best(), 4));
    losses_of_steps(*third, batch, 2, true);

    expect_same_state(*third, *undisturbed);
  }
}

TEST_P(LearnerOnDevice, GradientsComeToTheHostWhereTheyAreWanted) {
  InlineExecutor executor;
  const auto learner = make_on(on(), with("sgd"));
  const auto here = reference(with("sgd"));
  const auto batch = two_nodes({0}, {1});

  ASSERT_OK_AND_ASSIGN(const auto stays,
                       learner->compute(executor, batch, nullptr, Learner::Gradient::stays));
  EXPECT_TRUE(stays.gradient.empty());
  ASSERT_OK_AND_ASSIGN(const auto fetched, learner->compute(executor, batch));
  ASSERT_OK_AND_ASSIGN(const auto expected, here->compute(executor, batch));
  EXPECT_TRUE(same_bits(fetched.gradient, expected.gradient));
}

/// Rows of entities that are learned, not features.
TEST_P(LearnerOnDevice, GradientsOfLearnedRowsAreThoseOfTheCpu) {
  InlineExecutor executor;
  std::vector<Way> triples;
  add_triples(triples);
  for (auto& [name, options, batch] : triples) {
    SCOPED_TRACE(name);
    auto learned = std::make_shared<LearnedInputs>();
    learned->push_back(std::exchange(batch.rows[0].features, {}));
    const auto here = reference(options);
    const auto there = make_on(on(4), options);
    ASSERT_OK_AND_ASSIGN(const auto expected, here->compute(executor, batch, learned));
    ASSERT_OK_AND_ASSIGN(const auto share, there->compute(executor, batch, learned));

    EXPECT_EQ(share.loss_sum, expected.loss_sum);
    EXPECT_TRUE(same_bits(share.gradient, expected.gradient));
    const auto of_rows = there->take_learned_gradients();
    const auto expected_rows = here->take_learned_gradients();
    ASSERT_EQ(of_rows.size(), 1U);
    EXPECT_TRUE(same_bits(of_rows[0].view().flat(), expected_rows[0].view().flat()));
  }
}

TEST_P(LearnerOnDevice, UnlabelledSeedsAndEmptyBatchesChangeNothing) {
  InlineExecutor executor;
  const auto learner = make_on(on(), with("adam"));
  const auto before = *learner->snapshot();
  for (const auto& batch : {two_nodes({0, 1}, {-1, -1}), two_nodes({}, {})}) {
    ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch));
    EXPECT_EQ(share.weight, 0U);
    EXPECT_TRUE(share.gradient.empty());
    learner->apply_own(share.weight);
  }
  EXPECT_EQ(*learner->snapshot(), before);
  EXPECT_EQ(learner->steps(), 2U);
}

TEST_P(LearnerOnDevice, AStateOfAnotherSizeIsRefused) {
  const auto learner = make_on(on(), with("adam"));
  const auto parameters = *learner->snapshot();
  const auto optimizer = learner->optimizer_state();

  EXPECT_ERROR(learner->restore({1, 2}, optimizer, {}, 0), Errc::data_corruption,
               "expected 10 parameters, found 2");
  EXPECT_ERROR(learner->restore(parameters, {.steps = 1, .arrays = {}}, {}, 0),
               Errc::data_corruption, "expected 2 arrays, got 0");
  EXPECT_EQ(*learner->snapshot(), parameters);
}

TEST_P(LearnerOnDevice, ABatchWithoutNegativesTeachesAMarginNothing) {
  InlineExecutor executor;
  const auto learner = make_on(on(), pairs_with("link", "mlp", "margin"));
  const auto before = *learner->snapshot();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, labelled_links({}), nullptr,
                                                          Learner::Gradient::applied));

  EXPECT_EQ(share.weight, 0U);
  EXPECT_EQ(*learner->snapshot(), before);
  EXPECT_EQ(learner->steps(), 1U);
}

/// Memory for so many bytes: errors of a device at any point end compute(), reads and status() alike.
void expect_errors_of_small_devices(const LearnerOptions& options, const Batch& batch) {
  InlineExecutor executor;
  bool refused_at_first = false;
  bool refused_later = false;
  bool fits = false;
  for (std::uint64_t memory = 64; memory < 65536 && !fits; memory += 256) {
    const auto device =
        std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{.memory_bytes = memory});
    auto learner = Learner::create(options, gpu::make_emulated_block_ops(device));
    if (!learner) {
      EXPECT_ERROR(learner, Errc::out_of_memory, "emulated device: expected room for");
      refused_at_first = true;
      continue;
    }
    const auto share = (*learner)->compute(executor, batch);
    if (share) {
      EXPECT_OK((*learner)->status());
      fits = true;
      continue;
    }
    refused_later = true;
    EXPECT_ERROR(share, Errc::out_of_memory, "emulated device: expected room for");
    EXPECT_ERROR((*learner)->status(), Errc::out_of_memory, "");
    EXPECT_ERROR((*learner)->outputs(executor, batch), Errc::out_of_memory, "");
    EXPECT_EQ(*(*learner)->snapshot(), std::vector<float>((*learner)->network().num_parameters()));
  }
  EXPECT_TRUE(refused_at_first);
  EXPECT_TRUE(refused_later);
  EXPECT_TRUE(fits);
}

TEST(LearnerOnSmallDevice, SaysWhatDidNotFitWhereverItHappens) {
  expect_errors_of_small_devices(with("adam"), two_nodes({0, 1}, {1, 0}));
  for (const char* const decoder : {"dot", "distmult", "mlp"}) {
    SCOPED_TRACE(decoder);
    expect_errors_of_small_devices(pairs_with("link", decoder, "bce"), links_of_two_nodes());
  }
  expect_errors_of_small_devices(pairs_with("edge", "mlp", "cross_entropy", 3),
                                 labelled_links({2, 0}));
}

}  // namespace
}  // namespace troupe::testing
