// Scores of pairs with a trained model: against their definitions, whatever other pairs are asked for.
#include "runtime/run/pair_outputs.hpp"

#include "runtime/nn/catalog.hpp"
#include "runtime/run/outputs.hpp"
#include "tests/runtime/nn/knowledge_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t pair_cols = 6;

struct Pairs {
  Matrix sources = nn::testing::random_matrix(40, pair_cols, 1);
  Matrix destinations = nn::testing::random_matrix(30, pair_cols, 2);
  std::vector<std::uint32_t> of;
  std::vector<std::uint32_t> to;
  AskedPairs asked;

  /// More of them than a decoder gets at once.
  Pairs() {
    for (std::uint32_t i = 0; i < 9000; ++i) {
      of.push_back(i * 7 % 40);
      to.push_back((i / 3 + i) % 30);
      asked.sources.push_back(of.back());
      asked.destinations.push_back(to.back());
      asked.relations.push_back(i % 5);
    }
  }
  RowsOfEnds rows() const {
    return {.sources = sources.view(), .destinations = destinations.view(), .of = of, .to = to};
  }
  RowsOfEnds only(std::size_t i) const {
    auto one = rows();
    one.of = one.of.subspan(i, 1);
    one.to = one.to.subspan(i, 1);
    return one;
  }
};

nn::ModelOptions without_layers() {
  nn::ModelOptions model;
  model.layers = 0;
  model.in_dim = pair_cols;
  model.out_dim = pair_cols;
  return model;
}

TEST(PairOutputs, OfADecoderAreThoseOfEachPairAlone) {
  const Pairs pairs;
  InlineExecutor executor;
  for (const nn::DecoderOptions& decoder :
       {nn::DecoderOptions{.kind = "dot"}, nn::DecoderOptions{.kind = "distmult", .outputs = 3},
        nn::DecoderOptions{.kind = "mlp", .hidden = 5, .outputs = 2}}) {
    SCOPED_TRACE(decoder.kind);
    auto model = without_layers();
    model.decoder = decoder;
    ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(model));
    const auto parameters = network->initial_parameters(11);
    const Matrix all = pair_outputs(executor, *network, parameters, {}, pairs.asked, pairs.rows());
    ASSERT_EQ(all.rows(), 9000U);
    ASSERT_EQ(all.cols(), decoder.outputs);
    for (const std::size_t i :
         {std::size_t{0}, std::size_t{8191}, std::size_t{8192}, std::size_t{8999}}) {
      const Matrix one =
          pair_outputs(executor, *network, parameters, {}, pairs.asked, pairs.only(i));
      EXPECT_TRUE(std::ranges::equal(one.view().flat(), all.view().row(i))) << i;
      if (decoder.kind == "dot") {
        double sum = 0;
        for (std::size_t c = 0; c < pair_cols; ++c) {
          sum += double{pairs.sources.view().row(pairs.of[i])[c]} *
                 pairs.destinations.view().row(pairs.to[i])[c];
        }
        EXPECT_NEAR(all.view().row(i)[0], sum, 1e-5);
      }
    }
  }
}

/// Vectors of several edge types follow each other: a pair's are those of its type.
TEST(PairOutputs, TakeTheParametersOfTheirEdgeType) {
  Pairs pairs;
  InlineExecutor executor;
  auto model = without_layers();
  model.decoder = {.kind = "distmult", .relations = {EdgeTypeId{4}, EdgeTypeId{1}}};
  ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(model));
  auto parameters = network->initial_parameters(11);
  ASSERT_EQ(parameters.size(), 2 * pair_cols);
  pairs.asked.type.edge_type = EdgeTypeId{1};
  const Matrix before = pair_outputs(executor, *network, parameters, {}, pairs.asked, pairs.rows());
  parameters.front() += 1;  // of the other type
  const Matrix same = pair_outputs(executor, *network, parameters, {}, pairs.asked, pairs.rows());
  EXPECT_TRUE(std::ranges::equal(same.view().flat(), before.view().flat()));
  parameters.back() += 1;
  const Matrix other = pair_outputs(executor, *network, parameters, {}, pairs.asked, pairs.rows());
  EXPECT_FALSE(std::ranges::equal(other.view().flat(), before.view().flat()));
}

TEST(PairOutputs, OfTriplesAreTheirScores) {
  const Pairs pairs;
  InlineExecutor executor;
  for (const auto& [name, score] : nn::testing::score_cases()) {
    SCOPED_TRACE(name);
    auto model = without_layers();
    const auto of_relation = score.relation_cols(pair_cols);
    model.relations = {.rows = 5, .cols = of_relation, .bound = 1.0F};
    ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(model));
    const auto parameters = network->initial_parameters(11);
    TaskJob task;
    task.kind = "knowledge";
    task.completes.score = score;
    const Matrix all =
        pair_outputs(executor, *network, parameters, task, pairs.asked, pairs.rows());
    ASSERT_EQ(all.cols(), 1U);
    for (std::size_t i = 0; i < 9000; i += 97) {
      const auto relation =
          std::span(parameters).subspan(pairs.asked.relations[i] * of_relation, of_relation);
      EXPECT_NEAR(all.view().row(i)[0],
                  nn::testing::score_twin(
                      score, nn::testing::doubles(pairs.sources.view().row(pairs.of[i])),
                      nn::testing::doubles(relation),
                      nn::testing::doubles(pairs.destinations.view().row(pairs.to[i]))),
                  1e-4)
          << "triple " << i;
    }
  }
}

TEST(PairOutputs, FilesOfPairsReplaceThoseOfNodes) {
  const testing::ScratchFolder scratch;
  const auto folder = scratch.path() / "out";
  AskedPairs pairs;
  pairs.sources = {7, 7, 1};
  pairs.destinations = {2, 2, 9};
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "node_ids.npy") << "of other predictions";
  const Matrix outputs = nn::testing::random_matrix(3, 4, 5);
  ASSERT_OK(write_pair_predictions(folder, ids_of(pairs), outputs.view()));
  EXPECT_FALSE(std::filesystem::exists(folder / "node_ids.npy"));
  const auto links = testing::read_npy(folder / "links.npy");
  EXPECT_EQ(links.shape, (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(links.as<std::int64_t>(), (std::vector<std::int64_t>{7, 2, 7, 2, 1, 9}));
  const auto values = testing::read_npy(folder / "predictions.npy");
  EXPECT_EQ(values.shape, (std::vector<std::size_t>{3, 4}));
  EXPECT_TRUE(std::ranges::equal(values.as<float>(), outputs.view().flat()));

  pairs.relations = {0, 4, 3};
  ASSERT_OK(write_pair_predictions(folder, ids_of(pairs), outputs.view()));
  const auto triples = testing::read_npy(folder / "links.npy");
  EXPECT_EQ(triples.shape, (std::vector<std::size_t>{3, 3}));
  EXPECT_EQ(triples.as<std::int64_t>(), (std::vector<std::int64_t>{7, 0, 2, 7, 4, 2, 1, 3, 9}));

  AskedCompletions asked;
  asked.known = {7, 1, 1};
  asked.relations = {0, 4, 3};
  const std::vector<std::int64_t> partners{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -1};
  ASSERT_OK(write_top_entities(folder, ids_of(asked), partners, outputs.view()));
  EXPECT_FALSE(std::filesystem::exists(folder / "links.npy"));
  const auto queries = testing::read_npy(folder / "queries.npy");
  EXPECT_EQ(queries.shape, (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(queries.as<std::int64_t>(), (std::vector<std::int64_t>{7, 0, 1, 4, 1, 3}));
  EXPECT_EQ(testing::read_npy(folder / "partners.npy").as<std::int64_t>(), partners);
  asked.replaced = ReplacedEnd::head;
  EXPECT_EQ(ids_of(asked), (std::vector<std::int64_t>{0, 7, 4, 1, 3, 1}));
  ASSERT_OK(write_pair_predictions(folder, ids_of(pairs), outputs.view()));
  EXPECT_FALSE(std::filesystem::exists(folder / "queries.npy"));
  EXPECT_FALSE(std::filesystem::exists(folder / "partners.npy"));
}

}  // namespace
}  // namespace troupe
