#include "runtime/run/task/link_queries.hpp"

#include "runtime/nn/knowledge/entity_ranker.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Rows of one side of links, by link.
struct Side {
  ConstMatrix rows;
  std::span<const std::uint32_t> places;
};

Matrix gathered(const Side& side) {
  Matrix out(side.places.size(), side.rows.cols);
  for (std::size_t i = 0; i < side.places.size(); ++i) {
    std::ranges::copy(side.rows.row(side.places[i]), out.view().row(i).begin());
  }
  return out;
}

/// Writes queries and the keys of their answers.
void put(const nn::EntityRanker& ranker, const Matrix& queries, const Side& answers,
         std::size_t first, MutMatrix out) {
  std::vector<float> keys(queries.rows());
  const Matrix answer_rows = gathered(answers);
  ranker.answer_keys(answer_rows.view(), keys);
  for (std::size_t i = 0; i < queries.rows(); ++i) {
    const auto to = out.row(i).subspan(first, queries.cols() + 1);
    std::ranges::copy(queries.view().row(i), to.begin());
    to.back() = keys[i];
  }
}

void add_product(const Side& known, const Side& answers, std::span<const float> factors,
                 std::size_t first, MutMatrix out) {
  Matrix queries = gathered(known);
  for (std::size_t i = 0; !factors.empty() && i < queries.rows(); ++i) {
    std::ranges::transform(queries.view().row(i), factors, queries.view().row(i).begin(),
                           std::multiplies<>());
  }
  put({link_product, std::as_const(queries).view()}, queries, answers, first, out);
}

/// \param of_source  the source is asked for, and the destination known
void add_hinges(const Side& known, const Side& answers, const nn::PerceptronOfPairs& perceptron,
                bool of_source, std::size_t first, MutMatrix out) {
  const auto& of_known = of_source ? perceptron.destination : perceptron.source;
  const auto& of_answer = of_source ? perceptron.source : perceptron.destination;
  const Matrix rows = gathered(known);
  Matrix queries(rows.rows(), of_known.rows);
  nn::linear_rows(rows.view(), of_known, queries.view(), nn::Into::overwrite);
  for (std::size_t i = 0; i < queries.rows(); ++i) {
    std::ranges::transform(queries.view().row(i), perceptron.bias, queries.view().row(i).begin(),
                           std::plus<>());
  }
  put({nn::HalfPerceptron{of_answer, perceptron.out}, std::as_const(queries).view()}, queries,
      answers, first, out);
}

Segment packed(ConstMatrix matrix, std::span<const float> factors) {
  std::vector<float> values(matrix.flat().begin(), matrix.flat().end());
  values.insert(values.end(), factors.begin(), factors.end());
  return Segment::of(std::move(values));
}

bool is_perceptron(const nn::ModelOptions& model) {
  return model.decoder.kind == "mlp";
}

}  // namespace

std::size_t query_cols(const nn::ModelOptions& model) {
  return is_perceptron(model) ? model.decoder.hidden : model.out_dim;
}

LinkWeights link_weights(const nn::ModelOptions& model, std::span<const float> parameters) {
  if (!is_perceptron(model)) {
    return {};
  }
  const auto parts = nn::perceptron_of(model.decoder, model.out_dim, parameters);
  return {packed(parts.destination, parts.out), packed(parts.source, parts.out)};
}

void add_link_queries(const LinkEnds& ends, MutMatrix out) {
  const Side sources{ends.sources, ends.of};
  const Side destinations{ends.destinations, ends.to};
  const auto second = out.cols / 2;
  if (ends.perceptron) {
    add_hinges(sources, destinations, *ends.perceptron, false, 0, out);
    add_hinges(destinations, sources, *ends.perceptron, true, second, out);
    return;
  }
  add_product(sources, destinations, ends.factors, 0, out);
  add_product(destinations, sources, ends.factors, second, out);
}

}  // namespace troupe
