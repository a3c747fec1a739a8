// Sums over all rows or elements: a GPU has the CPU's bits, but where an exponential is in them.
#include "tests/gpu/block_ops_support.hpp"

#include <fmt/format.h>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_block;
using nn::testing::random_matrix;

class SumOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, SumOps, ::testing::ValuesIn(tested_devices), name_of_device);

constexpr std::array<std::size_t, 9> summed_rows{
    0, 1, 8, 31, 33, nn::chunk_rows - 1, nn::chunk_rows, nn::chunk_rows + 1, 40 * nn::chunk_rows};

TEST_P(SumOps, ProductsOfElements) {
  for (const std::size_t rows : summed_rows) {
    for (const std::size_t cols : {1U, 3U, 16U, 47U}) {
      const Matrix a = random_matrix(rows, cols, 1);
      const Matrix b = random_matrix(rows, cols, 2);
      expect_same(
          [&](Operands& on) {
            InlineExecutor executor;
            const auto sum = on.room<float>(1);
            on.ops().factor_gradient(executor, on.copied(a), on.copied(b), sum);
            return Results{{on.fetched(sum)}, {}};
          },
          fmt::format("{} rows, {} columns", rows, cols));
    }
  }
}

TEST_P(SumOps, CoefficientsOfMixtures) {
  for (const std::size_t bases : {1U, 2U, 30U}) {
    for (const std::size_t size : {1U, 15U, 16U, 17U, 1000U}) {
      const Matrix grad = random_matrix(size, 1, 1);
      const Matrix blocks = random_matrix(bases * size, 1, 2);
      expect_same(
          [&](Operands& on) {
            const auto coefficients = on.room<float>(bases);
            on.ops().mix_coefficients_gradient(on.copied(grad), on.copied(blocks), coefficients);
            return Results{{on.fetched(coefficients)}, {}};
          },
          fmt::format("{} bases of {}", bases, size));
    }
  }
}

TEST_P(SumOps, GatesAndTheirGradients) {
  for (const std::size_t rows : summed_rows) {
    const Matrix fresh = random_matrix(rows, 3, 1);
    const Matrix old = random_matrix(rows, 3, 2);
    const Matrix of_result = random_matrix(rows, 3, 3);
    const Matrix gate = random_matrix(1, 1, 4);
    const auto operation = [&](Operands& on) {
      InlineExecutor executor;
      const auto share = on.copied(gate.view().flat());
      const MutMatrix grad = on.copied(of_result);
      const MutMatrix grad_old = on.rows(rows, 3);
      const auto grad_gate = on.room<float>(1);
      on.ops().gate_backward(executor, share, on.copied(fresh), on.copied(old), grad, grad_old,
                             grad_gate);
      return Results{{on.fetched(grad), on.fetched(grad_old), on.fetched(grad_gate)}, {}};
    };
    const std::string what = fmt::format("{} rows", rows);
    if (GetParam().cuda) {
      expect_near(of_the_device(operation), of_the_cpu(operation), 1e-6, what);
    } else {
      expect_same(operation, what);
    }
  }
}

TEST_P(SumOps, BatchNormalizationAndItsGradients) {
  for (const std::size_t rows : summed_rows) {
    for (const std::size_t cols : {1U, 4U, 47U}) {
      const Matrix x = random_matrix(rows, cols, 1);
      const Matrix of_result = random_matrix(rows, cols, 2);
      const Matrix gain = random_matrix(1, cols, 3);
      const Matrix bias = random_matrix(1, cols, 4);
      for (const bool relu : {false, true}) {
        expect_same(
            [&](Operands& on) {
              InlineExecutor executor;
              nn::BatchNorm norm;
              norm.x = on.copied(x);
              norm.gain = on.copied(gain.view().flat());
              norm.bias = on.copied(bias.view().flat());
              norm.training = true;
              norm.mean = on.room<float>(cols);
              norm.variance = on.room<float>(cols);
              norm.after.relu = relu;
              nn::FinishState state(on.memory());
              const MutMatrix out = on.rows(rows, cols);
              nn::begin_finish(norm.after, out, state);
              on.ops().batch_norm(executor, norm, state, out);
              const MutMatrix grad = on.copied(of_result);
              Results results;
              results.floats = {on.fetched(out), on.fetched(norm.mean), on.fetched(norm.variance)};
              results.floats.push_back(
                  on.fetched(on.ops().batch_norm_backward(executor, norm, state, grad)));
              results.floats.push_back(on.fetched(grad));
              return results;
            },
            fmt::format("{} rows, {} columns, relu {}", rows, cols, relu));
      }
    }
  }
}

TEST_P(SumOps, GradientsOfLayerNormalization) {
  for (const std::size_t rows : summed_rows) {
    const Matrix x = random_matrix(rows, 5, 1);
    const Matrix gain = random_matrix(1, 5, 2);
    expect_same(
        [&](Operands& on) {
          nn::Finish finish;
          finish.norm_gain = on.copied(gain.view().flat());
          finish.norm_bias = finish.norm_gain;
          nn::TermWork own;
          own.source = on.copied(x);
          return combined(on, {own}, finish, rows, 5);
        },
        fmt::format("{} rows", rows));
  }
}

TEST_P(SumOps, VectorsOfPairs) {
  constexpr std::size_t heads = 2;
  constexpr std::size_t columns = 5;
  for (const std::uint32_t destinations : {1U, 33U, 512U, 513U}) {
    const OwnedBlock owned = random_block(destinations, 2 * destinations, 11, destinations);
    const Matrix source = random_matrix(owned.num_src, heads * columns, 1);
    const Matrix destination = random_matrix(destinations, heads * columns, 2);
    for (const auto score : {nn::PairScore::dynamic, nn::PairScore::product}) {
      for (const bool one_loop : {false, true}) {
        const std::size_t of_head = score == nn::PairScore::dynamic ? columns : 1;
        const Matrix vectors = random_matrix(heads, of_head, 3);
        const Matrix grad =
            random_matrix(owned.sources.size() + (one_loop ? destinations : 0), heads, 4);
        expect_same(
            [&](Operands& on) {
              InlineExecutor executor;
              const LayerBlock block = on.copied(owned);
              nn::PairAttention part;
              part.shape = {&block, heads, one_loop};
              part.score = score;
              part.slope = 0.25F;
              part.scale = 0.5F;
              part.source = on.copied(source);
              part.destination = on.copied(destination);
              part.vectors = on.copied(vectors);
              const MutMatrix sums = on.rows(heads, of_head);
              on.ops().pair_vectors_gradient(executor, part, on.copied(grad), sums);
              return Results{{on.fetched(sums)}, {}};
            },
            fmt::format("{} destinations, {} a head, loop {}", destinations, of_head, one_loop));
      }
    }
  }
}

}  // namespace
}  // namespace troupe::testing
