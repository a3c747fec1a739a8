#pragma once
/// \file link_losses.hpp
/// The losses of links that a job can name, one row each.
#include "runtime/base/kinds.hpp"
#include "runtime/nn/ops/link_loss.hpp"

#include <span>
#include <string_view>

namespace troupe::nn {

struct LinkLossOptions {
  double margin = 1;       ///< of "margin"
  double temperature = 1;  ///< of "self_adversarial"
};

struct LinkLossKind {
  std::string_view name;                           ///< as in the job file
  std::span<const std::string_view> options = {};  ///< keys of `train` that it reads
  bool compares = false;  ///< a true link without false ones has nothing to learn from
  LinkRule rule = LinkRule::bce;
};

std::span<const LinkLossKind> link_loss_kinds();

}  // namespace troupe::nn
