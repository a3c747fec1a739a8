// Learning from batches of heterogeneous graphs.
#include "runtime/run/forward_input.hpp"
#include "runtime/run/outputs.hpp"
#include "tests/runtime/run/learner_support.hpp"

namespace troupe {
namespace {

using namespace testing;

/// Authors 0 have one column, papers 1 two, tags 2 none; papers come to authors. Tags go to papers,
/// which one layer does not read.
LearnerOptions heterogeneous_options() {
  auto o = small_learner();
  o.model.types = {
      .nodes = {{"author", 1}, {"paper", 2}, {"tag", 0}},
      .edges = {{"by", NodeTypeId{1}, NodeTypeId{0}}, {"of", NodeTypeId{2}, NodeTypeId{1}}},
      .seeds = NodeTypeId{0}};
  return o;
}

/// Two authors, the first with a paper.
Batch heterogeneous_batch(std::vector<std::uint32_t> seeds, std::vector<std::int64_t> labels) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->hops = 1;
  sampled->seed_index = std::move(seeds);
  sampled->nodes.resize(3);
  sampled->nodes[0] = {{NodeId{0}, NodeId{1}}, {2, 2}};
  sampled->nodes[1] = {{NodeId{0}}, {0, 1}};
  sampled->nodes[2] = {{}, {0, 0}};
  sampled->edges.resize(2);
  sampled->edges[0].source_type = NodeTypeId{1};
  sampled->edges[0].offsets = {0, 1, 1};
  sampled->edges[0].sources = {0};
  sampled->edges[0].row_begin = {0, 2};
  sampled->edges[1].source_type = NodeTypeId{2};
  sampled->edges[1].destination_type = NodeTypeId{1};
  sampled->edges[1].offsets = {0};
  sampled->edges[1].row_begin = {0, 0};
  Batch b;
  b.sampled = std::move(sampled);
  b.rows.resize(3);
  b.rows[0] = {matrix_of(2, 1, {1, -1}), {OriginalId{5}, OriginalId{6}}};
  b.rows[1] = {matrix_of(1, 2, {0.5F, 2}), {OriginalId{7}}};
  b.labels = std::move(labels);
  return b;
}

TEST(HeterogeneousLearner, LearnsItsSeeds) {
  expect_learns(*make(heterogeneous_options()), heterogeneous_batch({0, 1}, {0, 1}));
}

TEST(HeterogeneousLearner, AttentionReadsFeaturesOfEdgesAndRefusesBatchesWithoutThem) {
  auto options = heterogeneous_options();
  options.model.kind = "rgat";
  options.model.edge_features = true;
  options.model.types.edges[0].cols = 2;
  const auto learner = make(options);
  InlineExecutor executor;
  Batch batch = heterogeneous_batch({0, 1}, {0, 1});
  EXPECT_ERROR(learner->compute(executor, batch), Errc::failed_precondition,
               "expected features of 1 \"by\" edges in 2 columns, found 0 in 0");
  batch.edge_features.resize(2);
  batch.edge_features[0] = matrix_of(1, 3, {1, 2, 3});
  EXPECT_ERROR(learner->compute(executor, batch), Errc::failed_precondition, "found 1 in 3");
  batch.edge_features[0] = matrix_of(1, 2, {1, 2});
  EXPECT_OK(learner->compute(executor, batch));
}

TEST(HeterogeneousLearner, OutputsAreLinearInSourcesAndSelf) {
  InlineExecutor executor;
  const auto learner = make(heterogeneous_options());
  const auto p = *learner->snapshot();  // W [2, 2], b [2], S [2, 1]
  ASSERT_EQ(p.size(), 8U);

  ASSERT_OK_AND_ASSIGN(const auto out,
                       learner->outputs(executor, heterogeneous_batch({1, 0, 1}, {0, 0, 0})));

  ASSERT_EQ(out.rows(), 3U);
  for (std::size_t c = 0; c < 2; ++c) {
    const float with_paper = p[2 * c] * 0.5F + p[2 * c + 1] * 2 + p[4 + c] + p[6 + c];
    EXPECT_NEAR(out.view().row(1)[c], with_paper, 1e-6);
    EXPECT_NEAR(out.view().row(0)[c], p[4 + c] - p[6 + c], 1e-6);
    EXPECT_EQ(out.view().row(2)[c], out.view().row(0)[c]);
  }
}

TEST(HeterogeneousLearner, RefusesBatchesThatItsModelCannotUse) {
  auto of_dropout = heterogeneous_options();
  of_dropout.model.input_dropout = 0.5F;
  const auto learner = make(of_dropout);
  const auto changed = [&](auto change) {
    return compute_changed(*learner, heterogeneous_batch({0}, {1}), change);
  };
  const auto refused = Errc::failed_precondition;
  EXPECT_ERROR(changed([](auto& s, auto&) { s.hops = 0; }), refused, "at least 1 hops");
  EXPECT_ERROR(changed([](auto& s, auto&) { s.edges.pop_back(); }), refused, "found 3, 1 and 1");
  EXPECT_ERROR(changed([](auto& s, auto&) { s.nodes.resize(4); }), refused, "found 4, 2 and 1");
  EXPECT_ERROR(changed([](auto& s, auto&) { s.seed_type = NodeTypeId{1}; }), refused,
               "expected seeds of node type 0, found 1");
  EXPECT_ERROR(changed([](auto& s, auto&) { s.edges[0].source_type = NodeTypeId{2}; }), refused,
               "expected \"by\" edges between node types 1 and 0, found 2 and 0");
  EXPECT_ERROR(changed([](auto&, Batch& b) { b.rows[1].features = Matrix::zeros(1, 3); }), refused,
               "features of 1 \"paper\" nodes in 2 columns, found 1 in 3");
  EXPECT_ERROR(changed([](auto&, Batch& b) { b.rows[1].original_ids.clear(); }), refused,
               "original ids of 1 \"paper\" nodes, found 0");
}

TEST(HeterogeneousLearner, AModelFileSaysItsTypes) {
  const auto metadata = model_metadata(heterogeneous_options().model);
  EXPECT_EQ(metadata.at("node_types"), "author 1, paper 2, tag 0");
  EXPECT_EQ(metadata.at("edge_types"), "by paper author, of tag paper");
  EXPECT_EQ(metadata.at("seed_type"), "author");
  EXPECT_FALSE(model_metadata({}).contains("edge_types"));
}

}  // namespace
}  // namespace troupe
