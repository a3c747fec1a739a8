#pragma once
/// \file chunk_loss.hpp
/// Losses of triples whose negatives are shared by a chunk, and the regularization of a step's
/// rows. Losses are sums with the number of terms, as those in loss.hpp. Terms are float32
/// (lane_math.hpp), as there are many; rows add up in float64, in order, in one thread. A NaN score
/// shows as a NaN loss.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/link_loss.hpp"

#include <cstdint>

namespace troupe::nn {

/// Softmax cross entropy of each positive among itself and its negatives: sum over rows of
/// -log(e^positive / (e^positive + Σ_k e^negative_k)); weight n. Without negatives it is 0.
LossResult chunk_softmax(const LinkScores& scores, const LinkGradients& gradients);

/// Self-adversarial negatives with a margin: what link_self_adversarial() is of margin + score, of
/// positives and negatives alike, so (softplus(-(margin + positive)) + Σ p softplus(margin +
/// negative)) / 2 with p = softmax(temperature * negatives), which a margin does not change (Sun et
/// al., 2019, whose distances are negative scores here).
/// \param memory  scratch
LossResult chunk_self_adversarial(const LinkScores& scores, double margin, double temperature,
                                  const LinkGradients& gradients, GrowBuffer<float>& memory);

/// What pulls rows towards 0.
enum class Regularization : std::uint8_t {
  none,
  l2,  ///< Σ x²
  n3,  ///< Σ |x|³, of complex rows the cubes of the moduli (Lacroix, Usunier and Obozinski, 2018)
};

/// Adds `factor` times the gradient of the sum over all rows to `grad`. A row that occurs several
/// times in a step counts as often as it is given.
/// \param complex_rows  rows are [re | im]
/// \returns the sum, without the factor
double regularize(Regularization kind, bool complex_rows, double factor, ConstMatrix rows,
                  MutMatrix grad);

}  // namespace troupe::nn
