#pragma once
/// \file optimizer.hpp
/// Optimizers over one flat parameter vector, as PyTorch defines them.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
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

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One step in place.
  /// \requires both have the size given at construction
  virtual void step(std::span<float> parameters, std::span<const float> gradient) = 0;
  virtual OptimizerState state() const = 0;
  virtual Status restore(const OptimizerState& state) = 0;
  void set_lr(double lr) { lr_ = lr; }
  double lr() const { return lr_; }

 protected:
  explicit Optimizer(double lr) : lr_(lr) {}
  double lr_;
};

/// \errors invalid_argument: a rate or moment out of range; unimplemented: a kind that is not built
/// yet
Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  std::size_t num_parameters);

}  // namespace troupe::nn
