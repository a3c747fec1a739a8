#pragma once
/// \file seed_loss_pass.hpp
/// The loss over a batch's seeds, where the network computes.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/seed_loss.hpp"
#include "runtime/nn/ops/staged_arrays.hpp"

#include <cstdint>

namespace troupe::nn {

/// Lifecycle: compute(), then sum(); again, at most one compute() before the sum of the one before has come
/// Borrows:   `ops`
class SeedLossPass {
 public:
  explicit SeedLossPass(BlockOps& ops);

  /// \param loss  in host memory; on a device read before this returns
  /// \param rows  where the functions compute
  /// \returns their gradient there, until the next call
  ConstMatrix compute(const SeedLoss& loss, ConstMatrix rows);
  /// LossResult::weight of the last compute().
  std::uint64_t weight() const { return weight_; }
  /// Of its losses.
  LaterNumber sum() { return ops_.number_later(sum_.get(1).data()); }

 private:
  SeedLossWork staged(const SeedLoss& loss, ConstMatrix rows);

  BlockOps& ops_;
  StagedArrays arrays_;
  GrowBuffer<float> grad_;
  GrowBuffer<double> sum_;
  std::uint64_t weight_ = 0;
};

}  // namespace troupe::nn
