#pragma once
/// \file number_losses.hpp
/// The losses of numbers, of nodes and of edges, by name: a row each.
#include "runtime/base/kinds.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/loss.hpp"

#include <span>
#include <string_view>

namespace troupe::nn {

struct NumberLossKind {
  std::string_view name;                           ///< as in the job file
  std::span<const std::string_view> options = {};  ///< keys of `train` that it reads
  NumberRule rule = NumberRule::squared;
  std::string_view metric;  ///< score that the best epoch is chosen by where the job names none
};

std::span<const NumberLossKind> number_loss_kinds();

/// The loss is that of a row of number_loss_kinds().
bool predicts_numbers(std::string_view loss);

/// \errors invalid_argument: no loss of numbers, a delta that is not positive
Result<NumberLoss> make_number_loss(std::string_view loss, double delta);

}  // namespace troupe::nn
