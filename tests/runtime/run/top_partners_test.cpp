// The best partners of nodes, and the best completions of triples: against a sort of all of them.
#include "runtime/run/top_partners.hpp"

#include "runtime/nn/catalog.hpp"
#include "runtime/run/pair_outputs.hpp"
#include "tests/runtime/nn/knowledge_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t top_cols = 5;

std::unique_ptr<nn::Network> network_with(const std::string& decoder) {
  nn::ModelOptions model;
  model.layers = 0;
  model.in_dim = top_cols;
  model.out_dim = top_cols;
  model.decoder = {.kind = decoder, .hidden = 4};
  auto network = nn::make_network(model);
  EXPECT_OK(network);
  return *std::move(network);
}

/// All destinations of a source but those left out, sorted by score, then row.
std::vector<std::uint32_t> sorted_rows(std::span<const float> scores,
                                       std::span<const std::uint64_t> left_out) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < scores.size(); ++row) {
    if (!std::ranges::binary_search(left_out, row)) {
      rows.push_back(row);
    }
  }
  std::ranges::stable_sort(rows, [&](auto a, auto b) { return scores[a] > scores[b]; });
  return rows;
}

TEST(TopPartners, AreTheFirstOfAllSorted) {
  // More than a block of destinations; few of them differ, so many are level.
  Matrix destinations = nn::testing::random_matrix(9'000, top_cols, 1);
  for (std::size_t i = 0; i < 9'000; ++i) {
    std::ranges::copy(destinations.view().row(i % 700), destinations.view().row(i).begin());
  }
  const Matrix sources = nn::testing::random_matrix(37, top_cols, 2);
  nn::KnownRows left_out{{0}, {}};
  for (std::uint32_t source = 0; source < 37; ++source) {
    for (std::uint32_t row = source; row < 9'000 && source % 3 > 0; row += 11 + source) {
      left_out.rows.push_back(row);
    }
    left_out.offsets.push_back(left_out.rows.size());
  }
  ComputePool pool(2);
  InlineExecutor alone;
  for (const char* decoder : {"dot", "distmult", "mlp"}) {
    SCOPED_TRACE(decoder);
    const auto network = network_with(decoder);
    const auto parameters = network->initial_parameters(3);
    AskedPairs all;
    std::vector<std::uint32_t> of;
    std::vector<std::uint32_t> to(37 * 9'000UL);
    for (std::size_t i = 0; i < to.size(); ++i) {
      of.push_back(static_cast<std::uint32_t>(i / 9'000));
      to[i] = static_cast<std::uint32_t>(i % 9'000);
    }
    const Matrix scores = pair_outputs(
        alone, *network, parameters, {}, all,
        {.sources = sources.view(), .destinations = destinations.view(), .of = of, .to = to});
    for (const std::size_t k : {std::size_t{1}, std::size_t{25}}) {
      const TopRequest request{
          .sources = sources.view(), .destinations = destinations.view(), .k = k};
      const auto top = top_partners(pool, *network, parameters, request, left_out);
      for (std::size_t source = 0; source < 37; ++source) {
        const auto of_source = scores.view().flat().subspan(source * 9'000, 9'000);
        const auto expected = sorted_rows(
            of_source, std::span(left_out.rows)
                           .subspan(left_out.offsets[source],
                                    left_out.offsets[source + 1] - left_out.offsets[source]));
        for (std::size_t i = 0; i < k; ++i) {
          ASSERT_EQ(top.rows[source * k + i], expected[i]) << source << ", " << i;
          ASSERT_EQ(top.scores.view().row(source)[i], of_source[expected[i]]);
        }
      }
    }
  }
}

/// Scores are those of `troupe predict --links`, bit for bit, whichever end is asked for.
TEST(TopEntities, AreTheFirstOfAllSorted) {
  constexpr std::uint32_t num_entities = 8'500;  // more than a block
  constexpr std::size_t num_triples = 19;        // more than a task
  constexpr std::size_t cols = 6;
  constexpr std::size_t k = 9;
  Matrix entities = nn::testing::random_matrix(num_entities, cols, 1);
  for (std::size_t i = 0; i < num_entities; ++i) {  // many are level
    std::ranges::copy(entities.view().row(i % 600), entities.view().row(i).begin());
  }
  std::vector<std::uint32_t> known;
  std::vector<std::uint32_t> relations;
  nn::KnownRows left_out{{0}, {}};
  for (std::uint32_t i = 0; i < num_triples; ++i) {
    known.push_back(i * 1'003 % num_entities);
    relations.push_back(i % 5);
    for (std::uint32_t row = i; row < num_entities && i % 3 > 0; row += 7 + i) {
      left_out.rows.push_back(row);
    }
    left_out.offsets.push_back(left_out.rows.size());
  }
  ComputePool pool(2);
  InlineExecutor alone;
  for (const auto& [name, score] : nn::testing::score_cases()) {
    nn::ModelOptions model;
    model.layers = 0;
    model.in_dim = cols;
    model.out_dim = cols;
    model.relations = {.rows = 5, .cols = score.relation_cols(cols), .bound = 1.0F};
    ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(model));
    const auto parameters = network->initial_parameters(11);
    TaskJob task;
    task.kind = "knowledge";
    task.completes.score = score;
    for (const auto replaced : {ReplacedEnd::tail, ReplacedEnd::head}) {
      SCOPED_TRACE(name + (replaced == ReplacedEnd::tail ? " tail" : " head"));
      const auto top = top_entities(pool, *network, parameters, score,
                                    {.replaced = replaced,
                                     .known = known,
                                     .relations = relations,
                                     .entities = entities.view(),
                                     .k = k},
                                    left_out);
      ASSERT_EQ(top.rows.size(), num_triples * k);
      for (std::size_t i = 0; i < num_triples; ++i) {
        AskedPairs all;
        all.relations.assign(num_entities, relations[i]);
        const std::vector<std::uint32_t> same(num_entities, known[i]);
        std::vector<std::uint32_t> each(num_entities);
        std::iota(each.begin(), each.end(), 0U);
        const bool tail = replaced == ReplacedEnd::tail;
        const Matrix scores = pair_outputs(alone, *network, parameters, task, all,
                                           {.sources = entities.view(),
                                            .destinations = entities.view(),
                                            .of = tail ? same : each,
                                            .to = tail ? each : same});
        const auto expected = sorted_rows(
            scores.view().flat(),
            std::span(left_out.rows)
                .subspan(left_out.offsets[i], left_out.offsets[i + 1] - left_out.offsets[i]));
        for (std::size_t place = 0; place < k; ++place) {
          ASSERT_EQ(top.rows[i * k + place], expected[place]) << i << ", " << place;
          ASSERT_EQ(top.scores.view().row(i)[place], scores.data()[expected[place]]);
        }
      }
    }
  }
}

/// Rows of a model that learned nothing more.
TEST(TopPartners, ThatScoreNoNumberComeLast) {
  Matrix destinations = nn::testing::random_matrix(40, top_cols, 1);
  for (const std::size_t row : {0U, 7U, 31U}) {
    destinations.view().row(row)[2] = std::numeric_limits<float>::quiet_NaN();
  }
  const Matrix sources = nn::testing::random_matrix(2, top_cols, 2);
  InlineExecutor executor;
  const auto network = network_with("dot");
  const auto top = top_partners(
      executor, *network, network->initial_parameters(3),
      {.sources = sources.view(), .destinations = destinations.view(), .k = 40}, {{0, 0, 0}, {}});
  for (std::size_t source = 0; source < 2; ++source) {
    const auto rows = std::span(top.rows).subspan(source * 40, 40);
    const auto scores = top.scores.view().row(source);
    EXPECT_TRUE(std::ranges::is_sorted(scores.first(37), std::ranges::greater()));
    EXPECT_TRUE(std::ranges::equal(rows.last(3), std::vector<std::int64_t>{0, 7, 31}));
  }
}

TEST(TopPartners, ThatNeedMoreThanIsFreeAreRefusedWithTheBytes) {
  EXPECT_OK(check_top_fits(1000, 10, 120'000));
  EXPECT_ERROR(check_top_fits(1000, 10, 119'999), Errc::invalid_argument,
               "found 1000 queries with 10 each, which need ");
  EXPECT_ERROR(check_top_fits(std::uint64_t{1} << 63, 1'000'000, std::uint64_t{1} << 40),
               Errc::invalid_argument, "try: a smaller --top");
}

TEST(TopPartners, AreFewerThanAskedForWhereNoMoreAreThere) {
  const Matrix destinations = nn::testing::random_matrix(3, top_cols, 1);
  const Matrix sources = nn::testing::random_matrix(2, top_cols, 2);
  nn::KnownRows left_out;
  left_out.rows = {0, 2};
  left_out.offsets = {0, 0, 2};
  InlineExecutor executor;
  const auto network = network_with("dot");
  const auto top = top_partners(
      executor, *network, network->initial_parameters(3),
      {.sources = sources.view(), .destinations = destinations.view(), .k = 4}, left_out);
  EXPECT_GE(top.rows[2], 0);
  EXPECT_EQ(top.rows[3], TopPartners::none);
  EXPECT_TRUE(std::isnan(top.scores.view().row(0)[3]));
  EXPECT_EQ(top.rows[4], 1) << "the only one that is not left out";
  EXPECT_EQ(top.rows[5], TopPartners::none);
  const auto nobody =
      top_partners(executor, *network, network->initial_parameters(3),
                   {.sources = {}, .destinations = destinations.view(), .k = 4}, {{0}, {}});
  EXPECT_TRUE(nobody.rows.empty());
}

}  // namespace
}  // namespace troupe
