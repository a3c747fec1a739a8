// A step of a table whose rows are all touched has the bits of the optimizer of dense parameters.
#include "runtime/feature/embedding/sparse_optimizer.hpp"
#include "runtime/nn/optimizer.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(SparseStep, OfAllRowsIsADenseStep) {
  constexpr std::size_t rows = 37;
  constexpr std::size_t cols = 5;
  for (const std::string kind : {"sgd", "adagrad"}) {
    const SparseOptimizerOptions sparse{
        .kind = kind, .lr = 0.1, .initial_accumulator = kind == "sgd" ? 0 : 0.25};
    ASSERT_OK_AND_ASSIGN(const auto dense,
                         make_optimizer({.kind = kind,
                                         .lr = sparse.lr,
                                         .eps = sparse.eps,
                                         .initial_accumulator = sparse.initial_accumulator},
                                        rows * cols));
    Matrix table = random_matrix(rows, cols, 3);
    Matrix parameters = copy_of(table.view());
    const EmbeddingOptions options{.name = "t", .dim = cols, .optimizer = sparse};
    Matrix state(rows, sparse_state_cols(options));
    std::ranges::fill(state.view().flat(), initial_sparse_state(sparse));

    for (std::uint64_t t = 1; t <= 20; ++t) {
      const Matrix gradient = random_matrix(rows, cols, 100 + t);
      dense->step(parameters.view().flat(), gradient.view().flat());
      const SparseStep step(sparse, t);
      for (std::size_t row = 0; row < rows; ++row) {
        step.update(gradient.view().row(row), table.view().row(row), state.view().row(row));
      }
      ASSERT_TRUE(
          same_bits(std::as_const(table).view().flat(), std::as_const(parameters).view().flat()))
          << kind << " step " << t;
    }
  }
}

}  // namespace
}  // namespace troupe::nn
