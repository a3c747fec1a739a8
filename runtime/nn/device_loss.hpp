#pragma once
/// \file device_loss.hpp
/// The loss over a batch's seeds on a device.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/seed_loss.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::nn {

/// Lifecycle: compute(), then result() once nothing is needed of the batch; again
/// Borrows:   `ops`
class DeviceLoss {
 public:
  /// \requires ops.memory()
  explicit DeviceLoss(BlockOps& ops);

  /// \param loss  in host memory, read before this returns
  /// \param rows  on the device
  /// \returns their gradient there, until the next call
  ConstMatrix compute(const SeedLoss& loss, ConstMatrix rows);
  /// Waits for the device. \errors of the device
  Result<LossResult> result();

 private:
  template <class T>
  std::size_t staged(std::span<const T> values);
  template <class T>
  std::span<const T> at(std::size_t place, std::size_t count) const;

  BlockOps& ops_;
  std::vector<std::byte> staging_;  ///< what goes to the device, in one copy
  GrowBuffer<std::byte> inputs_;
  GrowBuffer<float> grad_;
  GrowBuffer<double> sum_;
  std::byte* there_ = nullptr;
  std::uint64_t weight_ = 0;
};

}  // namespace troupe::nn
