#include "runtime/run/reduction.hpp"

#include "runtime/run/gradient_reducer.hpp"
#include "runtime/wire/codec.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

Reduction::Reduction(Rank rank, std::uint32_t world, std::size_t size)
    : rank_(rank), world_(world), answered_(world), missing_(world) {
  result_.values.resize(size);
}

net::GradientChunk Reduction::share(Rank owner, const Contribution& mine, std::uint32_t generation,
                                    std::uint64_t step) const {
  const auto slice = gradient_slice(result_.values.size(), world_, owner);
  net::GradientChunk chunk;
  chunk.generation = generation;
  chunk.step = step;
  chunk.rank = rank_;
  chunk.weight = mine.weight;
  chunk.sum_bytes = net::gradient_sum_bytes(slice.size * sizeof(float), owner, world_);
  chunk.loss_sum = mine.number;
  if (raw(owner) == 0) {
    chunk.batch = mine.batch;
    chunk.offer = mine.offer;
  }
  if (mine.weight > 0) {
    chunk.values = {mine.values.owner, mine.values.bytes.subspan(slice.first * sizeof(float),
                                                                 slice.size * sizeof(float))};
  }
  return chunk;
}

Status Reduction::take(Rank owner, const net::GradientSum& sum) {
  const auto slice = gradient_slice(result_.values.size(), world_, owner);
  const auto values = sum.values.as<float>();
  if (values.size() != slice.size) {
    return Error(Errc::data_corruption, fmt::format("sum of rank {}: expected {} numbers, found {}",
                                                    raw(owner), slice.size, values.size()));
  }
  std::ranges::copy(values, result_.values.begin() + static_cast<std::ptrdiff_t>(slice.first));
  if (raw(owner) == 0) {
    result_.weight = sum.weight;
    result_.number = sum.loss_sum;
    result_.batches = sum.batches;
    result_.communicator = sum.communicator;
    result_.by_devices = sum.by_devices;
  }
  if (!answered_[raw(owner)]) {
    answered_[raw(owner)] = true;
    --missing_;
  }
  return ok_status();
}

}  // namespace troupe
