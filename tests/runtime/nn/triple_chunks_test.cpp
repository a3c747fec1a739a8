// The loss of a batch's triples: as a plain loop over chunks makes it, bit by bit, whatever computes it.
#include "runtime/nn/knowledge/triple_chunks.hpp"

#include "tests/runtime/nn/knowledge_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

using Places = std::vector<std::uint32_t>;

struct BatchShape {
  std::size_t entities = 0;
  std::size_t relations = 0;
  std::size_t triples = 0;
  std::size_t chunk = 0;
  std::uint32_t negatives = 0;
  std::size_t cols = 0;
};

/// Triples of a few entities and relations at random, so that many name the same.
struct TripleBatchOf {
  TripleBatchOf(const TripleScore& score, const BatchShape& shape, std::uint64_t seed)
      : entities(random_matrix(shape.entities, shape.cols, seed)),
        relations(random_matrix(shape.relations, score.relation_cols(shape.cols), seed + 1)),
        grad_entities(shape.entities, shape.cols),
        grad_relations(shape.relations, relations.cols()) {
    work.options.score = score;
    work.options.chunk = shape.chunk;
    work.options.negatives = shape.negatives;
    DrawStream draw(stream_key(seed, {.domain = Domain::generators}), 0);
    const auto fill = [&draw](Places& places, std::size_t count, std::size_t below) {
      for (std::size_t i = 0; i < count; ++i) {
        places.push_back(draw.below(static_cast<std::uint32_t>(below)));
      }
    };
    fill(known, shape.triples, shape.entities);
    fill(relation, shape.triples, shape.relations);
    fill(answer, shape.triples, shape.entities);
    const auto chunks = (shape.triples + shape.chunk - 1) / shape.chunk;
    fill(candidates, chunks * shape.negatives, shape.entities);
    std::ranges::fill(grad_entities.view().flat(), NAN);
    std::ranges::fill(grad_relations.view().flat(), NAN);
    work.entities = std::as_const(entities).view();
    work.relations = std::as_const(relations).view();
    work.known = known;
    work.relation = relation;
    work.answer = answer;
    work.candidates = candidates;
    work.grad_entities = grad_entities.view();
    work.grad_relations = grad_relations.view();
    work.sum = &sum;
  }
  TripleBatchOf(const TripleBatchOf&) = delete;
  TripleBatchOf& operator=(const TripleBatchOf&) = delete;

  Matrix entities;
  Matrix relations;
  Places known;
  Places relation;
  Places answer;
  Places candidates;
  Matrix grad_entities;
  Matrix grad_relations;
  double sum = NAN;
  TripleLossWork work;
};

Matrix rows_at(ConstMatrix table, std::span<const std::uint32_t> places) {
  Matrix rows(places.size(), table.cols);
  gather_rows({table, places}, rows.view());
  return rows;
}

void add_at(const Matrix& rows, std::span<const std::uint32_t> places, MutMatrix table) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t c = 0; c < table.cols; ++c) {
      table.row(places[i])[c] += rows.view().row(i)[c];
    }
  }
}

/// Copies the rows of each chunk, has all gradients of it made, and adds them list by list.
void plain_loop(const TripleLossWork& work) {
  const auto& options = work.options;
  std::ranges::fill(work.grad_entities.flat(), 0.0F);
  std::ranges::fill(work.grad_relations.flat(), 0.0F);
  *work.sum = 0;
  for (std::size_t first = 0; first < work.known.size(); first += options.chunk) {
    const auto n = std::min<std::size_t>(options.chunk, work.known.size() - first);
    const auto known = work.known.subspan(first, n);
    const auto relation = work.relation.subspan(first, n);
    const auto answer = work.answer.subspan(first, n);
    const auto negative =
        work.candidates.subspan(first / options.chunk * options.negatives, options.negatives);
    const OwnedChunk chunk{rows_at(work.entities, known), rows_at(work.relations, relation),
                           rows_at(work.entities, answer), rows_at(work.entities, negative)};
    OwnedChunk grads{Matrix(n, work.entities.cols), Matrix(n, work.relations.cols),
                     Matrix(n, work.entities.cols), Matrix(options.negatives, work.entities.cols)};
    ChunkScorer scorer(options.score);
    const auto scores = scorer.forward(work.replaced, chunk.rows());
    std::vector<float> of_positive(n);
    Matrix of_negative(n, options.negatives);
    GrowBuffer<float> memory;
    const LinkGradients to{of_positive, of_negative.view()};
    *work.sum +=
        work.loss.rule == TripleRule::softmax
            ? chunk_softmax(scores, to).sum
            : chunk_self_adversarial(scores, work.loss.margin, work.loss.temperature, to, memory)
                  .sum;
    scorer.backward({of_positive, std::as_const(of_negative).view()});
    scorer.gradients(
        {grads.known.view(), grads.relation.view(), grads.answer.view(), grads.negative.view()});
    const bool complex = options.score.complex_rows();
    const auto pull = [&](bool complex_rows, const Matrix& rows, Matrix& grad) {
      regularize(options.regularization, complex_rows, options.factor, rows.view(), grad.view());
    };
    pull(complex, chunk.known, grads.known);
    pull(complex && options.score.kind != ScoreKind::rotate, chunk.relation, grads.relation);
    pull(complex, chunk.answer, grads.answer);
    add_at(grads.known, known, work.grad_entities);
    add_at(grads.relation, relation, work.grad_relations);
    add_at(grads.answer, answer, work.grad_entities);
    add_at(grads.negative, negative, work.grad_entities);
  }
}

struct LossCase {
  TripleRule rule = TripleRule::softmax;
  ReplacedEnd replaced = ReplacedEnd::tail;
  Regularization regularization = Regularization::none;
};

std::vector<LossCase> loss_cases() {
  return {{},
          {TripleRule::self_adversarial, ReplacedEnd::head, Regularization::l2},
          {TripleRule::softmax, ReplacedEnd::head, Regularization::n3}};
}

void expect_plain_loop(const ScoreCase& score, const BatchShape& shape, const LossCase& loss,
                       Executor& executor, TripleChunks& chunks) {
  SCOPED_TRACE(fmt::format("{}: {} triples in chunks of {}, {} candidates, {} columns, rule {}",
                           score.name, shape.triples, shape.chunk, shape.negatives, shape.cols,
                           static_cast<int>(loss.rule)));
  TripleBatchOf batch(score.score, shape, shape.triples + shape.cols);
  TripleBatchOf plain(score.score, shape, shape.triples + shape.cols);
  for (auto* of : {&batch, &plain}) {
    of->work.loss = {.rule = loss.rule, .margin = 2, .temperature = 0.5};
    of->work.replaced = loss.replaced;
    of->work.options.regularization = loss.regularization;
    of->work.options.factor = 0.01;
  }
  plain_loop(plain.work);

  chunks.run(executor, batch.work);

  EXPECT_EQ(batch.sum, plain.sum);
  EXPECT_TRUE(same_bits(batch.grad_entities.view().flat(), plain.grad_entities.view().flat()));
  EXPECT_TRUE(same_bits(batch.grad_relations.view().flat(), plain.grad_relations.view().flat()));
}

class TripleChunksOf : public ::testing::TestWithParam<ScoreCase> {};

TEST_P(TripleChunksOf, EqualAPlainLoopForAnyShapeAndThreads) {
  const bool complex = GetParam().score.complex_rows();
  const std::size_t one = complex ? 2 : 1;
  const std::size_t odd = complex ? 34 : 33;
  InlineExecutor alone;
  ComputePool pool(3);
  TripleChunks of_alone;  // one for all shapes: memory of another batch is left in it
  TripleChunks of_pool;
  for (const BatchShape& shape : std::vector<BatchShape>{
           {.entities = 9, .relations = 1, .triples = 5, .chunk = 1, .negatives = 1, .cols = one},
           {.entities = 1, .relations = 3, .triples = 7, .chunk = 3, .negatives = 1, .cols = odd},
           {.entities = 300,
           .relations = 70,
           .triples = 40,
           .chunk = 64,
           .negatives = 5,
           .cols = odd},
           {.entities = 50, .relations = 5, .triples = 21, .chunk = 7, .negatives = 0, .cols = 6},
           {.entities = 80,
           .relations = 9,
           .triples = 130,
           .chunk = 50,
           .negatives = 65,
           .cols = 200}}) {
    for (const auto& loss : loss_cases()) {
      expect_plain_loop(GetParam(), shape, loss, alone, of_alone);
      expect_plain_loop(GetParam(), shape, loss, pool, of_pool);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, TripleChunksOf, ::testing::ValuesIn(score_cases()),
                         [](const auto& test) { return test.param.name; });

/// More triples than the matrix library adds up at once.
TEST(TripleChunks, LargeChunksEqualAPlainLoop) {
  ComputePool pool(2);
  TripleChunks chunks;
  for (const auto& score : score_cases()) {
    if (score.score.comparison() == Comparison::product ||
        score.score.comparison() == Comparison::distance_2) {
      expect_plain_loop(score, {40, 6, 1030, 513, 20, 8}, {}, pool, chunks);
    }
  }
}

TEST(TripleChunks, RowsThatNobodyNamesHaveNoGradient) {
  InlineExecutor executor;
  const TripleScore score{ScoreKind::rotate, 2, false};
  TripleBatchOf batch(score, {100, 90, 2, 2, 1, 4}, 3);
  TripleChunks chunks;
  chunks.run(executor, batch.work);

  const auto counts = [](const Matrix& grads) {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < grads.rows(); ++i) {
      rows += std::ranges::any_of(grads.view().row(i), [](float x) { return x != 0; }) ? 1U : 0U;
    }
    return rows;
  };
  EXPECT_LE(counts(batch.grad_entities), 5U);
  EXPECT_LE(counts(batch.grad_relations), 2U);
  EXPECT_GE(counts(batch.grad_relations), 1U);
  for (const Matrix* grads : {&batch.grad_entities, &batch.grad_relations}) {
    EXPECT_TRUE(std::ranges::all_of(grads->view().flat(), [](float x) { return !std::isnan(x); }));
  }
}

TEST(TripleChunks, NanOfARowShowsInTheLossAndInThatRow) {
  InlineExecutor executor;
  for (const auto& score : score_cases()) {
    TripleBatchOf batch(score.score, {4, 2, 6, 4, 3, 8}, 5);
    batch.entities.view().row(batch.known[1])[2] = NAN;
    TripleChunks chunks;
    chunks.run(executor, batch.work);
    EXPECT_TRUE(std::isnan(batch.sum)) << score.name;
    EXPECT_TRUE(std::ranges::any_of(batch.grad_entities.view().row(batch.known[1]), [](float x) {
      return std::isnan(x);
    })) << score.name;
  }
}

TEST(RowTouches, AreTheElementsOfEachRowInOrder) {
  RowTouches touches;
  for (const std::size_t rows : {1U, 3U, 40U}) {
    DrawStream draw(stream_key(rows, {.domain = Domain::generators}), 0);
    std::array<Places, 4> lists;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      lists[i].resize(i * 7);  // the first one is empty
      for (auto& place : lists[i]) {
        place = draw.below(static_cast<std::uint32_t>(rows));
      }
    }
    std::vector<Places> expected(rows);
    std::uint32_t number = 0;
    std::vector<std::span<const std::uint32_t>> views;
    for (const auto& list : lists) {
      views.emplace_back(list);
      for (const auto place : list) {
        expected[place].push_back(number++);
      }
    }

    touches.assign(rows, views);

    for (std::size_t row = 0; row < rows; ++row) {
      const auto of_row = touches.of_row(row);
      EXPECT_EQ(Places(of_row.begin(), of_row.end()), expected[row]);
    }
  }
  touches.assign(2, {});
  EXPECT_TRUE(touches.of_row(0).empty());
  EXPECT_TRUE(touches.of_row(1).empty());
}

}  // namespace
}  // namespace troupe::nn
