// Multi-label targets from y.npy to a trained model, by way of a partitioned store.
#include "runtime/data/npy_import.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/nn/scores.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/partition/partitioner.hpp"
#include "runtime/run/learner.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <cmath>
#include <limits>

namespace troupe {
namespace {

using namespace testing;

constexpr std::size_t nodes = 40;
constexpr std::size_t labels = 3;

/// What node i has: label c where feature c is above 0; every fifth entry is unknown.
float feature(std::size_t node, std::size_t c) {
  return static_cast<float>((node * 7 + c * 5) % 11) - 4.5F;
}
float target(std::size_t node, std::size_t c) {
  if ((node * labels + c) % 5 == 3) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return feature(node, c) > 0 ? 1.0F : 0.0F;
}

class MultiLabel : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<float> x;
    std::vector<float> y;
    std::vector<std::int32_t> edges;
    for (std::size_t node = 0; node < nodes; ++node) {
      for (std::size_t c = 0; c < labels; ++c) {
        x.push_back(feature(node, c));
        y.push_back(target(node, c));
      }
      edges.push_back(static_cast<std::int32_t>(node));
    }
    edges.insert(edges.end(), edges.begin(), edges.end());  // a loop each
    save_npy<std::int32_t>(temp_ / "in/edge_index.npy", {2, nodes}, edges);
    save_npy<float>(temp_ / "in/x.npy", {nodes, labels}, x);
    save_npy<float>(temp_ / "in/y.npy", {nodes, labels}, y);
    save_npy<std::int32_t>(temp_ / "in/train_idx.npy", {4}, {31, 2, 17, 2});
    ASSERT_OK(import_npy(temp_ / "in", temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    ASSERT_OK(partition_store(graph, {.parts = 3, .seed = 4}, temp_ / "parts"));
  }

  /// The batch of all training seeds, without neighbours.
  Batch collect_seeds() {
    auto store = PartitionedStore::open(temp_ / "parts", {});
    EXPECT_OK(store);
    const PartitionBook book(store->partition().ranges);
    auto decoder = RowDecoder::create(store->info().node_types[0], Normalize::none);
    EXPECT_OK(decoder);
    auto options = std::make_shared<CollectOptions>();
    options->decoders = {*decoder};
    options->digest = DigestMode::full;
    RowCollection collection(book, options, sample(*store));
    for (const auto& question : collection.questions()) {
      const auto part = store->load_part(question.part);
      EXPECT_OK(part);
      const auto reply = read_part_rows(**part, question.request);
      EXPECT_OK(reply);
      EXPECT_OK(collection.answer(question.id, *reply));
    }
    return std::move(collection).take();
  }

  static std::shared_ptr<const SampledBatch> sample(const PartitionedStore& store) {
    const auto seeds = store.seeds("", "train");
    EXPECT_OK(seeds);
    auto sampled = std::make_shared<SampledBatch>();
    sampled->hops = 1;
    sampled->nodes.resize(1);
    auto& ids = sampled->nodes[0].ids;
    for (const NodeId seed : seeds->global) {
      const auto found = std::ranges::find(ids, seed);
      sampled->seed_index.push_back(static_cast<std::uint32_t>(found - ids.begin()));
      if (found == ids.end()) {
        ids.push_back(seed);
      }
    }
    const auto count = static_cast<std::uint32_t>(ids.size());
    sampled->nodes[0].hop_end = {count, count};
    sampled->edges.resize(1);
    sampled->edges[0].offsets.edit().assign(count + 1, 0);
    sampled->edges[0].row_begin = {0, count};
    return sampled;
  }

  TempDir temp_;
};

TEST_F(MultiLabel, TargetsReachTheBatchInSeedOrder) {
  const Batch batch = collect_seeds();

  ASSERT_EQ(batch.targets.rows(), 4U);
  ASSERT_EQ(batch.targets.cols(), labels);
  EXPECT_TRUE(batch.labels.empty());
  const std::vector<std::size_t> in_order = {2, 2, 17, 31};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t c = 0; c < labels; ++c) {
      const float expected = target(in_order[i], c);
      const float found = batch.targets.view().row(i)[c];
      EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << i << c;
    }
  }
  EXPECT_NE(digest_batch(batch, DigestMode::full), Digest{});
}

TEST_F(MultiLabel, AModelFittedToTheGraphLearnsThem) {
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(temp_ / "parts", {}));
  Job job;
  job.train.loss = "bce_logits";
  job.model.layers = 1;
  EXPECT_EQ(to_string(check_against_graph(job, store.info())), "");
  fit_to_graph(job, store.info());
  LearnerOptions options{job.model, job.train.optimizer, job.train.loss, 1};
  options.optimizer.lr = 0.1;
  ASSERT_OK_AND_ASSIGN(const auto learner, Learner::create(options));
  const Batch batch = collect_seeds();
  InlineExecutor executor;

  for (int step = 0; step < 100; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch));
    std::vector<float> mean(share.gradient.begin(), share.gradient.end());
    for (float& value : mean) {
      value /= static_cast<float>(share.weight);
    }
    learner->apply(mean, share.weight);
  }

  ASSERT_OK_AND_ASSIGN(const auto outputs, learner->outputs(executor, batch));
  const auto scores = nn::multilabel_scores(
      std::as_const(outputs).view(), nn::known_labels(std::as_const(batch).targets.view().flat()));
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->accuracy, 1.0);
}

}  // namespace
}  // namespace troupe
