#pragma once
/// \file trained_parameters.hpp
/// The parameters of a network with their gradient, their optimizer and those of the best epoch: where
/// the network's operations are computed, on the CPU or on a device.
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/ops_array.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/nn/parameter_list.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// Threads: one at a time; values() and read() also beside a pass that reads the parameters, in host
///   memory
/// Borrows: the functions. Spans of device memory are for them alone
/// Errors:  of a device stay with it (BlockOps::finish()); what is read are zeros then
class TrainedParameters {
 public:
  /// \param optimizer  made for `ops` and as many parameters
  /// \param clip       longest mean gradient; 0: not clipped
  TrainedParameters(BlockOps& ops, const ParameterLayout& layout, std::span<const float> initial,
                    std::unique_ptr<Optimizer> optimizer, double clip);

  std::span<const float> values() const { return values_.values(); }
  /// The best epoch's, or the present ones.
  std::span<const float> best_values() const { return best_ ? best_->values() : values(); }
  std::span<float> gradient() { return gradient_.values(); }

  /// Multiplies the batch's statistics in the gradient by its weight: their mean over ranks is weighted
  /// as that of gradients.
  void weigh_statistics(std::uint64_t weight);
  /// A step with the mean gradient over all ranks, clipped. \param mean  in host memory
  void step(std::span<const float> mean);
  /// The same with one rank: the mean is gradient(), divided in place.
  void own_step(std::uint64_t weight);
  /// The same where the mean has come in place of gradient().
  void mean_step() { step_there(gradient()); }

  void keep_best();
  bool has_best() const { return best_.has_value(); }

  // Copies in host memory.
  std::vector<float> read() const { return values_.read(); }
  std::vector<float> read(std::size_t first, std::size_t count) const {
    return values_.read(first, count);
  }
  std::vector<float> read_best() const { return best_ ? best_->read() : read(); }
  std::vector<float> read_gradient() const { return gradient_.read(); }

  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  /// \param best  empty: there is none
  /// \requires as many parameters
  void restore(std::span<const float> parameters, std::span<const float> best);

 private:
  void step_there(std::span<const float> mean);
  void update(std::span<const float> mean);

  BlockOps& ops_;
  std::unique_ptr<Optimizer> optimizer_;
  double clip_;
  std::vector<ParameterSlice> statistics_;  ///< slices that are not trained
  OpsArray values_;
  OpsArray gradient_;
  OpsArray mean_;   ///< of a device, or where there are statistics
  OpsArray moved_;  ///< statistics after a step, one slice after the other
  std::optional<OpsArray> best_;
};

}  // namespace troupe::nn
