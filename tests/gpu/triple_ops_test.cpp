// Losses of triples on a device: the CPU's bits, on a GPU but for products, cosines and logarithms.
#include "runtime/nn/knowledge/triple_loss.hpp"
#include "tests/gpu/block_ops_support.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_matrix;

class TripleOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, TripleOps, ::testing::ValuesIn(tested_devices), name_of_device);

struct TripleShape {
  std::size_t triples = 1;
  std::size_t chunk = 32;
  std::uint32_t negatives = 7;
  std::size_t cols = 12;
};

struct TripleCase {
  nn::TripleScore score;
  nn::TripleRule rule = nn::TripleRule::softmax;
  ReplacedEnd replaced = ReplacedEnd::tail;
  nn::Regularization regularization = nn::Regularization::none;
  TripleShape shape = {};
};

std::string text_of(const TripleCase& of) {
  return fmt::format(
      "score {} norm {} unit {}, rule {}, end {}, regularization {}, {} triples in chunks of {} "
      "with {}, "
      "{} columns",
      static_cast<int>(of.score.kind), of.score.norm, of.score.unit, static_cast<int>(of.rule),
      static_cast<int>(of.replaced), static_cast<int>(of.regularization), of.shape.triples,
      of.shape.chunk, of.shape.negatives, of.shape.cols);
}

constexpr std::size_t relation_count = 3;

/// Every second row of entities is near the one before, so that some distances are near ones; the first
/// relation is 0, which makes some of them 0.
struct TripleData {
  Matrix entities;
  Matrix relations;
  std::vector<std::uint32_t> known;
  std::vector<std::uint32_t> relation;
  std::vector<std::uint32_t> answer;
  std::vector<std::uint32_t> candidates;
};
TripleData data_of(const TripleCase& of) {
  const auto& shape = of.shape;
  const std::size_t nodes = shape.triples / 2 + 6;
  TripleData data{.entities = random_matrix(nodes, shape.cols, 1),
                  .relations = random_matrix(relation_count, of.score.relation_cols(shape.cols), 2),
                  .known = {},
                  .relation = {},
                  .answer = {},
                  .candidates = {}};
  for (std::size_t r = 1; r < nodes; r += 2) {
    for (std::size_t c = 0; c < shape.cols; ++c) {
      float& value = data.entities.view().row(r)[c];
      value = data.entities.view().row(r - 1)[c] + 0.01F * value;
    }
  }
  std::ranges::fill(data.relations.view().row(0), 0.0F);
  const auto node = [&](std::size_t i) { return static_cast<std::uint32_t>(i % (nodes - 1)); };
  for (std::size_t i = 0; i < shape.triples; ++i) {
    data.known.push_back(node(i * 7));
    data.relation.push_back(static_cast<std::uint32_t>(i % relation_count));
    data.answer.push_back(i % 3 == 0 ? 2 : node(i * i));
  }
  const std::size_t chunks = (shape.triples + shape.chunk - 1) / shape.chunk;
  for (std::size_t i = 0; i < chunks * shape.negatives; ++i) {
    data.candidates.push_back(node(i * 5 + 1));
  }
  return data;
}

/// Gradients of entities and relations; the sum as the bits of its two halves.
Results lost(Operands& on, const TripleCase& of) {
  const TripleData data = data_of(of);
  const MutMatrix of_entities = on.rows(data.entities.rows(), data.entities.cols());
  const MutMatrix of_relations = on.rows(data.relations.rows(), data.relations.cols());
  double* const sum = on.room<double>(1).data();
  const auto places = [&](const std::vector<std::uint32_t>& host) {
    return std::span<const std::uint32_t>(on.copied(std::span<const std::uint32_t>(host)));
  };
  InlineExecutor executor;
  on.ops().triple_loss(executor, {.options = {.score = of.score,
                                              .chunk = of.shape.chunk,
                                              .negatives = of.shape.negatives,
                                              .regularization = of.regularization,
                                              .factor = 0.25},
                                  .loss = {.rule = of.rule, .margin = 2, .temperature = 0.75},
                                  .replaced = of.replaced,
                                  .entities = on.copied(data.entities),
                                  .relations = on.copied(data.relations),
                                  .known = places(data.known),
                                  .relation = places(data.relation),
                                  .answer = places(data.answer),
                                  .candidates = places(data.candidates),
                                  .grad_entities = of_entities,
                                  .grad_relations = of_relations,
                                  .sum = sum});
  Results results;
  results.floats = {on.fetched(of_entities), on.fetched(of_relations)};
  const double host = on.fetched(std::span<const double>(sum, 1)).front();
  results.floats.push_back({static_cast<float>(host)});
  std::vector<std::uint32_t> halves(2);
  std::memcpy(halves.data(), &host, sizeof host);
  results.integers.push_back(std::move(halves));
  EXPECT_OK(on.ops().finish());
  return results;
}

const std::vector<nn::TripleScore>& every_score() {
  using nn::ScoreKind;
  static const std::vector<nn::TripleScore> all = {
      {ScoreKind::transe, 1, false},   {ScoreKind::transe, 1, true},
      {ScoreKind::transe, 2, false},   {ScoreKind::transe, 2, true},
      {ScoreKind::distmult, 2, false}, {ScoreKind::complex, 2, false},
      {ScoreKind::rotate, 1, false},   {ScoreKind::rotate, 2, false}};
  return all;
}

class TripleOpsBits : public TripleOps {
 protected:
  void expect_bits(const TripleCase& of) {
    const auto operation = [&](Operands& on) { return lost(on, of); };
    if (!GetParam().cuda) {
      return expect_same(operation, text_of(of));
    }
    auto found = of_the_device(operation);
    auto expected = of_the_cpu(operation);
    found.integers.clear();
    expected.integers.clear();
    expect_near(found, expected, 1e-4, text_of(of));
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, TripleOpsBits, ::testing::ValuesIn(tested_devices),
                         name_of_device);

TEST_P(TripleOpsBits, OfEveryScoreLossAndSideAreTheCpus) {
  for (const auto& score : every_score()) {
    for (const auto rule : {nn::TripleRule::softmax, nn::TripleRule::self_adversarial}) {
      for (const auto replaced : {ReplacedEnd::tail, ReplacedEnd::head}) {
        for (const auto regularization :
             {nn::Regularization::none, nn::Regularization::l2, nn::Regularization::n3}) {
          expect_bits({.score = score,
                       .rule = rule,
                       .replaced = replaced,
                       .regularization = regularization,
                       .shape = {.triples = 41}});
        }
      }
    }
  }
}

TEST_P(TripleOpsBits, OfEveryShapeAreTheCpus) {
  for (const auto& score : every_score()) {
    for (const TripleShape& shape :
         {TripleShape{.triples = 1, .chunk = 1, .negatives = 1, .cols = 2},
          TripleShape{.triples = 31, .chunk = 32, .negatives = 33, .cols = 4},
          TripleShape{.triples = 32, .chunk = 32, .negatives = 1, .cols = 34},
          TripleShape{.triples = 33, .chunk = 32, .negatives = 65, .cols = 16},
          TripleShape{.triples = 512, .chunk = 128, .negatives = 31, .cols = 32},
          TripleShape{.triples = 513, .chunk = 256, .negatives = 16, .cols = 6}}) {
      expect_bits({.score = score, .rule = nn::TripleRule::self_adversarial, .shape = shape});
    }
  }
}

/// A GPU's products have bits of their own.
class EmulatedTripleOps : public TripleOps {};

INSTANTIATE_TEST_SUITE_P(Devices, EmulatedTripleOps, ::testing::Values(one_thread, several_threads),
                         name_of_device);

TEST_P(EmulatedTripleOps, ProductsInBf16HaveTheBitsOfTheCpuAndOthersThanFloat32) {
  for (const auto& score : every_score()) {
    const TripleCase of{.score = score, .shape = {.triples = 41}};
    const auto operation = [&](Operands& on) { return lost(on, of); };
    expect_same(operation, text_of(of), nn::Precision::bf16);
    const auto comparison = score.comparison();
    const bool by_products =
        comparison == nn::Comparison::product || comparison == nn::Comparison::distance_2;
    const bool others =
        of_the_cpu(operation).floats[0] != of_the_cpu(operation, nn::Precision::bf16).floats[0];
    EXPECT_EQ(others, by_products) << text_of(of);
  }
}

TEST_P(TripleOps, OrdersOfADeviceChangeNothing) {
  for (const auto& score : every_score()) {
    const TripleCase of{.score = score, .shape = {.triples = 41, .chunk = 16}};
    const auto operation = [&](Operands& on) { return lost(on, of); };
    const Results expected = GetParam().cuda ? of_the_device(operation) : of_the_cpu(operation);
    for (std::uint64_t seed = 1; seed <= orders(20); ++seed) {
      const auto ops = on(seed).block_ops();
      Operands operands(*ops);
      const Results found = operation(operands);
      EXPECT_EQ(found.floats, expected.floats) << text_of(of) << " seed " << seed;
      EXPECT_EQ(found.integers, expected.integers) << text_of(of) << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace troupe::testing
