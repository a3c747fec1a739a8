// The best partners of nodes: against a sort of all of them.
#include "runtime/run/top_partners.hpp"

#include "runtime/nn/catalog.hpp"
#include "runtime/run/pair_outputs.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
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
    if (std::ranges::find(left_out, row) == left_out.end()) {
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
