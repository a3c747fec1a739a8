#include "runtime/nn/device_loss.hpp"

#include "runtime/nn/ops/by_row.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe::nn {
DeviceLoss::DeviceLoss(BlockOps& ops)
    : ops_(ops), inputs_(ops.memory()), grad_(ops.memory()), sum_(ops.memory()) {}

/// \returns its place, a multiple of 16 bytes
template <class T>
std::size_t DeviceLoss::staged(std::span<const T> values) {
  constexpr std::size_t alignment = 16;
  const std::size_t place = (staging_.size() + alignment - 1) / alignment * alignment;
  staging_.resize(place + values.size_bytes());
  if (!values.empty()) {
    std::memcpy(staging_.data() + place, values.data(), values.size_bytes());
  }
  return place;
}

template <class T>
std::span<const T> DeviceLoss::at(std::size_t place, std::size_t count) const {
  return {reinterpret_cast<const T*>(there_ + place), count};
}

ConstMatrix DeviceLoss::compute(const SeedLoss& loss, ConstMatrix rows) {
  const ByRow<std::uint32_t> seeds(loss.row_of_seed, rows.rows);
  staging_.clear();
  const auto labels = staged(loss.labels);
  const auto targets = staged(loss.targets.flat());
  const auto row_of_seed = staged(loss.row_of_seed);
  const auto begin = staged(std::span<const std::uint32_t>(seeds.offsets));
  const auto by_row = staged(std::span<const std::uint32_t>(seeds.list));
  there_ = inputs_.get(staging_.size()).data();
  ops_.upload(staging_.data(), there_, staging_.size());

  SeedLoss there = loss;
  there.labels = at<std::int64_t>(labels, loss.labels.size());
  there.targets.data = at<float>(targets, loss.targets.size()).data();
  there.row_of_seed = at<std::uint32_t>(row_of_seed, loss.row_of_seed.size());
  const MutMatrix grad = grad_.matrix(rows.rows, rows.cols);
  ops_.seed_loss({.loss = there,
                  .rows = rows,
                  .row_begin = at<std::uint32_t>(begin, seeds.offsets.size()),
                  .by_row = at<std::uint32_t>(by_row, seeds.list.size()),
                  .grad_rows = grad,
                  .sum = sum_.get(1).data()});
  weight_ = known_terms(loss);
  return grad;
}

Result<LossResult> DeviceLoss::result() {
  LossResult result{.weight = weight_};
  TROUPE_RETURN_IF_ERROR(ops_.download(sum_.get(1).data(), &result.sum, sizeof result.sum));
  return result;
}

}  // namespace troupe::nn
