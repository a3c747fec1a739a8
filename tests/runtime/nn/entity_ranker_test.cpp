#include "runtime/nn/knowledge/entity_ranker.hpp"

#include "runtime/nn/knowledge/known_answers.hpp"
#include "tests/runtime/nn/knowledge_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// Triples among few entities, so that queries have several answers.
struct Graph {
  Matrix entities;
  Matrix relations;
  std::vector<std::array<std::uint64_t, 3>> triples;
};

Graph random_triples(const TripleScore& score, std::size_t count, Matrix entities, Matrix relations,
                     std::uint64_t seed) {
  Graph graph{std::move(entities), std::move(relations), {}};
  const StreamKey key = stream_key(seed, {.domain = Domain::generators, .type = 3});
  EXPECT_EQ(graph.relations.cols(), score.relation_cols(graph.entities.cols()));
  for (std::size_t i = 0; i < count; ++i) {
    DrawStream draw(key, i);
    const auto below = [&](std::size_t n) { return draw.below(static_cast<std::uint32_t>(n)); };
    graph.triples.push_back({below(graph.entities.rows()), below(graph.relations.rows()),
                             below(graph.entities.rows())});
  }
  return graph;
}

/// Whole numbers from -2 to 2, so that scores are exact and many are equal.
Matrix small_numbers(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Matrix m = random_matrix(rows, cols, seed);
  for (float& value : m.view().flat()) {
    value = std::round(2 * value);
  }
  return m;
}

KnownAnswers known_of(const Graph& graph) {
  KnownAnswers known;
  for (const auto& [head, relation, tail] : graph.triples) {
    known.add(head, static_cast<std::uint32_t>(relation), tail);
  }
  known.finish();
  return known;
}

Matrix gather(const Matrix& table, const std::vector<std::uint64_t>& ids) {
  Matrix rows(ids.size(), table.cols());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::ranges::copy(table.view().row(ids[i]), rows.view().row(i).begin());
  }
  return rows;
}

struct CountOptions {
  std::vector<std::size_t> parts;  ///< entities of each part
  ReplacedEnd replaced = ReplacedEnd::tail;
};

/// Counts of all triples as queries, by parts whose entities are ranges.
std::vector<AboveAndLevel> counts_of(const TripleScore& score, const Graph& graph,
                                     const CountOptions& options) {
  const auto known = known_of(graph);
  std::vector<AboveAndLevel> counts(graph.triples.size());
  const bool tail = options.replaced == ReplacedEnd::tail;
  for (std::size_t first = 0; first < counts.size(); first += queries_at_once) {
    const std::size_t number = std::min(queries_at_once, counts.size() - first);
    std::vector<std::uint64_t> ends;
    std::vector<std::uint64_t> relations;
    std::vector<std::uint64_t> answers;
    std::vector<TripleQuery> queries;
    for (std::size_t i = first; i < first + number; ++i) {
      const auto& [h, r, t] = graph.triples[i];
      ends.push_back(tail ? h : t);
      relations.push_back(r);
      answers.push_back(tail ? t : h);
      queries.push_back({ends.back(), static_cast<std::uint32_t>(r), options.replaced});
    }
    Matrix of_ends = gather(graph.entities, ends);
    std::vector<float> lengths(number);
    if (score.unit) {
      const Matrix plain = copy_of(of_ends.view());
      unit_rows(score.norm, plain.view(), of_ends.view(), lengths);
    }
    Matrix factors(number, graph.entities.cols());
    Matrix rows(number, graph.entities.cols());
    relation_factors(score, gather(graph.relations, relations).view(), factors.view());
    query_rows(score, options.replaced, of_ends.view(), factors.view(), rows.view());
    const EntityRanker ranker(score, rows.view());
    std::vector<float> keys(number);
    ranker.answer_keys(gather(graph.entities, answers).view(), keys);
    std::uint64_t begin = 0;
    for (const auto part : options.parts) {
      const auto left_out = known.rows_among(queries, begin, part);
      ranker.count(std::as_const(graph.entities).view().slice(begin, part), keys,
                   {left_out.offsets, left_out.rows}, std::span(counts).subspan(first, number));
      begin += part;
    }
    EXPECT_EQ(begin, graph.entities.rows());
  }
  return counts;
}

/// One query after the other, one entity after the other, in float64.
std::vector<AboveAndLevel> counts_by_definition(const TripleScore& score, const Graph& graph,
                                                ReplacedEnd replaced) {
  const std::set<std::array<std::uint64_t, 3>> known(graph.triples.begin(), graph.triples.end());
  std::vector<AboveAndLevel> counts;
  for (const auto& triple : graph.triples) {
    const auto score_with = [&](std::uint64_t other) {
      auto at = triple;
      at[replaced == ReplacedEnd::tail ? 2 : 0] = other;
      return std::pair(score_twin(score, doubles(graph.entities.view().row(at[0])),
                                  doubles(graph.relations.view().row(at[1])),
                                  doubles(graph.entities.view().row(at[2]))),
                       known.contains(at));
    };
    const double own = score_with(triple[replaced == ReplacedEnd::tail ? 2 : 0]).first;
    auto& count = counts.emplace_back();
    for (std::uint64_t other = 0; other < graph.entities.rows(); ++other) {
      const auto [value, is_known] = score_with(other);
      count.above += !is_known && value > own ? 1U : 0U;
      count.level += !is_known && value == own ? 1U : 0U;
    }
  }
  return counts;
}

class EachRanker : public ::testing::TestWithParam<ScoreCase> {
 protected:
  const TripleScore& score() const { return GetParam().score; }
};

/// Scores of whole numbers that are whole, or square roots of such.
class ExactRanker : public EachRanker {};

TEST_P(ExactRanker, CountsThoseAboveAndLevelOfWholeNumbers) {
  const auto graph =
      random_triples(score(), 300, small_numbers(41, 4, 3), small_numbers(3, 4, 5), 7);
  for (const auto replaced : {ReplacedEnd::tail, ReplacedEnd::head}) {
    const auto counts = counts_of(score(), graph, {{41}, replaced});

    EXPECT_TRUE(counts == counts_by_definition(score(), graph, replaced));
    EXPECT_TRUE(std::ranges::any_of(counts, [](const auto& count) { return count.level > 0; }));
  }
}

TEST_P(EachRanker, CountsThoseAboveOfAnyNumbers) {
  const auto graph = random_triples(score(), 120, random_matrix(60, 10, 11),
                                    random_matrix(4, score().relation_cols(10), 13), 17);
  for (const auto replaced : {ReplacedEnd::tail, ReplacedEnd::head}) {
    const auto counts = counts_of(score(), graph, {{60}, replaced});
    const auto twins = counts_by_definition(score(), graph, replaced);
    ASSERT_EQ(counts.size(), twins.size());
    std::size_t others = 0;  // where scores differ by less than float32 holds
    for (std::size_t i = 0; i < counts.size(); ++i) {
      others += counts[i] == twins[i] ? 0U : 1U;
      EXPECT_NEAR(counts[i].rank(), twins[i].rank(), 1) << i;
    }
    EXPECT_LE(others, 2U);
  }
}

TEST_P(EachRanker, RanksAreThoseOfEveryPartitioning) {
  const auto graph = random_triples(score(), 2 * queries_at_once + 9, random_matrix(700, 20, 19),
                                    random_matrix(5, score().relation_cols(20), 23), 29);
  const auto whole = counts_of(score(), graph, {.parts = {700}});

  for (const auto& parts :
       {std::vector<std::size_t>{1, 699}, {350, 350}, {3, 0, 190, 193, 192, 122}, {511, 189}}) {
    EXPECT_TRUE(counts_of(score(), graph, {.parts = parts}) == whole);
  }
  EXPECT_TRUE(counts_of(score(), graph, {.parts = std::vector<std::size_t>(700, 1)}) == whole);
}

// An entity that stands where the answer stood, with the same row, is level with it wherever it is.
TEST_P(EachRanker, EqualRowsAreLevelInAnyPlace) {
  auto graph = random_triples(score(), 1, random_matrix(600, 20, 31),
                              random_matrix(1, score().relation_cols(20), 37), 41);
  graph.triples = {{0, 0, 1}};
  const std::vector<std::size_t> twins{0, 2, 191, 192, 300, 511, 512, 599};
  for (const auto twin : twins) {
    std::ranges::copy(graph.entities.view().row(1), graph.entities.view().row(twin).begin());
  }

  EXPECT_EQ(counts_of(score(), graph, {.parts = {600}}).front().level, twins.size());
}

INSTANTIATE_TEST_SUITE_P(Scores, EachRanker, ::testing::ValuesIn(score_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Scores, ExactRanker, ::testing::ValuesIn([] {
                           auto cases = score_cases();
                           cases.resize(4);  // products, and distances without lengths and angles
                           return cases;
                         }()),
                         [](const auto& test) { return test.param.name; });

/// A perceptron's queries, and what it multiplies the rows of the other end by.
struct PerceptronCase {
  Matrix entities;
  Matrix queries;  ///< [n, hidden]
  Matrix weight;   ///< [hidden, columns]
  std::vector<float> out;

  HalfPerceptron half() const { return {weight.view(), out}; }
  double key(std::size_t query, std::size_t entity) const {
    double sum = 0;
    for (std::size_t h = 0; h < out.size(); ++h) {
      double between = queries.view().row(query)[h];
      for (std::size_t c = 0; c < weight.cols(); ++c) {
        between += double{weight.view().row(h)[c]} * entities.view().row(entity)[c];
      }
      sum += out[h] * std::max(0.0, between);
    }
    return sum;
  }
  /// Of each query all rows; the answer to query i is row i.
  std::vector<AboveAndLevel> counts(const std::vector<std::size_t>& parts) const {
    const EntityRanker ranker(half(), queries.view());
    std::vector<float> keys(queries.rows());
    ranker.answer_keys(std::as_const(entities).view().slice(0, queries.rows()), keys);
    std::vector<AboveAndLevel> counts(queries.rows());
    const std::vector<std::uint64_t> offsets(queries.rows() + 1);
    std::size_t first = 0;
    for (const auto part : parts) {
      ranker.count(std::as_const(entities).view().slice(first, part), keys, {offsets, {}}, counts);
      first += part;
    }
    EXPECT_EQ(first, entities.rows());
    return counts;
  }
};

TEST(PerceptronRanker, CountsThoseAboveAndLevelOfWholeNumbers) {
  for (const std::size_t hidden : {1U, 5U, 17U}) {
    const auto factors = small_numbers(1, hidden, 8);
    const PerceptronCase one{small_numbers(300, 4, 3),
                             small_numbers(hidden == 5 ? 256 : 9, hidden, 5),
                             small_numbers(hidden, 4, 7),
                             {factors.view().flat().begin(), factors.view().flat().end()}};
    const auto counts = one.counts({300});
    bool level = false;
    for (std::size_t q = 0; q < counts.size(); ++q) {
      AboveAndLevel expected;
      for (std::size_t e = 0; e < 300; ++e) {
        expected.above += one.key(q, e) > one.key(q, q) ? 1U : 0U;
        expected.level += one.key(q, e) == one.key(q, q) ? 1U : 0U;
      }
      EXPECT_EQ(counts[q], expected) << hidden << " " << q;
      level = level || expected.level > 1;
    }
    EXPECT_TRUE(level);
  }
}

TEST(PerceptronRanker, CountsAreThoseOfEveryPartitioningAndEqualRowsAreLevel) {
  PerceptronCase one{
      random_matrix(700, 20, 19), random_matrix(7, 33, 23), random_matrix(33, 20, 29), {}};
  const auto factors = random_matrix(1, 33, 31);
  one.out.assign(factors.view().flat().begin(), factors.view().flat().end());
  for (const auto twin : {191U, 192U, 511U, 699U}) {
    std::ranges::copy(one.entities.view().row(1), one.entities.view().row(twin).begin());
  }
  const auto whole = one.counts({700});
  for (const auto& parts :
       {std::vector<std::size_t>{1, 699}, {350, 350}, {3, 0, 190, 193, 192, 122}}) {
    EXPECT_TRUE(one.counts(parts) == whole);
  }
  EXPECT_TRUE(one.counts(std::vector<std::size_t>(700, 1)) == whole);
  EXPECT_EQ(whole[1].level, 5U) << "itself and its twins";
}

TEST(PerceptronRanker, NanStaysAndRanksBelowEverything) {
  const PerceptronCase one{
      matrix_of({1, NAN, 3}, 3, 1), matrix_of({0}, 1, 1), matrix_of({1}, 1, 1), {-1}};
  EXPECT_EQ(one.counts({3}).front(), (AboveAndLevel{0, 1}));  // keys -1, NaN, -3
  const EntityRanker ranker(one.half(), one.queries.view());
  std::vector<float> keys(1);
  ranker.answer_keys(one.entities.view().slice(1, 1), keys);
  EXPECT_TRUE(std::isnan(keys.front()));
}

// Entities (1), (2), (3), (2), (5) against the query 1: keys are their numbers.
TEST(EntityRanker, KnownAnswersAndTheAnswerItselfAreLeftOut) {
  const Matrix entities = matrix_of({1, 2, 3, 2, 5}, 5, 1);
  const Matrix query = matrix_of({1}, 1, 1);
  const EntityRanker ranker({ScoreKind::distmult, 2, false}, query.view());
  const std::vector<float> keys{2};
  const auto count = [&](const std::vector<std::uint64_t>& left_out) {
    std::vector<AboveAndLevel> counts(1);
    const std::vector<std::uint64_t> offsets{0, left_out.size()};
    ranker.count(entities.view(), keys, {offsets, left_out}, counts);
    return counts.front();
  };

  EXPECT_EQ(count({1}), (AboveAndLevel{2, 1}));
  EXPECT_EQ(count({1}).rank(), 3.5);
  EXPECT_EQ(count({1, 4}), (AboveAndLevel{1, 1}));
  EXPECT_EQ(count({1, 3}), (AboveAndLevel{2, 0}));
  EXPECT_EQ(count({0, 1, 2, 3, 4}).rank(), 1);
}

TEST(EntityRanker, NanRanksBelowEverything) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Matrix entities = matrix_of({1, NAN, -infinity, 2}, 4, 1);
  const Matrix query = matrix_of({1}, 1, 1);
  const EntityRanker ranker({ScoreKind::distmult, 2, false}, query.view());
  const std::vector<std::uint64_t> offsets{0, 0};
  const auto count = [&](float key) {
    std::vector<AboveAndLevel> counts(1);
    ranker.count(entities.view(), std::vector{key}, {offsets, {}}, counts);
    return counts.front();
  };

  EXPECT_EQ(count(NAN), (AboveAndLevel{2, 2}));
  EXPECT_EQ(count(-infinity), (AboveAndLevel{2, 2}));
  EXPECT_EQ(count(1), (AboveAndLevel{1, 1}));
}

TEST(EntityRanker, NoQueriesAndNoEntitiesCountNothing) {
  const Matrix entities = random_matrix(3, 4, 1);
  const EntityRanker none({ScoreKind::transe, 1, false}, Matrix(0, 4).view());
  const std::vector<std::uint64_t> offsets{0};
  none.count(entities.view(), {}, {offsets, {}}, {});
  none.answer_keys(Matrix(0, 4).view(), {});

  const EntityRanker one({ScoreKind::transe, 2, false}, entities.view().slice(0, 1));
  std::vector<AboveAndLevel> counts(1);
  const std::vector<std::uint64_t> two{0, 0};
  one.count(Matrix(0, 4).view(), std::vector{1.0F}, {two, {}}, counts);
  EXPECT_EQ(counts.front(), AboveAndLevel());
  EXPECT_FALSE(scores_of_counts({}, std::array<std::uint64_t, 1>{1}).has_value());
}

TEST(EntityRanker, ScoresAreMeansOverRanks) {
  const std::vector<AboveAndLevel> counts{{0, 0}, {2, 2}, {9, 1}};  // ranks 1, 4, 10.5

  const auto scores = scores_of_counts(counts, std::array<std::uint64_t, 4>{1, 3, 10, 11});

  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->queries, 3U);
  EXPECT_NEAR(scores->mean_rank, 15.5 / 3, 1e-12);
  EXPECT_NEAR(scores->reciprocal_rank, (1 + 0.25 + 1 / 10.5) / 3, 1e-12);
  EXPECT_EQ(scores->hits, (std::vector<double>{1.0 / 3, 1.0 / 3, 2.0 / 3, 1}));
}

// The golden's filtered average ranks, from its scores as entities of one column.
TEST(EntityRanker, MatchesTheGoldenOfFilteredRanks) {
  const Matrix all = golden_matrix("metrics/ranking/scores");
  const auto target = golden("metrics/ranking/target").as<std::int64_t>();
  const auto offsets = golden("metrics/ranking/known_indptr").as<std::int64_t>();
  const auto known = golden("metrics/ranking/known_indices").as<std::int64_t>();
  const auto truth = golden("metrics/ranking/filtered_ranks").as<double>();  // [3, 10]
  const Matrix query = matrix_of({1}, 1, 1);
  const EntityRanker ranker({ScoreKind::distmult, 2, false}, query.view());
  for (std::size_t q = 0; q < target.size(); ++q) {
    std::vector<std::uint64_t> left_out;
    for (auto at = offsets[q]; at < offsets[q + 1]; ++at) {
      left_out.push_back(static_cast<std::uint64_t>(known[static_cast<std::size_t>(at)]));
    }
    std::ranges::sort(left_out);
    const auto row = all.view().row(q);
    std::vector<AboveAndLevel> counts(1);
    const std::vector<std::uint64_t> ends{0, left_out.size()};
    ranker.count({row.data(), row.size(), 1}, std::vector{row[static_cast<std::size_t>(target[q])]},
                 {ends, left_out}, counts);

    EXPECT_EQ(counts.front().rank(), truth[2 * target.size() + q]) << q;
  }
}

TEST(KnownAnswers, AreThoseOfTheQueryAmongTheEntitiesOfAPart) {
  KnownAnswers known;
  for (const std::uint64_t tail : {9U, 3U, 3U, 12U}) {
    known.add(1, 0, tail);
  }
  known.add(1, 1, 4);
  known.add(2, 0, 3);
  known.add(std::uint64_t{1} << 40, 0, 3);
  known.finish();
  const std::vector<TripleQuery> queries{{1, 0, ReplacedEnd::tail},
                                         {3, 0, ReplacedEnd::head},
                                         {1, 2, ReplacedEnd::tail},
                                         {1, 1, ReplacedEnd::tail}};

  const auto all = known.rows_among(queries, 0, 100);
  EXPECT_EQ(all.offsets, (std::vector<std::uint64_t>{0, 3, 5, 5, 6}));
  EXPECT_EQ(all.rows, (std::vector<std::uint64_t>{3, 9, 12, 1, 2, 4}));
  const auto part = known.rows_among(queries, 3, 9);
  EXPECT_EQ(part.offsets, (std::vector<std::uint64_t>{0, 2, 2, 2, 3}));
  EXPECT_EQ(part.rows, (std::vector<std::uint64_t>{0, 6, 1}));
  EXPECT_EQ(known.rows_among(queries, std::uint64_t{1} << 40, 5).rows,
            (std::vector<std::uint64_t>{0}));
  EXPECT_TRUE(KnownAnswers().rows_among(queries, 0, 9).rows.empty());
}

}  // namespace
}  // namespace troupe::nn
