#pragma once
/// \file batch_of_seeds.hpp
/// What a scripted sampler answers where a test does not look into batches.
#include "runtime/feature/ready_batch.hpp"

#include <memory>
#include <utility>

namespace troupe::testing {

/// The batch of a request for seeds of node type 0: these nodes alone, without edges, features and labels.
inline ReadyBatch batch_of_seeds(const SampleBatch& request) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->key = request.key;
  sampled->seed_index.resize(request.seeds.size());
  sampled->nodes.resize(1);
  sampled->nodes[0].ids = request.seeds;
  ReadyBatch ready;
  ready.batch.sampled = std::move(sampled);
  ready.batch.rows.resize(1);
  return ready;
}

}  // namespace troupe::testing
