#pragma once
/// \file link_loss.hpp
/// Losses of links: scores of true links against scores of false ones drawn for each. They are sums
/// with the number of terms, as those in loss.hpp, so that ranks add both up and divide once; sums
/// run row by row in one thread. A NaN score shows as a NaN loss.
#include "runtime/nn/ops/loss.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

struct LinkScores {
  std::span<const float> positive;  ///< [n]: of true links; higher is more likely
  ConstMatrix negative;             ///< [n, k]: of the false links drawn for each; k may be 0
};

/// Gradient of the loss's sum by each score; of the scores' shapes (asserted), written.
struct LinkGradients {
  std::span<float> positive;
  MutMatrix negative;
};

/// Asserts that gradients have the shapes of the scores, for losses of links wherever they are.
void check_link_shapes(const LinkScores& scores, const LinkGradients& gradients);

/// Binary cross entropy, each score a term: sum of softplus(-positive) + sum of softplus(negative);
/// weight n + n k.
LossResult link_bce(const LinkScores& scores, const LinkGradients& gradients);

/// Binary cross entropy where true and false links count the same: sum over rows of
/// (softplus(-positive) + mean of the row's softplus(negative)) / 2; weight n.
/// Without negatives their half is 0.
LossResult link_bce_balanced(const LinkScores& scores, const LinkGradients& gradients);

/// Margin ranking: sum over all pairs of a row of max(0, margin - positive + negative); weight n k
/// (Bordes et al., "Translating embeddings for modeling multi-relational data", 2013).
/// Where the maximum is exactly 0 its gradient is 0, as ReLU's; PyTorch passes it on there.
LossResult link_margin(const LinkScores& scores, double margin, const LinkGradients& gradients);

/// Self-adversarial negatives: sum over rows of (softplus(-positive) + sum over the row of
/// p softplus(negative)) / 2, p = softmax(temperature * negatives of the row), a constant without
/// gradient; weight n (Sun et al., "RotatE", 2019, whose margin is part of the scores here).
/// Without negatives their half is 0.
LossResult link_self_adversarial(const LinkScores& scores, double temperature,
                                 const LinkGradients& gradients);

/// Softmax cross entropy of each true link among itself and its false ones: sum over rows of
/// log(exp(positive) + sum of exp(negatives)) - positive; weight n (sampled softmax; "InfoNCE" of van
/// den Oord et al., "Representation learning with contrastive predictive coding", 2018). Without
/// negatives 0.
LossResult link_softmax(const LinkScores& scores, const LinkGradients& gradients);

enum class LinkRule : std::uint8_t { bce, balanced, margin, self_adversarial, softmax };

/// One of the losses above.
struct LinkLoss {
  LinkRule rule = LinkRule::bce;
  double margin = 1;       ///< of margin
  double temperature = 1;  ///< of self_adversarial
};

/// The weight of a loss of so many links with so many negatives each.
std::uint64_t link_terms(LinkRule rule, std::size_t links, std::size_t negatives);
/// On the CPU.
LossResult link_loss(const LinkLoss& loss, const LinkScores& scores,
                     const LinkGradients& gradients);

/// A loss as a set of functions computes it; all arrays are in its memory.
struct LinkLossWork {
  LinkLoss loss;
  LinkScores scores;
  LinkGradients gradients;
  double* sum;  ///< gets the sum of the losses
};

}  // namespace troupe::nn
