#include "runtime/run/joined_features.hpp"

#include "runtime/nn/ops/row_ops.hpp"

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
    if (rows.rows != nodes || (batch.on_device && ops_.memory() == nullptr)) {
      return Error(Errc::failed_precondition,
                   fmt::format("learned rows: expected those of {} nodes of type {}, and features "
                               "in the memory that is computed in, found {} rows",
                               nodes, t, rows.rows));
    }
    views_[t] = batch.on_device ? joined_on_device(t, batch.on_device->features[t], rows)
                                : joined_on_host(t, batch.rows[t].features.view(), rows);
  }
  return ok_status();
}

ConstMatrix JoinedFeatures::joined_on_host(std::size_t type, ConstMatrix features,
                                           ConstMatrix rows) {
  if (features.cols == 0) {
    return rows;
  }
  joined_[type] = Matrix(rows.rows, features.cols + rows.cols);
  nn::join_columns(features, rows, joined_[type].view());
  return joined_[type].view();
}

/// Learned rows go up; the features are there.
ConstMatrix JoinedFeatures::joined_on_device(std::size_t type, ConstMatrix features,
                                             ConstMatrix rows) {
  while (on_device_.size() <= type) {
    on_device_.emplace_back(ops_.memory());
  }
  const MutMatrix there = on_device_[type].learned.matrix(rows.rows, rows.cols);
  ops_.upload(rows.data, there.data, rows.size() * sizeof(float));
  if (features.cols == 0) {
    return there;
  }
  const MutMatrix joined = on_device_[type].joined.matrix(rows.rows, features.cols + rows.cols);
  ops_.join_columns(features, there, joined);
  return joined;
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
