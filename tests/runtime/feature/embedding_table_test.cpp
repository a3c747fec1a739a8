#include "runtime/feature/embedding/embedding_table.hpp"

#include "runtime/feature/embedding/initial_rows.hpp"
#include "runtime/feature/embedding/sparse_optimizer.hpp"
#include "tests/runtime/feature/embedding_support.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace troupe {
namespace {

using testing::users_and_items;

TEST(InitialRows, DependOnSeedNameIdAndColumnAlone) {
  const EmbeddingOptions table{.name = "user", .dim = 5};
  const auto row_of = [](const EmbeddingOptions& of, std::uint64_t seed, std::uint64_t id) {
    std::vector<float> row(of.dim);
    InitialRows(of, seed).fill(static_cast<OriginalId>(id), row);
    return row;
  };
  const auto row = row_of(table, 1, 1ULL << 33);

  EXPECT_EQ(row_of(table, 1, 1ULL << 33), row);
  EXPECT_NE(row_of(table, 2, 1ULL << 33), row);
  EXPECT_NE(row_of(table, 1, (1ULL << 33) + 1), row);
  auto other = table;
  other.name = "item";
  EXPECT_NE(row_of(other, 1, 1ULL << 33), row);
  auto wider = table;
  wider.dim = 6;
  auto longer = row_of(wider, 1, 1ULL << 33);
  longer.pop_back();
  EXPECT_EQ(longer, row) << "a column does not depend on how many there are";
}

TEST(InitialRows, HaveTheirDistribution) {
  constexpr std::size_t rows = 20000;
  for (const std::string kind : {"normal", "uniform", "zeros"}) {
    EmbeddingOptions table{.name = "t", .dim = 3};
    table.init = {.kind = kind, .std = 0.5, .scale = 2};
    const InitialRows initial(table, 3);
    double sum = 0;
    double squares = 0;
    double most = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      std::vector<float> row(3);
      initial.fill(static_cast<OriginalId>(i), row);
      for (const float value : row) {
        ASSERT_TRUE(std::isfinite(value));
        sum += static_cast<double>(value);
        squares += static_cast<double>(value) * static_cast<double>(value);
        most = std::max(most, std::abs(static_cast<double>(value)));
      }
    }
    const double mean = sum / (3 * rows);
    const double variance = squares / (3 * rows);
    const double expected = kind == "normal" ? 0.25 : kind == "uniform" ? 4.0 / 3 : 0;
    EXPECT_NEAR(mean, 0, 0.02) << kind;
    EXPECT_NEAR(variance, expected, 0.03) << kind;
    EXPECT_LE(most, kind == "normal" ? 5 : 2) << kind;
  }
}

/// The slow twin: sums by node in a map, in the order of ranks and of their lists.
std::map<std::uint64_t, std::vector<float>> mean_gradients(
    const std::vector<SparseGradients>& shares, std::uint64_t weight) {
  std::map<std::uint64_t, std::vector<float>> sums;
  for (const auto& share : shares) {
    const auto values = share.rows.as<float>();
    for (std::size_t i = 0; i < share.nodes.size(); ++i) {
      auto& sum = sums[raw(share.nodes[i])];
      sum.resize(3);
      for (std::size_t c = 0; c < 3; ++c) {
        sum[c] += values[3 * i + c];
      }
    }
  }
  for (auto& [node, sum] : sums) {
    for (float& value : sum) {
      value /= static_cast<float>(weight);
    }
  }
  return sums;
}

class TableOfUsers : public ::testing::Test {
 protected:
  EmbeddingOptions options_{.name = "user", .node_type = NodeTypeId{0}, .dim = 3};
  InlineExecutor executor_;
};

TEST_F(TableOfUsers, AStepIsThatOfSummedDuplicatesInRankOrder) {
  const auto graph = users_and_items(2);
  const auto& nodes = graph.parts[1]->nodes_of(NodeTypeId{0});
  EmbeddingTable table(options_, nodes, 7);
  table.start(executor_);
  const auto before = table.rows().copy();
  const std::vector<SparseGradients> shares{testing::share_of(graph, 1, 0, 3, 2000),
                                            testing::share_of(graph, 1, 1, 3, 900)};
  std::vector<EmbeddingTable::Gradients> gradients;
  for (const auto& share : shares) {
    gradients.push_back({share.nodes, {share.rows.as<float>().data(), share.nodes.size(), 3}});
  }
  ComputePool pool(2);
  table.apply(pool, gradients, 3, 1);

  const auto means = mean_gradients(shares, 3);
  for (std::uint64_t i = 0; i < nodes.count; ++i) {
    const auto row = before.rows.view().row(i);
    std::vector<float> expected(row.begin(), row.end());
    std::vector<float> state(3);
    if (const auto mean = means.find(raw(nodes.first) + i); mean != means.end()) {
      SparseStep(options_.optimizer, 1).update(mean->second, expected, state);
    }
    const auto found = table.rows().rows.view().row(i);
    ASSERT_EQ(std::vector<float>(found.begin(), found.end()), expected) << i;
  }
}

TEST_F(TableOfUsers, AnyWeightDividesExactlyAlsoWhatIsDenormalThen) {
  const auto graph = users_and_items(1);
  const auto& nodes = graph.parts[0]->nodes_of(NodeTypeId{0});
  options_.init.kind = "zeros";
  options_.optimizer = {.kind = "sgd", .lr = 1};
  const auto share = testing::share_of(graph, 0, 0, 3, 1300);
  ComputePool pool(3);
  for (const float scale : {1.0F, 1e-36F}) {
    Matrix rows(share.nodes.size(), 3);
    for (std::size_t i = 0; i < rows.view().size(); ++i) {
      rows.data()[i] = scale * share.rows.as<float>()[i];
    }
    SparseGradients scaled;
    scaled.nodes = share.nodes;
    scaled.rows = rows.share();
    for (const std::uint64_t weight : {1ULL, 2ULL, 3ULL, 1000ULL, 1024ULL, 1ULL << 40U, ~0ULL}) {
      EmbeddingTable table(options_, nodes, 7);
      table.start(executor_);
      const EmbeddingTable::Gradients gradients{share.nodes, std::as_const(rows).view()};
      table.apply(pool, {&gradients, 1}, weight, 1);
      for (const auto& [node, mean] : mean_gradients({scaled}, weight)) {
        const auto row = table.rows().rows.view().row(node - raw(nodes.first));
        for (std::size_t c = 0; c < 3; ++c) {
          ASSERT_EQ(row[c], -mean[c]) << node << ", weight " << weight << ", scale " << scale;
        }
      }
    }
  }
}

TEST_F(TableOfUsers, RowsAreGatheredInTheOrderAskedForByAnyNumberOfThreads) {
  const auto graph = users_and_items(2);
  const auto& nodes = graph.parts[1]->nodes_of(NodeTypeId{0});
  EmbeddingTable table(options_, nodes, 7);
  table.start(executor_);
  ComputePool pool(3);
  for (const std::size_t count : {0U, 1U, 5461U, 5462U, 20000U}) {
    std::vector<NodeId> asked;
    for (std::size_t i = 0; i < count; ++i) {
      asked.push_back(static_cast<NodeId>(raw(nodes.first) + 7 * i % nodes.count));
    }
    std::vector<float> rows(3 * count);
    table.gather(pool, table.rows().rows.view(), asked, rows);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = table.rows().rows.view().row(nodes.local(asked[i]));
      ASSERT_TRUE(std::ranges::equal(row, std::span(rows).subspan(3 * i, 3))) << i;
    }
  }
}

TEST_F(TableOfUsers, DigestsOfPartsAddUpToThatOfTheWhole) {
  Digest whole;
  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    const auto graph = users_and_items(parts);
    Digest sum;
    for (const auto& part : graph.parts) {
      EmbeddingTable table(options_, part->nodes_of(NodeTypeId{0}), 7);
      table.start(executor_);
      sum = add_digests(sum, table.digest(executor_, table.rows().rows.view()));
    }
    whole = parts == 1 ? sum : whole;
    EXPECT_EQ(sum, whole) << parts;
  }
  EXPECT_NE(whole, Digest());
}

TEST_F(TableOfUsers, AnyChangedNumberChangesTheDigest) {
  const auto graph = users_and_items(1);
  const auto& nodes = graph.parts[0]->nodes_of(NodeTypeId{0});
  EmbeddingTable table(options_, nodes, 7);
  table.start(executor_);
  const auto before = table.digest(executor_, table.rows().rows.view());
  auto swapped = table.rows().copy();
  std::ranges::swap_ranges(swapped.rows.view().row(3), swapped.rows.view().row(4));
  EXPECT_NE(table.digest(executor_, std::as_const(swapped.rows).view()), before)
      << "rows are bound to their ids";
}

TEST(LearnedSections, AreCheckedAgainstTheLists) {
  const std::vector<LearnedSection> sections{{NodeTypeId{0}, 3, 2}, {NodeTypeId{1}, 4, 1}};
  EXPECT_OK(check_learned("m", sections, 3, 10));
  EXPECT_OK(check_learned("m", sections, 3, std::nullopt));
  EXPECT_ERROR(check_learned("m", sections, 2, 10), Errc::data_corruption, "m: expected at most");
  EXPECT_ERROR(check_learned("m", sections, 4, 10), Errc::data_corruption, "1 and 0 more");
  EXPECT_ERROR(check_learned("m", sections, 3, 11), Errc::data_corruption, "0 and 1 more");
  EXPECT_ERROR(check_learned("m", {{NodeTypeId{0}, ~0U, 2}}, 3, std::nullopt),
               Errc::data_corruption, "columns");
  EXPECT_ERROR(check_learned("m", {{NodeTypeId{0}, 3, ~0ULL}}, 3, 9), Errc::data_corruption, "m");
}

TEST(AddDigests, CarriesFromTheLowHalf) {
  EXPECT_EQ(add_digests({~0ULL, 1}, {2, 5}), (Digest{1, 7}));
  EXPECT_EQ(add_digests({~0ULL, ~0ULL}, {1, 0}), Digest());
}

}  // namespace
}  // namespace troupe
