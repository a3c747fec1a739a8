#pragma once
/// \file learner_support.hpp
/// What the tests of learners of both kinds, of one type and heterogeneous, share.
#include "runtime/run/learner.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace troupe::testing {

/// One layer of four hidden columns to two classes; the rest is the test's own.
inline LearnerOptions small_learner() {
  LearnerOptions options;
  options.model.layers = 1;
  options.model.hidden = 4;
  options.model.out_dim = 2;
  options.optimizer.kind = "sgd";
  options.optimizer.lr = 0.1;
  options.job_seed = 3;
  return options;
}

inline std::unique_ptr<Learner> make(const LearnerOptions& options) {
  auto learner = Learner::create(options);
  EXPECT_OK(learner);
  return *std::move(learner);
}

inline Matrix matrix_of(std::size_t rows, std::size_t cols, const std::vector<float>& values) {
  Matrix x(rows, cols);
  std::ranges::copy(values, x.data());
  return x;
}

/// Two distinct nodes; node 0 has node 1 as its neighbor. `seeds` index them.
inline Batch two_nodes(std::vector<std::uint32_t> seeds, std::vector<std::int64_t> labels) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->hops = 1;
  sampled->seed_index = std::move(seeds);
  sampled->nodes.resize(1);
  sampled->nodes[0].ids = {NodeId{0}, NodeId{1}};
  sampled->nodes[0].hop_end = {2, 2};
  sampled->edges.resize(1);
  sampled->edges[0].offsets = {0, 1, 1};
  sampled->edges[0].sources = {1};
  sampled->edges[0].row_begin = {0, 2};
  Batch b;
  b.sampled = std::move(sampled);
  b.rows.resize(1);
  b.rows[0] = {matrix_of(2, 2, {1.0F, -0.5F, 0.25F, 2.0F}), {OriginalId{0}, OriginalId{1}}};
  b.labels = std::move(labels);
  return b;
}

/// The same nodes, sampled over two hops of which the second finds nothing new.
inline Batch two_hops_of(Batch batch) {
  auto sampled = *batch.sampled;
  sampled.hops = 2;
  sampled.nodes[0].hop_end = {2, 2, 2};
  sampled.edges[0].row_begin = {0, 2, 2};
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  return batch;
}

/// A batch with all edges among three nodes, node 0 first: 0 <- 1, 1 <- 0, 1 <- 2, 2 <- 0, 2 <- 1. `seeds` are
/// its first nodes.
inline Batch three_closed_nodes(std::uint32_t seeds) {
  Batch batch = two_nodes({}, {});
  auto sampled = *batch.sampled;
  sampled.subgraph = Subgraph::induced;
  sampled.seed_index.resize(seeds);
  std::iota(sampled.seed_index.begin(), sampled.seed_index.end(), 0U);
  sampled.nodes[0] = {{NodeId{0}, NodeId{1}, NodeId{2}}, {seeds, 3}};
  sampled.edges[0].offsets = {0, 1, 3, 5};
  sampled.edges[0].sources = {1, 0, 2, 0, 1};
  sampled.edges[0].weights = {0.5F, 2, 0.25F, 3, 1.5F};
  sampled.edges[0].row_begin = {0, 3};
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  batch.rows[0] = {matrix_of(3, 2, {1, -0.5F, 0.25F, 2, -3, 0.75F}),
                   {OriginalId{0}, OriginalId{1}, OriginalId{2}}};
  batch.labels.assign(seeds, 1);
  return batch;
}

/// Two nodes; links 0 -> 1 and 1 -> 1 with two negatives each, of which one repeats its link.
inline Batch links_of_two_nodes() {
  Batch batch = two_nodes({0, 1, 1, 1, 0, 1, 0, 0}, {});
  auto sampled = *batch.sampled;
  sampled.links = BatchLinks{.edge_type = {},
                             .source_type = {},
                             .destination_type = {},
                             .sources = {0, 1},
                             .destinations = {1, 1},
                             .negative_sources = {0, 0, 1, 0},
                             .negative_destinations = {0, 1, 0, 1},
                             .labels = {},
                             .times = {}};
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  return batch;
}

/// People 0 have one column, books 1 two; a link leads from a person to a book.
inline nn::ModelTypes people_and_books() {
  return {
      .nodes = {{"person", 1}, {"book", 2}},
      .edges = {{"reads", NodeTypeId{0}, NodeTypeId{1}}, {"read_by", NodeTypeId{1}, NodeTypeId{0}}},
      .seeds = NodeTypeId{0},
      .other_ends = {NodeTypeId{1}}};
}
inline Batch links_of_two_types() {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->hops = 1;
  sampled->seed_index = {0, 1, 0, 1, 1};
  sampled->nodes.resize(2);
  sampled->nodes[0] = {{NodeId{0}, NodeId{1}, NodeId{2}}, {2, 3}};
  sampled->nodes[1] = {{NodeId{0}, NodeId{1}}, {2, 2}};
  sampled->edges.resize(2);
  sampled->edges[0].source_type = NodeTypeId{0};
  sampled->edges[0].destination_type = NodeTypeId{1};
  sampled->edges[0].offsets = {0, 2, 2};
  sampled->edges[0].sources = {1, 2};
  sampled->edges[0].row_begin = {0, 2};
  sampled->edges[1].source_type = NodeTypeId{1};
  sampled->edges[1].destination_type = NodeTypeId{0};
  sampled->edges[1].offsets = {0, 1, 1};
  sampled->edges[1].sources = {1};
  sampled->edges[1].row_begin = {0, 2};
  sampled->links = BatchLinks{.edge_type = {},
                              .source_type = NodeTypeId{0},
                              .destination_type = NodeTypeId{1},
                              .sources = {0, 1},
                              .destinations = {0, 1},
                              .negative_sources = {0, 1},
                              .negative_destinations = {1, 0},
                              .labels = {},
                              .times = {}};
  Batch batch;
  batch.sampled = std::move(sampled);
  batch.rows.resize(2);
  batch.rows[0] = {matrix_of(3, 1, {1, -1, 0.5F}), {OriginalId{5}, OriginalId{6}, OriginalId{7}}};
  batch.rows[1] = {matrix_of(2, 2, {0.5F, 2, -1, 1}), {OriginalId{7}, OriginalId{8}}};
  return batch;
}

/// The same links with labels, without negatives.
inline Batch labelled_links(PooledVector<float> labels) {
  Batch batch = links_of_two_nodes();
  auto sampled = *batch.sampled;
  sampled.links->negative_sources.clear();
  sampled.links->negative_destinations.clear();
  sampled.links->labels = std::move(labels);
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  return batch;
}

/// A hundred steps on a batch halve its loss.
inline void expect_learns(Learner& learner, const Batch& batch) {
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto first, learner.compute(executor, batch));
  const double before = first.loss_sum;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto share, learner.compute(executor, batch));
    learner.apply({share.gradient.begin(), share.gradient.end()}, share.weight);
  }
  ASSERT_OK_AND_ASSIGN(const auto last, learner.compute(executor, batch));
  EXPECT_LT(last.loss_sum, 0.5 * before);
}

/// What becomes of a batch after `change(sampled, batch)`.
template <class Change>
Result<Learner::Share> compute_changed(Learner& learner, Batch batch, Change change) {
  InlineExecutor executor;
  auto sampled = *batch.sampled;
  change(sampled, batch);
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  return learner.compute(executor, batch);
}

}  // namespace troupe::testing
