// The end of a combination and the way back: bias, normalization, activation and dropout, at each width. A
// GPU has the CPU's bits but for GELU and ELU.
#include "tests/gpu/block_ops_support.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_matrix;

class FinishOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, FinishOps, ::testing::ValuesIn(tested_devices), name_of_device);

struct End {
  const char* name;
  bool relu;
  nn::Activation activation;
  bool exact;  ///< on a GPU, too
};
constexpr std::array all_ends{
    End{"none", false, nn::Activation::none, true},
    End{"relu", true, nn::Activation::none, true},
    End{"leaky", false, nn::Activation::leaky_relu, true},
    End{"elu", false, nn::Activation::elu, false},
    End{"gelu", false, nn::Activation::gelu, false},
};

/// Around those of warps and chunks, and none.
constexpr std::array<std::size_t, 8> tried_rows{
    0, 1, 31, 32, 33, nn::chunk_rows - 1, nn::chunk_rows, nn::chunk_rows + 1};
/// Some that fours divide, and others.
constexpr std::array<std::size_t, 6> tried_cols{1, 3, 4, 47, 100, 256};

/// What an operation is tried with.
struct Tried {
  std::size_t rows;
  std::size_t cols;
  End end;
  bool drops;
  bool bias;
  std::string name() const {
    return fmt::format("{} rows, {} columns, {}, dropout {}, bias {}", rows, cols, end.name, drops,
                       bias);
  }
};

nn::Finish finish_of(Operands& on, const Tried& tried) {
  std::vector<OriginalId> ids;
  for (std::size_t i = 0; i < tried.rows; ++i) {
    ids.push_back(OriginalId{0xFFFFFFF0U + 11 * std::uint64_t{i}});
  }
  nn::Finish finish;
  finish.relu = tried.end.relu;
  finish.activation = tried.end.activation;
  finish.slope = 0.125F;
  if (tried.drops) {
    finish.mask =
        nn::dropout_mask({.training = true, .job_seed = 5, .stream_epoch = 1, .batch = 2}, 1, 0.4F);
    const auto there = on.room<OriginalId>(ids.size());
    on.ops().upload(ids.data(), there.data(), ids.size() * sizeof(OriginalId));
    EXPECT_OK(on.ops().finish());
    finish.ids = there;
  }
  return finish;
}

/// \param offset  elements by which the rows begin later than memory
Results ended(Operands& on, const Tried& tried, const Matrix& x, const nn::Finish& finish,
              std::size_t offset) {
  nn::TermWork own;
  own.source = on.copied_at(x, offset);
  return combined(on, {own}, finish, tried.rows, tried.cols,
                  {.bias = tried.bias, .offset = offset});
}
Results ended(Operands& on, const Tried& tried, const Matrix& x, std::size_t offset = 0) {
  return ended(on, tried, x, finish_of(on, tried), offset);
}

TEST_P(FinishOps, EachActivationAtEachWidth) {
  for (const std::size_t rows : tried_rows) {
    for (const std::size_t cols : tried_cols) {
      const Matrix x = random_matrix(rows, cols, rows + cols);
      for (const End& end : all_ends) {
        for (const unsigned how : {0U, 1U, 2U, 3U}) {
          const Tried tried{rows, cols, end, (how & 1U) != 0, (how & 2U) != 0};
          const auto operation = [&](Operands& on) { return ended(on, tried, x); };
          if (end.exact || !GetParam().cuda) {
            expect_same(operation, tried.name());
          } else {
            expect_near(of_the_device(operation), of_the_cpu(operation), 1e-5, tried.name());
          }
        }
      }
    }
  }
}

TEST_P(FinishOps, RowsThatBeginBetweenFoursAreTakenOneByOne) {
  for (const std::size_t offset : {1U, 2U, 3U, 4U}) {
    const Matrix x = random_matrix(33, 8, offset);
    for (const bool drops : {false, true}) {
      const Tried tried{33, 8, all_ends[1], drops, true};
      expect_same([&](Operands& on) { return ended(on, tried, x, offset); },
                  fmt::format("{}, {} elements later", tried.name(), offset));
    }
  }
}

/// Normalization, division by the length, and both, as they are with a bias, an activation and dropout.
TEST_P(FinishOps, WholeRowsAtEachWidth) {
  for (const std::size_t rows : tried_rows) {
    for (const std::size_t cols : {1U, 3U, 4U, 15U, 16U, 17U, 47U, 100U, 256U}) {
      Matrix x = random_matrix(rows, cols, rows + cols);
      if (rows > 2) {
        // Rows without a length, and with one too short to divide by.
        std::ranges::fill(x.view().slice(1, 1).flat(), 0.0F);
        std::ranges::fill(x.view().slice(2, 1).flat(), 1e-14F);
      }
      const Matrix gain = random_matrix(1, cols, 21);
      for (unsigned how = 1; how < 16; ++how) {
        const bool l2 = (how & 1U) != 0;
        const bool norm = (how & 2U) != 0;
        if (!l2 && !norm) {
          continue;
        }
        const bool ends = (how & 4U) != 0;
        const Tried tried{rows, cols, all_ends[ends ? 1 : 0], ends, (how & 8U) != 0};
        expect_same(
            [&](Operands& on) {
              nn::Finish finish = finish_of(on, tried);
              finish.l2 = l2;
              if (norm) {
                finish.norm_gain = on.copied(gain.view().flat());
                finish.norm_bias = finish.norm_gain;
              }
              return ended(on, tried, x, finish, 0);
            },
            fmt::format("{}, length {}, normalization {}", tried.name(), l2, norm));
      }
    }
  }
}

TEST_P(FinishOps, NumbersThatAreNoneComeThrough) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 5> special{std::numeric_limits<float>::quiet_NaN(), infinity,
                                         -infinity, -0.0F, 1e-42F};
  for (const std::size_t rows : {1U, 33U, 513U}) {
    for (const std::size_t cols : {3U, 4U, 256U}) {
      Matrix x = random_matrix(rows, cols, 2);
      for (std::size_t i = 0; i < x.view().size(); i += 1 + i % 7) {
        x.data()[i] = special[i % special.size()];
      }
      for (const End& end : all_ends) {
        if (!end.exact && GetParam().cuda) {
          continue;
        }
        for (const bool drops : {false, true}) {
          const Tried tried{rows, cols, end, drops, true};
          expect_same_numbers([&](Operands& on) { return ended(on, tried, x); }, tried.name());
        }
      }
    }
  }
}

TEST_P(FinishOps, ColumnsOfNegativeZerosAreZero) {
  Matrix zeros(600, 4);
  for (float& value : zeros.view().flat()) {
    value = -0.0F;
  }
  expect_same(
      [&](Operands& on) {
        InlineExecutor executor;
        nn::FinishState state(on.memory());
        const MutMatrix grad = on.copied(zeros);
        const auto sums = on.ops().finish_backward(executor, {}, state, grad);
        Results results;
        results.floats = {on.fetched(sums), on.fetched(grad)};
        return results;
      },
      "zeros");
}

}  // namespace
}  // namespace troupe::testing
