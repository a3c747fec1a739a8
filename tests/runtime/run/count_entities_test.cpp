// Counts of a part's rows for queries, and the ranks that they add up to, against comparing one by one.
#include "runtime/run/count_entities.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/run/entity_queries.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace troupe {
namespace {

Matrix random_rows(std::size_t rows, std::size_t cols, unsigned seed) {
  std::mt19937 dice(seed);
  std::uniform_int_distribution<int> some(-3, 3);  // so that many are level
  Matrix out(rows, cols);
  for (float& x : out.view().flat()) {
    x = static_cast<float>(some(dice)) / 2;
  }
  return out;
}

RankEntities request_of(const Matrix& queries, std::vector<float> keys) {
  RankEntities request;
  request.cols = static_cast<std::uint32_t>(queries.cols());
  request.score = static_cast<std::uint16_t>(nn::ScoreKind::distmult);
  request.queries = queries.share();
  request.keys.assign(keys.begin(), keys.end());
  request.offsets.assign(keys.size() + 1, 0);
  return request;
}

TEST(CountEntities, AreThoseOfComparingOneByOneOnAnyNumberOfThreads) {
  const auto rows = random_rows(4000, 6, 1);  // several blocks
  const auto queries = random_rows(5, 6, 2);
  auto request = request_of(queries, {0.25F, -1, 3, 0, 2.5F});
  for (std::size_t q = 0; q < 5; ++q) {  // places at the ends of blocks too
    for (const std::uint64_t place : {0UL, 1535UL, 1536UL, 3999UL}) {
      request.left_out.push_back(place);
    }
    request.offsets[q + 1] = request.left_out.size();
  }
  InlineExecutor alone;
  ComputePool pool(3);
  ASSERT_OK_AND_ASSIGN(const auto counts, count_entities(alone, request, rows.view()));
  ASSERT_OK_AND_ASSIGN(const auto same, count_entities(pool, request, rows.view()));
  EXPECT_EQ(counts.above, same.above);
  EXPECT_EQ(counts.level, same.level);
  for (std::size_t q = 0; q < 5; ++q) {
    std::uint64_t above = 0;
    std::uint64_t level = 0;
    for (std::size_t r = 0; r < 4000; ++r) {
      if (r == 0 || r == 1535 || r == 1536 || r == 3999) {
        continue;
      }
      float key = 0;
      for (std::size_t c = 0; c < 6; ++c) {
        key += rows.view().row(r)[c] * queries.view().row(q)[c];  // exact: few halves
      }
      above += key > request.keys[q] ? 1U : 0U;
      level += key == request.keys[q] ? 1U : 0U;
    }
    EXPECT_EQ(counts.above[q], above) << q;
    EXPECT_EQ(counts.level[q], level) << q;
  }
}

TEST(CountEntities, OfAPerceptronAreThoseOfItsHinges) {
  const auto rows = random_rows(4000, 6, 1);
  const auto queries = random_rows(5, 3, 2);
  auto request = request_of(queries, {0.25F, -1, 3, 0, 2.5F});
  request.cols = 6;
  request.score = score_of_perceptron;
  request.hidden = 3;
  const auto weights = random_rows(3, 7, 4);  // the matrix, and the factors after it
  std::vector<float> numbers(weights.view().flat().begin(), weights.view().flat().end());
  numbers.insert(numbers.end(), queries.view().flat().begin(), queries.view().flat().end());
  request.queries = Segment::of(std::move(numbers));
  ASSERT_OK(check_queries("RankEntities", request));
  InlineExecutor alone;
  ComputePool pool(3);
  ASSERT_OK_AND_ASSIGN(const auto counts, count_entities(alone, request, rows.view()));
  ASSERT_OK_AND_ASSIGN(const auto same, count_entities(pool, request, rows.view()));
  EXPECT_EQ(counts.above, same.above);
  EXPECT_EQ(counts.level, same.level);
  const auto flat = weights.view().flat();
  for (std::size_t q = 0; q < 5; ++q) {
    std::uint64_t above = 0;
    std::uint64_t level = 0;
    for (std::size_t r = 0; r < 4000; ++r) {
      float key = 0;
      for (std::size_t h = 0; h < 3; ++h) {
        float between = queries.view().row(q)[h];
        for (std::size_t c = 0; c < 6; ++c) {
          between += flat[h * 6 + c] * rows.view().row(r)[c];
        }
        key += flat[18 + h] * std::max(0.0F, between);
      }
      above += key > request.keys[q] ? 1U : 0U;
      level += key == request.keys[q] ? 1U : 0U;
    }
    EXPECT_EQ(counts.above[q], above) << q;
    EXPECT_EQ(counts.level[q], level) << q;
  }
  request.unit = true;
  EXPECT_ERROR(count_entities(alone, request, rows.view()), Errc::invalid_argument,
               "expected hidden columns with score 4 alone");
}

TEST(CountEntities, OfNoRowsAndNoQueriesAreNone) {
  InlineExecutor executor;
  const auto queries = random_rows(2, 4, 3);
  ASSERT_OK_AND_ASSIGN(const auto none, count_entities(executor, request_of(queries, {0, 0}),
                                                       ConstMatrix{nullptr, 0, 4}));
  EXPECT_EQ(none.above, (PooledVector<std::uint64_t>{0, 0}));
  const auto rows = random_rows(3, 4, 4);
  ASSERT_OK_AND_ASSIGN(const auto nothing,
                       count_entities(executor, request_of(Matrix(0, 4), {}), rows.view()));
  EXPECT_TRUE(nothing.above.empty());
}

TEST(CountEntities, RefuseWhatCannotBe) {
  InlineExecutor executor;
  const auto rows = random_rows(10, 3, 5);
  const auto queries = random_rows(2, 3, 6);
  const auto good = request_of(queries, {0, 0});
  EXPECT_OK(count_entities(executor, good, rows.view()));
  const std::vector<std::function<void(RankEntities&)>> changes{
      [](RankEntities& r) { r.score = 4; },  // a perceptron without weights
      [](RankEntities& r) { r.score = 5; },
      [](RankEntities& r) { r.hidden = 1; },  // of another score
      [](RankEntities& r) { r.norm = 3; },
      [](RankEntities& r) { r.score = 2; },  // an odd number of columns
      [](RankEntities& r) {
        r.left_out = {10}, r.offsets = {0, 0, 1};
      },
      [](RankEntities& r) {
        r.left_out = {3, 3}, r.offsets = {0, 2, 2};
      },
      [](RankEntities& r) {
        r.left_out = {4, 3}, r.offsets = {0, 0, 2};
      },
      [](RankEntities& r) {
        r.keys.assign(257, 0);
        r.offsets.assign(258, 0);
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto bad = good;
    changes[i](bad);
    const auto counted = count_entities(executor, bad, rows.view());
    ASSERT_FALSE(counted.ok()) << i;
    EXPECT_EQ(counted.error().code(), Errc::invalid_argument) << i;
  }
}

TEST(CheckQueries, RefusesSizesThatDoNotFit) {
  const auto queries = random_rows(2, 3, 6);
  const auto good = request_of(queries, {0, 0});
  EXPECT_OK(check_queries("RankEntities", good));
  const std::vector<std::function<void(RankEntities&)>> changes{
      [](RankEntities& r) { r.cols = 2; },
      [](RankEntities& r) { r.keys.push_back(0); },
      [](RankEntities& r) { r.offsets.pop_back(); },
      [](RankEntities& r) {
        r.offsets = {0, 0, 1};
      },
      [](RankEntities& r) { r.offsets[0] = 1; },
      [](RankEntities& r) { r.left_out = {1}; },
      [](RankEntities& r) {
        r.left_out = {1, 2};
        r.offsets = {0, 3, 2};
      },
      [](RankEntities& r) { r.cols = 0xFFFFFFFF; },
      [](RankEntities& r) { r.hidden = 3; },  // without weights
      [](RankEntities& r) { r.hidden = 0xFFFFFFFF; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto bad = good;
    changes[i](bad);
    EXPECT_FALSE(check_queries("RankEntities", bad).ok()) << i;
  }
}

/// Eleven entities in parts of 4, 0, 6 and 1 nodes.
class RanksOfABatch : public ::testing::Test {
 protected:
  RanksOfABatch() {
    plan_.score = {nn::ScoreKind::distmult, 2, false};
    for (const auto& [head, relation, tail] : triples_) {
      plan_.known.add(head, relation, tail);
    }
    plan_.known.finish();
    sampled_.nodes.resize(1);
    for (std::uint64_t i = 0; i < 11; ++i) {
      sampled_.nodes[0].ids.push_back(static_cast<NodeId>(10 - i));
    }
    auto& links = sampled_.links.emplace();
    for (const auto& [head, relation, tail] : triples_) {
      links.sources.push_back(static_cast<std::uint32_t>(10 - head));
      links.destinations.push_back(static_cast<std::uint32_t>(10 - tail));
      links.labels.push_back(static_cast<float>(relation));
    }
  }

  struct Triple {
    std::uint64_t head;
    std::uint32_t relation;
    std::uint64_t tail;
  };
  const std::vector<Triple> triples_{{0, 0, 3}, {0, 0, 5}, {3, 1, 10}, {10, 0, 0}};
  const Matrix entities_ = random_rows(11, 4, 7);
  const Matrix outputs_ = random_rows(4, 10, 8);
  RankingPlan plan_;
  SampledBatch sampled_;
};

TEST_F(RanksOfABatch, AreSumsOverAllParts) {
  InlineExecutor executor;
  const PartitionBook whole(PartRanges{.first_node = {{0, 11}}});
  const PartitionBook cut(PartRanges{.first_node = {{0, 4, 4, 10, 11}}});
  std::vector<Matrix> ranks;
  for (const auto* book : {&whole, &cut}) {
    EntityQueries queries(plan_, *book, sampled_, outputs_.view());
    EXPECT_EQ(queries.questions().size(), book == &whole ? 2U : 6U) << "none for an empty part";
    for (std::size_t q = queries.questions().size(); q-- > 0;) {
      EXPECT_FALSE(queries.done());
      const auto& [part, request] = queries.questions()[q];
      const auto range = book->range(NodeTypeId{0}, part);
      ASSERT_OK_AND_ASSIGN(const auto counts,
                           count_entities(executor, request,
                                          entities_.view().slice(raw(range.first), range.size())));
      EXPECT_OK(queries.answer(q, counts));
    }
    EXPECT_TRUE(queries.done());
    ranks.push_back(queries.take());
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(ranks[0].view().row(i)[c], ranks[1].view().row(i)[c]) << i << " " << c;
    }
  }
  // Of (0, 0, ?) with the query and key of the first triple: all but the known tails 3 and 5.
  float above = 0;
  for (std::size_t e = 0; e < 11; ++e) {
    float key = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      key += entities_.view().row(e)[c] * outputs_.view().row(0)[c];
    }
    above += e != 3 && e != 5 && key > outputs_.view().row(0)[4] ? 1.0F : 0.0F;
  }
  EXPECT_EQ(ranks[0].view().row(0)[0], above);
}

TEST_F(RanksOfABatch, OfOneEndAskForNoOther) {
  InlineExecutor executor;
  const PartitionBook whole(PartRanges{.first_node = {{0, 11}}});
  const auto ranks_of = [&](RankedEnds ends) {
    plan_.ends = ends;
    EntityQueries queries(plan_, whole, sampled_, outputs_.view());
    EXPECT_EQ(queries.questions().size(), ends == RankedEnds::both ? 2U : 1U);
    for (std::size_t q = 0; q < queries.questions().size(); ++q) {
      auto counts = count_entities(executor, queries.questions()[q].request, entities_.view());
      EXPECT_OK(counts);
      EXPECT_OK(queries.answer(q, *counts));
    }
    EXPECT_TRUE(queries.done());
    return queries.take();
  };

  const auto both = ranks_of(RankedEnds::both);
  const auto tails = ranks_of(RankedEnds::destination);
  const auto heads = ranks_of(RankedEnds::source);

  for (std::size_t i = 0; i < 4; ++i) {
    const auto row = both.view().row(i);
    const std::vector<float> of_tail{row[0], row[1], 0, 0};
    const std::vector<float> of_head{0, 0, row[2], row[3]};
    EXPECT_TRUE(std::ranges::equal(tails.view().row(i), of_tail)) << i;
    EXPECT_TRUE(std::ranges::equal(heads.view().row(i), of_head)) << i;
  }
}

TEST_F(RanksOfABatch, AnswersOfOtherSizesAreRefused) {
  const PartitionBook whole(PartRanges{.first_node = {{0, 11}}});
  EntityQueries queries(plan_, whole, sampled_, outputs_.view());
  EXPECT_FALSE(queries.answer(0, {{1, 2, 3}, {0, 0, 0, 0}}).ok());
  EXPECT_FALSE(queries.answer(0, {{1, 2, 3, 4}, {0}}).ok());
  EXPECT_OK(queries.answer(0, {{1, 2, 3, 4}, {0, 0, 0, 0}}));
}

}  // namespace
}  // namespace troupe
