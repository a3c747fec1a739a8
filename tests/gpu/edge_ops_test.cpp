// Sums along edges at each width, with lists of edges of all lengths: a GPU has the CPU's bits.
#include "tests/gpu/block_ops_support.hpp"

#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_matrix;

class EdgeOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, EdgeOps, ::testing::ValuesIn(tested_devices), name_of_device);

constexpr std::array<std::uint32_t, 16> list_lengths{0, 1, 3,  4,  5,  7,  8,  9,
                                                     0, 0, 12, 13, 16, 17, 20, 1000};
/// Edges of a batch before the block's.
constexpr std::uint32_t edges_before = 5;

/// A block whose destinations have edges by list_lengths, and whose sources have as many: none, one, some,
/// and some thousands.
OwnedBlock block_of_lists(std::uint32_t destinations) {
  OwnedBlock block{.num_dst = destinations,
                   .num_src = 2 * destinations + 30,
                   .offsets = {edges_before},
                   .sources = std::vector<std::uint32_t>(edges_before, 0xFFFFFFFFU)};
  const StreamKey key = stream_key(destinations, {.domain = Domain::generators, .type = 2});
  for (std::uint32_t d = 0; d < destinations; ++d) {
    DrawStream draw(key, d);
    for (std::uint32_t i = 0; i < list_lengths[d % list_lengths.size()]; ++i) {
      const std::uint32_t kind = draw.below(4);
      block.sources.push_back(kind == 0   ? d  // itself
                              : kind == 1 ? destinations + draw.below(2)
                                          : draw.below(block.num_src - 20));
    }
    block.offsets.push_back(static_cast<std::uint32_t>(block.sources.size()));
  }
  return block;
}

enum class Along { mean, sum, max, edge_weights, degrees };
constexpr std::array all_ways{Along::mean, Along::sum, Along::max, Along::edge_weights,
                              Along::degrees};

/// Rows on a device, and where they begin in memory.
struct Rows {
  const Matrix& x;
  std::size_t offset = 0;
};

Results there_and_back(Operands& on, const OwnedBlock& owned, Along along, const Rows& rows) {
  InlineExecutor executor;
  const std::size_t cols = rows.x.cols();
  const LayerBlock block = on.copied(owned);
  const Matrix weights = random_matrix(1, owned.sources.size(), 3);
  nn::GcnFactors memory(on.memory());
  nn::TermWork term;
  term.path.block = &block;
  term.path.reach = nn::Reach::aggregate;
  if (along == Along::edge_weights) {
    term.path.reach = nn::Reach::weighted_sum;
    term.path.factors.edge = on.copied(weights.view().flat());
  } else if (along == Along::degrees) {
    term.path.reach = nn::Reach::weighted_sum;
    term.path.factors =
        on.ops().degree_factors(block, nullptr, nn::DegreeFactors::normalized, memory);
  } else {
    term.path.aggregator = along == Along::mean  ? nn::Aggregator::mean
                           : along == Along::sum ? nn::Aggregator::sum
                                                 : nn::Aggregator::max;
  }
  term.source = on.copied_at(rows.x, rows.offset);
  term.summed = on.rows_at(block.num_dst, cols, rows.offset);
  if (along == Along::max) {
    term.argmax = on.room<std::uint32_t>(term.summed.size());
  }
  nn::TermWork own;
  own.source = term.source;
  Results results = combined(on, {own, term}, {}, block.num_dst, cols);
  results.floats.push_back(on.fetched(term.summed));
  results.integers.push_back(on.fetched(term.argmax));

  nn::EdgesBySource by_source(on.memory());
  sort_by_source(on, block, by_source, results);

  const Matrix grad = random_matrix(block.num_dst, cols, 41);
  nn::UseWork use;
  use.path = term.path;
  use.by_source = &by_source;
  use.grad = on.copied_at(grad, rows.offset);
  use.argmax = term.argmax;
  const MutMatrix out = on.rows_at(block.num_src + 3, cols, rows.offset);
  on.ops().source_gradient(executor, std::vector{use, use}, out);
  results.floats.push_back(on.fetched(out));
  return results;
}

std::string name_of(std::uint32_t destinations, std::size_t cols, Along along) {
  return fmt::format("{} destinations, {} columns, way {}", destinations, cols,
                     static_cast<int>(along));
}

TEST_P(EdgeOps, ListsOfAllLengthsAtEachWidth) {
  for (const std::uint32_t destinations : {1U, 16U, 33U}) {
    const OwnedBlock block = block_of_lists(destinations);
    for (const std::size_t cols : {1U, 3U, 4U, 47U, 100U, 256U}) {
      const Matrix x = random_matrix(block.num_src, cols, cols);
      for (const Along along : all_ways) {
        expect_same([&](Operands& on) { return there_and_back(on, block, along, {x}); },
                    name_of(destinations, cols, along));
      }
    }
  }
}

TEST_P(EdgeOps, BlocksWithoutEdgesOrDestinations) {
  const OwnedBlock without{.num_dst = 40,
                           .num_src = 50,
                           .offsets = std::vector<std::uint32_t>(41, 2),
                           .sources = {7, 7}};
  const OwnedBlock empty{.num_dst = 0, .num_src = 9, .offsets = {0}, .sources = {}};
  for (const OwnedBlock& block : {without, empty}) {
    for (const std::size_t cols : {3U, 4U}) {
      const Matrix x = random_matrix(block.num_src, cols, cols);
      for (const Along along : all_ways) {
        expect_same([&](Operands& on) { return there_and_back(on, block, along, {x}); },
                    name_of(block.num_dst, cols, along));
      }
    }
  }
}

TEST_P(EdgeOps, RowsThatBeginBetweenFoursAreTakenOneByOne) {
  const OwnedBlock block = block_of_lists(16);
  const Matrix x = random_matrix(block.num_src, 8, 1);
  for (const std::size_t offset : {1U, 2U, 4U}) {
    for (const Along along : all_ways) {
      expect_same(
          [&](Operands& on) {
            return there_and_back(on, block, along, {x, offset});
          },
          fmt::format("way {}, {} elements later", static_cast<int>(along), offset));
    }
  }
}

TEST_P(EdgeOps, NumbersThatAreNoneComeThrough) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 5> special{std::numeric_limits<float>::quiet_NaN(), infinity,
                                         -infinity, -0.0F, 1e-42F};
  const OwnedBlock block = block_of_lists(33);
  for (const std::size_t cols : {3U, 8U}) {
    Matrix x = random_matrix(block.num_src, cols, 2);
    for (std::size_t i = 0; i < x.view().size(); i += 1 + i % 7) {
      x.data()[i] = special[i % special.size()];
    }
    for (const Along along : all_ways) {
      expect_same_numbers([&](Operands& on) { return there_and_back(on, block, along, {x}); },
                          name_of(33, cols, along));
    }
  }
}

/// Its only edge's row, not a sum that begins with zero.
TEST_P(EdgeOps, ADestinationOfOneEdgeHasItsNegativeZeros) {
  const OwnedBlock block{.num_dst = 1, .num_src = 1, .offsets = {0, 1}, .sources = {0}};
  for (const std::size_t cols : {1U, 4U}) {
    Matrix x(1, cols);
    for (float& value : x.view().flat()) {
      value = -0.0F;
    }
    for (const Along along : all_ways) {
      expect_same([&](Operands& on) { return there_and_back(on, block, along, {x}); },
                  name_of(1, cols, along));
    }
  }
}

}  // namespace
}  // namespace troupe::testing
