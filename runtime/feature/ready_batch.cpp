#include "runtime/feature/ready_batch.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

std::string text_of(const BatchKey& key, NodeTypeId seed_type, std::size_t seeds) {
  return fmt::format("{} batch {} of epoch {} with {} seeds of type {}",
                     key.purpose == Purpose::train ? "training" : "evaluation", key.number,
                     key.epoch + 1, seeds, raw(seed_type));
}

}  // namespace

Status check_answer(const SampleBatch& request, const ReadyBatch& ready) {
  const auto& sampled = *ready.batch.sampled;
  if (sampled.key != request.key || sampled.seed_type != request.seed_type ||
      sampled.seed_index.size() != request.seeds.size()) {
    return Error(Errc::data_corruption,
                 fmt::format("answer of a sampler: expected {}, found {}",
                             text_of(request.key, request.seed_type, request.seeds.size()),
                             text_of(sampled.key, sampled.seed_type, sampled.seed_index.size())));
  }
  return ok_status();
}

}  // namespace troupe
