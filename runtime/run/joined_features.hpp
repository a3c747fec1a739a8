#pragma once
/// \file joined_features.hpp
/// Features of a batch's nodes beside their learned rows: the columns [features | learned].
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/embedding/learned_batch.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Lifecycle: join(), then views() for the network and, after its backward pass, learned_columns()
/// Threads:   one at a time
/// Owns:      joined rows, where the features are: in host memory, or in that of a device
class JoinedFeatures {
 public:
  /// \param ops  of the network; outlives this
  explicit JoinedFeatures(nn::BlockOps& ops) : ops_(ops) {}

  /// \param learned  null: none
  /// \errors failed_precondition: rows of other nodes than the batch has, or features on a device that
  ///   the operations are not on
  Status join(const Batch& batch, std::shared_ptr<const LearnedInputs> learned);
  /// By node type; without columns where the type has no table. In the device's memory where the
  /// batch's features are, else in the host's. Valid until the next join().
  std::span<const ConstMatrix> views() const { return views_; }
  /// Whether a type has learned columns.
  bool has(std::size_t type) const { return type < views_.size() && views_[type].cols > 0; }
  /// The learned columns of a gradient of the joined ones.
  Matrix learned_columns(std::size_t type, Matrix gradient) const;

 private:
  /// Rows of a type in the memory of a device, kept from batch to batch.
  struct OnDevice {
    explicit OnDevice(nn::PassMemory* memory) : learned(memory), joined(memory) {}
    nn::GrowBuffer<float> learned;
    nn::GrowBuffer<float> joined;
  };
  ConstMatrix joined_on_host(std::size_t type, ConstMatrix features, ConstMatrix rows);
  ConstMatrix joined_on_device(std::size_t type, ConstMatrix features, ConstMatrix rows);

  nn::BlockOps& ops_;
  std::shared_ptr<const LearnedInputs> learned_;
  std::vector<Matrix> joined_;       ///< by node type, where there are features too
  std::vector<OnDevice> on_device_;  ///< by node type
  std::vector<ConstMatrix> views_;
};

}  // namespace troupe
