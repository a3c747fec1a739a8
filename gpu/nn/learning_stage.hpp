#pragma once
/// \file learning_stage.hpp
/// Losses over seeds, clipping and optimizer steps on a stream.
#include "gpu/base/array.hpp"
#include "gpu/nn/learning_bodies.hpp"
#include "runtime/nn/ops/seed_loss.hpp"

#include <cstddef>
#include <span>

namespace troupe::gpu {

/// Null: there are none.
inline const std::uint64_t* weights_of_classes(const nn::SeedLoss& loss) {
  return loss.class_weights.empty() ? nullptr : loss.class_weights.data();
}

template <class Stream>
void cross_entropy_stage(Stream& on, const SeedTerms& at, const nn::SeedLoss& loss) {
  const std::size_t seeds = loss.labels.size();
  const auto largest = on.template array<float>(seeds);
  const auto sums = on.template array<double>(seeds);
  const SeedSoftmax softmax{largest.data(), sums.data()};
  const SeedClasses classes{loss.labels.data(), weights_of_classes(loss)};
  on.for_each(seeds, SeedExponentials{at, classes, largest.data(), sums.data()});
  on.for_rows(seeds, at.cols, CrossEntropyGradient{at, softmax, classes});
}

template <class Stream>
void seed_loss_stage(Stream& on, const nn::SeedLossWork& work) {
  const nn::SeedLoss& loss = work.loss;
  const std::size_t seeds = loss.own_rows ? work.rows.rows : loss.row_of_seed.size();
  const std::size_t cols = work.rows.cols;
  const bool by_seed = loss.kind == nn::SeedLossKind::cross_entropy;
  const std::size_t count = by_seed ? seeds : seeds * cols;
  const auto of_seeds = on.template array<float>(loss.own_rows ? 0 : seeds * cols);
  const auto terms = on.template array<double>(count);
  const SeedTerms at{work.rows.data, loss.own_rows ? nullptr : loss.row_of_seed.data(), cols,
                     loss.own_rows ? work.grad_rows.data : of_seeds.data(), terms.data()};
  if (by_seed) {
    cross_entropy_stage(on, at, loss);
  } else if (loss.kind == nn::SeedLossKind::bce_logits) {
    on.for_rows(seeds, cols,
                BinaryTerm{at, loss.targets.data, static_cast<double>(loss.pos_weight),
                           weights_of_classes(loss)});
  } else {
    on.for_rows(seeds, cols, TermOfNumber{at, loss.targets.data, loss.of_numbers});
  }
  if (!loss.own_rows) {
    on.for_rows(work.rows.rows, cols,
                SumOfSeeds{work.row_begin.data(), work.by_row.data(), of_seeds.data(), cols,
                           work.grad_rows.data});
  }
  on.for_each(1, SumInOrder{terms.data(), count, work.sum});
}

/// \param factor  [1] gets what the gradient is multiplied by
template <class Stream>
void clip_factor_stage(Stream& on, std::span<const float> gradient, double limit, float* factor) {
  const std::size_t chunks = (gradient.size() + nn::clip_chunk - 1) / nn::clip_chunk;
  const auto sums = on.template array<double>(chunks * nn::clip_lanes);
  on.for_rows(chunks, nn::clip_lanes, SquaresOfLane{gradient.data(), gradient.size(), sums.data()});
  on.for_each(1, ClipFactor{sums.data(), chunks, limit, factor});
}

template <class Stream>
void optimizer_step_stage(Stream& on, const nn::OptimizerStep& step, const nn::StepArrays& arrays) {
  on.for_each(arrays.parameters.size(),
              StepElement{step, arrays.parameters.data(), arrays.gradient.data(), arrays.factor,
                          arrays.first.data(), arrays.second.data()});
}

}  // namespace troupe::gpu
