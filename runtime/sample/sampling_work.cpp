#include "runtime/sample/sampling_work.hpp"

#include "runtime/sample/one_hop.hpp"

#include <algorithm>

namespace troupe {

SamplingWork::SamplingWork(SamplingInputs inputs, BatchKey key, NodeTypeId seed_type,
                           std::vector<NodeId> seeds, std::vector<std::int64_t> seed_times)
    : inputs_(std::move(inputs)),
      key_(key),
      seed_type_(seed_type),
      seeds_(std::move(seeds)),
      seed_times_(std::move(seed_times)) {}

/// The part with a question's lists if this host has it, else nullptr.
std::shared_ptr<const Part> SamplingWork::here(const HopQuestion& question) const {
  if (question.lists_of == ListsOf::halo) {
    return *std::ranges::find(*inputs_.halos, question.part, &Part::id);
  }
  return inputs_.lists_here(question.part);
}

Status SamplingWork::sample_here() {
  for (const auto& question : std::exchange(local_, {})) {
    TROUPE_ASSIGN_OR_RETURN(auto reply,
                            sample_one_hop(*here(question), question.request, question.lists_of));
    TROUPE_RETURN_IF_ERROR(builder_->answer(question.id, std::move(reply)));
  }
  return ok_status();
}

void SamplingWork::split(std::vector<HopQuestion> questions, std::vector<HopQuestion>& elsewhere) {
  const auto hop = builder_->hop();
  for (auto& question : questions) {
    const auto nodes = question.request.num_nodes();
    const bool lies_here = here(question) != nullptr;
    frontier_.add(hop, nodes, lies_here ? 0 : nodes);
    question.request.flow = inputs_.flow;
    (lies_here ? local_ : elsewhere).push_back(std::move(question));
  }
}

/// The hop that was under way is over.
void SamplingWork::begin_hop(bool asks) {
  if (inputs_.on_hop) {
    inputs_.on_hop(key_, builder_->hop());
  }
  if (hop_began_ != TraceTrack::TimePoint{}) {
    inputs_.trace.slice("hop", hop_began_, inputs_.flow);
  }
  hop_began_ = asks ? inputs_.trace.now() : TraceTrack::TimePoint{};
}

Result<SamplingWork::Step> SamplingWork::step(const std::vector<Arrived>& arrived) {
  if (!builder_) {
    builder_.emplace(*inputs_.graph, *inputs_.book, inputs_.options, key_, seed_type_, seeds_,
                     *inputs_.halos, inputs_.scratch, seed_times_);
  }
  for (const auto& [question, reply] : arrived) {
    TROUPE_RETURN_IF_ERROR(builder_->answer(question, reply));
  }
  Step step;
  TROUPE_RETURN_IF_ERROR(sample_here());
  for (auto questions = builder_->questions(); !questions.empty();
       questions = builder_->questions()) {
    begin_hop(true);
    split(std::move(questions), step.ask);
    if (!step.ask.empty()) {
      step.more = !local_.empty();
      return step;
    }
    TROUPE_RETURN_IF_ERROR(sample_here());
  }
  step.done = builder_->done();
  if (step.done) {
    begin_hop(false);
  }
  return step;
}

SampledBatch SamplingWork::take() && {
  return std::move(*builder_).take();
}

}  // namespace troupe
