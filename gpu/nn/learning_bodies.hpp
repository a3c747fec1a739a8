#pragma once
/// \file learning_bodies.hpp
/// Kernel bodies of losses over seeds, of clipping and of optimizers (runtime/nn/ops/{loss,seed_loss,
/// optimizer_step}.hpp, runtime/nn/clip.hpp), with their bits but for exponentials and logarithms.
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "runtime/nn/clip.hpp"
#include "runtime/nn/ops/loss.hpp"
#include "runtime/nn/ops/optimizer_step.hpp"

#include <cmath>

namespace troupe::gpu {

/// A SeedLoss in device memory, with a place for the gradient and the term of each element.
struct SeedTerms {
  const float* rows;
  const std::uint32_t* row_of_seed;  ///< null: each seed has its own
  std::size_t cols;
  float* grad;    ///< [seeds, cols]
  double* terms;  ///< of cross entropy [seeds], else [seeds, cols]

  TROUPE_HD const float* row(std::size_t seed) const {
    return rows + (row_of_seed == nullptr ? seed : row_of_seed[seed]) * cols;
  }
  TROUPE_HD float value(std::size_t seed, std::size_t c) const { return row(seed)[c]; }
};

/// Softmax cross entropy: for each seed its largest logit and the sum of exponentials beside it.
struct SeedSoftmax {
  const float* largest;  ///< [seeds]
  const double* sums;    ///< [seeds]
};

/// Labels of seeds and what the loss of each class counts.
struct SeedClasses {
  const std::int64_t* labels;    ///< [seeds]; -1: unknown
  const std::uint64_t* weights;  ///< [classes]; null: 1

  TROUPE_HD double weight(std::size_t seed) const {
    const std::int64_t label = labels[seed];
    if (label == -1) {
      return 0;
    }
    return weights == nullptr ? 1.0 : static_cast<double>(weights[static_cast<std::size_t>(label)]);
  }
};

/// These, and the seeds' terms: 0 for seeds whose weight is 0.
struct SeedExponentials {
  static constexpr unsigned least_blocks = 1;
  SeedTerms at;
  SeedClasses classes;
  float* largest;
  double* sums;
  TROUPE_HD void operator()(std::size_t seed) const {
    const float* const row = at.row(seed);
    float most = row[0];
    in_order<16, 8>(
        std::size_t{1}, at.cols, [row](std::size_t c) { return row[c]; },
        [&most](std::size_t /*c*/, float logit) { most = most < logit ? logit : most; });
    // The exponentials of a batch do not wait for each other either.
    double sum = 0;
    in_order<4, 4>(
        std::size_t{0}, at.cols,
        [row, most](std::size_t c) {
          return exp(static_cast<double>(row[c]) - static_cast<double>(most));
        },
        [&sum](std::size_t /*c*/, double exponential) { sum += exponential; });
    largest[seed] = most;
    sums[seed] = sum;
    const double weight = classes.weight(seed);
    double term = 0;
    if (weight > 0) {
      const float logit = row[static_cast<std::size_t>(classes.labels[seed])];
      term = weight * (log(sum) + static_cast<double>(most) - static_cast<double>(logit));
    }
    at.terms[seed] = term;
  }
};

/// weight * (softmax - one-hot); 0 in seeds whose weight is 0.
struct CrossEntropyGradient {
  SeedTerms at;
  SeedSoftmax softmax;
  SeedClasses classes;
  TROUPE_HD void operator()(std::size_t seed, std::size_t c) const {
    const double above =
        static_cast<double>(at.value(seed, c)) - static_cast<double>(softmax.largest[seed]);
    const double probability = exp(above) / softmax.sums[seed];
    const bool is_label = static_cast<std::int64_t>(c) == classes.labels[seed];
    const double weight = classes.weight(seed);
    at.grad[seed * at.cols + c] =
        weight > 0 ? static_cast<float>(weight * (probability - (is_label ? 1.0 : 0.0))) : 0.0F;
  }
};

// As runtime/nn/ops/logistic.hpp.
TROUPE_HD inline double softplus_of(double x) {
  return (x < 0.0 ? 0.0 : x) + log1p(exp(-fabs(x)));
}
TROUPE_HD inline double sigmoid_of(double x) {
  const double e = exp(-fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/// NaN: unknown.
TROUPE_HD inline bool is_known(float target) {
  return target == target;
}

struct BinaryTerm {
  SeedTerms at;
  const float* targets;
  double pos_weight;
  const std::uint64_t* weights;  ///< [cols]; null: 1
  TROUPE_HD void operator()(std::size_t seed, std::size_t c) const {
    const std::size_t i = seed * at.cols + c;
    const double x = at.value(seed, c);
    const double y = targets[i];
    const double p = pos_weight;
    if (!is_known(targets[i])) {
      at.grad[i] = 0;
      at.terms[i] = 0;
      return;
    }
    const double w = weights == nullptr ? 1.0 : static_cast<double>(weights[c]);
    at.terms[i] = w * (p * y * softplus_of(-x) + (1 - y) * softplus_of(x));
    at.grad[i] = static_cast<float>(w * ((1 - y) * sigmoid_of(x) - p * y * sigmoid_of(-x)));
  }
};

struct TermOfNumber {
  SeedTerms at;
  const float* targets;
  nn::NumberLoss loss;
  TROUPE_HD void operator()(std::size_t seed, std::size_t c) const {
    const std::size_t i = seed * at.cols + c;
    const bool known = is_known(targets[i]);
    const double difference =
        static_cast<double>(at.value(seed, c)) - static_cast<double>(known ? targets[i] : 0.0F);
    const nn::NumberTerm term = nn::number_term(loss, difference);
    at.grad[i] = known ? static_cast<float>(term.slope) : 0.0F;
    at.terms[i] = known ? term.loss : 0.0;
  }
};

/// The gradients of a row's seeds, in the seeds' order.
struct SumOfSeeds {
  const std::uint32_t* row_begin;
  const std::uint32_t* by_row;
  const float* grad;  ///< [seeds, cols]
  std::size_t cols;
  float* grad_rows;
  TROUPE_HD void operator()(std::size_t row, std::size_t c) const {
    float sum = 0;
    for (std::uint32_t k = row_begin[row]; k < row_begin[row + 1]; ++k) {
      sum += grad[by_row[k] * cols + c];
    }
    grad_rows[row * cols + c] = sum;
  }
};

/// One element after the other, by one thread.
struct SumInOrder {
  static constexpr unsigned least_blocks = 1;
  const double* terms;
  std::size_t count;
  double* sum;
  TROUPE_HD void operator()(std::size_t /*one*/) const {
    double total = 0;
    in_order<32, 8>(
        std::size_t{0}, count, [this](std::size_t i) { return terms[i]; },
        [&total](std::size_t /*i*/, double term) { total += term; });
    *sum = total;
  }
};

/// A number for the host, which reads it where it is.
struct PutNumber {
  static constexpr unsigned least_blocks = 1;
  const double* from;
  double* to;
  TROUPE_HD void operator()(std::size_t /*one*/) const { *to = *from; }
};

/// sums[chunk, lane] of the squares of every clip_lanes-th element of the chunk.
struct SquaresOfLane {
  static constexpr unsigned least_blocks = 1;
  const float* values;
  std::size_t count;
  double* sums;
  TROUPE_HD void operator()(std::size_t chunk, std::size_t lane) const {
    const std::size_t first = chunk * nn::clip_chunk;
    const std::size_t end = first + nn::clip_chunk < count ? first + nn::clip_chunk : count;
    const float* const from = values + first + lane;
    const std::size_t of_lane =
        first + lane < end ? (end - first - lane + nn::clip_lanes - 1) / nn::clip_lanes : 0;
    double sum = 0;
    in_order<32, 8>(
        std::size_t{0}, of_lane, [from](std::size_t k) { return from[k * nn::clip_lanes]; },
        [&sum](std::size_t /*k*/, float element) {
          const double value = element;
          sum += value * value;
        });
    sums[chunk * nn::clip_lanes + lane] = sum;
  }
};

/// What the gradient is multiplied by.
struct ClipFactor {
  static constexpr unsigned least_blocks = 1;
  const double* sums;
  std::size_t chunks;
  double limit;
  float* factor;
  TROUPE_HD void operator()(std::size_t /*one*/) const {
    double total = 0;
    double of_chunk = 0;
    in_order<4 * nn::clip_lanes, nn::clip_lanes>(
        std::size_t{0}, chunks * nn::clip_lanes, [this](std::size_t k) { return sums[k]; },
        [&total, &of_chunk](std::size_t k, double of_lane) {
          of_chunk = (k % nn::clip_lanes == 0 ? 0.0 : of_chunk) + of_lane;
          total = k % nn::clip_lanes == nn::clip_lanes - 1 ? total + of_chunk : total;
        });
    *factor = static_cast<float>(nn::clip_factor(sqrt(total), limit));
  }
};

/// The mean over one rank: its sum begins with zero, so that -0 becomes 0.
struct MeanOfOne {
  float divisor;
  float* values;
  TROUPE_HD void operator()(std::size_t i) const { values[i] = (0.0F + values[i]) / divisor; }
};

/// One optimizer step of an element, with all that it reads and writes.
struct StepElement {
  nn::OptimizerStep step;
  float* parameters;
  const float* gradient;
  const float* factor;  ///< null: 1
  float* first;
  float* second;
  TROUPE_HD void operator()(std::size_t i) const {
    const float g = gradient[i] * (factor == nullptr ? 1.0F : *factor);
    float& p = parameters[i];
    if (step.rule == nn::StepRule::sgd) {
      p -= step.rate * (g + step.decay * p);
    } else if (step.rule == nn::StepRule::momentum) {
      const float slope = g + step.decay * p;
      first[i] = step.momentum * first[i] + slope;
      p -= step.rate * (step.own_share * slope + step.buffer_share * first[i]);
    } else if (step.rule == nn::StepRule::adam) {
      const float value = p * step.shrink;
      const float slope = g + step.decay * value;
      first[i] = step.beta1 * first[i] + step.share1 * slope;
      second[i] = step.beta2 * second[i] + step.share2 * slope * slope;
      p = value - step.rate * (first[i] / (sqrtf(second[i]) / step.root + step.eps));
    } else {
      const float slope = g + step.decay * p;
      first[i] += slope * slope;
      p -= step.rate * (slope / (sqrtf(first[i]) + step.eps));
    }
  }
};

}  // namespace troupe::gpu
