#include "runtime/feature/hot_rows.hpp"

#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fmt/format.h>

namespace troupe {
namespace {

/// Two node types with features, one without, and two edge types of which one has features.
class SplitRows : public ::testing::Test {
 protected:
  SplitRows() {
    const std::array<std::uint64_t, 3> counts{1000, 70, 12};
    for (const auto count : counts) {
      graph_.node_types.emplace_back().count = count;
    }
    graph_.node_types[0].features = FeatureInfo{.cols = 4};                       // 16 bytes
    graph_.node_types[1].features = FeatureInfo{.dtype = DType::u8, .cols = 64};  // 64 bytes
    graph_.edge_types.resize(2);
    graph_.edge_types[0].count = 300;
    graph_.edge_types[1].count = 500;
    graph_.edge_types[1].features = FeatureInfo{.cols = 2};  // 8 bytes
  }

  static constexpr std::uint64_t node_bytes = 1000 * 16 + 70 * 64;
  static constexpr std::uint64_t all_bytes = node_bytes + 500 * 8;

  /// \param factor  of the second type's heat
  static PartHeat heat(double factor) {
    PartHeat heat;
    heat.mean.assign(3, std::vector<std::vector<double>>(1));
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
        heat.mean[t][0].push_back((t == 1 ? factor : 1) / static_cast<double>(b + 1));
      }
    }
    return heat;
  }
  RowTiers split(const PartHeat& heat, std::uint64_t budget) const {
    return split_rows(tables(), heat, budget);
  }
  TieredTables tables() const { return {graph_, types_}; }

  GraphInfo graph_;
  const std::vector<EdgeTypeId> types_{EdgeTypeId{1}};
};

TEST_F(SplitRows, TakesAllWhereTheBudgetSuffices) {
  EXPECT_EQ(bytes_of(tables()), all_bytes);
  for (const auto& profile : {PartHeat{}, heat(1), heat(1000)}) {
    for (const auto budget : {all_bytes, all_bytes + 1, ~std::uint64_t{0}}) {
      const RowTiers all{{{1000}, {70}, {12}}, {0, 500}};
      EXPECT_EQ(split(profile, budget), all) << budget;
    }
    EXPECT_NE(split(profile, all_bytes - 1), split(profile, all_bytes));
    EXPECT_EQ(bytes_of(tables(), split(profile, 0)), 0U);
  }
}

TEST_F(SplitRows, StaysWithinTheBudgetAndGrowsWithIt) {
  for (const auto& profile : {PartHeat{}, heat(0.01), heat(1), heat(100)}) {
    RowTiers before = split(profile, 0);
    for (std::uint64_t budget = 0; budget <= all_bytes; budget += 37) {
      const auto tiers = split(profile, budget);
      EXPECT_LE(bytes_of(tables(), tiers), budget);
      // What does not fit is less than a row of each table.
      EXPECT_GT(bytes_of(tables(), tiers) + 16 + 64 + 8, budget);
      EXPECT_GE(bytes_of(tables(), tiers) + 64 + 16, bytes_of(tables(), before));
      before = tiers;
    }
  }
}

/// A table in pieces, hottest first in each, of which one is hotter.
TEST_F(SplitRows, TakesTheHottestOfEachPiece) {
  const TieredTables pieces{graph_, types_, {{600, 400, 50}, {70, 0, 0}, {12, 0, 0}}};
  PartHeat profile;
  for (std::size_t t = 0; t < 3; ++t) {
    auto& by_piece = profile.mean.emplace_back(3);  // of the last piece nothing is known
    for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
      by_piece[0].push_back((t == 0 ? 1.0 : 0.0) / static_cast<double>(b + 1));
      by_piece[1].push_back((t == 0 ? 20.0 : 0.0) / static_cast<double>(b + 1));
    }
  }
  EXPECT_EQ(bytes_of(pieces), all_bytes + 50 * 16);
  const auto few = split_rows(pieces, profile, 100 * 16);
  EXPECT_GT(few.nodes[0][1], few.nodes[0][0]);
  EXPECT_EQ(few.nodes[0][0] + few.nodes[0][1], 100U);
  EXPECT_EQ(few.nodes[0][2], 0U);
  const auto all = split_rows(pieces, profile, ~std::uint64_t{0});
  EXPECT_EQ(all.nodes, pieces.nodes);
  const auto most = split_rows(pieces, profile, 1020 * 16);
  EXPECT_EQ(most.nodes[0], (std::vector<std::uint64_t>{600, 400, 20}));
  EXPECT_EQ(most.nodes[1][0], 0U);
  const auto alike = split_rows(pieces, {}, bytes_of({graph_, {}, pieces.nodes}) / 2);
  EXPECT_EQ(alike.nodes[0], (std::vector<std::uint64_t>{300, 200, 25}));
  for (std::uint64_t budget = 0; budget < all_bytes; budget += 1111) {
    EXPECT_LE(bytes_of(pieces, split_rows(pieces, profile, budget)), budget);
  }
}

TEST_F(SplitRows, SharesAlikeWithoutAProfile) {
  EXPECT_EQ(split({}, node_bytes / 2), (RowTiers{{{500}, {35}, {6}}, {0, 0}}));
  EXPECT_EQ(split({}, node_bytes / 10), (RowTiers{{{100}, {7}, {1}}, {0, 0}}));
  EXPECT_EQ(split({}, node_bytes + 800), (RowTiers{{{1000}, {70}, {12}}, {0, 100}}));
}

TEST_F(SplitRows, TakesTheHotterRowsPerByteFirst) {
  const auto cold = split(heat(0.0001), 1600);
  EXPECT_EQ(cold.nodes[0][0], 100U);
  EXPECT_EQ(cold.nodes[1][0], 0U);
  const auto hot = split(heat(10000), 1600);
  EXPECT_EQ(hot.nodes[0][0], 0U);
  EXPECT_EQ(hot.nodes[1][0], 25U);
  // A slow twin: bucket after bucket of most heat per byte, until one does not fit.
  const auto profile = heat(3);
  for (std::uint64_t budget = 100; budget < node_bytes; budget += 999) {
    std::array<std::size_t, 2> next{};
    std::array<std::uint64_t, 2> rows{};
    auto left = budget;
    for (bool fits = true; fits && (next[0] < 64 || next[1] < 64);) {
      const auto per_byte = [&](std::size_t t) {
        return next[t] == 64 ? -1 : profile.mean[t][0][next[t]] / (t == 0 ? 16.0 : 64.0);
      };
      const bool alike = per_byte(0) == per_byte(1);
      const bool first = alike ? next[0] <= next[1] : per_byte(0) > per_byte(1);
      const std::size_t t = first ? 0 : 1;
      const auto count = graph_.node_types[t].count;
      const auto size =
          PartHeat::bucket_begin(count, next[t] + 1) - PartHeat::bucket_begin(count, next[t]);
      const std::uint64_t each = t == 0 ? 16 : 64;
      fits = size * each <= left;
      if (fits) {
        rows[t] += size;
        left -= size * each;
        ++next[t];
      }
    }
    const auto got = split(profile, budget);
    EXPECT_GE(got.nodes[0][0], rows[0]) << budget;
    EXPECT_GE(got.nodes[1][0], rows[1]) << budget;
  }
}

TEST_F(SplitRows, RowsWithoutHeatComeLast) {
  auto some = heat(1);
  std::ranges::fill(some.mean[0][0], 0.0);
  const auto tiers = split(some, 70 * 64 + 160);
  EXPECT_EQ(tiers.nodes[1][0], 70U);
  EXPECT_EQ(tiers.nodes[0][0], 10U);
}

TEST_F(SplitRows, OfHugeTablesDoNotOverflow) {
  graph_.node_types[0].count = std::uint64_t{1} << 36;
  graph_.node_types[0].features = FeatureInfo{.cols = 1024};
  graph_.node_types[1].count = std::uint64_t{1} << 34;
  const auto all = bytes_of(tables());
  const auto tiers = split({}, all / 10);
  EXPECT_LE(bytes_of(tables(), tiers), all / 10);
  EXPECT_NEAR(static_cast<double>(tiers.nodes[0][0]), 0.1 * 0x1p36, 1e4);
}

}  // namespace
}  // namespace troupe
