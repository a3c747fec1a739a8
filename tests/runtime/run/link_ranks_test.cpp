// Ranks of links among all nodes: what holders count adds up to comparing one by one, for any partitioning.
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/run/count_entities.hpp"
#include "runtime/run/entity_queries.hpp"
#include "runtime/run/scoring.hpp"
#include "runtime/run/task/link_queries.hpp"
#include "runtime/run/task/task.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t link_cols = 5;

Matrix level_rows(std::size_t rows, unsigned seed) {
  std::mt19937 dice(seed);
  std::uniform_int_distribution<int> some(-2, 2);  // products are exact, and many are level
  Matrix out(rows, link_cols);
  for (float& x : out.view().flat()) {
    x = static_cast<float>(some(dice)) / 2;
  }
  return out;
}

/// Links from 40 nodes of one type to 70 of another; rows of both are known.
struct TwoTypes {
  Matrix sources = level_rows(40, 1);
  Matrix destinations = level_rows(70, 2);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> links = {};
  std::set<std::pair<std::uint64_t, std::uint64_t>> known = {};

  TwoTypes() {
    std::mt19937 dice(3);
    for (int i = 0; i < 200; ++i) {
      known.emplace(dice() % 40, dice() % 70);
    }
    for (const auto& link : known) {
      if (links.size() < 30) {
        links.push_back(link);
      }
    }
  }
  float score(std::uint64_t source, std::uint64_t destination, std::span<const float> r) const {
    float sum = 0;
    for (std::size_t c = 0; c < link_cols; ++c) {
      sum += sources.view().row(source)[c] * (r.empty() ? 1 : r[c]) *
             destinations.view().row(destination)[c];
    }
    return sum;
  }
  /// Above and level with the destination, then with the source.
  template <class Score>
  std::vector<float> counts(std::size_t link, const Score& score_of) const {
    const auto [u, v] = links[link];
    const float own = score_of(u, v);
    std::vector<float> out(4);
    for (std::uint64_t other = 0; other < 70; ++other) {
      if (!known.contains({u, other})) {
        out[0] += score_of(u, other) > own ? 1.0F : 0.0F;
        out[1] += score_of(u, other) == own ? 1.0F : 0.0F;
      }
    }
    for (std::uint64_t other = 0; other < 40; ++other) {
      if (!known.contains({other, v})) {
        out[2] += score_of(other, v) > own ? 1.0F : 0.0F;
        out[3] += score_of(other, v) == own ? 1.0F : 0.0F;
      }
    }
    return out;
  }
};

/// A batch of the links, whose nodes come in order of first appearance.
struct LinkBatch {
  std::shared_ptr<SampledBatch> sampled = std::make_shared<SampledBatch>();
  Matrix sources;
  Matrix destinations;

  explicit LinkBatch(const TwoTypes& graph) {
    sampled->nodes.resize(2);
    auto& links = sampled->links.emplace();
    links.source_type = NodeTypeId{0};
    links.destination_type = NodeTypeId{1};
    const auto place = [&](std::size_t type, std::uint64_t id) {
      auto& ids = sampled->nodes[type].ids;
      const auto at = std::ranges::find(ids, static_cast<NodeId>(id)) - ids.begin();
      if (at == static_cast<std::ptrdiff_t>(ids.size())) {
        ids.push_back(static_cast<NodeId>(id));
      }
      return static_cast<std::uint32_t>(at);
    };
    for (const auto& [u, v] : graph.links) {
      links.sources.push_back(place(0, u));
      links.destinations.push_back(place(1, v));
    }
    sources = rows_of(graph.sources, 0);
    destinations = rows_of(graph.destinations, 1);
  }
  Matrix rows_of(const Matrix& all, std::size_t type) const {
    const auto& ids = sampled->nodes[type].ids;
    Matrix out(ids.size(), link_cols);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::ranges::copy(all.view().row(raw(ids[i])), out.view().row(i).begin());
    }
    return out;
  }
};

/// Ends of the parts' ranges of both types.
PartitionBook book_of(const std::vector<std::uint64_t>& sources,
                      const std::vector<std::uint64_t>& destinations) {
  return PartitionBook(PartRanges{.first_node = {sources, destinations}});
}

nn::ModelOptions model_of(const char* decoder) {
  nn::ModelOptions model;
  model.out_dim = link_cols;
  model.decoder = {.kind = decoder, .hidden = 3};
  return model;
}

Matrix counts_of_parts(const TwoTypes& graph, const PartitionBook& book, EntityQueries queries) {
  InlineExecutor executor;
  for (std::size_t q = 0; q < queries.questions().size(); ++q) {
    const auto& [part, request] = queries.questions()[q];
    EXPECT_EQ(request.tensor, 3U);
    const auto range = book.range(request.node_type, part);
    const auto& all = raw(request.node_type) == 0 ? graph.sources : graph.destinations;
    const auto counts =
        rank_rows(executor, request, all.view().slice(raw(range.first), range.size()));
    EXPECT_OK(counts);
    EXPECT_OK(queries.answer(q, *counts));
  }
  EXPECT_TRUE(queries.done());
  return queries.take();
}

RankingPlan ranking_of(const TwoTypes& graph) {
  RankingPlan plan{.score = link_product, .known = {}};
  for (const auto& [u, v] : graph.known) {
    plan.known.add(u, 0, v);
  }
  plan.known.finish();
  return plan;
}

Matrix counted(const TwoTypes& graph, const PartitionBook& book, std::span<const float> factors) {
  const LinkBatch batch(graph);
  const auto& links = *batch.sampled->links;
  Matrix outputs(links.sources.size(), link_query_cols(model_of("dot")));
  add_link_queries({.sources = batch.sources.view(),
                    .destinations = batch.destinations.view(),
                    .of = links.sources,
                    .to = links.destinations,
                    .factors = factors},
                   outputs.view());
  return counts_of_parts(graph, book,
                         EntityQueries(ranking_of(graph), book, *batch.sampled,
                                       std::as_const(outputs).view(), {.tensor = 3}));
}

TEST(LinkRanks, AreThoseOfComparingOneByOneForAnyPartitioning) {
  const TwoTypes graph;
  const std::vector<float> r{1, -0.5F, 2, 0, 1};
  for (const std::span<const float> factors :
       {std::span<const float>(), std::span<const float>(r)}) {
    for (const auto& book : {book_of({0, 40}, {0, 70}), book_of({0, 13, 40}, {0, 70, 70}),
                             book_of({0, 0, 1, 40}, {0, 30, 31, 70})}) {
      const auto counts = counted(graph, book, factors);
      ASSERT_EQ(counts.rows(), graph.links.size());
      float level = 0;
      for (std::size_t i = 0; i < counts.rows(); ++i) {
        const auto expected = graph.counts(
            i, [&](std::uint64_t u, std::uint64_t v) { return graph.score(u, v, factors); });
        EXPECT_TRUE(std::ranges::equal(counts.view().row(i), expected)) << i;
        level += expected[1] + expected[3];
      }
      EXPECT_GT(level, 30) << "the data has ties";
    }
  }
}

/// The perceptron's parameters: exact in float32, so that many scores are level.
std::vector<float> small_perceptron() {
  std::mt19937 dice(9);
  std::uniform_int_distribution<int> some(-2, 2);
  std::vector<float> values(3 * link_cols * 2 + 3 + 3 + 1);
  std::ranges::generate(values, [&] { return static_cast<float>(some(dice)); });
  return values;
}

/// As the decoder scores pairs (nn/decoder.hpp).
float perceptron_score(std::span<const float> p, std::span<const float> u,
                       std::span<const float> v) {
  float sum = p.back();
  for (std::size_t h = 0; h < 3; ++h) {
    float between = p[6 * link_cols + h];
    for (std::size_t c = 0; c < link_cols; ++c) {
      between += p[h * link_cols + c] * u[c] + p[(3 + h) * link_cols + c] * v[c];
    }
    sum += p[6 * link_cols + 3 + h] * std::max(0.0F, between);
  }
  return sum;
}

TEST(LinkRanks, OfAPerceptronAreThoseOfComparingOneByOneForAnyPartitioning) {
  const TwoTypes graph;
  const auto parameters = small_perceptron();
  const auto model = model_of("mlp");
  const LinkBatch batch(graph);
  const auto& links = *batch.sampled->links;
  Matrix outputs(links.sources.size(), link_query_cols(model));
  ASSERT_EQ(outputs.cols(), 8U);
  add_link_queries({.sources = batch.sources.view(),
                    .destinations = batch.destinations.view(),
                    .of = links.sources,
                    .to = links.destinations,
                    .factors = {},
                    .perceptron = nn::perceptron_of(model.decoder, link_cols, parameters)},
                   outputs.view());
  const auto score = [&](std::uint64_t u, std::uint64_t v) {
    return perceptron_score(parameters, graph.sources.view().row(u),
                            graph.destinations.view().row(v));
  };
  for (const auto& book : {book_of({0, 40}, {0, 70}), book_of({0, 13, 40}, {0, 70, 70}),
                           book_of({0, 0, 1, 40}, {0, 30, 31, 70})}) {
    const auto counts = counts_of_parts(
        graph, book,
        EntityQueries(
            ranking_of(graph), book, *batch.sampled, std::as_const(outputs).view(),
            {.tensor = 3, .cols = link_cols, .weights = link_weights(model, parameters)}));
    float level = 0;
    for (std::size_t i = 0; i < counts.rows(); ++i) {
      const auto expected = graph.counts(i, score);
      EXPECT_TRUE(std::ranges::equal(counts.view().row(i), expected)) << i;
      level += expected[1] + expected[3];
    }
    EXPECT_GT(level, 30) << "the data has ties";
  }
  EXPECT_TRUE(link_weights(model_of("dot"), {}).of_sources.empty());
}

TEST(LinkRanks, OfRowsThatDoNotFitAreRefused) {
  RankEntities request;
  request.cols = 4;
  const Matrix rows(3, 5);
  InlineExecutor executor;
  EXPECT_ERROR(rank_rows(executor, request, rows.view()), Errc::invalid_argument,
               "queries for entities: expected 5 columns, found queries of 4");
  request.cols = 5;
  request.keys = {1, 2};
  EXPECT_ERROR(rank_rows(executor, request, rows.view()), Errc::data_corruption, "RankEntities");
}

TEST(LinkRanks, TakeThePlaceOfThoseAmongDrawnOnes) {
  Matrix outputs(2, 6);  // a score, one drawn, four counts
  std::ranges::copy(std::vector<float>{5, 1, 0, 0, 3, 0, 2, 4, 1, 1, 0, 0}, outputs.data());

  const auto scores = score_links({.all = true, .rows = 2}, std::as_const(outputs).view(),
                                  std::vector<std::int64_t>(2));

  EXPECT_EQ(scores.labelled, 2U);
  EXPECT_DOUBLE_EQ(*scores.auc, 0.75);
  EXPECT_DOUBLE_EQ(*scores.by_name("mr"), (1 + 2.5 + 4 + 1) / 4);
  EXPECT_DOUBLE_EQ(*scores.by_name("hits@1"), 0.5);
}

TEST(LinkRanks, TasksEndTheirOutputsWithQueriesWhereAsked) {
  nn::ModelOptions model;
  model.layers = 1;
  model.in_dim = 2;
  model.out_dim = 2;
  model.decoder.kind = "dot";
  ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(model));
  nn::CpuBlockOps ops;
  ASSERT_OK_AND_ASSIGN(const auto task,
                       make_task({.kind = "link", .loss = "bce", .rank_all = true}, *network, ops));
  auto sampled = std::make_shared<SampledBatch>();
  auto& links = sampled->links.emplace();
  links.sources = {0, 1};
  links.destinations = {1, 2};
  sampled->seed_index = {0, 1, 1, 2};
  Batch batch;
  batch.sampled = sampled;
  Matrix rows(3, 2);
  std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5, 6}, rows.data());
  const std::vector<ConstMatrix> of_types{std::as_const(rows).view()};
  InlineExecutor executor;

  ASSERT_OK_AND_ASSIGN(const auto outputs,
                       task->outputs({.executor = executor, .batch = batch, .rows = of_types}));

  ASSERT_EQ(outputs.cols(), 7U);
  const std::vector<float> first{11, 1, 2, 11, 3, 4, 11};  // score, u and its key, v and its key
  EXPECT_TRUE(std::ranges::equal(outputs.view().row(0), first));
  model.decoder = {.kind = "mlp", .hidden = 3};
  ASSERT_OK_AND_ASSIGN(const auto other, nn::make_network(model));
  ASSERT_OK_AND_ASSIGN(const auto hinges,
                       make_task({.kind = "link", .loss = "bce", .rank_all = true}, *other, ops));
  const auto parameters = other->initial_parameters(1);
  const std::span<const float> flat(parameters);
  ASSERT_OK_AND_ASSIGN(const auto made,
                       hinges->outputs({.executor = executor,
                                        .batch = batch,
                                        .rows = of_types,
                                        .parameters = other->decoder_slice(flat)}));
  ASSERT_EQ(made.cols(), 1U + 2 * 4);
  const float bias = parameters.back();  // keys leave it out
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(made.view().row(i)[4] + bias, made.view().row(i)[0], 1e-5);
    EXPECT_NEAR(made.view().row(i)[8] + bias, made.view().row(i)[0], 1e-5);
  }
}

}  // namespace
}  // namespace troupe
