#pragma once
/// \file link_loss_stage.hpp
/// Losses of links on a stream.
#include "gpu/base/array.hpp"
#include "gpu/nn/link_loss_bodies.hpp"
#include "runtime/nn/ops/link_loss.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe::gpu {

/// \returns the number of the terms
template <class Stream>
std::size_t link_terms_stage(Stream& on, const nn::LinkLoss& loss, const ScoredLinks& links,
                             std::size_t count, double* terms) {
  const std::size_t columns = 1 + links.negatives;
  const double each = 0.5 / static_cast<double>(std::max<std::size_t>(1, links.negatives));
  if (loss.rule == nn::LinkRule::bce || loss.rule == nn::LinkRule::balanced) {
    const bool balanced = loss.rule == nn::LinkRule::balanced;
    on.for_rows(count, columns,
                BinaryLink{links, balanced ? 0.5 : 1.0, balanced ? each : 1.0, terms});
    return count * columns;
  }
  if (loss.rule == nn::LinkRule::margin) {
    on.for_rows(count, links.negatives, MarginTerm{links, loss.margin, terms});
    on.for_each(count, MarginLink{links});
    return count * links.negatives;
  }
  const auto largest = on.template array<double>(count);
  const auto sums = on.template array<double>(count);
  const LinkSoftmax softmax{largest.data(), sums.data()};
  if (loss.rule == nn::LinkRule::self_adversarial) {
    on.for_each(count, LinkExponentials{links, 1, loss.temperature, largest.data(), sums.data()});
    on.for_rows(count, columns, AdversarialLink{links, softmax, loss.temperature, terms});
    return count * columns;
  }
  on.for_each(count, LinkExponentials{links, 0, 1.0, largest.data(), sums.data()});
  on.for_each(count, SoftmaxTerm{links, softmax, terms});
  on.for_rows(count, columns, SoftmaxGradient{links, softmax});
  return count;
}

template <class Stream>
void link_loss_stage(Stream& on, const nn::LinkLossWork& work) {
  const std::size_t count = work.scores.positive.size();
  const std::size_t negatives = work.scores.negative.cols;
  const ScoredLinks links{work.scores.positive.data(), work.scores.negative.data, negatives,
                          work.gradients.positive.data(), work.gradients.negative.data};
  const auto terms = on.template array<double>(count * (1 + negatives));
  const std::size_t of_sum = link_terms_stage(on, work.loss, links, count, terms.data());
  on.for_each(1, SumInOrder{terms.data(), of_sum, work.sum});
}

}  // namespace troupe::gpu
