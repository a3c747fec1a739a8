#include "runtime/nn/seed_loss_pass.hpp"

#include "runtime/nn/ops/by_row.hpp"

namespace troupe::nn {

SeedLossPass::SeedLossPass(BlockOps& ops)
    : ops_(ops), arrays_(ops), grad_(ops.memory()), sum_(ops.memory()) {}

ConstMatrix SeedLossPass::compute(const SeedLoss& loss, ConstMatrix rows) {
  weight_ = seed_loss_weight(loss);
  SeedLossWork work{};
  if (ops_.memory() == nullptr) {
    work.loss = loss;
  } else {
    work = staged(loss, rows);
  }
  work.rows = rows;
  work.grad_rows = grad_.matrix(rows.rows, rows.cols);
  work.sum = sum_.get(1).data();
  ops_.seed_loss(work);
  return work.grad_rows;
}

/// The loss with its arrays on the device, and lists of the seeds by row.
SeedLossWork SeedLossPass::staged(const SeedLoss& loss, ConstMatrix rows) {
  const auto row_of_seed = loss.own_rows ? std::span<const std::uint32_t>() : loss.row_of_seed;
  const ByRow<std::uint32_t> seeds(row_of_seed, loss.own_rows ? 0 : rows.rows);
  arrays_.clear();
  const auto labels = arrays_.add(loss.labels);
  const auto targets = arrays_.add(loss.targets.flat());
  const auto of_seed = arrays_.add(row_of_seed);
  const auto class_weights = arrays_.add(loss.class_weights);
  const auto begin = arrays_.add(std::span<const std::uint32_t>(seeds.offsets));
  const auto by_row = arrays_.add(std::span<const std::uint32_t>(seeds.list));
  arrays_.send();
  SeedLossWork work{.loss = loss,
                    .rows = {},
                    .row_begin = arrays_.at<std::uint32_t>(begin),
                    .by_row = arrays_.at<std::uint32_t>(by_row),
                    .grad_rows = {},
                    .sum = nullptr};
  work.loss.labels = arrays_.at<std::int64_t>(labels);
  work.loss.targets.data = arrays_.at<float>(targets).data();
  work.loss.row_of_seed = arrays_.at<std::uint32_t>(of_seed);
  work.loss.class_weights = arrays_.at<std::uint64_t>(class_weights);
  return work;
}

}  // namespace troupe::nn
