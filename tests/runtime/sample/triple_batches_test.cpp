#include "runtime/sample/knowledge/triple_batches.hpp"

#include "runtime/base/permutation.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

namespace troupe {
namespace {

using Triple = std::array<std::uint64_t, 3>;

/// Triples of `nodes` entities with themselves; global id = nodes - 1 - original id.
class TripleBatchesTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t nodes = 50;
  static constexpr std::uint64_t seed = 11;

  void SetUp() override {
    graph_.node_types.resize(3);
    graph_.node_types[2].count = nodes;
    graph_.edge_types.resize(2);
    graph_.edge_types[1].source = NodeTypeId{2};
    graph_.edge_types[1].destination = NodeTypeId{2};
    for (std::uint64_t i = 0; i < 103; ++i) {
      triples_.push_back({i * 7 % nodes, i % 5, i * i % nodes});
    }
    std::ranges::sort(triples_, {}, [](const Triple& t) { return std::pair(t[0], t[2]); });
    for (const auto& [head, relation, tail] : triples_) {
      ends_.insert(ends_.end(), {head, tail, nodes - 1 - head, nodes - 1 - tail});
      labels_.push_back(static_cast<float>(relation));
    }
  }

  TripleBatches batches(const ChunkOptions& options, CandidateNodes tails = {nodes, {}},
                        CandidateNodes heads = {nodes, {}}, std::uint64_t batch_size = 20) const {
    auto links =
        std::make_shared<const LinkList>(EdgeTypeId{1}, ends_, 4, std::span<const std::int64_t>(),
                                         labels_, std::vector<std::shared_ptr<const void>>());
    return {SeedOrder(std::move(links), batch_size, seed, true),
            graph_,
            seed,
            options,
            std::move(tails),
            std::move(heads)};
  }

  GraphInfo graph_;
  std::vector<Triple> triples_;
  std::vector<std::uint64_t> ends_;
  std::vector<float> labels_;
};

TEST_F(TripleBatchesTest, AnEpochHasEveryTripleOnce) {
  const auto all = batches({.triples = 8, .negatives = 2});
  std::vector<Triple> seen;
  for (std::uint64_t number = 0; number < all.order().num_batches(); ++number) {
    const auto batch = all.batch({.epoch = 3, .number = number});
    ASSERT_EQ(batch.relations.size(), batch.heads.size());
    for (std::size_t i = 0; i < batch.heads.size(); ++i) {
      seen.push_back(
          {nodes - 1 - raw(batch.heads[i]), batch.relations[i], nodes - 1 - raw(batch.tails[i])});
    }
  }
  auto expected = triples_;
  std::ranges::sort(seen);
  std::ranges::sort(expected);
  EXPECT_EQ(seen, expected);
}

TEST_F(TripleBatchesTest, ChunksShareCandidatesAndTheLastIsShort) {
  const auto all = batches({.triples = 8, .negatives = 5});
  EXPECT_EQ(all.batch({.number = 0}).chunks, 3U) << "20 triples";
  EXPECT_EQ(all.batch({.number = 0}).candidates.size(), 15U);
  EXPECT_EQ(all.batch({.number = 5}).heads.size(), 3U);
  EXPECT_EQ(all.batch({.number = 5}).chunks, 1U);
  EXPECT_EQ(all.batch({.number = 5}).candidates.size(), 5U);
  EXPECT_TRUE(batches({.triples = 8, .negatives = 0}, {}, {}).batch({}).candidates.empty());
  EXPECT_EQ(batches({.triples = 1, .negatives = 1}).batch({}).chunks, 20U);
}

TEST_F(TripleBatchesTest, SidesAlternate) {
  const auto all = batches({});
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    for (std::uint64_t number = 0; number < 6; ++number) {
      EXPECT_EQ(all.batch({.epoch = epoch, .number = number}).replaced,
                (epoch + number) % 2 == 0 ? ReplacedEnd::tail : ReplacedEnd::head);
    }
  }
}

// The text of decision 0042, word by word.
TEST_F(TripleBatchesTest, CandidatesAreTheDrawsOfTheirStreams) {
  const auto all = batches({.triples = 6, .negatives = 4});
  for (const std::uint64_t number : {0U, 1U, 4U}) {
    const auto batch = all.batch({.epoch = 9, .number = number});
    const auto key =
        stream_key(seed, {.domain = Domain::negatives, .type = 2, .epoch = 9, .batch = number});
    for (std::uint64_t at = 0; at < batch.candidates.size(); ++at) {
      DrawStream stream(key, at / 4, static_cast<std::uint32_t>(at % 4));
      EXPECT_EQ(batch.candidates[at], stream.below(nodes)) << at;
    }
    const Permutation order(stream_key(seed, {.domain = Domain::seed_order, .type = 1, .epoch = 9}),
                            triples_.size());
    EXPECT_EQ(nodes - 1 - raw(batch.heads[2]), triples_[order(20 * number + 2)][0]);
  }
}

TEST_F(TripleBatchesTest, DependOnNothingElse) {
  const auto a = batches({.triples = 8, .negatives = 5});
  const auto late = a.batch({.epoch = 1, .number = 4});
  a.batch({.epoch = 0, .number = 0});
  const auto b = batches({.triples = 8, .negatives = 5}).batch({.epoch = 1, .number = 4});

  EXPECT_EQ(late.heads, b.heads);
  EXPECT_EQ(late.candidates, b.candidates);
  EXPECT_NE(late.candidates, a.batch({.epoch = 1, .number = 3}).candidates);
  EXPECT_NE(late.candidates, a.batch({.epoch = 3, .number = 4}).candidates);
}

TEST_F(TripleBatchesTest, CandidatesAreUniform) {
  std::vector<double> p_values;
  const auto all = batches({.triples = 5, .negatives = 100});
  for (std::uint32_t epoch = 0; epoch < 100; ++epoch) {
    std::vector<std::uint64_t> counts(nodes);
    for (std::uint64_t number = 0; number < 5; ++number) {
      for (const auto id : all.batch({.epoch = epoch, .number = number}).candidates) {
        ++counts[id];
      }
    }
    p_values.push_back(testing::uniform_p_value(counts));
  }
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-3);
}

TEST_F(TripleBatchesTest, CandidatesOfTheRanksOwnPartsAreUniformAmongThese) {
  const CandidateNodes own{nodes, {{NodeId{40}, 7}, {NodeId{5}, 0}, {NodeId{10}, 3}}};
  const auto all = batches({.triples = 5, .negatives = 100}, own, own);
  std::vector<double> p_values;
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) {
    std::map<std::uint64_t, std::uint64_t> counts;
    for (std::uint64_t number = 0; number < 5; ++number) {
      for (const auto id : all.batch({.epoch = epoch, .number = number}).candidates) {
        ++counts[id];
      }
    }
    std::vector<std::uint64_t> in_order;
    for (const auto& [id, count] : counts) {
      EXPECT_TRUE((id >= 40 && id < 47) || (id >= 10 && id < 13)) << id;
      in_order.push_back(count);
    }
    ASSERT_EQ(in_order.size(), 10U);
    p_values.push_back(testing::uniform_p_value(in_order));
  }
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-3);
}

TEST_F(TripleBatchesTest, CandidatesMayBeMoreThan32BitsHold) {
  constexpr std::uint64_t many = std::uint64_t{1} << 40;
  const auto batch = batches({.triples = 5, .negatives = 64}, {many, {}}).batch({});

  EXPECT_TRUE(std::ranges::all_of(batch.candidates, [](auto id) { return id < many; }));
  EXPECT_GT(*std::ranges::max_element(batch.candidates), many / 2);
  EXPECT_EQ(std::set(batch.candidates.begin(), batch.candidates.end()).size(),
            batch.candidates.size());
}

TEST_F(TripleBatchesTest, RelationsAreThoseOfTheSplitOrCounted) {
  const LinkList links(EdgeTypeId{1}, ends_, 4, {}, labels_, {});
  SplitInfo split;
  split.links["train"] = {.edge_type = EdgeTypeId{1}, .count = 103, .has_labels = true};
  ASSERT_OK_AND_ASSIGN(const auto counted, count_relations(split, std::array{links}));
  EXPECT_EQ(counted, 5U) << "stores of older programs";
  split.links["train"].relations = 9;
  ASSERT_OK_AND_ASSIGN(const auto stated, count_relations(split, std::array{links}));
  EXPECT_EQ(stated, 9U);

  split.links["train"].relations = 0;
  for (const float label : {-1.0F, 0.5F, 16777216.0F, std::numeric_limits<float>::infinity()}) {
    auto labels = labels_;
    labels[7] = label;
    const LinkList bad(EdgeTypeId{1}, ends_, 4, {}, labels, {});
    EXPECT_ERROR(count_relations(split, std::array{links, bad}), Errc::invalid_argument,
                 "expected relations as labels of links, whole numbers below 16777216");
  }
  split.links["train"].has_labels = false;
  EXPECT_ERROR(count_relations(split, {}), Errc::invalid_argument,
               "expected train links with relations as labels, found none");
}

TEST_F(TripleBatchesTest, DeathOnNothingToDrawFrom) {
  EXPECT_DEATH(batches({.triples = 8, .negatives = 1}, {0, {}}), "nodes to draw candidates from");
  EXPECT_DEATH(batches({.triples = 0, .negatives = 1}), "triples of a chunk");
}

}  // namespace
}  // namespace troupe
