#include "runtime/feature/collecting_work.hpp"

#include <utility>

namespace troupe {

CollectingWork::CollectingWork(CollectingInputs inputs) : inputs_(std::move(inputs)) {}

/// [parts] whether this host has a part.
std::vector<bool> CollectingWork::parts_here() const {
  std::vector<bool> here(inputs_.book->parts());
  for (std::uint32_t p = 0; p < here.size(); ++p) {
    here[p] = inputs_.part_here(static_cast<PartId>(p)) != nullptr;
  }
  return here;
}

void CollectingWork::begin(Step& step) {
  rows_.emplace(*inputs_.book, inputs_.options, inputs_.sampled, inputs_.cache, inputs_.halos,
                inputs_.future, inputs_.slots);
  const bool features = inputs_.options->source.kind == RowSource::Kind::features;
  counts_.cached = rows_->cached_rows();
  counts_.rows = rows_->cached_rows() + rows_->halo_rows();
  if (inputs_.measure && features && key().purpose == Purpose::train) {
    counts_.cached_at_best = inputs_.measure->count(key().epoch, rows_->cacheable(parts_here()));
  }
  for (const auto& question : rows_->questions()) {
    const auto nodes = question.request.num_nodes();
    const bool here = inputs_.part_here(question.part) != nullptr;
    counts_.rows += nodes;
    counts_.remote += here ? 0 : nodes;
    if (here && features) {
      local_.emplace_back(question.id, question.part);
    } else {
      step.ask.push_back(question);
      step.ask.back().request.flow = inputs_.flow;
    }
  }
}

Status CollectingWork::answer_here() {
  std::vector<std::shared_ptr<const Part>> kept;
  std::vector<RowCollection::PartHere> parts;
  for (const auto& [question, part] : std::exchange(local_, {})) {
    kept.push_back(inputs_.part_here(part));
    parts.push_back({question, *kept.back()});
  }
  return rows_->answer_from(parts);
}

Result<CollectingWork::Step> CollectingWork::step(const std::vector<Arrived>& arrived) {
  Step step;
  if (!rows_) {
    begin(step);
    if (!step.ask.empty()) {
      step.more = !local_.empty();
      return step;
    }
  }
  for (const auto& [question, reply] : arrived) {
    TROUPE_RETURN_IF_ERROR(rows_->answer(question, *reply));
  }
  TROUPE_RETURN_IF_ERROR(answer_here());
  if (rows_->done()) {
    batch_ = std::move(*rows_).take();
    step.done = true;
  }
  return step;
}

Batch CollectingWork::take() && {
  return *std::move(batch_);
}

}  // namespace troupe
