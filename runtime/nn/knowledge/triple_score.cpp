#include "runtime/nn/knowledge/triple_score.hpp"

#include "runtime/nn/knowledge/query_rows.hpp"
#include "runtime/nn/ops/row_ops.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {

void relation_factors(const TripleScore& score, ConstMatrix relations, MutMatrix factors) {
  TROUPE_ASSERT(
      relations.rows == factors.rows && relations.cols == score.relation_cols(factors.cols),
      "rows of relations", relations.rows, relations.cols, factors.rows, factors.cols);
  if (!score.row().angles) {
    std::ranges::copy(relations.flat(), factors.data);
    return;
  }
  for (std::size_t i = 0; i < relations.rows; ++i) {
    const auto angle = relations.row(i);
    const auto out = factors.row(i);
    for (std::size_t k = 0; k < angle.size(); ++k) {
      out[k] = std::cos(angle[k]);
      out[angle.size() + k] = std::sin(angle[k]);
    }
  }
}

void query_rows(const TripleScore& score, ReplacedEnd replaced, ConstMatrix known,
                ConstMatrix factors, MutMatrix queries) {
  query_rows(score, replaced, PlacedRows(known), PlacedRows(factors), queries);
}

void query_backward(const TripleScore& score, ReplacedEnd replaced, ConstMatrix known,
                    ConstMatrix factors, ConstMatrix grad_queries, const QueryGradients& grads) {
  TROUPE_ASSERT(known.rows == factors.rows && known.cols == factors.cols &&
                    known.rows == grad_queries.rows && known.cols == grad_queries.cols &&
                    grads.known.rows == known.rows && grads.known.cols == known.cols &&
                    grads.relations.rows == known.rows &&
                    grads.relations.cols == score.relation_cols(known.cols),
                "gradients of queries", known.rows, known.cols, factors.rows, grad_queries.rows,
                grads.known.rows, grads.relations.rows, grads.relations.cols);
  for (std::size_t i = 0; i < known.rows; ++i) {
    const QueryRow query{known.row(i).data(), factors.row(i).data(), grad_queries.row(i).data()};
    known_gradient(score, replaced, query, grads.known.row(i));
    relation_gradient(score, replaced, query, grads.relations.row(i));
  }
}

void unit_rows(int norm, ConstMatrix rows, MutMatrix out, std::span<float> lengths) {
  if (rows.data != out.data) {
    std::ranges::copy(rows.flat(), out.data);
  }
  if (norm == 2) {
    l2_normalize_rows(out, lengths);
    return;
  }
  for (std::size_t i = 0; i < out.rows; ++i) {
    float length = 0;
    for (const float value : out.row(i)) {
      length += std::abs(value);
    }
    lengths[i] = std::max(length, shortest_length);
    for (float& value : out.row(i)) {
      value /= lengths[i];
    }
  }
}

void unit_backward(int norm, ConstMatrix out, std::span<const float> lengths, MutMatrix grad) {
  if (norm == 2) {
    l2_normalize_backward_rows(out, lengths, grad);
    return;
  }
  for (std::size_t i = 0; i < out.rows; ++i) {
    const auto unit = out.row(i);
    const auto row = grad.row(i);
    float along = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      along += unit[c] * row[c];
    }
    const bool shortest = lengths[i] <= shortest_length;  // the divisor is a constant there
    for (std::size_t c = 0; c < row.size(); ++c) {
      const float sign = unit[c] > 0 ? 1.0F : (unit[c] < 0 ? -1.0F : 0.0F);
      row[c] = (row[c] - (shortest ? 0.0F : sign * along)) / lengths[i];
    }
  }
}

}  // namespace troupe::nn
