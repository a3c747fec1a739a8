#include "runtime/run/joined_features.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>

namespace troupe {

Status JoinedFeatures::join(const Batch& batch, std::shared_ptr<const LearnedInputs> learned) {
  learned_ = std::move(learned);
  views_.clear();
  joined_.clear();
  if (learned_ == nullptr) {
    return ok_status();
  }
  views_.resize(learned_->size());
  joined_.resize(learned_->size());
  for (std::size_t t = 0; t < learned_->size(); ++t) {
    const auto rows = (*learned_)[t].view();
    if (rows.cols == 0) {
      continue;
    }
    const auto nodes = batch.sampled->nodes[t].ids.size();
    if (rows.rows != nodes || batch.on_device) {
      return Error(Errc::failed_precondition,
                   fmt::format("learned rows: expected those of {} nodes of type {}, and features "
                               "in host memory, found {} rows",
                               nodes, t, rows.rows));
    }
    const auto features = batch.rows[t].features.view();
    if (features.cols == 0) {
      views_[t] = rows;
      continue;
    }
    joined_[t] = Matrix(nodes, features.cols + rows.cols);
    const auto to = joined_[t].view();
    for (std::size_t i = 0; i < nodes; ++i) {
      const auto end = std::ranges::copy(features.row(i), to.row(i).begin()).out;
      std::ranges::copy(rows.row(i), end);
    }
    views_[t] = to;
  }
  return ok_status();
}

Matrix JoinedFeatures::learned_columns(std::size_t type, Matrix gradient) const {
  const auto rows = (*learned_)[type].view();
  if (gradient.rows() == 0) {  // no layer reads them
    return Matrix::zeros(rows.rows, rows.cols);
  }
  if (gradient.cols() == rows.cols) {
    return gradient;
  }
  Matrix columns(rows.rows, rows.cols);
  const auto from = std::as_const(gradient).view();
  for (std::size_t i = 0; i < rows.rows; ++i) {
    std::ranges::copy(from.row(i).last(rows.cols), columns.view().row(i).begin());
  }
  return columns;
}

}  // namespace troupe
