#pragma once
/// \file joined_features.hpp
/// Features of a batch's nodes beside their learned rows: the columns [features | learned].
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/embedding/learned_batch.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Lifecycle: join(), then views() for the network and, after its backward pass, learned()
/// Threads:   one at a time
class JoinedFeatures {
 public:
  /// \param learned  null: none
  /// \errors failed_precondition: rows of other nodes than the batch has, or features on a device
  Status join(const Batch& batch, std::shared_ptr<const LearnedInputs> learned);
  /// By node type; without columns where the type has no table. Valid until the next join().
  std::span<const ConstMatrix> views() const { return views_; }
  /// Whether a type has learned columns.
  bool has(std::size_t type) const { return type < views_.size() && views_[type].cols > 0; }
  /// The learned columns of a gradient of the joined ones.
  Matrix learned_columns(std::size_t type, Matrix gradient) const;

 private:
  std::shared_ptr<const LearnedInputs> learned_;
  std::vector<Matrix> joined_;  ///< by node type, where there are features too
  std::vector<ConstMatrix> views_;
};

}  // namespace troupe
