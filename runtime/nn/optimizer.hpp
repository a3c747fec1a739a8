#pragma once
/// \file optimizer.hpp
/// Optimizers over one flat parameter vector, as PyTorch defines them.
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/ops_array.hpp"
#include "runtime/nn/ops/optimizer_step.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::nn {

struct OptimizerOptions {
  std::string kind = "adam";  ///< "sgd", "adam", "adamw", "adagrad"
  double lr = 0.001;
  double weight_decay =
      0;  ///< added to the gradient (L2); AdamW: parameters shrink by 1 - lr * weight_decay first
  double momentum = 0;    ///< sgd
  bool nesterov = false;  ///< sgd
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;               ///< added after the root, which Adam corrects for bias first
  double lr_decay = 0;             ///< adagrad: step t has the rate lr / (1 + (t - 1) * lr_decay)
  double initial_accumulator = 0;  ///< adagrad: each sum of squares before the first step
};

/// PyTorch's default of `eps`: 1e-10 with "adagrad", else 1e-8.
double default_eps(const std::string& kind);

/// State that a checkpoint keeps: named flat arrays and the number of steps made.
struct OptimizerState {
  std::uint64_t steps = 0;
  std::vector<std::pair<std::string, std::vector<float>>> arrays;
};

/// Sgd, Adam (Kingma and Ba: "Adam", 2015), AdamW (Loshchilov and Hutter: "Decoupled weight decay
/// regularization", 2019), Adagrad (Duchi, Hazan and Singer: "Adaptive subgradient methods for online
/// learning and stochastic optimization", 2011).
/// Owns:   its state, in the memory of the functions that compute its steps
/// Errors: of a device stay with it (BlockOps::finish()); the state read are zeros then
class Optimizer {
 public:
  /// make_optimizer() checks the options.
  Optimizer(OptimizerOptions options, std::size_t num_parameters, BlockOps* ops);

  /// One step in place, in the memory of the functions.
  /// \param factor  [1] in that memory, of the gradient; null: 1
  /// \requires both have the size given at construction
  void step(std::span<float> parameters, std::span<const float> gradient,
            const float* factor = nullptr);
  OptimizerState state() const;
  Status restore(const OptimizerState& state);
  void set_lr(double lr) { lr_ = lr; }
  double lr() const { return lr_; }

 private:
  OptimizerStep next_step();

  OptimizerOptions options_;
  std::size_t size_;
  BlockOps* ops_;
  double lr_;
  std::uint64_t steps_ = 0;
  std::vector<std::pair<std::string, OpsArray>> arrays_;
};

/// \param ops  compute the steps, in their memory; null: on the CPU
/// \errors invalid_argument: a rate or moment out of range; unimplemented: a kind that is not built
/// yet
Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  std::size_t num_parameters,
                                                  BlockOps* ops = nullptr);

}  // namespace troupe::nn
