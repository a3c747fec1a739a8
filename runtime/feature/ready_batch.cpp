#include "runtime/feature/ready_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>

namespace troupe {
namespace {

/// What a batch is about, and how many of it.
struct SeedCount {
  std::size_t seeds = 0;
  bool links = false;
  std::uint16_t type = 0;  ///< Of nodes or edges
  friend bool operator==(const SeedCount&, const SeedCount&) = default;
};

SeedCount count_of(const SampleBatch& request) {
  return request.links
             ? SeedCount{request.links->sources.size(), true, raw(request.links->edge_type)}
             : SeedCount{request.seeds.size(), false, raw(request.seed_type)};
}

SeedCount count_of(const SampledBatch& batch) {
  return batch.links ? SeedCount{batch.links->sources.size(), true, raw(batch.links->edge_type)}
                     : SeedCount{batch.seed_index.size(), false, raw(batch.seed_type)};
}

std::string text_of(const BatchKey& key, const SeedCount& count) {
  return fmt::format("{} batch {} of epoch {} with {} {} of type {}",
                     key.purpose == Purpose::train ? "training" : "evaluation", key.number,
                     key.epoch + 1, count.seeds, count.links ? "links" : "seeds", count.type);
}

}  // namespace

Status check_answer(const SampleBatch& request, const ReadyBatch& ready) {
  const auto& sampled = *ready.batch.sampled;
  auto expected = count_of(request);
  const auto found = count_of(sampled);
  // Pairs of walks are as many as the walks have; after a journey only the asker knows the options.
  const bool pairs = request.links && (!request.sample || request.sample->walks);
  if (pairs && found.links) {
    expected.seeds = found.seeds;
  }
  if (sampled.key != request.key || found != expected) {
    return Error(Errc::data_corruption,
                 fmt::format("answer of a sampler: expected {}, found {}",
                             text_of(request.key, expected), text_of(sampled.key, found)));
  }
  return ok_status();
}

void SampleBatch::take_seeds(OrderedSeeds of_batch) {
  seed_type = of_batch.type;
  seeds = std::move(of_batch.nodes);
  times = std::move(of_batch.times);
  links = std::move(of_batch.links);
}

}  // namespace troupe
