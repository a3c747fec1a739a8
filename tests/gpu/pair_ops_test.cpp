// Scores of pairs, decoders and losses of links on a device: the CPU's bits, on a GPU but for products,
// exponentials and logarithms.
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/link_losses.hpp"
#include "runtime/nn/seed_loss_pass.hpp"
#include "tests/gpu/block_ops_support.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_matrix;

class PairOps : public BlockOpsTest {};
class LinkLossOps : public BlockOpsTest {};
class DecoderOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, PairOps, ::testing::ValuesIn(tested_devices), name_of_device);
INSTANTIATE_TEST_SUITE_P(Devices, LinkLossOps, ::testing::ValuesIn(tested_devices), name_of_device);
INSTANTIATE_TEST_SUITE_P(Devices, DecoderOps, ::testing::ValuesIn(tested_devices), name_of_device);

/// Around warps and chunks.
constexpr std::array<std::size_t, 8> some_pairs{0, 1, 31, 32, 33, 511, 512, 513};

/// Pairs of some rows: most rows have several, some none, and one row has every third pair.
struct Pairs {
  std::size_t sources = 0;
  std::size_t destinations = 0;
  std::vector<std::uint32_t> of;
  std::vector<std::uint32_t> to;
};
Pairs pairs_of_rows(std::size_t count) {
  Pairs pairs{.sources = count / 3 + 5, .destinations = count / 4 + 7, .of = {}, .to = {}};
  for (std::size_t i = 0; i < count; ++i) {
    pairs.of.push_back(static_cast<std::uint32_t>(i * 7 % (pairs.sources - 2)));
    pairs.to.push_back(i % 3 == 0 ? 4U
                                  : static_cast<std::uint32_t>(i * i % (pairs.destinations - 1)));
  }
  return pairs;
}

nn::RowPairs copied(Operands& on, const Pairs& pairs, ConstMatrix sources,
                    ConstMatrix destinations) {
  return {.sources = sources,
          .destinations = destinations,
          .of = on.copied(std::span<const std::uint32_t>(pairs.of)),
          .to = on.copied(std::span<const std::uint32_t>(pairs.to))};
}

struct PairShape {
  std::size_t cols = 1;
  std::size_t relations = 0;  ///< 0: dot products
  bool one_matrix = false;
  std::size_t offset = 0;  ///< elements by which rows and relations begin later than memory
};

/// Scores, then gradients that are added to what rows have.
Results scored(Operands& on, const Pairs& pairs, const PairShape& shape) {
  InlineExecutor executor;
  const auto rows = std::max(pairs.sources, pairs.destinations);
  const Matrix sources = random_matrix(rows, shape.cols, 1);
  const Matrix destinations = random_matrix(rows, shape.cols, 2);
  const Matrix vectors = random_matrix(shape.relations, shape.cols, 3);
  const std::size_t columns = std::max<std::size_t>(1, shape.relations);
  const Matrix grad = random_matrix(pairs.of.size(), columns, 4);
  const ConstMatrix from = on.copied_at(sources, shape.offset);
  const ConstMatrix to = shape.one_matrix ? from : on.copied_at(destinations, shape.offset);
  const ConstMatrix relations =
      shape.relations == 0 ? ConstMatrix{} : on.copied_at(vectors, shape.offset);
  const auto there = copied(on, pairs, from, to);
  const MutMatrix scores = on.rows(pairs.of.size(), columns);
  const Matrix before = random_matrix(rows, shape.cols, 5);
  const MutMatrix of_sources = on.copied_at(before, shape.offset);
  const MutMatrix of_destinations =
      shape.one_matrix ? of_sources : on.copied_at(before, shape.offset);
  const MutMatrix of_relations =
      shape.relations == 0 ? MutMatrix{} : on.rows_at(shape.relations, shape.cols, shape.offset);

  on.ops().pair_scores(executor, there, relations, scores);
  on.ops().pair_scores_gradient(executor, there, relations, on.copied(grad),
                                {of_sources, of_destinations, of_relations});

  Results results;
  for (const MutMatrix& made : {scores, of_sources, of_destinations, of_relations}) {
    results.floats.push_back(on.fetched(made));
  }
  EXPECT_OK(on.ops().finish());
  return results;
}

std::string text_of(std::size_t pairs, const PairShape& shape) {
  return fmt::format("{} pairs, {} columns, {} relations, one matrix {}, offset {}", pairs,
                     shape.cols, shape.relations, shape.one_matrix, shape.offset);
}

TEST_P(PairOps, ScoresAndTheirGradientsHaveTheBitsOfTheCpu) {
  for (const std::size_t count : some_pairs) {
    const Pairs pairs = pairs_of_rows(count);
    for (const std::size_t cols : {1U, 3U, 16U, 33U, 64U}) {
      for (const std::size_t relations : {0U, 1U, 3U}) {
        for (const bool one : {false, true}) {
          const PairShape shape{.cols = cols,
                                .relations = relations,
                                .one_matrix = one,
                                .offset = cols == 16 ? 1U : 0U};
          expect_same([&](Operands& on) { return scored(on, pairs, shape); },
                      text_of(count, shape));
        }
      }
    }
  }
}

/// Each pair of the same two rows: sums of any length have the order of the pairs.
TEST_P(PairOps, RowsThatAllPairsShareAreSummedInOrder) {
  for (const std::size_t count : {2U, 513U, 3000U}) {
    const Pairs pairs{.sources = 2,
                      .destinations = 3,
                      .of = std::vector<std::uint32_t>(count, 1),
                      .to = std::vector<std::uint32_t>(count, 2)};
    for (const std::size_t relations : {0U, 2U}) {
      const PairShape shape{.cols = 8, .relations = relations, .one_matrix = true};
      expect_same([&](Operands& on) { return scored(on, pairs, shape); }, text_of(count, shape));
    }
  }
}

TEST_P(PairOps, OrdersOfADeviceChangeNothing) {
  const Pairs pairs = pairs_of_rows(513);
  const PairShape shape{.cols = 12, .relations = 2, .one_matrix = true};
  const Results expected = of_the_cpu([&](Operands& on) { return scored(on, pairs, shape); });
  for (std::uint64_t seed = 1; seed <= orders(200); ++seed) {
    const auto ops = on(seed).block_ops();
    Operands operands(*ops);
    EXPECT_EQ(scored(operands, pairs, shape).floats, expected.floats) << "seed " << seed;
  }
}

// ---- losses of links ----

constexpr std::array all_rules{nn::LinkRule::bce, nn::LinkRule::balanced, nn::LinkRule::margin,
                               nn::LinkRule::self_adversarial, nn::LinkRule::softmax};

/// Gradients of links and of negatives, and the sum as two floats.
struct LossOfLinks {
  std::vector<float> grads;
  double sum = -1;
};

/// \param scores  of the links, then of the negatives of each
LossOfLinks loss_of_links(Operands& on, const nn::LinkLoss& loss, const Matrix& scores,
                          std::size_t links) {
  const std::size_t negatives = links == 0 ? 0 : scores.rows() / links - 1;
  const ConstMatrix there = on.copied(scores);
  const MutMatrix grads = on.rows(scores.rows(), 1);
  double* const sum = on.room<double>(1).data();
  on.ops().link_loss({.loss = loss,
                      .scores = {.positive = there.flat().first(links),
                                 .negative = {there.data + links, links, negatives}},
                      .gradients = {.positive = grads.flat().first(links),
                                    .negative = {grads.data + links, links, negatives}},
                      .sum = sum});
  return {on.fetched(grads), on.fetched(std::span<const double>(sum, 1)).front()};
}

Matrix some_scores(std::size_t links, std::size_t negatives) {
  Matrix scores = random_matrix(links * (1 + negatives), 1, links + negatives);
  for (float& score : scores.view().flat()) {
    score *= 9;
  }
  return scores;
}

TEST_P(LinkLossOps, HaveTheBitsOfTheCpuAndNearThemOnAGpu) {
  for (const nn::LinkRule rule : all_rules) {
    const nn::LinkLoss loss{.rule = rule, .margin = 3, .temperature = 0.75};
    for (const std::size_t links : some_pairs) {
      for (const std::size_t negatives : {0U, 1U, 2U, 5U, 33U}) {
        SCOPED_TRACE(fmt::format("rule {}, {} links, {} negatives", static_cast<int>(rule), links,
                                 negatives));
        const Matrix scores = some_scores(links, negatives);
        nn::CpuBlockOps cpu;
        Operands here(cpu);
        const auto expected = loss_of_links(here, loss, scores, links);
        const auto ops = on(links + 1).block_ops();
        Operands there(*ops);
        const auto found = loss_of_links(there, loss, scores, links);

        EXPECT_OK(ops->finish());
        if (!GetParam().cuda || rule == nn::LinkRule::margin) {
          EXPECT_TRUE(nn::testing::same_bits(found.grads, expected.grads));
          EXPECT_EQ(found.sum, expected.sum);
        } else {
          EXPECT_NEAR(found.sum, expected.sum, 1e-12 * std::abs(expected.sum));
          nn::testing::expect_close<float>(
              found.grads, std::vector<double>(expected.grads.begin(), expected.grads.end()), 1e-6,
              "grads");
        }
      }
    }
  }
}

/// One row of the table for each; the set of functions on the CPU is what the table's losses were.
TEST(LinkLossKinds, AreTheLossesOfTheirNames) {
  const Matrix scores = some_scores(7, 3);
  const nn::LinkScores split{.positive = scores.view().flat().first(7),
                             .negative = {scores.data() + 7, 7, 3}};
  for (const auto& kind : nn::link_loss_kinds()) {
    SCOPED_TRACE(kind.name);
    nn::CpuBlockOps ops;
    Operands on(ops);
    const auto found =
        loss_of_links(on, {.rule = kind.rule, .margin = 2, .temperature = 0.5}, scores, 7);
    std::vector<float> grads(28);
    const nn::LinkGradients to{.positive = std::span(grads).first(7),
                               .negative = {grads.data() + 7, 7, 3}};
    const auto expected = kind.name == "bce"        ? nn::link_bce(split, to)
                          : kind.name == "balanced" ? nn::link_bce_balanced(split, to)
                          : kind.name == "margin"   ? nn::link_margin(split, 2, to)
                          : kind.name == "softmax"  ? nn::link_softmax(split, to)
                                                    : nn::link_self_adversarial(split, 0.5, to);

    EXPECT_EQ(found.sum, expected.sum);
    EXPECT_EQ(found.grads, grads);
    EXPECT_EQ(nn::link_terms(kind.rule, 7, 3), expected.weight);
  }
}

TEST_P(LinkLossOps, ANaNShows) {
  for (const nn::LinkRule rule : all_rules) {
    for (const std::size_t place : {0U, 5U}) {
      Matrix scores = some_scores(3, 2);
      scores.data()[place] = std::numeric_limits<float>::quiet_NaN();
      const auto ops = on(1).block_ops();
      Operands there(*ops);
      EXPECT_TRUE(std::isnan(loss_of_links(there, {.rule = rule}, scores, 3).sum))
          << static_cast<int>(rule) << " at " << place;
    }
  }
}

// ---- losses of pairs' outputs ----

/// Rows that are the seeds' own: gradients as the losses write them, without a sum over seeds.
TEST_P(LinkLossOps, OfOwnRowsHaveTheBitsOfTheCpu) {
  for (const std::size_t count : {1U, 31U, 32U, 33U, 513U}) {
    const Matrix rows = random_matrix(count, 4, 1);
    Matrix targets = random_matrix(count, 4, 2);
    targets.data()[count / 2] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<std::int64_t>(i % 5) - 1);
    }
    for (const auto kind : {nn::SeedLossKind::cross_entropy, nn::SeedLossKind::bce_logits,
                            nn::SeedLossKind::numbers}) {
      SCOPED_TRACE(fmt::format("kind {}, {} rows", static_cast<int>(kind), count));
      const nn::SeedLoss loss{.kind = kind,
                              .own_rows = true,
                              .labels = labels,
                              .targets = std::as_const(targets).view()};
      Matrix grad(count, 4);
      const auto expected = nn::seed_loss(loss, rows.view(), grad.view());
      const auto ops = on(count).block_ops();
      Operands there(*ops);
      nn::SeedLossPass pass(*ops);
      const auto found = there.fetched(pass.compute(loss, there.copied(rows)));
      ASSERT_OK_AND_ASSIGN(const double sum, pass.sum()());

      EXPECT_EQ(pass.weight(), nn::seed_loss_weight(loss));
      if (!GetParam().cuda) {
        EXPECT_TRUE(nn::testing::same_bits(found, std::as_const(grad).view().flat()));
        EXPECT_EQ(sum, expected.sum);
      } else {
        EXPECT_NEAR(sum, expected.sum, 1e-12 * std::abs(expected.sum));
      }
    }
  }
}

// ---- decoders ----

const std::vector<nn::DecoderOptions>& some_decoders() {
  static const std::vector<nn::DecoderOptions> all = {{.kind = "dot"},
                                                      {.kind = "distmult"},
                                                      {.kind = "distmult", .outputs = 4},
                                                      {.kind = "mlp", .hidden = 5},
                                                      {.kind = "mlp", .hidden = 33, .outputs = 3}};
  return all;
}

constexpr std::size_t decoded_cols = 12;

/// Passes of one decoder over more and fewer pairs: outputs, gradients of rows and of parameters.
Results decoded(Operands& on, const nn::DecoderOptions& options,
                std::span<const std::size_t> counts) {
  InlineExecutor executor;
  std::size_t size = 0;
  for (const auto& parameter : nn::decoder_parameters(options, decoded_cols)) {
    size += parameter.rows * parameter.cols;
  }
  const Matrix values = random_matrix(1, size + 1, 8);
  // The decoder's are the last ones of a flat vector.
  const auto parameters = on.copied(values.view().flat()).subspan(1);
  const auto decoder = nn::make_decoder(options, decoded_cols, on.ops());
  Results results;
  for (const std::size_t count : counts) {
    const Pairs pairs = pairs_of_rows(count);
    const std::size_t rows = std::max(pairs.sources, pairs.destinations);
    const Matrix sources = random_matrix(rows, decoded_cols, 1);
    const Matrix destinations = random_matrix(rows, decoded_cols, 2);
    const Matrix grad = random_matrix(count, options.outputs, 3);
    for (const bool one : {false, true}) {
      const ConstMatrix from = on.copied(sources);
      const auto there = copied(on, pairs, from, one ? from : on.copied(destinations));
      results.floats.push_back(on.fetched(decoder->forward(executor, parameters, there)));
      const MutMatrix of_sources = on.rows(rows, decoded_cols);
      const MutMatrix of_destinations = one ? of_sources : on.rows(rows, decoded_cols);
      on.ops().zero(of_sources.flat());
      on.ops().zero(of_destinations.flat());
      const auto of_parameters = on.room<float>(size);
      decoder->backward(on.copied(grad), of_sources, of_destinations, of_parameters);
      results.floats.push_back(on.fetched(of_sources));
      results.floats.push_back(on.fetched(of_destinations));
      results.floats.push_back(on.fetched(of_parameters));
    }
  }
  EXPECT_OK(on.ops().finish());
  return results;
}

TEST_P(DecoderOps, HaveTheBitsOfTheCpuAndNearThemOnAGpu) {
  constexpr std::array<std::size_t, 8> counts{33, 1, 31, 32, 512, 511, 513, 2};
  for (const auto& options : some_decoders()) {
    const auto operation = [&](Operands& on) { return decoded(on, options, counts); };
    const auto what = fmt::format("{} of {} outputs", options.kind, options.outputs);
    if (GetParam().cuda && options.kind == "mlp") {
      expect_near(of_the_device(operation), of_the_cpu(operation), 1e-5, what);
    } else {
      expect_same(operation, what);
    }
  }
}

TEST_P(DecoderOps, OrdersOfADeviceChangeNothing) {
  constexpr std::array<std::size_t, 2> counts{33, 40};
  for (const auto& options : some_decoders()) {
    const auto operation = [&](Operands& on) { return decoded(on, options, counts); };
    const Results expected = GetParam().cuda ? of_the_device(operation) : of_the_cpu(operation);
    for (std::uint64_t seed = 1; seed <= orders(40); ++seed) {
      const auto ops = on(seed).block_ops();
      Operands operands(*ops);
      EXPECT_EQ(operation(operands).floats, expected.floats) << options.kind << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace troupe::testing
