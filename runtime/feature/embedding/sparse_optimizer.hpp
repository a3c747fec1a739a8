#pragma once
/// \file sparse_optimizer.hpp
/// Optimizers of tables of rows, of which each step touches some: rows that a step does not name keep
/// value and state.
#include "runtime/feature/embedding/options.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// One step of a table.
/// Threads: immutable; any number of rows at once
class SparseStep {
 public:
  /// \param number  steps of the table so far, this one included; from 1
  SparseStep(const SparseOptimizerOptions& options, std::uint64_t number);
  /// \param gradient  [dim] mean gradient of the row
  /// \param row       [dim]
  /// \param state     [sparse_state_cols]
  void update(std::span<const float> gradient, std::span<float> row, std::span<float> state) const {
    update_(*this, gradient, row, state);
  }

 private:
  using Update = void (*)(const SparseStep&, std::span<const float>, std::span<float>,
                          std::span<float>);
  static void sgd(const SparseStep&, std::span<const float>, std::span<float>, std::span<float>);
  static void adagrad(const SparseStep&, std::span<const float>, std::span<float>,
                      std::span<float>);
  static void row_adagrad(const SparseStep&, std::span<const float>, std::span<float>,
                          std::span<float>);
  static void adam(const SparseStep&, std::span<const float>, std::span<float>, std::span<float>);
  static Update update_of(const std::string& kind);

  Update update_;
  float rate_ = 0;
  float eps_ = 0;
  float share1_ = 0;  ///< 1 - beta1
  float beta2_ = 0;
  float share2_ = 0;  ///< 1 - beta2
};

/// State of a row before its first step.
float initial_sparse_state(const SparseOptimizerOptions& options);

}  // namespace troupe
