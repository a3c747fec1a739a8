// Block operations without products and exponentials: a GPU has the CPU's bits, too.
#include "tests/gpu/block_ops_support.hpp"

#include <fmt/format.h>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_block;
using nn::testing::random_matrix;

class ExactBlockOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, ExactBlockOps, ::testing::ValuesIn(tested_devices),
                         name_of_device);

std::vector<OriginalId> some_ids(std::size_t count) {
  std::vector<OriginalId> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(OriginalId{0xFFFFFFF0U + 11 * std::uint64_t{i}});
  }
  return ids;
}

nn::DropoutMask some_mask() {
  return nn::dropout_mask({.training = true, .job_seed = 5, .stream_epoch = 1, .batch = 2}, 1,
                          0.4F);
}

TEST_P(ExactBlockOps, EndsOfCombinations) {
  for (const std::uint32_t rows : some_rows) {
    for (const std::size_t cols : {1U, 5U, 33U}) {
      const Matrix x = random_matrix(rows, cols, rows);
      const Matrix gain = random_matrix(1, cols, 21);
      const Matrix shift = random_matrix(1, cols, 22);
      const auto ids = some_ids(rows);
      for (unsigned variant = 0; variant < 16; ++variant) {
        expect_same(
            [&](Operands& on) {
              nn::Finish finish;
              finish.l2 = (variant & 1U) != 0;
              if ((variant & 2U) != 0) {
                finish.norm_gain = on.copied(gain.view().flat());
                finish.norm_bias = on.copied(shift.view().flat());
              }
              finish.relu = (variant & 4U) != 0;
              if ((variant & 8U) != 0) {
                finish.mask = some_mask();
                finish.ids = on.copied(std::span<const OriginalId>(ids));
              }
              nn::TermWork own;
              own.source = on.copied(x);
              return combined(on, {own}, finish, rows, cols);
            },
            fmt::format("{} rows, {} columns, end {}", rows, cols, variant));
      }
    }
  }
}

/// A term along a block, and the way back from its rows to the sources.
Results aggregated(Operands& on, const OwnedBlock& owned, const Matrix& x, nn::Path path) {
  InlineExecutor executor;
  const LayerBlock block = on.copied(owned);
  path.block = &block;
  nn::TermWork along;
  along.path = path;
  along.source = on.copied(x);
  along.summed = on.rows(block.num_dst, x.cols());
  if (path.reach == nn::Reach::aggregate && path.aggregator == nn::Aggregator::max) {
    along.argmax = on.room<std::uint32_t>(along.summed.size());
  }
  nn::TermWork own;
  own.source = along.source;
  own.path.factor = 0.75F;
  Results results = combined(on, {own, along}, {}, block.num_dst, x.cols());
  results.integers.push_back(on.fetched(along.argmax));

  nn::EdgesBySource by_source(on.memory());
  sort_by_source(on, block, by_source, results);

  const Matrix grad = random_matrix(block.num_dst, x.cols(), 41);
  nn::UseWork to_sources;
  to_sources.path = path;
  to_sources.by_source = &by_source;
  to_sources.grad = on.copied(grad);
  to_sources.argmax = along.argmax;
  nn::UseWork to_own;
  to_own.path.factor = 0.75F;
  to_own.grad = to_sources.grad;
  // In both orders: the first one may reach fewer rows than there are, and not to the end of a chunk.
  for (const auto& uses : {std::vector{to_own, to_sources}, std::vector{to_sources, to_own}}) {
    const MutMatrix out = on.rows(x.rows(), x.cols());
    on.ops().source_gradient(executor, uses, out);
    results.floats.push_back(on.fetched(out));
  }
  return results;
}

TEST_P(ExactBlockOps, AggregationsAndTheirGradients) {
  for (const std::uint32_t destinations : some_rows) {
    const std::uint32_t sources = 2 * destinations + 3;
    const OwnedBlock block = random_block(destinations, sources, 9, destinations);
    for (const std::size_t cols : {1U, 7U, 40U}) {
      const Matrix x = random_matrix(sources + 5, cols, cols);
      for (const auto aggregator :
           {nn::Aggregator::mean, nn::Aggregator::sum, nn::Aggregator::max}) {
        expect_same(
            [&](Operands& on) {
              nn::Path path;
              path.reach = nn::Reach::aggregate;
              path.aggregator = aggregator;
              return aggregated(on, block, x, path);
            },
            fmt::format("{} destinations, {} columns, aggregator {}", destinations, cols,
                        static_cast<int>(aggregator)));
      }
    }
  }
}

TEST_P(ExactBlockOps, WeightedSumsAndTheirGradients) {
  for (const std::uint32_t destinations : some_rows) {
    const std::uint32_t sources = 2 * destinations + 3;
    const OwnedBlock block = random_block(destinations, sources, 9, destinations);
    const OwnedBlock below = random_block(sources - 1, 3 * sources, 4, 77);
    const Matrix x = random_matrix(sources, 9, 1);
    const Matrix of_edges = random_matrix(1, block.sources.size(), 2);
    for (const bool has_below : {false, true}) {
      expect_same(
          [&](Operands& on) {
            const LayerBlock here = on.copied(block);
            const LayerBlock under = on.copied(below);
            nn::GcnFactors memory(on.memory());
            nn::Path path;
            path.reach = nn::Reach::weighted_sum;
            path.factors = on.ops().degree_factors(here, has_below ? &under : nullptr,
                                                   nn::DegreeFactors::normalized, memory);
            auto results = aggregated(on, block, x, path);
            results.floats.push_back(on.fetched(path.factors.source));
            results.floats.push_back(on.fetched(path.factors.destination));
            return results;
          },
          fmt::format("degrees, {} destinations, below {}", destinations, has_below));
    }
    expect_same(
        [&](Operands& on) {
          nn::Path path;
          path.reach = nn::Reach::weighted_sum;
          path.factors.edge = on.copied(of_edges.view().flat());
          return aggregated(on, block, x, path);
        },
        fmt::format("weights of edges, {} destinations", destinations));
  }
}

TEST_P(ExactBlockOps, RowsOfFactorsAndTheirGradients) {
  const Matrix x = random_matrix(1100, 6, 1);
  const Matrix factors = random_matrix(1, 1100, 2);
  expect_same(
      [&](Operands& on) {
        InlineExecutor executor;
        nn::TermWork scaled;
        scaled.source = on.copied(x);
        scaled.path.scale = on.copied(factors.view().flat());
        nn::TermWork constant;
        constant.source = scaled.source;
        constant.path.factor = -1.5F;
        auto results = combined(on, {scaled, constant, scaled}, {}, 1000, 6);
        nn::UseWork use;
        use.path = scaled.path;
        use.grad = on.copied(x).slice(0, 700);
        nn::UseWork other;
        other.path = constant.path;
        other.grad = on.copied(x).slice(0, 1100);
        const MutMatrix out = on.rows(1100, 6);
        on.ops().source_gradient(executor, std::vector{use, other, use}, out);
        results.floats.push_back(on.fetched(out));
        return results;
      },
      "scaled rows");
}

TEST_P(ExactBlockOps, DropoutCopiesAndSums) {
  const Matrix x = random_matrix(777, 13, 1);
  const Matrix y = random_matrix(777, 13, 2);
  const auto ids = some_ids(777);
  expect_same(
      [&](Operands& on) {
        InlineExecutor executor;
        const MutMatrix a = on.copied(x);
        const MutMatrix b = on.copied(y);
        const MutMatrix out = on.rows(777, 13);
        const auto of_rows = on.copied(std::span<const OriginalId>(ids));
        Results results;
        on.ops().drop(executor, a, some_mask(), of_rows, out);
        results.floats.push_back(on.fetched(out));
        on.ops().drop(executor, a, {}, of_rows, out);
        results.floats.push_back(on.fetched(out));
        on.ops().drop(executor, out, some_mask(), of_rows, out);
        on.ops().add(b.flat(), out.flat());
        results.floats.push_back(on.fetched(out));
        const std::vector<std::span<const float>> values{a.flat(), b.flat(), out.flat()};
        const auto sum = on.room<float>(x.view().size());
        on.ops().add_parameters(values, sum);
        results.floats.push_back(on.fetched(sum));
        on.ops().copy(b.flat(), out.flat());
        on.ops().zero(out.flat().first(100));
        results.floats.push_back(on.fetched(out));
        return results;
      },
      "elements");
}

TEST_P(ExactBlockOps, NumbersThatCountUp) {
  for (const std::size_t size : {0U, 1U, 31U, 1025U}) {
    for (const std::uint32_t first : {0U, 7U, 0xFFFFFFF0U}) {
      expect_same(
          [&](Operands& on) {
            const auto numbers = on.room<std::uint32_t>(size);
            on.ops().count_up(first, numbers);
            Results results;
            results.integers.push_back(on.fetched(numbers));
            return results;
          },
          fmt::format("{} numbers from {} on", size, first));
    }
  }
}

TEST_P(ExactBlockOps, JoinedColumns) {
  for (const std::uint32_t rows : {0U, 1U, 31U, 32U, 33U, 1023U}) {
    for (const std::size_t left : {1U, 7U, 33U}) {
      for (const std::size_t right : {1U, 8U}) {
        const Matrix before = random_matrix(rows, left, 1);
        const Matrix behind = random_matrix(rows, right, 2);
        expect_same(
            [&](Operands& on) {
              const MutMatrix out = on.rows(rows, left + right);
              on.ops().join_columns(on.copied(before), on.copied(behind), out);
              Results results;
              results.floats.push_back(on.fetched(out));
              return results;
            },
            fmt::format("{} rows, {} and {} columns", rows, left, right));
      }
    }
  }
}

}  // namespace
}  // namespace troupe::testing
