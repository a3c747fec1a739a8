// Learning from batches of triples: gradients against differences, and batches that do not fit.
#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/run/task/task.hpp"
#include "tests/runtime/run/learner_support.hpp"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace testing;

constexpr std::size_t entity_cols = 4;
constexpr std::size_t some_entities = 6;
constexpr std::size_t some_relations = 3;

LearnerOptions knowledge_learner(const nn::TripleScore& score, const std::string& loss) {
  auto o = small_learner();
  o.task = "knowledge";
  o.loss = loss;
  o.knowledge.score = score;
  o.knowledge.chunk = 3;
  o.knowledge.negatives = 2;
  o.link_loss.margin = 1;
  o.link_loss.temperature = 1e-6;  // shares have no gradient
  o.model.layers = 0;
  o.model.out_dim = entity_cols;
  o.model.types.nodes = {{"entity", entity_cols}};
  o.model.types.edges = {{"triple", NodeTypeId{0}, NodeTypeId{0}}};
  o.model.relations = {
      .rows = some_relations, .cols = score.relation_cols(entity_cols), .bound = 0.8F};
  return o;
}

/// Four triples, so two chunks; entities 1 and 2 occur several times, 5 nowhere.
Batch triple_batch(std::uint64_t number = 0) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->key = {.epoch = 0, .number = number};
  sampled->nodes.resize(1);
  for (std::uint64_t i = 0; i < some_entities; ++i) {
    sampled->nodes[0].ids.push_back(static_cast<NodeId>(i));
  }
  sampled->nodes[0].hop_end = {some_entities};
  sampled->edges.resize(1);
  sampled->edges[0].offsets = {0};
  sampled->edges[0].row_begin = {0};
  auto& links = sampled->links.emplace();
  links.sources = {0, 1, 1, 3};
  links.destinations = {1, 2, 4, 0};
  links.labels = {0, 2, 2, 0};
  links.candidates = {2, 1, 3, 3};
  sampled->seed_index = {0, 1, 1, 3, 1, 2, 4, 0, 2, 1, 3, 3};
  Batch batch;
  batch.sampled = std::move(sampled);
  batch.rows.resize(1);
  return batch;
}

std::shared_ptr<LearnedInputs> entity_rows() {
  auto rows = std::make_shared<LearnedInputs>();
  rows->emplace_back(some_entities, entity_cols);
  for (std::size_t i = 0; i < some_entities * entity_cols; ++i) {
    rows->front().data()[i] = std::sin(static_cast<float>(3 * i + 1));
  }
  return rows;
}

std::shared_ptr<LearnedInputs> entity_rows_moved(std::size_t at, float step) {
  auto rows = entity_rows();
  rows->front().data()[at] += step;
  return rows;
}

std::vector<nn::TripleScore> all_scores() {
  using nn::ScoreKind;
  return {{ScoreKind::transe, 1, false},  {ScoreKind::transe, 2, false},
          {ScoreKind::transe, 2, true},   {ScoreKind::distmult, 2, false},
          {ScoreKind::complex, 2, false}, {ScoreKind::rotate, 1, false},
          {ScoreKind::rotate, 2, false}};
}

void expect_gradients(const LearnerOptions& options, const Batch& batch) {
  InlineExecutor executor;
  const auto learner = make(options);
  const auto start = *learner->snapshot();
  const auto state = learner->optimizer_state();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch, entity_rows()));
  EXPECT_EQ(share.weight, 4U);
  const std::vector<float> of_relations(share.gradient.begin(), share.gradient.end());
  const auto of_entities = learner->take_learned_gradients();
  ASSERT_EQ(of_entities.size(), 1U);
  ASSERT_EQ(of_entities[0].rows(), some_entities);
  constexpr float step = 0x1p-8F;
  const auto loss_of = [&](std::shared_ptr<const LearnedInputs> rows) {
    const auto found = learner->compute(executor, batch, std::move(rows));
    EXPECT_OK(found);
    return found->loss_sum;
  };
  const double at_start = loss_of(entity_rows());
  const auto expect_slope = [&](float gradient, double above, double below, std::size_t i) {
    const double forward = (above - at_start) / step;
    const double backward = (at_start - below) / step;
    if (options.knowledge.score.norm == 1 && std::abs(forward - backward) > 0.01) {
      return;  // an absolute value has its kink between
    }
    EXPECT_NEAR(gradient, (forward + backward) / 2, 5e-3) << i;
  };
  for (std::size_t i = 0; i < some_entities * entity_cols; ++i) {
    expect_slope(of_entities[0].data()[i], loss_of(entity_rows_moved(i, step)),
                 loss_of(entity_rows_moved(i, -step)), i);
  }
  for (std::size_t i = 0; i < start.size(); ++i) {
    const auto loss_at = [&](float by) {
      auto moved = start;
      moved[i] += by;
      EXPECT_OK(learner->restore(moved, state, {}, 0));
      return loss_of(entity_rows());
    };
    expect_slope(of_relations[i], loss_at(step), loss_at(-step), i);
  }
}

TEST(KnowledgeLearner, GradientsOfEveryScoreLossAndSideEqualDifferences) {
  for (const auto& score : all_scores()) {
    for (const char* loss : {"softmax", "self_adversarial"}) {
      for (const std::uint64_t number : {0U, 1U}) {
        SCOPED_TRACE(fmt::format("score {} norm {} unit {} {} batch {}",
                                 static_cast<int>(score.kind), score.norm, score.unit, loss,
                                 number));
        expect_gradients(knowledge_learner(score, loss), triple_batch(number));
      }
    }
  }
}

TEST(KnowledgeLearner, GradientsAreTheSameForAnyNumberOfThreads) {
  InlineExecutor alone;
  ComputePool pool(3);
  const auto options = knowledge_learner({nn::ScoreKind::complex, 2, false}, "softmax");
  const auto one = make(options);
  const auto other = make(options);
  ASSERT_OK_AND_ASSIGN(const auto a, one->compute(alone, triple_batch(), entity_rows()));
  ASSERT_OK_AND_ASSIGN(const auto b, other->compute(pool, triple_batch(), entity_rows()));
  EXPECT_EQ(a.loss_sum, b.loss_sum);
  EXPECT_EQ(std::vector<float>(a.gradient.begin(), a.gradient.end()),
            std::vector<float>(b.gradient.begin(), b.gradient.end()));
  const auto rows = one->take_learned_gradients();
  const auto same = other->take_learned_gradients();
  EXPECT_TRUE(std::ranges::equal(rows[0].view().flat(), same[0].view().flat()));
}

TEST(KnowledgeLearner, RegularizationPullsTheRowsOfTriplesToZero) {
  InlineExecutor executor;
  auto options = knowledge_learner({nn::ScoreKind::distmult, 2, false}, "softmax");
  const auto plain = make(options);
  ASSERT_OK_AND_ASSIGN(const auto share, plain->compute(executor, triple_batch(), entity_rows()));
  const std::vector<float> before(share.gradient.begin(), share.gradient.end());
  const auto rows_before = plain->take_learned_gradients();
  options.knowledge.regularization = nn::Regularization::l2;
  options.knowledge.factor = 0.5;
  const auto pulled = make(options);
  ASSERT_OK_AND_ASSIGN(const auto with, pulled->compute(executor, triple_batch(), entity_rows()));
  const auto rows = pulled->take_learned_gradients();
  const auto relations = *pulled->snapshot();
  const auto values = entity_rows();
  const std::vector<float> times{2, 3, 1, 1, 1, 0};  // as ends of triples
  for (std::size_t i = 0; i < some_entities * entity_cols; ++i) {
    EXPECT_NEAR(rows[0].data()[i] - rows_before[0].data()[i],
                times[i / entity_cols] * values->front().data()[i], 1e-4)
        << i;
  }
  const std::vector<float> of_relations{2, 0, 2};
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(with.gradient[i] - before[i], of_relations[i / entity_cols] * relations[i], 1e-4);
  }
  EXPECT_EQ(with.loss_sum, share.loss_sum) << "the loss is that of the triples";
}

TEST(KnowledgeLearner, OutputsAreQueriesAndKeysOfBothSides) {
  InlineExecutor executor;
  for (const auto& score : all_scores()) {
    const auto learner = make(knowledge_learner(score, "softmax"));
    auto batch = triple_batch();
    ASSERT_OK_AND_ASSIGN(const auto out, learner->outputs(executor, batch, entity_rows()));
    ASSERT_EQ(out.rows(), 4U);
    ASSERT_EQ(out.cols(), 2 * (entity_cols + 1));
    const auto rows = entity_rows();
    // The key of a triple's answer is that of its row among all entities: nothing is above it but by its key.
    for (const std::size_t first : {std::size_t{0}, entity_cols + 1}) {
      Matrix queries(4, entity_cols);
      std::vector<float> keys;
      for (std::size_t i = 0; i < 4; ++i) {
        const auto row = out.view().row(i).subspan(first, entity_cols + 1);
        std::copy_n(row.begin(), entity_cols, queries.view().row(i).begin());
        keys.push_back(row[entity_cols]);
      }
      const nn::EntityRanker ranker(score, std::as_const(queries).view());
      const std::vector<std::uint64_t> offsets(5);
      std::vector<nn::AboveAndLevel> counts(4);
      ranker.count(std::as_const(rows->front()).view(), keys, {offsets, {}}, counts);
      for (const auto& count : counts) {
        EXPECT_GE(count.level, 1U) << "its own row is level with it";
      }
    }
  }
}

TEST(KnowledgeLearner, BatchesThatDoNotFitAreRefused) {
  InlineExecutor executor;
  const auto learner = make(knowledge_learner({nn::ScoreKind::distmult, 2, false}, "softmax"));
  const std::vector<std::function<void(SampledBatch&)>> changes{
      [](SampledBatch& b) { b.links.reset(); },
      [](SampledBatch& b) { b.links->labels.clear(); },
      [](SampledBatch& b) { b.links->labels[1] = 3; },
      [](SampledBatch& b) { b.links->labels[1] = -1; },
      [](SampledBatch& b) { b.links->labels[1] = 0.5F; },
      [](SampledBatch& b) { b.links->labels[1] = std::nanf(""); },
      [](SampledBatch& b) { b.links->candidates.pop_back(); },
      [](SampledBatch& b) { b.links->destination_type = NodeTypeId{1}; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto batch = triple_batch();
    auto sampled = *batch.sampled;
    changes[i](sampled);
    batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
    const auto share = learner->compute(executor, batch, entity_rows());
    ASSERT_FALSE(share.ok()) << i;
    EXPECT_EQ(share.error().code(), Errc::failed_precondition) << i;
  }
  auto large = triple_batch();
  auto sampled = *large.sampled;
  sampled.links->sources.assign(nn::queries_at_once + 1, 0);
  sampled.links->destinations.assign(nn::queries_at_once + 1, 1);
  sampled.links->labels.assign(nn::queries_at_once + 1, 0);
  large.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  EXPECT_FALSE(learner->outputs(executor, large, entity_rows()).ok());
}

TEST(KnowledgeLearner, OptionsThatDoNotFitAreRefused) {
  const auto good = knowledge_learner({nn::ScoreKind::complex, 2, false}, "softmax");
  EXPECT_OK(Learner::create(good));
  const std::vector<std::function<void(LearnerOptions&)>> changes{
      [](LearnerOptions& o) { o.loss = "bce"; },
      [](LearnerOptions& o) { o.model.relations.cols = 2; },
      [](LearnerOptions& o) { o.model.relations.rows = 0; },
      [](LearnerOptions& o) { o.model.layers = 1; },
      [](LearnerOptions& o) { o.knowledge.chunk = 0; },
      [](LearnerOptions& o) { o.model.out_dim = 5; },
      [](LearnerOptions& o) {
        o.model.out_dim = 5;
        o.model.types.nodes[0].cols = 5;
        o.model.relations.cols = 5;
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto bad = good;
    changes[i](bad);
    EXPECT_FALSE(Learner::create(bad).ok()) << i;
  }
}

TEST(KnowledgeLearner, RelationsStartWithinTheirBound) {
  EXPECT_EQ(nn::relation_bound({nn::ScoreKind::distmult, 2, false}, 9, 100), 0.1F);
  EXPECT_EQ(nn::relation_bound({nn::ScoreKind::transe, 2, false}, 10, 200), 0.06F);
  EXPECT_NEAR(nn::relation_bound({nn::ScoreKind::rotate, 1, false}, 10, 200), 3.14159F, 1e-4);
  const auto learner = make(knowledge_learner({nn::ScoreKind::distmult, 2, false}, "softmax"));
  const auto relations = *learner->snapshot();
  ASSERT_EQ(learner->network().layout().size(), 1U);
  EXPECT_EQ(learner->network().layout()[0].name, "relations");
  EXPECT_TRUE(std::ranges::all_of(relations, [](float x) { return std::abs(x) <= 0.8F; }));
  EXPECT_TRUE(std::ranges::any_of(relations, [](float x) { return std::abs(x) > 0.2F; }));
}

}  // namespace
}  // namespace troupe
