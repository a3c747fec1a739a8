#include "runtime/nn/decoder.hpp"

#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr std::size_t row_cols = 6;

std::size_t parameters_of(const DecoderOptions& options) {
  std::size_t count = 0;
  for (const auto& parameter : decoder_parameters(options, row_cols)) {
    count += parameter.rows * parameter.cols;
  }
  return count;
}

/// What decoders compute, in float64.
std::vector<double> twin_outputs(const DecoderOptions& options, std::span<const float> parameters,
                                 const RowPairs& pairs) {
  std::vector<double> outputs;
  const std::size_t hidden = options.hidden;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto u = pairs.sources.row(pairs.of[i]);
    const auto v = pairs.destinations.row(pairs.to[i]);
    if (options.kind != "mlp") {
      for (std::size_t r = 0; r < options.outputs; ++r) {
        double sum = 0;
        for (std::size_t c = 0; c < row_cols; ++c) {
          const double factor = options.kind == "dot" ? 1 : parameters[r * row_cols + c];
          sum += static_cast<double>(u[c]) * factor * v[c];
        }
        outputs.push_back(sum);
      }
      continue;
    }
    const float* const of_source = parameters.data();
    const float* const of_destination = of_source + hidden * row_cols;
    const float* const bias = of_destination + hidden * row_cols;
    const float* const out = bias + hidden;
    const float* const out_bias = out + options.outputs * hidden;
    std::vector<double> between(hidden);
    for (std::size_t h = 0; h < hidden; ++h) {
      double sum = bias[h];
      for (std::size_t c = 0; c < row_cols; ++c) {
        sum += static_cast<double>(of_source[h * row_cols + c]) * u[c] +
               static_cast<double>(of_destination[h * row_cols + c]) * v[c];
      }
      between[h] = std::max(0.0, sum);
    }
    for (std::size_t o = 0; o < options.outputs; ++o) {
      double sum = out_bias[o];
      for (std::size_t h = 0; h < hidden; ++h) {
        sum += static_cast<double>(out[o * hidden + h]) * between[h];
      }
      outputs.push_back(sum);
    }
  }
  return outputs;
}

class EachDecoder : public ::testing::TestWithParam<DecoderOptions> {
 protected:
  void SetUp() override {
    for (std::uint32_t i = 0; i < 30; ++i) {
      of_.push_back(i * 5 % 11);
      to_.push_back(i * i % 9);
    }
    const Matrix values = random_matrix(parameters_of(GetParam()) + 1, 1, 4);
    parameters_.assign(values.view().flat().begin(), values.view().flat().end() - 1);
  }
  RowPairs pairs() const { return {rows_.view(), others_.view(), of_, to_}; }

  Matrix rows_ = random_matrix(12, row_cols, 1);
  Matrix others_ = random_matrix(9, row_cols, 2);
  std::vector<std::uint32_t> of_;
  std::vector<std::uint32_t> to_;
  std::vector<float> parameters_;
  InlineExecutor executor_;
  CpuBlockOps ops_;
};

TEST_P(EachDecoder, EqualsItsDefinitionAndGradientsEqualDifferences) {
  const auto decoder = make_decoder(GetParam(), row_cols, ops_);

  const auto outputs = decoder->forward(executor_, parameters_, pairs());

  ASSERT_EQ(outputs.rows, 30U);
  ASSERT_EQ(outputs.cols, GetParam().outputs);
  expect_close<float>(outputs.flat(), twin_outputs(GetParam(), parameters_, pairs()), 1e-5,
                      "outputs");
  const Matrix grad = random_matrix(30, GetParam().outputs, 7);
  Matrix of_rows = Matrix::zeros(12, row_cols);
  Matrix of_others = Matrix::zeros(9, row_cols);
  std::vector<float> of_parameters(parameters_.size(), NAN);
  decoder->backward(grad.view(), of_rows.view(), of_others.view(), of_parameters);
  const auto sum = [&] {
    const auto all = twin_outputs(GetParam(), parameters_, pairs());
    double result = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      result += all[i] * grad.data()[i];
    }
    return result;
  };
  const auto check = [&](std::span<float> values, std::span<const float> found, const char* what) {
    expect_differences(values, found, sum, {.step = 0x1p-12F, .tolerance = 2e-3}, what);
  };
  check(parameters_, of_parameters, "parameters");
  check(rows_.view().flat(), of_rows.view().flat(), "sources");
  check(others_.view().flat(), of_others.view().flat(), "destinations");
}

TEST_P(EachDecoder, BitsDoNotDependOnThreadsNorOnPassesBefore) {
  const auto decoder = make_decoder(GetParam(), row_cols, ops_);
  const Matrix first = copy_of(decoder->forward(executor_, parameters_, pairs()));
  const RowPairs few{rows_.view(), others_.view(), std::span(of_).first(3),
                     std::span(to_).first(3)};
  const Matrix of_few = copy_of(decoder->forward(executor_, parameters_, few));
  ComputePool pool(3);

  const auto again = decoder->forward(pool, parameters_, pairs());

  EXPECT_TRUE(same_bits(again.flat(), first.view().flat()));
  EXPECT_TRUE(same_bits(of_few.view().flat(), first.view().slice(0, 3).flat()));
}

TEST_P(EachDecoder, TakesBothEndsFromOneMatrix) {
  const auto decoder = make_decoder(GetParam(), row_cols, ops_);
  const Matrix copy = copy_of(rows_.view());
  const RowPairs apart{rows_.view(), copy.view(), of_, to_};
  const Matrix grad = random_matrix(30, GetParam().outputs, 7);
  const Matrix expected = copy_of(decoder->forward(executor_, parameters_, apart));
  Matrix of_sources = Matrix::zeros(12, row_cols);
  Matrix of_destinations = Matrix::zeros(12, row_cols);
  std::vector<float> of_parameters(parameters_.size());
  decoder->backward(grad.view(), of_sources.view(), of_destinations.view(), of_parameters);

  const RowPairs one{rows_.view(), rows_.view(), of_, to_};
  const auto outputs = decoder->forward(executor_, parameters_, one);
  EXPECT_TRUE(same_bits(outputs.flat(), expected.view().flat()));
  Matrix together = Matrix::zeros(12, row_cols);
  std::vector<float> same_parameters(parameters_.size());
  decoder->backward(grad.view(), together.view(), together.view(), same_parameters);

  std::vector<double> sums;
  for (std::size_t i = 0; i < together.view().size(); ++i) {
    sums.push_back(static_cast<double>(of_sources.data()[i]) + of_destinations.data()[i]);
  }
  expect_close<float>(together.view().flat(), sums, 1e-5, "rows");
  EXPECT_TRUE(same_bits(same_parameters, of_parameters));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EachDecoder,
    ::testing::Values(DecoderOptions{"dot", 64, 1}, DecoderOptions{"distmult", 64, 1},
                      DecoderOptions{"distmult", 64, 4}, DecoderOptions{"mlp", 5, 1},
                      DecoderOptions{"mlp", 70, 3}),
    [](const auto& test) { return test.param.kind + std::to_string(test.param.outputs); });

TEST(Decoders, AreNamedAndTheirParametersToo) {
  std::set<std::string> names;
  for (const auto& kind : decoder_kinds()) {
    const DecoderOptions options{std::string(kind.name), 8, 1};
    for (const auto& parameter : decoder_parameters(options, 4)) {
      EXPECT_TRUE(parameter.name.starts_with("decoder.")) << parameter.name;
      EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
    }
  }
  EXPECT_TRUE(names.contains("decoder.relations"));
  EXPECT_TRUE(names.contains("decoder.out.bias"));
}

}  // namespace
}  // namespace troupe::nn
