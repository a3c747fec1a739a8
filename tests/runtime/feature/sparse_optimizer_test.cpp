#include "runtime/feature/embedding/sparse_optimizer.hpp"

#include "runtime/feature/embedding/embedding_table.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/npy_reader.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t golden_rows = 20;
constexpr std::size_t golden_cols = 6;
constexpr std::size_t golden_ids = 8;

template <class T>
std::vector<T> golden(const std::string& name) {
  return testing::read_npy(std::filesystem::path(TROUPE_SOURCE_DIR) / "tests/goldens/optim/sparse" /
                           (name + ".npy"))
      .as<T>();
}

void expect_near(std::span<const float> actual, std::span<const double> truth,
                 const std::string& what) {
  double most = 0;
  for (const double value : truth) {
    most = std::max(most, std::abs(value));
  }
  for (std::size_t i = 0; i < truth.size(); ++i) {
    ASSERT_LE(std::abs(static_cast<double>(actual[i]) - truth[i]), 2e-6 * most) << what << " " << i;
  }
}

class SparseGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(SparseGolden, MatchesEveryStepAndTheFinalState) {
  const std::string kind = GetParam();
  auto rows = golden<float>("start");
  const auto ids = golden<std::int64_t>("ids");
  const auto grads = golden<float>("grads");
  const auto truth = golden<double>(kind + "/steps_f64");
  const EmbeddingOptions table{
      .name = "t",
      .dim = golden_cols,
      .optimizer = {
          .kind = kind, .lr = kind == "adam" ? 0.01 : 0.1, .eps = default_sparse_eps(kind)}};
  const auto state_cols = sparse_state_cols(table);
  std::vector<float> state(golden_rows * state_cols);

  for (std::size_t t = 0; t < 10; ++t) {
    std::map<std::int64_t, std::vector<float>> sums;
    for (std::size_t i = 0; i < golden_ids; ++i) {
      auto& sum = sums[ids[t * golden_ids + i]];
      sum.resize(golden_cols);
      for (std::size_t c = 0; c < golden_cols; ++c) {
        sum[c] += grads[(t * golden_ids + i) * golden_cols + c];
      }
    }
    const SparseStep step(table.optimizer, t + 1);
    for (const auto& [id, sum] : sums) {
      const auto row = static_cast<std::size_t>(id);
      step.update(sum, std::span(rows).subspan(row * golden_cols, golden_cols),
                  std::span(state).subspan(row * state_cols, state_cols));
    }
    expect_near(rows, std::span(truth).subspan(t * rows.size(), rows.size()),
                "step " + std::to_string(t));
  }
  if (kind == "adagrad") {
    return expect_near(state, golden<double>("adagrad/sum_f64"), "sum");
  }
  const auto mean = golden<double>("adam/exp_avg_f64");
  const auto square = golden<double>("adam/exp_avg_sq_f64");
  for (std::size_t row = 0; row < golden_rows; ++row) {
    const auto of_row = std::span(state).subspan(row * state_cols, state_cols);
    expect_near(of_row.first(golden_cols), std::span(mean).subspan(row * golden_cols, golden_cols),
                "mean");
    expect_near(of_row.last(golden_cols), std::span(square).subspan(row * golden_cols, golden_cols),
                "square");
  }
}

INSTANTIATE_TEST_SUITE_P(SparseSteps, SparseGolden, ::testing::Values("adagrad", "adam"));

TEST(SparseStep, RowAdagradDividesByTheRootOfTheMeanOfSquares) {
  const SparseOptimizerOptions options{
      .kind = "row_adagrad", .lr = 0.5, .eps = 1e-10, .initial_accumulator = 1};
  std::vector<float> row{1, -2, 0.5F};
  std::vector<float> state{initial_sparse_state(options)};
  std::vector<double> twin{1, -2, 0.5};
  double sum = 1;

  for (std::uint64_t t = 1; t <= 3; ++t) {
    const auto g = static_cast<float>(t);
    const std::vector<float> gradient{g, -0.5F * g, 0};
    SparseStep(options, t).update(gradient, row, state);
    double squares = 0;
    for (const float value : gradient) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    sum += squares / 3;
    for (std::size_t c = 0; c < twin.size(); ++c) {
      twin[c] -= 0.5 * static_cast<double>(gradient[c]) / (std::sqrt(sum) + 1e-10);
    }
    expect_near(row, twin, "step " + std::to_string(t));
  }
  EXPECT_NEAR(state[0], sum, 1e-6);
}

TEST(SparseStep, SgdHasNoState) {
  EXPECT_EQ(sparse_state_cols({.name = "t", .dim = 5, .optimizer = {.kind = "sgd"}}), 0U);
  EXPECT_EQ(sparse_state_cols({.name = "t", .dim = 5, .optimizer = {.kind = "row_adagrad"}}), 1U);
  EXPECT_EQ(sparse_state_cols({.name = "t", .dim = 5, .optimizer = {.kind = "adam"}}), 10U);
  std::vector<float> row{1, 2};
  SparseStep({.kind = "sgd", .lr = 0.5}, 1).update(std::vector<float>{2, -4}, row, {});
  EXPECT_EQ(row, (std::vector<float>{0, 4}));
}

}  // namespace
}  // namespace troupe
